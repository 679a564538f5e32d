//! A device beside measurements of every kind, without a search.

use super::{Comparison, compare, tables};
use crate::FitError;
use crate::measurements::{DriveCell, LoadPattern, LoadStream, Measurements, PARTS, PatternRun};
use crate::model::{BaseDevice, DriveFacts, DriveModel, STRUCTURES};
use crate::parallel;
use crate::simulate::{CellSimulator, SimulatedCell};
use destage_device::config::DeviceConfig;
use destage_report::table;
use destage_sim::waf::WafPattern;

/// Overwrites that a pattern is followed for: what comes later takes long, and says the same.
const OVERWRITES: f64 = 2.0;
/// A run covers the whole drive if its span is at least this share of the capacity.
const WHOLE: f64 = 0.97;

/// Kinds of load that a device is checked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LoadKind {
    /// Random writes of a drive that was overwritten: the highest rate.
    RandomWrites,
    /// Sequential writes of an empty drive.
    SequentialWrites,
    /// Sequential reads.
    SequentialReads,
    /// Random reads alone.
    RandomReads,
    /// Random reads and writes in one loop.
    Mixed,
    /// Uniform writes over the whole drive after a sequential fill.
    Uniform,
    /// Uniform writes over a part of the drive.
    Fill,
    /// Writes after Zipf, or zones that are all written.
    Skewed,
    /// Writes beside space that is only read.
    ReadOnly,
}

impl LoadKind {
    /// All kinds, in the order of tables.
    pub const ALL: [LoadKind; 9] = [
        LoadKind::RandomWrites,
        LoadKind::SequentialWrites,
        LoadKind::SequentialReads,
        LoadKind::RandomReads,
        LoadKind::Mixed,
        LoadKind::Uniform,
        LoadKind::Fill,
        LoadKind::Skewed,
        LoadKind::ReadOnly,
    ];

    /// Name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LoadKind::RandomWrites => "random writes",
            LoadKind::SequentialWrites => "sequential writes",
            LoadKind::SequentialReads => "sequential reads",
            LoadKind::RandomReads => "random reads",
            LoadKind::Mixed => "mixed",
            LoadKind::Uniform => "uniform writes",
            LoadKind::Fill => "writes to a part",
            LoadKind::Skewed => "skewed writes",
            LoadKind::ReadOnly => "read-only space",
        }
    }

    /// The kind of a cell with one closed loop; cells with a rate are compared by their latencies.
    fn of_cell(cell: &DriveCell) -> Option<LoadKind> {
        let [LoadStream { reads, pattern, .. }] = &cell.load.streams[..] else {
            return None;
        };
        let is_closed = crate::residual::offered_writes(cell).is_none();
        is_closed.then_some(match (*reads, *pattern) {
            (0.0, LoadPattern::Random) => LoadKind::RandomWrites,
            (0.0, LoadPattern::Sequential) => LoadKind::SequentialWrites,
            (1.0, LoadPattern::Sequential) => LoadKind::SequentialReads,
            (1.0, LoadPattern::Random) => LoadKind::RandomReads,
            _ => LoadKind::Mixed,
        })
    }

    fn of_run(run: &PatternRun, bytes: f64) -> LoadKind {
        match &run.pattern {
            WafPattern::Uniform if run.span as f64 >= WHOLE * bytes => LoadKind::Uniform,
            WafPattern::Uniform => LoadKind::Fill,
            WafPattern::Zones(zones) if zones.iter().any(|zone| zone.writes == 0.0) => {
                LoadKind::ReadOnly
            }
            _ => LoadKind::Skewed,
        }
    }
}

/// A load on the drive and on the model.
#[derive(Clone, Debug)]
pub struct CheckedLoad {
    /// Its kind.
    pub kind: LoadKind,
    /// What it is.
    pub name: String,
    /// Requests a second of the drive and of the model, part by part.
    pub rates: Vec<(f64, f64)>,
}

impl CheckedLoad {
    /// Mean error of the parts.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.error_at(1.0)
    }

    /// The same if the model were so many times as fast.
    fn error_at(&self, factor: f64) -> f64 {
        let of = |&(drive, model): &(f64, f64)| libm::fabs(factor * model / drive - 1.0);
        self.rates.iter().map(of).sum::<f64>() / self.rates.len().max(1) as f64
    }

    /// Requests a second over all parts, which are equally long.
    #[must_use]
    pub fn mean(&self) -> (f64, f64) {
        let n = self.rates.len() as f64;
        let (mut drive, mut model) = (0.0, 0.0);
        for rate in &self.rates {
            drive += 1.0 / rate.0;
            model += 1.0 / rate.1;
        }
        (n / drive, n / model)
    }
}

/// A device beside measurements.
#[derive(Clone, Debug)]
pub struct Check {
    /// Latencies and rates, as at the end of a fit.
    pub comparison: Comparison,
    /// Rates of loops and patterns.
    pub loads: Vec<CheckedLoad>,
    /// Drive / model of uniform writes, where patterns have them: drives of one type differ.
    pub unit: Option<f64>,
}

impl Check {
    /// Mean and largest error of the loads of a kind; of patterns beside uniform writes, which drives of one type differ in.
    #[must_use]
    pub fn error(&self, kind: LoadKind) -> Option<(f64, f64)> {
        let of_kind = self.loads.iter().filter(|load| load.kind == kind);
        let errors: Vec<f64> = of_kind
            .map(|load| load.error_at(self.factor(load)))
            .collect();
        let largest = errors.iter().copied().reduce(f64::max)?;
        Some((errors.iter().sum::<f64>() / errors.len() as f64, largest))
    }

    /// How much faster the measured unit writes uniformly, for patterns.
    fn factor(&self, load: &CheckedLoad) -> f64 {
        self.unit
            .filter(|_| load.kind >= LoadKind::Uniform)
            .unwrap_or(1.0)
    }
}

/// Compares a device, scaled down, with measurements of one drive.
///
/// # Errors
/// The base is no device of a drive, or a load cannot be sent.
pub fn check(
    device: &BaseDevice,
    found: &Measurements,
    requests: u64,
    seed: u64,
    workers: usize,
) -> Result<Check, FitError> {
    let facts = DriveFacts::default();
    let model = DriveModel::new(device.clone(), &STRUCTURES[0], Vec::new(), facts)?;
    let settings = model.geometry().scaled_settings();
    let refused = |e: destage_device::config::ConfigError| FitError::Device(e.to_string());
    let whole = device.with(&[]).map_err(refused)?.into_config();
    let scaled = device.with(&settings).map_err(refused)?.into_config();
    let comparison = compare(&scaled, &found.cells, requests, seed, workers)?;
    let cells = comparison.cells.iter().zip(&comparison.models);
    let mut loads: Vec<CheckedLoad> = cells
        .filter_map(|(cell, model)| of_cell(cell, model))
        .collect();
    let bytes = (whole.logical_pages() * whole.mapping().bytes()) as f64;
    let runs = parallel::map(&found.patterns, workers, |run| {
        of_run(&scaled, run, bytes, seed)
    })?;
    loads.extend(runs);
    loads.sort_by_key(|load| load.kind);
    let uniform = loads.iter().find(|load| load.kind == LoadKind::Uniform);
    let unit = uniform.and_then(|load| load.rates.last());
    Ok(Check {
        unit: unit.map(|(drive, model)| drive / model),
        comparison,
        loads,
    })
}

fn of_cell(cell: &DriveCell, model: &SimulatedCell) -> Option<CheckedLoad> {
    let kind = LoadKind::of_cell(cell)?;
    let [stream] = &cell.load.streams[..] else {
        return None;
    };
    let rates = match kind {
        LoadKind::SequentialReads | LoadKind::RandomReads => {
            (cell.measured.reads_per_s?, model.reads_per_s)
        }
        LoadKind::Mixed => (
            cell.measured.writes_per_s? + cell.measured.reads_per_s?,
            model.writes_per_s + model.reads_per_s,
        ),
        _ => (cell.measured.writes_per_s?, model.writes_per_s),
    };
    let (kib, depth) = (stream.bytes >> 10, stream.threads * stream.depth);
    Some(CheckedLoad {
        kind,
        name: format!("{kib} KiB, depth {depth}"),
        rates: vec![rates],
    })
}

fn of_run(
    scaled: &DeviceConfig,
    run: &PatternRun,
    bytes: f64,
    seed: u64,
) -> Result<CheckedLoad, FitError> {
    let simulator = CellSimulator::new(seed)?;
    let fill = (run.span as f64 / bytes).min(1.0);
    let most = OVERWRITES.max(run.volume / PARTS as f64);
    let rates = simulator.pattern_rates(scaled, run, fill, most)?;
    let gib = run.span >> 30;
    Ok(CheckedLoad {
        kind: LoadKind::of_run(run, bytes),
        name: format!("{}, {gib} GiB", run.name),
        rates: run.rates.iter().copied().zip(rates).collect(),
    })
}

/// The tables of a check.
#[must_use]
pub fn checked(check: &Check) -> String {
    let comparison = &check.comparison;
    let mut parts = vec![
        tables::cells(comparison),
        tables::knees(comparison),
        tables::figures(&comparison.figures),
        loads(check),
    ];
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// Rates of loops and patterns.
fn loads(check: &Check) -> String {
    let header = [
        "kind",
        "load",
        "drive/s",
        "model/s",
        "model / drive",
        "error by part",
        "beside uniform writes",
    ];
    let mut table = table::plain(&header, 2);
    for load in &check.loads {
        let (drive, model) = load.mean();
        let beside = (check.unit).filter(|_| load.kind >= LoadKind::Uniform);
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        table.add_row([
            load.kind.name().to_owned(),
            load.name.clone(),
            format!("{drive:.0}"),
            format!("{model:.0}"),
            format!("{:.2}", model / drive),
            percent(load.error()),
            beside.map_or("-".to_owned(), |unit| percent(load.error_at(unit))),
        ]);
    }
    match check.loads.is_empty() {
        true => String::new(),
        false => format!("Rates of loops and patterns:\n{}", table::lines(&table)),
    }
}
