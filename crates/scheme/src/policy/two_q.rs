//! 2Q, full version: new pages pass through a FIFO; a page that is asked for again after it left
//! the FIFO enters an LRU list.
//!
//! Source: T. Johnson, D. Shasha, VLDB 1994. State: A1in (FIFO) and Am (LRU), 12 B per page; A1out,
//! ghosts of the FIFO, 8 B per entry, at most `kout`. Order: pages of A1in beyond `kin`, then Am,
//! then the rest of A1in, each list from its tail. Ties: not possible. Cost: O(1).
//!
//! While room is made for a page that is in A1out, the bound of A1out does not count it: `expect`
//! takes it out first.

use crate::ghost_queues::GhostQueues;
use crate::list::ListArena;
use crate::policy::lru::PAGE_NODE_BYTES;
use crate::registry::Build;
use crate::{Access, Ahead, Env, Expr, Scheme, View, Why};
use destage_types::{Lpn, Slot};

/// Bytes of a ghost entry.
pub(crate) const GHOST_BYTES: u64 = 8;

/// New pages, first in, first out; and the only list of ghosts.
const A1: usize = 0;
/// Pages that came back.
const AM: usize = 1;

/// 2Q.
#[derive(Clone, Debug)]
pub struct TwoQ {
    lists: ListArena,
    /// List of the page in each slot.
    of: Vec<u8>,
    /// A1out.
    ghosts: GhostQueues<1>,
    kin: usize,
    kout: usize,
    /// List of the page that is about to be inserted.
    coming: usize,
}

impl TwoQ {
    /// With room for `slots` pages, for a FIFO of `kin` of them and `kout` ghosts.
    pub fn new(slots: usize, kin: usize, kout: usize) -> TwoQ {
        TwoQ {
            lists: ListArena::new(slots, 2),
            of: vec![A1 as u8; slots],
            ghosts: GhostQueues::new(kout + 1),
            kin,
            kout,
            coming: A1,
        }
    }

    /// The list from which a page leaves.
    #[inline]
    fn source(&self) -> usize {
        let over = self.lists.len(A1) > self.kin;
        if over || self.lists.is_empty(AM) {
            A1
        } else {
            AM
        }
    }
}

impl Build for TwoQ {
    fn build(expr: &Expr, env: &Env) -> TwoQ {
        let pages = |key| {
            let pages = expr.frames(key, u64::from(env.capacity));
            pages.expect("kin and kout are numbers") as usize
        };
        TwoQ::new(env.slots as usize, pages("kin"), pages("kout"))
    }
}

impl Scheme for TwoQ {
    fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, _v: &View) -> bool {
        slot.is_some() || self.ghosts.rename(from, to)
    }

    #[inline]
    fn look_ahead(&self, ahead: &Ahead) -> u64 {
        self.ghosts.look_ahead(ahead)
    }

    #[inline]
    fn expect(&mut self, a: &Access, _v: &View) {
        self.coming = match self.ghosts.forget(a.lpn) {
            Some(_) => AM,
            None => A1,
        };
    }

    #[inline]
    fn insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
        let to = std::mem::replace(&mut self.coming, A1);
        self.lists.push_head(to, slot.0);
        self.of[slot.index()] = to as u8;
    }

    #[inline]
    fn touch(&mut self, slot: Slot, _a: &Access, _v: &View) {
        if self.of[slot.index()] == AM as u8 {
            self.lists.move_to_head(AM, slot.0);
        }
    }

    #[inline]
    fn remove(&mut self, slot: Slot, why: Why, v: &View) {
        let list = self.of[slot.index()] as usize;
        self.lists.unlink(list, slot.0);
        if why == Why::Evicted && list == A1 {
            self.ghosts.push_head(A1, v.frames.lpn(slot));
            if self.ghosts.len(A1) > self.kout {
                self.ghosts.drop_oldest(A1);
            }
        }
    }

    /// Also ends what `expect` began: a page whose history is forgotten comes in as a new one.
    fn forget(&mut self, lpn: Lpn, _v: &View) {
        self.ghosts.forget(lpn);
        self.coming = A1;
    }

    #[inline]
    fn size(&self) -> usize {
        self.lists.len(A1) + self.lists.len(AM)
    }

    #[inline]
    fn page_victim(&mut self, _a: &Access, _v: &View) -> Option<Slot> {
        self.lists.tail(self.source()).map(Slot)
    }

    fn candidates(&self, _v: &View, f: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let over = self.lists.len(A1).saturating_sub(self.kin);
        let (first, rest) = (self.lists.from_tail(A1), self.lists.from_tail(A1));
        let order = first.take(over).chain(self.lists.from_tail(AM));
        order.chain(rest.skip(over)).map(Slot).find(|&s| f(s))
    }

    fn meta_bytes(&self) -> u64 {
        self.size() as u64 * PAGE_NODE_BYTES + self.ghosts.len(A1) as u64 * GHOST_BYTES
    }

    fn stats(&self, f: &mut dyn FnMut(&'static str, u64)) {
        f("a1in_pages", self.lists.len(A1) as u64);
        f("am_pages", self.lists.len(AM) as u64);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        out.push_str("A1in");
        crate::state::pages(out, v, self.lists.from_head(A1).map(Slot));
        out.push_str(" A1out");
        crate::state::ghosts(out, self.ghosts.from_head(A1), " ");
        out.push_str(" Am");
        crate::state::pages(out, v, self.lists.from_head(AM).map(Slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{Core, storm};

    fn core(capacity: u32, kin: usize, kout: usize) -> Core<TwoQ> {
        Core::new(capacity, TwoQ::new(capacity as usize, kin, kout))
    }

    fn pages(core: &Core<TwoQ>, list: usize) -> Vec<u64> {
        let slots = core.scheme.lists.from_head(list);
        slots.map(|s| core.frames.lpn(Slot(s)).0).collect()
    }

    fn ghosts(core: &Core<TwoQ>) -> Vec<u64> {
        core.scheme.ghosts.from_head(A1).map(|l| l.0).collect()
    }

    #[test]
    fn the_worked_example() {
        let mut core = core(4, 1, 2);
        for n in [1, 2, 3, 4, 2, 5, 1, 6, 3, 7] {
            core.write(n);
        }
        assert_eq!(core.evicted, [1, 2, 3, 4, 5]);
        assert_eq!(pages(&core, A1), [7, 6]);
        assert_eq!((ghosts(&core), pages(&core, AM)), (vec![5, 4], vec![3, 1]));
    }

    #[test]
    fn am_pays_once_the_fifo_is_short_and_is_not_remembered() {
        let mut core = core(3, 2, 2);
        for n in [1, 2, 3, 4, 1] {
            core.write(n);
        }
        assert_eq!((pages(&core, A1), pages(&core, AM)), (vec![4, 3], vec![1]));
        assert_eq!(core.order(), [1, 3, 4]);
        core.write(9);
        assert_eq!(core.evicted, [1, 2, 1]);
        assert_eq!(ghosts(&core), [2]);
    }

    #[test]
    fn a_trimmed_or_forgotten_page_comes_back_as_new() {
        let mut core = core(2, 1, 2);
        for n in [1, 2, 3, 4] {
            core.write(n);
        }
        assert_eq!(ghosts(&core), [2, 1]);
        core.trim(1);
        core.trim(4);
        core.write(1);
        core.write(4);
        assert_eq!((pages(&core, A1), pages(&core, AM)), (vec![4, 1], vec![]));
    }

    #[test]
    fn a_renamed_ghost_keeps_its_place() {
        let mut core = core(2, 1, 2);
        for n in [1, 2, 3, 4] {
            core.write(n);
        }
        assert!(core.rename(1, 10) && !core.rename(1, 11));
        assert_eq!(ghosts(&core), [2, 10]);
        core.write(10);
        assert_eq!(pages(&core, AM), [10]);
    }

    #[test]
    fn bounds_hold_whatever_happens() {
        for (capacity, kin, kout) in [(1, 1, 1), (4, 1, 2), (7, 3, 20), (16, 20, 4)] {
            let mut core = core(capacity, kin, kout);
            let pages = 4 * u64::from(capacity) + 2;
            storm(&mut core, (20_000, pages, 5), false, |core, done| {
                let known = ghosts(core);
                assert!(known.len() <= kout, "{done:?}");
                let cached = |&l: &u64| core.frames.slot_of(Lpn(l)).is_some();
                assert!(!known.iter().any(cached), "{done:?}");
            });
            core.scheme.lists.validate().unwrap();
        }
    }

    #[test]
    fn a_page_is_charged_12_bytes_and_a_ghost_8() {
        let mut core = core(2, 1, 2);
        for n in [1, 2, 3] {
            core.write(n);
        }
        assert_eq!(core.scheme.meta_bytes(), 2 * 12 + 8);
    }
}
