//! Executing the runs over one trace: threads, clocks, progress, memory, logs.

use crate::failures::run_failure_at;
use crate::memory::{MemoryLimit, MemoryWatch};
use crate::progress::{Follower, Stages, SweepStatus};
use crate::run::fitting::{Fitting, fitting};
use crate::run::logs::RunLogs;
use cpu_time::ThreadTime;
use destage_console::failure::{Failure, RefusedRun};
use destage_console::status_line;
use destage_sim::record::RunInfo;
use destage_sim::{
    MemoryExcess, Meter, PreparedDevices, ResultRecord, RunError, RunSpec, Sweep, SweepProgress,
};
use destage_trace::Workload;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// Runs over one trace.
pub struct Batch<'a> {
    /// The trace.
    pub workload: Workload<'a>,
    /// The runs.
    pub runs: &'a [RunSpec],
    /// Has the command other runs over the trace, so that a failure names its scheme and size?
    pub several: bool,
    /// Threads.
    pub jobs: usize,
    /// What all of it may take.
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

/// Executes the runs and hands their records to `emit` in the order of the runs, each as soon as
/// it and all before it are there. The answer is the runs that cannot run, in their order.
///
/// # Errors
/// What concerns all runs, or `emit` failed; further runs are not started.
pub fn execute(batch: &Batch<'_>, emit: &mut EmitRecord<'_>) -> Result<Vec<RefusedRun>, Failure> {
    let Fitting {
        jobs,
        shares,
        mut refused,
    } = fitting(batch)?;
    let fits = |run: &usize| refused.iter().all(|refused| refused.run != *run);
    let numbers: Vec<usize> = (0..batch.runs.len()).filter(fits).collect();
    let runs: Vec<RunSpec> = numbers.iter().map(|&i| batch.runs[i].clone()).collect();
    let part = Batch {
        runs: &runs,
        jobs,
        logs: &|run| (batch.logs)(numbers[run]),
        ..*batch
    };
    let mut emit = |run: usize, record| emit(numbers[run], record);
    let failed = execute_fitting(&part, shares, &mut emit)?;
    refused.extend(failed.into_iter().map(|failed| RefusedRun {
        run: numbers[failed.run],
        ..failed
    }));
    refused.sort_by_key(|refused| refused.run);
    Ok(refused)
}

/// Executes runs that fit the memory; `shares`: do they share prepared devices?
fn execute_fitting(
    batch: &Batch<'_>,
    shares: bool,
    emit: &mut EmitRecord<'_>,
) -> Result<Vec<RefusedRun>, Failure> {
    if batch.runs.is_empty() {
        return Ok(Vec::new());
    }
    let requests = batch.workload.len();
    let passes = |run: &RunSpec| run.warmup.resolve(requests).map_or(1, |r| r.1);
    let total = batch.runs.iter().map(passes).sum::<u64>() * requests;
    let (own, follower) = (SweepProgress::default(), batch.stages.follower());
    let counter = follower.map_or(&own, |follower| &follower.progress);
    if let Some(follower) = follower {
        follower.requests.fetch_add(total, Ordering::Relaxed);
    }
    let device = batch.runs.iter().find_map(|run| run.device.as_deref());
    let status = SweepStatus {
        name: &batch.workload.meta.name,
        device: device.map(|device| device.name.as_str()),
        runs: batch.runs.len(),
        requests: total,
        progress: counter,
        stages: batch.stages,
    };
    let sweep = Sweep {
        trace: batch.workload,
        runs: batch.runs,
        jobs: batch.jobs,
        devices: shares.then_some(batch.devices),
        version: destage_console::VERSION,
        progress: counter,
        meter: &Clocks::followed(batch.limit, follower.cloned()),
    };
    // Logs of runs that have begun; they are there once the record of their run is.
    let begun = Mutex::new(BTreeMap::new());
    let lock = || begun.lock().unwrap_or_else(PoisonError::into_inner);
    let logs = |run: usize| {
        let (logs, writers) = (batch.logs)(run).open();
        lock().insert(run, logs);
        writers
    };
    let (mut failure, mut refused) = (None, Vec::new());
    let mut emit = |run: usize, result: Result<ResultRecord, RunError>| {
        // The logs of a run that failed are dropped, and with them their files.
        let logs = lock().remove(&run);
        match result {
            Ok(record) => {
                let complete = logs.map_or(Ok(()), RunLogs::commit);
                let complete = complete.and_then(|()| status_line::without(|| emit(run, record)));
                failure = complete.err();
            }
            Err(error) => {
                let of_one_run = error.is_of_one_run();
                let of_machine = matches!(error, RunError::CacheMemory { .. });
                let why = run_failure_at(&run_label(batch, run), error);
                match of_one_run {
                    true => refused.push(RefusedRun {
                        run,
                        failure: why,
                        of_machine,
                    }),
                    false => failure = Some(why),
                }
            }
        }
        failure.is_none()
    };
    match follower {
        None => status.follow(|| sweep.execute_each(&logs, &mut emit)),
        Some(follower) if follower.here => sweep.execute_here(&logs, &mut emit),
        Some(_) => sweep.execute_each(&logs, &mut emit),
    }
    failure.map_or(Ok(refused), Err)
}

/// Names the trace of a run and, if there are several, the run.
pub(super) fn run_label(batch: &Batch<'_>, run: usize) -> String {
    let trace = &batch.workload.meta.name;
    match batch.several {
        false => trace.clone(),
        true => format!("{trace}, {}", run_name(&batch.runs[run])),
    }
}

/// Names a run by its scheme and its size.
pub fn run_name(run: &RunSpec) -> String {
    match run.is_cached() {
        true => format!("{}, {}", run.expr, run.cache),
        false => run.expr.to_string(),
    }
}

/// Wall clock and CPU time of the calling thread, and the memory of the program.
pub struct Clocks {
    memory: MemoryWatch,
    follower: Option<Arc<Follower>>,
}

impl Clocks {
    /// Clocks of a command that may take so much memory.
    pub fn new(limit: MemoryLimit) -> Clocks {
        Clocks::followed(limit, None)
    }

    /// The same of runs that `follower`, if there is one, may end.
    pub fn followed(limit: MemoryLimit, follower: Option<Arc<Follower>>) -> Clocks {
        Clocks {
            memory: MemoryWatch::new(limit),
            follower,
        }
    }
}

impl Meter for Clocks {
    fn measure(&self, run: &mut dyn FnMut()) -> RunInfo {
        let (wall, cpu) = (Instant::now(), ThreadTime::now());
        run();
        RunInfo {
            wall_s: Some(wall.elapsed().as_secs_f64()),
            cpu_s: Some(cpu.elapsed().as_secs_f64()),
            threads: None,
            host: Some(host().to_owned()),
            key: String::new(),
        }
    }

    fn excess(&self) -> Option<MemoryExcess> {
        let (bytes, limit) = (self.memory.exceeded()?, self.memory.limit.bytes());
        Some(MemoryExcess { bytes, limit })
    }

    fn is_cancelled(&self) -> bool {
        self.follower.as_ref().is_some_and(|f| f.is_cancelled())
    }
}

/// Name of the machine; empty if it does not say.
pub fn host() -> &'static str {
    static HOST: OnceLock<String> = OnceLock::new();
    HOST.get_or_init(|| {
        let files = ["/proc/sys/kernel/hostname", "/etc/hostname"];
        let said = files.iter().find_map(|f| std::fs::read_to_string(f).ok());
        let said = said.or_else(|| std::env::var("COMPUTERNAME").ok());
        said.map_or_else(String::new, |name| name.trim().to_owned())
    })
}
