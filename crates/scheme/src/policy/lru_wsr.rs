//! LRU-WSR: LRU that gives a dirty page that was hit a second chance.
//!
//! Source: Jung et al., IEEE TCE 2008; that a clean page leaves whatever its flag says is in ECR,
//! section 5. State: the LRU list and a cold flag per page, 13 B per page. Ties: not possible. Cost: O(1)
//! amortised: each page passed over is marked, and is passed over once until it is hit.
//!
//! A page that leaves as another one than the next victim has no effect on the others.

use super::second_chance;
use crate::contract::boxed;
use crate::info::{MetadataBound, PaperSource, SchemeInfo};
use crate::lists::{ListArray, Lists};
use crate::{Access, Env, Expr, PAGE_NODE_BYTES, PageLists, Pages, Policy, RemoveReason, View};
use destage_types::Slot;

/// Bytes of a node with its flag.
const NODE_BYTES: u64 = PAGE_NODE_BYTES + 1;

/// `lru-wsr`: write sequence reordering.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "lru-wsr",
    summary: "LRU that gives a dirty page that was hit a second chance.",
    source: PaperSource {
        paper: "Jung et al., LRU-WSR, IEEE TCE",
        year: Some(2008),
        section: "as described by ECR 5",
        certain: true,
    },
    ties: "none: recency is a total order",
    metadata: |_, _| Some(MetadataBound::nodes(NODE_BYTES)),
    clean_aware: true,
    vectors: &["lruwsr"],
    build: Some(boxed::<Pages<LruWsr>>),
    ..SchemeInfo::BASE
};

/// The only list.
const LRU: usize = 0;

/// LRU with write sequence reordering.
#[derive(Clone, Debug)]
pub struct LruWsr {
    pages: ListArray<1>,
    /// Was the page in this slot spared, and not hit since?
    cold: Vec<bool>,
}

impl LruWsr {
    fn spared(&self, page: u32, v: &View) -> bool {
        v.frames.is_dirty(Slot(page)) && !self.cold[page as usize]
    }
}

impl Policy for LruWsr {
    fn build(_expr: &Expr, env: &Env) -> LruWsr {
        let slots = env.slots as usize;
        LruWsr {
            pages: Lists::array(slots),
            cold: vec![false; slots],
        }
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.cold[slot.index()] = false;
        self.pages.push_head(LRU, slot.0);
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.cold[slot.index()] = false;
        self.pages.move_to_head(LRU, slot.0);
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        if reason == RemoveReason::Evicted && self.next_victim(v) == Some(slot) {
            let all = self.spared(slot.0, v);
            let mark = |page: u32| self.cold[page as usize] = true;
            second_chance::spare(&mut self.pages, LRU, slot.0, all, mark);
        }
        self.pages.unlink(slot.0);
    }

    /// The next one alone: which pages follow it depends on those that it spares.
    fn next_victim(&self, v: &View) -> Option<Slot> {
        let victim = second_chance::victim(&self.pages, LRU, |page| self.spared(page, v));
        victim.map(Slot)
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        pages * NODE_BYTES
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        out.add("pages", self.pages.from_head(LRU).map(Slot));
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        crate::state::list(out, self.pages.from_head(LRU), |out, page| {
            crate::state::page(out, v, Slot(page));
            out.push_str(if self.cold[page as usize] { "c" } else { "" });
        });
    }
}
