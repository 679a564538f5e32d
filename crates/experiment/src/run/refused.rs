//! Runs that cannot run whatever the trace, while others of the command can.

use crate::options::FootprintShare;
use crate::run::plan::{Plan, refused, scheme_names};
use crate::run::threads::run_name;
use destage_console::failure::Failure;
use destage_scheme::Warning;
use destage_sim::RunSpec;

/// A run that cannot run whatever the trace.
#[derive(Clone)]
pub struct RefusedSpec {
    /// Its scheme and size.
    pub name: String,
    /// Why, with the option that it is about.
    pub reason: String,
}

/// Warnings about runs: one about several schemes is one line.
#[derive(Default)]
pub struct SchemeWarnings(Vec<(String, Vec<String>)>);

impl SchemeWarnings {
    /// Adds what is to be said of a run.
    pub fn add(&mut self, run: &RunSpec, warnings: &[Warning]) {
        for warning in warnings {
            let (text, scheme) = (warning.to_string(), run.expr.to_string());
            match self.0.iter_mut().find(|(known, _)| *known == text) {
                Some((_, schemes)) => schemes.push(scheme),
                None => self.0.push((text, vec![scheme])),
            }
        }
    }

    /// The lines, in the order in which each was first to be said.
    pub fn lines(self) -> impl Iterator<Item = String> {
        let lines = self.0.into_iter();
        lines.map(|(text, schemes)| format!("{}: {text}", scheme_names(schemes.into_iter())))
    }
}

/// Takes the runs out that cannot run, and adds what is to be said of the others to `warnings`.
pub fn retain_runnable(
    runs: &mut Vec<RunSpec>,
    shares: &mut Vec<Option<FootprintShare>>,
    warnings: &mut Vec<String>,
) -> Vec<RefusedSpec> {
    let mut refusals = Vec::new();
    let mut said = SchemeWarnings::default();
    let all = std::mem::take(runs).into_iter();
    for (run, share) in all.zip(std::mem::take(shares)) {
        match run.check() {
            Ok(found) => {
                // Warnings about a size that is a share come later, with the trace.
                if share.is_none() {
                    said.add(&run, &found);
                }
                runs.push(run);
                shares.push(share);
            }
            Err(error) => refusals.push(RefusedSpec {
                name: match share {
                    Some(share) => format!("{}, {share}", run.expr),
                    None => run_name(&run),
                },
                reason: refused(&run, &error),
            }),
        }
    }
    warnings.extend(said.lines());
    refusals
}

impl Plan {
    /// Makes sure that `plans` have a run that can run.
    ///
    /// # Errors
    /// There is none: why each cannot.
    pub fn check_any_runs(plans: &[Plan]) -> Result<(), Failure> {
        if plans.iter().any(|plan| !plan.runs.is_empty()) {
            return Ok(());
        }
        let mut faults = Vec::new();
        for fault in plans.iter().flat_map(Plan::placed_reasons) {
            add_once(&mut faults, fault);
        }
        Failure::unless_none(faults)
    }

    /// Makes sure that all of its runs can run.
    ///
    /// # Errors
    /// Some cannot: why.
    pub fn check_all_run(&self) -> Result<(), Failure> {
        Failure::unless_none(self.placed_reasons())
    }

    /// Runs that cannot run, a line each.
    pub fn refusals(&self) -> impl Iterator<Item = String> {
        let lines = self.refused.iter();
        lines.map(|refused| format!("{}: {}", refused.name, refused.reason))
    }

    /// Why runs cannot run, each reason once, with the line of the file that asks for them.
    fn placed_reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        self.reasons(&mut reasons);
        let place = |reason: &String| match &self.filed.part {
            Some(part) => part.placed(reason),
            None => reason.clone(),
        };
        reasons.iter().map(place).collect()
    }

    /// Adds why runs cannot run to `faults`, each reason once.
    pub(super) fn reasons(&self, faults: &mut Vec<String>) {
        for refused in &self.refused {
            add_once(faults, refused.reason.clone());
        }
    }
}

/// Says a fault once, however many runs have it.
pub fn add_once(faults: &mut Vec<String>, fault: String) {
    if !faults.contains(&fault) {
        faults.push(fault);
    }
}
