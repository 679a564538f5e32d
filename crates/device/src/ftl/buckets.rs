//! Full blocks by the number of their valid pages: every change is O(1), no search over blocks.

use super::blocks::{Blocks, NONE};
use super::table::FirstTouch;

/// The full blocks of every cell (the smaller one of write frontier and GC unit) in one list per
/// valid count. A list is in the order in which its blocks came to that count.
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
    #[inline]
    pub fn insert(&mut self, cell: u32, block: u32, valid: u32, blocks: &mut Blocks) {
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
    fn unlink(&mut self, index: u64, block: u32, blocks: &mut Blocks) {
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
    pub fn lower(&mut self, cell: u32, block: u32, valid: u32, blocks: &mut Blocks) {
        self.unlink(self.index(cell, valid), block, blocks);
        self.insert(cell, block, valid - 1, blocks);
    }

    /// Takes out a full block with `valid` valid pages.
    pub fn remove(&mut self, cell: u32, block: u32, valid: u32, blocks: &mut Blocks) {
        self.unlink(self.index(cell, valid), block, blocks);
        // The search costs as many steps as invalid pages have lowered the mark before.
        let mut lowest = self.lowest[cell as usize];
        while lowest < self.lists && self.first(cell, lowest).is_none() {
            lowest += 1;
        }
        self.lowest[cell as usize] = lowest;
        let own = blocks.at(block);
        (own.next, own.prev) = (NONE, NONE);
    }

    /// Bytes taken so far.
    pub fn bytes(&self) -> u64 {
        self.heads.bytes() + (self.lowest.len() * 4) as u64
    }
}
