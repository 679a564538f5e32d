//! `destage run`: traces x schemes x cache sizes, one decoded trace at a time.

mod bound;
mod clock;
mod file;
mod fitting;
mod input;
mod logs;
mod overload;
mod plan;
mod resume;
mod series;
mod settings;
mod shares;
mod sweep;
pub mod timeline;

pub use bound::follow_read_alloc;
pub use clock::time_warning;
pub use file::{Keys, RunKeyReader, WHOLE, run_keys};
pub use input::through as through_host_fs;
pub use input::{behind, fit, load, names, read, reuse_warning, trace_warnings};
pub use logs::RunLogs;
pub use overload::Overloads;
pub use plan::{Plan, without_trace};
pub use resume::PROGRAM_FILE;
pub use series::parse_every;
pub use settings::{FileOptions, Settings, warmup_text};
pub use shares::sized;
pub use sweep::{Batch, Clocks, execute, host};
pub use timeline::parse_moment;

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::memory::MemoryLimit;
use crate::output::Output;
use crate::progress::Stages;
use crate::report::HtmlReport;
use crate::terminal::Warnings;
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
        return plans(&[plan], Vec::new());
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
    plans(&all, file.warnings)
}

/// One or several plans with one output, which is that of the first.
fn plans(plans: &[Plan], said: Vec<String>) -> Result<(), Failure> {
    let Some(first) = plans.first().map(|plan| &plan.args) else {
        return Ok(());
    };
    let mut warnings = Warnings::default();
    warnings.extend(said);
    warnings.extend(plans.iter().flat_map(|plan| plan.warnings.iter().cloned()));
    for plan in plans {
        input::preflight(&plan.args.traces, &plan.load)?;
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
    let mut done = Ok(());
    for plan in plans {
        done = done.and_then(|()| replay(plan, &state, &mut output, &mut warnings));
    }
    // What was finished is shown even if a later trace failed.
    let shown = output.finish(done.is_ok());
    done.and(shown)
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
        let mut stored = input::load(path, &plan.load, memory, warnings)?;
        stored.meta_mut().name = name;
        let (whole, parts) = match args.input.split() {
            true => (None, Some(stored.split(memory)?)),
            false => (Some(Ok(stored)), None),
        };
        for trace in whole.into_iter().chain(parts.into_iter().flatten()) {
            over(plan, &mut trace?, state, output, warnings)?;
        }
    }
    Ok(())
}

/// The runs over one trace, through each file system. What `--fit` moves stays moved.
///
/// # Errors
/// The trace does not suit the runs, or one of them failed.
pub fn over(
    plan: &Plan,
    trace: &mut Stored,
    state: &CommandState,
    output: &mut Output,
    warnings: &mut Warnings,
) -> Result<(), Failure> {
    let args = &plan.args;
    if args.fit
        && let Some(run) = plan.runs.first()
    {
        input::fit(trace, run, args.limit.limit(), warnings)?;
    }
    through(plan, trace.workload(), state, output, warnings)
}

/// The runs over a trace that stays as it is, through each file system.
///
/// # Errors
/// As [`over`].
pub fn through(
    plan: &Plan,
    trace: Workload<'_>,
    state: &CommandState,
    output: &mut Output,
    warnings: &mut Warnings,
) -> Result<(), Failure> {
    let host_fs = &plan.args.host_fs;
    if host_fs.is_empty() {
        let runs = plan.sized((trace, &plan.runs), warnings)?;
        one(plan, (trace, &runs), state, output, warnings)?;
    }
    for fs in host_fs {
        let modelled = input::through(trace, fs, &plan.args)?;
        let runs = plan.runs.iter();
        let runs: Vec<RunSpec> = runs
            .map(|run| input::behind(run, fs, &plan.host_fs_origin))
            .collect();
        let runs = plan.sized((modelled.workload(), &runs), warnings)?;
        warnings.extend(input::reuse_warning(modelled.workload(), fs, &runs)?);
        one(plan, (modelled.workload(), &runs), state, output, warnings)?;
    }
    Ok(())
}

/// The runs over one stream of requests.
fn one(
    plan: &Plan,
    (workload, runs): (Workload<'_>, &[RunSpec]),
    state: &CommandState,
    output: &mut Output,
    warnings: &mut Warnings,
) -> Result<(), Failure> {
    suits(workload, runs, warnings)?;
    let mut overloads = Overloads::default();
    let done = resume::execute_open(plan, (workload, runs), state, (output, &mut overloads));
    warnings.extend(overloads.warning(workload.meta));
    done
}

/// Makes sure that the requests are enough for the runs over them, and warns of what the
/// runs cannot show.
///
/// # Errors
/// Their warm-up leaves nothing, or the requests cannot be read again.
pub fn suits(
    workload: Workload<'_>,
    runs: &[RunSpec],
    warnings: &mut Warnings,
) -> Result<(), Failure> {
    let name = &workload.meta.name;
    for run in runs {
        if let Err(error) = run.warmup.resolve(workload.len()) {
            return Err(Failure::usage(format!("{name}: {error}")));
        }
    }
    warnings.extend(input::pairs_warning(workload, runs)?);
    warnings.extend(clock::warnings(workload, runs)?);
    Ok(())
}
