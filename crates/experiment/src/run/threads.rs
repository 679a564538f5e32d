//! Runs over one stream of requests: threads, progress, memory, logs.

use crate::failures::run_failure_at;
use crate::memory::MemoryLimit;
use crate::progress::{RunsStatus, Stages};
use crate::run::fitting::{Fitting, fitting};
use crate::run::logs::RunLogs;
use crate::run::meter::Clocks;
use destage_console::failure::{Failure, RefusedRun};
use destage_console::status_line;
use destage_sim::{PreparedDevices, ResultRecord, RunError, RunSpec, Sweep, SweepProgress};
use destage_trace::Workload;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// Runs over one stream of requests.
pub struct ParallelRuns<'a> {
    /// The requests.
    pub workload: Workload<'a>,
    /// The runs.
    pub runs: &'a [RunSpec],
    /// Has the command other runs over the trace, so that a failure names its scheme and size?
    pub several: bool,
    /// Threads.
    pub jobs: usize,
    /// Memory for all runs together.
    pub limit: MemoryLimit,
    /// Prepared devices.
    pub devices: &'a PreparedDevices,
    /// The traces of the command.
    pub stages: &'a Stages,
    /// The logs of run number `i`.
    pub logs: &'a (dyn Fn(usize) -> RunLogs + Sync),
}

/// Takes the number of a run and its record.
pub type EmitRecord<'a> = dyn FnMut(usize, ResultRecord) -> Result<(), Failure> + 'a;

/// Simulates the runs, as many at a time as fit the memory, and hands their records to `emit` in the order of the
/// runs, each as soon as it and all before it are there. The answer is the runs that cannot run, in their order.
///
/// # Errors
/// A fault of all runs, or `emit` failed; further runs are not started.
pub fn simulate(
    of: &ParallelRuns<'_>,
    emit: &mut EmitRecord<'_>,
) -> Result<Vec<RefusedRun>, Failure> {
    let Fitting {
        jobs,
        shares,
        mut refused,
    } = fitting(of)?;
    let fits = |run: &usize| refused.iter().all(|refused| refused.run != *run);
    let numbers: Vec<usize> = (0..of.runs.len()).filter(fits).collect();
    if numbers.is_empty() {
        return Ok(refused);
    }
    let runs: Vec<RunSpec> = numbers.iter().map(|&i| of.runs[i].clone()).collect();
    let requests = of.workload.len();
    let passes = |run: &RunSpec| run.warmup.resolve(requests).map_or(1, |r| r.1);
    let total = runs.iter().map(passes).sum::<u64>() * requests;
    let (own, follower) = (SweepProgress::default(), of.stages.follower());
    let counter = follower.map_or(&own, |follower| &follower.progress);
    if let Some(follower) = follower {
        follower.requests.fetch_add(total, Ordering::Relaxed);
    }
    let status = RunsStatus {
        name: &of.workload.meta.name,
        device: runs
            .iter()
            .find_map(|run| Some(&*run.device.as_ref()?.name)),
        runs: runs.len(),
        requests: total,
        progress: counter,
        stages: of.stages,
    };
    let sweep = Sweep {
        trace: of.workload,
        runs: &runs,
        jobs,
        devices: shares.then_some(of.devices),
        version: destage_console::VERSION,
        progress: counter,
        meter: &Clocks::followed(of.limit, follower.cloned()),
    };
    // Logs of runs that have begun; they are there once the record of their run is.
    let begun = Mutex::new(BTreeMap::new());
    let lock = || begun.lock().unwrap_or_else(PoisonError::into_inner);
    let logs = |run: usize| {
        let (logs, writers) = (of.logs)(numbers[run]).open();
        lock().insert(run, logs);
        writers
    };
    let mut failure = None;
    let mut take = |run: usize, result: Result<ResultRecord, RunError>| {
        // The logs of a run that failed are dropped, and with them their files.
        let (logs, number) = (lock().remove(&run), numbers[run]);
        let done = match result {
            Ok(record) => {
                let complete = logs.map_or(Ok(()), RunLogs::commit);
                complete.and_then(|()| status_line::without(|| emit(number, record)))
            }
            Err(error) => refuse(of, number, error).map(|run| refused.push(run)),
        };
        failure = done.err();
        failure.is_none()
    };
    match follower {
        None => status.follow(|| sweep.execute_each(&logs, &mut take)),
        Some(follower) if follower.here => sweep.execute_here(&logs, &mut take),
        Some(_) => sweep.execute_each(&logs, &mut take),
    }
    refused.sort_by_key(|refused| refused.run);
    failure.map_or(Ok(refused), Err)
}

/// Run number `run` cannot run.
///
/// # Errors
/// The error concerns all runs.
fn refuse(of: &ParallelRuns<'_>, run: usize, error: RunError) -> Result<RefusedRun, Failure> {
    let of_machine = matches!(error, RunError::CacheMemory { .. });
    let is_of_one_run = error.is_of_one_run();
    let failure = run_failure_at(&run_label(of, run), error);
    match is_of_one_run {
        true => Ok(RefusedRun {
            run,
            failure,
            of_machine,
        }),
        false => Err(failure),
    }
}

/// Names the trace of a run and, if there are several, the run.
pub(super) fn run_label(of: &ParallelRuns<'_>, run: usize) -> String {
    let trace = &of.workload.meta.name;
    match of.several {
        false => trace.clone(),
        true => format!("{trace}, {}", run_name(&of.runs[run])),
    }
}

/// Names a run by its scheme and its size.
pub fn run_name(run: &RunSpec) -> String {
    match run.is_cached() {
        true => format!("{}, {}", run.expr, run.cache),
        false => run.expr.to_string(),
    }
}
