//! The stack S and the queue Q of LIRS.
//!
//! A page enters S at the top only and never changes its place otherwise, so S is a log of
//! accesses, of which the last one of each page counts. Its bottom is the lowest LIR page; what
//! pruning passes over is not in S any more. Q and the non-resident pages have logs as well: pages
//! enter both of them in the order in which they come.

use super::log::{Log, NOWHERE};
use crate::store::prefetch::{Upcoming, read_all};
use crate::{Access, Env, Ghosts, PageLists, RemoveReason, View};
use destage_types::{Lpn, Slot};

/// Place in its log that a page of Q has; or that of a non-resident page, marked so; or a word.
type Queued = u32;
/// A LIR page, which is in neither log.
const LIR: Queued = u32::MAX;
/// No page.
const NOBODY: Queued = u32::MAX - 1;
/// Mark of a non-resident page. Places are below it.
const NON_RESIDENT: u32 = 1 << 31;

/// State of a page, by its node.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// Place in S, if it is not below the bottom of S.
    top: u32,
    queued: Queued,
}

impl Page {
    const NONE: Page = Page {
        top: NOWHERE,
        queued: NOBODY,
    };

    #[inline(always)]
    fn is_lir(self) -> bool {
        self.queued == LIR
    }

    /// Is it non-resident?
    #[inline(always)]
    fn is_nonresident(self) -> bool {
        self.queued & NON_RESIDENT != 0 && self.queued < NOBODY
    }
}

/// S and Q.
#[derive(Clone, Debug)]
pub(super) struct Stack {
    pages: Vec<Page>,
    /// S.
    stack: Log,
    /// Q.
    queue: Log,
    /// Non-resident pages of S in the order of S.
    nonresident: Log,
    lir: usize,
    hir: usize,
    remembered: usize,
    lir_capacity: usize,
    max_nonresident: usize,
    /// The non-resident pages.
    pub(super) ghosts: Ghosts,
}

impl Stack {
    /// For a cache as `env` says with `lir` LIR pages and at most `max_nonresident` non-resident ones.
    pub(super) fn new(lir: usize, max_nonresident: Option<usize>, env: &Env) -> Stack {
        let (slots, max_nonresident) = (env.slots as usize, max_nonresident.unwrap_or(usize::MAX));
        // One more than the bound exists for a moment at each eviction.
        let ghosts = Ghosts::new(max_nonresident.saturating_add(1), env);
        let nodes = ghosts.nodes();
        Stack {
            pages: vec![Page::NONE; nodes],
            stack: Log::new(nodes),
            queue: Log::new(slots),
            nonresident: Log::new(nodes - slots),
            lir: 0,
            hir: 0,
            remembered: 0,
            lir_capacity: lir,
            max_nonresident,
            ghosts,
        }
    }

    #[inline(always)]
    fn page(&self, node: u32) -> Page {
        self.pages[node as usize]
    }

    #[inline(always)]
    fn page_mut(&mut self, node: u32) -> &mut Page {
        &mut self.pages[node as usize]
    }

    #[inline(always)]
    fn is_in_stack(&self, page: Page) -> bool {
        page.top >= self.stack.begin()
    }

    #[inline(always)]
    fn put_on_top(&mut self, node: u32) {
        if self.stack.is_full() {
            self.close_gaps_of_stack();
        }
        self.page_mut(node).top = self.stack.push(node);
    }

    #[cold]
    #[inline(never)]
    fn close_gaps_of_stack(&mut self) {
        let (bottom, pages) = (self.stack.begin(), &mut self.pages);
        for page in pages.iter_mut() {
            if page.top < bottom {
                page.top = NOWHERE;
            }
        }
        self.stack.close_gaps(|node, from, to| {
            let page = &mut pages[node as usize];
            let counts = page.top == from;
            page.top = if counts { to } else { page.top };
            counts
        });
    }

    /// Closes the gaps of Q, or of the non-resident pages with their mark.
    #[cold]
    #[inline(never)]
    fn close_gaps(log: &mut Log, pages: &mut [Page], mark: u32) {
        log.close_gaps(|node, from, to| {
            let page = &mut pages[node as usize];
            let counts = page.queued == from | mark;
            page.queued = if counts { to | mark } else { page.queued };
            counts
        });
    }

    /// A page enters Q, or moves there, as the newest one.
    #[inline(always)]
    fn put_in_queue(&mut self, node: u32) {
        if self.queue.is_full() {
            Stack::close_gaps(&mut self.queue, &mut self.pages, 0);
        }
        self.page_mut(node).queued = self.queue.push(node);
    }

    /// After a page left the old end of Q.
    #[inline(always)]
    fn settle_queue(&mut self) {
        while let Some(node) = self.queue.oldest()
            && self.page(node).queued != self.queue.begin()
        {
            self.queue.pass();
        }
    }

    /// Forgets what is below the lowest LIR page.
    #[inline(always)]
    fn prune(&mut self) {
        while let Some(node) = self.stack.oldest() {
            let page = self.page(node);
            if page.top == self.stack.begin() {
                if page.is_lir() {
                    return;
                }
                if page.is_nonresident() {
                    self.drop_gone(node);
                }
            }
            self.stack.pass();
        }
    }

    /// A page that is in neither Q nor the memory becomes LIR at the top of S. The lowest LIR page
    /// makes way if there are too many.
    #[inline(always)]
    fn promote(&mut self, node: u32) {
        self.put_on_top(node);
        self.page_mut(node).queued = LIR;
        self.lir += 1;
        // Pruned before, so that the bottom of S is a LIR page, and after, as that page leaves S.
        self.prune();
        if self.lir > self.lir_capacity
            && let Some(bottom) = self.stack.oldest()
        {
            self.lir -= 1;
            self.hir += 1;
            self.put_in_queue(bottom);
            self.prune();
        }
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, upcoming: &Upcoming) {
        let last = self.pages.len() - 1; // there is room for a non-resident page, if nothing else
        read_all(upcoming.slots(), |slot| {
            u64::from(self.pages[(slot as usize).min(last)].top)
        });
    }

    #[inline(always)]
    pub(super) fn insert(&mut self, slot: Slot, a: &Access) {
        if let Some(node) = self.ghosts.take_inserted(slot, a) {
            self.remembered -= 1;
            *self.page_mut(node) = Page::NONE;
            self.promote(slot.0);
        } else if self.lir < self.lir_capacity {
            self.lir += 1;
            self.put_on_top(slot.0);
            self.page_mut(slot.0).queued = LIR;
        } else {
            self.hir += 1;
            self.put_on_top(slot.0);
            self.put_in_queue(slot.0);
        }
    }

    #[inline(always)]
    pub(super) fn touch(&mut self, slot: Slot) {
        let page = self.page(slot.0);
        if page.is_lir() {
            self.put_on_top(slot.0);
            self.prune();
        } else if self.is_in_stack(page) {
            self.page_mut(slot.0).queued = NOBODY;
            self.hir -= 1;
            self.settle_queue();
            self.promote(slot.0);
        } else {
            self.put_on_top(slot.0);
            self.put_in_queue(slot.0);
            self.settle_queue();
        }
    }

    #[inline(always)]
    pub(super) fn remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        let page = self.page(slot.0);
        *self.page_mut(slot.0) = Page::NONE;
        if page.is_lir() {
            self.lir -= 1;
        } else {
            self.hir -= 1;
            self.settle_queue();
        }
        match reason {
            RemoveReason::Evicted if !page.is_lir() => {
                if self.is_in_stack(page) {
                    self.remember(slot, page.top, v);
                }
            }
            _ => self.prune(),
        }
    }

    /// Keeps a page in its place in S without its frame.
    #[inline(always)]
    fn remember(&mut self, slot: Slot, top: u32, v: &View) {
        let node = self.ghosts.remember(slot, v);
        if node as usize >= self.pages.len() {
            self.pages.resize(2 * self.pages.len(), Page::NONE);
        }
        if node != slot.0 {
            self.stack.set(top, node);
        }
        if self.nonresident.is_full() {
            Stack::close_gaps(&mut self.nonresident, &mut self.pages, NON_RESIDENT);
        }
        let mut place = self.nonresident.push(node);
        // The bound forgets the lowest non-resident page of S, so they are kept in the order of S.
        // Pages of Q that are in S have the same order in both. So the page is the newest of the
        // non-resident ones, unless a layer passed over an older page of Q.
        while place > self.nonresident.begin() {
            let newer = self.nonresident.at(place - 1);
            let other = self.page(newer);
            let counts = other.queued == NON_RESIDENT | (place - 1);
            if counts && other.top < top {
                break;
            }
            self.nonresident.set(place, newer);
            if counts {
                self.page_mut(newer).queued = NON_RESIDENT | place;
            }
            place -= 1;
        }
        self.nonresident.set(place, node);
        let queued = NON_RESIDENT | place;
        *self.page_mut(node) = Page { top, queued };
        self.remembered += 1;
        if self.remembered > self.max_nonresident {
            self.drop_oldest();
        }
    }

    /// Forgets the non-resident page that is the lowest in S.
    #[inline(always)]
    fn drop_oldest(&mut self) {
        while let Some(node) = self.nonresident.oldest() {
            let counts = self.page(node).queued == NON_RESIDENT | self.nonresident.begin();
            self.nonresident.pass();
            if counts {
                return self.drop_gone(node);
            }
        }
    }

    /// Forgets a non-resident page.
    #[inline(always)]
    fn drop_gone(&mut self, node: u32) {
        *self.page_mut(node) = Page::NONE;
        self.remembered -= 1;
        self.ghosts.forget(node);
    }

    /// Forgets a page that is not cached, or was not until now.
    pub(super) fn forget(&mut self, lpn: Lpn, v: &View) {
        if let Some(node) = self.ghosts.find(lpn, v) {
            self.drop_gone(node);
        }
    }

    pub(super) fn remembered(&self) -> usize {
        self.remembered
    }

    /// Oldest page of Q, or the bottom of S: only after refills or TRIM is Q empty.
    #[inline(always)]
    pub(super) fn victim(&self) -> Option<Slot> {
        if self.hir > 0 {
            return self.queue.oldest().map(Slot);
        }
        self.lir_from_bottom().next()
    }

    pub(super) fn next_victims(&self) -> impl Iterator<Item = Slot> + '_ {
        self.queue_from_oldest().chain(self.lir_from_bottom())
    }

    /// Places of Q and S grow in the order of eviction, and LIR pages come last.
    pub(super) fn place(&self, slot: Slot) -> Option<u64> {
        let page = self.page(slot.0);
        Some(if page.is_lir() {
            u64::from(page.top) | 1 << 32
        } else {
            u64::from(page.queued)
        })
    }

    fn queue_from_oldest(&self) -> impl DoubleEndedIterator<Item = Slot> + '_ {
        let queue = self.queue.iter();
        let counts = |&(place, node): &(u32, u32)| self.page(node).queued == place;
        queue.filter(counts).map(|(_, node)| Slot(node))
    }

    /// Nodes of S.
    fn stack_from_bottom(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        let stack = self.stack.iter();
        let counts = |&(place, node): &(u32, u32)| self.page(node).top == place;
        stack.filter(counts).map(|(_, node)| node)
    }

    fn lir_from_bottom(&self) -> impl Iterator<Item = Slot> + '_ {
        let nodes = self.stack_from_bottom();
        nodes.filter(|&n| self.page(n).is_lir()).map(Slot)
    }

    /// Pages of S from the top, each with the slot it is cached in and its letter: L, H or N for
    /// LIR, HIR and non-resident.
    #[cfg(any(test, feature = "conformance"))]
    pub(super) fn pages_of_stack(&self, v: &View) -> Vec<(Lpn, Option<Slot>, char)> {
        let page = |node: u32| {
            let (page, slot) = (self.page(node), Slot(node));
            match (page.is_nonresident(), page.is_lir()) {
                (true, _) => (self.ghosts.page(node, v), None, 'N'),
                (false, true) => (v.frames.lpn(slot), Some(slot), 'L'),
                (false, false) => (v.frames.lpn(slot), Some(slot), 'H'),
            }
        };
        self.stack_from_bottom().rev().map(page).collect()
    }

    /// LIR pages from the top of S, and Q from its newest page.
    pub(super) fn lists(&self, out: &mut PageLists) {
        let stack = self.stack_from_bottom().rev();
        out.add("LIR", stack.filter(|&n| self.page(n).is_lir()).map(Slot));
        out.add("HIR", self.slots_of_queue());
    }

    /// Slots of Q from the newest.
    pub(super) fn slots_of_queue(&self) -> impl Iterator<Item = Slot> + '_ {
        self.queue_from_oldest().rev()
    }

    #[cfg(feature = "conformance")]
    pub(super) fn state(&self, v: &View, out: &mut String) {
        let word = |(lpn, slot, letter): (Lpn, Option<Slot>, char)| {
            let mut word = String::new();
            match slot {
                Some(slot) => crate::state::page(&mut word, v, slot),
                None => word = lpn.to_string(),
            }
            word.push(letter);
            word
        };
        let stack: Vec<String> = self.pages_of_stack(v).into_iter().map(word).collect();
        out.push_str(&format!("S[{}] Q", stack.join(" ")));
        crate::state::pages(out, v, self.slots_of_queue());
    }
}
