//! Which blocks have dirty pages, for a background layer that would look through all of them for each page.

use super::{Blocks, DRL, END, IRL, SRL};
use destage_types::Slot;

/// Dirty pages, and where they begin in each list.
#[derive(Clone, Debug)]
pub(super) struct DirtyBlocks {
    /// By slot.
    pages: Vec<bool>,
    /// Dirty pages of each node.
    of_block: Vec<u32>,
    /// Was a page of the node moved into a block that can be merged with it?
    has_heirs: Vec<bool>,
    /// For each list a block, or [`END`]: only this one and newer ones may be dirty.
    front: [u32; 3],
}

impl DirtyBlocks {
    pub fn new(slots: usize, nodes: usize) -> DirtyBlocks {
        DirtyBlocks {
            pages: vec![false; slots],
            of_block: vec![0; nodes],
            has_heirs: vec![false; nodes],
            front: [END; 3],
        }
    }

    /// The page leaves block `b`.
    pub fn forget(&mut self, slot: Slot, b: u32) {
        let was_dirty = std::mem::replace(&mut self.pages[slot.index()], false);
        self.of_block[b as usize] -= u32::from(was_dirty);
    }

    /// Block `b` is new.
    pub fn create(&mut self, b: u32) {
        self.has_heirs[b as usize] = false;
    }

    /// Block `b` leaves `list`, and `newer` is the next one.
    pub fn unlink(&mut self, list: usize, b: u32, newer: Option<u32>) {
        if self.front[list] == b {
            self.front[list] = newer.unwrap_or(END);
        }
    }
}

impl Blocks {
    /// Is it known which blocks are dirty?
    #[inline]
    pub fn knows_dirty(&self) -> bool {
        self.dirty.is_some()
    }

    /// The page in `slot` is dirty, and its block the newest of its list.
    pub fn mark_dirty(&mut self, slot: Slot) {
        let b = self.of(slot);
        let Some(dirty) = &mut self.dirty else { return };
        let was_dirty = std::mem::replace(&mut dirty.pages[slot.index()], true);
        dirty.of_block[b as usize] += u32::from(!was_dirty);
        // Blocks that may be merged with this one are dirty as well, wherever they are.
        if dirty.has_heirs[b as usize] && usize::from(self.nodes[b as usize].list) == IRL {
            for list in [SRL, DRL] {
                let tail = self.tail(list).unwrap_or(END);
                self.dirty.as_mut().expect("it is known").front[list] = tail;
            }
        }
        self.show_dirty(b);
    }

    /// Block `b` is now the newest of its list.
    pub fn show_dirty(&mut self, b: u32) {
        let is_dirty = self.may_be_dirty(b);
        let list = usize::from(self.get(b).list);
        let Some(dirty) = &mut self.dirty else { return };
        if is_dirty && dirty.front[list] == END {
            dirty.front[list] = b;
        }
    }

    /// Pages of block `from` may leave together with another block.
    pub(super) fn has_heir(&mut self, from: u32) {
        if let Some(dirty) = &mut self.dirty {
            dirty.has_heirs[from as usize] = true;
        }
    }

    /// These pages are clean now.
    pub fn cleaned(&mut self, slots: &[Slot]) {
        let Some(dirty) = &mut self.dirty else { return };
        for &slot in slots {
            dirty.forget(slot, self.pages[slot.index()].block);
        }
        for list in [IRL, SRL, DRL] {
            let first = self.maybe_dirty(list).find(|&b| self.may_be_dirty(b));
            self.dirty.as_mut().expect("it is known").front[list] = first.unwrap_or(END);
        }
    }

    /// The blocks of `list` that may be dirty are among these, oldest first.
    pub fn maybe_dirty(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        let front = self.dirty.as_ref().and_then(|d| self.real(d.front[list]));
        std::iter::successors(front, |&b| self.newer(b))
    }

    /// Has the block dirty pages, or the one that it may be merged with?
    pub fn may_be_dirty(&self, b: u32) -> bool {
        let is_dirty = |b: u32| {
            self.dirty
                .as_ref()
                .is_some_and(|d| d.of_block[b as usize] > 0)
        };
        let origin = || self.in_irl(self.origin(b));
        is_dirty(b) || self.get(b).split && origin().is_some_and(is_dirty)
    }
}
