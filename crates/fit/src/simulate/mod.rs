//! The load of a measured cell on a simulated drive.
//!
//! The simulated host sends what the measured one sent (D-14): each thread is a stream with its own queue depth. The
//! drive is filled and overwritten as it was before the measurement. That state is kept for all cells and candidates
//! that begin on it.

mod length;
mod load;
mod pattern;
mod service;

pub use service::{ServiceTimes, SimulatedCell};

use crate::FitError;
use crate::measurements::{CellLoad, DriveCell};
use destage_device::config::{DeviceConfig, Overwrite, Precondition, Ratio};
use destage_scheme::{Expr, ReadAlloc};
use destage_sim::runner::{Logs, Sweep};
use destage_sim::{PreparedDevices, Replay, RunSpec, SweepProgress, Unmetered};
use destage_trace::Trace;
use destage_types::RequestBatch;
use length::CellLength;
use service::CompletionLog;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

/// Bytes of drives that are kept filled at most.
const KEPT_BYTES: u64 = 1 << 30;

/// Simulates cells, and keeps the filled drives on which they begin.
pub struct CellSimulator {
    prepared: PreparedDevices,
    /// Held while a drive is filled, so that two threads do not fill the same one.
    filling: Mutex<()>,
    expr: Expr,
    seed: u64,
}

impl CellSimulator {
    /// One that draws from `seed`. The same seed gives the same load, whatever the drive: differences between
    /// candidates are then those of their parameters.
    ///
    /// # Errors
    /// Never with the schemes that are built in.
    pub fn new(seed: u64) -> Result<CellSimulator, FitError> {
        let expr = Expr::parse("drain(fifo)").map_err(|e| FitError::Simulation(e.to_string()))?;
        Ok(CellSimulator {
            prepared: PreparedDevices::new(KEPT_BYTES),
            filling: Mutex::new(()),
            expr,
            seed,
        })
    }

    /// What it draws from.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Simulates `device` under about `requests` requests of the load of `cell`: more if they do
    /// not settle it, fewer if the drive did fewer. Its preconditioning is that of the cell,
    /// whatever the device says.
    ///
    /// # Errors
    /// The load cannot be sent, or the device has no room for it.
    pub fn run(
        &self,
        device: &DeviceConfig,
        cell: &DriveCell,
        requests: u64,
    ) -> Result<SimulatedCell, FitError> {
        let device = &prepared_as(device, &cell.load);
        let bytes = device.logical_pages() * device.mapping().bytes();
        let length = CellLength::new(device, cell, requests);
        let load = load::generate(cell, length.requests, bytes, self.seed)?;
        let completed = self.completions(device, &load.trace, load.depth)?;
        let measured: Vec<bool> = cell.load.streams.iter().map(|s| s.measured).collect();
        Ok(service::measure(
            &load,
            &measured,
            &completed,
            length.warm_up,
        ))
    }

    /// When each request of a trace completes, in ns.
    fn completions(
        &self,
        device: &DeviceConfig,
        trace: &Trace,
        depth: NonZeroU32,
    ) -> Result<Vec<u64>, FitError> {
        let spec = self.spec(device, depth);
        self.fill(&spec, trace)?;
        let log = CompletionLog::default();
        let logs = |_: usize| Logs {
            requests: Some(Box::new(log.clone())),
            ..Logs::default()
        };
        self.sweep(&spec, trace, &logs)?;
        Ok(log.completed())
    }

    fn spec(&self, device: &DeviceConfig, depth: NonZeroU32) -> RunSpec {
        let cache = device.cache;
        RunSpec {
            page: device.mapping(),
            read_alloc: ReadAlloc::Off,
            replay: Replay::Limited { depth },
            device: Some(Arc::new(device.clone())),
            seed: self.seed,
            ..RunSpec::cache_only(self.expr.clone(), cache)
        }
    }

    /// Fills the drive of `spec`, unless one like it is kept.
    fn fill(&self, spec: &RunSpec, trace: &Trace) -> Result<(), FitError> {
        let Ok(_one) = self.filling.lock() else {
            return Err(FitError::Simulation("a thread has failed".to_owned()));
        };
        let mut first = RequestBatch::new();
        if let Some(request) = trace.requests.iter().next() {
            first.push(*request.head);
        }
        let trace = Trace::generated("first request", first);
        self.sweep(spec, &trace, &|_| Logs::default())
    }

    fn sweep(
        &self,
        spec: &RunSpec,
        trace: &Trace,
        logs: &(dyn Fn(usize) -> Logs + Sync),
    ) -> Result<(), FitError> {
        let (runs, progress) = ([spec.clone()], SweepProgress::default());
        let sweep = Sweep {
            trace: trace.into(),
            runs: &runs,
            jobs: 1,
            version: "",
            progress: &progress,
            devices: Some(&self.prepared),
            meter: &Unmetered,
        };
        let done = sweep.execute(logs);
        done.map(|_| ())
            .map_err(|e| FitError::Simulation(e.to_string()))
    }
}

/// The device, filled and overwritten as the measured drive was.
fn prepared_as(device: &DeviceConfig, load: &CellLoad) -> DeviceConfig {
    // A ratio has nine decimals.
    let ratio = |share: f64| Ratio::from_f64(libm::round(share * 1e6) / 1e6);
    DeviceConfig {
        precondition: Precondition {
            trace: true,
            fill: ratio(load.fill).unwrap_or(Ratio::ONE),
            overwrite: Overwrite::Times(ratio(load.overwrites).unwrap_or(Ratio::ZERO)),
        },
        ..device.clone()
    }
}
