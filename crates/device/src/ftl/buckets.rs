//! Full blocks by the number of their valid pages: every change is O(1), no search over blocks.
//!
//! Lists of a cell are only kept once a victim may be wanted there ([`Buckets::build`]). Before
//! that every full block remembers when it came to its valid count, which says the same and costs
//! one store per invalid page: a device that never runs out of free pages pays for no lists.

use super::block_table::{BlockRow, BlockTable, NONE};
use super::first_touch::FirstTouch;

/// The full blocks of every cell (the smaller one of write frontier and GC unit) in one list per
/// valid count. A list is in the order in which its blocks came to that count.
///
/// Lists are rings: the block before the first one is the last one. A full block of a cell without
/// lists holds the number of its last change in the place of its neighbours.
#[derive(Clone, Debug)]
pub(crate) struct Buckets {
    heads: FirstTouch<u32, 1024>,
    /// Smallest valid count with a block, `lists` if the cell has no full block.
    lowest: Vec<u32>,
    /// Lists per cell: pages of a block, and one more.
    lists: u32,
    /// Has a cell lists?
    built: Vec<bool>,
    any_built: bool,
    /// Changes of valid counts in cells without lists.
    changes: u64,
}

impl Buckets {
    /// No full block yet; `pages` per block.
    pub fn new(cells: u32, pages: u32) -> Buckets {
        let lists = pages + 1;
        Buckets {
            heads: FirstTouch::new(u64::from(cells) * u64::from(lists), NONE),
            lowest: vec![lists; cells as usize],
            lists,
            built: vec![false; cells as usize],
            any_built: false,
            changes: 0,
        }
    }

    /// Has the cell lists? Without them [`Buckets::first`] and [`Buckets::lowest`] know nothing.
    #[inline]
    pub fn is_built(&self, cell: u32) -> bool {
        self.any_built && self.built[cell as usize]
    }

    /// Has any cell lists?
    #[inline]
    pub fn any_built(&self) -> bool {
        self.any_built
    }

    /// Makes the lists of a cell, whose blocks are those of `planes`, and keeps them from now on.
    #[cold]
    pub fn build(&mut self, cell: u32, planes: &[u32], per_plane: u32, blocks: &mut BlockTable) {
        if std::mem::replace(&mut self.built[cell as usize], true) {
            return;
        }
        self.any_built = true;
        let numbers = planes
            .iter()
            .flat_map(|p| p * per_plane..(p + 1) * per_plane);
        let mut full: Vec<(u64, u32)> = numbers
            .filter(|&block| blocks.is_full(block) && blocks.get(block).is_listed())
            .map(|block| (blocks.get(block).changed(), block))
            .collect();
        full.sort_unstable();
        for (_, block) in full {
            self.link(cell, block, blocks.valid(block), blocks);
        }
    }

    /// The full block `block` of a cell without lists has another valid count.
    #[inline]
    pub fn note(&mut self, block: &mut BlockRow) {
        self.changes += 1;
        block.set_changed(self.changes);
    }

    #[inline]
    fn index(&self, cell: u32, valid: u32) -> u64 {
        u64::from(cell) * u64::from(self.lists) + u64::from(valid)
    }

    /// The block that has had `valid` valid pages for longest.
    #[inline]
    pub fn first(&self, cell: u32, valid: u32) -> Option<u32> {
        let head = self.heads.get(self.index(cell, valid));
        (head != NONE).then_some(head)
    }

    /// Fewest valid pages of a full block of the cell.
    #[inline]
    pub fn lowest(&self, cell: u32) -> Option<u32> {
        let lowest = self.lowest[cell as usize];
        (lowest < self.lists).then_some(lowest)
    }

    /// `block` is full, with `valid` valid pages.
    pub fn insert(&mut self, cell: u32, block: u32, valid: u32, blocks: &mut BlockTable) {
        if self.is_built(cell) {
            self.link(cell, block, valid, blocks)
        } else {
            self.note(blocks.at(block))
        }
    }

    #[inline]
    fn link(&mut self, cell: u32, block: u32, valid: u32, blocks: &mut BlockTable) {
        let index = self.index(cell, valid);
        let head = self.heads.at(index);
        if *head == NONE {
            *head = block;
            let own = blocks.at(block);
            (own.next, own.prev) = (block, block);
        } else {
            let first = *head;
            let last = std::mem::replace(&mut blocks.at(first).prev, block);
            blocks.at(last).next = block;
            let own = blocks.at(block);
            (own.next, own.prev) = (first, last);
        }
        let lowest = &mut self.lowest[cell as usize];
        *lowest = (*lowest).min(valid);
    }

    #[inline]
    fn unlink(&mut self, index: u64, block: u32, blocks: &mut BlockTable) {
        let own = blocks.get(block);
        let head = self.heads.at(index);
        if own.next == block {
            *head = NONE;
        } else {
            blocks.at(own.next).prev = own.prev;
            blocks.at(own.prev).next = own.next;
            if *head == block {
                *head = own.next;
            }
        }
    }

    /// A full block has one valid page less than `valid`.
    #[inline]
    pub fn lower(&mut self, cell: u32, block: u32, valid: u32, blocks: &mut BlockTable) {
        if !self.is_built(cell) {
            return self.note(blocks.at(block));
        }
        self.unlink(self.index(cell, valid), block, blocks);
        self.link(cell, block, valid - 1, blocks);
    }

    /// Takes out a full block with `valid` valid pages.
    pub fn remove(&mut self, cell: u32, block: u32, valid: u32, blocks: &mut BlockTable) {
        if self.is_built(cell) {
            self.take_out(cell, block, valid, blocks);
        }
        let own = blocks.at(block);
        (own.next, own.prev) = (NONE, NONE);
    }

    fn take_out(&mut self, cell: u32, block: u32, valid: u32, blocks: &mut BlockTable) {
        self.unlink(self.index(cell, valid), block, blocks);
        // The search costs as many steps as invalid pages have lowered the mark before.
        let mut lowest = self.lowest[cell as usize];
        while lowest < self.lists && self.first(cell, lowest).is_none() {
            lowest += 1;
        }
        self.lowest[cell as usize] = lowest;
    }

    /// Bytes taken so far.
    pub fn bytes(&self) -> u64 {
        self.heads.bytes() + (self.lowest.len() * 4 + self.built.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::rng::SplitMix64;

    const PAGES: u32 = 6;
    const PLANES: [&[u32]; 2] = [&[0, 2], &[1, 3]];
    const PER_PLANE: u32 = 16;

    /// One half of a comparison: the same full blocks, with lists from the start or from some
    /// moment on.
    struct Side {
        buckets: Buckets,
        blocks: BlockTable,
    }

    impl Side {
        fn new() -> Side {
            Side {
                buckets: Buckets::new(2, PAGES),
                blocks: BlockTable::new(4 * u64::from(PER_PLANE), PAGES as u16),
            }
        }

        fn build(&mut self, cell: u32) {
            let planes = PLANES[cell as usize];
            self.buckets
                .build(cell, planes, PER_PLANE, &mut self.blocks);
        }

        /// Fills a free block, lowers the valid pages of a full one, or takes it out and erases it.
        fn act(&mut self, block: u32, remove: bool) {
            let cell = block / PER_PLANE % 2;
            let valid = self.blocks.valid(block);
            if !self.blocks.is_full(block) {
                (0..PAGES).for_each(|_| _ = self.blocks.wrote_data(block, 1));
                self.buckets.insert(cell, block, PAGES, &mut self.blocks);
            } else if remove || valid == 0 {
                self.buckets.remove(cell, block, valid, &mut self.blocks);
                assert!(!self.blocks.get(block).is_listed());
                self.blocks.emptied(block);
                self.blocks.erase(block);
            } else {
                self.blocks.invalidated(block);
                self.buckets.lower(cell, block, valid, &mut self.blocks);
            }
        }

        fn lists(&self, cell: u32) -> Vec<Vec<u32>> {
            let list = |valid| {
                let first = self.buckets.first(cell, valid);
                let next = |&at: &u32| Some(self.blocks.get(at).next).filter(|n| Some(*n) != first);
                std::iter::successors(first, next).collect()
            };
            (0..=PAGES).map(list).collect()
        }
    }

    #[test]
    fn lists_made_late_are_those_kept_from_the_start() {
        let mut rng = SplitMix64::new(3);
        for run in 0..200 {
            let (mut eager, mut late) = (Side::new(), Side::new());
            (0..2).for_each(|cell| eager.build(cell));
            let build_at = [rng.below(1200), rng.below(1200)];
            for step in 0..1000 {
                let built = |cell: usize| build_at[cell] <= step;
                for cell in (0..2).filter(|&cell| build_at[cell] == step) {
                    late.build(cell as u32);
                }
                let block = rng.below(4 * u64::from(PER_PLANE)) as u32;
                let remove = rng.below(8) == 0;
                eager.act(block, remove);
                late.act(block, remove);
                for cell in (0..2).filter(|&cell| built(cell)) {
                    let cell = cell as u32;
                    assert_eq!(
                        eager.lists(cell),
                        late.lists(cell),
                        "run {run}, step {step}"
                    );
                    assert_eq!(eager.buckets.lowest(cell), late.buckets.lowest(cell));
                }
            }
            for cell in 0..2 {
                late.build(cell);
                assert_eq!(eager.lists(cell), late.lists(cell), "run {run}");
                assert_eq!(eager.buckets.lowest(cell), late.buckets.lowest(cell));
            }
        }
    }
}
