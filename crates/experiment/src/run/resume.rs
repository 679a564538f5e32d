//! Going on where an earlier command ended: runs that are done in the folder of `--out` are not repeated.

use crate::output::Output;
use crate::run::CommandState;
use crate::run::charts::ChartCollector;
use crate::run::logs::RunLogs;
use crate::run::overload::Overloads;
use crate::run::plan::Plan;
use crate::run::sweep::{Batch, execute};
use destage_console::failure::Failure;
use destage_console::terminal::{Warnings, say};
use destage_sim::{ResultRecord, RunSpec};
use destage_trace::{TraceMeta, Workload};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::OnceLock;

/// What each run is, whenever and wherever it runs: program, trace and settings.
fn keys(trace: &TraceMeta, runs: &[RunSpec]) -> Result<Vec<String>, Failure> {
    let shared = hash(format!("{}\n{trace:?}", program()?).as_bytes());
    let key = |run: &RunSpec| hash(format!("{shared}\n{}", run.identity()).as_bytes());
    Ok(runs.iter().map(key).collect())
}

/// The file that has the program, if it is not that of the process.
pub static PROGRAM_FILE: OnceLock<PathBuf> = OnceLock::new();

/// The hash of the program itself: one whose schemes were changed gives other results under the same version.
fn program() -> Result<&'static str, Failure> {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    if let Some(known) = PROGRAM.get() {
        return Ok(known);
    }
    let file = PROGRAM_FILE.get().cloned();
    let file = file.map_or_else(std::env::current_exe, Ok);
    let bytes = file.and_then(std::fs::read);
    let bytes = bytes.map_err(|e| Failure::Run(format!("cannot read the program: {e}")))?;
    Ok(PROGRAM.get_or_init(|| hash(&bytes)))
}

fn hash(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Executes the runs that are not done, and hands the records of all to `output`, in the order of the runs.
///
/// # Errors
/// What concerns all runs, or a record cannot be written.
pub fn execute_open(
    plan: &Plan,
    (workload, runs): (Workload<'_>, &[RunSpec]),
    state: &CommandState,
    output: &mut Output,
    warnings: &mut Warnings,
) -> Result<(), Failure> {
    let name = &workload.meta.name;
    let overloads = RefCell::new(Overloads::default());
    let keys: Vec<String> = match output.has_journal() {
        true => keys(workload.meta, runs)?,
        false => vec![String::new(); runs.len()],
    };
    let logs = |run: usize| plan.logs(name, &runs[run], &keys[run]);
    let done = |run: usize| {
        output
            .finished(&keys[run])
            .filter(|_| logs(run).are_there())
    };
    let mut done: Vec<Option<ResultRecord>> = (0..runs.len()).map(done).collect();
    let open: Vec<usize> = (0..runs.len()).filter(|&run| done[run].is_none()).collect();
    if open.len() < runs.len() && !output.is_quiet() {
        let (number, all) = (runs.len() - open.len(), runs.len());
        say(&format!(
            "{name}: {number} of {all} runs are done already (--fresh repeats them)"
        ));
    }
    let mut shown = 0;
    let mut show_until = |run: usize, output: &mut Output| {
        let mut earlier = done[shown..run].iter_mut().filter_map(Option::take);
        shown = run;
        earlier.try_for_each(|record| {
            overloads.borrow_mut().add(&record);
            output.show(record, None)
        })
    };
    let specs: Vec<RunSpec> = open.iter().map(|&run| runs[run].clone()).collect();
    let collector = |spec| {
        let wanted = output.has_report();
        wanted.then(|| ChartCollector::new(spec, workload.len()))
    };
    let charts: Vec<Option<ChartCollector>> = specs.iter().map(collector).collect();
    let batch = Batch {
        workload,
        runs: &specs,
        several: runs.len() > 1 || !plan.refused.is_empty(),
        jobs: plan.args.threads.resolve(),
        limit: plan.args.limit.limit(),
        devices: &state.devices,
        stages: &state.stages,
        logs: &|i| RunLogs {
            charts: charts[i].clone(),
            ..logs(open[i])
        },
    };
    let refused = execute(&batch, &mut |number, mut record| {
        let (run, charts) = (open[number], &charts[number]);
        show_until(run, output)?;
        record.run.key.clone_from(&keys[run]);
        overloads.borrow_mut().add(&record);
        output.add(record, charts.as_ref().map(ChartCollector::take_charts))
    })?;
    show_until(runs.len(), output)?;
    warnings.extend(overloads.take().warning(workload.meta));
    for refused in refused {
        warnings.leave_out(refused.failure);
    }
    Ok(())
}
