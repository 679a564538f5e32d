//! Where a fill in ascending order leaves logical pages: a formula in place of two tables (D-18).
//!
//! Host data go round the frontiers in *grains*: program units with dynamic allocation, physical pages with static
//! allocation. As a frontier fills its groups in turn and each block from its first place on, place and logical page
//! follow from each other. Only whole *stripes* are filled so, the blocks of one index in all groups. Then no block is
//! left open.

use super::divisor::Divisor;
use super::groups::BlockGroups;
use super::page_table::{NONE, PIECE, TablePiece};
use super::shape::UnitShape;
use std::sync::Arc;

/// A fill. See the module.
#[derive(Debug)]
pub struct FillInOrder {
    /// Logical pages that were filled, and blocks of each group.
    filled: u32,
    stripes: u32,
    grain: Divisor,
    /// Grains of a round, and how many of them go to one frontier.
    turns: Divisor,
    of_frontier: Divisor,
    frontiers: Divisor,
    /// Groups of a frontier, or one part of all blocks.
    rows_of_frontier: Divisor,
    rows: u32,
    /// Places from the blocks of a group, or from a part of a block, to those of the next.
    row_places: u64,
    shape: UnitShape,
    part_places: Divisor,
    /// Those of them that take data.
    part_data: Divisor,
    /// Of each turn of a round: its frontier, and how many turns that frontier had before.
    frontier: Vec<(u32, u32)>,
    /// Turns of each frontier, frontier by frontier.
    turn: Vec<u32>,
}

impl FillInOrder {
    /// Whole stripes, `most` of them at most, of the first `pages` logical pages of an empty device. Grains go to the
    /// frontiers `round`, and round again. Of each block or part `summaries` places take no data.
    pub(super) fn new(
        (shape, groups): (&UnitShape, &BlockGroups),
        (grain, round): (u32, &[u32]),
        summaries: u32,
        pages: u64,
        most: u64,
    ) -> FillInOrder {
        let mut turns = vec![Vec::new(); groups.frontiers as usize];
        let mut frontier = Vec::with_capacity(round.len());
        for (at, &of) in (0..).zip(round) {
            frontier.push((of, turns[of as usize].len() as u32));
            turns[of as usize].push(at);
        }
        let part_data = shape.part_places() - summaries;
        let stripe = u64::from(groups.count()) * u64::from(part_data);
        let stripes = (pages / stripe).min(most);
        let row_places = match shape.parts {
            1 => u64::from(shape.blocks) * u64::from(shape.places),
            _ => u64::from(shape.part_places()),
        };
        FillInOrder {
            filled: (stripes * stripe) as u32,
            stripes: stripes as u32,
            grain: Divisor::new(grain),
            turns: Divisor::new(round.len() as u32),
            of_frontier: Divisor::new(turns[0].len() as u32),
            frontiers: Divisor::new(groups.frontiers),
            rows_of_frontier: Divisor::new(groups.count() / groups.frontiers),
            rows: groups.count(),
            row_places,
            shape: *shape,
            part_places: Divisor::new(shape.part_places()),
            part_data: Divisor::new(part_data),
            frontier,
            turn: turns.concat(),
        }
    }

    /// Logical pages that are filled.
    pub fn pages(&self) -> u32 {
        self.filled
    }

    /// Blocks of each group that are filled: those of the smallest numbers.
    pub fn stripes(&self) -> u32 {
        self.stripes
    }

    /// The blocks that are filled in the order in which they become full, each with its last logical page.
    pub fn blocks(&self) -> Vec<(u32, u32)> {
        let (shape, part_places) = (&self.shape, self.part_places.get());
        let last = |block: u32| {
            let ends = (0..shape.parts).map(|part| part * part_places + self.part_data.get() - 1);
            let pages = ends.map(|end| self.page(shape.first(block) as u32 + end));
            pages.max().unwrap_or_default()
        };
        let of_group = |group| (0..self.stripes).map(move |index| group * shape.blocks + index);
        let blocks = (0..shape.groups).flat_map(of_group);
        let mut blocks: Vec<(u32, u32)> = blocks.map(|block| (last(block), block)).collect();
        blocks.sort_unstable();
        blocks
    }

    /// Place of a logical page.
    #[inline]
    fn place(&self, lpn: u32) -> u32 {
        if lpn >= self.filled {
            return NONE;
        }
        let grain = self.grain.quotient(lpn);
        let round = self.turns.quotient(grain);
        let (frontier, before) = self.frontier[(grain - round * self.turns.get()) as usize];
        let own = round * self.of_frontier.get() + before;
        // Place among all of the frontier that take data.
        let at = own * self.grain.get() + self.grain.rest(lpn);
        let block = self.part_data.quotient(at);
        let index = self.rows_of_frontier.quotient(block);
        let own_row = block - index * self.rows_of_frontier.get();
        let row = frontier + own_row * self.frontiers.get();
        let first = u64::from(row) * self.row_places + self.shape.first(index);
        first as u32 + self.part_data.rest(at)
    }

    /// Logical page of a place.
    #[inline]
    fn page(&self, place: u32) -> u32 {
        let block = self.shape.block(u64::from(place));
        let group = self.shape.group_of(block);
        let index = block - group * self.shape.blocks;
        let in_block = place - self.shape.first(block) as u32;
        let part = self.part_places.quotient(in_block);
        let in_part = self.part_places.rest(in_block);
        // There are several groups, or several parts. Places beyond the device have none.
        let row = group + part;
        if index >= self.stripes || row >= self.rows || in_part >= self.part_data.get() {
            return NONE;
        }
        let own_row = self.frontiers.quotient(row);
        let frontier = row - own_row * self.frontiers.get();
        let own_block = index * self.rows_of_frontier.get() + own_row;
        let at = own_block * self.part_data.get() + in_part;
        let own = self.grain.quotient(at);
        let round = self.of_frontier.quotient(own);
        let before = own - round * self.of_frontier.get();
        let turn = self.turn[(frontier * self.of_frontier.get() + before) as usize];
        (round * self.turns.get() + turn) * self.grain.get() + self.grain.rest(at)
    }

    /// Numbers of a piece: both formulas keep the order inside a grain.
    fn piece(&self, first: u64, number: impl Fn(u32) -> u32) -> TablePiece {
        let mut piece = [NONE; PIECE];
        let (mut at, grain) = (0, self.grain.get());
        while at < PIECE {
            let index = first as u32 + at as u32;
            let count = ((grain - self.grain.rest(index)) as usize).min(PIECE - at);
            let start = number(index);
            if start != NONE {
                (start..)
                    .zip(&mut piece[at..at + count])
                    .for_each(|(number, row)| *row = number);
            }
            at += count;
        }
        piece
    }
}

/// One direction of a fill: numbers that nobody changed since.
#[derive(Clone, Debug)]
pub(super) enum Filled {
    /// The place of each logical page.
    Places(Arc<FillInOrder>),
    /// The logical page of each place.
    Pages(Arc<FillInOrder>),
}

impl Filled {
    #[inline]
    pub fn number(&self, index: u64) -> u32 {
        match self {
            Filled::Places(fill) => fill.place(index as u32),
            Filled::Pages(fill) => fill.page(index as u32),
        }
    }

    pub fn piece(&self, first: u64) -> TablePiece {
        match self {
            Filled::Places(fill) => fill.piece(first, |lpn| fill.place(lpn)),
            Filled::Pages(fill) => fill.piece(first, |place| fill.page(place)),
        }
    }
}

#[cfg(test)]
mod tests;
