//! The device as schemes see it.

use super::Engine;
use destage_device::nand::Class;
use destage_scheme::{DeviceView, Equation1, FlashCosts, GcBlocks, InService};
use destage_types::{ChipId, Nanos};

impl DeviceView for Engine {
    fn is_idle(&self, chip: ChipId) -> bool {
        self.core.nand.is_chip_idle(chip) && !self.in_gc(chip)
    }

    fn drain_time(&self, chip: ChipId) -> Nanos {
        self.core.nand.drain_time(chip, Class::Gc)
    }

    fn in_service(&self, chip: ChipId) -> Option<InService> {
        self.core.host_service(chip)
    }

    fn equation_1(&self, chip: ChipId) -> Equation1 {
        let map = &self.map;
        Equation1 {
            reads: u64::from(self.core.nand.host_reads(chip)),
            writes: u64::from(self.core.nand.host_writes(chip)),
            free_pages: map.chip_free_pages(chip),
            gc_threshold_pages: map.chip_gc_threshold_pages(),
            frontier_free_pages: map.chip_frontier_free_pages(chip),
            gc_remaining: self.core.nand.gc_remaining(chip),
        }
    }

    fn gc_blocks(&self, chip: ChipId) -> GcBlocks {
        GcBlocks {
            free: self.map.chip_free_blocks(chip),
            threshold: self.map.chip_gc_threshold_blocks(),
        }
    }

    fn victim_valid_pages(&self, chip: ChipId) -> u64 {
        self.map.chip_victim_valid_pages(chip)
    }

    fn equation_1_is_zero(&self, first: ChipId, count: u32) -> u64 {
        let free = self.map.chips_with_free_space(first, count);
        let idle = free & !self.core.nand.with_host_work(first, count);
        if !self.any_in_gc() {
            return idle;
        }
        let collects = |i: &u32| self.in_gc(ChipId(first.0 + i));
        (0..count)
            .filter(collects)
            .fold(idle, |bits, i| bits & !(1 << i))
    }

    fn in_gc(&self, chip: ChipId) -> bool {
        self.core.nand.in_gc(chip)
    }

    fn any_in_gc(&self) -> bool {
        self.core.nand.any_in_gc()
    }

    fn costs(&self) -> FlashCosts {
        self.core.costs
    }

    fn next_program(&self, chip: ChipId) -> Nanos {
        let Some(times) = &self.page_times else {
            return self.core.costs.program;
        };
        let pages = u64::from(self.map.pages_per_block());
        // Without a free page the next one is the first of a block that is collected by then.
        let page = (pages - self.map.chip_frontier_free_pages(chip)) % pages;
        times[page as usize % times.len()]
    }

    fn allocates_dynamically(&self) -> bool {
        self.core.dynamic
    }
}
