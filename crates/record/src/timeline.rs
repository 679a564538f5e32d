//! Requests, operations and collections in a window of simulated time: `--timeline`.

use destage_types::{ChipId, Lpn, Nanos, Op, OpActivity};

/// Why an operation runs, as [`TimelineOperation::purpose`] has it, and what that means.
pub const PURPOSES: [(&str, &str); 17] = [
    ("read", "data that the request reads"),
    (
        "read before program",
        "the old page, whose sectors complete a partial one",
    ),
    ("bypass", "data of the request that go past the cache"),
    ("eviction", "a dirty page that the request evicts"),
    (
        "padding",
        "a page that is not dirty and completes a block that the request evicts",
    ),
    ("flush", "a dirty page that a FLUSH writes back"),
    ("write-back", "a dirty page, written back in the background"),
    (
        "read before write-back",
        "the old page, in the background too",
    ),
    (
        "unit",
        "a program unit of the drive: mapping units of the host, and padding",
    ),
    ("parity", "a unit of parity of the drive"),
    ("mapping", "translation pages of the drive"),
    ("summary", "the summary page of a block"),
    ("collection", "garbage collection and wear levelling"),
    ("cache read", "cache in flash: data that the request reads"),
    (
        "cache write",
        "cache in flash: data that the request writes",
    ),
    ("cache fill", "cache in flash: data that a read miss brings"),
    (
        "cache read before program",
        "cache in flash: a page that is programmed outside",
    ),
];

/// The part of a run that a timeline shows, in simulated time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimelineWindow {
    /// Its begin; without one that of the measured part.
    pub from: Option<Nanos>,
    /// Operations and requests that begin at this time or later are left out.
    pub to: Nanos,
}

/// All that was not over before a window and began before its end, as a whole. The final flush of
/// the cache after the run is not in it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timeline {
    /// Begin of the window.
    pub from: Nanos,
    /// End of the window, or of all work if that is earlier.
    pub to: Nanos,
    /// Channels of the device.
    pub channels: u32,
    /// Chips of the device.
    pub chips: u32,
    /// Requests that were complete before the window and whose times count, and the sum of their response times in ns.
    pub before: (u64, u64),
    /// Requests, from arrival to completion, in no order.
    pub requests: Vec<Completion>,
    /// Operations, from the moment they are queued to their end, in the order in which their end was
    /// known.
    pub operations: Vec<TimelineOperation>,
    /// Collections, from the moment they are queued to their end, in the order of their ends.
    pub collections: Vec<TimelineCollection>,
}

impl Timeline {
    /// Operations and collections name requests by their numbers in the run, whose passes over the trace have
    /// `requests` each: they name them by their numbers in the trace from now on.
    pub fn number_by_trace(&mut self, requests: u64) {
        let operations = self.operations.iter_mut().map(|op| &mut op.request);
        let collections = self.collections.iter_mut().map(|c| &mut c.request);
        let numbers = operations.chain(collections).flatten();
        numbers.for_each(|number| *number %= requests.max(1));
    }
}

/// A completed request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Number of the request in the trace, from 0.
    pub index: u64,
    /// Kind.
    pub op: Op,
    /// Arrival.
    pub arrival: Nanos,
    /// When it came to the cache: at its arrival, unless the host's side of the device held it back.
    pub came: Nanos,
    /// Completion; may lie after the clock: it is known when the last phase starts.
    pub complete: Nanos,
    /// Page accesses.
    pub pages: u64,
    /// Page hits.
    pub hits: u64,
    /// Did it come in the measured part? Cleaning of a modelled file system may, though its times do
    /// not count.
    pub measured: bool,
    /// Does its response time count?
    pub timed: bool,
}

/// An operation of the array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimelineOperation {
    /// Its phases. An operation that was taken back has none: it starts and ends at that time.
    pub activity: OpActivity,
    /// When it was queued.
    pub queued: Nanos,
    /// Was it taken back before it started?
    pub taken_back: bool,
    /// Why it ran: a name of [`PURPOSES`].
    pub purpose: &'static str,
    /// Its first page, where it has pages of the host.
    pub page: Option<Lpn>,
    /// Logical pages, as many as planes it works on; of a drive with units those that it reads or programs.
    pub pages: u32,
    /// Mapping units of padding, of the program of a unit.
    pub padding: Option<u32>,
    /// The request it belongs to.
    pub request: Option<u64>,
    /// The collection it belongs to.
    pub collection: Option<u64>,
    /// Numbers of operations that had to end before.
    pub after: [Option<u64>; 2],
}

/// A job of garbage collection or wear levelling.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimelineCollection {
    /// Its number among those of the run, from 0.
    pub number: u64,
    /// Chip.
    pub chip: ChipId,
    /// When it was queued.
    pub queued: Nanos,
    /// Start of its first operation.
    pub start: Nanos,
    /// End of its last operation.
    pub end: Nanos,
    /// Does it run in the background?
    pub background: bool,
    /// The request that made it necessary, if one did.
    pub request: Option<u64>,
    /// Blocks it erases.
    pub blocks: u32,
    /// Valid pages it moves.
    pub pages: u32,
}
