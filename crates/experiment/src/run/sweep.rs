//! Executing the runs over one trace: threads, clocks, progress, memory, logs.

use crate::failures::run_failure_at;
use crate::memory::{MemoryLimit, MemoryWatch};
use crate::progress::{Follower, Stages, SweepStatus};
use crate::run::fitting::fitting;
use crate::run::logs::RunLogs;
use cpu_time::ThreadTime;
use destage_console::failure::Failure;
use destage_console::status_line;
use destage_sim::record::RunInfo;
use destage_sim::{
    MemoryExcess, Meter, PreparedDevices, ResultRecord, RunSpec, Sweep, SweepProgress,
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

/// Executes the runs and hands their records to `emit` in the order of the runs, each as soon as
/// it and all before it are there.
///
/// # Errors
/// A run or `emit` failed; further runs are not started.
pub fn execute(
    batch: &Batch<'_>,
    emit: &mut dyn FnMut(ResultRecord) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if batch.runs.is_empty() {
        return Ok(());
    }
    let fitting = fitting(batch)?;
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
        jobs: fitting.jobs,
        devices: fitting.shares.then_some(batch.devices),
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
    let (mut failure, mut next) = (None, 0);
    let mut emit = |record| {
        let complete = lock().remove(&next).map_or(Ok(()), RunLogs::commit);
        next += 1;
        failure = complete
            .and_then(|()| status_line::without(|| emit(record)))
            .err();
        failure.is_none()
    };
    let done = match follower {
        None => status.follow(|| sweep.execute_each(&logs, &mut emit)),
        Some(follower) if follower.here => sweep.execute_here(&logs, &mut emit),
        Some(_) => sweep.execute_each(&logs, &mut emit),
    };
    done.map_err(|failed| run_failure_at(&place(batch, failed.run), failed.error))?;
    failure.map_or(Ok(()), Err)
}

/// Names the trace of a run and, if there are several, the run.
pub(super) fn place(batch: &Batch<'_>, run: usize) -> String {
    let trace = &batch.workload.meta.name;
    match batch.runs {
        [_] => trace.clone(),
        runs if runs[run].is_cached() => {
            format!("{trace}, {}, {}", runs[run].expr, runs[run].cache)
        }
        runs => format!("{trace}, {}", runs[run].expr),
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
