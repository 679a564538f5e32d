//! What a scheme may know of the world: read-only, borrowed for one call.

use crate::frames::Frames;
use destage_types::{ChipId, Lpn, Nanos, Slot, StaticLayout};

/// The cache's frames, the static page allocation and the state of the device.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Which pages are cached, and their masks.
    pub frames: &'a Frames,
    /// Which chip and channel a page belongs to.
    pub layout: &'a StaticLayout,
    /// Queues and garbage collection of the device.
    pub device: &'a dyn DeviceView,
    /// Arrival of the request being served, or the time of the background event.
    pub now: Nanos,
}

impl View<'_> {
    /// Chip of the page in `slot`.
    #[inline]
    pub fn chip(&self, slot: Slot) -> ChipId {
        self.layout.chip(self.frames.lpn(slot))
    }

    /// The frame that holds page `lpn`, if it is cached.
    #[inline]
    pub fn slot_of(&self, lpn: Lpn) -> Option<Slot> {
        self.frames.slot_of(lpn)
    }
}

/// The state of one chip's queue and free space, for Equations 1-4 of ECR (section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChipLoad {
    /// Reads in the queue, the one in service included (N_r). GC operations do not count.
    pub reads: u64,
    /// Programs in the queue, the one in service included (N_w). GC operations do not count.
    pub writes: u64,
    /// Time until the host operation in service ends; zero while there is none.
    pub residual: Nanos,
    /// Is the operation in service, whose residual time that is, a read?
    pub in_service_read: bool,
    /// Exact time until everything in the queue is done if nothing else arrives.
    pub drain: Nanos,
    /// Free pages of the chip (N_fp).
    pub free_pages: u64,
    /// GC threshold of the chip in pages (N_mfp).
    pub gc_threshold_pages: u64,
    /// Free pages of the block the next program goes to (N_fpb).
    pub frontier_free_pages: u64,
    /// Valid pages of the block that greedy GC would pick now (N_vp).
    pub victim_valid_pages: u64,
    /// What is left of a running or scheduled GC job; it takes the place of S_i * T_gc.
    pub gc_remaining: Option<Nanos>,
}

/// Latencies and sizes that stay the same during a run, for Equations 1-4 of ECR.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlashCosts {
    /// Array time of a read.
    pub read: Nanos,
    /// Array time of a program.
    pub program: Nanos,
    /// Array time of an erase (L_gc).
    pub erase: Nanos,
    /// Bus time of a whole page.
    pub transfer: Nanos,
    /// Pages of a block (N_p).
    pub pages_per_block: u64,
}

/// The device as schemes see it. Without a device every chip is idle for ever ([`NoDevice`]).
pub trait DeviceView {
    /// State of `chip` at this instant.
    fn load(&self, chip: ChipId) -> ChipLoad;

    /// Is `chip` in GC state: a GC job is scheduled and its erase has not completed?
    fn in_gc(&self, chip: ChipId) -> bool;

    /// Is any chip in GC state? Lets schemes skip their search.
    fn any_in_gc(&self) -> bool;

    /// Constants of the flash.
    fn costs(&self) -> FlashCosts;

    /// Array time of the program that `chip` does next; differs from page to page where cells
    /// hold several bits.
    fn next_program(&self, _chip: ChipId) -> Nanos {
        self.costs().program
    }
}

/// No device: nothing is ever queued.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDevice;

impl DeviceView for NoDevice {
    fn load(&self, _chip: ChipId) -> ChipLoad {
        ChipLoad::default()
    }

    fn in_gc(&self, _chip: ChipId) -> bool {
        false
    }

    fn any_in_gc(&self) -> bool {
        false
    }

    fn costs(&self) -> FlashCosts {
        FlashCosts::default()
    }
}
