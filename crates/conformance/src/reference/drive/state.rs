//! State of the slow drive: events, requests, units and collectors. The files of its parts say how it changes.

use std::collections::VecDeque;

use destage_device::config::DeviceConfig;

use super::frames::Passage;

/// The purpose of an operation of the array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Task {
    /// A page for a request.
    HostRead(usize),
    /// An old logical unit for a partial write.
    MergeRead,
    /// A unit.
    Program(usize),
    /// Pages for the collector of a GC unit.
    GcRead(usize),
    /// A translation page.
    Map(MapWork),
    /// A part of a block.
    Erase(usize),
}

/// Something that the mapping waits for, from flash or from memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MapWork {
    /// A translation page is loaded.
    Load(usize),
    /// The translation page of a key of the map cache is read to be written back.
    Evict(usize),
    /// A translation page is read that the collector of a GC unit updates.
    Update(usize),
    /// The translations of a read are in memory of the host.
    Far(usize),
}

/// Something at a known time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Event {
    /// A request arrives.
    Arrives(usize),
    /// A command has been processed.
    Commanded(usize),
    /// The data of a write are in the drive.
    LinkedIn(usize),
    /// It is a command's turn (`command_order = fifo`).
    Begins(usize),
    /// A write has been let in by the pace.
    Paced(usize),
    /// One of the things that a request waits for is done.
    PartDone(usize),
    /// A request is done.
    Done(usize),
}

/// How far a request is.
#[derive(Clone, Default, Debug)]
pub(super) struct Served {
    /// Pages of a write that have a frame.
    pub pages: u64,
    /// How its pages come in.
    pub passage: Passage,
    /// Things that it waits for.
    pub parts: usize,
    /// It is the FLUSH before a write.
    pub flushing: bool,
    /// Its place in the order of fetch.
    pub fetched: usize,
    /// Of a read: missed pages with their bytes.
    pub wanted: Vec<(usize, u64)>,
    /// Their translations that are not there, and whether one of the others was in memory of the host.
    pub translations: usize,
    pub far: bool,
    /// Comes next when its turn comes (`command_order = fifo`).
    pub may_begin: bool,
    /// Done.
    pub done: bool,
}

/// Requests of one stream.
#[derive(Clone, Default, Debug)]
pub(super) struct Stream {
    /// Waits for the queue depth.
    pub outside: VecDeque<usize>,
    /// Waits for a slot.
    pub submitted: VecDeque<usize>,
    pub outstanding: u64,
}

/// Queues and resources in front of the buffer.
#[derive(Clone, Debug)]
pub(super) struct Host {
    pub streams: Vec<Stream>,
    /// Stream that the last command came from.
    pub last_stream: usize,
    pub slots_used: u64,
    /// When the last command was done.
    pub last_done: u64,
    pub cores_free: Vec<u64>,
    pub link_in_free: u64,
    pub link_out_free: u64,
    /// Commands fetched and not started, in order.
    pub fetched: VecDeque<usize>,
    /// Commands fetched so far.
    pub fetches: usize,
    /// When the writes are paid that were let in.
    pub paid: u64,
}

impl Host {
    /// Nothing is queued.
    pub(super) fn new(cores: u32) -> Host {
        Host {
            streams: Vec::new(),
            last_stream: usize::MAX,
            slots_used: 0,
            last_done: 0,
            cores_free: vec![0; cores as usize],
            link_in_free: 0,
            link_out_free: 0,
            fetched: VecDeque::new(),
            fetches: 0,
            paid: 0,
        }
    }
}

/// A FLUSH, or a write with FUA, whose pages are not all handed over.
#[derive(Clone, Debug)]
pub(super) struct Flush {
    pub request: usize,
    pub pages: VecDeque<usize>,
    /// All open host units are closed, not only those of its pages.
    pub all: bool,
    /// Its pages.
    pub own: Vec<usize>,
}

impl Flush {
    /// A FLUSH whose pages are handed over.
    pub(super) fn of_all(request: usize) -> Flush {
        Flush {
            request,
            pages: VecDeque::new(),
            all: true,
            own: Vec::new(),
        }
    }
}

/// Data that have left the buffer, or are flushed from it, for a unit to take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    pub lpn: usize,
    pub sectors: u128,
    /// S-3.1.
    pub handle: usize,
    /// On demand: the request that waits for it.
    pub request: Option<usize>,
}

/// An entry that waits until units can take data.
#[derive(Clone, Debug)]
pub(super) enum Pending {
    Data(Leaving),
    /// A FLUSH or FUA: for the data before it.
    Flush(Flush),
}

/// A program unit's side of the model that the mapping does not know.
#[derive(Clone, Default, Debug)]
pub(super) struct UnitWaits {
    /// Reads of old data that its program waits for.
    pub reads: Vec<u64>,
    /// Translations that are not there, and the program that waits for them.
    pub translations: usize,
    pub program: Option<u64>,
    /// Requests that wait for its end.
    pub requests: Vec<usize>,
    /// When it is closed if it is still open (`unit_hold`).
    pub due: Option<u64>,
}

/// The debt of collection that the price of writes stands for (D-17).
#[derive(Clone, Default, Debug)]
pub(super) struct Debt {
    /// Host units of the average: N.
    pub units: u64,
    /// A.
    pub sum: u64,
}

impl Debt {
    /// One of a drive with so many GC units.
    pub(super) fn new(c: &DeviceConfig, gc_units: usize, block_units: usize) -> Debt {
        let window = c.write_price().map_or(1, |price| price.window);
        Debt {
            units: u64::from(window) * (gc_units * block_units) as u64,
            sum: 0,
        }
    }

    /// A host unit is queued.
    pub(super) fn add(&mut self, q: u64) {
        self.sum = self.sum - self.sum / self.units + q;
    }

    /// s.
    pub(super) fn mean(&self) -> u64 {
        self.sum / self.units
    }
}

/// How far a translation page is that a collector updates.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Update {
    /// It has not been read.
    #[default]
    Next,
    /// It is being read.
    Read,
    /// It is to be handed over.
    Ready,
}

/// The collector of a GC unit.
#[derive(Clone, Default, Debug)]
pub(super) struct Collector {
    /// Something has changed that it has to look at.
    pub look: bool,
    /// Places that the host is ahead.
    pub owed: f64,
    /// Blocks under way in the order in which they were chosen, each with its first place that has not been read. Only
    /// folding makes them two (S-1.5/4).
    pub victims: Vec<(usize, usize)>,
    /// Places of the read under way.
    pub reading: Option<std::ops::Range<usize>>,
    /// Was that read called for by the debt?
    pub paid: bool,
    /// Places read and not handed over, in order.
    pub moving: Vec<usize>,
    /// Translation pages to update after the victim of each block (S-2.7).
    pub stale: Vec<(usize, usize)>,
    /// Those of victims that have been moved, in order, and how far the first one is.
    pub updates: VecDeque<usize>,
    pub update: Update,
    /// `gc_hold`: host programs wait.
    pub in_burst: bool,
    pub burst_places: u64,
    /// `gc_hold`: numbers of the host programs that start before the next burst.
    pub must_start: Vec<u64>,
}
