//! MQ: several LRU queues by the number of accesses; a page that was not accessed for long sinks by one
//! queue, and how often pages that left were accessed is remembered.
//!
//! Source: Zhou, Philbin, Li, USENIX 2001. Time counts page accesses; `lifetime` stands for the peak
//! temporal distance that the paper measures. State: 24 B per page (links, accesses, expiry), 12 B per
//! ghost, first in, first out. Ties: not possible. Cost: O(m).
//!
//! Room is made before the ghost of the new page is looked for, as in the paper's pseudocode, unless
//! `ghost=kept` (GO-1). The clock has advanced for an access when its page's expiry is set; the pseudocode
//! advances it afterwards (MQ-1).

use crate::contract::boxed;
use crate::info::{MetadataBound, PaperSource, ParamInfo, SchemeInfo, Words};
use crate::lists::Lists;
use crate::store::{GhostList, IncomingGhost};
use crate::{
    Access, Env, Expr, Ghosts, PAGE_NODE_BYTES, PageLists, Pages, Policy, RemoveReason,
    SchemeStats, View, params,
};
use destage_types::{Lpn, Slot};

/// Bytes of a page's node: accesses and expiry beside the links.
const NODE_BYTES: u64 = PAGE_NODE_BYTES + 12;
/// Bytes of a ghost entry: an address and accesses.
const GHOST_BYTES: u64 = 12;

/// `mq`: multi-queue.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "mq",
    summary: "Several LRU queues by access count; pages that expire sink by one queue.",
    source: PaperSource {
        paper: "Zhou, Philbin, Li, The Multi-Queue Replacement Algorithm, USENIX",
        year: Some(2001),
        section: "",
        certain: true,
    },
    params: &[MqParams::PARAMS],
    ties: "least recently used of the lowest non-empty queue",
    metadata: |e, c| {
        let ghosts = e.frames("qout", c.frames)?;
        Some(MetadataBound::nodes(NODE_BYTES).and_entries(ghosts, GHOST_BYTES))
    },
    vectors: &["mq"],
    build: Some(boxed::<Pages<Mq>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`Mq`].
    pub struct MqParams {
        /// number of LRU queues
        m: u64 = ParamInfo::integer(1, 64, 8).unit("queues").source("paper"),
        /// time without access after which a page sinks; stands for the peak temporal distance
        lifetime: usize = ParamInfo::frames(1, 8, 1, 1).unit("accesses").source("MQ-2"),
        /// ghosts with their counts
        qout: usize = ParamInfo::frames(0, 4, 1, 0).unit("pages").source("paper"),
        /// the ghost of a page counts, and may be pushed out, while room is made for it, or is kept
        ghost: IncomingGhost = ParamInfo::word(IncomingGhost::WORDS).source("GO-1"),
    }
}

/// Of the page of a node.
#[derive(Clone, Copy, Default, Debug)]
struct Seen {
    accesses: u64,
    /// Page access after which it sinks.
    expires: u64,
}

/// Multi-queue.
#[derive(Clone, Debug)]
pub struct Mq {
    /// The queues, the lowest first, and behind them the ghosts.
    lists: Lists,
    ghosts: Ghosts,
    seen: Vec<Seen>,
    queues: usize,
    lifetime: u64,
    qout: usize,
    incoming_ghost: IncomingGhost,
    /// Accesses of the page that is about to come in, as far as they are remembered.
    remembered: u64,
}

impl Mq {
    /// The queue of a page accessed so often.
    fn queue(&self, accesses: u64) -> usize {
        (accesses.ilog2() as usize).min(self.queues - 1)
    }

    /// The page in `slot`, which is in no queue, was accessed.
    fn accessed(&mut self, slot: Slot, accesses: u64, now: u64) {
        let expires = now + self.lifetime;
        self.seen[slot.index()] = Seen { accesses, expires };
        self.lists.push_head(self.queue(accesses), slot.0);
        for queue in 1..self.queues {
            if let Some(page) = self.lists.tail(queue)
                && self.seen[page as usize].expires < now
            {
                self.seen[page as usize].expires = expires;
                self.lists.move_to_head(queue - 1, page);
            }
        }
    }

    /// A page in Qout comes back with its accesses, another one has none.
    fn recall(&mut self, ghost: Option<u32>) {
        self.remembered = 0;
        if let Some(node) = ghost {
            self.lists.unlink(node);
            self.remembered = self.seen[node as usize].accesses;
        }
    }

    fn remember(&mut self, slot: Slot, v: &View) {
        let ghosts = GhostList {
            list: self.queues,
            most: self.qout,
        };
        let node = self.ghosts.remember_in(&mut self.lists, ghosts, slot, v);
        if self.seen.len() < self.ghosts.nodes() {
            self.seen.resize(self.ghosts.nodes(), Seen::default());
        }
        self.seen[node as usize] = self.seen[slot.index()];
    }
}

impl Policy for Mq {
    fn build(expr: &Expr, env: &Env) -> Mq {
        let MqParams {
            m,
            lifetime,
            qout,
            ghost,
        } = MqParams::of(expr, env);
        let ghosts = Ghosts::new(qout.saturating_add(1), env);
        let queues = m as usize;
        Mq {
            lists: Lists::new(ghosts.nodes(), queues + 1),
            seen: vec![Seen::default(); ghosts.nodes()],
            ghosts,
            queues,
            lifetime: lifetime as u64,
            qout,
            incoming_ghost: ghost,
            remembered: 0,
        }
    }

    fn on_miss(&mut self, a: &Access, v: &View) {
        if self.incoming_ghost == IncomingGhost::Kept {
            let ghost = self.ghosts.take(a, v);
            self.recall(ghost);
        }
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        if self.incoming_ghost == IncomingGhost::Counted {
            let ghost = self.ghosts.take_inserted(slot, a);
            self.recall(ghost);
        }
        let before = std::mem::take(&mut self.remembered);
        self.accessed(slot, before + 1, a.seq);
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, _v: &View) {
        self.lists.unlink(slot.0);
        self.accessed(slot, self.seen[slot.index()].accesses + 1, a.seq);
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        self.lists.unlink(slot.0);
        if reason == RemoveReason::Evicted {
            self.remember(slot, v);
        }
    }

    /// The next one alone.
    fn next_victim(&self, _v: &View) -> Option<Slot> {
        let lowest = (0..self.queues).find_map(|queue| self.lists.tail(queue));
        lowest.map(Slot)
    }

    crate::remembers!(ghosts);

    /// Also ends what `on_miss` began: a page whose history is forgotten comes in as a new one.
    fn forget(&mut self, lpn: Lpn, v: &View) {
        self.remembered = 0;
        self.ghosts.forget_page(&mut self.lists, lpn, v);
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        pages * NODE_BYTES + self.lists.len(self.queues) as u64 * GHOST_BYTES
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("remembered_pages", self.lists.len(self.queues) as u64);
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        for queue in 0..self.queues {
            let pages = self.lists.from_head(queue).map(Slot);
            out.add(format!("Q{queue}"), pages);
        }
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        for queue in (0..self.queues).filter(|&queue| !self.lists.is_empty(queue)) {
            out.push_str(&format!("Q{queue}"));
            crate::state::list(out, self.lists.from_head(queue), |out, page| {
                let Seen { accesses, expires } = self.seen[page as usize];
                crate::state::page(out, v, Slot(page));
                out.push_str(&format!(":{accesses}/{expires}"));
            });
            out.push(' ');
        }
        let ghost = |node| {
            let lpn = self.ghosts.page(node, v);
            format!("{lpn}:{}", self.seen[node as usize].accesses)
        };
        let ghosts: Vec<String> = self.lists.from_head(self.queues).map(ghost).collect();
        out.push_str(&format!("Qout[{}]", ghosts.join(" ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestCache;

    fn cache(text: &str, capacity: u32, requests: &str) -> TestCache<Pages<Mq>> {
        let mut cache = TestCache::<Pages<Mq>>::new(text, capacity);
        cache.run(requests);
        cache
    }

    /// Pages 1 and 2 leave, then page 1 comes back: the ghost of page 2 takes the one place there is.
    #[test]
    fn go_1_the_ghost_of_the_victim_may_push_out_that_of_the_new_page() {
        let requests = "W1 W2 W3 W1 W4 W5";
        let counted = cache("mq(qout=1)", 2, requests);
        assert_eq!(counted.evicted, [1, 2, 3, 1]);
        assert_eq!(counted.state(), "Q0[5*:1/22 4*:1/21] Qout[1:1]");
        let kept = cache("mq(qout=1,ghost=kept)", 2, requests);
        assert_eq!(kept.evicted, [1, 2, 3, 4]);
        assert_eq!(kept.state(), "Q0[5*:1/22] Q1[1*:2/20] Qout[4:1]");
    }

    /// Page 1 expires after access 2 + 3, and sinks with access 6, not with access 5.
    #[test]
    fn mq_1_the_clock_has_advanced_when_the_expiry_is_set() {
        let (before, after) = ("W1 W1 W2 W3 W2", "W1 W1 W2 W3 W2 W3");
        let state = cache("mq(lifetime=3)", 3, before).state();
        assert_eq!(state, "Q0[3*:1/7] Q1[2*:2/8 1*:2/5] Qout[]");
        let state = cache("mq(lifetime=3)", 3, after).state();
        assert_eq!(state, "Q0[1*:2/9] Q1[3*:2/9 2*:2/8] Qout[]");
    }
}
