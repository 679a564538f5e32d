//! FRD: new pages pass through a small filter; a page that comes back while its reuse distance is remembered
//! enters the main part, which is a stack of reuse distances.
//!
//! Source: Park, Park, MSST 2017. State: the filter F, an LRU list; the stack D, which has the other pages
//! of the cache and, in one order with them, history entries of pages that are in F or have left. 12 B per
//! page and per history entry. D is pruned: its oldest entry is a cached page of D, whatever else made it the
//! oldest. The paper has no other bound on histories, so their number follows from the trace.
//! Ties: not possible. Cost: O(1) amortised.
//!
//! Where the paper is silent:
//! - Not at the start alone, but whenever D has fewer pages than it is meant for, a page comes into D at
//!   once (FR-1).
//! - Nothing leaves D for a page that comes back while the cache has a free frame, as after a TRIM. D then
//!   has a page too many, and gives one for the next new page.
//! - Where room is needed although F is not full, as for several pages at a time, it gives what it has.

use crate::contract::boxed;
use crate::info::{PaperSource, ParamInfo, Range, SchemeInfo};
use crate::lists::{List, ListArray, Lists};
use crate::{
    Access, Env, Expr, Ghosts, PAGE_NODE_BYTES, PageLists, Pages, Policy, RemoveReason,
    SchemeStats, View, params,
};
use destage_types::{Lpn, Slot};

/// Bytes of a history entry: an address and two links.
const HISTORY_BYTES: u64 = 12;

/// `frd`: filter and reuse distance.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "frd",
    summary: "A small filter for new pages beside a stack ordered by reuse distance.",
    source: PaperSource {
        paper: "Park, Park, FRD: A Filtering based Buffer Cache Algorithm, MSST",
        year: Some(2017),
        section: "",
        certain: true,
    },
    params: &[FrdParams::PARAMS],
    ties: "none: both stacks are total orders",
    metadata: |_, _| None,
    // A page that comes back takes the place of another one than a new page.
    victim_is_known: |_| false,
    vectors: &["frd"],
    build: Some(boxed::<Pages<Frd>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`Frd`].
    pub struct FrdParams {
        /// size of the filter, at least 1 page
        filter: f64 = ParamInfo::real(Range::UNIT_INSIDE, 0.1).unit("fraction of C").source("paper"),
    }
}

/// The one list of D.
const D: usize = 0;

/// Filter and reuse-distance stack.
#[derive(Clone, Debug)]
pub struct Frd {
    /// F.
    filter: List,
    /// Is the page of this slot in F?
    in_filter: Vec<bool>,
    /// D: cached pages by slot, among them those of F, whose entries are histories; and ghosts.
    stack: ListArray<1>,
    ghosts: Ghosts,
    /// Pages that D is meant for.
    stack_pages: usize,
    /// Pages of D that are cached and not in F.
    residents: usize,
    /// Was the page that is about to come in remembered in D?
    returns: bool,
}

impl Frd {
    fn is_ghost(&self, node: u32) -> bool {
        node as usize >= self.in_filter.len()
    }

    fn is_resident(&self, node: u32) -> bool {
        !self.is_ghost(node) && !self.in_filter[node as usize]
    }

    fn is_in_stack(&self, slot: Slot) -> bool {
        self.stack.list_of(slot.0) == D
    }

    /// Removes the histories below the oldest page of D.
    fn prune(&mut self) {
        while let Some(oldest) = self.stack.tail(D)
            && !self.is_resident(oldest)
        {
            self.stack.unlink(oldest);
            if self.is_ghost(oldest) {
                self.ghosts.forget(oldest);
            }
        }
    }

    fn put_on_top(&mut self, slot: Slot) {
        if self.is_in_stack(slot) {
            self.stack.move_to_head(D, slot.0);
        } else {
            self.stack.push_head(D, slot.0);
        }
        self.prune();
    }

    /// The history of a page of F that leaves stays in its place.
    fn remember(&mut self, slot: Slot, v: &View) {
        let node = self.ghosts.remember(slot, v);
        self.stack.reserve(self.ghosts.nodes());
        self.stack.insert_older(node, slot.0);
    }
}

impl Policy for Frd {
    fn build(expr: &Expr, env: &Env) -> Frd {
        let capacity = env.capacity as usize;
        let filter = (FrdParams::of(expr, env).filter * capacity as f64) as usize;
        let slots = env.slots as usize;
        // Histories without a bound have nodes of their own, above all slots.
        let ghosts = Ghosts::new(usize::MAX, env);
        Frd {
            filter: List::new(slots),
            in_filter: vec![false; slots],
            stack: Lists::array(ghosts.nodes()),
            ghosts,
            stack_pages: capacity.saturating_sub(filter.max(1)),
            residents: 0,
            returns: false,
        }
    }

    fn on_miss(&mut self, a: &Access, v: &View) {
        self.returns = false;
        if let Some(node) = self.ghosts.take(a, v) {
            self.stack.unlink(node);
            self.returns = true;
        }
    }

    fn on_insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
        let returns = std::mem::take(&mut self.returns);
        if returns || self.residents < self.stack_pages {
            self.residents += 1;
        } else {
            self.in_filter[slot.index()] = true;
            self.filter.push_head(slot);
        }
        self.put_on_top(slot);
    }

    fn on_hit(&mut self, slot: Slot, _a: &Access, _v: &View) {
        if self.in_filter[slot.index()] {
            self.filter.move_to_head(slot);
        }
        self.put_on_top(slot);
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        let of_filter = std::mem::take(&mut self.in_filter[slot.index()]);
        if of_filter {
            self.filter.unlink(slot);
        } else {
            self.residents -= 1;
        }
        if self.is_in_stack(slot) {
            if of_filter && reason == RemoveReason::Evicted {
                self.remember(slot, v);
            }
            self.stack.unlink(slot.0);
        }
        self.prune();
    }

    /// The next one alone: which pages follow it depends on those that come in.
    fn next_victim(&self, _v: &View) -> Option<Slot> {
        let of_filter = self.filter.tail();
        // The oldest entry of D is a page, if there is one.
        let of_stack = self.stack.tail(D).map(Slot);
        if self.returns || self.residents > self.stack_pages {
            of_stack.or(of_filter)
        } else {
            of_filter.or(of_stack)
        }
    }

    crate::remembers!(ghosts);

    /// Also ends what `on_miss` began: a page whose history is forgotten comes in as a new one.
    fn forget(&mut self, lpn: Lpn, v: &View) {
        self.returns = false;
        self.ghosts.forget_page(&mut self.stack, lpn, v);
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        let histories = self.stack.len(D) - self.residents;
        pages * PAGE_NODE_BYTES + histories as u64 * HISTORY_BYTES
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("filter_pages", self.filter.len() as u64);
        out.gauge("stack_entries", self.stack.len(D) as u64);
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        let stack = self.stack.from_head(D);
        let resident = stack.filter(|&node| !self.is_ghost(node) && self.is_resident(node));
        out.add("filter", self.filter.from_head());
        out.add("stack", resident.map(Slot));
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        out.push('F');
        crate::state::pages(out, v, self.filter.from_head());
        let entry = |node: u32| {
            if self.is_ghost(node) {
                format!("{}h", self.ghosts.page(node, v))
            } else {
                let mut word = String::new();
                crate::state::page(&mut word, v, Slot(node));
                word + if self.is_resident(node) { "R" } else { "h" }
            }
        };
        let entries: Vec<String> = self.stack.from_head(D).map(entry).collect();
        out.push_str(&format!(" D[{}]", entries.join(" ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Storm, TestCache};

    type Cache = TestCache<Pages<Frd>>;

    #[test]
    fn a_page_that_comes_back_enters_the_stack() {
        let mut cache = Cache::new("frd(filter=0.25)", 4);
        cache.run("W1-5");
        assert_eq!(cache.state(), "F[5*] D[5*h 4h 3*R 2*R 1*R]");
        cache.run("W4");
        assert_eq!(cache.state(), "F[5*] D[4*R 5*h 3*R 2*R]");
        cache.run("R2 R3");
        assert_eq!(
            cache.state(),
            "F[5*] D[3*R 2*R 4*R]",
            "what is below page 4 is pruned"
        );
        assert_eq!(cache.run("R5"), "H");
        assert_eq!(cache.state(), "F[5*] D[5*h 3*R 2*R 4*R]");
    }

    #[test]
    fn fr_1_a_stack_that_lost_a_page_takes_the_next_one() {
        let mut cache = Cache::new("frd(filter=0.25)", 4);
        cache.run("W1-5 T1 W6");
        assert_eq!(cache.state(), "F[5*] D[6*R 5*h 4h 3*R 2*R]");
        cache.run("T2 T3 T6");
        assert_eq!(
            cache.state(),
            "F[5*] D[]",
            "histories below nothing say nothing"
        );
        cache.run("W7 R5");
        assert_eq!(cache.state(), "F[5*] D[5*h 7*R]");
    }

    #[test]
    fn one_page_is_a_filter_alone() {
        let mut cache = Cache::new("frd", 1);
        cache.run("W1 W2 W1");
        assert_eq!(cache.state(), "F[1*] D[]");
        assert_eq!(cache.evicted, [1, 2]);
    }

    #[test]
    fn the_oldest_entry_is_a_page_whatever_happens() {
        for (capacity, filter) in [(2, 0.5), (9, 0.1), (30, 0.4)] {
            let mut cache = Cache::new(&format!("frd(filter={filter})"), capacity);
            let storm = Storm {
                steps: 20_000,
                pages: 4 * u64::from(capacity),
                seed: 5,
                passed_over: false,
            };
            cache.storm(storm, |cache, done| {
                let frd = cache.scheme.policy();
                frd.stack
                    .validate()
                    .and(frd.filter.validate())
                    .expect("lists are whole");
                let oldest = frd.stack.tail(D);
                assert!(oldest.is_none_or(|node| frd.is_resident(node)), "{done:?}");
                let residents = frd
                    .stack
                    .from_head(D)
                    .filter(|&n| frd.is_resident(n))
                    .count();
                assert_eq!(residents, frd.residents, "{done:?}");
                let pages = residents + frd.filter.len();
                assert_eq!(pages, cache.frames.used(), "{done:?}");
            });
        }
    }
}
