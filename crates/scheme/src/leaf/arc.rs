//! ARC: balances pages seen once and pages seen again by the hits on pages that just left.
//!
//! Source: N. Megiddo, D. Modha, FAST 2003, Fig. 4; its cases I to IV are named below.
//! Parameters: `ghost-bytes`, what a remembered page is charged. The target p is a real number, updated with + - * / only.
//! Order: the list REPLACE would take from, tail to head, then the other one, tail to head.
//! Ties: |T1| = p takes from T2, unless the page that comes in is in B2.
//! State: lists T1, T2 (12 B per page), ghost lists B1, B2 (8 B per entry by default); |T1|+|B1| <= C and at
//! most 2C pages in all after every insertion. Cost: O(1).
//!
//! Departures: none for whole pages. Adaptation runs in `expect`, REPLACE in `victim`, and ghosts
//! are dropped in `insert` instead of before REPLACE, with the same result; so TRIM, several
//! evictions for one insertion, and another victim than the first one leave the bounds intact.

use crate::ghost_queues::GhostQueues;
use crate::leaf::lru::PAGE_NODE_BYTES;
use crate::list::ListArena;
use crate::registry::Build;
use crate::{Access, Ahead, Env, Expr, Scheme, View, Why};
use destage_types::{Lpn, Slot};

/// Bytes of a ghost entry, by default.
const GHOST_BYTES: u64 = 8;

/// Pages seen once, and their ghosts B1.
const T1: usize = 0;
/// Pages seen again, and their ghosts B2.
const T2: usize = 1;
/// The page that comes in is no ghost.
const NEW: usize = 2;

/// Adaptive replacement cache.
#[derive(Clone, Debug)]
pub struct Arc {
    lists: ListArena,
    /// List of the page in each slot.
    of: Vec<u8>,
    ghosts: GhostQueues<2>,
    capacity: usize,
    p: f64,
    /// Ghost list in which the page was that is about to be inserted.
    coming: usize,
    /// Metadata charged per ghost.
    ghost_bytes: u64,
}

impl Arc {
    /// For a cache of `capacity` pages.
    pub fn new(capacity: usize) -> Arc {
        Arc::with_slots(capacity, capacity)
    }

    /// The same in a cache of `slots` frames, more of which than `capacity` it may come to hold.
    pub fn with_slots(slots: usize, capacity: usize) -> Arc {
        Arc {
            lists: ListArena::new(slots, 2),
            of: vec![0; slots],
            ghosts: GhostQueues::new(capacity + 1),
            capacity,
            p: 0.0,
            coming: NEW,
            ghost_bytes: GHOST_BYTES,
        }
    }

    /// The list from which REPLACE takes.
    #[inline]
    fn source(&self) -> usize {
        let (t1, t2) = (self.lists.len(T1), self.lists.len(T2));
        let size = t1 as f64;
        let over = size > self.p || (self.coming == T2 && size == self.p);
        if t1 > 0 && (over || t2 == 0) { T1 } else { T2 }
    }

    /// Case IV with |T1| = C: the tail of T1 leaves for good.
    #[inline]
    fn is_forgotten(&self, slot: Slot) -> bool {
        self.coming == NEW
            && self.lists.len(T1) >= self.capacity
            && self.lists.tail(T1) == Some(slot.0)
    }
}

impl Build for Arc {
    fn build(expr: &Expr, env: &Env) -> Arc {
        Arc {
            ghost_bytes: expr.uint("ghost-bytes"),
            ..Arc::with_slots(env.slots as usize, env.capacity as usize)
        }
    }
}

impl Scheme for Arc {
    fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, _v: &View) -> bool {
        slot.is_some() || self.ghosts.rename(from, to)
    }

    #[inline]
    fn look_ahead(&self, ahead: &Ahead) -> u64 {
        self.ghosts.look_ahead(ahead)
    }

    #[inline(always)]
    fn expect(&mut self, a: &Access, _v: &View) {
        self.coming = NEW;
        let Some(ghost) = self.ghosts.find(a.lpn) else {
            return;
        };
        let sizes = [self.ghosts.len(T1) as f64, self.ghosts.len(T2) as f64];
        self.p = if ghost.list == T1 {
            (self.p + (sizes[T2] / sizes[T1]).max(1.0)).min(self.capacity as f64) // case II
        } else {
            (self.p - (sizes[T1] / sizes[T2]).max(1.0)).max(0.0) // case III
        };
        self.ghosts.remove(ghost);
        self.coming = ghost.list;
    }

    #[inline(always)]
    fn insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
        let to = if self.coming == NEW { T1 } else { T2 };
        self.coming = NEW;
        self.lists.push_head(to, slot.0);
        self.of[slot.index()] = to as u8;
        while self.lists.len(T1) + self.ghosts.len(T1) > self.capacity
            && self.ghosts.drop_oldest(T1)
        {}
        while self.size() + self.ghosts.len(T1) + self.ghosts.len(T2) > 2 * self.capacity
            && self.ghosts.drop_oldest(T2)
        {}
    }

    #[inline(always)]
    fn touch(&mut self, slot: Slot, _a: &Access, _v: &View) {
        // Case I.
        let from = std::mem::replace(&mut self.of[slot.index()], T2 as u8);
        self.lists.unlink(from as usize, slot.0);
        self.lists.push_head(T2, slot.0);
    }

    #[inline(always)]
    fn remove(&mut self, slot: Slot, why: Why, v: &View) {
        let list = self.of[slot.index()] as usize;
        let remember = why == Why::Evicted && !self.is_forgotten(slot);
        self.lists.unlink(list, slot.0);
        if remember {
            self.ghosts.push_head(list, v.frames.lpn(slot));
        }
    }

    /// Also ends what `expect` began: a page whose history is forgotten comes in as a new one,
    /// if it comes in at all.
    fn forget(&mut self, lpn: Lpn, _v: &View) {
        self.ghosts.forget(lpn);
        self.coming = NEW;
    }

    #[inline]
    fn size(&self) -> usize {
        self.lists.len(T1) + self.lists.len(T2)
    }

    #[inline(always)]
    fn page_victim(&mut self, _a: &Access, _v: &View) -> Option<Slot> {
        let from = self.source();
        let tail = self.lists.tail(from);
        tail.or_else(|| self.lists.tail(T1)).map(Slot)
    }

    fn candidates(&self, _v: &View, f: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let first = self.source();
        let second = if first == T1 { T2 } else { T1 };
        let order = self.lists.from_tail(first);
        order
            .chain(self.lists.from_tail(second))
            .map(Slot)
            .find(|&s| f(s))
    }

    fn meta_bytes(&self) -> u64 {
        let ghosts = self.ghosts.len(T1) + self.ghosts.len(T2);
        self.size() as u64 * PAGE_NODE_BYTES + ghosts as u64 * self.ghost_bytes
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        use std::fmt::Write;
        for (list, name) in [(T1, "T1"), (T2, " T2")] {
            out.push_str(name);
            crate::state::pages(out, v, self.lists.from_head(list).map(Slot));
        }
        for (list, name) in [(T1, " B1"), (T2, " B2")] {
            out.push_str(name);
            crate::state::ghosts(out, self.ghosts.from_head(list), " ");
        }
        write!(out, " p={}", self.p).expect("writing to a string cannot fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leaf::testing::{Core, storm};

    fn ghosts(core: &Core<Arc>, list: usize) -> Vec<u64> {
        core.scheme.ghosts.from_head(list).map(|l| l.0).collect()
    }

    fn pages(core: &Core<Arc>, list: usize) -> Vec<u64> {
        let slots = core.scheme.lists.from_head(list);
        slots.map(|s| core.frames.lpn(Slot(s)).0).collect()
    }

    #[test]
    fn bounds_hold_whatever_happens() {
        for (capacity, passed_over) in [(1, false), (2, true), (5, false), (16, true), (33, false)]
        {
            let c = capacity as usize;
            let mut core = Core::new(capacity, Arc::new(c));
            storm(
                &mut core,
                (30_000, 4 * c as u64 + 2, 9),
                passed_over,
                |core, done| {
                    let s = &core.scheme;
                    let (t1, b1) = (s.lists.len(T1), s.ghosts.len(T1));
                    assert!(t1 + b1 <= c, "{done:?}");
                    assert!(s.size() + b1 + s.ghosts.len(T2) <= 2 * c, "{done:?}");
                    assert!((0.0..=c as f64).contains(&s.p), "{done:?}");
                    for list in [T1, T2] {
                        let cached = |&l: &u64| core.frames.slot_of(Lpn(l)).is_some();
                        assert!(!ghosts(core, list).iter().any(cached), "{done:?}");
                        assert!(pages(core, list).iter().all(cached), "{done:?}");
                    }
                },
            );
            core.scheme.lists.validate().unwrap();
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
        let mut core = Core::new(9, Arc::new(9));
        core.scheme.p = 5.0;
        for (list, pages) in [(T1, 0..2), (T2, 10..15)] {
            for lpn in pages {
                core.scheme.ghosts.push_head(list, Lpn(lpn));
            }
        }
        core.write(1);
        assert_eq!(core.scheme.p, 7.5);
        core.write(11);
        assert_eq!(core.scheme.p, 6.5, "max(1, 1/5)");
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
        assert_eq!(core.scheme.meta_bytes(), 4 * 12 + 2 * 8);
        core.scheme.ghost_bytes = 0;
        assert_eq!(core.scheme.meta_bytes(), 4 * 12);
    }
}
