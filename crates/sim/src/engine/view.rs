//! The device as schemes see it.

use super::Engine;
use destage_device::nand::{Class, Kind};
use destage_scheme::{ChipLoad, ChipQueue, DeviceView, FlashCosts};
use destage_types::{ChipId, Nanos};

impl Engine {
    /// What is left of the GC jobs of a chip, if it has any.
    fn gc_remaining(&self, chip: ChipId) -> Option<Nanos> {
        let rest = |class| self.nand.gc_remaining(chip, class);
        self.in_gc(chip)
            .then(|| rest(Class::Gc) + rest(Class::BackgroundGc))
    }
}

impl DeviceView for Engine {
    fn load(&self, chip: ChipId) -> ChipLoad {
        // Only host operations are in N_r and N_w, so only they can count with their residual time.
        let in_service = self.nand.in_service(chip);
        let in_service = in_service.filter(|&(_, class)| class == Class::Host);
        ChipLoad {
            queue: self.queue(chip),
            residual: in_service.map(|_| self.nand.residual(chip)),
            in_service_read: in_service.is_some_and(|(kind, _)| kind == Kind::Read),
            drain: self.nand.drain_time(chip, Class::Gc),
        }
    }

    fn queue(&self, chip: ChipId) -> ChipQueue {
        let map = &self.book.map;
        ChipQueue {
            reads: u64::from(self.nand.host_reads(chip)),
            writes: u64::from(self.nand.host_writes(chip)),
            free_pages: map.chip_free_pages(chip),
            gc_threshold_pages: map.chip_gc_threshold_pages(),
            frontier_free_pages: map.chip_frontier_free_pages(chip),
            gc_remaining: self.gc_remaining(chip),
        }
    }

    fn victim_valid_pages(&self, chip: ChipId) -> u64 {
        self.book.map.chip_victim_valid_pages(chip)
    }

    fn idle(&self, first: ChipId, count: u32) -> u64 {
        let room = self.book.map.chips_with_room(first, count);
        let idle = room & !self.nand.with_host_work(first, count);
        if !self.any_in_gc() {
            return idle;
        }
        let collects = |i: &u32| self.in_gc(ChipId(first.0 + i));
        (0..count)
            .filter(collects)
            .fold(idle, |bits, i| bits & !(1 << i))
    }

    fn in_gc(&self, chip: ChipId) -> bool {
        self.nand.in_gc(chip, Class::Gc) || self.nand.in_gc(chip, Class::BackgroundGc)
    }

    fn any_in_gc(&self) -> bool {
        self.nand.any_in_gc(Class::Gc) || self.nand.any_in_gc(Class::BackgroundGc)
    }

    fn costs(&self) -> FlashCosts {
        self.costs
    }

    fn allocates_dynamically(&self) -> bool {
        self.dynamic
    }
}
