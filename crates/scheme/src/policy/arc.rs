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

use crate::info::{MetadataBound, ParamInfo, Proof, SchemeInfo, Source};
use crate::lists::{ListArray, Lists};
use crate::registry::boxed;
use crate::{
    Access, Env, Expr, Ghosts, PAGE_NODE_BYTES, Pages, Policy, RemoveReason, View, params,
};
use destage_types::{Lpn, Slot};

/// `arc`: adaptive balance of recency and frequency.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "arc",
    summary: "Two lists, seen once and seen again, whose sizes adapt to hits on evicted pages.",
    source: Source {
        paper: "Megiddo, Modha, ARC: A Self-Tuning, Low Overhead Replacement Cache, FAST",
        year: Some(2003),
        section: "Fig. 4",
        certain: true,
    },
    params: &[ArcParams::PARAMS],
    ties: "none: REPLACE is a total rule",
    order: Some(
        "the list REPLACE would take from, tail to head, then the other list tail to head",
    ),
    // |T1| + |B1| <= C and pages and ghosts <= 2C at every insertion: C ghosts beside C pages, more
    // while pages are missing.
    metadata: |e, c| {
        let bytes = e.uint("ghost-bytes");
        let dear = bytes > PAGE_NODE_BYTES;
        let ghosts = match c.shares || c.batches && dear {
            true => c.frames.saturating_mul(2),
            false => c.frames.saturating_add(u64::from(dear)),
        };
        Some(MetadataBound::nodes(PAGE_NODE_BYTES).and_entries(ghosts, bytes))
    },
    vectors: &["arc"],
    build: Some(boxed::<Pages<Arc>>),
    proof: Proof::FULL,
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
}

impl Arc {
    /// Page x is not cached: cases II and III move the target p towards the list whose ghost came
    /// back, by as much as the other ghost list is longer. What case IV does, dropping ghosts, follows
    /// the insertion.
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

    /// The list from which REPLACE takes. Without branches: which one it is cannot be guessed.
    #[inline(always)]
    fn replace(&self) -> usize {
        let [t1, t2, ..] = self.lists.lens();
        let at_p = (self.from == Some(B2)) & (t1 == self.p_floor) & self.p_is_whole;
        let over = (t1 > self.p_floor) | at_p;
        [T2, T1][usize::from((t1 > 0) & (over | (t2 == 0)))]
    }

    /// Case IV with |T1| = C: the tail of T1 leaves for good.
    #[inline(always)]
    fn leaves_for_good(&self, slot: Slot) -> bool {
        self.lists.len(T1) >= self.capacity
            && self.from.is_none()
            && self.lists.tail(T1) == Some(slot.0)
    }

    /// Drops the oldest ghosts of T1 beyond C pages of L1, then those of T2 beyond 2C pages in all.
    #[inline(always)]
    fn drop_ghosts(&mut self) {
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
        Arc {
            lists: Lists::array(ghosts.nodes()),
            ghosts,
            capacity,
            p: 0.0,
            p_floor: 0,
            p_is_whole: true,
            from: None,
            ghost_bytes: ArcParams::of(expr, env).ghost_bytes,
        }
    }

    #[inline(always)]
    fn on_miss(&mut self, x: &Access, v: &View) {
        self.adapt(x, v);
    }

    #[inline(always)]
    fn on_insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
        let seen_again = self.from.take().is_some();
        self.lists.push_head(if seen_again { T2 } else { T1 }, slot.0);
        self.drop_ghosts();
    }

    #[inline(always)]
    fn on_hit(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.lists.move_to_head(T2, slot.0); // case I
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

    #[inline(always)]
    fn victim(&mut self, _a: &Access, _v: &View) -> Option<Slot> {
        let tail = self.lists.tail(self.replace());
        tail.or_else(|| self.lists.tail(T1)).map(Slot)
    }

    fn next_victims<'a>(&'a self, _v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        let first = self.replace();
        let second = if first == T1 { T2 } else { T1 };
        let order = self.lists.from_tail(first);
        order.chain(self.lists.from_tail(second)).map(Slot)
    }

    fn ghosts(&self) -> Option<&Ghosts> {
        Some(&self.ghosts)
    }

    fn ghosts_mut(&mut self) -> Option<&mut Ghosts> {
        Some(&mut self.ghosts)
    }

    /// Also ends what `on_miss` began: a page whose history is forgotten comes in as a new one,
    /// if it comes in at all.
    fn forget(&mut self, lpn: Lpn, v: &View) {
        self.from = None;
        if let Some(node) = self.ghosts.find(lpn, v) {
            self.lists.unlink(node);
            self.ghosts.forget(node);
        }
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        let ghosts = self.lists.len(B1) + self.lists.len(B2);
        pages * PAGE_NODE_BYTES + ghosts as u64 * self.ghost_bytes
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
    use crate::policy::testing::{Core, storm};

    fn ghosts(core: &Core<Arc>, list: usize) -> Vec<u64> {
        let pages = core.scheme.ghost_pages(list, &core.view());
        pages.into_iter().map(|lpn| lpn.0).collect()
    }

    fn pages(core: &Core<Arc>, list: usize) -> Vec<u64> {
        let slots = core.scheme.lists.from_head(list);
        slots.map(|s| core.frames.lpn(Slot(s)).0).collect()
    }

    #[test]
    fn bounds_hold_whatever_happens() {
        for (capacity, passed_over, keep) in [
            (1, false, true),
            (2, true, true),
            (5, false, false),
            (16, true, true),
            (16, true, false),
            (33, false, true),
        ] {
            let c = capacity as usize;
            let mut core = Core::new(capacity, Arc::with_slots(c, c, keep));
            storm(
                &mut core,
                (30_000, 4 * c as u64 + 2, 9),
                passed_over,
                |core, done| {
                    let s = &core.scheme;
                    let (t1, b1) = (s.len(T1), s.ghosts(T1));
                    assert!(t1 + b1 <= c, "{done:?}");
                    assert!(s.size() + b1 + s.ghosts(T2) <= 2 * c, "{done:?}");
                    assert!((0.0..=c as f64).contains(&s.p), "{done:?}");
                    for list in [T1, T2] {
                        let cached = |&l: &u64| core.frames.slot_of(Lpn(l)).is_some();
                        assert!(!ghosts(core, list).iter().any(cached), "{done:?}");
                        assert!(pages(core, list).iter().all(cached), "{done:?}");
                    }
                },
            );
            core.scheme.lists.validate();
        }
    }

    #[test]
    fn a_full_t1_forgets_its_tail() {
        let mut core = Core::new(3, Arc::new(3));
        (1..=5).for_each(|n| {
            core.write(n);
        });
        assert_eq!(pages(&core, T1), [5, 4, 3]);
        assert!(ghosts(&core, T1).is_empty());
        // Nothing is inserted in the place of 3, so nothing would drop its ghost either.
        core.make_room();
        assert!(ghosts(&core, T1).is_empty());
        core.make_room();
        assert_eq!(ghosts(&core, T1), [4], "|T1| < C: REPLACE remembers");
    }

    #[test]
    fn a_page_that_was_passed_over_to_is_remembered_in_its_own_list() {
        let mut core = Core::new(4, Arc::new(4));
        for n in [1, 2, 1, 2, 3, 4] {
            core.write(n);
        }
        assert_eq!(core.order(), [3, 4, 1, 2]);
        core.pick = 2;
        core.write(5);
        assert_eq!((core.evicted[0], ghosts(&core, T2)), (1, vec![1]));
    }

    #[test]
    fn adaptation_runs_once_and_uses_the_sizes_before() {
        let mut core = Core::new(4, Arc::new(4));
        for n in [1, 2, 3, 1, 2, 4, 5, 6] {
            core.write(n);
        }
        assert_eq!((ghosts(&core, T1), core.scheme.p), (vec![4, 3], 0.0));
        core.write(3);
        assert_eq!(core.scheme.p, 1.0, "max(1, 0/2)");
        assert_eq!(pages(&core, T2)[0], 3);
        // Room for several pages, or none at all, changes nothing in p.
        core.make_room();
        core.trim(3);
        let p = core.scheme.p;
        core.write(9);
        assert_eq!(core.scheme.p, p);
    }

    #[test]
    fn p_is_a_real_number() {
        let mut core = Core::new(9, Arc::with_slots(9, 9, false));
        core.scheme.set_p(5.0);
        for (list, pages) in [(T1, 0..2), (T2, 10..15)] {
            for lpn in pages {
                let apart = core.scheme.apart.as_mut().unwrap();
                apart.push_head(list, Lpn(lpn));
            }
        }
        core.write(1);
        assert_eq!(core.scheme.p, 7.5);
        core.write(11);
        assert_eq!(core.scheme.p, 6.5, "max(1, 1/5)");
    }

    #[test]
    fn ghosts_in_slots_and_apart_are_the_same() {
        for capacity in [1, 3, 16] {
            let runs = [true, false].map(|keep| {
                let c = capacity as usize;
                let mut core = Core::new(capacity, Arc::with_slots(c, c, keep));
                let mut states = Vec::new();
                storm(
                    &mut core,
                    (20_000, 4 * c as u64 + 2, 11),
                    true,
                    |core, _| {
                        let lists = [T1, T2].map(|l| (pages(core, l), ghosts(core, l)));
                        states.push((lists, core.scheme.p, core.evicted.len()));
                    },
                );
                (states, core.evicted)
            });
            assert!(runs[0] == runs[1]);
        }
    }

    #[test]
    fn trimmed_pages_and_forgotten_ghosts_come_back_as_new() {
        let mut core = Core::new(2, Arc::new(2));
        for n in [1, 2, 1, 3] {
            core.write(n);
        }
        assert_eq!((pages(&core, T2), ghosts(&core, T1)), (vec![1], vec![2]));
        core.trim(2);
        core.trim(1);
        core.write(2);
        core.write(1);
        assert_eq!((pages(&core, T1), core.scheme.p), (vec![1, 2], 0.0));
    }

    #[test]
    fn a_renamed_ghost_keeps_its_place() {
        let mut core = Core::new(4, Arc::new(4));
        for n in [1, 2, 1, 2, 3, 4, 5, 6] {
            core.write(n);
        }
        assert_eq!(ghosts(&core, T1), [4, 3]);
        assert!(core.rename(4, 40));
        assert!(!core.rename(77, 78));
        assert_eq!(ghosts(&core, T1), [40, 3]);
        assert!(
            core.rename(6, 3),
            "a resident takes the address; its ghost goes first"
        );
        assert_eq!(
            (ghosts(&core, T1), pages(&core, T1)),
            (vec![40], vec![3, 5])
        );
        assert!(!core.write(40));
        assert_eq!(pages(&core, T2)[0], 40);
    }

    #[test]
    fn a_page_is_charged_12_bytes_and_a_ghost_8() {
        let mut core = Core::new(4, Arc::new(4));
        for n in [1, 2, 1, 2, 3, 4, 5, 6] {
            core.write(n);
        }
        assert_eq!(core.scheme.metadata_bytes(), 4 * 12 + 2 * 8);
        core.scheme.ghost_bytes = 0;
        assert_eq!(core.scheme.metadata_bytes(), 4 * 12);
    }
}
