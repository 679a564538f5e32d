//! Which blocks of a drive are collected, and what of them is wanted (D-6, D-11).

use super::{CollectPace, ToMove, UnitMap};
use destage_types::ChipId;

impl UnitMap {
    /// Dies of a GC unit.
    pub fn dies_of_gc(&self, gc: u32) -> impl Iterator<Item = ChipId> + use<> {
        self.groups.chips_of_gc(gc).iter().map(ChipId)
    }

    /// Marks and limits of paced collection.
    pub const fn pace(&self) -> CollectPace {
        self.pace
    }

    /// Free blocks that the host leaves to the collector.
    pub const fn gc_low(&self) -> u64 {
        self.gc_low
    }

    /// Free blocks of a GC unit, with those collected whole that wait for programs or erase: B of D-11.
    pub fn free_blocks(&self, gc: u32) -> u64 {
        self.places.blocks.free_in_gc(gc) + self.awaiting[gc as usize]
    }

    /// Places of a block with wanted data.
    pub fn valid_in(&self, block: u32) -> u32 {
        self.places.blocks.row(block).valid()
    }

    /// Is a victim drawn at random, so that each question for it may have another answer?
    pub fn draws_victims(&self) -> bool {
        self.places.blocks.draws_victims()
    }

    /// The block that a GC unit collects next, if any gains a place.
    pub fn victim(&mut self, gc: u32) -> Option<u32> {
        let (groups, cells) = (self.groups_of_gc(gc), self.collected_cells(gc));
        self.places.blocks.victim((groups, cells))
    }

    /// Collecting a block begins: it is no candidate any more.
    pub fn begin_collection(&mut self, block: u32) {
        let valid = u64::from(self.valid_in(block));
        self.count_of_block(block, |counts| counts.valid_at_erase += valid);
        self.places.blocks.begin_collection(block);
        self.slc_leaves(block, true);
    }

    /// Collecting a block ends before all its data were moved: it is a candidate again.
    pub fn give_up_collection(&mut self, block: u32) {
        self.places.blocks.filled(block);
        self.slc_leaves(block, false);
    }

    /// The next read of a block that has wanted data, from number `turn` on; as many as a block has if there is none.
    pub fn next_read(&self, block: u32, turn: u32) -> u32 {
        let wanted = |&turn: &u32| self.wanted_places(block, turn).next().is_some();
        let reads = self.reads_of(block);
        let mut turns = turn..reads;
        turns.find(wanted).unwrap_or(reads)
    }

    /// The wanted places of a read of a block.
    pub fn wanted_places(&self, block: u32, turn: u32) -> impl Iterator<Item = u64> + '_ {
        let first = self.shape.first(block) + u64::from(self.shape.read_at(turn));
        let places = first..first + u64::from(self.shape.read_places());
        places.filter(|&place| self.unit_at(place).is_some())
    }

    /// What is still to be read of a GC unit's victim under way, a block whose next read is given, or else of the next
    /// victim. So many of its wanted places have been read and not been handed on.
    pub fn to_move(
        &mut self,
        gc: u32,
        under_way: Option<(u32, u32)>,
        moving: impl FnOnce(&UnitMap) -> u32,
    ) -> Option<ToMove> {
        let goes_on = |&(block, read): &(u32, u32)| read < self.reads_of(block);
        let (block, read, moving) = match under_way.filter(goes_on) {
            Some((block, read)) => (block, read, moving(self)),
            None => (self.victim(gc)?, 0, 0),
        };
        Some(ToMove {
            valid: (self.valid_in(block) - moving).into(),
            // An SLC block is as much room as a native one.
            places: ((self.reads_of(block) - read)
                * self.shape.read_places()
                * self.divisor_of(block))
            .into(),
        })
    }

    /// All places of a block were moved or have lost their data: it waits for programs and its erase.
    pub fn collected(&mut self, block: u32) {
        if !self.is_static(block) {
            let gc = self.gc_of_block(block);
            self.awaiting[gc as usize] += 1;
        }
    }

    /// The erase of a collected block has ended.
    pub fn erased(&mut self, block: u32) {
        if !self.is_static(block) {
            let gc = self.gc_of_block(block);
            self.awaiting[gc as usize] -= 1;
        }
        *self.programmed.at(u64::from(block)) = 0;
        self.count_of_block(block, |counts| counts.units_erased += 1);
        self.erased_in_mode(block);
    }
}
