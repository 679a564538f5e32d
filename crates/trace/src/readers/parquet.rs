//! Parquet files: a row is a request, and its columns are found by their names.

mod columns;
mod durations;

use std::fs::File;
use std::io::Write;
use std::ops::Range;

use destage_types::RequestBatch;
use parquet::basic::{Compression, Type as Physical};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};

use super::columns::{BYTES, OFFSET, columns};
use super::mapped::FLAG;
use super::{FormatInfo, LoadOptions, ReadCounts, ReaderFacts, Separator, TraceReader};
use crate::bytes::input::Input;
use crate::error::TraceError;
use crate::fault::panic_as_error;
use crate::mapping::Roles;
use crate::mapping::frame::TypedTable;
use crate::mapping::row::{Cell, Cells};
use crate::sink::Intake;
use columns::{ParquetColumn, time_unit};

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "parquet",
    about: "Apache Parquet, one row a request. Columns are found by their names, or as `--trace-columns` says. \
            Codecs: none, snappy, gzip, zstd.",
    source: "tables of pandas, Polars, DuckDB, Spark and others",
    separator: Separator::Named,
    columns: columns! {
        "time": OwnTime(TimeUnit::Nanoseconds), "a whole number in the unit of its type, else ns; or a real number of s";
        "op": Own, "R, W, T or F, or read, write, trim, discard or flush, whatever the case, or a word of the mapping";
        "offset": Own, OFFSET;
        "size": Own, BYTES;
        "volume": Own, "optional: a name of at most 4096 bytes, at most 1048576 different ones";
        "fua": Own, FLAG;
        "preflush": Own, FLAG;
    },
    example: EXAMPLE,
    example_requests: 3,
    detect: |_, sample| sample.bytes.starts_with(b"PAR1"),
    open: |_, input, options| {
        Box::new(ParquetReader {
            intake: Intake::new(1, options.restarts),
            input,
            options,
            table: None,
            ended: false,
        })
    },
    ..FormatInfo::BASE
};

/// A write of 4 KiB at 0 ns, a read of 512 B at 1000 ns, and a flush, whose offset and size are null. A test
/// writes the same.
const EXAMPLE: &[u8] = include_bytes!("parquet/example.parquet");

/// Rows that are decoded at once.
const BLOCK: usize = 4_096;

struct ParquetReader {
    input: Input,
    options: LoadOptions,
    intake: Intake,
    table: Option<Table>,
    ended: bool,
}

/// An open file.
struct Table {
    file: SerializedFileReader<File>,
    table: TypedTable,
    /// The columns of the group that is being read, and its rows that have not been decoded.
    columns: Roles<Option<ParquetColumn>>,
    rows: usize,
    /// The next group.
    group: usize,
    /// The bytes of the trace pass by up to the groups that are read, for their hash; `None` for a copy of
    /// them.
    passed: Option<u64>,
    /// Rows of the block that have not been handed out.
    block: Range<usize>,
}

/// The bytes as a file that can be read anywhere: the index of a Parquet file is at its end.
fn open_file(input: &mut Input) -> Result<File, TraceError> {
    if let Some(path) = input.path() {
        return File::open(path).map_err(|source| TraceError::Io {
            file: input.file().to_owned(),
            source,
        });
    }
    let mut copy = tempfile::tempfile().map_err(crate::spool::collect::failed)?;
    loop {
        let window = input.window();
        copy.write_all(window)
            .map_err(crate::spool::collect::failed)?;
        input.consume(input.window().len());
        if !input.fill()? {
            return Ok(copy);
        }
    }
}

impl Table {
    /// Opens the file and finds its columns.
    fn open(input: &mut Input, options: &LoadOptions) -> Result<Table, TraceError> {
        let passed = input.path().map(|_| 0);
        let file = open_file(input)?;
        let refused = |why: String| input.malformed(INFO.name, why);
        let file = panic_as_error(|| SerializedFileReader::new(file)).map_err(refused)?;
        let metadata = file.metadata().file_metadata();
        let (schema, durations) = (metadata.schema_descr(), durations::durations(metadata));
        let named = |column: &ColumnDescPtr| {
            let name = column.path().parts().join(".");
            let duration = durations.iter().find(|known| known.0 == name);
            let unit = time_unit(column).or(duration.map(|known| known.1));
            (name, unit)
        };
        let columns: Vec<_> = schema.columns().iter().map(named).collect();
        let table = TypedTable::new(&columns, options).map_err(refused)?;
        for &place in table.places.iter().flatten() {
            check(&schema.column(place), &columns[place].0).map_err(refused)?;
        }
        Ok(Table {
            file,
            table,
            columns: Roles::default(),
            rows: 0,
            group: 0,
            passed,
            block: 0..0,
        })
    }

    /// Decodes the next block of rows. False at the end.
    fn next_block(&mut self, input: &mut Input) -> Result<bool, TraceError> {
        loop {
            let rows = panic_as_error(|| self.read_block());
            let rows = rows.map_err(|why| input.malformed(INFO.name, why))?;
            self.block = 0..rows;
            if rows > 0 {
                self.table
                    .settle((0..rows).map(|row| cells(&self.columns, row)));
                return Ok(true);
            }
            let end = panic_as_error(|| self.next_group());
            match end.map_err(|why| input.malformed(INFO.name, why))? {
                Some(end) => self.pass_to(input, end)?,
                None => return Ok(false),
            }
        }
    }

    /// Reads the bytes up to `end` for the hash of the file, if they were not read for a copy.
    fn pass_to(&mut self, input: &mut Input, end: u64) -> Result<(), TraceError> {
        while self.passed.is_some_and(|passed| passed < end) {
            let here = input.window().len();
            if here == 0 && !input.fill()? {
                break;
            }
            input.consume(here);
            self.passed = self.passed.map(|passed| passed + here as u64);
        }
        Ok(())
    }

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
        let column = |place: Option<usize>| {
            let Some(place) = place else { return Ok(None) };
            let codec = meta.column(place).compression();
            if !matches!(
                codec,
                Compression::UNCOMPRESSED
                    | Compression::SNAPPY
                    | Compression::GZIP(_)
                    | Compression::ZSTD(_)
            ) {
                let codec = codec.to_string().to_lowercase();
                return Err(refused(&format!(
                    "{codec} pages are not read; allowed: none, snappy, gzip, zstd"
                )));
            }
            let reader = group.get_column_reader(place);
            let reader = reader.map_err(|error| refused(&error))?;
            let kind = &meta.schema_descr().column(place);
            ParquetColumn::new(kind, reader)
                .map(Some)
                .ok_or_else(|| refused(&"its columns have other types"))
        };
        let mut columns = Roles::default();
        for (found, place) in columns.iter_mut().zip(self.table.places) {
            *found = column(place)?;
        }
        let end = |place: usize| {
            let (start, length) = meta.column(place).byte_range();
            start.saturating_add(length)
        };
        let places = self.table.places.iter();
        let end = places.flatten().map(|place| end(*place)).max();
        (self.columns, self.rows, self.group) = (columns, rows, number + 1);
        Ok(end)
    }

    /// Decodes the next rows of the group, and says how many; 0 at its end.
    fn read_block(&mut self) -> Result<usize, String> {
        let (rows, group) = (self.rows.min(BLOCK), self.group);
        if rows == 0 {
            return Ok(0);
        }
        for column in self.columns.iter_mut().flatten() {
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

/// The values of a row of the block.
fn cells(columns: &Roles<Option<ParquetColumn>>, row: usize) -> Cells<'_> {
    columns
        .each_ref()
        .map(|column| column.as_ref().map_or(Cell::Null, |c| c.get(row)))
}

/// Can a column be read?
fn check(kind: &ColumnDescriptor, name: &str) -> Result<(), String> {
    if kind.max_rep_level() > 0 || kind.max_def_level() > 1 {
        return Err(format!("its column `{name}` is a list or nested"));
    }
    let found = kind.physical_type();
    let is_read = !matches!(found, Physical::INT96 | Physical::FIXED_LEN_BYTE_ARRAY);
    let why = "allowed: BOOLEAN, INT32, INT64, FLOAT, DOUBLE, BYTE_ARRAY";
    is_read
        .then_some(())
        .ok_or_else(|| format!("its column `{name}` has the type {found}; {why}"))
}

impl ParquetReader {
    fn read(&mut self, out: &mut RequestBatch, goal: usize) -> Result<(), TraceError> {
        self.intake.give_extra(out);
        if self.table.is_none() {
            self.table = Some(Table::open(&mut self.input, &self.options)?);
        }
        while let Some(table) = self
            .table
            .as_mut()
            .filter(|_| out.len() < goal && !self.ended)
        {
            self.ended = table.block.is_empty() && !table.next_block(&mut self.input)?;
            let mut sink = self.intake.sink(out, goal, u64::MAX);
            while sink.out.len() < goal
                && let Some(row) = table.block.next()
            {
                let (cells, file) = (cells(&table.columns, row), self.input.file());
                let skip = self.options.skip_bad_lines;
                table.table.push(cells, file, skip, &mut sink)?;
            }
        }
        Ok(())
    }
}

impl TraceReader for ParquetReader {
    fn next_batch(&mut self, out: &mut RequestBatch, max: usize) -> Result<usize, TraceError> {
        let before = out.len();
        let result = self.read(out, before.saturating_add(max));
        self.ended |= result.is_err();
        result.map(|()| out.len() - before)
    }

    fn counts(&self) -> &ReadCounts {
        &self.intake.counts
    }

    fn facts(&self) -> &dyn ReaderFacts {
        match &self.table {
            Some(table) => &table.table,
            None => self,
        }
    }
}

/// Nothing is known of a file that has not been opened.
impl ReaderFacts for ParquetReader {}
