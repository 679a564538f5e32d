//! ARC: balances pages seen once and pages seen again by the hits on pages that just left.
//!
//! Source: N. Megiddo, D. Modha, FAST 2003, Fig. 4; its cases I to IV are named below. The target p is
//! a real number, updated with + - * / only.
//! Order: the list REPLACE would take from, tail to head, then the other one, tail to head.
//! Ties: |T1| = p takes from T2, unless the page that comes in is in B2.
//! State: lists T1, T2 (12 B per page), ghost lists B1, B2 (8 B per entry by default); |T1|+|B1| <= C
//! and at most 2C pages in all after every insertion. Cost: O(1).
//!
//! Departures: none for whole pages. Adaptation runs in `on_miss`, REPLACE in `victim`, and ghosts
//! are dropped after `on_insert` instead of before REPLACE, with the same result; so TRIM, several
//! evictions for one insertion, and another victim than the first one leave the bounds intact.

use crate::contract::boxed;
use crate::info::{MetadataBound, PaperSource, ParamInfo, SchemeInfo};
use crate::lists::{ListArray, Lists};
use crate::stamps::Stamps;
use crate::{
    Access, Env, Expr, Ghosts, PAGE_NODE_BYTES, PageLists, Pages, Policy, RemoveReason, View,
    params,
};
use destage_types::{Lpn, Slot};

/// `arc`: adaptive balance of recency and frequency.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "arc",
    summary: "Two lists, seen once and seen again, whose sizes adapt to hits on evicted pages.",
    source: PaperSource {
        paper: "Megiddo, Modha, ARC: A Self-Tuning, Low Overhead Replacement Cache, FAST",
        year: Some(2003),
        section: "Fig. 4",
        certain: true,
    },
    params: &[ArcParams::PARAMS],
    ties: "none: REPLACE is a total rule",
    order: Some("the list REPLACE would take from, tail to head, then the other list tail to head"),
    // |T1| + |B1| <= C and pages and ghosts <= 2C at every insertion: C ghosts beside C pages, more
    // while pages are missing.
    metadata: |e, c| {
        let bytes = e.uint("ghost-bytes");
        let dear = bytes > PAGE_NODE_BYTES;
        let ghosts = if c.shares || c.batches && dear {
            c.frames.saturating_mul(2)
        } else {
            c.frames.saturating_add(u64::from(dear))
        };
        Some(MetadataBound::nodes(PAGE_NODE_BYTES).and_entries(ghosts, bytes))
    },
    // REPLACE looks at the page that comes in.
    victim_is_known: |_| false,
    // A hit page goes to T2, which pays while T1 is not above its target.
    hit_leaves_next: true,
    vectors: &["arc"],
    build: Some(boxed::<Pages<Arc>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`Arc`].
    pub struct ArcParams {
        /// metadata charged per remembered page
        ghost_bytes: u64 = ParamInfo::count(0, 8).unit("bytes").source("measured baselines"),
    }
}

/// Pages seen once.
const T1: usize = 0;
/// Pages seen again.
const T2: usize = 1;
/// Ghosts of T1.
const B1: usize = 2;
/// Ghosts of T2.
const B2: usize = 3;

/// Adaptive replacement cache.
#[derive(Clone, Debug)]
pub struct Arc {
    lists: ListArray<4>,
    ghosts: Ghosts,
    capacity: usize,
    p: f64,
    /// Largest whole number that is not above p, and whether it is p: to compare with sizes.
    p_floor: usize,
    p_is_whole: bool,
    /// B1 or B2 if the page that is about to come in was there.
    from: Option<usize>,
    /// Metadata charged per ghost.
    ghost_bytes: u64,
    stamps: Stamps,
}

impl Arc {
    /// Page x is not cached: cases II and III move the target p towards the list whose ghost came
    /// back, by as much as the other ghost list is longer. Case IV, which drops ghosts, follows the
    /// insertion.
    #[inline(always)]
    fn adapt(&mut self, x: &Access, v: &View) {
        let [_, _, b1, b2] = self.lists.lens().map(|len| len as f64);
        self.from = self.ghosts.take(x, v).map(|node| {
            let list = self.lists.list_of(node);
            self.lists.unlink(node);
            list
        });
        match self.from {
            Some(B1) => self.set_p(self.p + (b2 / b1).max(1.0)),
            Some(_) => self.set_p(self.p - (b1 / b2).max(1.0)),
            None => {}
        }
    }

    fn set_p(&mut self, p: f64) {
        self.p = p.clamp(0.0, self.capacity as f64);
        self.p_floor = self.p as usize;
        self.p_is_whole = self.p_floor as f64 == self.p;
    }

    /// The list from which REPLACE takes, which has a page if one of them has. Without branches: which one it is cannot be guessed.
    #[inline(always)]
    fn replace(&self) -> usize {
        // REPLACE of Fig. 4: T1 gives above p, and at p too for a page of B2; if T2 is empty it must.
        let [t1, t2, ..] = self.lists.lens();
        let at_p = (self.from == Some(B2)) & (t1 == self.p_floor) & self.p_is_whole;
        let over = (t1 > self.p_floor) | at_p;
        [T2, T1][usize::from((t1 > 0) & (over | (t2 == 0)))]
    }

    /// Case IV with |T1| = C: the tail of T1 leaves for good, because the bound on L1 leaves no place
    /// in B1.
    #[inline(always)]
    fn leaves_for_good(&self, slot: Slot) -> bool {
        self.lists.len(T1) >= self.capacity
            && self.from.is_none()
            && self.lists.tail(T1) == Some(slot.0)
    }

    /// Drops the oldest ghosts of T1 beyond C pages of L1, then those of T2 beyond 2C pages in all.
    #[inline(always)]
    fn drop_ghosts(&mut self) {
        // B1 first: the bound on L1 is the stricter one, and keeping it may restore the one on both.
        loop {
            let [t1, t2, b1, b2] = self.lists.lens();
            let too_many_of_t1 = (t1 + b1 > self.capacity) & (b1 > 0);
            let too_many = (t1 + t2 + b1 + b2 > 2 * self.capacity) & (b2 > 0);
            if !(too_many_of_t1 | too_many) {
                return;
            }
            if let Some(oldest) = self.lists.tail(if too_many_of_t1 { B1 } else { B2 }) {
                self.lists.unlink(oldest);
                self.ghosts.forget(oldest);
            }
        }
    }
}

impl Policy for Arc {
    fn build(expr: &Expr, env: &Env) -> Arc {
        let capacity = env.capacity as usize;
        // 2C after an insertion, and one more before it.
        let ghosts = Ghosts::new(2 * capacity + 1, env);
        let stamps = Stamps::new(ghosts.nodes(), env);
        Arc {
            lists: Lists::array(ghosts.nodes()),
            ghosts,
            capacity,
            p: 0.0,
            p_floor: 0,
            p_is_whole: true,
            from: None,
            ghost_bytes: ArcParams::of(expr, env).ghost_bytes,
            stamps,
        }
    }

    #[inline(always)]
    fn on_miss(&mut self, x: &Access, v: &View) {
        self.adapt(x, v);
    }

    #[inline(always)]
    fn on_insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
        let seen_again = self.from.take().is_some();
        self.lists
            .push_head(if seen_again { T2 } else { T1 }, slot.0);
        self.stamps.stamp(slot);
        self.drop_ghosts();
    }

    #[inline(always)]
    fn on_hit(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.lists.move_to_head(T2, slot.0); // case I
        self.stamps.stamp(slot);
    }

    #[inline(always)]
    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        if reason == RemoveReason::Discarded || self.leaves_for_good(slot) {
            return self.lists.unlink(slot.0);
        }
        let ghosts_of_list = B1 + self.lists.list_of(slot.0);
        let node = self.ghosts.remember(slot, v);
        if node == slot.0 {
            return self.lists.move_to_head(ghosts_of_list, node);
        }
        self.lists.unlink(slot.0);
        self.lists.reserve(self.ghosts.nodes());
        self.lists.push_head(ghosts_of_list, node);
    }

    /// The first of the next ones, without making up their order.
    #[inline(always)]
    fn victim(&mut self, _a: &Access, _v: &View) -> Option<Slot> {
        self.lists.tail(self.replace()).map(Slot)
    }

    fn next_victims<'a>(&'a self, _v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        let first = self.replace();
        let second = if first == T1 { T2 } else { T1 };
        let order = self.lists.from_tail(first);
        order.chain(self.lists.from_tail(second)).map(Slot)
    }

    fn place(&self, slot: Slot, _v: &View) -> Option<u64> {
        let second = self.lists.list_of(slot.0) != self.replace();
        self.stamps.of(slot).map(|s| s | u64::from(second) << 63)
    }

    crate::remembers!(ghosts);

    /// Also ends what `on_miss` began: a page whose history is forgotten comes in as a new one,
    /// if it comes in at all.
    fn forget(&mut self, lpn: Lpn, v: &View) {
        self.from = None;
        self.ghosts.forget_page(&mut self.lists, lpn, v);
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        let ghosts = self.lists.len(B1) + self.lists.len(B2);
        pages * PAGE_NODE_BYTES + ghosts as u64 * self.ghost_bytes
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        for (list, name) in [(T1, "T1"), (T2, "T2")] {
            out.add(name, self.lists.from_head(list).map(Slot));
        }
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        use std::fmt::Write;
        for (list, name) in [(T1, "T1"), (T2, " T2")] {
            out.push_str(name);
            crate::state::pages(out, v, self.lists.from_head(list).map(Slot));
        }
        for (list, name) in [(B1, " B1"), (B2, " B2")] {
            out.push_str(name);
            let ghosts = self.lists.from_head(list);
            crate::state::ghosts(out, ghosts.map(|node| self.ghosts.page(node, v)), " ");
        }
        write!(out, " p={}", self.p).expect("writing to a string cannot fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Done, Storm, TestCache, env};

    type Cache = TestCache<Pages<Arc>>;

    fn cache(capacity: u32, requests: &str) -> Cache {
        let mut cache = Cache::new("arc", capacity);
        cache.run(requests);
        cache
    }

    fn in_slots(capacity: u32, ghosts_in_slots: bool) -> Cache {
        let env = Env {
            ghosts_in_slots,
            ..env(capacity, 8, 1)
        };
        Cache::with("arc", &env)
    }

    /// Pages remembered in `list`.
    fn ghosts(cache: &Cache, list: usize) -> Vec<u64> {
        let (arc, v) = (cache.scheme.policy(), cache.view());
        arc.lists
            .from_head(list)
            .map(|n| arc.ghosts.page(n, &v).0)
            .collect()
    }

    #[test]
    fn bounds_and_the_rule_of_p_hold_whatever_happens() {
        let mut fractions = 0;
        for (capacity, passed_over, keep) in [
            (1, false, true),
            (2, true, true),
            (5, false, false),
            (16, true, true),
            (16, true, false),
            (33, false, true),
        ] {
            let (c, mut cache) = (capacity as usize, in_slots(capacity, keep));
            let (mut known, mut p) = ([vec![], vec![]], 0.0f64);
            let storm = Storm {
                steps: 30_000,
                pages: 4 * c as u64 + 2,
                seed: 9,
                passed_over,
            };
            cache.storm(storm, |cache, done| {
                let arc = cache.scheme.policy();
                let [t1, t2, b1, b2] = arc.lists.lens();
                assert!(t1 + b1 <= c && t1 + t2 + b1 + b2 <= 2 * c, "{done:?}");
                let cached = |l: u64| cache.slot(l).is_some();
                // The sizes before the access count.
                if let Done::Access(lpn, false) = done {
                    let [n1, n2] = known.each_ref().map(|ghosts| ghosts.len() as f64);
                    match known.each_ref().map(|ghosts| ghosts.contains(&lpn)) {
                        [true, _] => p += (n2 / n1).max(1.0),
                        [_, true] => p -= (n1 / n2).max(1.0),
                        _ => {}
                    }
                    p = p.clamp(0.0, c as f64);
                }
                assert_eq!(arc.p, p, "{done:?}");
                fractions += u32::from(p.fract() > 0.0);
                known = [B1, B2].map(|list| ghosts(cache, list));
                assert!(!known.iter().flatten().any(|&l| cached(l)), "{done:?}");
                let pages = [T1, T2].map(|list| arc.lists.from_head(list).map(Slot));
                let pages = pages.into_iter().flatten();
                assert!(cache.lpns(pages).into_iter().all(cached), "{done:?}");
            });
            cache.scheme.policy().lists.validate().unwrap();
        }
        assert!(fractions > 0, "p is a real number");
    }

    #[test]
    fn a_full_t1_forgets_its_tail() {
        let mut cache = cache(3, "W1 W2 W3 W4 W5");
        assert_eq!(cache.state(), "T1[5* 4* 3*] T2[] B1[] B2[] p=0");
        // Nothing is inserted in the place of 3, so nothing would drop its ghost either.
        cache.make_room();
        assert_eq!(cache.state(), "T1[5* 4*] T2[] B1[] B2[] p=0");
        cache.make_room();
        let remembered = "T1[5*] T2[] B1[4] B2[] p=0";
        assert_eq!(cache.state(), remembered, "|T1| < C: REPLACE remembers");
    }

    #[test]
    fn a_page_that_was_passed_over_to_is_remembered_in_its_own_list() {
        let mut cache = cache(4, "W1 W2 W1 W2 W3 W4");
        assert_eq!(cache.order(), [3, 4, 1, 2]);
        cache.pick = 2;
        cache.write(5);
        assert_eq!((cache.evicted[0], ghosts(&cache, B2)), (1, vec![1]));
    }

    #[test]
    fn adaptation_runs_once_and_uses_the_sizes_before() {
        let mut cache = cache(4, "W1 W2 W3 W1 W2 W4 W5 W6");
        assert_eq!(cache.state(), "T1[6* 5*] T2[2* 1*] B1[4 3] B2[] p=0");
        cache.write(3);
        assert!(cache.state().ends_with("p=1"), "max(1, 0/2)");
        assert!(cache.state().contains("T2[3*"));
        // Room for several pages, or none at all, changes nothing in p.
        cache.make_room();
        cache.run("T3 W9");
        assert!(cache.state().ends_with("p=1"));
    }

    #[test]
    fn ghosts_in_slots_and_apart_are_the_same() {
        for capacity in [1, 3, 16] {
            let runs = [true, false].map(|keep| {
                let (mut cache, mut states) = (in_slots(capacity, keep), Vec::new());
                let pages = 4 * u64::from(capacity) + 2;
                let storm = Storm {
                    steps: 20_000,
                    pages,
                    seed: 11,
                    passed_over: true,
                };
                cache.storm(storm, |cache, _| states.push(cache.state()));
                (states, cache.evicted)
            });
            assert!(runs[0] == runs[1]);
        }
    }

    #[test]
    fn trimmed_pages_and_forgotten_ghosts_come_back_as_new() {
        let mut cache = cache(2, "W1 W2 W1 W3");
        assert_eq!(cache.state(), "T1[3*] T2[1*] B1[2] B2[] p=0");
        cache.run("T2 T1 W2 W1");
        assert_eq!(cache.state(), "T1[1* 2*] T2[] B1[] B2[] p=0");
    }

    #[test]
    fn a_renamed_ghost_keeps_its_place() {
        let mut cache = cache(4, "W1 W2 W1 W2 W3 W4 W5 W6");
        assert_eq!(ghosts(&cache, B1), [4, 3]);
        assert!(cache.rename(4, 40) && !cache.rename(77, 78));
        assert_eq!(ghosts(&cache, B1), [40, 3]);
        assert!(
            cache.rename(6, 3),
            "a resident takes the address; its ghost goes first"
        );
        assert!(cache.state().starts_with("T1[3* 5*]"));
        assert_eq!(ghosts(&cache, B1), [40]);
        assert_eq!(cache.write(40), "M");
        assert!(cache.state().contains("T2[40*"));
    }

    #[test]
    fn a_page_is_charged_12_bytes_and_a_ghost_8_unless_told_otherwise() {
        for (text, bytes) in [("arc", 4 * 12 + 2 * 8), ("arc(ghost-bytes=0)", 4 * 12)] {
            let mut cache = Cache::new(text, 4);
            cache.run("W1 W2 W1 W2 W3 W4 W5 W6");
            assert_eq!(cache.metadata_bytes(), bytes);
        }
    }
}
