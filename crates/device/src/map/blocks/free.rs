//! Free blocks of every group, and which of them is used next.

use super::table::{BlockTable, NONE};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The free blocks of one group: those never used, from `fresh` on, and those erased since.
#[derive(Clone, Copy, Debug)]
struct FreeOfGroup {
    fresh: u32,
    /// Erased blocks in the order of their erase; unused with wear levelling.
    head: u32,
    tail: u32,
    free: u32,
}

/// Which block is free, group by group.
///
/// Without wear levelling blocks are taken in turn: those never used in ascending order, then the
/// one erased longest ago. With wear levelling the block with the fewest erases is taken, of
/// equals the one with the smallest number.
#[derive(Clone, Debug)]
pub(super) struct FreeBlocks {
    groups: Vec<FreeOfGroup>,
    /// Erased blocks as (erases, block) with wear levelling.
    heaps: Vec<BinaryHeap<Reverse<(u32, u32)>>>,
    per_group: u32,
    /// Those of them that are here: the first ones.
    most: u32,
    /// Free blocks of every GC unit.
    of_gc: Vec<u64>,
}

impl FreeBlocks {
    /// All blocks free but the last `apart` of each group, which are not here. Group `g` is in GC unit `g` modulo `gcs`.
    pub fn new(
        (groups, gcs): (u32, u32),
        (per_group, apart): (u32, u32),
        levelling: bool,
    ) -> FreeBlocks {
        let most = per_group - apart;
        let of_gc = u64::from(groups / gcs) * u64::from(most);
        let unused = FreeOfGroup {
            fresh: 0,
            head: NONE,
            tail: NONE,
            free: most,
        };
        let heaps = if levelling { groups } else { 0 };
        FreeBlocks {
            groups: vec![unused; groups as usize],
            heaps: vec![BinaryHeap::new(); heaps as usize],
            per_group,
            most,
            of_gc: vec![of_gc; gcs as usize],
        }
    }

    /// Takes a free block of `group`.
    pub fn take(&mut self, group: u32, blocks: &mut BlockTable) -> Option<u32> {
        let own = &mut self.groups[group as usize];
        if own.free == 0 {
            return None;
        }
        own.free -= 1;
        let gc = group as usize % self.of_gc.len();
        self.of_gc[gc] -= 1;
        // A block that was never used has fewer erases than any erased one.
        if own.fresh < self.most {
            own.fresh += 1;
            return Some(group * self.per_group + own.fresh - 1);
        }
        if let Some(heap) = self.heaps.get_mut(group as usize) {
            let Reverse((_, block)) = heap.pop().expect("a group counts its free blocks");
            return Some(block);
        }
        let taken = own.head;
        own.head = std::mem::replace(&mut blocks.at(taken).prev, NONE);
        if own.head == NONE {
            own.tail = NONE;
        }
        Some(taken)
    }

    /// Block `block` of `group` was erased.
    pub fn give(&mut self, group: u32, block: u32, blocks: &mut BlockTable) {
        let own = &mut self.groups[group as usize];
        own.free += 1;
        let gc = group as usize % self.of_gc.len();
        self.of_gc[gc] += 1;
        if let Some(heap) = self.heaps.get_mut(group as usize) {
            return heap.push(Reverse((blocks.get(block).erases(), block)));
        }
        match std::mem::replace(&mut own.tail, block) {
            NONE => own.head = block,
            last => blocks.at(last).prev = block,
        }
    }

    /// Was no block ever taken?
    pub fn is_unused(&self) -> bool {
        self.groups.iter().all(|group| group.fresh == 0)
    }

    /// Blocks of `group` that can be taken.
    #[inline]
    pub fn count(&self, group: u32) -> u32 {
        self.groups[group as usize].free
    }

    /// Blocks of a GC unit that can be taken.
    #[inline]
    pub fn of_gc(&self, gc: u32) -> u64 {
        self.of_gc[gc as usize]
    }

    /// Bytes taken so far.
    pub fn bytes(&self) -> u64 {
        let heaps: usize = self.heaps.iter().map(|h| h.capacity() * 8).sum();
        let each = size_of::<BinaryHeap<Reverse<(u32, u32)>>>();
        let counts = self.of_gc.len() * 8;
        (self.groups.len() * size_of::<FreeOfGroup>() + self.heaps.len() * each + heaps + counts)
            as u64
    }
}
