//! The simplified LIRS of Prober section 3.3: a hot queue S, a cold queue Q, and a memory of
//! evicted pages, which come back hot.

use crate::lists::{ListArray, Lists};
use crate::stamps::Stamps;
use crate::store::GhostList;
use crate::{Access, Env, Ghosts, PageLists, RemoveReason, View};
use destage_types::{Lpn, Slot};

/// Queue S.
const HOT: usize = 0;
/// Queue Q.
const COLD: usize = 1;
/// Pages evicted last.
const PAST: usize = 2;

/// S, Q and the pages evicted last, at most C.
#[derive(Clone, Debug)]
pub(super) struct TwoQueue {
    lists: ListArray<3>,
    stamps: Stamps,
    pub(super) ghosts: Ghosts,
    hot_capacity: usize,
    max_past: usize,
}

impl TwoQueue {
    /// For a cache as `env` says, with `hot` pages in S.
    pub(super) fn new(hot: usize, env: &Env) -> TwoQueue {
        let max_past = env.capacity as usize;
        let ghosts = Ghosts::new(max_past + 1, env);
        TwoQueue {
            lists: Lists::array(ghosts.nodes()),
            stamps: Stamps::new(ghosts.nodes(), env),
            ghosts,
            hot_capacity: hot,
            max_past,
        }
    }

    /// Puts a page that is in no queue at the head of S, whose tail makes way to Q.
    #[inline]
    fn push_hot(&mut self, slot: Slot) {
        self.lists.push_head(HOT, slot.0);
        self.stamps.stamp(slot);
        if self.lists.len(HOT) > self.hot_capacity
            && let Some(tail) = self.lists.tail(HOT)
        {
            self.lists.move_to_head(COLD, tail);
            self.stamps.stamp(Slot(tail));
        }
    }

    #[inline]
    pub(super) fn insert(&mut self, slot: Slot, a: &Access) {
        match self.ghosts.take_inserted(slot, a) {
            Some(node) => {
                self.lists.unlink(node);
                self.push_hot(slot);
            }
            None => {
                self.lists.push_head(COLD, slot.0);
                self.stamps.stamp(slot);
            }
        }
    }

    #[inline]
    pub(super) fn touch(&mut self, slot: Slot) {
        if self.lists.list_of(slot.0) == HOT {
            self.lists.move_to_head(HOT, slot.0);
            self.stamps.stamp(slot);
        } else {
            self.lists.unlink(slot.0);
            self.push_hot(slot);
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        self.lists.unlink(slot.0);
        if reason == RemoveReason::Discarded {
            return;
        }
        let ghosts = GhostList {
            list: PAST,
            most: self.max_past,
        };
        self.ghosts.remember_in(&mut self.lists, ghosts, slot, v);
    }

    pub(super) fn forget(&mut self, lpn: Lpn, v: &View) {
        self.ghosts.forget_page(&mut self.lists, lpn, v);
    }

    pub(super) fn remembered(&self) -> usize {
        self.lists.len(PAST)
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

    pub(super) fn next_victims(&self) -> impl Iterator<Item = Slot> + '_ {
        let order = self.lists.from_tail(COLD);
        order.chain(self.lists.from_tail(HOT)).map(Slot)
    }

    pub(super) fn place(&self, slot: Slot) -> Option<u64> {
        let last = self.lists.list_of(slot.0) == HOT;
        self.stamps.of(slot).map(|s| s | u64::from(last) << 63)
    }

    pub(super) fn lists(&self, out: &mut PageLists) {
        for (list, name) in [(HOT, "LIR"), (COLD, "HIR")] {
            out.add(name, self.lists.from_head(list).map(Slot));
        }
    }

    #[cfg(feature = "conformance")]
    pub(super) fn state(&self, v: &View, out: &mut String) {
        for (list, name) in [(HOT, "S"), (COLD, " Q")] {
            out.push_str(name);
            crate::state::pages(out, v, self.lists.from_head(list).map(Slot));
        }
        out.push_str(" past");
        let past = self.lists.from_head(PAST);
        crate::state::ghosts(out, past.map(|node| self.ghosts.page(node, v)), ", ");
    }
}
