//! CCF-LRU: clean pages that were read once leave first, then pages that were not hit lately.
//!
//! Source: Li et al., IEEE TCE 2009. State: the cold clean list, the mixed list (LRU lists) and a cold
//! flag per page, 13 B per page. Ties: not possible. Cost: O(1) amortised, with `keep-scanning` too: what
//! the search passes over is marked or leaves the mixed list.
//!
//! The search in the mixed list meets a page that is hot and clean: it is cold and clean then, and the
//! only such page, so it leaves; with `keep-scanning` the search goes on behind it (CF-1). A page that
//! leaves as another one than the next victim has no effect on the others.

use super::second_chance;
use crate::contract::boxed;
use crate::info::{MetadataBound, PaperSource, ParamInfo, SchemeInfo};
use crate::lists::{ListArray, Lists};
use crate::{
    Access, Env, Expr, PAGE_NODE_BYTES, PageLists, Pages, Policy, RemoveReason, View, params,
};
use destage_types::{Op, Slot};

/// Bytes of a node with its flag.
const NODE_BYTES: u64 = PAGE_NODE_BYTES + 1;

/// `ccf-lru`: cold clean first.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "ccf-lru",
    summary: "Cold clean pages go first, then cold dirty ones.",
    source: PaperSource {
        paper: "Li et al., CCF-LRU, IEEE TCE",
        year: Some(2009),
        section: "",
        certain: true,
    },
    params: &[CcfLruParams::PARAMS],
    ties: "none: both lists are total orders",
    metadata: |_, _| Some(MetadataBound::nodes(NODE_BYTES)),
    clean_aware: true,
    vectors: &["ccflru"],
    build: Some(boxed::<Pages<CcfLru>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`CcfLru`].
    pub struct CcfLruParams {
        /// a hot clean page met in the scan is made cold and the scan goes on
        keep_scanning: bool = ParamInfo::flag(false).source("CF-1"),
    }
}

/// Pages that were read once and nothing else, or hot clean ones that a search passed over.
const COLD_CLEAN: usize = 0;
/// All others.
const MIXED: usize = 1;

/// Cold clean first LRU.
#[derive(Clone, Debug)]
pub struct CcfLru {
    lists: ListArray<2>,
    /// Was the page in this slot not hit, or passed over since?
    cold: Vec<bool>,
    keep_scanning: bool,
}

impl CcfLru {
    /// Does the search of the mixed list go on behind this page?
    fn spared(&self, page: u32, v: &View) -> bool {
        let stays = self.keep_scanning || v.frames.is_dirty(Slot(page));
        stays && !self.cold[page as usize]
    }

    /// The search for `victim` in the mixed list: what it passes is cold, and listed as such if it is clean.
    fn search(&mut self, victim: u32, v: &View) {
        let all = self.spared(victim, v);
        for _ in 0..self.lists.len(MIXED) {
            let Some(page) = self.lists.tail(MIXED).filter(|&page| all || page != victim) else {
                return;
            };
            self.cold[page as usize] = true;
            let list = if v.frames.is_dirty(Slot(page)) {
                MIXED
            } else {
                COLD_CLEAN
            };
            self.lists.move_to_head(list, page);
        }
    }
}

impl Policy for CcfLru {
    fn build(expr: &Expr, env: &Env) -> CcfLru {
        let slots = env.slots as usize;
        CcfLru {
            lists: Lists::array(slots),
            cold: vec![true; slots],
            keep_scanning: CcfLruParams::of(expr, env).keep_scanning,
        }
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        let dirty = a.op == Op::Write || v.frames.is_dirty(slot);
        let list = if dirty { MIXED } else { COLD_CLEAN };
        self.cold[slot.index()] = true;
        self.lists.push_head(list, slot.0);
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.cold[slot.index()] = false;
        self.lists.move_to_head(MIXED, slot.0);
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        let searched = reason == RemoveReason::Evicted && self.lists.list_of(slot.0) == MIXED;
        if searched && self.next_victim(v) == Some(slot) {
            self.search(slot.0, v);
        }
        self.lists.unlink(slot.0);
    }

    /// The next one alone: which pages follow it depends on those that the search passes.
    fn next_victim(&self, v: &View) -> Option<Slot> {
        let dirty = |page: &u32| v.frames.is_dirty(Slot(*page));
        let mixed = || {
            let found = second_chance::victim(&self.lists, MIXED, |page| self.spared(page, v))?;
            // All were hot: those that are clean left the list, and the dirty ones come first.
            let all = self.spared(found, v);
            let dirty = self.lists.from_tail(MIXED).find(dirty);
            Some(dirty.filter(|_| all).unwrap_or(found))
        };
        self.lists.tail(COLD_CLEAN).or_else(mixed).map(Slot)
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        pages * NODE_BYTES
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        for (list, name) in [(COLD_CLEAN, "cold clean"), (MIXED, "mixed")] {
            out.add(name, self.lists.from_head(list).map(Slot));
        }
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        for (list, name) in [(COLD_CLEAN, "CCL"), (MIXED, " ML")] {
            out.push_str(name);
            crate::state::list(out, self.lists.from_head(list), |out, page| {
                crate::state::page(out, v, Slot(page));
                out.push_str(if self.cold[page as usize] { "c" } else { "h" });
            });
        }
    }
}
