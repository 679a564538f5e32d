//! W-TinyLFU: new pages pass through a small LRU window; the page that leaves it enters the main part only
//! if it was accessed more often lately than the page that would have to go.
//!
//! Source: Einziger, Friedman, Manes, ACM TOS 2017. State: the window, and the main part as a segmented
//! LRU of probation and protected pages, 12 B per page; a count-min sketch of the accesses of all pages,
//! 2 B per page of the cache, rounded up to a power of two. Ties: equal frequency: the page of the window
//! leaves. Cost: O(1), and the sketch is halved after ten accesses per page, then after every five (WT-3).
//!
//! Where the paper is silent:
//! - The sketch counts addresses: a rename takes no counts along (WT-1).
//! - Where the cache has no room although the window has, as under layers that use frames of their own,
//!   the main part gives a page.
//!
//! libCacheSim has other rules, so its hits are others: its sketch is halved after 32 accesses per page; it
//! counts no hit in the window, a miss only after the duel that it leads to, and each candidate once more.

use super::frequency_sketch::{FrequencySketch, Increment};
use crate::contract::boxed;
use crate::info::{MetadataBound, MinCapacity, PaperSource, ParamInfo, Range, SchemeInfo, Words};
use crate::lists::{ListArray, Lists};
use crate::{
    Access, Env, Expr, PAGE_NODE_BYTES, PageLists, Pages, Policy, RemoveReason, SchemeStats, View,
    params,
};
use destage_types::{Lpn, Slot};
#[cfg(feature = "conformance")]
use std::collections::BTreeMap;

/// `w-tinylfu`: window and frequency duel.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "w-tinylfu",
    summary: "A small LRU window; a page that leaves it must beat the main victim's frequency.",
    source: PaperSource {
        paper: "Einziger, Friedman, Manes, TinyLFU, ACM TOS",
        year: Some(2017),
        section: "",
        certain: true,
    },
    params: &[WTinyLfuParams::PARAMS],
    ties: "equal frequency: the candidate goes",
    min_capacity: MinCapacity::Frames(2),
    metadata: |_, c| {
        let sketch = FrequencySketch::bytes(c.frames);
        Some(MetadataBound::nodes(PAGE_NODE_BYTES).and_entries(sketch, 1))
    },
    vectors: &["wtlfu"],
    build: Some(boxed::<Pages<WTinyLfu>>),
    hashes: true,
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`WTinyLfu`].
    pub struct WTinyLfuParams {
        /// size of the window, at least 1 page
        window: f64 = ParamInfo::real(Range::UNIT_INSIDE, 0.01).unit("fraction of C").source("paper"),
        /// size of the protected segment
        protected: f64 = ParamInfo::real(Range::UNIT, 0.8).unit("fraction of main").source("paper"),
        /// counters of the sketch that an access increments: the smallest of a page, or all four
        increment: Increment = ParamInfo::word(Increment::WORDS).source("WT-2"),
    }
}

/// New pages.
const WINDOW: usize = 0;
/// Pages of the main part that were not hit there.
const PROBATION: usize = 1;
/// Pages of the main part that were.
const PROTECTED: usize = 2;

/// Window TinyLFU.
#[derive(Clone, Debug)]
pub struct WTinyLfu {
    lists: ListArray<3>,
    sketch: FrequencySketch,
    /// True counts in place of the sketch.
    #[cfg(feature = "conformance")]
    exact: Option<BTreeMap<Lpn, u64>>,
    window: usize,
    protected: usize,
}

impl WTinyLfu {
    fn count(&mut self, lpn: Lpn) {
        self.sketch.count(lpn);
        #[cfg(feature = "conformance")]
        if let Some(exact) = &mut self.exact {
            *exact.entry(lpn).or_default() += 1;
        }
    }

    fn frequency(&self, lpn: Lpn) -> u64 {
        #[cfg(feature = "conformance")]
        if let Some(exact) = &self.exact {
            return exact.get(&lpn).copied().unwrap_or(0);
        }
        self.sketch.estimate(lpn).into()
    }

    fn tail(&self, list: usize) -> Option<Slot> {
        self.lists.tail(list).map(Slot)
    }
}

impl Policy for WTinyLfu {
    fn build(expr: &Expr, env: &Env) -> WTinyLfu {
        let WTinyLfuParams {
            window,
            protected,
            increment,
        } = WTinyLfuParams::of(expr, env);
        let capacity = env.capacity as usize;
        let window = ((window * capacity as f64) as usize).max(1);
        let main = capacity.saturating_sub(window);
        WTinyLfu {
            lists: Lists::array(env.slots as usize),
            sketch: FrequencySketch::new(env.capacity, increment),
            #[cfg(feature = "conformance")]
            exact: env.exact_counts.then(BTreeMap::new),
            window,
            protected: (protected * main as f64) as usize,
        }
    }

    #[inline]
    fn on_miss(&mut self, a: &Access, _v: &View) {
        self.count(a.lpn);
    }

    /// A page beyond the length of the window moves to probation: room was made for it.
    #[inline]
    fn on_insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.lists.push_head(WINDOW, slot.0);
        if self.lists.len(WINDOW) > self.window
            && let Some(oldest) = self.lists.tail(WINDOW)
        {
            self.lists.move_to_head(PROBATION, oldest);
        }
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, a: &Access, _v: &View) {
        self.count(a.lpn);
        let list = self.lists.list_of(slot.0);
        if list != PROBATION {
            return self.lists.move_to_head(list, slot.0);
        }
        self.lists.move_to_head(PROTECTED, slot.0);
        if self.lists.len(PROTECTED) > self.protected
            && let Some(oldest) = self.lists.tail(PROTECTED)
        {
            self.lists.move_to_head(PROBATION, oldest);
        }
    }

    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        self.lists.unlink(slot.0);
    }

    /// The page that leaves so that one can enter the window.
    ///
    /// The next one alone: which pages follow it depends on what is accessed until then.
    fn next_victim(&self, v: &View) -> Option<Slot> {
        let pushed_out = self.lists.len(WINDOW) >= self.window;
        let candidate = self.tail(WINDOW).filter(|_| pushed_out);
        let victim = self.tail(PROBATION).or_else(|| self.tail(PROTECTED));
        match (candidate, victim) {
            (Some(candidate), Some(victim)) => {
                let [a, b] = [candidate, victim].map(|s| self.frequency(v.frames.lpn(s)));
                Some(if a > b { victim } else { candidate })
            }
            _ => candidate.or(victim).or_else(|| self.tail(WINDOW)),
        }
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        pages * PAGE_NODE_BYTES + self.sketch.size()
    }

    fn stats(&self, out: &mut SchemeStats) {
        let names = ["window_pages", "probation_pages", "protected_pages"];
        for (list, name) in names.into_iter().enumerate() {
            out.gauge(name, self.lists.len(list) as u64);
        }
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        for (list, name) in [
            (WINDOW, "window"),
            (PROBATION, "probation"),
            (PROTECTED, "protected"),
        ] {
            out.add(name, self.lists.from_head(list).map(Slot));
        }
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        for (list, name) in [(WINDOW, "W"), (PROBATION, " Prob"), (PROTECTED, " Prot")] {
            out.push_str(name);
            crate::state::pages(out, v, self.lists.from_head(list).map(Slot));
        }
        // Of the sketch what it says of cached pages; true counts are there of all.
        let mut pages: Vec<Lpn> = match &self.exact {
            Some(exact) => exact.keys().copied().collect(),
            None => {
                let lists = [WINDOW, PROBATION, PROTECTED].into_iter();
                let pages = lists.flat_map(|list| self.lists.from_head(list));
                pages.map(|page| v.frames.lpn(Slot(page))).collect()
            }
        };
        pages.sort_unstable();
        let counts = pages
            .iter()
            .map(|&lpn| format!("{lpn}:{}", self.frequency(lpn)));
        let counts: Vec<String> = counts.collect();
        out.push_str(&format!(" freq{{{}}}", counts.join(" ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Storm, TestCache, env};

    type Cache = TestCache<Pages<WTinyLfu>>;

    /// A cache of 4 pages that counts one by one.
    fn exact() -> Cache {
        let env = Env {
            exact_counts: true,
            ..env(4, 8, 1)
        };
        Cache::with("w-tinylfu", &env)
    }

    #[test]
    fn a_new_page_must_have_been_accessed_more_often() {
        let mut cache = exact();
        cache.run("W0-3 W20 W21 W22");
        assert_eq!(
            cache.evicted,
            [3, 20, 21],
            "equally often: the newer one goes"
        );
        cache.run("R3 R22 R22 W30");
        assert_eq!(
            cache.evicted[3..],
            [22, 0, 1],
            "3 beats page 0, and 22 page 1"
        );
    }

    #[test]
    fn wt_1_a_rename_takes_no_counts_along() {
        let mut cache = exact();
        cache.run("W1-4 R4 R4");
        cache.rename(4, 9);
        let state = cache.state();
        assert!(state.starts_with("W[9*] Prob[3* 2* 1*] Prot[]"), "{state}");
        cache.run("W5");
        assert_eq!(cache.evicted, [9], "page 1 was accessed once, page 9 never");
    }

    #[test]
    fn hits_in_the_main_part_protect_and_protection_has_an_end() {
        let mut cache = Cache::new("w-tinylfu(protected=0.5)", 5);
        cache.run("W1-5 R1 R2 R3");
        let state = cache.state();
        assert!(
            state.starts_with("W[5*] Prob[1* 4*] Prot[3* 2*]"),
            "{state}"
        );
        let mut cache = Cache::new("w-tinylfu(protected=0)", 4);
        cache.run("W1-4 R1 R2");
        let state = cache.state();
        assert!(state.starts_with("W[4*] Prob[2* 1* 3*] Prot[]"), "{state}");
    }

    #[test]
    fn segments_keep_their_sizes_whatever_happens() {
        for (capacity, window, protected) in [(2, 0.01, 0.8), (9, 0.5, 0.4), (30, 0.1, 1.0)] {
            let text = format!("w-tinylfu(window={window},protected={protected})");
            let mut cache = Cache::new(&text, capacity);
            let storm = Storm {
                steps: 20_000,
                pages: 4 * u64::from(capacity),
                seed: 7,
                passed_over: false,
            };
            cache.storm(storm, |cache, done| {
                let policy = cache.scheme.policy();
                let [window, probation, protected] = policy.lists.lens();
                let main = capacity as usize - policy.window;
                assert!(
                    window <= policy.window && probation + protected <= main,
                    "{done:?}"
                );
                assert!(protected <= policy.protected, "{done:?}");
            });
        }
    }
}
