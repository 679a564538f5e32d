//! destage's own table of measurements (docs/MEASUREMENTS.md): one row for each stream of a load. Rows with the same
//! `cell` ran at the same time.

use super::cell::{
    CellLoad, CellResult, DriveCell, LatencyTable, LoadArrivals, LoadPattern, LoadStream,
    MeasuredPlace, PlacePart,
};
use super::load_table::{QuantileColumn, latencies, quantile_column};
use super::table::{CsvTable, TableRow};
use destage_console::failure::Failure;
use std::path::Path;

/// Columns that a table must have.
pub const REQUIRED: [&str; 9] = [
    "cell",
    "drive",
    "fill",
    "overwrites",
    "reads",
    "bytes",
    "pattern",
    "arrivals",
    "depth",
];

/// Columns that a table may have, beside `write_us_pN` and `read_us_pN`.
pub const OPTIONAL: [&str; 10] = [
    "seconds",
    "threads",
    "rate_per_s",
    "burst_requests",
    "idle_s",
    "measured",
    "writes_per_s",
    "reads_per_s",
    "write_mean_us",
    "read_mean_us",
];

const NO_LIMIT: f64 = f64::INFINITY;

/// The cells of a table.
///
/// # Errors
/// A column is missing or unknown, a value is missing or wrong, or rows of a cell contradict each other.
pub fn read_cells(file: &Path, table: &CsvTable) -> Result<Vec<DriveCell>, Failure> {
    let quantiles = check_columns(file, table)?;
    let mut cells: Vec<(String, DriveCell)> = Vec::new();
    for row in table.rows(file) {
        let name = row.required("cell", "a name for the load")?.to_owned();
        let next = read_row(file, &row, &quantiles)?;
        match cells.iter_mut().find(|(known, _)| *known == name) {
            Some((_, cell)) => join(cell, next, &row)?,
            None => cells.push((name, next)),
        }
    }
    for (name, cell) in &cells {
        check_cell(name, cell).map_err(|what| Failure::usage(format!("{}: {what}", cell.place)))?;
    }
    Ok(cells.into_iter().map(|(_, cell)| cell).collect())
}

fn check_columns<'a>(
    file: &Path,
    table: &'a CsvTable,
) -> Result<Vec<(&'a str, QuantileColumn)>, Failure> {
    let file = file.display();
    let mut quantiles = Vec::new();
    for column in table.columns() {
        let name = column.as_str();
        match quantile_column(name) {
            Some(quantile) => quantiles.push((name, quantile)),
            None if REQUIRED.contains(&name) || OPTIONAL.contains(&name) => {}
            None => {
                let (required, optional) = (REQUIRED.join(", "), OPTIONAL.join(", "));
                return Err(Failure::usage(format!(
                    "{file}:1: column `{name}` is unknown. Allowed: {required}, {optional}, write_us_pN and \
                     read_us_pN, where N is a percentile."
                )));
            }
        }
    }
    for name in REQUIRED {
        if !table.columns().iter().any(|column| column == name) {
            return Err(Failure::usage(format!(
                "{file}:1: column `{name}` is missing. docs/MEASUREMENTS.md describes the table."
            )));
        }
    }
    Ok(quantiles)
}

fn read_row(
    file: &Path,
    row: &TableRow<'_>,
    quantiles: &[(&str, QuantileColumn)],
) -> Result<DriveCell, Failure> {
    Ok(DriveCell {
        drive: row.required("drive", "the name of a drive")?.to_owned(),
        load: CellLoad {
            streams: vec![read_stream(row)?],
            fill: row.required_number("fill", 0.0, 1.0)?,
            overwrites: row.required_number("overwrites", 0.0, NO_LIMIT)?,
            seconds: row.number("seconds", f64::MIN_POSITIVE, NO_LIMIT)?,
        },
        measured: CellResult {
            writes_per_s: row.number("writes_per_s", f64::MIN_POSITIVE, NO_LIMIT)?,
            reads_per_s: row.number("reads_per_s", f64::MIN_POSITIVE, NO_LIMIT)?,
            write: latencies(row, quantiles, false)?,
            read: latencies(row, quantiles, true)?,
        },
        place: MeasuredPlace {
            file: file.to_owned(),
            part: PlacePart::Line(row.line),
        },
    })
}

fn read_stream(row: &TableRow<'_>) -> Result<LoadStream, Failure> {
    let missing = |column: &str| {
        row.fault(format!(
            "`{column}` is missing. Allowed: a whole number from 1."
        ))
    };
    let bytes: u64 = row.count("bytes")?.ok_or_else(|| missing("bytes"))?;
    if !bytes.is_multiple_of(512) {
        return Err(row.refused("bytes", "a multiple of 512"));
    }
    let patterns = "random or sequential";
    let pattern = match row.required("pattern", patterns)? {
        "random" => LoadPattern::Random,
        "sequential" => LoadPattern::Sequential,
        _ => return Err(row.refused("pattern", patterns)),
    };
    let measured = match row.text("measured") {
        None | Some("yes") => true,
        Some("no") => false,
        Some(_) => return Err(row.refused("measured", "yes or no")),
    };
    Ok(LoadStream {
        threads: row.count("threads")?.unwrap_or(1),
        reads: row.required_number("reads", 0.0, 1.0)?,
        bytes,
        pattern,
        arrivals: read_arrivals(row)?,
        depth: row.count("depth")?.ok_or_else(|| missing("depth"))?,
        measured,
    })
}

/// Arrivals, with the columns that they need and without those that belong to others.
fn read_arrivals(row: &TableRow<'_>) -> Result<LoadArrivals, Failure> {
    let words = "poisson, paced, closed or bursts";
    let word = row.required("arrivals", words)?;
    let per_s = || row.required_number("rate_per_s", f64::MIN_POSITIVE, NO_LIMIT);
    let (arrivals, unused): (_, &[&str]) = match word {
        "poisson" => (
            LoadArrivals::Poisson { per_s: per_s()? },
            &["burst_requests", "idle_s"],
        ),
        "paced" => (
            LoadArrivals::Paced { per_s: per_s()? },
            &["burst_requests", "idle_s"],
        ),
        "closed" => (
            LoadArrivals::Closed,
            &["rate_per_s", "burst_requests", "idle_s"],
        ),
        "bursts" => {
            let requests = row.count("burst_requests")?;
            let missing =
                || row.fault("`burst_requests` is missing. Allowed: a whole number from 1.");
            let requests = requests.ok_or_else(missing)?;
            let idle_s = row.required_number("idle_s", 0.0, NO_LIMIT)?;
            (LoadArrivals::Bursts { requests, idle_s }, &["rate_per_s"])
        }
        _ => return Err(row.refused("arrivals", words)),
    };
    for column in unused {
        if row.text(column).is_some() {
            return Err(row.fault(format!(
                "`{column}` has no meaning for arrivals that are `{word}`. Leave it empty."
            )));
        }
    }
    Ok(arrivals)
}

/// Adds the stream of a further row to a cell.
fn join(cell: &mut DriveCell, next: DriveCell, row: &TableRow<'_>) -> Result<(), Failure> {
    let (load, other) = (&mut cell.load, next.load);
    let same = [
        ("drive", cell.drive == next.drive),
        ("fill", load.fill == other.fill),
        ("overwrites", load.overwrites == other.overwrites),
        ("seconds", load.seconds == other.seconds),
    ];
    if let Some((column, _)) = same.iter().find(|(_, same)| !same) {
        let first = &cell.place;
        return Err(row.fault(format!(
            "`{column}` differs from {first}, which is a row of the same cell. Rows of a cell share it."
        )));
    }
    load.streams.extend(other.streams);
    let (mine, other) = (&mut cell.measured, next.measured);
    let taken = take(&mut mine.writes_per_s, other.writes_per_s)
        && take(&mut mine.reads_per_s, other.reads_per_s)
        && take_latencies(&mut mine.write, other.write)
        && take_latencies(&mut mine.read, other.read);
    let twice =
        "the cell has this result in an earlier row. Give rates and latencies of a cell once.";
    taken.then_some(()).ok_or_else(|| row.fault(twice))
}

/// Takes a value over. False if there are two.
fn take<T>(mine: &mut Option<T>, other: Option<T>) -> bool {
    let are_two = mine.is_some() && other.is_some();
    *mine = mine.take().or(other);
    !are_two
}

fn take_latencies(mine: &mut LatencyTable, other: LatencyTable) -> bool {
    if other.is_empty() {
        return true;
    }
    let was_empty = mine.is_empty();
    *mine = other;
    was_empty
}

/// Checks a whole cell.
fn check_cell(name: &str, cell: &DriveCell) -> Result<(), String> {
    let (streams, result) = (&cell.load.streams, &cell.measured);
    let measured = || streams.iter().filter(|stream| stream.measured);
    let kinds = [
        (
            "writes_per_s",
            result.writes_per_s.is_some(),
            streams.iter().any(|s| s.reads < 1.0),
        ),
        (
            "reads_per_s",
            result.reads_per_s.is_some(),
            streams.iter().any(|s| s.reads > 0.0),
        ),
        (
            "write latencies",
            !result.write.is_empty(),
            measured().any(|s| s.reads < 1.0),
        ),
        (
            "read latencies",
            !result.read.is_empty(),
            measured().any(|s| s.reads > 0.0),
        ),
    ];
    for (what, is_given, is_possible) in kinds {
        if is_given && !is_possible {
            return Err(format!(
                "cell `{name}` has {what}, but none of its streams can have them. Correct `reads` or `measured`."
            ));
        }
    }
    match kinds.iter().any(|(_, is_given, _)| *is_given) {
        true => Ok(()),
        false => Err(format!(
            "cell `{name}` has no result. Give a rate, a mean or a percentile."
        )),
    }
}
