//! Many runs over one decoded trace, on several threads, results in input order.

use crate::RunError;
use crate::cache::observe::Observer;
use crate::result::series::Series;
use crate::result::sinks::{ProfileSink, TimelineHook};
use crate::run::devices::{PreparedDevices, SweepDevices};
use crate::run::spec::RunSpec;
use crate::run::{DeviceOfRun, Hooks, execute};
use destage_record::{ResultRecord, RunInfo};
use destage_trace::Workload;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;

/// Measures what a run costs. Clocks are not readable here; the command line has one.
pub trait Meter: Sync {
    /// Calls `run` and says what it cost.
    fn measure(&self, run: &mut dyn FnMut()) -> RunInfo;

    /// Does the program take more memory than it may? Asked by each run every 10,000 requests, and by
    /// the passes of a curve.
    fn excess(&self) -> Option<MemoryExcess> {
        None
    }

    /// Does nobody want the result any more? Asked as often.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Measures nothing: for runs that nobody waits for.
pub struct Unmetered;

impl Meter for Unmetered {
    fn measure(&self, run: &mut dyn FnMut()) -> RunInfo {
        run();
        RunInfo::default()
    }
}

/// Asks `meter` after request number `request`, counted from 0.
///
/// # Errors
/// The program takes too much memory, or nobody waits for the run.
pub(crate) fn look(meter: &dyn Meter, request: u64) -> Result<(), RunError> {
    if meter.is_cancelled() {
        return Err(RunError::Cancelled);
    }
    match meter.excess() {
        None => Ok(()),
        Some(MemoryExcess { bytes, limit }) => Err(RunError::Memory {
            request,
            bytes,
            limit,
        }),
    }
}

/// More memory than the program may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryExcess {
    /// Bytes that it takes.
    pub bytes: u64,
    /// Bytes that it may take.
    pub limit: u64,
}

/// A sweep: runs that share one trace.
pub struct Sweep<'a> {
    /// The trace.
    pub trace: Workload<'a>,
    /// The runs, in the order of the results.
    pub runs: &'a [RunSpec],
    /// Threads, at least 1.
    pub jobs: usize,
    /// Version of destage for the records.
    pub version: &'a str,
    /// Counts what is done.
    pub progress: &'a SweepProgress,
    /// Where prepared devices are kept, so that runs share them; without it each run prepares its own.
    pub devices: Option<&'a PreparedDevices>,
    /// Measures each run.
    pub meter: &'a dyn Meter,
}

/// How far a sweep has come.
#[derive(Default, Debug)]
pub struct SweepProgress {
    /// Requests served by all runs.
    pub requests: AtomicU64,
    /// Runs that have ended.
    pub runs: AtomicU64,
    /// Pages written to prepare devices.
    pub pages_prepared: AtomicU64,
    /// All pages to be written for that, those that are included.
    pub pages_to_prepare: AtomicU64,
}

impl SweepProgress {
    pub(crate) fn prepared(&self, pages: u64) {
        self.pages_prepared.fetch_add(pages, Ordering::Relaxed);
    }
}

/// The logs of one run.
#[derive(Default)]
pub struct Logs {
    /// Sees every event of the measured part.
    pub observer: Option<Box<dyn Observer + Send>>,
    /// Completed requests go there.
    pub requests: Option<Box<dyn Write + Send>>,
    /// Intervals of the measured part go there.
    pub series: Vec<Series>,
    /// What charts show goes there.
    pub profile: Option<ProfileSink>,
    /// What a timeline shows goes there.
    pub timeline: Option<TimelineHook>,
}

/// Makes the logs of run number `i`.
pub type MakeLogs<'a> = dyn Fn(usize) -> Logs + Sync + 'a;

/// Takes the number of a run and its result, and says whether the sweep goes on.
pub type EmitResult<'a> = dyn FnMut(usize, Result<ResultRecord, RunError>) -> bool + 'a;

impl Sweep<'_> {
    /// Executes all runs; the results stand in the order of the runs, whatever finished first.
    ///
    /// # Errors
    /// The first run, in that order, that cannot start.
    pub fn execute(&self, logs: &MakeLogs<'_>) -> Result<Vec<ResultRecord>, RunError> {
        let mut records = Vec::with_capacity(self.runs.len());
        let mut failed = None;
        self.execute_each(logs, &mut |_, result| {
            match result {
                Ok(record) => records.push(record),
                Err(error) => failed = Some(error),
            }
            failed.is_none()
        });
        failed.map_or(Ok(records), Err)
    }

    /// As [`Sweep::execute`], but hands over each result with the number of its run, as soon as it and
    /// all before it are there. If `emit` returns false, no further run starts.
    pub fn execute_each(&self, logs: &MakeLogs<'_>, emit: &mut EmitResult<'_>) {
        let next = AtomicUsize::new(0);
        let devices = SweepDevices::new(self.devices, self.runs, self.progress);
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.clamp(1, self.runs.len().max(1)) {
                let (sender, next, devices) = (sender.clone(), &next, &devices);
                scope.spawn(move || {
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        let Some(spec) = self.runs.get(i) else { break };
                        let result = self.one(spec, DeviceOfRun { devices, run: i }, logs(i));
                        self.progress.runs.fetch_add(1, Ordering::Relaxed);
                        if sender.send((i, result)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            let mut early = BTreeMap::new();
            let mut due = 0;
            // Leaving the loop drops the receiver, and the threads stop after their current run.
            for (i, result) in receiver {
                early.insert(i, result);
                while let Some(result) = early.remove(&due) {
                    if !emit(due, result) {
                        return;
                    }
                    due += 1;
                }
            }
        });
    }

    /// As [`Sweep::execute_each`], one run after the other on the thread of the caller: for schemes that are
    /// bound to it.
    pub fn execute_here(&self, logs: &MakeLogs<'_>, emit: &mut EmitResult<'_>) {
        let devices = SweepDevices::new(self.devices, self.runs, self.progress);
        for (run, spec) in self.runs.iter().enumerate() {
            let devices = &devices;
            let result = self.one(spec, DeviceOfRun { devices, run }, logs(run));
            self.progress.runs.fetch_add(1, Ordering::Relaxed);
            if !emit(run, result) {
                break;
            }
        }
    }

    fn one(
        &self,
        spec: &RunSpec,
        device: DeviceOfRun<'_>,
        logs: Logs,
    ) -> Result<ResultRecord, RunError> {
        let mut hooks = Some(Hooks {
            progress: Some(&self.progress.requests),
            device: Some(device),
            meter: Some(self.meter),
            observer: logs.observer,
            request_log: logs.requests,
            series: logs.series,
            profile: logs.profile,
            timeline: logs.timeline,
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
            threads: Some(self.jobs as u64),
            ..info
        };
        Ok(record)
    }
}
