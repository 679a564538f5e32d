//! 2Q, full version: new pages pass through a FIFO; a page that is asked for again after it left
//! the FIFO enters an LRU list.
//!
//! Source: T. Johnson, D. Shasha, VLDB 1994. State: A1in (FIFO) and Am (LRU), 12 B per page; A1out,
//! ghosts of the FIFO, 8 B per entry, at most `kout`. Ties: not possible. Cost: O(1).
//!
//! While room is made for a page that is in A1out, the bound of A1out does not count it: `on_miss`
//! takes it out first (GO-2).

use crate::contract::boxed;
use crate::info::{MetadataBound, PaperSource, ParamInfo, SchemeInfo};
use crate::lists::{ListArray, Lists};
use crate::store::GhostList;
use crate::{
    Access, Env, Expr, Ghosts, PAGE_NODE_BYTES, PageLists, Pages, Policy, RemoveReason,
    SchemeStats, View, params,
};
use destage_types::{Lpn, Slot};

/// Bytes of a ghost entry.
const GHOST_BYTES: u64 = 8;

/// `2q`: full version.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "2q",
    summary: "A FIFO for new pages; those asked for again after leaving it enter an LRU list.",
    source: PaperSource {
        paper: "Johnson, Shasha, 2Q, VLDB",
        year: Some(1994),
        section: "",
        certain: true,
    },
    params: &[TwoQParams::PARAMS],
    ties: "none: every list is a total order",
    metadata: |e, c| {
        let ghosts = e.frames("kout", c.frames)?;
        Some(MetadataBound::nodes(PAGE_NODE_BYTES).and_entries(ghosts, GHOST_BYTES))
    },
    vectors: &["twoq"],
    build: Some(boxed::<Pages<TwoQ>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`TwoQ`].
    pub struct TwoQParams {
        /// threshold of the FIFO
        kin: usize = ParamInfo::frames(1, 1, 4, 1).unit("pages").source("full 2Q"),
        /// ghosts of the FIFO
        kout: usize = ParamInfo::frames(1, 1, 2, 1).unit("pages").source("full 2Q"),
    }
}

/// New pages, first in, first out.
const A1_IN: usize = 0;
/// Ghosts of pages that left A1in.
const A1_OUT: usize = 1;
/// Pages that came back, by recency.
const AM: usize = 2;

/// 2Q.
#[derive(Clone, Debug)]
pub struct TwoQ {
    lists: ListArray<3>,
    ghosts: Ghosts,
    kin: usize,
    kout: usize,
    /// List of the page that is about to be inserted.
    enters: usize,
}

impl Policy for TwoQ {
    fn build(expr: &Expr, env: &Env) -> TwoQ {
        let TwoQParams { kin, kout } = TwoQParams::of(expr, env);
        let ghosts = Ghosts::new(kout.saturating_add(1), env);
        TwoQ {
            lists: Lists::array(ghosts.nodes()),
            ghosts,
            kin,
            kout,
            enters: A1_IN,
        }
    }

    #[inline]
    fn on_miss(&mut self, a: &Access, v: &View) {
        self.enters = A1_IN;
        if let Some(node) = self.ghosts.take(a, v) {
            self.lists.unlink(node);
            self.enters = AM;
        }
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
        let list = std::mem::replace(&mut self.enters, A1_IN);
        self.lists.push_head(list, slot.0);
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, _a: &Access, _v: &View) {
        if self.lists.list_of(slot.0) == AM {
            self.lists.move_to_head(AM, slot.0);
        }
    }

    #[inline]
    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        let list = self.lists.list_of(slot.0);
        self.lists.unlink(slot.0);
        if reason == RemoveReason::Evicted && list == A1_IN {
            let ghosts = GhostList {
                list: A1_OUT,
                most: self.kout,
            };
            self.ghosts.remember_in(&mut self.lists, ghosts, slot, v);
        }
    }

    /// A1in pays only above `kin`: below it, new pages are given the time to be asked for again.
    ///
    /// The next one alone: which pages follow it depends on those that come in.
    #[inline]
    fn next_victim(&self, _v: &View) -> Option<Slot> {
        let from = if self.lists.len(A1_IN) > self.kin || self.lists.is_empty(AM) {
            A1_IN
        } else {
            AM
        };
        self.lists.tail(from).map(Slot)
    }

    crate::remembers!(ghosts);

    /// Also ends what `on_miss` began: a page whose history is forgotten comes in as a new one.
    fn forget(&mut self, lpn: Lpn, v: &View) {
        self.enters = A1_IN;
        self.ghosts.forget_page(&mut self.lists, lpn, v);
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        pages * PAGE_NODE_BYTES + self.lists.len(A1_OUT) as u64 * GHOST_BYTES
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("a1in_pages", self.lists.len(A1_IN) as u64);
        out.gauge("am_pages", self.lists.len(AM) as u64);
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        for (list, name) in [(A1_IN, "A1in"), (AM, "Am")] {
            out.add(name, self.lists.from_head(list).map(Slot));
        }
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        out.push_str("A1in");
        crate::state::pages(out, v, self.lists.from_head(A1_IN).map(Slot));
        out.push_str(" A1out");
        let ghosts = self.lists.from_head(A1_OUT);
        crate::state::ghosts(out, ghosts.map(|node| self.ghosts.page(node, v)), " ");
        out.push_str(" Am");
        crate::state::pages(out, v, self.lists.from_head(AM).map(Slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Storm, TestCache};

    type Cache = TestCache<Pages<TwoQ>>;

    fn cache(capacity: u32, kin: usize, kout: usize, requests: &str) -> Cache {
        let mut cache = Cache::new(&format!("2q(kin={kin},kout={kout})"), capacity);
        cache.run(requests);
        cache
    }

    #[test]
    fn the_worked_example() {
        let cache = cache(4, 1, 2, "W1 W2 W3 W4 W2 W5 W1 W6 W3 W7");
        assert_eq!(cache.evicted, [1, 2, 3, 4, 5]);
        assert_eq!(cache.state(), "A1in[7* 6*] A1out[5 4] Am[3* 1*]");
    }

    #[test]
    fn am_pays_once_the_fifo_is_short_and_is_not_remembered() {
        let mut cache = cache(3, 2, 2, "W1 W2 W3 W4 W1");
        assert_eq!(cache.state(), "A1in[4* 3*] A1out[2] Am[1*]");
        cache.write(9);
        assert_eq!(cache.evicted, [1, 2, 1]);
        assert_eq!(cache.state(), "A1in[9* 4* 3*] A1out[2] Am[]");
    }

    /// Page 2 leaves A1out before page 3 comes there, so page 1 keeps its place.
    #[test]
    fn go_2_the_ghost_of_the_new_page_does_not_count() {
        let cache = cache(2, 1, 2, "W1 W2 W3 W4 W2");
        assert_eq!(cache.state(), "A1in[4*] A1out[3 1] Am[2*]");
    }

    #[test]
    fn a_trimmed_or_forgotten_page_comes_back_as_new() {
        let mut cache = cache(2, 1, 2, "W1 W2 W3 W4");
        assert_eq!(cache.state(), "A1in[4* 3*] A1out[2 1] Am[]");
        cache.run("T1 T4 W1 W4");
        assert!(cache.state().starts_with("A1in[4* 1*]") && cache.state().ends_with("Am[]"));
    }

    #[test]
    fn a_renamed_ghost_keeps_its_place() {
        let mut cache = cache(2, 1, 2, "W1 W2 W3 W4");
        assert!(cache.rename(1, 10) && !cache.rename(1, 11));
        assert_eq!(cache.state(), "A1in[4* 3*] A1out[2 10] Am[]");
        cache.write(10);
        assert!(cache.state().ends_with("Am[10*]"));
    }

    #[test]
    fn bounds_hold_whatever_happens() {
        for (capacity, kin, kout) in [(1, 1, 1), (4, 1, 2), (7, 3, 20), (16, 20, 4)] {
            let mut cache = cache(capacity, kin, kout, "");
            let pages = 4 * u64::from(capacity) + 2;
            let storm = Storm {
                steps: 20_000,
                pages,
                seed: 5,
                passed_over: false,
            };
            cache.storm(storm, |cache, done| {
                let (policy, v) = (cache.scheme.policy(), cache.view());
                assert!(policy.lists.len(A1_OUT) <= kout, "{done:?}");
                let mut known = policy
                    .lists
                    .from_head(A1_OUT)
                    .map(|n| policy.ghosts.page(n, &v));
                assert!(known.all(|lpn| v.slot_of(lpn).is_none()), "{done:?}");
            });
            cache.scheme.policy().lists.validate().unwrap();
        }
    }

    #[test]
    fn a_page_is_charged_12_bytes_and_a_ghost_8() {
        let cache = cache(2, 1, 2, "W1 W2 W3");
        assert_eq!(cache.metadata_bytes(), 2 * 12 + 8);
    }
}
