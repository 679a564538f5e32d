//! Tables in memory, such as data frames.

use destage_types::RequestBatch;

use super::guess;
use super::row::{Cell, Cells, MappedRows};
use super::units::settle_units;
use super::{ColumnRole, Mapping, Roles};
use crate::doubts::Doubts;
use crate::error::{BadLine, TraceError};
use crate::load::{Trace, TraceMeta};
use crate::options::LoadOptions;
use crate::readers::{ReaderFacts, mapped, plausible};
use crate::sink::{Intake, RequestSink};
use crate::time_unit::TimeUnit;
use crate::volume::{VolumeName, VolumeTable, Volumes};

/// A table in memory, a request a row.
pub trait Frame {
    /// The names of its columns, and the units that their types state.
    fn columns(&self) -> Vec<(String, Option<TimeUnit>)>;
    /// Its rows.
    fn rows(&self) -> usize;
    /// A value.
    fn cell(&self, row: usize, column: usize) -> Cell<'_>;
}

/// Rows that units are told by.
const SAMPLE: usize = 1_000;

/// A table of typed columns, a row a request, under a mapping.
pub(crate) struct TypedTable {
    pub mapping: Mapping,
    /// Where its values are among the columns.
    pub places: Roles<Option<usize>>,
    /// Are there other columns, of which no use is known?
    spare: bool,
    /// Known once the units are.
    rows: Option<MappedRows>,
    doubts: Doubts,
}

impl TypedTable {
    /// A table with these columns, and the units that their types state.
    ///
    /// # Errors
    /// A column is missing.
    pub fn new(
        columns: &[(String, Option<TimeUnit>)],
        options: &LoadOptions,
    ) -> Result<TypedTable, String> {
        let given = options.columns.clone().unwrap_or_default();
        let (mapping, places) = guess::of_columns(&given, columns, options.time_unit)?;
        let used = places.iter().flatten().count();
        Ok(TypedTable {
            spare: given.rule(ColumnRole::Offset).is_none() && used < columns.len(),
            mapping,
            places,
            rows: None,
            doubts: Doubts::default(),
        })
    }

    /// Finds the units that the mapping does not say in the first rows, and what speaks for others.
    pub fn settle<'a>(&mut self, sample: impl Iterator<Item = Cells<'a>>) {
        if self.rows.is_none() {
            let sample: Vec<Cells<'a>> = sample.take(SAMPLE).collect();
            self.doubts = settle_units(&mut self.mapping, &sample, true, self.spare).1;
            self.rows = Some(MappedRows::new(&self.mapping));
        }
    }

    /// Pushes the request of a row of `file`.
    ///
    /// # Errors
    /// A value is none of a request, and such rows are not skipped.
    pub fn push(
        &mut self,
        cells: Cells<'_>,
        file: &str,
        skip: bool,
        sink: &mut RequestSink<'_>,
    ) -> Result<(), TraceError> {
        sink.intake.counts.lines += 1;
        let rows = self.rows.as_mut();
        let Some(Err((role, reason))) = rows.map(|rows| rows.push(cells, sink)) else {
            return Ok(());
        };
        let column = &mapped::INFO.columns[role as usize];
        sink.intake.counts.bad(skip, |line| BadLine {
            file: file.to_owned(),
            unit: "row",
            line,
            column: self.places[role as usize].map(|place| (place + 1, column.name)),
            value: cells[role as usize].text(),
            reason,
            allowed: column.allowed.to_owned(),
        })
    }
}

impl ReaderFacts for TypedTable {
    fn timed(&self) -> bool {
        self.mapping.rule(ColumnRole::Time).is_some()
    }

    fn mapping(&self) -> Option<&Mapping> {
        Some(&self.mapping)
    }

    fn doubts(&self) -> Doubts {
        self.doubts.clone()
    }

    fn volume(&self, stream: u32) -> Option<VolumeName> {
        self.rows.as_ref()?.volume(stream)
    }

    fn notes(&self) -> Vec<String> {
        self.rows.as_ref().map_or(Vec::new(), MappedRows::notes)
    }
}

/// Makes a trace of a table in memory, under `options.columns`.
///
/// # Errors
/// A column is missing, or a value is none of a request.
pub fn load_frame(
    name: &str,
    frame: &dyn Frame,
    options: &LoadOptions,
) -> Result<Trace, TraceError> {
    let file = || name.to_owned();
    let table = TypedTable::new(&frame.columns(), options);
    let mut table = table.map_err(|reason| TraceError::NoColumn {
        name: file(),
        reason,
    })?;
    let places = table.places;
    let cells = |row: usize| -> Cells<'_> {
        places.map(|place| place.map_or(Cell::Null, |at| frame.cell(row, at)))
    };
    table.settle((0..frame.rows()).map(cells));
    let mut requests = RequestBatch::new();
    let mut intake = Intake::new(1, options.restarts);
    let goal = options.limit.and_then(|limit| limit.try_into().ok());
    let mut sink = intake.sink(&mut requests, goal.unwrap_or(usize::MAX), u64::MAX);
    for row in (0..frame.rows()).map(cells) {
        if sink.out.len() >= sink.goal {
            break;
        }
        table.push(row, name, options.skip_bad_lines, &mut sink)?;
    }
    if requests.is_empty() {
        return Err(TraceError::Empty {
            file: file(),
            reason: "it holds no request".into(),
        });
    }
    let mut volumes = VolumeTable::default();
    let mut stack = || {
        volumes.add(&requests, 0)?;
        if options.volumes == Volumes::Stack && volumes.rows.len() > 1 {
            volumes.place()?;
            volumes.apply(requests.records_mut())?;
        }
        Ok(())
    };
    stack().map_err(|why| TraceError::stack(name, why))?;
    let volumes = volumes.volumes(|stream| table.volume(stream));
    let own = || plausible::doubt_requests(&mapped::INFO, requests.records());
    let doubts = table.doubts();
    let meta = TraceMeta {
        timed: table.timed(),
        format: mapped::INFO.name,
        time_unit: table.mapping.time_unit(),
        mapping: Some(table.mapping.to_string()),
        format_doubt: doubts.format.or_else(own),
        time_doubt: doubts.time,
        notes: table.notes(),
        ..TraceMeta::generated(name, requests.len() as u64, volumes)
    };
    let meta = meta.counted(&intake.counts, options.restarts);
    Ok(Trace { requests, meta })
}
