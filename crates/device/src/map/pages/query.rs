//! Questions about the state of a mapping.

use super::PhysicalPage;
use super::page_map::{PageMap, place};
use crate::map::groups::GroupUnits;
use crate::map::places::PlaceMap;
use crate::map::precondition::CollectionBefore;
use crate::map::{BlockStates, FlashMap, Wear};
use destage_types::{ChannelId, ChipId, Lpn, PlaneId, Ppn};

impl PageMap {
    /// Pages of the block with wanted data, pages written since its last erase, and its erases.
    pub fn block_counts(&self, plane: PlaneId, block: u32) -> (u32, u32, u32) {
        let block = self.shape.number(plane.0, block);
        let row = self.places.blocks.row(block);
        (row.valid(), row.written(), row.erases())
    }

    /// Free blocks of a plane; its open block does not count.
    pub fn free_blocks(&self, plane: PlaneId) -> u32 {
        self.places.blocks.free_in_group(plane.0)
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
        let block = self.shape.block(u64::from(ppn.0));
        let plane = self.shape.group_of(block);
        place(u64::from(ppn.0), plane, *self.groups.row(plane))
    }

    /// Position of a physical page in its block.
    #[inline]
    pub fn page_of_block(&self, ppn: Ppn) -> u32 {
        self.shape.place_in_block(u64::from(ppn.0))
    }

    /// The queue unit of a plane, and its channel.
    pub fn plane_chip(&self, plane: PlaneId) -> (ChipId, ChannelId) {
        let GroupUnits { chip, channel, .. } = *self.groups.row(plane.0);
        (chip, channel)
    }

    /// Planes of the device.
    pub fn planes(&self) -> u32 {
        self.groups.count()
    }

    /// Pages of the device.
    pub fn pages(&self) -> u64 {
        self.shape.all_places()
    }

    /// Pages of a block.
    pub fn pages_per_block(&self) -> u32 {
        self.shape.places
    }

    /// Pages that can be written without an erase, summary pages included.
    pub fn free_pages(&self) -> u64 {
        self.chip_free.iter().sum()
    }
}

impl FlashMap for PageMap {
    fn places(&self) -> &PlaceMap {
        &self.places
    }

    fn places_mut(&mut self) -> &mut PlaceMap {
        &mut self.places
    }

    fn collection(&self) -> &CollectionBefore {
        &self.gc.before
    }

    fn collection_mut(&mut self) -> &mut CollectionBefore {
        &mut self.gc.before
    }

    #[inline]
    fn chip_free_pages(&self, chip: ChipId) -> u64 {
        self.chip_free[chip.index()]
    }

    fn chip_gc_threshold_pages(&self, _chip: ChipId) -> u64 {
        self.threshold_per_chip
    }

    fn chip_free_blocks(&self, chip: ChipId) -> u64 {
        let units = self.groups.frontiers_of_chip(chip).iter();
        let planes = units.flat_map(|unit| self.frontiers.planes(unit).iter());
        let free = planes.map(|plane| self.places.blocks.free_in_group(plane));
        free.map(u64::from).sum()
    }

    fn chip_gc_threshold_blocks(&self, _chip: ChipId) -> u64 {
        self.threshold_per_chip / u64::from(self.pages_per_block())
    }

    /// Free pages of the frontier that the chip's next program uses (N_fpb of ECR Eq. 4), its
    /// summary page included; a full frontier counts as the block that is opened next.
    ///
    /// With several frontiers per chip: that of the unit with the fewest free pages, the first of
    /// equals, as N_vp is taken from the plane with fewest free pages.
    #[inline]
    fn chip_frontier_free_pages(&self, chip: ChipId) -> u64 {
        self.frontiers.open_free(self.tightest[chip.index()])
    }

    /// Valid pages of the block that greedy GC would pick now (N_vp of ECR Eq. 3), 0 without GC or
    /// without a block that is worth it.
    ///
    /// With several GC units per chip: the victim of the one with the fewest free pages, the first
    /// of equals; a larger GC unit counts for each of its chips.
    fn chip_victim_valid_pages(&self, chip: ChipId) -> u64 {
        if !self.gc.on {
            return 0;
        }
        let units = self.groups.gcs_of_chip(chip).iter();
        let tightest = units.min_by_key(|&unit| self.gc.free[unit as usize]);
        let unit = tightest.expect("a chip has a GC unit at least");
        u64::from(self.fewest_valid(unit))
    }

    /// How often the blocks were erased. A block that was collected for the background counts as
    /// erased from then on, as its pages count as moved.
    fn wear(&self) -> Wear {
        let awaiting = self.gc.awaiting.iter().map(|collected| collected.number);
        self.places.blocks.wear(1, awaiting)
    }

    fn block_states(&self, out: &mut BlockStates) {
        let chip = |plane| self.groups.row(plane).chip;
        let open = self.frontiers.open_blocks();
        self.places.blocks.states(chip, |_| 0, open, out);
    }

    fn memory_bytes(&self) -> u64 {
        let lists = (self.spread.len() + self.tightest.len()) * size_of::<u32>()
            + (self.chip_free.len() + self.gc.free.len()) * size_of::<u64>();
        self.places.bytes() + self.frontiers.bytes() + self.groups.bytes() + lists as u64
    }

    #[inline]
    fn chips_with_free_space(&self, first: ChipId, count: u32) -> u64 {
        self.free_space.of(first, count, self.groups.chips, |chip| {
            (self.chip_free_pages(chip) > self.threshold_per_chip)
                & (self.chip_frontier_free_pages(chip) > 1)
        })
    }

    fn next_page(&self, chip: ChipId) -> Option<u32> {
        let pages = u64::from(self.pages_per_block());
        // Without a free page the next one is the first of a block that is collected by then.
        Some(((pages - self.chip_frontier_free_pages(chip)) % pages) as u32)
    }

    fn spreads_groups(&self) -> bool {
        false
    }
}
