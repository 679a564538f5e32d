//! Operations that wait for the end of another one.

use super::*;

impl<E: Events> Nand<E> {
    /// Makes the operation in `slot` wait for the end of `parent`, which has not ended.
    pub(super) fn hang_on(&mut self, parent: OpId, slot: u32) {
        let first = if self.pool.holds(parent) {
            &mut self.pool[parent.slot].dependents
        } else {
            self.arm_end(parent.lane as usize);
            &mut self.lanes[parent.lane as usize].dependents
        };
        let sibling = std::mem::replace(first, slot);
        self.pool[slot].sibling = sibling;
        self.pool[slot].after = Some(parent);
    }

    /// Undoes [`Nand::hang_on`].
    pub(super) fn let_go(&mut self, parent: OpId, slot: u32) {
        let sibling = self.pool[slot].sibling;
        let mut at = if self.pool.holds(parent) {
            self.pool[parent.slot].dependents
        } else {
            self.lanes[parent.lane as usize].dependents
        };
        if at == slot {
            if self.pool.holds(parent) {
                self.pool[parent.slot].dependents = sibling;
            } else {
                self.lanes[parent.lane as usize].dependents = sibling;
            }
            return;
        }
        while self.pool[at].sibling != slot {
            at = self.pool[at].sibling;
        }
        self.pool[at].sibling = sibling;
    }

    pub(super) fn release_all(&mut self, first: u32, now: u64) {
        let mut slot = first;
        while slot != NONE {
            let entry = &mut self.pool[slot];
            entry.after = None;
            let next = std::mem::replace(&mut entry.sibling, NONE);
            let other = entry.and_after.take();
            match other.filter(|&id| self.is_pending(id)) {
                Some(id) => self.hang_on(id, slot),
                None => self.release(slot, now),
            }
            slot = next;
        }
    }

    fn release(&mut self, slot: u32, now: u64) {
        let entry = &mut self.pool[slot];
        entry.ready = now;
        let l = entry.lane as usize;
        self.lanes[l].queue.unblock(&mut self.pool, slot);
        self.made_ready(l, now);
    }
}
