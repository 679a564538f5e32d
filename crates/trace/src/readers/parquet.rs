//! Parquet files: a row is a request, and its columns are found by their names.

mod columns;
mod request;

use std::fs::File;
use std::io::{self, Write};

use destage_types::RequestBatch;
use parquet::basic::Type as Physical;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::table::{BYTES, OFFSET, columns};
use super::{FormatInfo, ReadCounts, ReadOptions, Separator, TraceReader};
use crate::bytes::input::Input;
use crate::column_names::ColumnNames;
use crate::error::{BadLine, TraceError};
use crate::fault::panic_as_error;
use crate::sink::{ArrivalClock, RequestSink};
use crate::time_unit::TimeUnit;
use columns::{ParquetColumn, time_unit};
use request::{TIME, push};

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "parquet",
    aliases: &[],
    about: "Apache Parquet, one row a request. Columns are found by their names, which `--trace-columns` changes. \
            Codecs: none, snappy, gzip, zstd.",
    source: "tables of pandas, Polars, DuckDB, Spark and others",
    separator: Separator::Named,
    columns: columns! {
        "time": Ticks(1), "a whole number in the unit of its type, else ns; or a real number of s";
        "op": Own, "R, W, T or F, or read, write, trim, discard or flush, whatever the case";
        "offset": Offset, OFFSET;
        "size": Bytes, BYTES;
    },
    timed: true,
    volumes: false,
    example: EXAMPLE,
    example_requests: 3,
    detect: |sample| sample.bytes.starts_with(b"PAR1"),
    open: |input, options| Box::new(ParquetReader::new(input, options)),
};

/// A write of 4 KiB at 0 ns, a read of 512 B at 1000 ns, and a flush, whose offset and size are null. A test
/// writes the same.
const EXAMPLE: &[u8] =
    b"PAR1\x15\0\x150\x150,\x15\x06\x15\0\x15\x06\x15\x06\0\0\0\0\0\0\0\0\0\0\xe8\x03\0\0\0\0\0\0\
    \xd0\x07\0\0\0\0\0\0\x15\0\x15\x1e\x15\x1e,\x15\x06\x15\0\x15\x06\x15\x06\0\0\x01\0\0\0W\x01\
    \0\0\0R\x01\0\0\0F\x15\0\x15,\x15,,\x15\x06\x15\0\x15\x06\x15\x06\0\0\x02\0\0\0\x03\x03\0\0\
    \0\0\0\0\0\0\0\x10\0\0\0\0\0\0\x15\0\x15,\x15,,\x15\x06\x15\0\x15\x06\x15\x06\0\0\x02\0\0\0\
    \x03\x03\0\x10\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\x15\x02\x19\\H\x01t\x15\x08\0\x15\x04%\0\x18\
    \x04time\0\x15\x0c%\0\x18\x02op%\0\0\x15\x04%\x02\x18\x06offset\0\x15\x04%\x02\x18\x04size\0\
    \x16\x06\x19\x1c\x19L&\0\x1c\x15\x04\x19%\0\x06\x19\x18\x04time\x15\0\x16\x06\x16R\x16R&\x08\
    I\x1c\x15\0\x15\0\x15\x02\0\0\0&\0\x1c\x15\x0c\x19%\0\x06\x19\x18\x02op\x15\0\x16\x06\x16@\
    \x16@&ZI\x1c\x15\0\x15\0\x15\x02\0\0\0&\0\x1c\x15\x04\x19%\0\x06\x19\x18\x06offset\x15\0\x16\
    \x06\x16N\x16N&\x9a\x01I\x1c\x15\0\x15\0\x15\x02\0\0\0&\0\x1c\x15\x04\x19%\0\x06\x19\x18\x04\
    size\x15\0\x16\x06\x16N\x16N&\xe8\x01I\x1c\x15\0\x15\0\x15\x02\0\0\0\x16\xae\x02\x16\x06&\
    \x08\x16\xae\x02\x14\0\0(\x07destage\x19L\x1c\0\0\x1c\0\0\x1c\0\0\x1c\0\0\0\xf9\0\0\0PAR1";

/// The physical types that each column may have.
const TYPES: [&[Physical]; 4] = [
    &[
        Physical::INT32,
        Physical::INT64,
        Physical::FLOAT,
        Physical::DOUBLE,
    ],
    &[Physical::BYTE_ARRAY],
    &[Physical::INT32, Physical::INT64],
    &[Physical::INT32, Physical::INT64],
];

/// Rows that are decoded at once.
const BLOCK: usize = 4_096;

struct ParquetReader {
    input: Input,
    options: ReadOptions,
    counts: ReadCounts,
    clock: ArrivalClock,
    table: Option<Table>,
    unit: Option<TimeUnit>,
    /// Rows of the block that have not been handed out.
    block: usize,
    ended: bool,
}

/// An open file.
struct Table {
    file: SerializedFileReader<File>,
    /// Where the columns are in the file.
    places: [usize; 4],
    /// The columns of the group that is being read, and its rows that have not been decoded.
    columns: Option<[ParquetColumn; 4]>,
    rows: usize,
    /// The next group.
    group: usize,
    /// The bytes of the trace pass by up to the groups that are read, for their hash; `None` for a copy of
    /// them.
    passed: Option<u64>,
}

impl ParquetReader {
    fn new(input: Input, options: ReadOptions) -> ParquetReader {
        ParquetReader {
            input,
            options,
            counts: ReadCounts::default(),
            clock: ArrivalClock::default(),
            table: None,
            unit: None,
            block: 0,
            ended: false,
        }
    }

    #[cold]
    fn malformed(&self, reason: impl ToString) -> TraceError {
        TraceError::Malformed {
            file: self.input.file().to_owned(),
            format: INFO.name,
            reason: reason.to_string(),
        }
    }

    /// The bytes as a file that can be read anywhere: the index of a Parquet file is at its end.
    fn open_file(&mut self) -> Result<File, TraceError> {
        let refused = |input: &Input, source: io::Error| TraceError::Io {
            file: input.file().to_owned(),
            source,
        };
        if let Some(path) = self.input.path() {
            return File::open(path).map_err(|source| refused(&self.input, source));
        }
        let mut copy = tempfile::tempfile().map_err(crate::spool::collect::failed)?;
        loop {
            let window = self.input.window();
            copy.write_all(window)
                .map_err(crate::spool::collect::failed)?;
            self.input.consume(self.input.window().len());
            if !self.input.fill()? {
                return Ok(copy);
            }
        }
    }

    /// Opens the file and finds its columns.
    fn start(&mut self) -> Result<(), TraceError> {
        let passed = self.input.path().map(|_| 0);
        let file = self.open_file()?;
        let file = panic_as_error(|| SerializedFileReader::new(file));
        let file = file.map_err(|error| self.malformed(error))?;
        let names = self.options.columns.clone().unwrap_or_default();
        let schema = file.metadata().file_metadata().schema_descr();
        let mut places = [0; 4];
        for (i, name) in names.names().iter().enumerate() {
            let found = schema
                .columns()
                .iter()
                .position(|column| column.path().parts() == [&**name]);
            let Some(place) = found else {
                let known = schema.columns().iter().map(|column| column.path().string());
                let known = known.collect::<Vec<_>>().join(", ");
                let key = ColumnNames::USUAL[i];
                return Err(self.malformed(format!(
                    "it has no column `{name}`; its columns: {known}; {key}=NAME says which holds that"
                )));
            };
            check(&schema.column(place), name, TYPES[i]).map_err(|why| self.malformed(why))?;
            places[i] = place;
        }
        let kind = schema.column(places[TIME]);
        let unit = self.options.time_unit.unwrap_or_else(|| time_unit(&kind));
        // The parts of a real number are taken here.
        let is_real = matches!(kind.physical_type(), Physical::FLOAT | Physical::DOUBLE);
        self.clock = ArrivalClock::new(if is_real { 1 } else { unit.ns() });
        self.unit = Some(unit);
        self.table = Some(Table {
            file,
            places,
            columns: None,
            rows: 0,
            group: 0,
            passed,
        });
        Ok(())
    }

    /// Decodes the next block of rows. False at the end.
    fn next_block(&mut self) -> Result<bool, TraceError> {
        if self.table.is_none() {
            self.start()?;
        }
        loop {
            let Some(table) = &mut self.table else {
                return Ok(false);
            };
            match panic_as_error(|| table.read_block()) {
                Ok(0) => {}
                Ok(rows) => {
                    self.block = rows;
                    return Ok(true);
                }
                Err(why) => return Err(self.malformed(why)),
            }
            match panic_as_error(|| table.next_group()) {
                Ok(None) => return Ok(false),
                Ok(Some(end)) => self.pass_to(end)?,
                Err(why) => return Err(self.malformed(why)),
            }
        }
    }

    /// Reads the bytes up to `end` for the hash of the file, if they were not read for a copy.
    fn pass_to(&mut self, end: u64) -> Result<(), TraceError> {
        let Some(mut passed) = self.table.as_ref().and_then(|table| table.passed) else {
            return Ok(());
        };
        while passed < end {
            let here = self.input.window().len();
            if here == 0 && !self.input.fill()? {
                break;
            }
            self.input.consume(here);
            passed += here as u64;
        }
        if let Some(table) = &mut self.table {
            table.passed = Some(passed);
        }
        Ok(())
    }

    /// Hands out rows of the block until `out` holds `goal` requests.
    fn rows(&mut self, out: &mut RequestBatch, goal: usize) -> Result<(), TraceError> {
        let Some(Table {
            columns: Some(columns),
            places,
            ..
        }) = &mut self.table
        else {
            return Ok(());
        };
        let mut sink = RequestSink {
            out,
            clock: &mut self.clock,
            counts: &mut self.counts,
            goal,
            lists: u64::MAX,
            extra: &mut None,
        };
        let real_ns = self.unit.map_or(1, TimeUnit::ns) as f64;
        while self.block > 0 && sink.out.len() < goal {
            self.block -= 1;
            sink.counts.lines += 1;
            let [time, op, start, length] = columns;
            let cells = [time.next(), op.next(), start.next(), length.next()];
            let Err(fault) = push(cells, real_ns, &mut sink) else {
                continue;
            };
            let column = usize::from(fault.column);
            let (info, place) = (&INFO.columns[column], places[column]);
            sink.counts
                .bad(self.options.skip_bad_lines, |line| BadLine {
                    file: self.input.file().to_owned(),
                    unit: "row",
                    line,
                    column: Some((place + 1, info.name)),
                    value: cells[column].text(),
                    reason: fault.why,
                    allowed: match (column, self.options.time_unit) {
                        (TIME, Some(unit)) => format!("a number of {unit}"),
                        _ => info.allowed.to_owned(),
                    },
                })?;
        }
        Ok(())
    }

    fn read(&mut self, out: &mut RequestBatch, goal: usize) -> Result<(), TraceError> {
        while out.len() < goal && !self.ended {
            if self.block == 0 && !self.next_block()? {
                self.ended = true;
            }
            self.rows(out, goal)?;
        }
        Ok(())
    }
}

impl Table {
    /// Starts the next group of rows, and says where its bytes end; `None` behind the last one.
    fn next_group(&mut self) -> Result<Option<u64>, String> {
        if self.group == self.file.num_row_groups() {
            return Ok(None);
        }
        let number = self.group;
        let refused = |why: &dyn ToString| format!("row group {}: {}", number + 1, why.to_string());
        let group = self
            .file
            .get_row_group(number)
            .map_err(|error| refused(&error))?;
        let meta = group.metadata();
        let rows = usize::try_from(meta.num_rows());
        let rows = rows.map_err(|_| refused(&"it has fewer than no rows"))?;
        let column = |place: usize| {
            let reader = group.get_column_reader(place);
            let reader = reader.map_err(|error| refused(&error))?;
            let kind = &meta.schema_descr().column(place);
            ParquetColumn::new(kind, reader).ok_or_else(|| refused(&"its columns have other types"))
        };
        let [time, op, start, length] = self.places;
        let columns = [column(time)?, column(op)?, column(start)?, column(length)?];
        let end = |place: usize| {
            let (start, length) = meta.column(place).byte_range();
            start.saturating_add(length)
        };
        let end = self.places.map(end).into_iter().max();
        (self.columns, self.rows, self.group) = (Some(columns), rows, number + 1);
        Ok(end)
    }

    /// Decodes the next rows of the group, and says how many; 0 at its end.
    fn read_block(&mut self) -> Result<usize, String> {
        let (Some(columns), rows @ 1..) = (&mut self.columns, self.rows.min(BLOCK)) else {
            return Ok(0);
        };
        for column in columns {
            let group = self.group;
            match column.read(rows) {
                Ok(read) if read == rows => {}
                Ok(_) => return Err(format!("row group {group}: its columns differ in length")),
                Err(error) => return Err(format!("row group {group}: {error}")),
            }
        }
        self.rows -= rows;
        Ok(rows)
    }
}

/// Can a column be read?
fn check(kind: &ColumnDescriptor, name: &str, allowed: &[Physical]) -> Result<(), String> {
    if kind.max_rep_level() > 0 || kind.max_def_level() > 1 {
        return Err(format!("its column `{name}` is a list or nested"));
    }
    let found = kind.physical_type();
    if allowed.contains(&found) {
        return Ok(());
    }
    let allowed: Vec<String> = allowed.iter().map(Physical::to_string).collect();
    Err(format!(
        "its column `{name}` has the type {found}; allowed: {}",
        allowed.join(", ")
    ))
}

impl TraceReader for ParquetReader {
    fn next_batch(&mut self, out: &mut RequestBatch, max: usize) -> Result<usize, TraceError> {
        let before = out.len();
        let result = self.read(out, before.saturating_add(max));
        self.ended |= result.is_err();
        result.map(|()| out.len() - before)
    }

    fn counts(&self) -> &ReadCounts {
        &self.counts
    }

    fn time_unit(&self) -> Option<TimeUnit> {
        self.unit
    }
}
