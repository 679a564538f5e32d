//! Questions about the state of a mapping.

use super::PhysicalPage;
use super::page_map::{NONE, PageMap, place};
use super::units::PlaneRow;
use destage_types::{ChannelId, ChipId, Lpn, PlaneAddress, PlaneId, Ppn, StaticLayout};
use std::collections::BTreeMap;

impl PageMap {
    /// Pages of the block with wanted data, pages written since its last erase, and its erases.
    pub fn block_counts(&self, plane: PlaneId, block: u32) -> (u32, u32, u32) {
        let block = self.block_number(plane, block);
        (
            self.blocks.valid(block),
            self.blocks.written(block),
            self.blocks.erases(block),
        )
    }

    /// Free blocks of a plane; its open block does not count.
    pub fn free_blocks(&self, plane: PlaneId) -> u32 {
        self.free_blocks.count(plane.0)
    }

    /// Plane that static allocation gives `lpn`.
    #[inline]
    pub fn static_plane(&self, lpn: Lpn) -> PlaneId {
        // Logical pages have numbers of 32 bits; what lies beyond them is refused by the caller.
        PlaneId(self.spread[self.spread_by.rest(lpn.0 as u32) as usize])
    }

    /// Plane, chip and channel of a physical page.
    #[inline]
    pub fn place_of(&self, ppn: Ppn) -> PhysicalPage {
        let block = self.pages_per_block.quotient(ppn.0);
        let plane = self.blocks_per_plane.quotient(block);
        place(u64::from(ppn.0), plane, *self.units.row(PlaneId(plane)))
    }

    /// Position of a physical page in its block.
    #[inline]
    pub fn page_of_block(&self, ppn: Ppn) -> usize {
        self.pages_per_block.rest(ppn.0) as usize
    }

    /// Reads what writes of the logical pages `numbers` will ask for, so that the processor has it
    /// close: where the pages are, and the state of their blocks. The number means nothing; it
    /// must be used, or the lookups are left out. The contents of `numbers` afterwards mean nothing
    /// either.
    ///
    /// Two short loops: the shorter they are, the more lookups wait for memory at the same time.
    pub fn prefetch(&self, numbers: &mut [u64]) -> u64 {
        for number in &mut *numbers {
            // Numbers beyond the device stand for the last one, and a block that is certainly known
            // for that of "no page": no branches.
            let page = self.l2p.get((*number).min(self.logical - 1));
            *number = if page == NONE { 0 } else { u64::from(page) };
        }
        let block = |page: &u64| self.pages_per_block.quotient(*page as u32);
        let valid = |page| u64::from(self.blocks.valid(block(page)));
        numbers.iter().fold(0, |all, page| all ^ valid(page))
    }

    /// Level by level, where a plane sits.
    pub fn plane_address(&self, plane: PlaneId) -> PlaneAddress {
        self.layout.plane_address(plane)
    }

    /// The queue unit of a plane, and its channel.
    pub fn plane_chip(&self, plane: PlaneId) -> (ChipId, ChannelId) {
        let PlaneRow { chip, channel, .. } = *self.units.row(plane);
        (chip, channel)
    }

    /// Static page allocation of the device.
    pub fn layout(&self) -> &StaticLayout {
        &self.layout
    }

    /// Free pages of a chip (N_fp of ECR Eq. 2).
    #[inline]
    pub fn chip_free_pages(&self, chip: ChipId) -> u64 {
        self.chip_free[chip.index()]
    }

    /// GC threshold of every chip in pages (N_mfp of ECR Eq. 2).
    pub const fn chip_gc_threshold_pages(&self) -> u64 {
        self.threshold_per_chip
    }

    /// Free blocks of a chip, without those that are being filled.
    pub fn chip_free_blocks(&self, chip: ChipId) -> u64 {
        let units = self.units.of_chip(chip).iter();
        let planes = units.flat_map(|&unit| self.frontiers.planes(unit));
        planes
            .map(|&plane| u64::from(self.free_blocks.count(plane)))
            .sum()
    }

    /// GC threshold of every chip in whole blocks.
    pub fn chip_gc_threshold_blocks(&self) -> u64 {
        self.threshold_per_chip / u64::from(self.pages_per_block.get())
    }

    /// Free pages of the frontier that the chip's next program uses (N_fpb of ECR Eq. 4), its
    /// summary page included; a full frontier counts as the block that is opened next.
    ///
    /// With several frontiers per chip: that of the unit with the fewest free pages, the first of
    /// equals, as N_vp is taken from the plane with fewest free pages.
    #[inline]
    pub fn chip_frontier_free_pages(&self, chip: ChipId) -> u64 {
        self.frontiers.open_free(self.tightest[chip.index()])
    }

    /// Valid pages of the block that greedy GC would pick now (N_vp of ECR Eq. 3), 0 without GC or
    /// without a block that is worth it.
    ///
    /// With several GC units per chip: the victim of the one with the fewest free pages, the first
    /// of equals; a larger GC unit counts for each of its chips.
    pub fn chip_victim_valid_pages(&self, chip: ChipId) -> u64 {
        if !self.gc.on {
            return 0;
        }
        let units = self.units.gc_of_chip(chip).iter();
        let tightest = units.min_by_key(|&&unit| self.gc.free[unit as usize]);
        let unit = *tightest.expect("a chip has a GC unit at least");
        u64::from(self.fewest_valid(unit))
    }

    /// Planes of the device.
    pub fn planes(&self) -> u32 {
        self.units.planes()
    }

    /// Pages of the device.
    pub const fn pages(&self) -> u64 {
        self.pages
    }

    /// Pages of a block.
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block.get()
    }

    /// Pages the host can address.
    pub const fn logical_pages(&self) -> u64 {
        self.logical
    }

    /// Pages with wanted data, that is mapped logical pages.
    pub const fn valid_pages(&self) -> u64 {
        self.valid
    }

    /// Pages that can be written without an erase, summary pages included.
    pub const fn free_pages(&self) -> u64 {
        self.free
    }

    /// How often the blocks were erased. A block that was collected for the background counts as
    /// erased from then on, as its pages count as moved.
    pub fn wear(&self) -> Wear {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        // Most blocks of a large device are as worn as the one before: one entry per run of them.
        let (mut erases, mut run) = (0, 0);
        for block in 0..self.units.planes() * self.blocks_per_plane.get() {
            let of_block = self.blocks.erases(block);
            if of_block != erases {
                *counts.entry(erases).or_insert(0) += run;
                (erases, run) = (of_block, 0);
            }
            run += 1;
        }
        *counts.entry(erases).or_insert(0) += run;
        for collected in &self.gc.awaiting {
            let erases = self.blocks.erases(collected.number);
            *counts.entry(erases).or_insert(0) -= 1;
            *counts.entry(erases + 1).or_insert(0) += 1;
        }
        Wear {
            blocks_by_erases: counts.into_iter().filter(|row| row.1 > 0).collect(),
        }
    }

    /// Bytes of memory taken so far.
    pub fn memory_bytes(&self) -> u64 {
        let lists = (self.spread.len() + self.tightest.len()) * size_of::<u32>()
            + (self.chip_free.len() + self.gc.free.len()) * size_of::<u64>();
        let tables = self.l2p.bytes() + self.p2l.bytes() + self.blocks.bytes();
        let gc = self.buckets.bytes()
            + self.free_blocks.bytes()
            + self.stamps.as_ref().map_or(0, |s| s.bytes())
            + self.coldest.as_ref().map_or(0, |c| c.bytes());
        tables + gc + self.frontiers.bytes() + self.units.bytes() + lists as u64
    }
}

/// How worn the blocks of a device are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wear {
    /// (erases, blocks erased so often), ascending.
    pub blocks_by_erases: Vec<(u32, u64)>,
}
