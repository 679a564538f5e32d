//! Tables in memory, such as data frames.

use destage_types::RequestBatch;

use super::ColumnRole;
use super::guess;
use super::row::{Cell, Cells, MappedRows, bad_row};
use super::units::settle_units;
use crate::error::TraceError;
use crate::load::{LoadOptions, Trace, TraceMeta};
use crate::readers::{mapped, plausible};
use crate::sink::Intake;
use crate::time_unit::TimeUnit;
use crate::volume::{VolumeTable, Volumes};

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
    let given = options.columns.clone().unwrap_or_default();
    let found = guess::of_columns(&given, &frame.columns(), options.time_unit);
    let (mut mapping, places) = found.map_err(|reason| TraceError::NoColumn {
        name: file(),
        reason,
    })?;
    let used = places.iter().flatten().count();
    let spare = given.rule(ColumnRole::Offset).is_none() && used < frame.columns().len();
    let cells = |row: usize| -> Cells<'_> {
        places.map(|place| place.map_or(Cell::Null, |at| frame.cell(row, at)))
    };
    let sample: Vec<Cells<'_>> = (0..frame.rows().min(SAMPLE)).map(cells).collect();
    let (_, doubts) = settle_units(&mut mapping, &sample, true, spare);
    let (mut rows, mut requests) = (MappedRows::new(&mapping), RequestBatch::new());
    let mut intake = Intake::new(1, options.restarts);
    let limit = options.limit.unwrap_or(u64::MAX);
    for row in 0..frame.rows() {
        if requests.len() as u64 >= limit {
            break;
        }
        intake.counts.lines += 1;
        let mut sink = intake.sink(&mut requests, usize::MAX, u64::MAX);
        if let Err((role, why)) = rows.push(cells(row), &mut sink) {
            let place = places[role as usize];
            let bad = |line| bad_row(name, line, (role, place), cells(row)[role as usize], why);
            intake.counts.bad(options.skip_bad_lines, bad)?;
        }
    }
    if requests.is_empty() {
        return Err(TraceError::Empty {
            file: file(),
            reason: "it holds no request".into(),
        });
    }
    let mut table = VolumeTable::default();
    let mut stack = || {
        table.add(&requests, 0)?;
        if options.volumes == Volumes::Stack && table.rows.len() > 1 {
            table.place()?;
            table.apply(requests.records_mut())?;
        }
        Ok(())
    };
    stack().map_err(|reason| TraceError::Stack {
        file: file(),
        reason,
    })?;
    let volumes = table.volumes(|stream| rows.volume(stream));
    let own = || plausible::doubt_requests(&mapped::INFO, requests.records());
    let meta = TraceMeta {
        timed: rows.timed(),
        format: mapped::INFO.name,
        time_unit: mapping.time_unit(),
        mapping: Some(mapping.to_string()),
        format_doubt: doubts.format.or_else(own),
        time_doubt: doubts.time,
        notes: rows.notes(),
        ..TraceMeta::generated(name, requests.len() as u64, volumes)
    };
    let meta = meta.counted(&intake.counts, options.restarts);
    Ok(Trace { requests, meta })
}
