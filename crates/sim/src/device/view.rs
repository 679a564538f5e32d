//! The device as schemes see it.

use super::DeviceCore;
use destage_device::map::FlashMap;
use destage_device::nand::{Class, OpKind};
use destage_scheme::{DeviceView, Equation1, FlashCosts, GcBlocks, InService};
use destage_types::{ChipId, Nanos, Op};

/// Equations 1 to 4 of ECR count mapping units where they speak of pages (DR-10).
impl<M: FlashMap + ?Sized> DeviceView for DeviceCore<M> {
    fn is_idle(&self, chip: ChipId) -> bool {
        self.nand.is_chip_idle(chip)
    }

    fn drain_time(&self, chip: ChipId) -> Nanos {
        self.nand.drain_time(chip, Class::Gc)
    }

    fn in_gc(&self, chip: ChipId) -> bool {
        self.nand.in_gc(chip)
    }

    fn any_in_gc(&self) -> bool {
        self.nand.any_in_gc()
    }

    fn in_service(&self, chip: ChipId) -> Option<InService> {
        let (kind, class) = self.nand.in_service(chip)?;
        (class == Class::Host).then(|| InService {
            op: if kind == OpKind::Read {
                Op::Read
            } else {
                Op::Write
            },
            residual: self.nand.residual(chip),
        })
    }

    fn equation_1(&self, chip: ChipId) -> Equation1 {
        Equation1 {
            reads: u64::from(self.nand.host_reads(chip)),
            writes: u64::from(self.nand.host_writes(chip)),
            free_pages: self.map.chip_free_pages(chip),
            gc_threshold_pages: self.map.chip_gc_threshold_pages(chip),
            frontier_free_pages: self.map.chip_frontier_free_pages(chip),
            gc_remaining: self.nand.gc_remaining(chip),
        }
    }

    fn gc_blocks(&self, chip: ChipId) -> GcBlocks {
        GcBlocks {
            free: self.map.chip_free_blocks(chip),
            threshold: self.map.chip_gc_threshold_blocks(chip),
        }
    }

    fn equation_1_is_zero(&self, first: ChipId, count: u32) -> u64 {
        let free = self.map.chips_with_free_space(first, count);
        let idle = free & !self.nand.with_host_work(first, count);
        if !self.any_in_gc() {
            return idle;
        }
        let collects = |i: &u32| self.in_gc(ChipId(first.0 + i));
        (0..count)
            .filter(collects)
            .fold(idle, |bits, i| bits & !(1 << i))
    }

    fn victim_valid_pages(&self, chip: ChipId) -> u64 {
        self.map.chip_victim_valid_pages(chip)
    }

    fn costs(&self) -> FlashCosts {
        self.costs.flash
    }

    fn allocates_dynamically(&self) -> bool {
        self.dynamic
    }

    fn spreads_groups(&self) -> bool {
        self.map.spreads_groups()
    }

    fn next_program(&self, chip: ChipId) -> Nanos {
        let page = self.map.next_page(chip);
        let time = page.and_then(|page| self.costs.program_time(page));
        time.unwrap_or(self.costs.flash.program)
    }
}
