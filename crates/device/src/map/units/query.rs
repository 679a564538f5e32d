//! Questions about the state of a mapping.

use super::{NO_BLOCK, UnitMap};
use crate::map::places::PlaceMap;
use crate::map::precondition::CollectionBefore;
use crate::map::{BlockStates, FlashMap, HandleCounts, Wear};
use destage_types::ChipId;

/// A chip is a die.
impl FlashMap for UnitMap {
    fn places(&self) -> &PlaceMap {
        &self.places
    }

    fn places_mut(&mut self) -> &mut PlaceMap {
        &mut self.places
    }

    fn collection(&self) -> &CollectionBefore {
        &self.before
    }

    fn collection_mut(&mut self) -> &mut CollectionBefore {
        &mut self.before
    }

    fn wear(&self) -> Wear {
        let weight = self.shape.planes * self.shape.parts;
        let wear = self.places.blocks.wear(weight, std::iter::empty());
        Wear {
            blocks_by_modes: self.wear_by_modes(weight),
            ..wear
        }
    }

    fn slc_blocks_in_use(&self) -> Option<u64> {
        self.slc_in_use()
    }

    fn handle_counts(&self) -> &[HandleCounts] {
        let handles = self.handles.as_ref();
        handles.map_or(&[], |handles| &handles.counts)
    }

    fn reset_handle_counts(&mut self) {
        if let Some(handles) = &mut self.handles {
            handles.counts.fill(HandleCounts::default());
        }
    }

    /// In mapping units. A unit counts as written when it is handed over.
    fn block_states(&self, out: &mut BlockStates) {
        let filled = self.open_blocks.iter().map(|at| at.block);
        // The last unit of a block may still be open.
        let units = self.open_units.iter().filter(|unit| unit.open);
        let open = filled.chain(units.map(|unit| unit.block));
        let open = open.filter(|&block| block != NO_BLOCK);
        let die = |group| group % self.shape.dies;
        let lacks = |block| match self.is_slc(block) {
            true => self.shape.places - self.places_of_block(block),
            false => 0,
        };
        self.places.blocks.states(die, lacks, open, out);
    }

    fn chip_free_pages(&self, chip: ChipId) -> u64 {
        self.chip_free_blocks(chip) * u64::from(self.shape.places)
    }

    fn chip_gc_threshold_pages(&self, chip: ChipId) -> u64 {
        self.chip_gc_threshold_blocks(chip) * u64::from(self.shape.places)
    }

    /// Places left in the open blocks of the host.
    fn chip_frontier_free_pages(&self, chip: ChipId) -> u64 {
        let frontiers = self.groups.frontiers_of_chip(chip).iter();
        let hosts = |frontier| self.writers.hosts().map(move |stream| (stream, frontier));
        let left = frontiers.flat_map(hosts).map(|(stream, frontier)| {
            let open = &self.open_units[self.open_unit_of(stream, frontier)];
            let open_block = &self.open_blocks[self.open_block_of(stream, frontier)];
            let of_unit = match open.open {
                true => open.next.next_multiple_of(self.unit_of_block(open.block)) - open.next,
                false => 0,
            };
            match open_block.block {
                NO_BLOCK => of_unit,
                block => {
                    let opened = open_block.opened[self.part_of(frontier)];
                    of_unit + self.part_places_of(block) - opened
                }
            }
        });
        left.map(u64::from).sum()
    }

    fn chip_free_blocks(&self, chip: ChipId) -> u64 {
        let gcs = self.groups.gcs_of_chip(chip).iter();
        gcs.map(|gc| self.free_blocks(gc)).sum()
    }

    fn chip_gc_threshold_blocks(&self, chip: ChipId) -> u64 {
        u64::from(self.groups.gcs_of_chip(chip).count()) * self.gc_low
    }

    fn chip_victim_valid_pages(&self, chip: ChipId) -> u64 {
        let gcs = self.groups.gcs_of_chip(chip).iter();
        let fewest = gcs.filter_map(|gc| self.places.blocks.fewest_valid(self.collected_cells(gc)));
        fewest.min().unwrap_or(0).into()
    }

    fn spreads_groups(&self) -> bool {
        true
    }

    fn memory_bytes(&self) -> u64 {
        let slc = self.slc.as_ref().map_or(0, |slc| slc.bytes());
        let handles = self.handles.as_ref().map_or(0, |handles| handles.bytes());
        self.places.bytes() + self.programmed.bytes() + self.under_way.bytes() + slc + handles
    }
}
