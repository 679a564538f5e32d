//! Blocks without their data: how full and how worn each is, which of them are free, and which is collected next.
//!
//! A block is free, open, full, or being collected. Full blocks are in the lists of their *cell*, by the number of their
//! valid places. So greedy finds its victim without a search, and blocks of equal count are in the order in which they
//! came to it. With `gc_policy = cost-benefit` each has a stamp: the places programmed when it came to its count.

mod free;
mod lists;
mod states;
mod table;
mod victim;
mod wear;

pub use states::{BlockCounts, BlockStates};
pub(super) use table::NONE as NO_BLOCK;
pub use wear::Wear;

use super::divisor::Divisor;
use super::first_touch::FirstTouch;
use super::groups::UnitMembers;
use super::shape::UnitShape;
use crate::config::{DeviceConfig, GcPolicy, WearLevelling};
use free::FreeBlocks;
use lists::{Buckets, ByClosing};
use table::{BlockRow, BlockTable};
use victim::{Candidates, VictimChooser};
use wear::Coldest;

/// Which blocks there are, and how they are used.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockRules {
    pub shape: UnitShape,
    /// GC units: group `g` is in number `g % gcs`.
    pub gcs: u32,
    /// Places of a block that take data.
    pub data: u32,
    pub policy: GcPolicy,
    pub choices: u32,
    pub seed: u64,
    /// Is the free block with the fewest erases used next?
    pub levels_wear: bool,
    /// With so many erases less than the most worn block of its group a full block is moved ([`FlashBlocks::cold_block`]).
    pub wear_threshold: Option<u32>,
    /// Are full blocks collected?
    pub collects: bool,
    /// The last blocks of each group that are never native, if some blocks are in SLC mode ([`super::units::slc`]).
    pub slc_blocks: Option<u32>,
}

impl BlockRules {
    /// The blocks of a device, whose places take data but for `summaries`. Blocks are collected if it `collects`, and
    /// random policies draw from `seed`.
    pub fn new(config: &DeviceConfig, summaries: u32, collects: bool, seed: u64) -> BlockRules {
        let shape = config.shape();
        let levelling = config.wear_levelling;
        BlockRules {
            gcs: shape.count_of(config.gc_unit),
            shape,
            data: shape.places - summaries,
            policy: config.gc_policy,
            choices: config.gc_choices,
            seed,
            levels_wear: levelling != WearLevelling::Off,
            wear_threshold: (levelling == WearLevelling::Static).then_some(config.wear_threshold),
            collects,
            slc_blocks: config.has_slc().then(|| config.slc_blocks_of_group()),
        }
    }
}

/// The lists in which a full block is.
#[derive(Clone, Debug)]
pub(super) enum BlockCells {
    /// Group `g` is in cell `g` modulo their number.
    OfGroups(Divisor),
    /// Of each block, as it was set last, and their number.
    OfBlocks(Vec<u32>, u32),
}

/// All blocks of a device. See the module.
#[derive(Clone, Debug)]
pub(super) struct FlashBlocks {
    table: BlockTable,
    free: FreeBlocks,
    lists: Buckets,
    cells: BlockCells,
    chooser: VictimChooser,
    stamps: Option<FirstTouch<u64, 256>>,
    /// With blocks in SLC mode the one that was closed first wins of equals (S-1.7).
    closed: ByClosing,
    closings: u64,
    coldest: Option<Coldest>,
    collects: bool,
    pub shape: UnitShape,
    data: u32,
    /// Places programmed with data so far.
    programmed: u64,
}

impl FlashBlocks {
    /// All blocks free.
    pub fn new(rules: BlockRules, cells: BlockCells) -> FlashBlocks {
        let shape = rules.shape;
        let (groups, per_group, all) = (shape.groups, shape.blocks, shape.all_blocks().into());
        let narrow = u16::try_from(shape.places).expect("a valid block has at most 65535 places");
        let cell_count = match &cells {
            BlockCells::OfGroups(count) => count.get(),
            BlockCells::OfBlocks(_, count) => *count,
        };
        let uses_age = rules.collects && rules.policy == GcPolicy::CostBenefit;
        let coldest = |threshold| Coldest::new(groups, per_group, threshold);
        FlashBlocks {
            table: BlockTable::new(all, narrow),
            free: FreeBlocks::new(
                (groups, rules.gcs),
                (per_group, rules.slc_blocks.unwrap_or(0)),
                rules.levels_wear,
            ),
            lists: Buckets::new(cell_count, shape.places),
            cells,
            chooser: VictimChooser::new(rules.policy, rules.seed, rules.choices),
            stamps: uses_age.then(|| FirstTouch::new(all, 0)),
            closed: rules.slc_blocks.map(|_| FirstTouch::new(all, 0)),
            closings: 0,
            coldest: rules.wear_threshold.map(coldest),
            collects: rules.collects,
            shape,
            data: rules.data,
            programmed: 0,
        }
    }

    /// Cell of a block.
    pub fn cell_of(&self, block: u32) -> u32 {
        match &self.cells {
            BlockCells::OfGroups(count) => count.rest(self.shape.group_of(block)),
            BlockCells::OfBlocks(of, _) => of[block as usize],
        }
    }

    /// Takes a free block of a group.
    pub fn take(&mut self, group: u32) -> Option<u32> {
        self.free.take(group, &mut self.table)
    }

    /// Of `groups`, going round from their `turn`-th on, the first with a free block, as a position in them.
    pub fn next_turn(&self, groups: UnitMembers, turn: u32) -> Option<u32> {
        let count = groups.count();
        let mut turns = (turn..turn + count).map(|turn| turn % count);
        turns.find(|&turn| self.free.count(groups.at(turn)) > 0)
    }

    /// So many places of a block were written with data, and others with none. Says whether it is full now.
    #[inline(always)]
    pub fn wrote(&mut self, block: u32, data: u32, others: u32) -> bool {
        self.programmed += u64::from(data);
        self.table.wrote(block, data, others)
    }

    /// The last unit of a block is queued.
    pub fn note_closed(&mut self, block: u32) {
        if let Some(closed) = &mut self.closed {
            self.closings += 1;
            *closed.at(block.into()) = self.closings;
        }
    }

    /// Of the full blocks of these cells that with the fewest valid places, of equals the one that was closed first.
    pub fn fewest_closed_first(&self, cells: UnitMembers) -> Option<u32> {
        let closed = self.closed.as_ref()?;
        let first = |cell| {
            let valid = self.lists.lowest(cell)?;
            let block = self.lists.first(cell, valid)?;
            Some((valid, closed.get(block.into()), block))
        };
        let first = cells.iter().filter_map(first).min()?;
        Some(first.2)
    }

    /// The next free block of its group was written whole, with its last data as those of page `last` of a fill.
    pub fn fill(&mut self, block: u32, last: u32) {
        let taken = self.take(self.shape.group_of(block));
        debug_assert_eq!(
            taken,
            Some(block),
            "new blocks are taken in ascending order"
        );
        let others = self.shape.places - self.data;
        self.wrote(block, self.data, others);
        self.programmed = u64::from(last) + 1;
        if let Some(closed) = &mut self.closed {
            *closed.at(block.into()) = self.programmed;
            self.closings = self.closings.max(self.programmed);
        }
        self.filled(block);
    }

    /// A block that is full may be collected from now on.
    #[cold]
    pub fn filled(&mut self, block: u32) {
        if !self.collects {
            return;
        }
        let (cell, row) = (self.cell_of(block), self.row(block));
        let tables = (&mut self.table, &self.closed);
        self.lists.insert(cell, block, row.valid(), tables);
        self.stamp(block);
        if let Some(coldest) = &mut self.coldest {
            coldest.filled(block, row.erases());
        }
    }

    /// The data in a place of a block are not wanted any more.
    #[inline(always)]
    pub fn invalidated(&mut self, block: u32) {
        let row = self.table.invalidated(block);
        if row.is_listed() {
            let valid = row.valid() + 1;
            let cell = self.cell_of(block);
            let tables = (&mut self.table, &self.closed);
            self.lists.lower(cell, block, valid, tables);
            self.stamp(block);
        }
    }

    #[inline]
    fn stamp(&mut self, block: u32) {
        if let Some(stamps) = &mut self.stamps {
            *stamps.at(u64::from(block)) = self.programmed;
        }
    }

    /// Collecting a full block begins: it is no candidate any more.
    pub fn begin_collection(&mut self, block: u32) {
        let (cell, valid) = (self.cell_of(block), self.row(block).valid());
        self.lists.remove(cell, block, valid, &mut self.table);
        if let Some(coldest) = &mut self.coldest {
            coldest.collected(block);
        }
    }

    /// All data of a block that is collected are elsewhere now.
    pub fn emptied(&mut self, block: u32) {
        self.table.emptied(block);
    }

    /// Erases a block without data, and keeps it from the free ones.
    pub fn erase(&mut self, block: u32) {
        let erases = self.table.erase(block);
        if let Some(coldest) = &mut self.coldest {
            coldest.erased(block, erases);
        }
    }

    /// A block is free: it was erased, and may hold some data again.
    pub fn give(&mut self, block: u32) {
        let group = self.shape.group_of(block);
        self.free.give(group, block, &mut self.table);
    }

    /// Erases a block without data, which is free then.
    pub fn release(&mut self, block: u32) {
        self.erase(block);
        self.give(block);
    }

    /// The cell of a block, which is in no list.
    pub fn set_cell(&mut self, block: u32, cell: u32) {
        match &mut self.cells {
            BlockCells::OfBlocks(of, _) => of[block as usize] = cell,
            BlockCells::OfGroups(_) => unreachable!("cells follow from groups"),
        }
    }

    /// The block of `groups`, which have the cells `cells`, that the policy collects next.
    pub fn victim(&mut self, (groups, cells): (UnitMembers, UnitMembers)) -> Option<u32> {
        let mut chooser = self.chooser.clone();
        let victim = chooser.choose(&Candidates {
            blocks: self,
            groups,
            cells,
        });
        self.chooser = chooser;
        victim
    }

    /// Is a victim drawn at random, so that each question for it may have another answer?
    pub fn draws_victims(&self) -> bool {
        self.chooser.draws()
    }

    /// The full block of a group that static wear levelling moves, if wear has spread too far.
    pub fn cold_block(&self, group: u32) -> Option<u32> {
        self.coldest.as_ref()?.coldest(group)
    }

    /// Fewest valid places of a full block of these cells.
    pub fn fewest_valid(&self, cells: UnitMembers) -> Option<u32> {
        cells
            .iter()
            .filter_map(|cell| self.lists.lowest(cell))
            .min()
    }

    /// Was no block ever taken?
    pub fn is_unused(&self) -> bool {
        self.free.is_unused()
    }

    /// Free blocks of a group.
    #[inline]
    pub fn free_in_group(&self, group: u32) -> u32 {
        self.free.count(group)
    }

    /// Free blocks of a GC unit.
    #[inline]
    pub fn free_in_gc(&self, gc: u32) -> u64 {
        self.free.of_gc(gc)
    }

    /// How full a block is, and how worn.
    #[inline]
    pub fn row(&self, block: u32) -> BlockRow {
        self.table.get(block)
    }

    /// Bytes of memory taken so far.
    pub fn bytes(&self) -> u64 {
        self.table.bytes()
            + self.free.bytes()
            + self.lists.bytes()
            + self.stamps.as_ref().map_or(0, FirstTouch::bytes)
            + self.coldest.as_ref().map_or(0, Coldest::bytes)
    }

    /// How full all blocks are, and the lists of these cells: their lowest count, and the blocks at their ends.
    #[cfg(test)]
    pub fn in_lists(&self, cells: UnitMembers) -> String {
        let all = 0..self.shape.all_blocks();
        let rows = all.map(|block| {
            (
                self.row(block),
                self.stamps.as_ref().map(|s| s.get(block.into())),
            )
        });
        let ends = cells.iter().map(|cell| {
            let first = (0..=self.shape.places).map(|valid| self.lists.first(cell, valid));
            (self.lists.lowest(cell), first.collect::<Vec<_>>())
        });
        let (rows, ends) = (rows.collect::<Vec<_>>(), ends.collect::<Vec<_>>());
        let cold: Vec<_> = (0..self.shape.groups)
            .map(|group| self.cold_block(group))
            .collect();
        format!(
            "{rows:?} {ends:?} {cold:?} {:?} {}",
            self.free, self.programmed
        )
    }
}
