//! The simulator's device behind [`TimedDevice`].

use super::{FlashedPart, TimedDevice, TimedEvent};
use destage_sim::live::{DurablePart, LiveDevice, LiveEvent};
use destage_sim::{ResultRecord, RunError, RunSpec};
use destage_types::{HostRequest, Nanos};
use std::io;

/// A device of the simulator with its cache and scheme, as `spec` says.
///
/// A power cut makes it anew: its cache is empty, its statistics begin again, and its translation layer is
/// that of a new device, which does not know which pages hold data. That changes times, never data.
pub struct SimulatedSsd {
    device: LiveDevice,
    spec: RunSpec,
    version: String,
    /// Tickets of the devices before.
    first: u64,
    /// The device could not be made anew.
    dead: Option<RunError>,
    events: Vec<LiveEvent>,
}

impl SimulatedSsd {
    /// The device of `spec`; `version` is that of destage for the record.
    ///
    /// # Errors
    /// The device or its scheme cannot be served live.
    pub fn new(spec: &RunSpec, version: &str) -> Result<SimulatedSsd, RunError> {
        Ok(SimulatedSsd {
            device: LiveDevice::new(spec, version)?,
            spec: spec.clone(),
            version: version.to_owned(),
            first: 0,
            dead: None,
            events: Vec::new(),
        })
    }

    /// Bytes that clients can address.
    pub fn capacity(&self) -> u64 {
        self.device.capacity_sectors() * destage_types::SECTOR_BYTES
    }

    /// The result record since the last power cut.
    pub fn record(&self) -> ResultRecord {
        self.device.record()
    }
}

impl TimedDevice for SimulatedSsd {
    fn submit(&mut self, at: Nanos, request: HostRequest, durable: bool) -> io::Result<u64> {
        if let Some(error) = &self.dead {
            return Err(io::Error::other(error.to_string()));
        }
        let ticket = match durable {
            true => self.device.submit_fua(at, request),
            false => self.device.submit(at, request),
        };
        let ticket = ticket.map_err(io::Error::other)?;
        Ok(self.first + ticket.0)
    }

    fn next_event(&mut self) -> Option<Nanos> {
        self.device.next_event()
    }

    fn advance(&mut self, to: Nanos, events: &mut Vec<TimedEvent>) {
        self.device.advance(to, &mut self.events);
        let first = self.first;
        events.extend(self.events.drain(..).map(|event| match event {
            LiveEvent::Completed { ticket, at } => TimedEvent::Completed {
                ticket: first + ticket.0,
                at,
            },
            LiveEvent::Captured { lpn, ticket } => TimedEvent::Captured {
                lpn,
                through: first + ticket.0,
            },
            LiveEvent::Durable {
                lpn, ticket, part, ..
            } => TimedEvent::Durable {
                lpn,
                through: first + ticket.0,
                part: match part {
                    DurablePart::Page => FlashedPart::Page,
                    DurablePart::OwnSectors => FlashedPart::OwnSectors,
                },
            },
        }));
    }

    fn power_cycle(&mut self, at: Nanos) {
        self.first += self.device.requests();
        match LiveDevice::new(&self.spec, &self.version) {
            Ok(device) => self.device = device,
            Err(error) => self.dead = Some(error),
        }
        self.device.advance(at, &mut self.events);
        self.events.clear();
    }
}
