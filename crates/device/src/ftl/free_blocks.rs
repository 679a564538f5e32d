//! Free blocks of every plane, and which of them is used next.

use super::block_table::{BlockTable, NONE};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The free blocks of one plane: those never used, from `fresh` on, and those erased since.
#[derive(Clone, Copy, Debug)]
struct Plane {
    fresh: u32,
    /// Erased blocks in the order of their erase; unused with wear levelling.
    head: u32,
    tail: u32,
    free: u32,
}

/// Which block is free, plane by plane.
///
/// Without wear levelling blocks are taken in turn: those never used in ascending order, then the
/// one erased longest ago. With wear levelling the block with the fewest erases is taken, of
/// equals the one with the smallest number.
#[derive(Clone, Debug)]
pub(crate) struct FreeBlocks {
    planes: Vec<Plane>,
    /// Erased blocks as (erases, block) with wear levelling.
    heaps: Vec<BinaryHeap<Reverse<(u32, u32)>>>,
    per_plane: u32,
    /// GC unit of every plane.
    gc_of: Vec<u32>,
    /// Free blocks of every GC unit.
    of_gc: Vec<u64>,
}

impl FreeBlocks {
    /// All blocks free; `gc_of` has the GC unit of every plane.
    pub fn new(gc_of: Vec<u32>, per_plane: u32, levelling: bool) -> FreeBlocks {
        let planes = gc_of.len() as u32;
        let units = gc_of.iter().max().map_or(0, |last| last + 1);
        let mut of_gc = vec![0; units as usize];
        for &gc in &gc_of {
            of_gc[gc as usize] += u64::from(per_plane);
        }
        let unused = Plane {
            fresh: 0,
            head: NONE,
            tail: NONE,
            free: per_plane,
        };
        let heaps = if levelling { planes } else { 0 };
        FreeBlocks {
            planes: vec![unused; planes as usize],
            heaps: vec![BinaryHeap::new(); heaps as usize],
            per_plane,
            gc_of,
            of_gc,
        }
    }

    /// Takes a free block of `plane`.
    pub fn take(&mut self, plane: u32, blocks: &mut BlockTable) -> Option<u32> {
        let own = &mut self.planes[plane as usize];
        if own.free == 0 {
            return None;
        }
        own.free -= 1;
        self.of_gc[self.gc_of[plane as usize] as usize] -= 1;
        // A block that was never used has fewer erases than any erased one.
        if own.fresh < self.per_plane {
            own.fresh += 1;
            return Some(plane * self.per_plane + own.fresh - 1);
        }
        if let Some(heap) = self.heaps.get_mut(plane as usize) {
            let Reverse((_, block)) = heap.pop().expect("a plane counts its free blocks");
            return Some(block);
        }
        let taken = own.head;
        own.head = std::mem::replace(&mut blocks.at(taken).next, NONE);
        if own.head == NONE {
            own.tail = NONE;
        }
        Some(taken)
    }

    /// Block `block` of `plane` was erased for the `erases`-th time.
    pub fn give(&mut self, plane: u32, block: u32, erases: u32, blocks: &mut BlockTable) {
        let own = &mut self.planes[plane as usize];
        own.free += 1;
        self.of_gc[self.gc_of[plane as usize] as usize] += 1;
        if let Some(heap) = self.heaps.get_mut(plane as usize) {
            return heap.push(Reverse((erases, block)));
        }
        match std::mem::replace(&mut own.tail, block) {
            NONE => own.head = block,
            last => blocks.at(last).next = block,
        }
    }

    /// Was no block ever taken?
    pub fn is_unused(&self) -> bool {
        self.planes.iter().all(|plane| plane.fresh == 0)
    }

    /// Blocks of `plane` that can be taken.
    #[inline]
    pub fn count(&self, plane: u32) -> u32 {
        self.planes[plane as usize].free
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
        let counts = self.gc_of.len() * 4 + self.of_gc.len() * 8;
        (self.planes.len() * size_of::<Plane>() + self.heaps.len() * each + heaps + counts) as u64
    }
}
