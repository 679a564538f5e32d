//! What a scheme may know of the world: read-only, borrowed for one call.

use crate::frames::Frames;
use destage_types::{ChannelId, ChipId, Lpn, Nanos, Slot, StaticLayout};

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

    /// May the page in `slot` be programmed on `channel` (Prober section 3.4)? With static
    /// allocation only on that of its address.
    pub fn may_go_to(&self, slot: Slot, channel: ChannelId) -> bool {
        self.layout.channel(self.chip(slot)) == channel || self.device.allocates_dynamically()
    }

    /// The frame that holds page `lpn`, if it is cached.
    #[inline]
    pub fn slot_of(&self, lpn: Lpn) -> Option<Slot> {
        self.frames.slot_of(lpn)
    }
}

/// The state of one chip's queue and free space, for Equations 1-4 of ECR (section 3.1). What takes
/// a search, N_vp, is asked for by itself: [`DeviceView::victim_valid_pages`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChipLoad {
    /// What waits, and the free pages.
    pub queue: ChipQueue,
    /// Time until the host operation in service ends, as far as that is known; zero if all that is
    /// left of it is a wait for the bus.
    pub residual: Option<Nanos>,
    /// Is the operation in service, whose residual time that is, a read?
    pub in_service_read: bool,
    /// Exact time until everything in the queue is done if nothing else arrives.
    pub drain: Nanos,
}

/// The part of [`ChipLoad`] that nearly every decision needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChipQueue {
    /// Reads in the queue, the one in service included (N_r). GC operations do not count, and a
    /// multi-plane read is one: Eq. 1 leaves out the transfers of its further pages.
    pub reads: u64,
    /// Programs in the queue, the one in service included (N_w). GC operations do not count, and a
    /// multi-plane program is one, as for `reads`.
    pub writes: u64,
    /// Free pages of the chip, without those that the mapping gave to queued programs (N_fp of
    /// `nfp=mapping`; see [`crate::cqct::FreePages`]).
    pub free_pages: u64,
    /// GC threshold of the chip in pages (N_mfp).
    pub gc_threshold_pages: u64,
    /// Free pages of the block the next program goes to (N_fpb).
    pub frontier_free_pages: u64,
    /// What is left of a running or scheduled GC job; it takes the place of S_i * T_gc.
    pub gc_remaining: Option<Nanos>,
}

impl ChipQueue {
    /// Is Eq. 1 zero whatever the latencies: nothing queued, no GC running or predicted, and no
    /// summary page due?
    pub fn is_idle(&self) -> bool {
        self.reads == 0
            && self.writes == 0
            && self.gc_remaining.is_none()
            && !self.predicts_gc()
            && self.frontier_free_pages > 1
    }

    /// Will the queued programs start garbage collection (S_i, Equation 2)?
    pub fn predicts_gc(&self) -> bool {
        self.free_pages <= self.gc_threshold_pages + self.writes
    }
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

    /// The part of [`DeviceView::load`] without sums over the queue.
    fn queue(&self, chip: ChipId) -> ChipQueue {
        self.load(chip).queue
    }

    /// Valid pages of the block of `chip` that greedy GC would pick now (N_vp). Searches all of its
    /// blocks unless the chip collects or soon will.
    fn victim_valid_pages(&self, chip: ChipId) -> u64;

    /// [`ChipQueue::is_idle`] of `count` chips from `first` on, at most 64, in the lowest bits. With
    /// every eviction all chips are asked, and most of them are idle most of the time.
    fn idle(&self, first: ChipId, count: u32) -> u64 {
        (0..count)
            .filter(|i| self.queue(ChipId(first.0 + i)).is_idle())
            .fold(0, |bits, i| bits | 1 << i)
    }

    /// Is `chip` in GC state: a GC job is scheduled and its erase has not completed?
    fn in_gc(&self, chip: ChipId) -> bool;

    /// Is any chip in GC state? Lets schemes skip their search.
    fn any_in_gc(&self) -> bool;

    /// Constants of the flash.
    fn costs(&self) -> FlashCosts;

    /// Can a page go to any channel, whatever its address?
    fn allocates_dynamically(&self) -> bool {
        false
    }

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

    fn victim_valid_pages(&self, _chip: ChipId) -> u64 {
        0
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
