//! ARC: balances pages seen once and pages seen again by the hits on pages that just left.
//!
//! Source: N. Megiddo, D. Modha, FAST 2003, Fig. 4; its cases I to IV are named below.
//! Parameters: `ghost-bytes`, what a remembered page is charged. The target p is a real number, updated with + - * / only.
//! Order: the list REPLACE would take from, tail to head, then the other one, tail to head.
//! Ties: |T1| = p takes from T2, unless the page that comes in is in B2.
//! State: lists T1, T2 (12 B per page), ghost lists B1, B2 (8 B per entry by default); |T1|+|B1| <= C and at
//! most 2C pages in all after every insertion. A ghost stays in the slot of its page, which moves from T1 to B1
//! as it would from T1 to T2; only the policy of one chip remembers its pages apart. Cost: O(1).
//!
//! Departures: none for whole pages. Adaptation runs in `expect`, REPLACE in `victim`, and ghosts
//! are dropped after `insert` instead of before REPLACE, with the same result; so TRIM, several
//! evictions for one insertion, and another victim than the first one leave the bounds intact.

use crate::ghost_queues::GhostQueues;
use crate::policy::lru::PAGE_NODE_BYTES;
use crate::registry::Build;
use crate::shelves::Shelves;
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

/// Lists of [`Arc::lists`] behind T1 and T2: the ghosts of both in their slots.
const B1: usize = 2;
const B2: usize = 3;

/// Slots for which [`Arc::more_left`] has room from the start.
const USUALLY_LEFT: usize = 16;
/// No slot.
const NONE: Slot = Slot(u32::MAX);

/// Adaptive replacement cache.
#[derive(Clone, Debug)]
pub struct Arc {
    lists: Shelves<4>,
    /// The ghosts, if they are not in `lists`.
    apart: Option<Box<GhostQueues<2>>>,
    capacity: usize,
    /// Most ghosts in slots.
    kept: u32,
    p: f64,
    /// Largest whole number that is not above p, and whether it is p: to compare with sizes.
    p_floor: usize,
    p_whole: bool,
    /// Ghost list in which the page was that is about to be inserted.
    coming: usize,
    /// Its slot, if that is not free.
    coming_to: Slot,
    /// Slots whose ghosts are gone, until the cache takes them back: the first one, and those that
    /// came after it.
    left: Slot,
    more_left: Vec<Slot>,
    /// Metadata charged per ghost.
    ghost_bytes: u64,
}

impl Arc {
    /// For a cache of `capacity` pages.
    pub fn new(capacity: usize) -> Arc {
        Arc::with_slots(capacity, capacity, true)
    }

    /// The same in a cache of `slots` frames, more of which than `capacity` it may come to hold.
    /// `keep`: ghosts stay in their slots, of which there are more then.
    fn with_slots(slots: usize, capacity: usize, keep: bool) -> Arc {
        // 2C after an insertion, and one more before it.
        let kept = if keep { 2 * capacity + 1 } else { 0 };
        Arc {
            lists: Shelves::new(slots + kept),
            apart: (!keep).then(|| Box::new(GhostQueues::new(capacity + 1))),
            capacity,
            kept: kept as u32,
            p: 0.0,
            p_floor: 0,
            p_whole: true,
            coming: NEW,
            coming_to: NONE,
            left: NONE,
            more_left: Vec::with_capacity(USUALLY_LEFT),
            ghost_bytes: GHOST_BYTES,
        }
    }

    /// The list from which REPLACE takes. Without branches: which one it is cannot be guessed.
    #[inline(always)]
    fn source(&self) -> usize {
        let [t1, t2, ..] = self.lists.lens();
        let at_p = (self.coming == T2) & (t1 == self.p_floor) & self.p_whole;
        let over = (t1 > self.p_floor) | at_p;
        [T2, T1][usize::from((t1 > 0) & (over | (t2 == 0)))]
    }

    fn set_p(&mut self, p: f64) {
        self.p = p.clamp(0.0, self.capacity as f64);
        self.p_floor = self.p as usize;
        self.p_whole = self.p_floor as f64 == self.p;
    }

    #[inline(always)]
    fn len(&self, list: usize) -> usize {
        self.lists.lens()[list]
    }

    /// Case IV with |T1| = C: the tail of T1 leaves for good.
    #[inline(always)]
    fn is_forgotten(&self, slot: Slot) -> bool {
        self.len(T1) >= self.capacity && self.coming == NEW && self.lists.tail(T1) == Some(slot.0)
    }

    /// Ghosts of T1 or T2.
    #[inline(always)]
    fn ghosts(&self, list: usize) -> usize {
        match &self.apart {
            None => self.len(B1 + list),
            Some(apart) => apart.len(list),
        }
    }

    /// Forgets the ghost of page `a` for good; says whose it was. A slot is the page's again if it
    /// comes in.
    #[inline(always)]
    fn take_ghost(&mut self, a: &Access, v: &View) -> Option<usize> {
        if let Some(apart) = &mut self.apart {
            return apart.forget(a.lpn);
        }
        let slot = v.frames.ghost_at(a.lpn, a.entry)?;
        let list = self.lists.list_of(slot.0);
        if list != B1 && list != B2 {
            return None;
        }
        self.lists.unlink(slot.0);
        let before = std::mem::replace(&mut self.coming_to, slot);
        if before != NONE {
            self.leave(before);
        }
        Some(list - B1)
    }

    /// Nothing is remembered in `slot` any more.
    #[inline(always)]
    fn leave(&mut self, slot: Slot) {
        match self.left {
            NONE => self.left = slot,
            _ => self.more_left.push(slot),
        }
    }

    /// Sets the ghosts right after an insertion: forgets the oldest ones of a list that has too many.
    #[inline(always)]
    fn drop_ghosts(&mut self) {
        if self.apart.is_some() {
            return self.drop_ghosts_apart();
        }
        loop {
            let lens @ [t1, t2, b1, b2] = self.lists.lens();
            let Some(list) = self.surplus(lens) else {
                return;
            };
            let Some(oldest) = self.lists.tail(B1 + list) else {
                return;
            };
            self.lists.unlink(oldest);
            self.leave(Slot(oldest));
            // One ghost is all that was too many, as nearly always.
            let (all, c) = (t1 + t2 + b1 + b2, self.capacity);
            if (t1 + b1 <= c + 1) & (all <= 2 * c + 1) {
                return;
            }
        }
    }

    #[inline(never)]
    fn drop_ghosts_apart(&mut self) {
        let [t1, t2, ..] = self.lists.lens();
        while let Some(list) = self.surplus([t1, t2, self.ghosts(T1), self.ghosts(T2)])
            && let Some(apart) = &mut self.apart
        {
            apart.drop_oldest(list);
        }
    }

    /// The list that has too many ghosts, if T1, T2, B1 and B2 are so long.
    #[inline(always)]
    fn surplus(&self, [t1, t2, b1, b2]: [usize; 4]) -> Option<usize> {
        let of_t1 = (t1 + b1 > self.capacity) & (b1 > 0);
        let of_t2 = (t1 + t2 + b1 + b2 > 2 * self.capacity) & (b2 > 0);
        (of_t1 | of_t2).then_some(if of_t1 { T1 } else { T2 })
    }

    /// Pages of which T1 or T2 has ghosts, newest first.
    #[cfg(any(test, feature = "conformance"))]
    fn ghost_pages(&self, list: usize, v: &View) -> Vec<Lpn> {
        match &self.apart {
            None => {
                let slots = self.lists.from_head(B1 + list).map(Slot);
                slots.map(|slot| v.frames.lpn(slot)).collect()
            }
            Some(apart) => apart.from_head(list).collect(),
        }
    }
}

impl Build for Arc {
    fn build(expr: &Expr, env: &Env) -> Arc {
        let (slots, capacity) = (env.slots as usize, env.capacity as usize);
        Arc {
            ghost_bytes: expr.uint("ghost-bytes"),
            ..Arc::with_slots(slots, capacity, env.keeps_slots)
        }
    }
}

impl Scheme for Arc {
    fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) -> bool {
        slot.is_some()
            || match &mut self.apart {
                None => v.frames.ghost_of(from).is_some_and(|slot| self.keeps(slot)),
                Some(apart) => apart.rename(from, to),
            }
    }

    #[inline]
    fn look_ahead(&self, ahead: &Ahead) -> u64 {
        match &self.apart {
            None => 0,
            Some(apart) => apart.look_ahead(ahead),
        }
    }

    fn most_kept(&self) -> u32 {
        self.kept
    }

    #[inline(always)]
    fn keeps(&self, slot: Slot) -> bool {
        matches!(self.lists.list_of(slot.0), B1 | B2)
    }

    #[inline(always)]
    fn give_up(&mut self) -> Option<Slot> {
        if self.left == NONE {
            // What was to come in and did not is still waiting.
            let waiting = std::mem::replace(&mut self.coming_to, NONE);
            return (waiting != NONE).then_some(waiting);
        }
        let last = self.more_left.pop();
        Some(last.unwrap_or_else(|| std::mem::replace(&mut self.left, NONE)))
    }

    #[inline(always)]
    fn expect(&mut self, a: &Access, v: &View) {
        let sizes = [T1, T2].map(|list| self.ghosts(list) as f64);
        self.coming = match self.take_ghost(a, v) {
            None => NEW,
            Some(T1) => {
                let step = (sizes[T2] / sizes[T1]).max(1.0);
                self.set_p(self.p + step); // case II
                T1
            }
            Some(list) => {
                let step = (sizes[T1] / sizes[T2]).max(1.0);
                self.set_p(self.p - step); // case III
                list
            }
        };
    }

    #[inline(always)]
    fn insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
        let to = if self.coming == NEW { T1 } else { T2 };
        self.coming = NEW;
        if self.coming_to == slot {
            self.coming_to = NONE;
        }
        self.lists.push_head(to, slot.0);
        self.drop_ghosts();
    }

    #[inline(always)]
    fn touch(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.lists.move_to_head(T2, slot.0); // case I
    }

    #[inline(always)]
    fn remove(&mut self, slot: Slot, why: Why, v: &View) {
        let list = self.lists.list_of(slot.0);
        let remember = why == Why::Evicted && !self.is_forgotten(slot);
        match &mut self.apart {
            None if remember => return self.lists.move_to_head(B1 + list, slot.0),
            Some(apart) if remember => apart.push_head(list, v.frames.lpn(slot)),
            _ => {}
        }
        self.lists.unlink(slot.0);
    }

    /// Also ends what `expect` began: a page whose history is forgotten comes in as a new one,
    /// if it comes in at all.
    fn forget(&mut self, lpn: Lpn, v: &View) {
        self.coming = NEW;
        if let Some(apart) = &mut self.apart {
            apart.forget(lpn);
        } else if let Some(slot) = v.frames.slot_or_ghost_of(lpn) {
            if self.keeps(slot) {
                self.lists.unlink(slot.0);
            }
            if self.coming_to == slot {
                self.coming_to = NONE;
            }
        }
    }

    #[inline]
    fn size(&self) -> usize {
        self.len(T1) + self.len(T2)
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
        let ghosts = self.ghosts(T1) + self.ghosts(T2);
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
            crate::state::ghosts(out, self.ghost_pages(list, v).into_iter(), " ");
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
        assert_eq!(core.scheme.meta_bytes(), 4 * 12 + 2 * 8);
        core.scheme.ghost_bytes = 0;
        assert_eq!(core.scheme.meta_bytes(), 4 * 12);
    }
}
