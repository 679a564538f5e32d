//! A fit from measurements to a device file, tables and a chart.

mod chart;
mod check;
mod device_file;
mod facts;
mod patterns;
mod tables;

pub use chart::chart;
pub use check::{Check, CheckedLoad, LoadKind, check, checked};
pub use device_file::{FileNotes, device_file};
pub use patterns::{pattern_summary, patterns};
pub use tables::{cells, figures, knees, summary, tables, values};

use crate::FitError;
use crate::measurements::{DriveCell, PatternRun};
use crate::model::{BaseDevice, DriveModel, STRUCTURES};
use crate::patterns::PatternFit;
use crate::residual::{Entry, FitFigures, chosen, compared, entries, residual};
use crate::search::{
    Evaluator, FitJournal, Found, Search, SearchLimits, SearchProgress, Sensitivity, sensitivities,
};
use crate::simulate::{CellSimulator, SimulatedCell};
use crate::start::likely_structures;
use destage_device::config::DeviceConfig;

/// Cells of a series that a search simulates.
const SEARCHED: usize = 9;
/// A comparison has so many times the requests of a search.
const COMPARED: u64 = 4;
/// The comparison draws other loads than the search, so that it does not praise a fit to one draw.
const OTHER_DRAW: u64 = 0x5EED;
/// Draws of the load that judge a value. By chance, the signs of all five agree in one of 16 cases.
const DRAWS: u64 = 5;

/// Inputs and settings of a fit.
pub struct FitPlan<'a> {
    /// The cells of one drive.
    pub cells: Vec<DriveCell>,
    /// Rates of the same drive under patterns of writes.
    pub patterns: Vec<PatternRun>,
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
    /// Requests of a cell in the search, about.
    pub requests: u64,
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
    /// What patterns of writes say.
    pub patterns: Option<PatternFit>,
    /// How well the data determine each value.
    pub sensitivities: Vec<Sensitivity>,
    /// The model beside the drive.
    pub comparison: Comparison,
    /// Seed of the fit.
    pub seed: u64,
}

/// A model beside its drive.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The cells that are compared.
    pub cells: Vec<DriveCell>,
    /// The results of the model in them, by cell.
    pub models: Vec<SimulatedCell>,
    /// The differences.
    pub entries: Vec<Entry>,
    /// Totals of the comparison.
    pub figures: FitFigures,
    /// The residual.
    pub residual: f64,
}

/// A step of a fit.
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
    journal: &mut FitJournal,
    tell: &mut dyn FnMut(FitStep<'_>),
) -> Result<FitOutcome, FitError> {
    let structures = likely_structures(&plan.cells);
    let first = structures.first().copied().unwrap_or(&STRUCTURES[0]);
    let (facts, patterns) = facts::of(plan)?;
    let model = DriveModel::new(plan.base.clone(), first, plan.fixed.clone(), facts)?;
    let picked = |at: Vec<usize>| at.into_iter().map(|i| plan.cells[i].clone()).collect();
    let evaluator = |seed: u64| {
        Ok(Evaluator {
            simulator: CellSimulator::new(seed)?,
            cells: picked(chosen(&plan.cells, SEARCHED)),
            requests: plan.requests,
            workers: plan.workers,
        })
    };
    let limits = SearchLimits {
        evaluations: plan.evaluations,
        seed: plan.seed,
        free: plan.free.clone(),
        structures,
        measured: &plan.cells,
        stop: plan.stop,
    };
    // A sequential fill alone says what a write costs, and nothing else.
    let found = if plan.cells.iter().all(|cell| !cell.load.is_small()) {
        Found::unsearched(model)
    } else {
        let mut tell = |progress: &SearchProgress| tell(FitStep::Searches(progress));
        Search::new(&evaluator(plan.seed)?, journal, &limits, &mut tell).run(&model)?
    };
    let draws = (1..=DRAWS).map(|draw| evaluator(plan.seed ^ (draw * OTHER_DRAW)));
    let draws = draws.collect::<Result<Vec<Evaluator>, FitError>>()?;
    let sensitivities = sensitivities(&draws, journal, &found, &mut |name| {
        tell(FitStep::Varies(name))
    })?;
    tell(FitStep::Compares);
    let device = found.model.scaled(&found.values)?;
    Ok(FitOutcome {
        comparison: compare(&device, &plan.cells, plan.requests, plan.seed, plan.workers)?,
        drive: drive_of(plan),
        found,
        patterns,
        sensitivities,
        seed: plan.seed,
    })
}

fn drive_of(plan: &FitPlan<'_>) -> String {
    let cells = plan.cells.iter().map(|cell| &cell.drive);
    let mut names = cells.chain(plan.patterns.iter().map(|run| &run.drive));
    names.next().cloned().unwrap_or_default()
}

/// A device beside its drive, with other random numbers and more requests than in a fit with `requests` and `seed`. The device is scaled down.
///
/// # Errors
/// A load cannot be sent, or the device has no room for it.
pub fn compare(
    scaled: &DeviceConfig,
    cells: &[DriveCell],
    requests: u64,
    seed: u64,
    workers: usize,
) -> Result<Comparison, FitError> {
    let evaluator = Evaluator {
        simulator: CellSimulator::new(seed ^ OTHER_DRAW)?,
        cells: compared(cells)
            .into_iter()
            .map(|i| cells[i].clone())
            .collect(),
        requests: COMPARED * requests,
        workers,
    };
    let models = evaluator.simulate(scaled)?;
    let entries = entries(&evaluator.cells, &models);
    Ok(Comparison {
        figures: FitFigures::of(&evaluator.cells, &models, &entries),
        residual: residual(&entries),
        cells: evaluator.cells,
        models,
        entries,
    })
}
