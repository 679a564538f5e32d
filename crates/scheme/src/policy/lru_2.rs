//! LRU-K: the page whose second-last access is oldest leaves first; the times of pages that left are
//! remembered for a while.
//!
//! Source: O'Neil, O'Neil, Weikum, SIGMOD 1993, Fig. 2.1 with K = 2. State: the last two references of each
//! page, 28 B per page, and of the `h` pages accessed last among those that left, 24 B per entry (LK-2). A
//! correlated reference period costs 8 B more for each. Ties: equal second-last reference: the page whose last
//! access is older leaves. Cost: O(log C), but O(C) per eviction while every page is in its period.
//!
//! An access within `crp` accesses of the last one to the same page continues the same reference (LK-1). In
//! Fig. 2.1 HIST(p, 1) is the first access of the last reference, LAST(p) is its last access, and HIST(p, 2)
//! decides who leaves. For K = 2 the figure sets HIST(p, 2) to LAST(p) when the next reference begins.
//!
//! Pages without a second reference leave first, so they have a list. The others are put in order only as far
//! as the first of them is asked for: a hit makes a page leave later, never sooner.
//!
//! `h` does not count a remembered page while room is made for it (GO-2).
//!
//! libCacheSim's LRU-K remembers no page that left: `lru-2(h=0)` has its hits.

use crate::contract::boxed;
use crate::info::{MetadataBound, PaperSource, ParamInfo, SchemeInfo};
use crate::lists::{ListArray, Lists};
use crate::ranking::Ranking;
use crate::{
    Access, Env, Expr, Ghosts, PAGE_NODE_BYTES, PageLists, Pages, Policy, RemoveReason,
    SchemeStats, View, params,
};
use destage_types::{Lpn, Slot};

/// Bytes of a page's node: two times beside the links.
const NODE_BYTES: u64 = PAGE_NODE_BYTES + 16;
/// Bytes of a ghost entry: an address and two times.
const GHOST_BYTES: u64 = 24;
/// Bytes of the first access of a reference, where that is not the last one too.
const BEGIN_BYTES: u64 = 8;

/// `lru-2`: second-last reference.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "lru-2",
    summary: "Evicts the page whose second-last access is oldest.",
    source: PaperSource {
        paper: "O'Neil, O'Neil, Weikum, The LRU-K Page Replacement Algorithm, SIGMOD",
        year: Some(1993),
        section: "Fig. 2.1",
        certain: true,
    },
    params: &[Lru2Params::PARAMS],
    ties: "oldest last access",
    metadata: |e, c| {
        let (ghosts, begin) = (e.frames("h", c.frames)?, begin_bytes(e.uint("crp")));
        let pages = MetadataBound::nodes(NODE_BYTES + begin);
        Some(pages.and_entries(ghosts, GHOST_BYTES + begin))
    },
    vectors: &["lru2"],
    build: Some(boxed::<Pages<Lru2>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`Lru2`].
    pub struct Lru2Params {
        /// evicted pages whose times are remembered
        h: usize = ParamInfo::frames(0, 1, 1, 0).unit("pages").source("LK-2"),
        /// correlated reference period: accesses to a page that are so close together are one reference
        crp: u64 = ParamInfo::count(0, 0).unit("accesses").source("LK-1"),
    }
}

/// Additional bytes of a page, and of a ghost, with a correlated reference period.
fn begin_bytes(crp: u64) -> u64 {
    if crp == 0 { 0 } else { BEGIN_BYTES }
}

/// Numbers of page accesses, 0 for never.
#[derive(Clone, Copy, Default, Debug)]
struct Times {
    /// LAST(p): last access.
    last: u64,
    /// HIST(p, 1): first access of the last reference.
    begin: u64,
    /// HIST(p, 2): end of the reference before, or its begin if the page left in between.
    before: u64,
}

/// Pages in their correlated reference period, by last access. Pages whose period is over stay here until the
/// policy hears of the next access.
const CORRELATED: usize = 0;
/// Other pages without a second reference, by last access.
const ONCE: usize = 1;

/// LRU-K with K = 2.
#[derive(Clone, Debug)]
pub struct Lru2 {
    /// [`CORRELATED`] and [`ONCE`].
    lists: ListArray<2>,
    /// The other pages by second-last and last access, perhaps as those were before further hits. The first
    /// one's are up to date while [`ONCE`] is empty and it is the victim.
    pages: Ranking<(u64, u64)>,
    /// Ghosts by last access.
    history: Ranking<u64>,
    ghosts: Ghosts,
    /// Times of the page of each node.
    times: Vec<Times>,
    h: usize,
    crp: u64,
    /// HIST(p, 1) of the page that is about to come in, if that is remembered.
    remembered: u64,
}

impl Lru2 {
    fn remember(&mut self, slot: Slot, v: &View) {
        let node = self.ghosts.remember(slot, v);
        self.history.reserve(self.ghosts.nodes());
        if self.times.len() < self.ghosts.nodes() {
            self.times.resize(self.ghosts.nodes(), Times::default());
        }
        let times = self.times[slot.index()];
        self.times[node as usize] = times;
        self.history.insert(node, times.last);
        if self.history.len() > self.h
            && let Some(oldest) = self.history.first()
        {
            self.drop_ghost(oldest);
        }
    }

    /// Is this page, at access `now`, in its correlated reference period?
    fn is_correlated(&self, slot: Slot, now: u64) -> bool {
        self.crp > 0 && now - self.times[slot.index()].last <= self.crp
    }

    /// A new reference to the page in `slot`, which is in no order, begins now.
    fn refer(&mut self, slot: Slot, a: &Access, before: u64) {
        self.times[slot.index()] = Times {
            last: a.seq,
            begin: a.seq,
            before,
        };
        match self.crp {
            0 => self.make_eligible(slot),
            _ => self.lists.push_head(CORRELATED, slot.0),
        }
    }

    /// The page in `slot`, which is in no order, may be a victim.
    fn make_eligible(&mut self, slot: Slot) {
        match self.times[slot.index()] {
            Times { before: 0, .. } => self.lists.push_head(ONCE, slot.0),
            Times { before, last, .. } => self.pages.insert(slot.0, (before, last)),
        }
    }

    /// Pages whose period is over at access `now` may be victims.
    fn end_periods(&mut self, now: u64) {
        while let Some(oldest) = self.lists.tail(CORRELATED)
            && !self.is_correlated(Slot(oldest), now)
        {
            self.lists.unlink(oldest);
            self.make_eligible(Slot(oldest));
        }
    }

    /// Takes the page in `slot` out of the order that it is in.
    fn unlink(&mut self, slot: Slot) {
        match self.lists.list_of(slot.0) {
            CORRELATED | ONCE => self.lists.unlink(slot.0),
            _ => self.pages.remove(slot.0),
        }
    }

    /// Brings the first page's key up to date if it is the next victim, until the first one's is.
    fn settle(&mut self) {
        while self.lists.is_empty(ONCE)
            && let Some(first) = self.pages.first()
        {
            let Times { before, last, .. } = self.times[first as usize];
            if self.pages.key(first) == (before, last) {
                return;
            }
            self.pages.set(first, (before, last));
        }
    }

    /// The rank of a page: the smallest is the victim.
    fn key(&self, slot: Slot) -> (u64, u64) {
        let Times { before, last, .. } = self.times[slot.index()];
        (before, last)
    }

    fn drop_ghost(&mut self, node: u32) {
        self.history.remove(node);
        self.ghosts.forget(node);
    }
}

impl Policy for Lru2 {
    fn build(expr: &Expr, env: &Env) -> Lru2 {
        let Lru2Params { h, crp } = Lru2Params::of(expr, env);
        let ghosts = Ghosts::new(h.saturating_add(1), env);
        let nodes = ghosts.nodes();
        Lru2 {
            lists: Lists::array(nodes),
            pages: Ranking::new(nodes),
            history: Ranking::new(nodes),
            ghosts,
            times: vec![Times::default(); nodes],
            h,
            crp,
            remembered: 0,
        }
    }

    fn on_miss(&mut self, a: &Access, v: &View) {
        self.remembered = 0;
        if let Some(node) = self.ghosts.take(a, v) {
            self.history.remove(node);
            self.remembered = self.times[node as usize].begin;
        }
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        let before = std::mem::take(&mut self.remembered);
        self.end_periods(a.seq);
        self.refer(slot, a, before);
        self.settle();
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, _v: &View) {
        self.end_periods(a.seq);
        let Times { last, before, .. } = self.times[slot.index()];
        if self.lists.list_of(slot.0) == CORRELATED {
            self.times[slot.index()].last = a.seq;
            self.lists.move_to_head(CORRELATED, slot.0);
        } else if self.crp > 0 || before == 0 {
            self.unlink(slot);
            self.refer(slot, a, last);
        } else {
            // The page keeps its place until it is asked for: see `settle`.
            self.times[slot.index()] = Times {
                last: a.seq,
                begin: a.seq,
                before: last,
            };
        }
        self.settle();
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        self.unlink(slot);
        self.settle();
        if reason == RemoveReason::Evicted {
            self.remember(slot, v);
        }
    }

    /// The next one alone. A page in its period is a victim only if all are.
    fn next_victim(&self, v: &View) -> Option<Slot> {
        let eligible = self.lists.tail(ONCE).or(self.pages.first()).map(Slot);
        let by_last = || self.lists.from_tail(CORRELATED).map(Slot);
        let over = by_last().take_while(|&slot| !self.is_correlated(slot, v.seq));
        let victim = eligible
            .into_iter()
            .chain(over)
            .min_by_key(|&slot| self.key(slot));
        victim.or_else(|| by_last().min_by_key(|&slot| self.key(slot)))
    }

    crate::remembers!(ghosts);

    /// Also ends what `on_miss` began: a page whose history is forgotten comes in as a new one.
    fn forget(&mut self, lpn: Lpn, v: &View) {
        self.remembered = 0;
        if let Some(node) = self.ghosts.find(lpn, v) {
            self.drop_ghost(node);
        }
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        let begin = begin_bytes(self.crp);
        pages * (NODE_BYTES + begin) + self.history.len() as u64 * (GHOST_BYTES + begin)
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("remembered_pages", self.history.len() as u64);
    }

    fn lists(&self, v: &View, out: &mut PageLists) {
        for (list, name) in [(CORRELATED, "correlated"), (ONCE, "once")] {
            out.add(name, self.lists.from_head(list).map(Slot));
        }
        let mut pages: Vec<Slot> = self.pages.nodes().map(Slot).collect();
        v.frames.sort_by_lpn(&mut pages);
        out.add("twice", pages);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        let times = |node: u32| {
            let Times {
                last,
                begin,
                before,
            } = self.times[node as usize];
            let reference = match begin == last {
                true => last.to_string(),
                false => format!("{begin}-{last}"),
            };
            match before {
                0 => format!("[{reference}]"),
                _ => format!("[{reference}, {before}]"),
            }
        };
        let lists = [CORRELATED, ONCE].into_iter();
        let listed = lists.flat_map(|list| self.lists.from_head(list));
        let pages = listed.chain(self.pages.nodes()).map(Slot);
        crate::state::by_page(out, v, pages, |slot| times(slot.0));
        let mut ghosts: Vec<_> = self
            .history
            .nodes()
            .map(|n| (self.ghosts.page(n, v), n))
            .collect();
        ghosts.sort_unstable();
        let ghosts = ghosts
            .iter()
            .map(|&(lpn, node)| format!("{lpn}:{}", times(node)));
        let ghosts: Vec<String> = ghosts.collect();
        out.push_str(&format!(" hist{{{}}}", ghosts.join(" ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestCache;

    fn cache(text: &str, capacity: u32, requests: &str) -> TestCache<Pages<Lru2>> {
        let mut cache = TestCache::<Pages<Lru2>>::new(text, capacity);
        cache.run(requests);
        cache
    }

    /// Accesses 1, 2 and 4 of page 1 are one reference, access 7 is another one.
    #[test]
    fn lk_1_accesses_within_the_period_are_one_reference() {
        let once = cache("lru-2(crp=2)", 3, "W1 R1 W2 R1");
        assert_eq!(once.state(), "{1*:[1-4] 2*:[3]} hist{}");
        let twice = cache("lru-2(crp=2)", 3, "W1 R1 W2 R1 W3 R3 R1");
        assert_eq!(twice.state(), "{1*:[7, 4] 2*:[3] 3*:[5-6]} hist{}");
        let plain = cache("lru-2", 3, "W1 R1 W2 R1 W3 R3 R1");
        assert_eq!(plain.state(), "{1*:[7, 4] 2*:[3] 3*:[6, 5]} hist{}");
    }

    /// Without a period the burst on page 1 makes it more valuable than page 2, which comes back regularly.
    #[test]
    fn lk_1_a_burst_does_not_protect_a_page() {
        let requests = "W2 W1 R1 R1 R2 W3";
        let plain = cache("lru-2", 2, requests);
        assert_eq!(plain.evicted, [2], "page 1 stays");
        let with_period = cache("lru-2(crp=1)", 2, requests);
        assert_eq!(with_period.evicted, [1], "page 2 stays");
    }

    /// A page in its period stays unless all are, and then the usual rule decides.
    #[test]
    fn lk_1_a_page_in_its_period_is_no_victim_unless_all_are() {
        let mut cache = cache("lru-2(crp=3)", 3, "W1 W2 W3 W9 W1");
        assert_eq!(cache.evicted, [1, 2], "all were, so the oldest left");
        assert_eq!(cache.state(), "{1*:[5, 1] 3*:[3] 9*:[4]} hist{2:[2]}");
        cache.run("R9 R3 R3 W4");
        assert_eq!(
            cache.state(),
            "{3*:[7-8, 3] 4*:[9] 9*:[4-6]} hist{1:[5, 1] 2:[2]}"
        );
        assert_eq!(
            cache.evicted[2], 1,
            "page 9 has one reference, but is in its period"
        );
    }

    /// Fig. 2.1 takes over HIST(p, 1), the begin of the last reference, when a page comes back.
    #[test]
    fn lk_1_a_page_that_comes_back_has_the_begin_of_its_last_reference() {
        let cache = cache("lru-2(crp=1)", 1, "W1 R1 R1 W2 W1");
        assert_eq!(cache.state(), "{1*:[5, 1]} hist{2:[4]}");
    }

    /// Page 2 takes the one place of the history when page 1 has left it.
    #[test]
    fn go_2_the_ghost_of_the_new_page_does_not_count() {
        let cache = cache("lru-2(h=1)", 1, "W1 W2 W1");
        assert_eq!(cache.state(), "{1*:[3, 1]} hist{2:[2]}");
    }

    #[test]
    fn a_page_is_charged_28_bytes_and_a_ghost_24_and_8_more_with_a_period() {
        for (text, bytes) in [("lru-2", 2 * 28 + 24), ("lru-2(crp=5)", 2 * 36 + 32)] {
            assert_eq!(cache(text, 2, "W1 W2 W3").metadata_bytes(), bytes);
        }
    }
}
