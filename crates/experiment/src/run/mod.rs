//! `destage run`: traces x schemes x cache sizes, one decoded trace at a time.

mod bound;
pub mod charts;
mod clock;
mod file;
mod fitting;
mod input;
pub mod key;
mod logs;
mod overload;
mod plan;
mod refused;
mod resume;
mod series;
mod settings;
mod shares;
mod sweep;
mod timeline;

pub use bound::follow_read_alloc;
pub use clock::time_warning;
pub use file::{Keys, RunKeyReader, option_of_run, run_keys};
pub use input::{
    fit, load, model_host_fs, names, needs_fit, read, reuse_warning, trace_warnings,
    with_fit_recorded, with_host_fs,
};
pub use logs::RunLogs;
pub use overload::Overloads;
pub use plan::{Plan, without_trace};
pub use series::{every_text, parse_every};
pub use settings::{FileOptions, Settings};
pub use shares::{SizedRuns, sized};
pub use sweep::{Batch, Clocks, execute, host};
pub use timeline::parse_moment;

use crate::failures::trace_failure;
use crate::memory::MemoryLimit;
use crate::options::RunArgs;
use crate::output::Output;
use crate::progress::Stages;
use destage_console::failure::Failure;
use destage_console::terminal::Warnings;
use destage_report::html::HtmlReport;
use destage_sim::{PreparedDevices, RunSpec};
use destage_trace::{Stored, Workload};
use file::RunFile;

/// Does what `args` say, or what the run file that they name says.
///
/// # Errors
/// Bad usage or input, found before any trace is read where that is possible; or a run that
/// failed. Results of the runs before it have been written.
pub fn run(args: RunArgs) -> Result<(), Failure> {
    let Some(path) = args.config.clone() else {
        let plan = Plan::new(args, FileOptions::default())?;
        return execute_plans(&[plan], Vec::new());
    };
    let file = RunFile::read(&path, &args)?;
    let (mut all, mut faults) = (Vec::new(), Vec::new());
    for (args, filed) in file.runs {
        match Plan::new(args, filed) {
            Ok(plan) => all.push(plan),
            Err(Failure::Usage(found)) => {
                faults.extend(
                    found
                        .into_iter()
                        .filter(|f| !faults.contains(f))
                        .collect::<Vec<_>>(),
                );
            }
            Err(other) => return Err(other),
        }
    }
    Failure::unless_none(faults)?;
    execute_plans(&all, file.warnings)
}

/// One or several plans with one output, which is that of the first.
fn execute_plans(plans: &[Plan], said: Vec<String>) -> Result<(), Failure> {
    Plan::check_any_runs(plans)?;
    let Some(first) = plans.first().map(|plan| &plan.args) else {
        return Ok(());
    };
    let mut warnings = Warnings::default();
    warnings.extend(said);
    warnings.extend(plans.iter().flat_map(|plan| plan.warnings.iter().cloned()));
    let refusals = plans.iter().flat_map(Plan::refusals);
    let plans: Vec<&Plan> = plans.iter().filter(|plan| !plan.runs.is_empty()).collect();
    for plan in &plans {
        input::preflight(&plan.args.traces, &plan.load).map_err(|failure| {
            match &plan.filed.part {
                Some(part) => failure.map_faults(|fault| part.placed_at("trace", fault)),
                None => failure,
            }
        })?;
        plan.create_logs()?;
    }
    let format = first.form.format_out();
    let mut output = match &first.out {
        Some(folder) => Output::folder(format, folder, first.fresh)?,
        None => Output::stdout(format)?,
    };
    output.columns(&first.columns);
    if first.details {
        output.details();
    }
    if let Some(path) = &first.report {
        output.report(HtmlReport::open(path, "destage run")?);
    }
    let several = plans.len() > 1 || !first.is_one_stream();
    let traces = plans.iter().map(|plan| plan.args.traces.len()).sum();
    let state = CommandState::new(traces, several, first.limit.limit());
    for refusal in refusals {
        warnings.leave_out(Failure::usage(refusal));
    }
    let mut done = Ok(());
    for plan in plans {
        done = done.and_then(|()| replay(plan, &state, &mut output, &mut warnings));
    }
    // What was finished is shown even if a later trace failed.
    let any = output.has_records();
    let shown = output.finish(done.is_ok() && any);
    done.and(shown).and_then(|()| warnings.unless_left_out(any))
}

/// What the runs of a command share.
pub struct CommandState {
    /// Prepared devices.
    pub devices: PreparedDevices,
    /// Its traces.
    pub stages: Stages,
}

impl CommandState {
    /// That of a command over so many traces. Where `several` streams follow each other, some prepared devices
    /// are kept in a part of the memory.
    pub fn new(traces: usize, several: bool, limit: MemoryLimit) -> CommandState {
        CommandState {
            devices: PreparedDevices::new(if several { limit.bytes() / 8 } else { 0 }),
            stages: Stages::new(traces),
        }
    }
}

fn replay(
    plan: &Plan,
    state: &CommandState,
    output: &mut Output,
    warnings: &mut Warnings,
) -> Result<(), Failure> {
    let (args, memory) = (
        &plan.args,
        plan.args.memory.of_requests(plan.args.limit.limit()),
    );
    for (path, name) in args.traces.iter().zip(input::names(&args.traces)) {
        state.stages.begin_next();
        let execute_stored =
            |stored: Result<Stored, Failure>, output: &mut Output, warnings: &mut Warnings| {
                let done = stored.and_then(|mut stored| {
                    execute_over_trace(plan, &mut stored, state, output, warnings)
                });
                match done {
                    // The fault of one trace is none of the others.
                    Err(fault @ Failure::Usage(_)) => {
                        warnings.leave_out_trace(fault);
                        Ok(())
                    }
                    done => done,
                }
            };
        let stored = input::load(path, &plan.load, memory, warnings).map(|mut stored| {
            stored.meta_mut().name = name;
            stored
        });
        match stored {
            Ok(stored) if args.input.split() => {
                for part in stored.split(memory).map_err(trace_failure)? {
                    execute_stored(part.map_err(trace_failure), output, warnings)?;
                }
            }
            stored => execute_stored(stored, output, warnings)?,
        }
    }
    Ok(())
}

/// Executes the runs over one trace, once for each file system. Addresses that `--addresses fit` moves stay
/// moved.
///
/// # Errors
/// The trace does not suit the runs, or one of them failed.
pub fn execute_over_trace(
    plan: &Plan,
    trace: &mut Stored,
    state: &CommandState,
    output: &mut Output,
    warnings: &mut Warnings,
) -> Result<(), Failure> {
    if plan.args.host_fs.is_empty() {
        input::fit(trace, plan, warnings)?;
    }
    execute_over_workload(plan, trace.workload(), state, output, warnings)
}

/// Executes the runs over a trace with unchanged addresses, once for each file system.
///
/// # Errors
/// As [`execute_over_trace`].
pub fn execute_over_workload(
    plan: &Plan,
    trace: Workload<'_>,
    state: &CommandState,
    output: &mut Output,
    warnings: &mut Warnings,
) -> Result<(), Failure> {
    let host_fs = &plan.args.host_fs;
    if host_fs.is_empty() {
        let sized = plan.sized((trace, &plan.runs), warnings)?;
        execute_over_stream(plan, (trace, sized), state, output, warnings)?;
    }
    for fs in host_fs {
        let mut modelled = input::model_host_fs(trace, fs, &plan.args)?;
        let runs = plan.runs.iter();
        let runs: Vec<RunSpec> = runs
            .map(|run| input::with_host_fs(run, fs, &plan.host_fs_origin))
            .collect();
        let sized = plan.sized((modelled.workload(), &runs), warnings)?;
        let found =
            input::reuse_warning(modelled.workload(), fs, &sized.runs).map_err(trace_failure)?;
        warnings.extend(found);
        input::fit(&mut modelled, plan, warnings)?;
        execute_over_stream(plan, (modelled.workload(), sized), state, output, warnings)?;
    }
    Ok(())
}

/// Executes the runs over one stream of requests.
fn execute_over_stream(
    plan: &Plan,
    (workload, sized): (Workload<'_>, SizedRuns<'_>),
    state: &CommandState,
    output: &mut Output,
    warnings: &mut Warnings,
) -> Result<(), Failure> {
    let SizedRuns { runs, refused } = sized;
    for refused in refused {
        warnings.leave_out(refused.failure);
    }
    let runs = input::with_fit_recorded(workload.meta, runs);
    check_workload(workload, &runs, warnings).map_err(|failure| plan.filed.placed(failure))?;
    resume::execute_open(plan, (workload, &runs), state, output, warnings)
}

/// Makes sure that the requests are enough for the runs over them, and warns of what the
/// runs cannot show.
///
/// # Errors
/// Their warm-up leaves nothing, or the requests cannot be read again.
pub fn check_workload(
    workload: Workload<'_>,
    runs: &[RunSpec],
    warnings: &mut Warnings,
) -> Result<(), Failure> {
    let name = &workload.meta.name;
    for run in runs {
        if let Err(error) = run.warmup.resolve(workload.len()) {
            return Err(Failure::usage(format!("{name}: {error} (--warmup)")));
        }
    }
    warnings.extend(input::pairs_warning(workload, runs).map_err(trace_failure)?);
    warnings.extend(clock::warnings(workload, runs).map_err(trace_failure)?);
    Ok(())
}
