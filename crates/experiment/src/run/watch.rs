//! Watched runs: each gives a scene of a window besides its record.

use crate::options::RunArgs;
use crate::run::execute::Executor;
use crate::run::plan::Plan;
use crate::sinks::{FinishedRun, RecordSink, Sinks};
use destage_console::failure::Failure;
use destage_console::terminal::Warnings;
use destage_record::{ResultRecord, Scene};
use destage_sim::WatchAsk;
use destage_trace::Stored;
use std::borrow::Cow;

/// Runs that a picture shows side by side.
const MOST_RUNS: usize = 2;

/// A run that was watched.
pub struct WatchedRun {
    /// Its record, as of any other run.
    pub record: ResultRecord,
    /// The scene of its window.
    pub scene: Scene,
}

#[derive(Default)]
struct WatchedRuns(Vec<WatchedRun>);

impl RecordSink for WatchedRuns {
    fn take(&mut self, run: &FinishedRun) -> Result<(), Failure> {
        self.0.extend(run.scene.clone().map(|scene| WatchedRun {
            record: run.record.clone(),
            scene,
        }));
        Ok(())
    }
}

/// Executes the runs of `args` over `trace`, and watches the window `ask` in each. Warnings go to
/// `warnings`.
///
/// # Errors
/// All faults of the options, a window that is not there, or a run failed.
pub fn watch(
    args: &RunArgs,
    ask: WatchAsk,
    trace: Stored,
    warnings: &mut Warnings,
) -> Result<Vec<WatchedRun>, Failure> {
    if args.device.as_deref().is_none_or(|name| name == "none") {
        return Err(Failure::usage(
            "--device: without a device nothing takes time, so there is nothing to watch; name a preset, such as \
             `--device classroom-128m`, or a device file",
        ));
    }
    let mut plan = Plan::over_one(args, &[])?;
    Plan::check_any_runs(std::slice::from_ref(&plan))?;
    if plan.split {
        return Err(Failure::usage(
            "--volumes split: name one of them by `only=VOLUME`",
        ));
    }
    if plan.runs.len() > MOST_RUNS {
        return Err(Failure::usage(format!(
            "{} runs: a picture shows one or two side by side; name at most two schemes (--scheme) and one size (--cache)",
            plan.runs.len()
        )));
    }
    plan.watch = Some(ask);
    warnings.extend(plan.warnings.clone());
    for refusal in plan.refusals() {
        warnings.leave_out(Failure::usage(refusal));
    }
    let mut kept = WatchedRuns::default();
    let mut sinks: Sinks<'_> = vec![Box::new(&mut kept)];
    let mut executor = Executor::new(1, false, plan.machine.memory);
    executor.warnings = std::mem::take(warnings);
    let done = executor.execute(&plan, &mut Cow::Owned(trace), &mut sinks);
    drop(sinks);
    *warnings = executor.warnings;
    done?;
    Ok(kept.0)
}
