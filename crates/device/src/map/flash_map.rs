//! The questions that a mapping answers, of pages as of units.

use super::places::PlaceMap;
use super::precondition::CollectionBefore;
use super::{BlockStates, HandleCounts, UnitShape, Wear};
use destage_types::ChipId;

/// Where the data of a device are. A chip is a unit with a queue of its own. Equations 2 to 4 of ECR count places
/// (DR-10).
pub trait FlashMap {
    /// Both directions of the mapping.
    fn places(&self) -> &PlaceMap;

    /// The same, to be changed.
    fn places_mut(&mut self) -> &mut PlaceMap;

    /// What collection has done so far, before the run.
    fn collection(&self) -> &CollectionBefore;

    /// The same, to be changed.
    fn collection_mut(&mut self) -> &mut CollectionBefore;

    /// How often the blocks were erased.
    fn wear(&self) -> Wear;

    /// Blocks in SLC mode that are not free, if there is an SLC cache.
    fn slc_blocks_in_use(&self) -> Option<u64> {
        None
    }

    /// What was counted of each handle since the last reset, and of blocks that belong to none; empty with one handle.
    fn handle_counts(&self) -> &[HandleCounts] {
        &[]
    }

    /// Counts of handles begin from zero.
    fn reset_handle_counts(&mut self) {}

    /// Writes how full all blocks are to `out`.
    fn block_states(&self, out: &mut BlockStates);

    /// Free places of a chip (N_fp of ECR Eq. 2).
    fn chip_free_pages(&self, chip: ChipId) -> u64;

    /// GC threshold of a chip in places (N_mfp of ECR Eq. 2).
    fn chip_gc_threshold_pages(&self, chip: ChipId) -> u64;

    /// Free places of the frontier that the next program of a chip uses (N_fpb of ECR Eq. 4).
    fn chip_frontier_free_pages(&self, chip: ChipId) -> u64;

    /// Free blocks of a chip, without those that are being filled.
    fn chip_free_blocks(&self, chip: ChipId) -> u64;

    /// GC threshold of a chip in whole blocks.
    fn chip_gc_threshold_blocks(&self, chip: ChipId) -> u64;

    /// Valid places of the block of a chip that greedy GC would pick now (N_vp of ECR Eq. 3), 0 without one.
    fn chip_victim_valid_pages(&self, chip: ChipId) -> u64;

    /// Which of `count` chips from `first` on, at most 64, have more free places than the GC threshold and more than one
    /// in [`FlashMap::chip_frontier_free_pages`]: the chip after `first` is bit 1.
    fn chips_with_free_space(&self, first: ChipId, count: u32) -> u64 {
        let has_space = |chip| {
            self.chip_free_pages(chip) > self.chip_gc_threshold_pages(chip)
                && self.chip_frontier_free_pages(chip) > 1
        };
        let chips = (0..count).filter(|i| has_space(ChipId(first.0 + i)));
        chips.fold(0, |bits, i| bits | 1 << i)
    }

    /// The page of its block that the next program of a chip takes, if that is known.
    fn next_page(&self, _chip: ChipId) -> Option<u32> {
        None
    }

    /// Do the pages of a group go where their addresses say (DR-11)?
    fn spreads_groups(&self) -> bool;

    /// How places, units and blocks lie in each other.
    #[inline]
    fn shape(&self) -> &UnitShape {
        &self.places().blocks.shape
    }

    /// Logical pages that the host can address.
    #[inline]
    fn logical_pages(&self) -> u64 {
        self.places().logical()
    }

    /// Reads what is known of the logical pages `numbers`. The number means nothing; it must be used.
    fn prefetch(&self, numbers: &mut [u64]) -> u64 {
        self.places().prefetch(numbers)
    }

    /// Makes copies cheap: they share what they do not change.
    fn freeze(&mut self) {
        self.places_mut().freeze();
    }

    /// Takes back what copies shared, if there are none any more.
    fn thaw(&mut self) {
        self.places_mut().thaw();
    }

    /// Bytes of memory taken so far.
    fn memory_bytes(&self) -> u64;
}
