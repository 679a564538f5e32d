//! Where a fill in ascending order leaves mapping units: a formula in place of two tables (D-18).
//!
//! Host data go round the frontiers in *grains*: program units with dynamic allocation, pages with static allocation. As
//! a frontier fills its groups in turn and each block from its first place on, place and mapping unit follow from each
//! other. Only whole *stripes* are filled so, the blocks of one index in all groups. Then no block is left open.

use super::UnitMap;
use crate::ftl::divisor::Divisor;
use crate::ftl::page_table::{Initial, NONE, PIECE, TablePiece};
use std::sync::Arc;

/// A fill. See the module.
#[derive(Debug)]
pub(super) struct FillInOrder {
    /// Mapping units that were filled, and blocks of each group.
    filled: u32,
    stripes: u32,
    grain: Divisor,
    /// Grains of a round, and how many of them go to one frontier.
    turns: Divisor,
    of_frontier: Divisor,
    /// Groups of a frontier.
    groups: Divisor,
    block_places: Divisor,
    part_places: Divisor,
    blocks: Divisor,
    /// Of each turn of a round: its frontier, and how many turns that frontier had before.
    frontier: Vec<(u32, u32)>,
    /// Turns of each frontier.
    turn: Vec<Vec<u32>>,
    /// Groups of each frontier, and its part of their blocks.
    groups_of: Vec<Vec<u32>>,
    part_of: Vec<u32>,
    /// Of each group or part: its frontier, and its position among the groups of that.
    position: Vec<(u32, u32)>,
}

impl FillInOrder {
    /// Whole stripes of the first `pages` mapping units of an empty drive.
    fn new(map: &UnitMap, pages: u64) -> FillInOrder {
        let shape = &map.shape;
        let (grain, order) = match map.dynamic {
            true => (shape.unit(), &map.frontier_order),
            false => (shape.per_page, &map.spread),
        };
        let mut turn = vec![Vec::new(); map.groups.len()];
        let mut frontier = Vec::with_capacity(order.len());
        for (at, &of) in (0..).zip(order) {
            frontier.push((of, turn[of as usize].len() as u32));
            turn[of as usize].push(at);
        }
        let mut position = vec![(0, 0); map.frontier_of.len()];
        for (group, row) in position.iter_mut().enumerate() {
            let of = map.frontier_of[group];
            let groups = &map.groups[of as usize];
            let at = groups.iter().position(|&other| other as usize == group);
            *row = (of, at.unwrap_or_default() as u32);
        }
        let stripe = u64::from(shape.groups) * u64::from(shape.places);
        let stripes = (pages / stripe).min(map.stripes_for_host());
        FillInOrder {
            filled: (stripes * stripe) as u32,
            stripes: stripes as u32,
            grain: Divisor::new(grain),
            turns: Divisor::new(order.len() as u32),
            of_frontier: Divisor::new(turn[0].len() as u32),
            groups: Divisor::new(map.groups[0].len() as u32),
            block_places: Divisor::new(shape.places),
            part_places: Divisor::new(shape.part_places()),
            blocks: Divisor::new(shape.blocks),
            part_of: (0..map.frontier_count())
                .map(|of| map.part_of(of) as u32)
                .collect(),
            frontier,
            turn,
            groups_of: map.groups.clone(),
            position,
        }
    }

    /// Place of a mapping unit.
    #[inline]
    fn place(&self, lpn: u32) -> u32 {
        if lpn >= self.filled {
            return NONE;
        }
        let grain = self.grain.quotient(lpn);
        let round = self.turns.quotient(grain);
        let (frontier, before) = self.frontier[(grain - round * self.turns.get()) as usize];
        let own = round * self.of_frontier.get() + before;
        // Place among all of the frontier.
        let at = own * self.grain.get() + self.grain.rest(lpn);
        let block = self.part_places.quotient(at);
        let index = self.groups.quotient(block);
        let of = frontier as usize;
        let group = self.groups_of[of][(block - index * self.groups.get()) as usize];
        let first = (group * self.blocks.get() + index) * self.block_places.get();
        first + (self.part_of[of] * self.part_places.get()) + self.part_places.rest(at)
    }

    /// Mapping unit of a place.
    #[inline]
    fn unit(&self, place: u32) -> u32 {
        let block = self.block_places.quotient(place);
        let group = self.blocks.quotient(block);
        let index = block - group * self.blocks.get();
        if index >= self.stripes {
            return NONE;
        }
        let in_block = place - block * self.block_places.get();
        let part = self.part_places.quotient(in_block);
        // There are several groups, or several parts. Places beyond the drive have none.
        let Some(&(frontier, position)) = self.position.get((group + part) as usize) else {
            return NONE;
        };
        let own_block = index * self.groups.get() + position;
        let at = own_block * self.part_places.get() + in_block - part * self.part_places.get();
        let own = self.grain.quotient(at);
        let round = self.of_frontier.quotient(own);
        let turn = self.turn[frontier as usize][(own - round * self.of_frontier.get()) as usize];
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

/// Places of mapping units that nobody wrote since the fill.
#[derive(Clone, Debug, Default)]
pub(super) struct FilledPlaces(Option<Arc<FillInOrder>>);

/// Mapping units of places to which nothing was written since the fill.
#[derive(Clone, Debug, Default)]
pub(super) struct FilledUnits(Option<Arc<FillInOrder>>);

impl Initial for FilledPlaces {
    #[inline]
    fn number(&self, index: u64) -> u32 {
        self.0
            .as_ref()
            .map_or(NONE, |fill| fill.place(index as u32))
    }

    fn piece(&self, first: u64) -> TablePiece {
        let fill = self.0.as_ref();
        fill.map_or([NONE; PIECE], |fill| {
            fill.piece(first, |lpn| fill.place(lpn))
        })
    }
}

impl Initial for FilledUnits {
    #[inline]
    fn number(&self, index: u64) -> u32 {
        self.0.as_ref().map_or(NONE, |fill| fill.unit(index as u32))
    }

    fn piece(&self, first: u64) -> TablePiece {
        let fill = self.0.as_ref();
        fill.map_or([NONE; PIECE], |fill| {
            fill.piece(first, |place| fill.unit(place))
        })
    }
}

impl UnitMap {
    /// Blocks of each group that the host can take.
    fn stripes_for_host(&self) -> u64 {
        let groups = self.gc_groups[0].len() as u64;
        u64::from(self.shape.blocks).saturating_sub(self.gc_low.div_ceil(groups))
    }

    /// Fills whole stripes with the first `pages` mapping units, if the drive is as new. Says how many that were. Blocks,
    /// lists and places are as if the mapping units had been written one by one.
    pub(in crate::drive) fn fill_stripes(&mut self, pages: u64) -> u64 {
        if self.valid > 0 || !self.free.is_unused() {
            return 0;
        }
        let fill = FillInOrder::new(self, pages);
        let (filled, places) = (u64::from(fill.filled), self.shape.places);
        let mut full: Vec<(u32, u32)> = Vec::new();
        for group in 0..self.shape.groups {
            for _ in 0..fill.stripes {
                let block = self.free.take(group, &mut self.blocks);
                let block = block.expect("there are as many blocks");
                self.blocks.wrote_data(block, places);
                *self.programmed.at(u64::from(block)) = places as u16;
                let parts = 1..=self.shape.parts;
                let ends = parts.map(|part| (block * places) + part * self.shape.part_places() - 1);
                let last = ends.map(|place| fill.unit(place)).max();
                full.push((last.unwrap_or_default(), block));
            }
        }
        // Lists are in the order in which blocks became full.
        full.sort_unstable();
        for (_, block) in full {
            let gc = self.gc_of_block(block);
            self.buckets.insert(gc, block, places, &mut self.blocks);
        }
        self.valid = filled;
        let fill = Arc::new(fill);
        self.to_place
            .set_initial(FilledPlaces(Some(Arc::clone(&fill))));
        self.to_unit.set_initial(FilledUnits(Some(fill)));
        filled
    }
}

#[cfg(test)]
mod tests;
