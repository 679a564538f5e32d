//! The search for the values with the smallest residual: steps of Gauss and Newton from start values in closed form.
//!
//! The values that writes show are searched a little in each structure, and then all values in the best one. Each value is
//! changed alone, which shows how each difference depends on it. All values together then go where the residual is smallest
//! if the differences are straight lines. Where a step gains nothing, the next changes are half as large and on the other side.

mod evaluate;
mod journal;
mod sensitivity;
mod step;
#[cfg(test)]
mod tests;

pub use evaluate::Evaluator;
pub use journal::FitJournal;
pub use sensitivity::{CHANGED_BY, Sensitivity, sensitivities};
pub use step::Differences;

use crate::FitError;
use crate::measurements::DriveCell;
use crate::model::{DriveModel, Parameter, Side, Structure, Values};
use crate::start::{calibrate_programs, start_values};
use step::Quadratic;

/// Share of the evaluations in which structures are tried.
const TRIED: f64 = 0.3;
/// A search ends when it gains nothing by changes of this many steps.
const LEAST_STEPS: f64 = 0.1;
/// Steps that a value goes at once, at most.
const MOST_STEPS: f64 = 2.0;
/// Less gain is none.
const GAIN: f64 = 0.002;
/// Lengths of a step that are tried, each with so many times the damping of the one before.
const LENGTHS: usize = 3;
const DAMPED: f64 = 8.0;
const DAMPING: (f64, f64) = (0.001, 0.1);

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
        let count = TRIED * self.limits.evaluations as f64 / structures.len() as f64;
        for structure in &structures {
            let model = model.with_structure(structure);
            let start = self.start(&model)?;
            let writes = |p: &Parameter| p.side != Side::Reads;
            let stage = format!("structure {}", structure.name);
            tried.push(self.refine(start, &writes, count as usize, &stage)?);
        }
        let names: Vec<(&str, f64)> = tried
            .iter()
            .map(|f| (f.model.structure().name, f.residual))
            .collect();
        let best = tried
            .into_iter()
            .min_by(|a, b| a.residual.total_cmp(&b.residual));
        let best = best.ok_or_else(|| FitError::Device("no structure to try".to_owned()))?;
        let left = self.limits.evaluations.saturating_sub(self.done);
        let mut best = self.refine(best, &|_| true, left, "all")?;
        best.evaluations = self.done;
        best.tried = names;
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

    fn start(&mut self, model: &DriveModel) -> Result<Found, FitError> {
        let Evaluator {
            simulator,
            cells,
            requests,
            ..
        } = self.evaluator;
        let mut values = start_values(model, cells, self.limits.measured)?;
        calibrate_programs(model, simulator, cells, *requests, &mut values)?;
        let found = self.evaluator.differences(model, &values, self.journal)?;
        Ok(Found {
            model: model.clone(),
            values,
            residual: found.residual(),
            evaluations: 0,
            tried: Vec::new(),
        })
    }

    /// Improves the parameters that `takes` names with at most `count` candidates.
    fn refine(
        &mut self,
        mut best: Found,
        takes: &dyn Fn(&Parameter) -> bool,
        count: usize,
        stage: &str,
    ) -> Result<Found, FitError> {
        let free = self.free(&best.model, &best.values, takes);
        let end = self.done + count;
        let (mut scale, mut damping) = (1.0, DAMPING.1);
        while !free.is_empty() && libm::fabs(scale) >= LEAST_STEPS {
            let origin = best.clone();
            let here = self
                .evaluator
                .differences(&origin.model, &origin.values, self.journal)?;
            let mut pairs = Vec::new();
            for parameter in &free {
                let (values, steps) = changed(&origin.values, parameter, scale);
                let Some(there) = self.attempt(values, &mut best, end, stage)? else {
                    return Ok(best);
                };
                pairs.push((steps, here.clone(), there));
            }
            let around = Quadratic::new(&here, &pairs);
            for _ in 0..LENGTHS {
                let before = best.residual;
                let values = moved(&origin.values, &free, &around.step(damping));
                if self.attempt(values, &mut best, end, stage)?.is_none() {
                    return Ok(best);
                }
                if best.residual < before {
                    damping = (damping / DAMPED).max(DAMPING.0);
                    break;
                }
                damping *= DAMPED;
            }
            damping = damping.min(DAMPING.1);
            scale = match best.residual < (1.0 - GAIN) * origin.residual {
                true => -scale,
                false => -scale / 2.0,
            };
        }
        Ok(best)
    }

    /// Simulates a candidate and keeps it if it is the best one. Nothing if the search is to end.
    fn attempt(
        &mut self,
        values: Values,
        best: &mut Found,
        end: usize,
        stage: &str,
    ) -> Result<Option<Differences>, FitError> {
        if self.done >= end || (self.limits.stop)() {
            return Ok(None);
        }
        let found = self
            .evaluator
            .differences(&best.model, &values, self.journal)?;
        self.done += 1;
        if found.residual() < best.residual {
            (best.residual, best.values) = (found.residual(), values);
        }
        (self.tell)(&SearchProgress {
            evaluations: (self.done, self.limits.evaluations),
            stage: stage.to_owned(),
            best: best.residual,
        });
        Ok(Some(found))
    }
}

/// The values with one of them changed by about so many steps, to the other side if there is no room. Returns the steps, too.
fn changed(origin: &Values, parameter: &Parameter, steps: f64) -> (Values, f64) {
    let value = origin[parameter.name];
    let away = |steps: f64| {
        let to = parameter.rounded(value * libm::exp(steps * parameter.step));
        match parameter.is_whole && to == value {
            true => parameter.rounded(value + libm::copysign(1.0, steps)),
            false => to,
        }
    };
    let to = Some(away(steps)).filter(|&to| to != value);
    let to = to.unwrap_or_else(|| away(-steps));
    let mut values = origin.clone();
    values.insert(parameter.name, to);
    let steps = libm::log(to / value) / parameter.step;
    (values, if steps == 0.0 { 1.0 } else { steps })
}

/// Values so many steps from the origin, as far as bounds allow.
fn moved(origin: &Values, free: &[&Parameter], steps: &[f64]) -> Values {
    let mut values = origin.clone();
    for (parameter, steps) in free.iter().zip(steps) {
        let steps = steps.clamp(-MOST_STEPS, MOST_STEPS);
        let to = origin[parameter.name] * libm::exp(steps * parameter.step);
        values.insert(parameter.name, parameter.rounded(to));
    }
    values
}
