//! What is asked of a simulated device.

use destage_types::{HostRequest, Lpn, Nanos};
use std::io;

/// How much of a page went to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashedPart {
    /// All of it, as it was after that write.
    Page,
    /// What that write itself wrote, past the cache; other sectors of the page may be dirty there.
    OwnSectors,
}

/// Something that happened in the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedEvent {
    /// A request is complete.
    Completed {
        /// What `submit` gave for it.
        ticket: u64,
        /// When.
        at: Nanos,
    },
    /// A program carries a page away: what is written after that makes another version.
    Captured {
        /// The page.
        lpn: Lpn,
        /// Ticket of the last write in it.
        through: u64,
    },
    /// A page is on flash.
    Durable {
        /// The page.
        lpn: Lpn,
        /// Ticket of the last write in it.
        through: u64,
        /// How much of it.
        part: FlashedPart,
    },
}

/// A device that is advanced step by step.
pub trait TimedDevice {
    /// Submits a request at `at`, which is not before the time advanced to. Tickets grow. A write that is
    /// `durable` (FUA) completes when it is on flash.
    ///
    /// # Errors
    /// The device cannot serve it, or nothing any more.
    fn submit(&mut self, at: Nanos, request: HostRequest, durable: bool) -> io::Result<u64>;

    /// When something happens next; `None` if nothing will.
    fn next_event(&mut self) -> Option<Nanos>;

    /// Does everything up to and including `to`, and appends what happened, in order. What a FLUSH waits
    /// for comes before its completion.
    fn advance(&mut self, to: Nanos, events: &mut Vec<TimedEvent>);

    /// The power went and came back: nothing is in the cache, nothing is under way.
    fn power_cycle(&mut self, at: Nanos);
}
