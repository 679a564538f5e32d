//! The search for the values with the smallest residual: CMA-ES from start values in closed form.
//!
//! Each structure is searched a little, and the best one goes on: first the values that writes show, then those that
//! reads show, then all. The order matters because reads wait for what writes do, and hardly the other way round.
//! CMA-ES (crate `cmaes`) needs no derivative, bears the steps that whole numbers and percentiles make, and learns
//! which values change the residual together.

mod evaluate;
mod journal;
mod sensitivity;
#[cfg(test)]
mod tests;

pub use evaluate::Evaluator;
pub use journal::FitJournal;
pub use sensitivity::{CHANGED_BY, Sensitivity, sensitivities};

use crate::FitError;
use crate::measurements::DriveCell;
use crate::model::{DriveModel, Parameter, Side, Structure, Values};
use crate::start::{calibrate_programs, start_values};
use cmaes::{CMAESOptions, DVector};

/// Does a stage of the search change a value?
type Takes = fn(&Parameter) -> bool;

/// Shares of the evaluations: trying each structure, writes, reads, all values.
const SHARES: [f64; 4] = [0.24, 0.20, 0.26, 0.30];
/// Factor by which a value is changed alone.
const NEIGHBOUR: f64 = 1.25;
/// The penalty of a step beyond a bound, for each step length squared.
const OUTSIDE: f64 = 0.05;
/// Fewest evaluations of a stage that is worth the name.
const LEAST: usize = 8;

/// Limits of a search.
pub struct SearchLimits<'a> {
    /// Evaluations of a candidate.
    pub evaluations: usize,
    /// Seed of the search.
    pub seed: u64,
    /// Names of the parameters to search; all of the structure if none is given.
    pub free: Vec<String>,
    /// Structures to try.
    pub structures: Vec<&'static Structure>,
    /// All cells of the drive. The search simulates some of them.
    pub measured: &'a [DriveCell],
    /// Whether to stop before the next evaluation.
    pub stop: &'a dyn Fn() -> bool,
}

/// How far a search has come.
#[derive(Clone, Debug)]
pub struct SearchProgress {
    /// Evaluations so far, and those planned.
    pub evaluations: (usize, usize),
    /// The stage that is searched.
    pub stage: String,
    /// The best residual so far.
    pub best: f64,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Found {
    /// The model with the best structure.
    pub model: DriveModel,
    /// The best values.
    pub values: Values,
    /// Their residual.
    pub residual: f64,
    /// Evaluations.
    pub evaluations: usize,
    /// The smallest residual of each structure that was tried, by its name.
    pub tried: Vec<(&'static str, f64)>,
}

impl Found {
    /// A model whose values are those of its base.
    #[must_use]
    pub fn unsearched(model: DriveModel) -> Found {
        Found {
            model,
            values: Values::new(),
            residual: 0.0,
            evaluations: 0,
            tried: Vec::new(),
        }
    }
}

/// A search under way.
pub struct Search<'a> {
    evaluator: &'a Evaluator,
    journal: &'a mut FitJournal,
    limits: &'a SearchLimits<'a>,
    tell: &'a mut dyn FnMut(&SearchProgress),
    done: usize,
}

impl<'a> Search<'a> {
    /// A search that tells `tell` after each evaluation.
    pub fn new(
        evaluator: &'a Evaluator,
        journal: &'a mut FitJournal,
        limits: &'a SearchLimits<'a>,
        tell: &'a mut dyn FnMut(&SearchProgress),
    ) -> Search<'a> {
        Search {
            evaluator,
            journal,
            limits,
            tell,
            done: 0,
        }
    }

    /// Searches the best structure and values of `model`.
    ///
    /// # Errors
    /// Start values make no device, a load cannot be sent, or the journal cannot be written.
    pub fn run(mut self, model: &DriveModel) -> Result<Found, FitError> {
        let mut tried: Vec<Found> = Vec::new();
        let structures = self.limits.structures.clone();
        for structure in &structures {
            let model = model.with_structure(structure);
            let start = self.start(&model)?;
            let count = self.share(0) / structures.len();
            let writes = |p: &Parameter| p.side != Side::Reads;
            let stage = format!("structure {}", structure.name);
            tried.push(self.refine(&model, start, &writes, count, &stage)?);
        }
        let names: Vec<(&str, f64)> = tried
            .iter()
            .map(|f| (f.model.structure().name, f.residual))
            .collect();
        let best = tried
            .into_iter()
            .min_by(|a, b| a.residual.total_cmp(&b.residual));
        let mut best = best.ok_or_else(|| FitError::Device("no structure to try".to_owned()))?;
        let stages: [(Takes, &str); 3] = [
            (|p| p.side != Side::Reads, "writes"),
            (|p| p.side != Side::Writes, "reads"),
            (|_| true, "all"),
        ];
        for (number, (takes, stage)) in stages.into_iter().enumerate() {
            let count = self.share(number + 1);
            let model = best.model.clone();
            best = self.refine(&model, best, &takes, count, stage)?;
        }
        let mut best = self.try_neighbours(best)?;
        best.evaluations = self.done;
        best.tried = names;
        Ok(best)
    }

    /// Changes one value after another by a quarter where that is better. It finds what a search in all directions at once
    /// has left, and costs what the sensitivities cost.
    fn try_neighbours(&mut self, mut best: Found) -> Result<Found, FitError> {
        for parameter in self.free(&best.model, &best.values, &|_| true) {
            for factor in [1.0 / NEIGHBOUR, NEIGHBOUR] {
                if (self.limits.stop)() {
                    return Ok(best);
                }
                let mut values = best.values.clone();
                let value = parameter.rounded(values[parameter.name] * factor);
                values.insert(parameter.name, value);
                let found = self
                    .evaluator
                    .residual(&best.model, &values, self.journal)?;
                self.done += 1;
                if found < best.residual {
                    (best.residual, best.values) = (found, values);
                }
                (self.tell)(&SearchProgress {
                    evaluations: (self.done, self.done.max(self.limits.evaluations)),
                    stage: "neighbours".to_owned(),
                    best: best.residual,
                });
            }
        }
        Ok(best)
    }

    /// Parameters that a stage changes.
    fn free(
        &self,
        model: &DriveModel,
        values: &Values,
        takes: &dyn Fn(&Parameter) -> bool,
    ) -> Vec<&'static Parameter> {
        let asked = &self.limits.free;
        let is_free = |p: &Parameter| {
            asked.is_empty() || asked.iter().any(|free| free == p.name || free == p.key())
        };
        let all = model.free().into_iter();
        all.filter(|p| takes(p) && is_free(p) && values.contains_key(p.name))
            .collect()
    }

    fn share(&self, stage: usize) -> usize {
        let share = SHARES[stage] * self.limits.evaluations as f64;
        (share as usize).max(LEAST)
    }

    fn start(&mut self, model: &DriveModel) -> Result<Found, FitError> {
        let Evaluator {
            simulator,
            cells,
            requests,
            ..
        } = self.evaluator;
        let mut values = start_values(model, cells, self.limits.measured)?;
        calibrate_programs(model, simulator, cells, *requests, &mut values)?;
        let residual = self.evaluator.residual(model, &values, self.journal)?;
        Ok(Found {
            model: model.clone(),
            values,
            residual,
            evaluations: 0,
            tried: Vec::new(),
        })
    }

    /// Changes the parameters that `takes` names, from the best values so far.
    fn refine(
        &mut self,
        model: &DriveModel,
        start: Found,
        takes: &dyn Fn(&Parameter) -> bool,
        count: usize,
        stage: &str,
    ) -> Result<Found, FitError> {
        let free = self.free(model, &start.values, takes);
        if free.is_empty() || (self.limits.stop)() {
            return Ok(start);
        }
        let origin = start.values.clone();
        let (mut best, mut failed, mut left) = (start, None, count);
        let mut objective = |x: &DVector<f64>| -> f64 {
            if failed.is_some() || left == 0 || (self.limits.stop)() {
                return f64::MAX;
            }
            left -= 1;
            let (values, outside) = moved(&origin, &free, x);
            let found = match self.evaluator.residual(model, &values, self.journal) {
                Ok(found) => found,
                Err(error) => {
                    failed = Some(error);
                    return f64::MAX;
                }
            };
            self.done += 1;
            if found < best.residual {
                (best.residual, best.values) = (found, values);
            }
            (self.tell)(&SearchProgress {
                evaluations: (self.done, self.limits.evaluations),
                stage: stage.to_owned(),
                best: best.residual,
            });
            found + OUTSIDE * outside
        };
        let zero = vec![0.0; free.len()];
        let seed = self.limits.seed;
        let cma = CMAESOptions::new(zero, 1.0)
            .seed(seed)
            .max_function_evals(count)
            .build(&mut objective);
        let mut cma = cma.map_err(|e| FitError::Simulation(format!("CMA-ES: {e:?}")))?;
        while cma.next().is_none() && !(self.limits.stop)() {}
        drop(cma);
        match failed {
            Some(error) => Err(error),
            None => Ok(best),
        }
    }
}

/// Values so many steps from the origin, and the squared steps by which they were outside their bounds.
fn moved(origin: &Values, free: &[&Parameter], x: &DVector<f64>) -> (Values, f64) {
    let (mut values, mut outside) = (origin.clone(), 0.0);
    for (parameter, steps) in free.iter().zip(x.iter()) {
        let wanted = origin[parameter.name] * libm::exp(steps * parameter.step);
        let inside = wanted.clamp(parameter.bounds.0, parameter.bounds.1);
        let beyond = libm::log(wanted / inside) / parameter.step;
        outside += beyond * beyond;
        values.insert(parameter.name, parameter.rounded(inside));
    }
    (values, outside)
}
