//! S3-FIFO: new pages pass through a small FIFO; those hit often enough there, or asked for again after
//! leaving it, enter the main FIFO, whose pages stay for one more round per hit.
//!
//! Source: Yang et al., SOSP 2023, Algorithm 1. State: both FIFO lists, 12 B per page (the count of hits,
//! 0 to 3, fits into spare bits of the links); ghosts of the small one, 8 B per entry, as many as the main
//! list has room for. Ties: not possible. Cost: O(1) amortised: every page passed over loses a hit.
//!
//! Room is made before the ghost of the new page is looked for, as in Algorithm 1, unless `ghost=kept` (GO-1).
//! As printed, EVICTS goes on after EVICTM, so two pages leave where one must; here it stops (SF-1).
//! A page that leaves as another one than the next victim has no effect on the others.
//!
//! libCacheSim 0.3.5 has one rule more, which is not in the paper: before the first eviction, pages that come in
//! enter the main list once the small one is full. `ghost=kept` with that rule has its hits.

use crate::contract::boxed;
use crate::info::{
    MetadataBound, MinCapacity, PaperSource, ParamInfo, ParamValue, Range, SchemeInfo, Words,
};
use crate::lists::{ListArray, Lists};
use crate::store::{GhostList, IncomingGhost};
use crate::{
    Access, Env, Expr, Ghosts, PAGE_NODE_BYTES, PageLists, Pages, Policy, RemoveReason,
    SchemeStats, View,
};
use destage_types::{Lpn, Slot};

/// Bytes of a ghost entry.
const GHOST_BYTES: u64 = 8;
/// Most hits that are counted.
const MOST_HITS: u8 = 3;

/// `s3-fifo`: three FIFO queues.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "s3-fifo",
    summary: "A small FIFO filters pages hit too seldom before the main FIFO; ghosts come back.",
    source: PaperSource {
        paper: "Yang et al., FIFO queues are all you need for cache eviction, SOSP",
        year: Some(2023),
        section: "Algorithm 1",
        certain: true,
    },
    // `move` is a word of the language, so `params!` cannot have a field of that name.
    params: &[&[
        ParamInfo::real(Range::UNIT_INSIDE, 0.1)
            .named("small", "size of the small queue, at least 1 page")
            .unit("fraction of C")
            .source("paper"),
        ParamInfo::integer(1, MOST_HITS as u64, 2)
            .named(
                "move",
                "hits in the small queue that let a page enter the main queue",
            )
            .unit("hits")
            .source("paper"),
        ParamInfo::word(IncomingGhost::WORDS)
            .named(
                "ghost",
                "the ghost of a page counts, and may be pushed out, while room is made for it, or is kept",
            )
            .source("GO-1"),
    ]],
    ties: "none: every queue is a total order",
    min_capacity: MinCapacity::Frames(2),
    metadata: |e, c| {
        let ghosts = c.frames.saturating_sub(small_pages(e, c.frames));
        Some(MetadataBound::nodes(PAGE_NODE_BYTES).and_entries(ghosts, GHOST_BYTES))
    },
    vectors: &["s3fifo"],
    build: Some(boxed::<Pages<S3Fifo>>),
    ..SchemeInfo::BASE
};

/// Pages that the small list is meant to have, in a cache of `capacity` pages.
fn small_pages(expr: &Expr, capacity: u64) -> u64 {
    ((expr.real("small") * capacity as f64) as u64).max(1)
}

/// New pages.
const SMALL: usize = 0;
/// Pages that proved to be wanted.
const MAIN: usize = 1;
/// Ghosts of the small list.
const GHOSTS: usize = 2;

/// Three FIFO queues.
#[derive(Clone, Debug)]
pub struct S3Fifo {
    lists: ListArray<3>,
    ghosts: Ghosts,
    /// Hits of the page in each slot, at most [`MOST_HITS`].
    hits: Vec<u8>,
    small: usize,
    main: usize,
    wanted_hits: u8,
    incoming_ghost: IncomingGhost,
    /// List of the page that is about to be inserted.
    enters: usize,
}

impl S3Fifo {
    /// Algorithm 1: a page in G enters M, another one enters S.
    #[inline]
    fn choose_list(&mut self, ghost: Option<u32>) {
        self.enters = SMALL;
        if let Some(node) = ghost {
            self.lists.unlink(node);
            self.enters = MAIN;
        }
    }

    fn takes_from_small(&self) -> bool {
        self.lists.len(SMALL) >= self.small || self.lists.is_empty(MAIN)
    }

    /// Do the hits of this page of the small list let it enter the main one?
    fn moves(&self, page: u32) -> bool {
        self.hits[page as usize] >= self.wanted_hits
    }

    /// The page that leaves the main list once `moved` pages, without hits, came from the small one.
    fn victim_of_main(&self, moved: usize) -> Option<u32> {
        let hits = |page: &u32| self.hits[*page as usize];
        let without = self.lists.from_tail(MAIN).find(|page| hits(page) == 0);
        let came = self.lists.from_tail(SMALL).take(moved).next();
        let fewest = || self.lists.from_tail(MAIN).min_by_key(hits);
        without.or(came).or_else(fewest)
    }

    /// Changes the pages that the search for `victim` passes.
    fn search(&mut self, victim: u32) {
        if self.takes_from_small() {
            while let Some(page) = self.lists.tail(SMALL).filter(|&page| self.moves(page)) {
                self.hits[page as usize] = 0;
                self.lists.move_to_head(MAIN, page);
                if self.lists.len(MAIN) > self.main {
                    break;
                }
            }
        }
        if self.lists.list_of(victim) != MAIN {
            return;
        }
        while let Some(page) = self
            .lists
            .tail(MAIN)
            .filter(|&page| page != victim || self.hits[page as usize] > 0)
        {
            self.hits[page as usize] -= 1;
            self.lists.move_to_head(MAIN, page);
        }
    }
}

impl Policy for S3Fifo {
    fn build(expr: &Expr, env: &Env) -> S3Fifo {
        let small = small_pages(expr, env.capacity.into()) as usize;
        let main = (env.capacity as usize).saturating_sub(small);
        let ghosts = Ghosts::new(main + 1, env);
        S3Fifo {
            lists: Lists::array(ghosts.nodes()),
            hits: vec![0; ghosts.nodes()],
            ghosts,
            small,
            main,
            wanted_hits: expr.uint("move") as u8,
            incoming_ghost: IncomingGhost::read(expr, "ghost", env),
            enters: SMALL,
        }
    }

    #[inline]
    fn on_miss(&mut self, a: &Access, v: &View) {
        if self.incoming_ghost == IncomingGhost::Kept {
            let ghost = self.ghosts.take(a, v);
            self.choose_list(ghost);
        }
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        if self.incoming_ghost == IncomingGhost::Counted {
            let ghost = self.ghosts.take_inserted(slot, a);
            self.choose_list(ghost);
        }
        let list = std::mem::replace(&mut self.enters, SMALL);
        self.hits[slot.index()] = 0;
        self.lists.push_head(list, slot.0);
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, _a: &Access, _v: &View) {
        let hits = &mut self.hits[slot.index()];
        *hits = MOST_HITS.min(*hits + 1);
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        let evicted = reason == RemoveReason::Evicted;
        if evicted && self.next_victim(v) == Some(slot) {
            self.search(slot.0);
        }
        let list = self.lists.list_of(slot.0);
        self.lists.unlink(slot.0);
        if evicted && list == SMALL {
            let ghosts = GhostList {
                list: GHOSTS,
                most: self.main,
            };
            self.ghosts.remember_in(&mut self.lists, ghosts, slot, v);
        }
    }

    /// The next one alone: which pages follow it depends on those that come in.
    fn next_victim(&self, _v: &View) -> Option<Slot> {
        let mut moved = 0;
        if self.takes_from_small() {
            for page in self.lists.from_tail(SMALL) {
                if !self.moves(page) {
                    return Some(Slot(page));
                }
                moved += 1;
                if self.lists.len(MAIN) + moved > self.main {
                    break;
                }
            }
        }
        self.victim_of_main(moved).map(Slot)
    }

    crate::remembers!(ghosts);

    /// Also ends what `on_miss` began: a page whose history is forgotten comes in as a new one.
    fn forget(&mut self, lpn: Lpn, v: &View) {
        self.enters = SMALL;
        self.ghosts.forget_page(&mut self.lists, lpn, v);
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        pages * PAGE_NODE_BYTES + self.lists.len(GHOSTS) as u64 * GHOST_BYTES
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("small_pages", self.lists.len(SMALL) as u64);
        out.gauge("main_pages", self.lists.len(MAIN) as u64);
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        for (list, name) in [(SMALL, "small"), (MAIN, "main")] {
            out.add(name, self.lists.from_head(list).map(Slot));
        }
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        for (list, name) in [(SMALL, "S"), (MAIN, " M")] {
            out.push_str(name);
            crate::state::list(out, self.lists.from_head(list), |out, page| {
                crate::state::page(out, v, Slot(page));
                out.push_str(&format!(":{}", self.hits[page as usize]));
            });
        }
        out.push_str(" G");
        let ghosts = self.lists.from_head(GHOSTS);
        crate::state::ghosts(out, ghosts.map(|node| self.ghosts.page(node, v)), " ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestCache;

    /// Pages 1 and 2 leave, then page 1 comes back: the ghost of page 2 takes the one place there is.
    #[test]
    fn go_1_the_ghost_of_the_victim_may_push_out_that_of_the_new_page() {
        let requests = "W1 W2 W3 W1 W4 W5";
        let mut cache = TestCache::<Pages<S3Fifo>>::new("s3-fifo", 2);
        cache.run(requests);
        assert_eq!(cache.evicted, [1, 2, 3, 1]);
        assert_eq!(cache.state(), "S[5*:0 4*:0] M[] G[1]");
        let mut cache = TestCache::<Pages<S3Fifo>>::new("s3-fifo(ghost=kept)", 2);
        cache.run(requests);
        assert_eq!(cache.evicted, [1, 2, 3, 4]);
        assert_eq!(cache.state(), "S[5*:0] M[1*:0] G[4]");
    }

    /// A counted ghost that is not pushed out itself costs an older one its place.
    #[test]
    fn go_1_an_older_ghost_pays_for_one_that_counts() {
        let requests = "W1-3 W4 W5 W2";
        for (text, ghosts) in [("s3-fifo", "G[3]"), ("s3-fifo(ghost=kept)", "G[3 1]")] {
            let mut cache = TestCache::<Pages<S3Fifo>>::new(text, 3);
            cache.run(requests);
            assert_eq!(cache.state(), format!("S[5*:0 4*:0] M[2*:0] {ghosts}"));
        }
    }

    /// Two pages move from the small list while the main one has room for one: one page leaves, not two.
    #[test]
    fn sf_1_one_page_leaves_for_one_that_comes() {
        let mut cache = TestCache::<Pages<S3Fifo>>::new("s3-fifo(small=0.7,move=1)", 3);
        cache.run("W1-3 R1-3 W4");
        assert_eq!(cache.evicted, [1]);
        assert_eq!(cache.state(), "S[4*:0 3*:1] M[2*:0] G[]");
    }
}
