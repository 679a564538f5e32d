//! Which blocks of a drive are collected, and what of them is wanted (D-6, D-11).

use super::UnitMap;
use super::UnitStream;
use crate::ftl::block_table::NONE as NO_BLOCK;
use crate::ftl::victim::Candidates;
use destage_types::Lpn;

impl UnitMap {
    /// Frontiers that write to a die, each once.
    fn frontiers_of_die(&self, die: u32) -> impl Iterator<Item = u32> + '_ {
        let (dies, all) = (self.shape.dies as usize, self.frontier_of.len());
        let planes = move || (die as usize..all).step_by(dies);
        planes().enumerate().filter_map(move |(i, group)| {
            let frontier = self.frontier_of[group];
            let known = planes().take(i).any(|g| self.frontier_of[g] == frontier);
            (!known).then_some(frontier)
        })
    }

    /// GC units that collect on a die, each once.
    pub fn gcs_of_die(&self, die: u32) -> impl Iterator<Item = u32> + '_ {
        let gcs = move || self.frontiers_of_die(die).map(|f| self.gc_of(f));
        let known = move |i: usize, gc| gcs().take(i).any(|other| other == gc);
        let all = gcs().enumerate().filter(move |&(i, gc)| !known(i, gc));
        all.map(|(_, gc)| gc)
    }

    /// Free blocks that the host leaves to the collector.
    pub const fn gc_low(&self) -> u64 {
        self.gc_low
    }

    /// Places left in the open blocks of the host on a die.
    pub fn open_places(&self, die: u32) -> u64 {
        let left = self.frontiers_of_die(die).map(|frontier| {
            let open = &self.open_units[frontier as usize];
            let open_block = &self.open_blocks[self.open_block_of(UnitStream::Host, frontier)];
            let of_unit = match open.open {
                true => open.next.next_multiple_of(self.shape.unit()) - open.next,
                false => 0,
            };
            match open_block.block {
                NO_BLOCK => of_unit,
                _ => of_unit + self.shape.part_places() - open_block.opened[self.part_of(frontier)],
            }
        });
        left.map(u64::from).sum()
    }

    /// Fewest valid places of a block that a GC unit may collect.
    pub fn fewest_valid(&self, gc: u32) -> Option<u64> {
        self.buckets.lowest(gc).map(u64::from)
    }

    /// Free blocks of a GC unit, with those collected whole that wait for programs or erase: B of D-11.
    pub fn free_blocks(&self, gc: u32) -> u64 {
        self.free.of_gc(gc) + self.awaiting[gc as usize]
    }

    /// Places of a block with wanted data.
    pub fn valid_in(&self, block: u32) -> u32 {
        self.blocks.valid(block)
    }

    /// Is a victim drawn at random, so that each question for it may have another answer?
    pub fn draws_victims(&self) -> bool {
        self.chooser.draws()
    }

    /// The block that a GC unit collects next, if any gains a place.
    pub fn victim(&mut self, gc: u32) -> Option<u32> {
        let candidates = Candidates {
            blocks: &self.blocks,
            buckets: &self.buckets,
            stamps: None,
            programmed: 0,
            cells: &[gc],
            planes: &self.gc_groups[gc as usize],
            blocks_per_plane: self.shape.blocks,
            data: self.shape.places,
        };
        self.chooser.choose(&candidates)
    }

    /// Collecting a block begins: it is no candidate any more.
    pub fn begin_collection(&mut self, block: u32) {
        let gc = self.gc_of_block(block);
        let valid = self.blocks.valid(block);
        self.buckets.remove(gc, block, valid, &mut self.blocks);
    }

    /// Collecting a block ends before all its data were moved: it is a candidate again.
    pub fn give_up_collection(&mut self, block: u32) {
        let (gc, valid) = (self.gc_of_block(block), self.blocks.valid(block));
        self.buckets.insert(gc, block, valid, &mut self.blocks);
    }

    /// The next read of a block that has wanted data, from number `turn` on; as many as a block has if there is none.
    pub fn next_read(&self, block: u32, turn: u32) -> u32 {
        let wanted = |&turn: &u32| self.wanted_places(block, turn).next().is_some();
        let mut turns = turn..self.shape.reads();
        turns.find(wanted).unwrap_or(self.shape.reads())
    }

    /// The wanted places of a read of a block.
    pub fn wanted_places(&self, block: u32, turn: u32) -> impl Iterator<Item = u64> + '_ {
        let first = self.shape.first(block) + u64::from(self.shape.read_at(turn));
        let places = first..first + u64::from(self.shape.read_places());
        places.filter(|&place| self.unit_at(place).is_some())
    }

    /// Leaves the mapping units in `out` whose data in a block are wanted, in the order of their places.
    pub(in crate::drive) fn wanted_units(&self, block: u32, out: &mut Vec<Lpn>) {
        let (first, places) = (self.shape.first(block), self.shape.places);
        out.clear();
        out.resize(places as usize, Lpn(0));
        let mut count = 0;
        // Kept or not without a branch, which would be guessed wrong: then many lookups wait for memory together.
        for place in first..first + u64::from(places) {
            let lpn = u64::from(self.to_unit.get(place)).min(self.logical - 1);
            out[count] = Lpn(lpn);
            count += usize::from(u64::from(self.to_place.get(lpn)) == place);
        }
        out.truncate(count);
    }

    /// All places of a block were moved or have lost their data: it waits for programs and its erase.
    pub fn collected(&mut self, block: u32) {
        let gc = self.gc_of_block(block);
        self.awaiting[gc as usize] += 1;
    }

    /// The erase of a collected block has ended.
    pub fn erased(&mut self, block: u32) {
        let group = self.shape.group_of(block);
        self.awaiting[self.gc_of[group as usize] as usize] -= 1;
        let erases = self.blocks.erase(block);
        *self.programmed.at(u64::from(block)) = 0;
        self.free.give(group, block, erases, &mut self.blocks);
    }
}
