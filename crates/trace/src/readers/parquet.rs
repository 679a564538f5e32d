//! Parquet files: a row is a request, and its columns are found by their names.

mod columns;

use std::fs::File;
use std::io::{self, Write};

use destage_types::RequestBatch;
use parquet::basic::{Compression, Type as Physical};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::columns::{BYTES, OFFSET, columns};
use super::mapped::FLAG;
use super::{FormatInfo, ReadCounts, ReadOptions, Separator, TraceReader};
use crate::bytes::input::Input;
use crate::doubts::Doubts;
use crate::error::TraceError;
use crate::fault::panic_as_error;
use crate::mapping::row::{Cell, Cells, MappedRows, bad_row};
use crate::mapping::units::settle_units;
use crate::mapping::{ColumnRole, Mapping, Roles, guess};
use crate::sink::Intake;
use crate::time_unit::TimeUnit;
use crate::volume::VolumeName;
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
    open: |_, input, options| Box::new(ParquetReader::new(input, options)),
    ..FormatInfo::BASE
};

/// A write of 4 KiB at 0 ns, a read of 512 B at 1000 ns, and a flush, whose offset and size are null. A test
/// writes the same.
const EXAMPLE: &[u8] = include_bytes!("parquet/example.parquet");

/// Rows that are decoded at once.
const BLOCK: usize = 4_096;
/// Rows that units are told by.
const SAMPLE: usize = 1_000;

struct ParquetReader {
    input: Input,
    options: ReadOptions,
    intake: Intake,
    table: Option<Table>,
    mapping: Mapping,
    /// Known once rows have been decoded.
    requests: Option<MappedRows>,
    doubts: Doubts,
    /// Rows of the block that have not been handed out.
    block: usize,
    ended: bool,
}

/// An open file.
struct Table {
    file: SerializedFileReader<File>,
    /// Where the columns are in the file.
    places: Roles<Option<usize>>,
    /// Has it others, of which no use is known?
    spare: bool,
    /// The columns of the group that is being read, and its rows that have not been decoded.
    columns: Option<Roles<Option<ParquetColumn>>>,
    rows: usize,
    /// The next group.
    group: usize,
    /// The bytes of the trace pass by up to the groups that are read, for their hash; `None` for a copy of
    /// them.
    passed: Option<u64>,
}

impl ParquetReader {
    fn new(input: Input, options: ReadOptions) -> ParquetReader {
        let intake = Intake::new(1, options.restarts);
        ParquetReader {
            input,
            options,
            intake,
            table: None,
            mapping: Mapping::default(),
            requests: None,
            doubts: Doubts::default(),
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
        let schema = file.metadata().file_metadata().schema_descr();
        let name = |path: &[String]| path.join(".");
        let columns = schema.columns().iter();
        let columns: Vec<_> = columns
            .map(|column| (name(column.path().parts()), time_unit(column)))
            .collect();
        let given = self.options.columns.clone().unwrap_or_default();
        let found = guess::of_columns(&given, &columns, self.options.time_unit);
        let (mapping, places) = found.map_err(|why| self.malformed(why))?;
        for &place in places.iter().flatten() {
            check(&schema.column(place), &columns[place].0).map_err(|why| self.malformed(why))?;
        }
        let used = places.iter().flatten().count();
        let spare = given.rule(ColumnRole::Offset).is_none() && used < columns.len();
        self.mapping = mapping;
        self.table = Some(Table {
            file,
            places,
            spare,
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
                    if self.requests.is_none() {
                        self.doubts = table.settle(&mut self.mapping, rows.min(SAMPLE));
                        self.requests = Some(MappedRows::new(&self.mapping));
                    }
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
        let (
            Some(Table {
                columns: Some(columns),
                places,
                ..
            }),
            Some(requests),
        ) = (&mut self.table, &mut self.requests)
        else {
            return Ok(());
        };
        let mut sink = self.intake.sink(out, goal, u64::MAX);
        while self.block > 0 && sink.out.len() < goal {
            self.block -= 1;
            sink.counts.lines += 1;
            let cells = next_cells(columns);
            let Err((role, why)) = requests.push(cells, &mut sink) else {
                continue;
            };
            let (cell, place) = (cells[role as usize], places[role as usize]);
            let file = self.input.file();
            sink.counts.bad(self.options.skip_bad_lines, |line| {
                bad_row(file, line, (role, place), cell, why)
            })?;
        }
        Ok(())
    }

    fn read(&mut self, out: &mut RequestBatch, goal: usize) -> Result<(), TraceError> {
        self.intake.give_extra(out);
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
        for (found, place) in columns.iter_mut().zip(self.places) {
            *found = column(place)?;
        }
        let end = |place: usize| {
            let (start, length) = meta.column(place).byte_range();
            start.saturating_add(length)
        };
        let end = self.places.iter().flatten().map(|place| end(*place)).max();
        (self.columns, self.rows, self.group) = (Some(columns), rows, number + 1);
        Ok(end)
    }

    /// Decodes the next rows of the group, and says how many; 0 at its end.
    fn read_block(&mut self) -> Result<usize, String> {
        let (Some(columns), rows @ 1..) = (&mut self.columns, self.rows.min(BLOCK)) else {
            return Ok(0);
        };
        for column in columns.iter_mut().flatten() {
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

    /// Finds the units that the mapping does not say in the first rows of a block, and what speaks for others.
    fn settle(&mut self, mapping: &mut Mapping, rows: usize) -> Doubts {
        let Some(columns) = self.columns.as_mut() else {
            return Doubts::default();
        };
        // A block hands out one row at a time.
        let rows: Vec<OwnedRow> = (0..rows)
            .map(|_| next_cells(columns).map(OwnedCell::of))
            .collect();
        columns.iter_mut().flatten().for_each(ParquetColumn::rewind);
        let cells: Vec<Cells<'_>> = rows
            .iter()
            .map(|row| ColumnRole::ALL.map(|role| row[role as usize].cell()))
            .collect();
        settle_units(mapping, &cells, true, self.spare).1
    }
}

/// A value that its block has gone on from.
enum OwnedCell {
    Text(Vec<u8>),
    Other(Cell<'static>),
}

type OwnedRow = Roles<OwnedCell>;

impl OwnedCell {
    fn of(cell: Cell<'_>) -> OwnedCell {
        match cell {
            Cell::Text(text) => OwnedCell::Text(text.to_vec()),
            Cell::Null => OwnedCell::Other(Cell::Null),
            Cell::Integer(n) => OwnedCell::Other(Cell::Integer(n)),
            Cell::Real(x) => OwnedCell::Other(Cell::Real(x)),
        }
    }

    fn cell(&self) -> Cell<'_> {
        match self {
            OwnedCell::Text(text) => Cell::Text(text),
            OwnedCell::Other(cell) => *cell,
        }
    }
}

/// The values of the next row.
fn next_cells(columns: &mut Roles<Option<ParquetColumn>>) -> Cells<'_> {
    let mut cells = [Cell::Null; ColumnRole::ALL.len()];
    for (cell, column) in cells.iter_mut().zip(columns) {
        if let Some(column) = column {
            *cell = column.next();
        }
    }
    cells
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

    fn timed(&self) -> bool {
        self.requests.as_ref().is_none_or(MappedRows::timed)
    }

    fn time_unit(&self) -> Option<TimeUnit> {
        self.mapping.time_unit()
    }

    fn mapping(&self) -> Option<&Mapping> {
        Some(&self.mapping)
    }

    fn doubts(&self) -> Doubts {
        self.doubts.clone()
    }

    fn volume(&self, stream: u32) -> Option<VolumeName> {
        self.requests.as_ref()?.volume(stream)
    }

    fn notes(&self) -> Vec<String> {
        self.requests.as_ref().map_or(Vec::new(), MappedRows::notes)
    }
}
