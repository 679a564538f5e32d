//! LRU-K: the page whose second-last access is oldest leaves first; the times of pages that left are
//! remembered for a while.
//!
//! Source: O'Neil, O'Neil, Weikum, SIGMOD 1993, with K = 2 and no correlated reference period. State: the
//! last two accesses of each page, 28 B per page, and of the `h` pages accessed last among those that
//! left, 24 B per entry. Ties: two pages without a second access: the older one leaves. Cost: O(log C).
//!
//! Pages without a second access leave first, so they have a list, and the others are put in order only as far
//! as the first of them is asked for: a hit makes a page leave later, never sooner.
//!
//! libCacheSim's LRU-K remembers no page that left: `lru-2(h=0)` has its hits.

use crate::contract::boxed;
use crate::info::{MetadataBound, PaperSource, ParamInfo, SchemeInfo};
use crate::lists::List;
use crate::ranking::Ranking;
use crate::{
    Access, Env, Expr, Ghosts, PAGE_NODE_BYTES, Pages, Policy, RemoveReason, SchemeStats, View,
    params,
};
use destage_types::{Lpn, Slot};

/// Bytes of a page's node: two times beside the links.
const NODE_BYTES: u64 = PAGE_NODE_BYTES + 16;
/// Bytes of a ghost entry: an address and two times.
const GHOST_BYTES: u64 = 24;

/// `lru-2`: second-last reference.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "lru-2",
    summary: "Evicts the page whose second-last access is oldest.",
    source: PaperSource {
        paper: "O'Neil, O'Neil, Weikum, The LRU-K Page Replacement Algorithm, SIGMOD",
        year: Some(1993),
        section: "",
        certain: true,
    },
    params: &[Lru2Params::PARAMS],
    ties: "oldest last access",
    metadata: |e, c| {
        let ghosts = e.frames("h", c.frames)?;
        Some(MetadataBound::nodes(NODE_BYTES).and_entries(ghosts, GHOST_BYTES))
    },
    vectors: &["lru2"],
    build: Some(boxed::<Pages<Lru2>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`Lru2`].
    pub struct Lru2Params {
        /// evicted pages whose times are remembered
        h: usize = ParamInfo::frames(0, 1, 1, 0).unit("pages").source("retained information"),
    }
}

/// LRU-K with K = 2.
#[derive(Clone, Debug)]
pub struct Lru2 {
    /// Pages without a second access.
    once: List,
    /// The others by second-last and last access, perhaps as those were before further hits. The first one's are
    /// up to date while `once` is empty and it is the victim.
    pages: Ranking<(u64, u64)>,
    /// Ghosts by last access.
    history: Ranking<u64>,
    ghosts: Ghosts,
    /// Last and second-last access of the page of each node.
    times: Vec<[u64; 2]>,
    h: usize,
    /// Last access of the page that is about to come in, if that is remembered.
    remembered: u64,
}

impl Lru2 {
    fn remember(&mut self, slot: Slot, v: &View) {
        let node = self.ghosts.remember(slot, v);
        self.history.reserve(self.ghosts.nodes());
        if self.times.len() < self.ghosts.nodes() {
            self.times.resize(self.ghosts.nodes(), [0; 2]);
        }
        let times = self.times[slot.index()];
        self.times[node as usize] = times;
        self.history.insert(node, times[0]);
        if self.history.len() > self.h
            && let Some(oldest) = self.history.first()
        {
            self.drop_ghost(oldest);
        }
    }

    /// The page in `slot` was accessed now, and before at `before`, 0 for never.
    fn accessed(&mut self, slot: Slot, a: &Access, before: u64) {
        self.times[slot.index()] = [a.seq, before];
        match before {
            0 => self.once.push_head(slot),
            _ => self.pages.insert(slot.0, (before, a.seq)),
        }
    }

    /// Brings the first page's key up to date if it is the next victim, until the first one's is.
    fn settle(&mut self) {
        while self.once.is_empty()
            && let Some(first) = self.pages.first()
        {
            let [last, before] = self.times[first as usize];
            if self.pages.key(first) == (before, last) {
                return;
            }
            self.pages.set(first, (before, last));
        }
    }

    fn drop_ghost(&mut self, node: u32) {
        self.history.remove(node);
        self.ghosts.forget(node);
    }
}

impl Policy for Lru2 {
    fn build(expr: &Expr, env: &Env) -> Lru2 {
        let Lru2Params { h } = Lru2Params::of(expr, env);
        let ghosts = Ghosts::new(h.saturating_add(1), env);
        let nodes = ghosts.nodes();
        Lru2 {
            once: List::new(nodes),
            pages: Ranking::new(nodes),
            history: Ranking::new(nodes),
            ghosts,
            times: vec![[0; 2]; nodes],
            h,
            remembered: 0,
        }
    }

    fn on_miss(&mut self, a: &Access, v: &View) {
        self.remembered = 0;
        if let Some(node) = self.ghosts.take(a, v) {
            self.history.remove(node);
            self.remembered = self.times[node as usize][0];
        }
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        let before = std::mem::take(&mut self.remembered);
        self.accessed(slot, a, before);
        self.settle();
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, _v: &View) {
        let [last, before] = self.times[slot.index()];
        if before == 0 {
            self.once.unlink(slot);
            self.accessed(slot, a, last);
        } else {
            self.times[slot.index()] = [a.seq, last];
        }
        self.settle();
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        match self.times[slot.index()] {
            [_, 0] => self.once.unlink(slot),
            _ => self.pages.remove(slot.0),
        }
        self.settle();
        if reason == RemoveReason::Evicted {
            self.remember(slot, v);
        }
    }

    /// The next one alone.
    fn next_victim(&self, _v: &View) -> Option<Slot> {
        self.once.tail().or(self.pages.first().map(Slot))
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
        pages * NODE_BYTES + self.history.len() as u64 * GHOST_BYTES
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("remembered_pages", self.history.len() as u64);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        let times = |node: u32| match self.times[node as usize] {
            [last, 0] => format!("[{last}]"),
            [last, before] => format!("[{last}, {before}]"),
        };
        let pages = self.once.from_head().chain(self.pages.nodes().map(Slot));
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
