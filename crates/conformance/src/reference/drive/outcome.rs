//! Requests, and what a run gives.

use super::geometry::DrivePlace;
use super::handles::HandleCounts;
use super::map_cache::MapCounts;

/// The kind of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DriveOp {
    /// Reads bytes.
    Read,
    /// Writes bytes.
    Write,
    /// Writes bytes, done when they are in flash.
    WriteFua,
    /// Done when all that was written is in flash.
    Flush,
    /// Bytes hold no data any more.
    Trim,
}

/// A request of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriveRequest {
    /// Arrival.
    pub at: u64,
    /// Its kind.
    pub op: DriveOp,
    /// First byte, a multiple of 512.
    pub offset: u64,
    /// Bytes, a multiple of 512.
    pub bytes: u64,
    /// Stream.
    pub stream: usize,
    /// A write that the host sends when a FLUSH before it is done.
    pub preflush: bool,
    /// Old addresses of its pages, in mapping units.
    pub prev: [Option<u64>; 4],
    /// Part of an atomic write (CAC section 4.3).
    pub atomic: bool,
}

impl DriveRequest {
    /// A write of either kind.
    pub fn is_write(&self) -> bool {
        matches!(self.op, DriveOp::Write | DriveOp::WriteFua)
    }

    pub(super) fn is_forced(&self) -> bool {
        self.op == DriveOp::WriteFua
    }
}

/// Times of a request.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DriveTimes {
    /// When the queue depth let it in.
    pub admitted: u64,
    /// When it was done.
    pub completed: u64,
}

/// Everything that can be compared after a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DriveOutcome {
    /// By request.
    pub times: Vec<DriveTimes>,
    /// Logical units handed over by the buffer.
    pub host_units: u64,
    /// Logical units moved by collection of native blocks.
    pub moved: u64,
    /// Logical units moved out of SLC blocks.
    pub folded: u64,
    /// Logical units handed over by the buffer to SLC blocks.
    pub slc_host_places: u64,
    /// By handle, and those of nobody (S-3.6).
    pub handles: Vec<HandleCounts>,
    /// S-2.
    pub map: MapCounts,
    /// Translation pages written back and updated.
    pub map_places: u64,
    /// Places of closed units that hold nothing.
    pub padded_places: u64,
    /// Programs that ended.
    pub programs: u64,
    /// Those of them in SLC blocks.
    pub slc_programs: u64,
    /// Bytes of all programs, padding included.
    pub programmed_bytes: u64,
    /// Bytes that the host wrote.
    pub host_bytes: u64,
    /// Places in units that are still open at the end.
    pub open_places: u64,
    /// Those of them that the host wrote.
    pub host_open: u64,
    /// By plane and block; by die or by index where blocks are erased together.
    pub erases: Vec<u64>,
    /// Erases of blocks in SLC mode.
    pub slc_erases: u64,
    /// Array reads.
    pub array_reads: u64,
    /// Operations that gave way to reads.
    pub suspensions: u64,
    /// Reads of pages in the buffer.
    pub read_hits: u64,
    /// Reads from the memory of the collector.
    pub memory_reads: u64,
    /// Writes into a frame that the page had.
    pub write_hits: u64,
    /// Pages not handed over at the end.
    pub dirty_left: u64,
    /// Time of every frame given to a write.
    pub granted: Vec<u64>,
    /// Time at which every host program gave back its frames, and how many.
    pub released: Vec<(u64, u64)>,
    /// Time and first place of every program that ended.
    pub program_ends: Vec<(u64, DrivePlace)>,
    /// Place of every logical unit.
    pub mapping: Vec<Option<DrivePlace>>,
    /// When the drive came to rest.
    pub end: u64,
}

impl DriveOutcome {
    /// Bytes programmed by bytes that the host wrote.
    pub fn write_amplification(&self) -> f64 {
        self.programmed_bytes as f64 / self.host_bytes as f64
    }
}
