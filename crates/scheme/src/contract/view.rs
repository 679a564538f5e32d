//! The view that a scheme has of cache and device: read-only, borrowed for one call.

use crate::store::Frames;
use destage_types::{ChannelId, ChipId, Lpn, Nanos, Op, PlaneId, Slot, StaticLayout};

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
    /// Page accesses so far, the one that is being served included (`page_seq`).
    pub seq: u64,
}

impl View<'_> {
    /// Chip of the page in `slot`.
    #[inline]
    pub fn chip(&self, slot: Slot) -> ChipId {
        self.layout.chip(self.frames.lpn(slot))
    }

    /// Chip of a unit that goes to one plane: number of the unit modulo planes (D6).
    pub fn chip_of_unit(&self, id: u64) -> ChipId {
        let plane = PlaneId((id % u64::from(self.layout.planes())) as u32);
        self.layout.chip_of(self.layout.plane_address(plane))
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

/// Inputs of Equations 1 to 4 of ECR (section 3.1) about one chip, but for N_vp, which takes a
/// search: [`DeviceView::victim_valid_pages`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Equation1 {
    /// Reads in the queue, the one in service included (N_r). GC operations do not count, and a
    /// multi-plane read is one: the equation leaves out the transfers of its further pages.
    pub reads: u64,
    /// Programs in the queue, the one in service included (N_w), counted as the reads.
    pub writes: u64,
    /// Free pages of the chip, without those that the mapping gave to queued programs (N_fp of
    /// `nfp=mapping`; see [`crate::cqct::FreePages`]).
    pub free_pages: u64,
    /// GC threshold of the chip in pages (N_mfp).
    pub gc_threshold_pages: u64,
    /// Free pages of the block the next program goes to (N_fpb).
    pub frontier_free_pages: u64,
    /// Remaining time of a running or scheduled GC job; it takes the place of S_i * T_gc.
    pub gc_remaining: Option<Nanos>,
}

impl Equation1 {
    /// A chip without work, with room for as many programs as may come.
    pub const IDLE: Equation1 = Equation1 {
        reads: 0,
        writes: 0,
        free_pages: u64::MAX,
        gc_threshold_pages: 0,
        frontier_free_pages: u64::MAX,
        gc_remaining: None,
    };

    /// Is Equation 1 zero whatever the latencies: nothing queued, no GC running or predicted, and
    /// no summary page due?
    pub fn is_zero(&self) -> bool {
        self.reads == 0
            && self.writes == 0
            && self.gc_remaining.is_none()
            && !self.predicts_gc(1)
            && self.frontier_free_pages > 1
    }

    /// Will the queued programs, of so many pages each, start garbage collection (S_i, Equation 2)?
    pub fn predicts_gc(&self, pages_per_program: u64) -> bool {
        let taken = self.writes * pages_per_program;
        self.free_pages <= self.gc_threshold_pages.saturating_add(taken)
    }
}

/// Free blocks of a chip, for the reading of Equation 2 that counts them (ECR-8).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GcBlocks {
    /// Blocks that are free when the queued programs are done, without those being filled.
    pub free: u64,
    /// GC threshold of the chip in whole blocks.
    pub threshold: u64,
}

/// The host operation that a chip has in service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InService {
    /// Read or write.
    pub op: Op,
    /// Time until it ends, as far as that is known; zero if all that is left of it is a wait for
    /// the bus.
    pub residual: Nanos,
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
    /// Bus time of all that one program writes.
    pub program_transfer: Nanos,
    /// Pages of a block (N_p).
    pub pages_per_block: u64,
    /// Pages that one program writes: mapping units where a program has several (DR-10), else 1.
    pub pages_per_program: u64,
}

/// The device as schemes see it. Without a device every chip is idle for ever ([`NoDevice`]).
///
/// A chip is a unit of flash with a queue of its own.
pub trait DeviceView {
    /// Is nothing at all queued or in service on `chip`, of the host, of write-backs in the
    /// background or of garbage collection?
    fn is_idle(&self, chip: ChipId) -> bool;

    /// Time until everything in the queue of `chip`, GC included, is done if nothing else arrives. Leaves out
    /// background write-backs and background GC, which give way to host work, and waits for a bus that other chips use.
    fn drain_time(&self, chip: ChipId) -> Nanos;

    /// Is `chip` in GC state: a GC job is scheduled and its erase has not completed?
    fn in_gc(&self, chip: ChipId) -> bool;

    /// Is any chip in GC state? Lets schemes skip their search.
    fn any_in_gc(&self) -> bool;

    /// The host operation that `chip` has in service.
    fn in_service(&self, chip: ChipId) -> Option<InService>;

    /// Inputs of Equation 1 of ECR about `chip`.
    fn equation_1(&self, chip: ChipId) -> Equation1;

    /// Free blocks of `chip`, and how many make it collect.
    fn gc_blocks(&self, chip: ChipId) -> GcBlocks;

    /// [`Equation1::is_zero`] of `count` chips from `first` on, at most 64, in the lowest bits. With
    /// every eviction ECR asks this of all chips, and of most of them it is true most of the time.
    fn equation_1_is_zero(&self, first: ChipId, count: u32) -> u64 {
        (0..count)
            .filter(|i| self.equation_1(ChipId(first.0 + i)).is_zero())
            .fold(0, |bits, i| bits | 1 << i)
    }

    /// Valid pages of the block of `chip` that greedy GC would pick now (N_vp). Searches all of its
    /// blocks unless the chip collects or soon will.
    fn victim_valid_pages(&self, chip: ChipId) -> u64;

    /// Latencies and sizes of the flash.
    fn costs(&self) -> FlashCosts;

    /// Can a page go to any channel, whatever its address?
    fn allocates_dynamically(&self) -> bool {
        false
    }

    /// Do the pages of a group go where their addresses say, whatever its placement (DR-11)?
    fn spreads_groups(&self) -> bool {
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
    fn is_idle(&self, _chip: ChipId) -> bool {
        true
    }

    fn drain_time(&self, _chip: ChipId) -> Nanos {
        Nanos::ZERO
    }

    fn in_gc(&self, _chip: ChipId) -> bool {
        false
    }

    fn any_in_gc(&self) -> bool {
        false
    }

    fn in_service(&self, _chip: ChipId) -> Option<InService> {
        None
    }

    fn equation_1(&self, _chip: ChipId) -> Equation1 {
        Equation1::IDLE
    }

    fn gc_blocks(&self, _chip: ChipId) -> GcBlocks {
        GcBlocks {
            free: u64::MAX,
            threshold: 0,
        }
    }

    fn victim_valid_pages(&self, _chip: ChipId) -> u64 {
        0
    }

    fn costs(&self) -> FlashCosts {
        FlashCosts::default()
    }
}
