//! AD-LRU: pages used once and pages used again in two LRU lists; clean pages leave first.
//!
//! Source: Jin, Ou, Haerder, Li, Data & Knowledge Engineering, 2012; the default of `min-lc` is one of the
//! values that the paper tries. State: both lists, and in each of them a list of its clean pages, a
//! reference bit per page; accounted as 13 B per page. Ties: not possible. Cost: O(1) amortised, FLUSH O(C).
//!
//! A page that leaves as another one than the next victim has no effect on the others.
//!
//! Departures: none. The lists of clean pages replace the paper's scan.

use super::second_chance;
use crate::contract::boxed;
use crate::info::{MetadataBound, PaperSource, ParamInfo, Range, SchemeInfo};
use crate::lists::{ListArray, Lists};
use crate::{
    Access, Env, Expr, PAGE_NODE_BYTES, PageLists, Pages, Policy, RemoveReason, View, params,
};
use destage_types::{Op, Slot};

/// Bytes of a node with its bit.
const NODE_BYTES: u64 = PAGE_NODE_BYTES + 1;

/// `ad-lru`: adaptive double LRU.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "ad-lru",
    summary: "Cold and hot LRU lists; clean pages first, dirty ones get a second chance.",
    source: PaperSource {
        paper: "Jin, Ou, Haerder, Li, AD-LRU, Data & Knowledge Engineering",
        year: Some(2012),
        section: "",
        certain: true,
    },
    params: &[AdLruParams::PARAMS],
    ties: "none: both lists are total orders",
    metadata: |_, _| Some(MetadataBound::nodes(NODE_BYTES)),
    clean_aware: true,
    vectors: &["adlru"],
    build: Some(boxed::<Pages<AdLru>>),
    // A hit page may go to the list that pays.
    hit_leaves_next: true,
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`AdLru`].
    pub struct AdLruParams {
        /// victims come from the cold list while it is longer than this
        min_lc: f64 = ParamInfo::real(Range::UNIT, 0.1)
            .unit("fraction of C")
            .source("AD-1"),
    }
}

/// Pages accessed once.
const COLD: usize = 0;
/// Pages accessed again.
const HOT: usize = 1;

/// Adaptive double LRU.
#[derive(Clone, Debug)]
pub struct AdLru {
    pages: ListArray<2>,
    /// The clean ones of each list, in the same order.
    clean: ListArray<2>,
    /// Was the page in this slot accessed since a search passed it?
    referenced: Vec<bool>,
    /// Most pages the cold list keeps while there are hot ones.
    cold_kept: usize,
}

impl AdLru {
    fn victim_list(&self) -> usize {
        if self.pages.len(COLD) > self.cold_kept || self.pages.is_empty(HOT) {
            COLD
        } else {
            HOT
        }
    }

    fn spared(&self, page: u32) -> bool {
        self.referenced[page as usize]
    }

    fn is_clean(&self, page: u32) -> bool {
        self.clean.list_of(page) < self.clean.lists()
    }

    fn leave(&mut self, slot: Slot) {
        self.pages.unlink(slot.0);
        if self.is_clean(slot.0) {
            self.clean.unlink(slot.0);
        }
    }

    fn enter(&mut self, list: usize, slot: Slot, dirty: bool) {
        self.referenced[slot.index()] = true;
        self.pages.push_head(list, slot.0);
        if !dirty {
            self.clean.push_head(list, slot.0);
        }
    }

    /// Lists a page among the clean ones, behind the next newer one of them.
    fn list_clean(&mut self, page: u32) {
        let list = self.pages.list_of(page);
        let mut newer = std::iter::successors(self.pages.newer(page), |&n| self.pages.newer(n));
        match newer.find(|&n| self.is_clean(n)) {
            Some(newer) => self.clean.insert_older(page, newer),
            None => self.clean.push_head(list, page),
        }
    }
}

impl Policy for AdLru {
    fn build(expr: &Expr, env: &Env) -> AdLru {
        let slots = env.slots as usize;
        let AdLruParams { min_lc } = AdLruParams::of(expr, env);
        AdLru {
            pages: Lists::array(slots),
            clean: Lists::array(slots),
            referenced: vec![false; slots],
            cold_kept: (min_lc * f64::from(env.capacity)) as usize,
        }
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.enter(COLD, slot, a.op == Op::Write || v.frames.is_dirty(slot));
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        self.leave(slot);
        self.enter(HOT, slot, a.op == Op::Write || v.frames.is_dirty(slot));
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        let searched = reason == RemoveReason::Evicted && !self.is_clean(slot.0);
        if searched && self.next_victim(v) == Some(slot) {
            let (list, all) = (self.victim_list(), self.spared(slot.0));
            let mark = |page: u32| self.referenced[page as usize] = false;
            second_chance::spare(&mut self.pages, list, slot.0, all, mark);
        }
        self.leave(slot);
    }

    fn on_clean(&mut self, slots: &[Slot], v: &View) {
        if let &[slot] = slots {
            if !self.is_clean(slot.0) {
                self.list_clean(slot.0);
            }
            return;
        }
        // Many pages, as a FLUSH has: one pass over the lists instead of a search for each.
        for list in [COLD, HOT] {
            while let Some(page) = self.clean.tail(list) {
                self.clean.unlink(page);
            }
            let clean = |page: &u32| !v.frames.is_dirty(Slot(*page));
            for page in self.pages.from_tail(list).filter(clean) {
                self.clean.push_head(list, page);
            }
        }
    }

    /// The next one alone: which pages follow it depends on the length of the cold list.
    fn next_victim(&self, _v: &View) -> Option<Slot> {
        let list = self.victim_list();
        let dirty = || second_chance::victim(&self.pages, list, |page| self.spared(page));
        self.clean.tail(list).or_else(dirty).map(Slot)
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        pages * NODE_BYTES
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        for (list, name) in [(COLD, "cold"), (HOT, "hot")] {
            out.add(name, self.pages.from_head(list).map(Slot));
        }
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        for (list, name) in [(COLD, "cold"), (HOT, " hot")] {
            out.push_str(name);
            crate::state::list(out, self.pages.from_head(list), |out, page| {
                crate::state::page(out, v, Slot(page));
                out.push_str(if self.spared(page) { "r" } else { "" });
            });
        }
    }
}
