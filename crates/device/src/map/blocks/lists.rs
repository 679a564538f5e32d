//! Full blocks by the number of their valid pages: every change is O(1), no search over blocks.

use super::table::{BlockTable, NONE};
use crate::map::first_touch::FirstTouch;

/// The full blocks of every cell (the smaller one of write frontier and GC unit) in one list per
/// valid count. A list is in the order in which its blocks came to that count, or in that of their closing
/// ([`ByClosing`]).
///
/// Lists are rings: the block before the first one is the last one.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    heads: FirstTouch<u32, 1024>,
    /// Smallest valid count with a block, `lists` if the cell has no full block.
    lowest: Vec<u32>,
    /// Lists per cell: pages of a block, and one more.
    lists: u32,
}

/// When each block was closed, where lists are in that order.
pub(super) type ByClosing = Option<FirstTouch<u64, 256>>;

impl Buckets {
    /// No full block yet; `pages` per block.
    pub fn new(cells: u32, pages: u32) -> Buckets {
        let lists = pages + 1;
        Buckets {
            heads: FirstTouch::new(u64::from(cells) * u64::from(lists), NONE),
            lowest: vec![lists; cells as usize],
            lists,
        }
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
    pub fn insert(
        &mut self,
        cell: u32,
        block: u32,
        valid: u32,
        (blocks, closed): (&mut BlockTable, &ByClosing),
    ) {
        let index = self.index(cell, valid);
        let head = self.heads.at(index);
        if *head == NONE {
            *head = block;
            let own = blocks.at(block);
            (own.next, own.prev) = (block, block);
        } else {
            // The block behind it.
            let mut behind = *head;
            if let Some(closed) = closed {
                let later = |other: u32| closed.get(other.into()) > closed.get(block.into());
                while later(blocks.get(behind).prev) {
                    behind = blocks.get(behind).prev;
                    if behind == *head {
                        *head = block;
                        break;
                    }
                }
            }
            let before = std::mem::replace(&mut blocks.at(behind).prev, block);
            blocks.at(before).next = block;
            let own = blocks.at(block);
            (own.next, own.prev) = (behind, before);
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
    pub fn lower(
        &mut self,
        cell: u32,
        block: u32,
        valid: u32,
        (blocks, closed): (&mut BlockTable, &ByClosing),
    ) {
        self.unlink(self.index(cell, valid), block, blocks);
        self.insert(cell, block, valid - 1, (blocks, closed));
    }

    /// Takes out a full block with `valid` valid pages.
    pub fn remove(&mut self, cell: u32, block: u32, valid: u32, blocks: &mut BlockTable) {
        self.unlink(self.index(cell, valid), block, blocks);
        let own = blocks.at(block);
        (own.next, own.prev) = (NONE, NONE);
        // The search costs as many steps as invalid pages have lowered the mark before.
        let mut lowest = self.lowest[cell as usize];
        while lowest < self.lists && self.first(cell, lowest).is_none() {
            lowest += 1;
        }
        self.lowest[cell as usize] = lowest;
    }

    /// Bytes taken so far.
    pub fn bytes(&self) -> u64 {
        self.heads.bytes() + size_of_val(&self.lowest[..]) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::rng::SplitMix64;

    const PAGES: u32 = 6;
    const BLOCKS: u32 = 32;

    /// Blocks of even numbers are in cell 0, the others in cell 1.
    #[test]
    fn lists_are_in_the_order_in_which_blocks_came_to_their_count() {
        let mut rng = SplitMix64::new(3);
        let mut lists = Buckets::new(2, PAGES);
        let mut blocks = BlockTable::new(u64::from(BLOCKS), PAGES as u16);
        let mut model = vec![Vec::new(); 2 * (PAGES as usize + 1)];
        for step in 0..20_000 {
            let block = rng.below(u64::from(BLOCKS)) as u32;
            let (cell, row) = (block % 2, blocks.get(block));
            let list = |valid: u32| (cell * (PAGES + 1) + valid) as usize;
            if row.written() < PAGES {
                assert!(blocks.wrote(block, PAGES, 0));
                lists.insert(cell, block, PAGES, (&mut blocks, &None));
                model[list(PAGES)].push(block);
            } else {
                model[list(row.valid())].retain(|&other| other != block);
                if row.valid() == 0 || rng.below(8) == 0 {
                    lists.remove(cell, block, row.valid(), &mut blocks);
                    assert!(!blocks.get(block).is_listed());
                    blocks.emptied(block);
                    blocks.erase(block);
                } else {
                    blocks.invalidated(block);
                    lists.lower(cell, block, row.valid(), (&mut blocks, &None));
                    model[list(row.valid() - 1)].push(block);
                }
            }
            let full = (0..=PAGES).find(|&valid| !model[list(valid)].is_empty());
            assert_eq!(lists.lowest(cell), full, "step {step}");
            for valid in 0..=PAGES {
                let first = lists.first(cell, valid);
                let next = |&at: &u32| Some(blocks.get(at).next).filter(|n| Some(*n) != first);
                let all: Vec<u32> = std::iter::successors(first, next).collect();
                assert_eq!(all, model[list(valid)], "step {step}");
            }
        }
    }
}
