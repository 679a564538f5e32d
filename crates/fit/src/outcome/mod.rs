//! A fit from measurements to a device file, tables and a chart.

mod chart;
mod device_file;
mod tables;

pub use chart::chart;
pub use device_file::{FileNotes, device_file};
pub use tables::{cells, figures, knees, summary, values};

use crate::FitError;
use crate::measurements::DriveCell;
use crate::model::{BaseDevice, DriveModel, STRUCTURES};
use crate::residual::{Entry, Figures, chosen, compared, entries, residual};
use crate::search::{
    Evaluator, Found, Journal, Search, SearchLimits, SearchProgress, Sensitivity, sensitivities,
};
use crate::simulate::{CellSimulator, SimulatedCell};
use crate::start::likely_structures;

/// Cells of a series that a search simulates.
const SEARCHED: usize = 9;
/// Requests of a cell in the search.
const REQUESTS: u64 = 40_000;
/// Requests of a cell in the comparison at the end.
const COMPARED_REQUESTS: u64 = 120_000;
/// The comparison draws other loads than the search, so that it does not praise a fit to one draw.
const OTHER_DRAW: u64 = 0x5EED;

/// What is fitted to what, and how.
pub struct FitPlan<'a> {
    /// The cells of one drive.
    pub cells: Vec<DriveCell>,
    /// The device to begin with.
    pub base: BaseDevice,
    /// Bytes of the drive; those of the base if nobody says.
    pub capacity: Option<u64>,
    /// `KEY=VALUE` that stay.
    pub fixed: Vec<String>,
    /// Names of parameters to search; all if none is given.
    pub free: Vec<String>,
    /// Evaluations of the search.
    pub evaluations: usize,
    /// Seed of loads and search.
    pub seed: u64,
    /// Threads.
    pub workers: usize,
    /// Whether to end the search now.
    pub stop: &'a dyn Fn() -> bool,
}

/// A fitted drive.
#[derive(Clone, Debug)]
pub struct FitOutcome {
    /// Name of the drive.
    pub drive: String,
    /// Model and values.
    pub found: Found,
    /// How well the data determine each value.
    pub sensitivities: Vec<Sensitivity>,
    /// The cells that are compared, and what the model does in them.
    pub cells: Vec<DriveCell>,
    /// By cell.
    pub models: Vec<SimulatedCell>,
    /// The differences.
    pub entries: Vec<Entry>,
    /// What they come to.
    pub figures: Figures,
    /// The residual of the comparison.
    pub residual: f64,
    /// Seed of the fit.
    pub seed: u64,
}

/// What a fit is doing.
pub enum FitStep<'a> {
    /// It searches.
    Searches(&'a SearchProgress),
    /// It asks how flat the optimum is in a parameter.
    Varies(&'a str),
    /// It simulates all cells.
    Compares,
}

/// Fits a drive.
///
/// # Errors
/// The base is no device of a drive, a load cannot be sent, or the journal cannot be written.
pub fn fit(
    plan: &FitPlan<'_>,
    journal: &mut Journal,
    tell: &mut dyn FnMut(FitStep<'_>),
) -> Result<FitOutcome, FitError> {
    let structures = likely_structures(&plan.cells);
    let first = structures.first().copied().unwrap_or(&STRUCTURES[0]);
    let rates = highest_rates(&plan.cells);
    let model = DriveModel::new(
        plan.base.clone(),
        plan.capacity,
        rates,
        first,
        plan.fixed.clone(),
    )?;
    let picked = |at: Vec<usize>| at.into_iter().map(|i| plan.cells[i].clone()).collect();
    let evaluator = Evaluator {
        simulator: CellSimulator::new(plan.seed)?,
        cells: picked(chosen(&plan.cells, SEARCHED)),
        requests: REQUESTS,
        workers: plan.workers,
    };
    let limits = SearchLimits {
        evaluations: plan.evaluations,
        seed: plan.seed,
        free: plan.free.clone(),
        structures,
        stop: plan.stop,
    };
    let found = {
        let mut tell = |progress: &SearchProgress| tell(FitStep::Searches(progress));
        Search::new(&evaluator, journal, &limits, &mut tell).run(&model)?
    };
    let sensitivities = sensitivities(&evaluator, journal, &found, &mut |name| {
        tell(FitStep::Varies(name))
    })?;
    tell(FitStep::Compares);
    let evaluator = Evaluator {
        simulator: CellSimulator::new(plan.seed ^ OTHER_DRAW)?,
        cells: picked(compared(&plan.cells)),
        requests: COMPARED_REQUESTS,
        workers: plan.workers,
    };
    let models = evaluator.simulate(&found.model.scaled(&found.values)?)?;
    let entries = entries(&evaluator.cells, &models);
    Ok(FitOutcome {
        drive: plan
            .cells
            .first()
            .map_or_else(String::new, |cell| cell.drive.clone()),
        figures: Figures::of(&evaluator.cells, &models, &entries),
        residual: residual(&entries),
        cells: evaluator.cells,
        found,
        sensitivities,
        models,
        entries,
        seed: plan.seed,
    })
}

/// The most bytes a second of reads and of writes.
fn highest_rates(cells: &[DriveCell]) -> [f64; 2] {
    let most = |rate: fn(&DriveCell) -> Option<f64>| {
        let bytes = |cell: &DriveCell| cell.load.streams.iter().map(|s| s.bytes).max().unwrap_or(0);
        let rates = cells
            .iter()
            .filter_map(|cell| Some(rate(cell)? * bytes(cell) as f64));
        rates.fold(0.0, f64::max)
    };
    [
        most(|cell| cell.measured.reads_per_s),
        most(|cell| cell.measured.writes_per_s),
    ]
}
