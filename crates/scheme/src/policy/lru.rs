//! LRU: the page that was accessed longest ago leaves first.
//!
//! State: one list, newest first; 12 B per page. Ties: not possible. Cost: O(1).

use crate::contract::boxed;
use crate::info::{PaperSource, SchemeInfo};
use crate::lists::List;
use crate::stamps::Stamps;
use crate::{Access, Env, Expr, Pages, Policy, RemoveReason, View};
use destage_types::Slot;

/// `lru`: least recently used first.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "lru",
    summary: "Evicts the page that has not been read or written for the longest time.",
    source: PaperSource::CLASSIC,
    ties: "none: recency is a total order",
    order: Some("tail to head"),
    recency_stack: true,
    vectors: &["lru"],
    build: Some(boxed::<Pages<Lru>>),
    ..SchemeInfo::BASE
};

/// Least recently used.
#[derive(Clone, Debug)]
pub struct Lru {
    list: List,
    stamps: Stamps,
}

impl Policy for Lru {
    fn build(_expr: &Expr, env: &Env) -> Lru {
        let slots = env.slots as usize;
        Lru {
            list: List::new(slots),
            stamps: Stamps::new(slots, env),
        }
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.list.push_head(slot);
        self.stamps.stamp(slot);
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.list.move_to_head(slot);
        self.stamps.stamp(slot);
    }

    #[inline]
    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        self.list.unlink(slot);
    }

    fn next_victims<'a>(&'a self, _v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        self.list.from_tail()
    }

    fn place(&self, slot: Slot, _v: &View) -> Option<u64> {
        self.stamps.of(slot)
    }
}
