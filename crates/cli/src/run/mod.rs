//! `destage run`: traces x schemes x cache sizes, one decoded trace at a time.

mod input;
mod plan;
mod series;
mod settings;
mod spec;
mod sweep;

pub use input::{load, trace_warnings};
pub use plan::TRACE_MEMORY;
pub use series::parse_every;
pub use settings::{Settings, warmup_text};
pub use sweep::{Batch, LogFiles, execute};

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::output::Output;
use crate::report::Report;
use crate::terminal::Warnings;
use destage_sim::RunSpec;
use destage_trace::Workload;
use plan::Plan;

/// Does what `args` say.
///
/// # Errors
/// Bad usage or input, found before any trace is read where that is possible; or a run that
/// failed. Results of the runs before it have been written.
pub fn run(args: RunArgs) -> Result<(), Failure> {
    let plan = Plan::new(args)?;
    let mut warnings = Warnings::default();
    for warning in &plan.warnings {
        warnings.warn(warning);
    }
    input::preflight(&plan.traces, &plan.load)?;
    plan.create_logs()?;
    let mut output = Output::open(plan.format_out, plan.out.as_deref())?;
    if let Some(path) = &plan.report {
        output.report(Report::open(path, "destage run")?);
    }
    let done = replay(&plan, &mut output, &mut warnings);
    // What was finished is shown even if a later trace failed.
    let shown = output.finish();
    done.and(shown)
}

fn replay(plan: &Plan, output: &mut Output, warnings: &mut Warnings) -> Result<(), Failure> {
    let mut number = 0;
    for path in &plan.traces {
        let stored = input::load(path, &plan.load, plan.trace_memory, warnings)?;
        let traces = match plan.split {
            true => stored.split()?,
            false => vec![stored],
        };
        for mut trace in traces {
            if plan.fit
                && let Some(run) = plan.runs.first()
            {
                input::fit(&mut trace, run, warnings)?;
            }
            if plan.host_fs.is_empty() {
                one(plan, number, trace.workload(), &plan.runs, output, warnings)?;
                number += 1;
            }
            for fs in &plan.host_fs {
                let (modelled, runs) = input::through(trace.workload(), fs, plan)?;
                if let Some(warning) = input::reuse_warning(&modelled, fs, &runs) {
                    warnings.warn(warning);
                }
                one(plan, number, (&modelled).into(), &runs, output, warnings)?;
                number += 1;
            }
        }
    }
    Ok(())
}

/// The runs over one stream of requests.
fn one(
    plan: &Plan,
    number: usize,
    workload: Workload<'_>,
    runs: &[RunSpec],
    output: &mut Output,
    warnings: &mut Warnings,
) -> Result<(), Failure> {
    let name = &workload.meta.name;
    if let Err(error) = plan.warmup.resolve(workload.len()) {
        return Err(Failure::usage(format!("{name}: {error}")));
    }
    if let Some(warning) = input::pairs_warning(workload, runs)? {
        warnings.warn(warning);
    }
    let batch = Batch {
        workload,
        runs,
        jobs: plan.jobs,
        logs: &|run| plan.log_files(number, name, run),
    };
    execute(&batch, &mut |record| output.add(record))
}
