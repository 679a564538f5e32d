//! The simulator's device behind [`TimedDevice`].

use super::{DataDevice, TimedDevice};
use destage_sim::live::{LiveDevice, LiveEvent, LiveFigures, SubmitError, Ticket};
use destage_sim::{ResultRecord, RunError, RunSpec};
use destage_types::{HostRequest, Nanos, Op};
use serde::Serialize;
use std::io;

/// A simulated device in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ModelName {
    /// Its scheme.
    pub scheme: String,
    /// Its cache size.
    pub cache: String,
    /// The name of its device.
    pub device: String,
}

/// A device of the simulator with its cache and scheme.
///
/// A power cut empties its cache and begins new statistics; its translation layer stays
/// ([`LiveDevice::power_cycle`]).
pub struct SimulatedSsd {
    device: LiveDevice,
}

impl SimulatedSsd {
    /// The device of `spec`; `version` is that of destage for the record.
    ///
    /// # Errors
    /// The device or its scheme cannot be served live.
    pub fn new(spec: &RunSpec, version: &str) -> Result<SimulatedSsd, RunError> {
        Ok(SimulatedSsd {
            device: LiveDevice::new(spec, version)?,
        })
    }

    /// Bytes that clients can address.
    pub fn capacity(&self) -> u64 {
        self.device.capacity_sectors() * destage_types::SECTOR_BYTES
    }

    /// Its description.
    pub fn model(&self) -> ModelName {
        let spec = self.device.spec();
        let device = spec.device.as_ref();
        ModelName {
            scheme: spec.expr.to_string(),
            cache: spec.cache.to_string(),
            device: device.map_or(String::new(), |device| device.name.clone()),
        }
    }

    /// Bytes that programs at the same time on all planes write.
    pub fn bytes_of_planes(&self) -> u64 {
        let device = self.device.spec().device.as_ref();
        device.map_or(0, |device| device.bytes_of_planes())
    }

    /// Does another scheme follow as soon as the cache is written to flash? Requests are to wait until then, which a device
    /// that is full never comes to.
    pub fn is_changing(&self) -> bool {
        self.device.is_changing() && !self.has_failed()
    }

    /// The figures since the statistics began, without what takes long to make.
    pub fn figures(&self) -> LiveFigures {
        self.device.figures()
    }

    /// The result record since the statistics began.
    pub fn record(&self) -> ResultRecord {
        self.device.record()
    }

    /// Statistics begin again from zero.
    pub fn reset_statistics(&mut self) {
        self.device.reset_statistics();
    }

    /// Flushes the cache at `at`, and goes on with an empty one as `spec` says ([`LiveDevice::change_to`]).
    ///
    /// # Errors
    /// The new cache cannot be, and nothing has happened; or the device is full.
    pub fn change_to(&mut self, at: Nanos, spec: RunSpec) -> Result<(), SubmitError> {
        self.device.change_to(at, spec).map(|_| ())
    }
}

impl TimedDevice for SimulatedSsd {
    fn submit(&mut self, at: Nanos, request: HostRequest) -> io::Result<Ticket> {
        let ticket = self.device.submit(at, request);
        ticket.map_err(io::Error::other)
    }

    fn next_event(&mut self) -> Option<Nanos> {
        self.device.next_event()
    }

    fn advance(&mut self, to: Nanos, events: &mut Vec<LiveEvent>) {
        self.device.advance(to, events);
    }

    fn has_failed(&self) -> bool {
        self.device.fault().is_some()
    }

    fn keeps_cache(&self) -> bool {
        self.device.keeps_cache()
    }

    fn power_cycle(&mut self, at: Nanos) {
        self.device.power_cycle(at);
    }
}

impl<T> DataDevice<SimulatedSsd, T> {
    /// May a request that moves `bytes` come in, as far as memory goes? Otherwise it is to wait until programs that
    /// wait or run have ended.
    pub fn has_room(&self, bytes: u64) -> bool {
        let device = &self.device.device;
        let waiting = device.pages_on_their_way() * device.spec().page.bytes();
        self.store.has_room(bytes + self.arriving.bytes()) && self.store.has_room_beside(waiting)
    }

    /// Flushes the cache at `at`, and goes on with an empty one as `spec` says. Requests under way are
    /// answered as ever.
    ///
    /// # Errors
    /// The new cache cannot be, and nothing has happened; or the device is full.
    pub fn change_to(&mut self, at: Nanos, spec: RunSpec) -> Result<(), SubmitError> {
        self.device.change_to(at, spec)?;
        let flush = HostRequest::new(at, Op::Flush, 0, 0);
        for watcher in &mut self.watchers {
            watcher.request(&flush);
        }
        self.catch_up(at);
        Ok(())
    }
}
