//! A pool of waiting operations.

use super::OpId;
use super::operation::{NONE, WaitingOp};

/// Number of a free entry; no operation reaches it.
pub(super) const FREE: u64 = u64::MAX;

/// All waiting operations of the array. Grows with the longest backlog, never shrinks.
#[derive(Clone, Debug)]
pub(super) struct OpPool {
    entries: Vec<WaitingOp>,
    free: u32,
}

impl OpPool {
    pub fn new() -> OpPool {
        OpPool {
            entries: Vec::new(),
            free: NONE,
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub fn add(&mut self, entry: WaitingOp) -> u32 {
        if self.free == NONE {
            self.entries.push(entry);
            return (self.entries.len() - 1) as u32;
        }
        let slot = self.free;
        self.free = self.entries[slot as usize].next;
        self.entries[slot as usize] = entry;
        slot
    }

    #[inline]
    pub fn take(&mut self, slot: u32) -> WaitingOp {
        let entry = self.entries[slot as usize];
        let freed = &mut self.entries[slot as usize];
        freed.number = FREE;
        freed.next = self.free;
        self.free = slot;
        entry
    }

    /// All operations that wait here, in no order.
    pub fn waiting(&self) -> impl Iterator<Item = &WaitingOp> {
        self.entries.iter().filter(|entry| entry.number != FREE)
    }

    /// Does `id` still wait here?
    #[inline]
    pub fn holds(&self, id: OpId) -> bool {
        let entry = self.get(id.slot);
        entry.is_some_and(|entry| entry.number == id.number())
    }

    #[inline]
    pub fn get(&self, slot: u32) -> Option<&WaitingOp> {
        self.entries.get(slot as usize)
    }
}

impl std::ops::Index<u32> for OpPool {
    type Output = WaitingOp;
    #[inline]
    fn index(&self, slot: u32) -> &WaitingOp {
        &self.entries[slot as usize]
    }
}

impl std::ops::IndexMut<u32> for OpPool {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut WaitingOp {
        &mut self.entries[slot as usize]
    }
}
