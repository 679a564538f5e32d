//! CFLRU: LRU, but a clean page near the LRU end leaves before a dirty one.
//!
//! Source: S. Park, D. Jung, J. Kang, J. Kim, J. Lee, CASES 2006.
//! Parameters: `x`, the clean-first region is the max(1, floor(C/x)) pages nearest the LRU end;
//! 1.., default 3 (ECR section 4.1 sweeps 1 to 6).
//! Order: clean pages of the region from the LRU end, then all other pages from the LRU end.
//! Ties: not possible. State: the LRU list, and in it the edge of the region and a list of its
//! clean pages; accounted as 12 B per page. Cost: O(1), FLUSH O(C/x).
//!
//! Departures: none. The list of clean pages replaces the paper's scan of the region.

use crate::list::ListArena;
use crate::policy::lru::PAGE_NODE_BYTES;
use crate::registry::Build;
use crate::{Access, Env, Expr, Scheme, View, Why};
use destage_types::{Lpn, Op, Slot};

/// List of all pages, by recency.
const ALL: usize = 0;
/// List of the clean pages of the region, by recency.
const CLEAN: usize = 0;

/// The page is in the region.
const IN_REGION: u8 = 1;
/// The page is in the list of clean pages.
const IN_CLEAN: u8 = 2;

/// Clean-first LRU.
#[derive(Clone, Debug)]
pub struct Cflru {
    pages: ListArena,
    clean: ListArena,
    flags: Vec<u8>,
    /// Most pages the region can have (w).
    region_size: usize,
    /// Pages of the region: min(w, length of the list).
    in_region: usize,
    /// Newest page of the region; meaningless while it is empty.
    edge: u32,
}

impl Cflru {
    /// For a cache of `capacity` pages with a region of `capacity / x` pages.
    ///
    /// # Panics
    /// If `x` is zero.
    pub fn new(capacity: usize, x: u32) -> Cflru {
        Cflru::with_slots(capacity, capacity, x)
    }

    /// The same in a cache of `slots` frames, more of which than `capacity` it may come to hold.
    ///
    /// # Panics
    /// If `x` is zero.
    pub fn with_slots(slots: usize, capacity: usize, x: u32) -> Cflru {
        Cflru {
            pages: ListArena::new(slots, 1),
            clean: ListArena::new(slots, 1),
            flags: vec![0; slots],
            region_size: (capacity / x as usize).max(1),
            in_region: 0,
            edge: 0,
        }
    }

    /// The page next to the edge joins the region as its newest.
    #[inline]
    fn enter_region(&mut self, node: u32, dirty: bool) {
        self.edge = node;
        self.in_region += 1;
        self.flags[node as usize] = IN_REGION;
        if !dirty {
            self.flags[node as usize] |= IN_CLEAN;
            self.clean.push_head(CLEAN, node);
        }
    }

    /// Puts a page at the MRU end.
    #[inline]
    fn push(&mut self, slot: Slot, dirty: bool) {
        self.pages.push_head(ALL, slot.0);
        if self.in_region < self.region_size {
            self.enter_region(slot.0, dirty);
        } else {
            self.flags[slot.index()] = 0;
        }
    }

    /// Takes a page out; the region takes in the page next to it.
    #[inline]
    fn take(&mut self, slot: Slot, v: &View) {
        let flags = self.flags[slot.index()];
        if flags & IN_REGION == 0 {
            return self.pages.unlink(ALL, slot.0);
        }
        if flags & IN_CLEAN != 0 {
            self.clean.unlink(CLEAN, slot.0);
        }
        let next = self.pages.newer(self.edge);
        if self.edge == slot.0 {
            // An empty region has no edge; `enter_region` sets it again.
            self.edge = self.pages.older(slot.0).unwrap_or(slot.0);
        }
        self.pages.unlink(ALL, slot.0);
        self.in_region -= 1;
        if let Some(next) = next {
            self.enter_region(next, v.frames.is_dirty(Slot(next)));
        }
    }

    /// A page was written back and stays: joins the clean pages if it is in the region.
    fn clean_one(&mut self, node: u32) {
        if self.flags[node as usize] != IN_REGION {
            return;
        }
        self.flags[node as usize] |= IN_CLEAN;
        let newer = std::iter::successors(self.pages.newer(node), |&n| self.pages.newer(n));
        let mut newer = newer.skip_while(|&n| self.flags[n as usize] == IN_REGION);
        match newer
            .next()
            .filter(|&n| self.flags[n as usize] & IN_CLEAN != 0)
        {
            Some(n) => self.clean.insert_older(CLEAN, node, n),
            None => self.clean.push_head(CLEAN, node),
        }
    }

    /// Builds the list of clean pages again from the flags.
    fn list_clean_pages(&mut self) {
        while let Some(node) = self.clean.tail(CLEAN) {
            self.clean.unlink(CLEAN, node);
        }
        for node in self.pages.from_tail(ALL).take(self.in_region) {
            if self.flags[node as usize] & IN_CLEAN != 0 {
                self.clean.push_head(CLEAN, node);
            }
        }
    }
}

impl Build for Cflru {
    fn build(expr: &Expr, env: &Env) -> Cflru {
        let x = u32::try_from(expr.uint("x")).unwrap_or(u32::MAX); // a region of one page
        Cflru::with_slots(env.slots as usize, env.capacity as usize, x)
    }
}

impl Scheme for Cflru {
    fn rename(&mut self, _from: Lpn, _to: Lpn, slot: Option<Slot>, _v: &View) -> bool {
        slot.is_some()
    }

    #[inline]
    fn insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.push(slot, a.op == Op::Write || v.frames.is_dirty(slot));
    }

    #[inline]
    fn touch(&mut self, slot: Slot, a: &Access, v: &View) {
        if self.flags[slot.index()] & IN_REGION == 0 {
            return self.pages.move_to_head(ALL, slot.0);
        }
        self.take(slot, v);
        self.push(slot, a.op == Op::Write || v.frames.is_dirty(slot));
    }

    #[inline]
    fn remove(&mut self, slot: Slot, _why: Why, v: &View) {
        self.take(slot, v);
    }

    fn cleaned(&mut self, slots: &[Slot], _v: &View) {
        if let &[slot] = slots {
            return self.clean_one(slot.0);
        }
        for slot in slots {
            let flags = &mut self.flags[slot.index()];
            if *flags == IN_REGION {
                *flags |= IN_CLEAN;
            }
        }
        self.list_clean_pages();
    }

    #[inline]
    fn size(&self) -> usize {
        self.pages.len(ALL)
    }

    #[inline]
    fn page_victim(&mut self, _a: &Access, _v: &View) -> Option<Slot> {
        let clean = self.clean.tail(CLEAN);
        clean.or_else(|| self.pages.tail(ALL)).map(Slot)
    }

    fn candidates(&self, _v: &View, f: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let others = self.pages.from_tail(ALL);
        let others = others.filter(|&n| self.flags[n as usize] & IN_CLEAN == 0);
        let clean = self.clean.from_tail(CLEAN);
        clean.chain(others).map(Slot).find(|&s| f(s))
    }

    fn meta_bytes(&self) -> u64 {
        self.size() as u64 * PAGE_NODE_BYTES
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        let outside = self.size() - self.in_region;
        let all = || self.pages.from_head(ALL).map(Slot);
        crate::state::pages(out, v, all().take(outside));
        out.push_str(" | ");
        crate::state::pages(out, v, all().skip(outside));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{Core, Done, storm};

    /// Candidates by the scan of the paper; `recency` has the most recent page first.
    fn scan(core: &Core<Cflru>, recency: &[u64], region: usize) -> Vec<u64> {
        let clean = |l: &&u64| !core.frames.is_dirty(core.frames.slot_of(Lpn(**l)).unwrap());
        let first: Vec<u64> = recency
            .iter()
            .rev()
            .take(region)
            .filter(clean)
            .copied()
            .collect();
        let rest = recency.iter().rev().filter(|l| !first.contains(l));
        first.iter().chain(rest).copied().collect()
    }

    #[test]
    fn order_is_that_of_the_scan_whatever_happens() {
        for (capacity, x) in [(1, 1), (4, 2), (7, 1), (7, 3), (30, 3), (30, 40)] {
            let region = (capacity / x).max(1) as usize;
            let mut core = Core::new(capacity, Cflru::new(capacity as usize, x));
            let mut recency: Vec<u64> = Vec::new();
            let mut left = 0;
            let pages = 2 * u64::from(capacity) + 3;
            storm(&mut core, (20_000, pages, 17), true, |core, done| {
                recency.retain(|l| !core.evicted[left..].contains(l));
                left = core.evicted.len();
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
                assert_eq!(core.order(), scan(core, &recency, region), "{done:?}");
            });
            core.scheme.pages.validate().unwrap();
            core.scheme.clean.validate().unwrap();
        }
    }

    #[test]
    fn the_region_is_never_empty() {
        assert_eq!(Cflru::new(2, 6).region_size, 1);
        assert_eq!(Cflru::new(20, 3).region_size, 6);
    }

    #[test]
    fn a_clean_page_outside_the_region_stays() {
        let mut core = Core::new(4, Cflru::new(4, 2));
        for n in [1, 2, 3] {
            core.write(n);
        }
        core.read(4);
        core.write(5);
        core.flush(|l| l == 5);
        assert_eq!(core.evicted, [1]);
        assert_eq!(core.order(), [2, 3, 4, 5]);
        core.flush(|l| l == 3);
        assert_eq!(core.order(), [3, 2, 4, 5]);
    }
}
