//! `destage run`: traces x schemes x cache sizes, one decoded trace at a time.

mod bound;
pub mod charts;
mod clock;
mod execute;
mod file;
mod fitting;
mod input;
pub mod key;
mod log_files;
mod logs;
mod meter;
mod overload;
mod plan;
mod refused;
mod scene_collector;
mod series;
mod settings;
mod shares;
mod threads;
mod timeline;
pub mod watch;

pub use bound::follow_read_alloc;
pub use clock::time_warning;
pub use execute::{Executor, StreamRuns};
pub use file::{FiledRun, Keys, RunKeyReader, option_of_run, run_keys};
pub use input::{load, model_host_fs, names, read, trace_warnings, with_host_fs};
pub use meter::{Clocks, host};
pub use plan::{MachineShare, Plan, without_trace};
pub use series::{every_text, parse_every};
pub use settings::{FileOptions, Settings};
pub use timeline::parse_moment;

use crate::bounds::{Factors, announce, check_total};
use crate::failures::trace_failure;
use crate::options::RunArgs;
use crate::sinks::{Sinks, finish, sinks_of};
use destage_console::failure::Failure;
use destage_console::terminal::Warnings;
use destage_trace::Stored;
use file::RunFile;
use std::borrow::Cow;
use std::iter::once;
use std::path::Path;

/// Does what `args` say, or what the run file that they name says.
///
/// # Errors
/// Bad usage or input, found before any trace is read where that is possible; or a run that
/// failed. Results of the runs before it have been written.
pub fn run(args: RunArgs) -> Result<(), Failure> {
    let file = match args.config.clone() {
        None => RunFile::without_file(args),
        Some(path) => RunFile::read(&path, &args)?,
    };
    let mut warnings = Warnings::default();
    warnings.extend(file.warnings);
    announce(count(&file.runs)?);
    let plans = plans(&file.runs)?;
    warnings.extend(plans.iter().flat_map(|plan| plan.warnings.iter().cloned()));
    for plan in plans.iter().filter(|plan| !plan.runs.is_empty()) {
        plan.check_files()?;
    }
    let Some(first) = file.runs.first() else {
        return Ok(());
    };
    let mut sinks = sinks_of(&first.args)?;
    for refusal in plans.iter().flat_map(Plan::refusals) {
        warnings.leave_out(Failure::usage(refusal));
    }
    let several = plans.len() > 1 || plans.iter().any(|plan| !plan.one_stream);
    let plans = plans.iter().filter(|plan| !plan.runs.is_empty());
    let traces = plans.clone().map(|plan| plan.traces.len()).sum();
    let mut executor = Executor::new(traces, several, first.args.limit.limit());
    executor.warnings = warnings;
    let mut done = Ok(());
    for plan in plans {
        let mut traces = plan.traces.iter().zip(names(&plan.traces));
        done = done.and_then(|()| {
            traces
                .try_for_each(|(path, name)| run_file(&mut executor, plan, path, &name, &mut sinks))
        });
    }
    // Finished runs are shown even if a later trace failed.
    let any = executor.any;
    let shown = finish(sinks, done.is_ok() && any);
    done.and(shown)
        .and_then(|()| executor.warnings.unless_left_out(any))
}

/// The number of runs that a run file asks for.
///
/// # Errors
/// They are too many.
fn count(runs: &[FiledRun]) -> Result<u64, Failure> {
    if let [run] = runs {
        let count = Factors::of_run(&run.args).check("runs");
        return count.map_err(|fault| run.filed.placed(Failure::usage(fault)));
    }
    let counts = runs.iter().map(|run| Factors::of_run(&run.args).product());
    let what = format!("runs in {} [[run]]", runs.len());
    check_total(counts.fold(0, u64::saturating_add), &what).map_err(Failure::usage)
}

/// The plans of a run file, which have a run that can run.
///
/// # Errors
/// All faults, each once.
fn plans(runs: &[FiledRun]) -> Result<Vec<Plan>, Failure> {
    let (mut plans, mut faults) = (Vec::new(), Vec::new());
    for run in runs {
        match Plan::new(&run.args, run.filed.clone()) {
            Ok(plan) => plans.push(plan),
            Err(Failure::Usage(found)) => found
                .into_iter()
                .for_each(|fault| refused::add_once(&mut faults, fault)),
            Err(other) => return Err(other),
        }
    }
    Failure::unless_none(faults)?;
    Plan::check_any_runs(&plans)?;
    Ok(plans)
}

/// Executes the runs of `plan` over the trace at `path`, which records call `name`.
fn run_file(
    executor: &mut Executor,
    plan: &Plan,
    path: &Path,
    name: &str,
    sinks: &mut Sinks<'_>,
) -> Result<(), Failure> {
    executor.stages.begin_next();
    let memory = plan.machine.trace_memory;
    type Traces = Box<dyn Iterator<Item = Result<Stored, Failure>>>;
    let traces: Traces = match load(path, &plan.load, memory, &mut executor.warnings) {
        Err(fault) => Box::new(once(Err(fault))),
        Ok(mut stored) => {
            name.clone_into(&mut stored.meta_mut().name);
            match plan.split {
                false => Box::new(once(Ok(stored))),
                true => {
                    let parts = stored.split(memory).map_err(trace_failure)?;
                    Box::new(parts.map(|part| part.map_err(trace_failure)))
                }
            }
        }
    };
    for trace in traces {
        let done = trace.and_then(|trace| executor.execute(plan, &mut Cow::Owned(trace), sinks));
        match done {
            // The fault of one trace is none of the others.
            Err(fault @ Failure::Usage(_)) => executor.warnings.leave_out_trace(fault),
            done => done?,
        }
    }
    Ok(())
}
