//! Tables of latency under load, with the columns of the data of Haas, Lee, Bonnet and Leis, *SSD-iq* (PVLDB 2025).
//!
//! The load is always the same one but for its rate. It stands in [`load_at`], because the table does not say it.

use super::cell::{
    CellLoad, CellResult, DriveCell, LatencyTable, LoadArrivals, LoadPattern, LoadStream,
    MeasuredPlace, PlacePart, Quantile,
};
use super::table::{CsvTable, TableRow};
use destage_console::failure::Failure;
use std::path::Path;

/// Columns by which such a table is known.
const KEY_COLUMNS: [&str; 4] = [
    "drive",
    "target_writes_per_s",
    "writes_per_s",
    "other_threads",
];

/// Requests a second of the thread whose latencies the table gives. Half of them are reads.
const LATENCY_THREAD_PER_S: f64 = 10_000.0;

/// Is this such a table?
pub fn is_load_table(table: &CsvTable) -> bool {
    let has = |column: &&str| table.columns().iter().any(|known| known == column);
    KEY_COLUMNS.iter().all(has)
}

/// The cells of a table.
///
/// # Errors
/// A value is missing or wrong, or the table has a column of another name.
pub fn read_cells(file: &Path, table: &CsvTable) -> Result<Vec<DriveCell>, Failure> {
    let mut quantiles = Vec::new();
    for column in table.columns() {
        match quantile_column(column) {
            Some(quantile) => quantiles.push((column.as_str(), quantile)),
            None if KEY_COLUMNS.contains(&column.as_str()) || column == "reads_per_s" => {}
            None => {
                let file = file.display();
                let allowed = "reads_per_s, write_us_pN and read_us_pN, where N is a percentile";
                let keys = KEY_COLUMNS.join(", ");
                let fault =
                    format!("{file}:1: column `{column}` is unknown. Allowed: {keys}, {allowed}.");
                return Err(Failure::usage(fault));
            }
        }
    }
    let cells = table.rows(file);
    cells.map(|row| read_cell(file, &row, &quantiles)).collect()
}

fn read_cell(
    file: &Path,
    row: &TableRow<'_>,
    quantiles: &[(&str, QuantileColumn)],
) -> Result<DriveCell, Failure> {
    let target = row.required_number(
        "target_writes_per_s",
        LATENCY_THREAD_PER_S / 2.0,
        f64::INFINITY,
    )?;
    let threads = row.count("other_threads")?;
    let threads = threads
        .ok_or_else(|| row.fault("`other_threads` is missing. Allowed: a whole number from 1."))?;
    Ok(DriveCell {
        drive: row.required("drive", "the name of a drive")?.to_owned(),
        load: load_at(target, threads),
        measured: CellResult {
            writes_per_s: Some(row.required_number(
                "writes_per_s",
                f64::MIN_POSITIVE,
                f64::INFINITY,
            )?),
            reads_per_s: row.number("reads_per_s", 0.0, f64::INFINITY)?,
            write: latencies(row, quantiles, false)?,
            read: latencies(row, quantiles, true)?,
        },
        place: MeasuredPlace {
            file: file.to_owned(),
            part: PlacePart::Line(row.line),
        },
    })
}

/// The load of the published tables at `target` writes a second. Before it, the drive was filled sequentially and
/// overwritten three times with uniform writes of 4 KiB. Threads have a queue depth of 64 each. All arrivals are
/// Poisson, at uniform addresses.
pub fn load_at(target: f64, threads: u32) -> CellLoad {
    let stream = |threads, reads, per_s, measured| LoadStream {
        threads,
        reads,
        bytes: 4096,
        pattern: LoadPattern::Random,
        arrivals: LoadArrivals::Poisson { per_s },
        depth: 64,
        measured,
    };
    let others = target - LATENCY_THREAD_PER_S / 2.0;
    let mut streams = vec![stream(1, 0.5, LATENCY_THREAD_PER_S, true)];
    if others > 0.0 {
        streams.push(stream(threads, 0.01, others, false));
    }
    CellLoad {
        streams,
        fill: 1.0,
        overwrites: 3.0,
        seconds: Some(130.0),
    }
}

/// A column that gives a quantile of reads or writes.
#[derive(Clone, Copy)]
pub struct QuantileColumn {
    of_reads: bool,
    share: f64,
}

/// The kind and the share of `write_us_p99.9` and the like.
pub fn quantile_column(column: &str) -> Option<QuantileColumn> {
    let (kind, percent) = column.split_once("_us_p")?;
    let percent: f64 = percent.parse().ok()?;
    let of_reads = match kind {
        "read" => true,
        "write" => false,
        _ => return None,
    };
    let is_inside = percent > 0.0 && percent < 100.0;
    is_inside.then_some(QuantileColumn {
        of_reads,
        share: percent / 100.0,
    })
}

/// The latencies of reads, or of writes, in a row.
///
/// # Errors
/// A value is no latency, or they fall where the percentile rises.
pub fn latencies(
    row: &TableRow<'_>,
    columns: &[(&str, QuantileColumn)],
    of_reads: bool,
) -> Result<LatencyTable, Failure> {
    let mut quantiles = Vec::new();
    for (column, quantile) in columns {
        if quantile.of_reads == of_reads
            && let Some(us) = row.number(column, f64::MIN_POSITIVE, f64::INFINITY)?
        {
            let share = quantile.share;
            quantiles.push(Quantile { share, us });
        }
    }
    quantiles.sort_by(|a, b| a.share.total_cmp(&b.share));
    for pair in quantiles.windows(2) {
        if pair[1].us < pair[0].us {
            let kind = if of_reads { "read" } else { "write" };
            let at = |q: Quantile| format!("{} us at {} %", q.us, q.share * 100.0);
            let (low, high) = (at(pair[0]), at(pair[1]));
            return Err(row.fault(format!(
                "{kind} latencies fall from {low} to {high}. A higher percentile cannot be lower."
            )));
        }
    }
    let mean = if of_reads {
        "read_mean_us"
    } else {
        "write_mean_us"
    };
    Ok(LatencyTable {
        mean_us: row.number(mean, f64::MIN_POSITIVE, f64::INFINITY)?,
        quantiles,
    })
}
