//! Many runs over one decoded trace, on several threads, results in input order.

use crate::RunError;
use crate::cache::observe::Observer;
use crate::result::series::Series;
use crate::result::sinks::{ProfileSink, TimelineHook};
use crate::run::devices::{PreparedDevices, SweepDevices};
use crate::run::meter::{Meter, SweepProgress};
use crate::run::spec::RunSpec;
use crate::run::{DeviceOfRun, Hooks, execute};
use crate::watch::WatchHook;
use destage_record::{ResultRecord, RunInfo};
use destage_trace::Workload;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

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

/// The logs of one run.
#[derive(Default)]
pub struct Logs {
    /// Sees every event of the measured part.
    pub observer: Option<Box<dyn Observer + Send>>,
    /// Completed requests go there.
    pub requests: Option<Box<dyn Write + Send>>,
    /// Intervals of the measured part go there.
    pub series: Vec<Series>,
    /// Data of charts go there.
    pub profile: Option<ProfileSink>,
    /// Data of a timeline go there.
    pub timeline: Option<TimelineHook>,
    /// The scene of a watched window goes there.
    pub watch: Option<WatchHook>,
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
            watch: logs.watch,
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
