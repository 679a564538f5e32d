//! The stack S and the queue Q of LIRS, without a linked stack.
//!
//! A page enters S at the top only, so its place in S is the time of its last access. LIR pages
//! stand in a list by that time; resident HIR pages stand in Q; non-resident pages in a list of
//! their own. A page that is not LIR is in S iff its time is later than `floor`, the time of the
//! page at which pruning stopped last. Pruning then moves `floor` instead of popping HIR pages.

use crate::ahead::{Ahead, mix};
use crate::ghost::GhostLists;
use crate::list::ListArena;
#[cfg(feature = "conformance")]
use crate::view::View;
use destage_types::{Lpn, Slot};

/// LIR pages by last access.
const LIR: usize = 0;
/// Resident HIR pages: the queue Q.
const HIR: usize = 1;

/// S and Q.
#[derive(Clone, Debug)]
pub(super) struct Stack {
    lists: ListArena,
    pages: Vec<Page>,
    /// Non-resident pages of S, newest first.
    gone: GhostLists,
    gone_time: Vec<u64>,
    lir_capacity: usize,
    max_gone: usize,
    /// Pages put on the top of S so far.
    clock: u64,
    floor: u64,
}

/// Value of the clock when the page was put on the top of S, doubled, and 1 more if it is LIR.
#[derive(Clone, Copy, Debug)]
struct Page(u64);

impl Page {
    #[inline]
    fn new(time: u64, lir: bool) -> Page {
        Page(time << 1 | u64::from(lir))
    }

    #[inline]
    fn time(self) -> u64 {
        self.0 >> 1
    }

    #[inline]
    fn is_lir(self) -> bool {
        self.0 & 1 != 0
    }
}

impl Stack {
    /// For `slots` frames, `lir` of them LIR.
    pub(super) fn new(slots: usize, lir: usize, max_gone: Option<usize>) -> Stack {
        // One more than the bound exists for a moment at each eviction. A larger bound than the
        // default is grown into, as none at all is.
        let room = max_gone.map_or(2 * slots, |n| n.min(2 * slots)) + 1;
        Stack {
            lists: ListArena::new(slots, 2),
            pages: vec![Page(0); slots],
            gone: GhostLists::new(room, 1),
            gone_time: vec![0; room],
            lir_capacity: lir,
            max_gone: max_gone.unwrap_or(usize::MAX),
            clock: 0,
            floor: 0,
        }
    }

    #[inline]
    fn put_on_top(&mut self, slot: Slot, lir: bool) {
        self.clock += 1;
        self.pages[slot.index()] = Page::new(self.clock, lir);
    }

    /// Forgets what is below the lowest LIR page.
    #[inline]
    fn prune(&mut self) {
        let bottom = self.lists.tail(LIR);
        let floor = bottom.map_or(self.clock, |n| self.pages[n as usize].time());
        if floor == self.floor {
            return;
        }
        self.floor = floor;
        while let Some(node) = self.gone.oldest(0)
            && self.gone_time[node as usize] <= self.floor
        {
            self.gone.drop_oldest(0);
        }
    }

    /// A page that is in no list becomes LIR at the top of S. The lowest LIR page makes way if
    /// there are too many.
    #[inline]
    fn promote(&mut self, slot: Slot) {
        self.put_on_top(slot, true);
        self.lists.push_head(LIR, slot.0);
        if self.lists.len(LIR) > self.lir_capacity
            && let Some(bottom) = self.lists.tail(LIR)
        {
            self.lists.unlink(LIR, bottom);
            self.lists.push_head(HIR, bottom);
            self.pages[bottom as usize].0 &= !1;
        }
        self.prune();
    }

    #[inline]
    pub(super) fn look_ahead(&self, ahead: &Ahead) -> u64 {
        let times = mix(ahead.slots(), |slot| {
            self.pages.get(slot as usize).map_or(0, |page| page.0)
        });
        times ^ self.lists.look_ahead(ahead) ^ self.gone.look_ahead(ahead)
    }

    #[inline]
    pub(super) fn insert(&mut self, slot: Slot, lpn: Lpn) {
        if let Some(ghost) = self.gone.find(lpn) {
            self.gone.remove(ghost);
            self.promote(slot);
        } else if self.lists.len(LIR) < self.lir_capacity {
            self.put_on_top(slot, true);
            self.lists.push_head(LIR, slot.0);
        } else {
            self.put_on_top(slot, false);
            self.lists.push_head(HIR, slot.0);
        }
    }

    #[inline]
    pub(super) fn touch(&mut self, slot: Slot) {
        let page = self.pages[slot.index()];
        if page.is_lir() {
            self.put_on_top(slot, true);
            self.lists.move_to_head(LIR, slot.0);
            self.prune();
        } else if page.time() > self.floor {
            self.lists.unlink(HIR, slot.0);
            self.promote(slot);
        } else {
            self.put_on_top(slot, false);
            self.lists.move_to_head(HIR, slot.0);
        }
    }

    /// The page leaves; `evicted` is its LPN if it may be remembered.
    #[inline]
    pub(super) fn remove(&mut self, slot: Slot, evicted: Option<Lpn>) {
        let page = self.pages[slot.index()];
        self.lists
            .unlink(if page.is_lir() { LIR } else { HIR }, slot.0);
        match evicted {
            Some(lpn) if !page.is_lir() => {
                if page.time() > self.floor {
                    self.remember(lpn, page.time());
                }
            }
            _ => self.prune(),
        }
    }

    /// Keeps a page in its place in S without its frame.
    #[inline]
    fn remember(&mut self, lpn: Lpn, time: u64) {
        // Pages of Q that are in S have the same order in both. So the page is the newest of the
        // non-resident ones, unless a wrapper passed over an older page of Q.
        let node = match self.gone.newest(0) {
            Some(newest) if self.gone_time[newest as usize] > time => {
                let mut newer = newest;
                while let Some(older) = self.gone.older(newer)
                    && self.gone_time[older as usize] > time
                {
                    newer = older;
                }
                self.gone.push_older(0, lpn, newer)
            }
            _ => self.gone.push_head(0, lpn),
        };
        if node as usize >= self.gone_time.len() {
            self.gone_time.resize(self.gone.nodes(), 0);
        }
        self.gone_time[node as usize] = time;
        if self.gone.len(0) > self.max_gone {
            self.gone.drop_oldest(0);
        }
    }

    pub(super) fn forget(&mut self, lpn: Lpn) {
        self.gone.forget(lpn);
    }

    pub(super) fn rename_ghost(&mut self, from: Lpn, to: Lpn) -> bool {
        self.gone.rename(from, to)
    }

    #[inline]
    pub(super) fn size(&self) -> usize {
        self.lists.len(LIR) + self.lists.len(HIR)
    }

    pub(super) fn ghosts(&self) -> usize {
        self.gone.len(0)
    }

    /// Oldest page of Q, or the bottom of S: only after refills or TRIM is Q empty.
    #[inline]
    pub(super) fn victim(&self) -> Option<Slot> {
        let oldest = self.lists.tail(HIR);
        oldest.or_else(|| self.lists.tail(LIR)).map(Slot)
    }

    pub(super) fn candidates(&self, f: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let order = self.lists.from_tail(HIR).chain(self.lists.from_tail(LIR));
        order.map(Slot).find(|&s| f(s))
    }

    #[cfg(feature = "conformance")]
    pub(super) fn state(&self, v: &View, out: &mut String) {
        let mut stack: Vec<(u64, String)> = Vec::new();
        for (list, letter) in [(LIR, 'L'), (HIR, 'H')] {
            for node in self.lists.from_head(list) {
                let page = self.pages[node as usize];
                let mut word = String::new();
                crate::state::page(&mut word, v, Slot(node));
                word.push(letter);
                if list == LIR || page.time() > self.floor {
                    stack.push((page.time(), word));
                }
            }
        }
        let mut ghost = self.gone.newest(0);
        while let Some(node) = ghost {
            let word = format!("{}N", self.gone.lpn(node));
            stack.push((self.gone_time[node as usize], word));
            ghost = self.gone.older(node);
        }
        stack.sort_by_key(|e| std::cmp::Reverse(e.0));
        let words: Vec<&str> = stack.iter().map(|e| e.1.as_str()).collect();
        out.push_str(&format!("S[{}] Q", words.join(" ")));
        crate::state::pages(out, v, self.lists.from_head(HIR).map(Slot));
    }

    /// Non-resident pages with their times, newest first.
    #[cfg(test)]
    pub(super) fn gone_times(&self) -> Vec<(Lpn, u64)> {
        let nodes = std::iter::successors(self.gone.newest(0), |&n| self.gone.older(n));
        nodes
            .map(|n| (self.gone.lpn(n), self.gone_time[n as usize]))
            .collect()
    }

    /// LIR slots from the top, Q from the newest, each with its time, and the floor.
    #[cfg(test)]
    pub(super) fn resident_times(&self) -> ([Vec<(Slot, u64)>; 2], u64) {
        let of = |list| {
            let nodes = self.lists.from_head(list);
            nodes
                .map(|n| (Slot(n), self.pages[n as usize].time()))
                .collect()
        };
        ([of(LIR), of(HIR)], self.floor)
    }
}
