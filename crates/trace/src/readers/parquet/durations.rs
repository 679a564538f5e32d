//! Columns of durations, which Parquet has no type for: Arrow's schema beside that of the file tells them.
//!
//! pandas, Polars and pyarrow write it. The library of it takes longer to build than all readers, so the few tables that
//! lead to the units are followed here: Message, Schema, Field and Duration of Arrow's format, as FlatBuffers lays tables
//! out.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parquet::file::metadata::FileMetaData;

use crate::time_unit::TimeUnit;

/// `Duration` among the types of a field.
const DURATION: u8 = 18;
/// Units of durations by their number; milliseconds if a field has none.
const UNITS: [TimeUnit; 4] = [
    TimeUnit::Seconds,
    TimeUnit::Milliseconds,
    TimeUnit::Microseconds,
    TimeUnit::Nanoseconds,
];

/// The columns of durations by their names, and their units; none where the schema is damaged.
pub(super) fn durations(file: &FileMetaData) -> Vec<(String, TimeUnit)> {
    let pairs = file.key_value_metadata().into_iter().flatten();
    let mut schemas = pairs.filter(|pair| pair.key == "ARROW:schema");
    let text = schemas.next().and_then(|pair| pair.value.as_ref());
    let bytes = text.and_then(|text| BASE64_STANDARD.decode(text).ok());
    bytes
        .and_then(|bytes| of_schema(&bytes))
        .unwrap_or_default()
}

fn of_schema(bytes: &[u8]) -> Option<Vec<(String, TimeUnit)>> {
    // Behind a mark and the length of the message.
    let buffer = Buffer(bytes.get(8..)?);
    let schema = buffer.table(buffer.follow(0)?, 2)?;
    let fields = buffer.table(schema, 1)?;
    let count = buffer.u32(fields)? as usize;
    let field = |number: usize| {
        let field = buffer.follow(fields + 4 + 4 * number)?;
        let kind = buffer
            .value(field, 2)
            .and_then(|at| buffer.0.get(at).copied());
        if kind != Some(DURATION) {
            return None;
        }
        let unit = buffer.value(buffer.table(field, 3)?, 0);
        let unit = unit.map_or(Some(1), |at| buffer.u16(at))?;
        let name = buffer.table(field, 0)?;
        let text = buffer
            .0
            .get(name + 4..)?
            .get(..buffer.u32(name)? as usize)?;
        let unit = *UNITS.get(usize::from(unit))?;
        Some((String::from_utf8_lossy(text).into_owned(), unit))
    };
    // Each has four bytes at least.
    Some((0..count.min(bytes.len() / 4)).filter_map(field).collect())
}

/// Bytes in which offsets lead from table to table.
struct Buffer<'a>(&'a [u8]);

impl Buffer<'_> {
    fn u16(&self, at: usize) -> Option<u16> {
        let bytes = self.0.get(at..)?.first_chunk()?;
        Some(u16::from_le_bytes(*bytes))
    }

    fn u32(&self, at: usize) -> Option<u32> {
        let bytes = self.0.get(at..)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes))
    }

    /// Where the offset at `at` leads.
    fn follow(&self, at: usize) -> Option<usize> {
        at.checked_add(self.u32(at)? as usize)
    }

    /// Where a table has its value of this number; `None` for the default.
    fn value(&self, table: usize, number: usize) -> Option<usize> {
        let back = self.u32(table)?.cast_signed();
        let places = usize::try_from(i64::try_from(table).ok()? - i64::from(back)).ok()?;
        let entry = 4 + 2 * number;
        let within = entry < usize::from(self.u16(places)?);
        let offset = within.then(|| self.u16(places + entry)).flatten()?;
        (offset > 0).then_some(table + usize::from(offset))
    }

    /// The table, list or text that a value of a table leads to.
    fn table(&self, table: usize, number: usize) -> Option<usize> {
        self.follow(self.value(table, number)?)
    }
}
