//! Many runs over one decoded trace, on several threads, results in input order.

use crate::observe::Observer;
use crate::record::{ResultRecord, RunInfo};
use crate::run::{Hooks, execute};
use crate::spec::{RunError, RunSpec};
use destage_trace::Trace;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Measures what a run costs. Clocks are not readable here; the command line has one.
pub trait Meter: Sync {
    /// Calls `run` and says what it cost.
    fn measure(&self, run: &mut dyn FnMut()) -> RunInfo;
}

/// A sweep: runs that share one trace.
pub struct Sweep<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// The runs, in the order of the results.
    pub runs: &'a [RunSpec],
    /// Threads, at least 1.
    pub jobs: usize,
    /// Version of destage for the records.
    pub version: &'a str,
    /// Counts the requests served by all runs.
    pub progress: &'a AtomicU64,
    /// Measures each run.
    pub meter: &'a dyn Meter,
}

/// The logs of one run.
#[derive(Default)]
pub struct Logs {
    /// Sees every event of the measured part.
    pub observer: Option<Box<dyn Observer + Send>>,
    /// Completed requests go there.
    pub requests: Option<Box<dyn Write + Send>>,
}

/// Makes the logs of run number `i`.
pub type MakeLogs<'a> = dyn Fn(usize) -> Logs + Sync + 'a;

impl Sweep<'_> {
    /// Executes all runs; the results stand in the order of the runs, whatever finished first.
    ///
    /// # Errors
    /// The first run, in that order, that cannot start.
    pub fn execute(&self, logs: &MakeLogs<'_>) -> Result<Vec<ResultRecord>, RunError> {
        type Done = Mutex<Option<Result<ResultRecord, RunError>>>;
        let done: Vec<Done> = self.runs.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.clamp(1, self.runs.len().max(1)) {
                scope.spawn(|| {
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        let Some(spec) = self.runs.get(i) else { break };
                        let result = self.one(spec, logs(i));
                        *done[i]
                            .lock()
                            .expect("no run panics while it holds the lock") = Some(result);
                    }
                });
            }
        });
        let results = done.into_iter().map(|slot| {
            let result = slot
                .into_inner()
                .expect("no run panics while it holds the lock");
            result.expect("every run was executed")
        });
        results.collect()
    }

    fn one(&self, spec: &RunSpec, logs: Logs) -> Result<ResultRecord, RunError> {
        let mut hooks = Some(Hooks {
            progress: Some(self.progress),
            observer: logs.observer,
            request_log: logs.requests,
            version: self.version,
        });
        let mut result = None;
        let info = self.meter.measure(&mut || {
            if let Some(hooks) = hooks.take() {
                result = Some(execute(spec, self.trace, hooks));
            }
        });
        let mut record = result.expect("a meter calls the run it measures")?;
        record.run = RunInfo {
            threads: self.jobs as u64,
            ..info
        };
        Ok(record)
    }
}
