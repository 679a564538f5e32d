//! Tables in memory, such as data frames.

use destage_types::RequestBatch;

use super::guess;
use super::row::{Cell, Cells, MappedRows, bad_row};
use crate::error::TraceError;
use crate::load::{LoadOptions, Trace, TraceMeta};
use crate::readers::{ReadCounts, mapped, plausible};
use crate::sink::{ArrivalClock, RequestSink, Restarts};
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
    let cells = |row: usize| -> Cells<'_> {
        places.map(|place| place.map_or(Cell::Null, |at| frame.cell(row, at)))
    };
    let sample: Vec<Cells<'_>> = (0..frame.rows().min(SAMPLE)).map(cells).collect();
    let time_doubt = guess::settle_units(&mut mapping, &sample, true);
    let (mut rows, mut requests, mut counts) = (
        MappedRows::new(&mapping),
        RequestBatch::new(),
        ReadCounts::default(),
    );
    let mut clock = ArrivalClock::new(1, options.restarts);
    let limit = options
        .limit
        .and_then(|n| usize::try_from(n).ok())
        .unwrap_or(usize::MAX);
    for row in 0..frame.rows() {
        if requests.len() >= limit {
            break;
        }
        counts.lines += 1;
        let mut sink = RequestSink {
            out: &mut requests,
            clock: &mut clock,
            counts: &mut counts,
            goal: usize::MAX,
            lists: u64::MAX,
            extra: &mut None,
        };
        if let Err((role, why)) = rows.push(cells(row), &mut sink) {
            let place = places[role as usize];
            let bad = |line| bad_row(name, line, (role, place), cells(row)[role as usize], why);
            counts.bad(options.skip_bad_lines, bad)?;
        }
    }
    if requests.is_empty() {
        return Err(TraceError::Empty {
            file: file(),
            reason: "it holds no request".into(),
        });
    }
    let mut table = VolumeTable::default();
    let stacked = table
        .add(&requests, 0)
        .and_then(|()| match options.volumes {
            Volumes::Stack if table.rows.len() > 1 => table
                .place()
                .and_then(|()| table.apply(requests.records_mut())),
            _ => Ok(()),
        });
    stacked.map_err(|reason| TraceError::Stack {
        file: file(),
        reason,
    })?;
    let volumes = table.volumes(|stream| rows.volume(stream));
    let skipped = counts.skipped_samples.iter();
    let meta = TraceMeta {
        timed: rows.timed(),
        format: mapped::INFO.name,
        time_unit: mapping.time_unit(),
        mapping: Some(mapping.to_string()),
        format_doubt: plausible::doubt_requests(&mapped::INFO, requests.records()),
        time_doubt,
        arrival_corrections: counts.arrival_corrections,
        most_raised: counts.most_raised,
        restarts: counts.restarts,
        first_restart: counts.first_restart,
        continued: options.restarts == Restarts::Continue,
        unaligned_requests: counts.unaligned_requests,
        skipped_lines: counts.skipped_lines,
        skipped_samples: skipped.map(ToString::to_string).collect(),
        notes: rows.notes(),
        ..TraceMeta::generated(name, requests.len() as u64, volumes)
    };
    Ok(Trace { requests, meta })
}
