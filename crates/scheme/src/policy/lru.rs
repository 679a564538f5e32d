//! LRU: the page that was accessed longest ago leaves first.
//!
//! State: one list, newest first; 12 B per page (Req-block section 4.2.5). Ties: not possible.
//! Cost: O(1).

use crate::list::OneList;
use crate::registry::Build;
use crate::{Access, Env, Expr, Scheme, View, Why};
use destage_types::{Lpn, Slot};

/// Bytes of a page node (Req-block section 4.2.5).
pub(crate) const PAGE_NODE_BYTES: u64 = 12;

/// Least recently used.
#[derive(Clone, Debug)]
pub struct Lru {
    list: OneList,
}

impl Lru {
    /// For a cache of `capacity` pages.
    pub fn new(capacity: usize) -> Lru {
        Lru {
            list: OneList::one(capacity),
        }
    }
}

impl Build for Lru {
    fn build(_expr: &Expr, env: &Env) -> Lru {
        Lru::new(env.slots as usize)
    }
}

impl Scheme for Lru {
    fn rename(&mut self, _from: Lpn, _to: Lpn, slot: Option<Slot>, _v: &View) -> bool {
        slot.is_some()
    }

    #[inline]
    fn insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.list.push_head(0, slot.0);
    }

    #[inline]
    fn touch(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.list.move_to_head(0, slot.0);
    }

    #[inline]
    fn remove(&mut self, slot: Slot, _why: Why, _v: &View) {
        self.list.unlink(0, slot.0);
    }

    #[inline]
    fn size(&self) -> usize {
        self.list.len(0)
    }

    #[inline]
    fn page_victim(&mut self, _a: &Access, _v: &View) -> Option<Slot> {
        self.list.tail(0).map(Slot)
    }

    fn candidates(&self, _v: &View, f: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        self.list.from_tail(0).map(Slot).find(|&s| f(s))
    }

    fn meta_bytes(&self) -> u64 {
        self.size() as u64 * PAGE_NODE_BYTES
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        crate::state::pages(out, v, self.list.from_head(0).map(Slot));
    }
}
