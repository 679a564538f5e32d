//! FIFO: the page that was inserted longest ago leaves first; hits change nothing.
//!
//! State: one list, newest first; 12 B per page. Ties: not possible. Cost: O(1).

use crate::contract::boxed;
use crate::info::{PaperSource, SchemeInfo};
use crate::lists::List;
use crate::stamps::Stamps;
use crate::{Access, Env, Expr, Pages, Policy, RemoveReason, View};
use destage_types::Slot;

/// `fifo`: oldest first.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "fifo",
    summary: "Evicts in the order of insertion; hits do not move pages.",
    source: PaperSource::CLASSIC,
    ties: "none: insertion is a total order",
    order: Some("tail to head"),
    vectors: &["fifo"],
    build: Some(boxed::<Pages<Fifo>>),
    ..SchemeInfo::BASE
};

/// First in, first out.
#[derive(Clone, Debug)]
pub struct Fifo {
    list: List,
    stamps: Stamps,
}

impl Policy for Fifo {
    fn build(_expr: &Expr, env: &Env) -> Fifo {
        let slots = env.slots as usize;
        Fifo {
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
    fn on_hit(&mut self, _slot: Slot, _a: &Access, _v: &View) {}

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
