//! Two-level LRU: a page that was written lately is a candidate, and one that is written again while it
//! is a candidate is hot; only hot pages enter the cache.
//!
//! Source: Chang, Kuo, "An Adaptive Striping Architecture for Flash Memory Storage Systems of Embedded
//! Systems", RTAS 2002, the two-level LRU discipline. State: two LRU lists of page numbers, 4 B and two
//! links of 4 B an entry. Ties: not possible. Cost: O(1) per written page.

use super::filter::{Filter, Identifier};
use crate::contract::boxed;
use crate::info::{PaperSource, ParamInfo, Role, SchemeInfo, inner};
use crate::lists::{ListArray, Lists};
use crate::store::PageIndex;
use crate::{Access, Boxed, Column, Env, Expr, Notes, SchemeStats, params};
use destage_types::Lpn;

/// `twolevel`: hot list and candidate list.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "twolevel",
    summary: "Admits a page found in a hot or a candidate list of recently written pages.",
    source: PaperSource {
        paper: "Chang, Kuo, An Adaptive Striping Architecture for Flash Memory Storage Systems \
                of Embedded Systems, RTAS",
        year: Some(2002),
        section: "two-level LRU discipline",
        certain: true,
    },
    role: Role::Admission,
    params: &[TwoLevelParams::PARAMS],
    ties: "those of the inner scheme",
    write_buffer: true,
    metadata: |e, c| {
        let entries = e.uint("n-hot").saturating_add(e.uint("n-cand"));
        Some(inner(e, c)?.and_entries(entries.min(c.pages), ENTRY_BYTES))
    },
    vectors: &["twolevel"],
    build: Some(boxed::<TwoLevel<Boxed>>),
    ..SchemeInfo::BASE
};

/// `twolevel(S)`.
pub type TwoLevel<S> = Filter<TwoLists, S>;

/// A page number and two links.
const ENTRY_BYTES: u64 = 12;

params! {
    /// Parameters of [`TwoLists`].
    #[derive(Copy)]
    pub struct TwoLevelParams {
        /// length of the hot list
        n_hot: usize = ParamInfo::count(1, 512).unit("pages").source("RTAS 2002"),
        /// length of the candidate list
        n_cand: usize = ParamInfo::count(1, 1024).unit("pages").source("RTAS 2002"),
    }
}

const HOT: usize = 0;
const CANDIDATES: usize = 1;

/// The two lists.
#[derive(Clone, Debug)]
pub struct TwoLists {
    params: TwoLevelParams,
    lists: ListArray<2>,
    /// Page of each node. As many nodes as there were ever entries at once.
    pages: Vec<Lpn>,
    /// Node of a page; it counts only while that node has the page.
    index: PageIndex<u32>,
}

impl TwoLists {
    /// Both empty.
    pub fn new(params: TwoLevelParams) -> TwoLists {
        TwoLists {
            params,
            lists: Lists::array(0),
            pages: Vec::new(),
            index: PageIndex::new(0),
        }
    }

    #[inline]
    fn find(&self, lpn: Lpn) -> Option<u32> {
        let node = self.index.get(lpn.0);
        (self.pages.get(node as usize) == Some(&lpn)).then_some(node)
    }

    /// A page that is in no list becomes the newest candidate, in place of the oldest one if there are
    /// as many as there may be.
    fn enter(&mut self, lpn: Lpn) {
        let oldest = self.lists.tail(CANDIDATES);
        let full = self.lists.len(CANDIDATES) >= self.params.n_cand;
        let node = match oldest.filter(|_| full) {
            Some(node) => {
                self.lists.move_to_head(CANDIDATES, node);
                self.pages[node as usize] = lpn;
                node
            }
            None => {
                let node = self.pages.len() as u32;
                self.pages.push(lpn);
                self.lists.reserve(self.pages.len());
                self.lists.push_head(CANDIDATES, node);
                node
            }
        };
        *self.index.at(lpn.0) = node;
    }

    /// The oldest hot page is a candidate again, if there are too many.
    fn demote(&mut self) -> Option<Lpn> {
        let full = self.lists.len(HOT) > self.params.n_hot;
        let oldest = self.lists.tail(HOT).filter(|_| full)?;
        self.lists.move_to_head(CANDIDATES, oldest);
        Some(self.pages[oldest as usize])
    }
}

impl Identifier for TwoLists {
    const FADES: bool = false;

    fn build(expr: &Expr, env: &Env) -> TwoLists {
        TwoLists::new(TwoLevelParams::of(expr, env))
    }

    #[inline]
    fn is_hot(&mut self, a: &Access, _cached: bool, notes: &mut Notes) -> bool {
        let Some(node) = self.find(a.lpn) else {
            self.enter(a.lpn);
            notes.add(Column::Result, || "cold".to_owned());
            return false;
        };
        let was_hot = self.lists.list_of(node) == HOT;
        self.lists.move_to_head(HOT, node);
        // The page that was promoted has left room among the candidates.
        let demoted = self.demote();
        notes.add(Column::Result, || {
            if was_hot {
                "hot".to_owned()
            } else {
                "promoted->hot".to_owned()
            }
        });
        if let Some(lpn) = demoted {
            notes.add(Column::Event, || format!("demote{{{lpn}}}"));
        }
        true
    }

    fn metadata_bytes(&self) -> u64 {
        self.lists.lens().iter().sum::<usize>() as u64 * ENTRY_BYTES
    }

    fn stats(&self, out: &mut SchemeStats) {
        let [hot, candidates] = self.lists.lens();
        out.gauge("hot_pages", hot as u64);
        out.gauge("candidate_pages", candidates as u64);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, out: &mut String) {
        let list = |list| {
            let nodes = self.lists.from_head(list);
            nodes.map(|n| self.pages[n as usize].0).collect::<Vec<_>>()
        };
        out.push_str(&format!("hot{:?} cand{:?}", list(HOT), list(CANDIDATES)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AccessId;
    use crate::rng::SplitMix64;
    use crate::testing::{TestCache, boxed, expr};
    use destage_types::{Nanos, Op, SectorMask};

    #[test]
    fn a_page_enters_at_its_second_write() {
        let mut cache = TestCache::<TwoLevel<Boxed>>::new("twolevel(lru,n-hot=1,n-cand=2)", 4);
        assert_eq!(cache.run("W1 W1 W1"), "MMH");
        assert_eq!(cache.state(), "[1*] hot[1] cand[]");
        // Page 1 is a candidate again and stays cached, until it is forgotten and written cold.
        cache.run("W2 W2");
        assert_eq!(cache.state(), "[2* 1*] hot[2] cand[1]");
        cache.run("W3 W4 W1");
        assert_eq!(cache.state(), "[2*] hot[2] cand[1, 4]");
        assert_eq!(
            (cache.stat("hot_pages"), cache.stat("candidate_pages")),
            (1, 2)
        );
        assert_eq!(
            (cache.stat("admitted_pages"), cache.stat("refused_pages")),
            (3, 5)
        );
        assert_eq!(cache.metadata_bytes(), 3 * 12 + 12);
    }

    #[test]
    fn hd_1_trim_flush_and_renames_change_no_history() {
        for identifier in ["twolevel", "mbf(lru,threshold=1)"] {
            let mut cache = boxed(&format!("cac({identifier})"), 4);
            cache.run("W1 W1");
            let state = cache.state();
            let known = state.split_once(']').unwrap().1.split_once(" ;").unwrap().0;
            let known = known.to_owned();
            cache.run("F T1");
            assert!(cache.state().contains(&known), "{}", cache.state());
            assert_eq!(cache.run("W1 R1"), "MH", "{identifier}");
        }
        let mut cache = boxed("cac(twolevel)", 4);
        cache.run("W1 W1");
        // The page has another address now, which was never written before.
        cache.replace(5, &[Some(1)], false);
        assert_eq!(cache.state(), "[] hot[1] cand[5] ; ART{}");
    }

    #[test]
    fn lists_agree_with_vectors() {
        let params = TwoLevelParams::of(&expr("twolevel(n-hot=5,n-cand=7)"), &Env::cache_only(4));
        let mut lists = TwoLists::new(params);
        let (mut hot, mut candidates) = (Vec::<u64>::new(), Vec::<u64>::new());
        let mut rng = SplitMix64::new(9);
        for _ in 0..20_000 {
            let lpn = rng.next_u64() % 30;
            let mask = SectorMask::span(0, 1);
            let a = Access::new(
                AccessId { request: 1, seq: 1 },
                Nanos::ZERO,
                Op::Write,
                Lpn(lpn),
                mask,
            );
            let known = hot.contains(&lpn) || candidates.contains(&lpn);
            assert_eq!(lists.is_hot(&a, false, &mut Notes::default()), known);
            hot.retain(|&x| x != lpn);
            candidates.retain(|&x| x != lpn);
            if known {
                hot.insert(0, lpn);
                candidates.splice(0..0, hot.drain(hot.len().min(5)..));
            } else {
                candidates.insert(0, lpn);
                candidates.truncate(7);
            }
            let mut state = String::new();
            lists.state(&mut state);
            assert_eq!(state, format!("hot{hot:?} cand{candidates:?}"));
        }
        assert!(lists.pages.len() <= 12);
        lists.lists.validate().unwrap();
    }
}
