//! Tables of rates under patterns of writes, with the columns of the data of Haas, Lee, Bonnet and Leis, *SSD-iq* (PVLDB
//! 2025): each run begins on a drive that was filled sequentially and never overwritten.

use super::cell::{
    CellLoad, CellResult, DriveCell, LatencyTable, LoadArrivals, LoadPattern, LoadStream,
    MeasuredPlace, PlacePart, Quantile,
};
use super::table::{CsvTable, TableRow};
use destage_console::failure::Failure;
use destage_sim::waf::{WafPattern, WafZone};
use std::collections::BTreeMap;
use std::path::Path;

/// Columns by which such a table is known.
const KEY_COLUMNS: [&str; 5] = [
    "drive",
    "pattern",
    "parameters",
    "span_gib",
    "rate_by_tenth",
];
/// Columns that it may have.
const OPTIONAL: [&str; 7] = [
    "block",
    "depth",
    "volume",
    "drop_after_gib",
    "start_writes_per_s",
    "writes_per_s",
    "reads_per_s",
];
/// Columns of the published table that no fit uses.
const UNUSED: [&str; 3] = ["steady", "run", "repeats"];
/// Percentiles of the writes of a run, in us.
const PERCENTILES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)];
const GIB: f64 = (1_u64 << 30) as f64;
/// Parts in which a run gives its rates.
pub const PARTS: usize = 10;
/// Bytes of a write of a run.
pub const SMALL_WRITE: u64 = 4096;

/// Writes of 4 KiB in a pattern, and the rates that the drive reached.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternRun {
    /// Name of the drive.
    pub drive: String,
    /// The name of the pattern in the table, with its parameters.
    pub name: String,
    /// Which pages the host writes.
    pub pattern: WafPattern,
    /// Bytes that were filled, and are written.
    pub span: u64,
    /// Writes a second in ten equal parts of the volume.
    pub rates: [f64; PARTS],
    /// Bytes that were written, in spans.
    pub volume: f64,
    /// Bytes that were written until the rate first dropped.
    pub drop_after: Option<u64>,
    /// Writes a second before that.
    pub fresh: Option<f64>,
    /// Where the run stands.
    pub place: MeasuredPlace,
}

/// What a table has.
#[derive(Debug, Default)]
pub struct PatternTable {
    /// Runs of small writes.
    pub runs: Vec<PatternRun>,
    /// The sequential fills.
    pub fills: Vec<DriveCell>,
    /// Rows that are left out, in one sentence.
    pub doubts: Vec<String>,
}

/// Is this such a table?
pub fn is_pattern_table(table: &CsvTable) -> bool {
    let has = |column: &&str| table.columns().iter().any(|known| known == column);
    KEY_COLUMNS.iter().all(has)
}

/// The runs of a table.
///
/// # Errors
/// A value is missing or wrong, or the table has a column of another name.
pub fn read_runs(file: &Path, table: &CsvTable) -> Result<PatternTable, Failure> {
    let percentiles = PERCENTILES.map(|(column, _)| column);
    let known: Vec<&str> = [&KEY_COLUMNS[..], &OPTIONAL, &UNUSED, &percentiles].concat();
    if let Some(column) = table
        .columns()
        .iter()
        .find(|c| !known.contains(&c.as_str()))
    {
        let (file, known) = (file.display(), known.join(", "));
        let fault = format!("{file}:1: column `{column}` is unknown. Allowed: {known}.");
        return Err(Failure::usage(fault));
    }
    let (mut all, mut left_out) = (PatternTable::default(), 0);
    let mut fills: BTreeMap<String, (f64, DriveCell)> = BTreeMap::new();
    for row in table.rows(file) {
        let word = row.required("pattern", PATTERNS)?;
        let block = row.count::<u64>("block")?.unwrap_or(SMALL_WRITE);
        match word {
            "sequential" => {
                // The fill of a part of a drive says the same as that of the whole.
                let span = span_gib(&row)?;
                let cell = read_fill(file, &row, block)?;
                let known = fills.get(&cell.drive).map_or(0.0, |known| known.0);
                if span > known {
                    fills.insert(cell.drive.clone(), (span, cell));
                }
            }
            "zns-noshuffle" => left_out += 1,
            _ if block != SMALL_WRITE => left_out += 1,
            _ => all.runs.push(read_run(file, &row, word)?),
        }
    }
    all.fills = fills.into_values().map(|(_, cell)| cell).collect();
    if left_out > 0 {
        all.doubts.push(format!(
            "{}: {left_out} rows are left out: they do not write {SMALL_WRITE} bytes at a time at random places",
            file.display()
        ));
    }
    Ok(all)
}

/// What `pattern` may be.
const PATTERNS: &str = "sequential, uniform, zipf-shuffle, zones-shuffle, zns-noshuffle";

fn span_gib(row: &TableRow<'_>) -> Result<f64, Failure> {
    row.required_number("span_gib", f64::MIN_POSITIVE, 1e6)
}

fn drive(row: &TableRow<'_>) -> Result<String, Failure> {
    Ok(row.required("drive", "the name of a drive")?.to_owned())
}

fn place(file: &Path, row: &TableRow<'_>) -> MeasuredPlace {
    MeasuredPlace {
        file: file.to_owned(),
        part: PlacePart::Line(row.line),
    }
}

/// A sequential fill of an empty drive.
fn read_fill(file: &Path, row: &TableRow<'_>, bytes: u64) -> Result<DriveCell, Failure> {
    let mut quantiles = Vec::new();
    for (column, share) in PERCENTILES {
        let us = row.number(column, f64::MIN_POSITIVE, f64::INFINITY)?;
        quantiles.extend(us.map(|us| Quantile { share, us }));
    }
    let rates = rates(row)?;
    Ok(DriveCell {
        drive: drive(row)?,
        load: CellLoad {
            streams: vec![LoadStream {
                threads: 1,
                reads: 0.0,
                bytes,
                pattern: LoadPattern::Sequential,
                arrivals: LoadArrivals::Closed,
                depth: row.count("depth")?.unwrap_or(1),
                measured: true,
            }],
            fill: 0.0,
            overwrites: 0.0,
            seconds: None,
        },
        measured: CellResult {
            writes_per_s: Some(rates.iter().sum::<f64>() / PARTS as f64),
            write: LatencyTable {
                mean_us: None,
                quantiles,
            },
            ..CellResult::default()
        },
        place: place(file, row),
    })
}

fn read_run(file: &Path, row: &TableRow<'_>, word: &str) -> Result<PatternRun, Failure> {
    let parameters = row.text("parameters").unwrap_or_default();
    let pattern = pattern(word, parameters).ok_or_else(|| match word {
        "uniform" | "zipf-shuffle" | "zones-shuffle" => row.refused("parameters", PARAMETERS),
        _ => row.refused("pattern", PATTERNS),
    })?;
    let gib = |gib: f64| (gib * GIB) as u64;
    let rate = |column: &str| row.number(column, f64::MIN_POSITIVE, f64::INFINITY);
    Ok(PatternRun {
        drive: drive(row)?,
        name: format!("{word} {parameters}").trim_end().to_owned(),
        pattern,
        span: gib(span_gib(row)?),
        rates: rates(row)?,
        volume: row.required_number("volume", 0.1, 100.0)?,
        drop_after: row.number("drop_after_gib", 0.0, 1e6)?.map(gib),
        fresh: rate("start_writes_per_s")?,
        place: place(file, row),
    })
}

/// What `parameters` may be.
const PARAMETERS: &str = "nothing for uniform; an exponent from 0 to 10 for zipf-shuffle; for zones-shuffle the share of the \
                          space and of the writes of each zone, such as `s0.8 f0 s0.2 f1`";

fn pattern(word: &str, parameters: &str) -> Option<WafPattern> {
    match word {
        "uniform" => parameters.is_empty().then_some(WafPattern::Uniform),
        "zipf-shuffle" => {
            let theta: f64 = parameters.parse().ok()?;
            (0.0..=10.0)
                .contains(&theta)
                .then_some(WafPattern::Zipf(theta))
        }
        "zones-shuffle" => {
            let words: Vec<&str> = parameters.split_whitespace().collect();
            let zone = |pair: &[&str]| -> Option<WafZone> {
                let [space, writes] = pair else { return None };
                Some(WafZone {
                    space: space.strip_prefix('s')?.parse().ok()?,
                    writes: writes.strip_prefix('f')?.parse().ok()?,
                })
            };
            let zones: Vec<WafZone> = words.chunks(2).map(zone).collect::<Option<_>>()?;
            Some(WafPattern::Zones(zones))
        }
        _ => None,
    }
}

/// The rates of the parts of a run.
fn rates(row: &TableRow<'_>) -> Result<[f64; PARTS], Failure> {
    const ALLOWED: &str = "ten rates above 0, separated by blanks";
    let text = row.required("rate_by_tenth", ALLOWED)?;
    let rates: Option<Vec<f64>> = text
        .split_whitespace()
        .map(|rate| {
            rate.parse()
                .ok()
                .filter(|&rate: &f64| rate > 0.0 && rate.is_finite())
        })
        .collect();
    let rates = rates.and_then(|rates| rates.try_into().ok());
    rates.ok_or_else(|| row.refused("rate_by_tenth", ALLOWED))
}
