//! CFLRU: LRU, but a clean page near the LRU end leaves before a dirty one.
//!
//! Source: S. Park, D. Jung, J. Kang, J. Kim, J. Lee, CASES 2006.
//! Order: clean pages of the region from the LRU end, then all other pages from the LRU end.
//! Ties: not possible. State: the LRU list, and in it the edge of the region and a list of its
//! clean pages; accounted as 12 B per page. Cost: O(1), FLUSH O(C/x).
//!
//! Departures: none. The list of clean pages replaces the paper's scan of the region.

use crate::contract::boxed;
use crate::info::{PaperSource, ParamInfo, SchemeInfo};
use crate::lists::List;
use crate::stamps::Stamps;
use crate::{Access, Env, Expr, PageLists, Pages, Policy, RemoveReason, View, params};
use destage_types::{Op, Slot};

/// `cflru`: clean first within a window of LRU.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "cflru",
    summary: "LRU, but a clean page of the C/x pages nearest the LRU end goes first.",
    source: PaperSource {
        paper: "Park, Jung, Kang, Kim, Lee, CFLRU: a replacement algorithm for flash memory, CASES",
        year: Some(2006),
        section: "window as in ECR 4.1",
        certain: true,
    },
    params: &[CflruParams::PARAMS],
    ties: "nearest the LRU end",
    order: Some(
        "clean pages of the region from the LRU end, then all other pages from the LRU end",
    ),
    clean_aware: true,
    vectors: &["cflru"],
    build: Some(boxed::<Pages<Cflru>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`Cflru`].
    pub struct CflruParams {
        /// the clean-first region is max(1, floor(C/x)) pages; the papers sweep 1 to 6
        x: usize = ParamInfo::count(1, 3).source("ECR 4.1"),
    }
}

/// The page is in the region.
const IN_REGION: u8 = 1;
/// The page is in the list of clean pages.
const IN_CLEAN: u8 = 2;

/// Clean-first LRU.
#[derive(Clone, Debug)]
pub struct Cflru {
    /// All pages, by recency.
    pages: List,
    /// Clean pages of the region, by recency.
    clean: List,
    /// [`IN_REGION`] and [`IN_CLEAN`] of the page in each slot.
    flags: Vec<u8>,
    /// Most pages the region can have (w).
    region_size: usize,
    /// Pages of the region: min(w, length of the list).
    in_region: usize,
    /// Newest page of the region; meaningless while it is empty.
    edge: Slot,
    stamps: Stamps,
}

impl Cflru {
    /// The page next to the edge joins the region as its newest.
    #[inline]
    fn enter_region(&mut self, slot: Slot, dirty: bool) {
        self.edge = slot;
        self.in_region += 1;
        self.flags[slot.index()] = IN_REGION;
        if !dirty {
            self.flags[slot.index()] |= IN_CLEAN;
            self.clean.push_head(slot);
        }
    }

    /// Puts a page at the MRU end.
    #[inline]
    fn push(&mut self, slot: Slot, dirty: bool) {
        self.pages.push_head(slot);
        if self.in_region < self.region_size {
            self.enter_region(slot, dirty);
        } else {
            self.flags[slot.index()] = 0;
        }
    }

    /// Takes a page out; the region takes in the page next to it.
    #[inline]
    fn take(&mut self, slot: Slot, v: &View) {
        let flags = self.flags[slot.index()];
        if flags & IN_REGION == 0 {
            return self.pages.unlink(slot);
        }
        if flags & IN_CLEAN != 0 {
            self.clean.unlink(slot);
        }
        let next = self.pages.newer(self.edge);
        if self.edge == slot {
            // An empty region has no edge; `enter_region` sets it again.
            self.edge = self.pages.older(slot).unwrap_or(slot);
        }
        self.pages.unlink(slot);
        self.in_region -= 1;
        if let Some(next) = next {
            self.enter_region(next, v.frames.is_dirty(next));
        }
    }

    /// A page was written back and stays: joins the clean pages if it is in the region.
    fn clean_one(&mut self, slot: Slot) {
        if self.flags[slot.index()] != IN_REGION {
            return;
        }
        self.flags[slot.index()] |= IN_CLEAN;
        // Its neighbour among the clean pages: the first newer one, unless the region ends before.
        let newer = std::iter::successors(self.pages.newer(slot), |&s| self.pages.newer(s));
        let mut newer = newer.skip_while(|s| self.flags[s.index()] == IN_REGION);
        match newer
            .next()
            .filter(|s| self.flags[s.index()] & IN_CLEAN != 0)
        {
            Some(newer) => self.clean.insert_older(slot, newer),
            None => self.clean.push_head(slot),
        }
    }

    /// Builds the list of clean pages again from the flags.
    fn list_clean_pages(&mut self) {
        while let Some(slot) = self.clean.tail() {
            self.clean.unlink(slot);
        }
        for slot in self.pages.from_tail().take(self.in_region) {
            if self.flags[slot.index()] & IN_CLEAN != 0 {
                self.clean.push_head(slot);
            }
        }
    }
}

impl Policy for Cflru {
    fn build(expr: &Expr, env: &Env) -> Cflru {
        let CflruParams { x } = CflruParams::of(expr, env);
        let slots = env.slots as usize;
        Cflru {
            pages: List::new(slots),
            clean: List::new(slots),
            flags: vec![0; slots],
            region_size: (env.capacity as usize / x).max(1),
            in_region: 0,
            edge: Slot(0),
            stamps: Stamps::new(slots, env),
        }
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.stamps.stamp(slot);
        self.push(slot, a.op == Op::Write || v.frames.is_dirty(slot));
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        self.stamps.stamp(slot);
        if self.flags[slot.index()] & IN_REGION == 0 {
            return self.pages.move_to_head(slot);
        }
        self.take(slot, v);
        self.push(slot, a.op == Op::Write || v.frames.is_dirty(slot));
    }

    #[inline]
    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, v: &View) {
        self.take(slot, v);
    }

    fn on_clean(&mut self, slots: &[Slot], _v: &View) {
        if let &[slot] = slots {
            return self.clean_one(slot);
        }
        // Many pages, as a FLUSH has: one pass over the region instead of a search for each.
        for slot in slots {
            let flags = &mut self.flags[slot.index()];
            if *flags == IN_REGION {
                *flags |= IN_CLEAN;
            }
        }
        self.list_clean_pages();
    }

    fn next_victims<'a>(&'a self, _v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        let others = self.pages.from_tail();
        let others = others.filter(|s| self.flags[s.index()] & IN_CLEAN == 0);
        self.clean.from_tail().chain(others)
    }

    /// Dirty pages leave by recency, whether in the region or not.
    fn place(&self, slot: Slot, _v: &View) -> Option<u64> {
        self.stamps.of(slot)
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        let outside = self.pages.len() - self.in_region;
        out.add("working region", self.pages.from_head().take(outside));
        out.add("clean-first region", self.pages.from_head().skip(outside));
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        let outside = self.pages.len() - self.in_region;
        crate::state::pages(out, v, self.pages.from_head().take(outside));
        out.push_str(" | ");
        crate::state::pages(out, v, self.pages.from_head().skip(outside));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Done, Storm, TestCache};

    type Cache = TestCache<Pages<Cflru>>;

    fn cache(capacity: u32, x: u32) -> Cache {
        Cache::new(&format!("cflru(x={x})"), capacity)
    }

    /// Next victims by the scan of the paper; `recency` has the most recent page first.
    fn scan(cache: &Cache, recency: &[u64], region: usize) -> Vec<u64> {
        let clean = |&l: &u64| !cache.frames.is_dirty(cache.slot(l).unwrap());
        let oldest = recency.iter().rev().copied();
        let first: Vec<u64> = oldest.clone().take(region).filter(clean).collect();
        let rest = oldest.filter(|l| !first.contains(l));
        first.iter().copied().chain(rest).collect()
    }

    #[test]
    fn order_is_that_of_the_scan_whatever_happens() {
        for (capacity, x) in [(1, 1), (4, 2), (7, 1), (7, 3), (30, 3), (30, 40)] {
            let region = (capacity / x).max(1) as usize;
            let mut cache = cache(capacity, x);
            let (mut recency, mut left): (Vec<u64>, usize) = (Vec::new(), 0);
            let pages = 2 * u64::from(capacity) + 3;
            let storm = Storm {
                steps: 20_000,
                pages,
                seed: 17,
                passed_over: true,
            };
            cache.storm(storm, |cache, done| {
                recency.retain(|l| !cache.evicted[left..].contains(l));
                left = cache.evicted.len();
                match done {
                    Done::Access(lpn, _) => {
                        recency.retain(|&l| l != lpn);
                        recency.insert(0, lpn);
                    }
                    Done::Trim(lpn) => recency.retain(|&l| l != lpn),
                    Done::Rename(from, to, _) => {
                        recency
                            .iter_mut()
                            .filter(|l| **l == from)
                            .for_each(|l| *l = to);
                    }
                    Done::Flush => {}
                }
                assert_eq!(cache.order(), scan(cache, &recency, region), "{done:?}");
            });
            let Cflru { pages, clean, .. } = cache.scheme.policy();
            pages.validate().and(clean.validate()).unwrap();
        }
    }

    #[test]
    fn the_region_is_never_empty() {
        let region = |capacity, x| cache(capacity, x).scheme.policy().region_size;
        assert_eq!((region(2, 6), region(20, 3)), (1, 6));
    }

    #[test]
    fn a_clean_page_outside_the_region_stays() {
        let mut cache = cache(4, 2);
        cache.run("W1 W2 W3 R4 W5 F5");
        assert_eq!(
            (&cache.evicted, cache.order()),
            (&vec![1], vec![2, 3, 4, 5])
        );
        cache.run("F3");
        assert_eq!(cache.order(), [3, 2, 4, 5]);
    }
}
