//! The simplified LIRS of Prober section 3.3: a hot queue S, a cold queue Q, and a memory of
//! evicted pages, which come back hot.

use crate::ahead::Ahead;
use crate::ghost_queues::GhostQueues;
use crate::list::ListArena;
use crate::view::View;
use destage_types::{Lpn, Slot};

/// Queue S.
const HOT: usize = 0;
/// Queue Q.
const COLD: usize = 1;

/// S, Q and the pages evicted last, at most C.
#[derive(Clone, Debug)]
pub(super) struct TwoQueue {
    lists: ListArena,
    hot: Vec<bool>,
    past: GhostQueues<1>,
    hot_capacity: usize,
    max_past: usize,
}

impl TwoQueue {
    /// For `capacity` pages, `hot` of them in S, in a cache of `slots` frames.
    pub(super) fn new(slots: usize, capacity: usize, hot: usize) -> TwoQueue {
        TwoQueue {
            lists: ListArena::new(slots, 2),
            hot: vec![false; slots],
            past: GhostQueues::new(capacity + 1),
            hot_capacity: hot,
            max_past: capacity,
        }
    }

    /// Puts a page that is in no queue at the head of S, whose tail makes way to Q.
    #[inline]
    fn push_hot(&mut self, slot: Slot) {
        self.lists.push_head(HOT, slot.0);
        self.hot[slot.index()] = true;
        if self.lists.len(HOT) > self.hot_capacity
            && let Some(tail) = self.lists.tail(HOT)
        {
            self.lists.unlink(HOT, tail);
            self.lists.push_head(COLD, tail);
            self.hot[tail as usize] = false;
        }
    }

    /// Evicted pages are remembered apart.
    pub(super) fn most_kept(&self) -> u32 {
        0
    }

    #[inline]
    pub(super) fn keeps(&self, _slot: Slot) -> bool {
        false
    }

    #[inline]
    pub(super) fn give_up(&mut self) -> Option<Slot> {
        None
    }

    #[inline]
    pub(super) fn look_ahead(&self, ahead: &Ahead) -> u64 {
        self.past.look_ahead(ahead)
    }

    #[inline]
    pub(super) fn insert(&mut self, slot: Slot, lpn: Lpn) {
        if self.past.forget(lpn).is_some() {
            self.push_hot(slot);
        } else {
            self.lists.push_head(COLD, slot.0);
            self.hot[slot.index()] = false;
        }
    }

    #[inline]
    pub(super) fn touch(&mut self, slot: Slot) {
        if self.hot[slot.index()] {
            self.lists.move_to_head(HOT, slot.0);
        } else {
            self.lists.unlink(COLD, slot.0);
            self.push_hot(slot);
        }
    }

    /// The page leaves; `evicted` is its LPN if it may be remembered.
    #[inline]
    pub(super) fn remove(&mut self, slot: Slot, evicted: Option<Lpn>) {
        let list = if self.hot[slot.index()] { HOT } else { COLD };
        self.lists.unlink(list, slot.0);
        if let Some(lpn) = evicted {
            self.past.push_head(0, lpn);
            if self.past.len(0) > self.max_past {
                self.past.drop_oldest(0);
            }
        }
    }

    pub(super) fn forget(&mut self, lpn: Lpn, _v: &View) {
        self.past.forget(lpn);
    }

    pub(super) fn rename_ghost(&mut self, from: Lpn, to: Lpn, _v: &View) -> bool {
        self.past.rename(from, to)
    }

    #[inline]
    pub(super) fn size(&self) -> usize {
        self.lists.len(HOT) + self.lists.len(COLD)
    }

    pub(super) fn ghosts(&self) -> usize {
        self.past.len(0)
    }

    /// Pages of Q.
    #[cfg(test)]
    pub(super) fn cold(&self) -> usize {
        self.lists.len(COLD)
    }

    #[inline]
    pub(super) fn victim(&self) -> Option<Slot> {
        let oldest = self.lists.tail(COLD);
        oldest.or_else(|| self.lists.tail(HOT)).map(Slot)
    }

    pub(super) fn candidates(&self, f: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let order = self.lists.from_tail(COLD).chain(self.lists.from_tail(HOT));
        order.map(Slot).find(|&s| f(s))
    }

    #[cfg(feature = "conformance")]
    pub(super) fn state(&self, v: &View, out: &mut String) {
        for (list, name) in [(HOT, "S"), (COLD, " Q")] {
            out.push_str(name);
            crate::state::pages(out, v, self.lists.from_head(list).map(Slot));
        }
        out.push_str(" past");
        crate::state::ghosts(out, self.past.from_head(0), ", ");
    }
}
