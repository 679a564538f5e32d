//! The interface of a simulated device.

use destage_sim::live::{LiveEvent, Ticket};
use destage_types::{HostRequest, Nanos};
use std::io;

/// A device that is advanced step by step.
pub trait TimedDevice {
    /// Submits a request at `at`, which is not before the time advanced to. Tickets grow. A write with FUA
    /// completes when it is on flash.
    ///
    /// # Errors
    /// The device cannot serve it, or nothing any more.
    fn submit(&mut self, at: Nanos, request: HostRequest) -> io::Result<Ticket>;

    /// When something happens next; `None` if nothing will.
    fn next_event(&mut self) -> Option<Nanos>;

    /// Does everything up to and including `to`, and appends what happened, in order. The events
    /// that a FLUSH waits for come before its completion.
    fn advance(&mut self, to: Nanos, events: &mut Vec<LiveEvent>);

    /// Has it run out of space, so that what waits is never complete?
    fn has_failed(&self) -> bool {
        false
    }

    /// Does it model a cache that survives a power cut? Then it is told of FLUSH, which takes its time.
    fn keeps_cache(&self) -> bool {
        false
    }

    /// The power went and came back: nothing is in the cache, nothing is under way.
    fn power_cycle(&mut self, at: Nanos);
}
