//! SIEVE: a hand goes from the tail of a FIFO list to its head, spares pages that were hit, which stay
//! where they are, and waits where it found the last victim.
//!
//! Source: Zhang et al., NSDI 2024, Algorithm 1. State: the list, a hand and one bit per page (0 at
//! insertion, 1 on a hit); 12 B per page. Cost: O(1) amortised. A page that is discarded takes the hand
//! along to the next newer one; to one that is evicted the hand comes first, whoever chose it (SI-1).

use crate::contract::boxed;
use crate::info::{PaperSource, SchemeInfo};
use crate::lists::List;
use crate::{Access, Env, Expr, PageLists, Pages, Policy, RemoveReason, View};
use destage_types::Slot;

/// `sieve`: lazy promotion, quick demotion.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "sieve",
    summary: "A FIFO list whose hand spares pages that were hit and stays where it stopped.",
    source: PaperSource {
        paper: "Zhang et al., SIEVE is Simpler than LRU, NSDI",
        year: Some(2024),
        section: "Algorithm 1",
        certain: true,
    },
    ties: "first from the hand",
    vectors: &["sieve"],
    build: Some(boxed::<Pages<Sieve>>),
    ..SchemeInfo::BASE
};

/// First in, first out, except for pages that were hit.
#[derive(Clone, Debug)]
pub struct Sieve {
    list: List,
    /// Was the page of this slot hit since the hand came by?
    hit: Vec<bool>,
    /// Page the hand points at; beyond the head `None`, and so at the tail next time.
    hand: Option<Slot>,
}

impl Sieve {
    /// Moves the hand to the next page that was not hit and forgets the hits of those it passes.
    fn advance(&mut self) -> Option<Slot> {
        let mut page = self.hand.or(self.list.tail())?;
        while std::mem::take(&mut self.hit[page.index()]) {
            page = self.list.newer(page).or(self.list.tail())?;
        }
        self.hand = Some(page);
        self.hand
    }
}

impl Policy for Sieve {
    fn build(_expr: &Expr, env: &Env) -> Sieve {
        let slots = env.slots as usize;
        let (list, hit, hand) = (List::new(slots), vec![false; slots], None);
        Sieve { list, hit, hand }
    }

    fn on_insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.hit[slot.index()] = false;
        self.list.push_head(slot);
    }

    fn on_hit(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.hit[slot.index()] = true;
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, _v: &View) {
        if reason == RemoveReason::Evicted {
            self.hand = self.hand.or(self.list.tail());
            while let Some(page) = self.hand.filter(|&p| p != slot || self.hit[p.index()]) {
                self.hit[page.index()] = false;
                self.hand = self.list.newer(page).or(self.list.tail());
            }
        }
        if self.hand == Some(slot) {
            self.hand = self.list.newer(slot);
        }
        self.list.unlink(slot);
    }

    fn victim(&mut self, _a: &Access, _v: &View) -> Option<Slot> {
        self.advance()
    }

    /// Not declared as an order: layers that ask for one refuse SIEVE (X15).
    fn next_victims<'a>(&'a self, _v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        let list = &self.list;
        let next = |&page: &Slot| list.newer(page).or(list.tail());
        let round = std::iter::successors(self.hand.or(list.tail()), next).take(list.len());
        let with = move |bit| round.clone().filter(move |p| self.hit[p.index()] == bit);
        with(false).chain(with(true))
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        out.add("pages", self.list.from_head());
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        crate::state::list(out, self.list.from_head(), |out, page| {
            out.push_str(if self.hand == Some(page) { ">" } else { "" });
            crate::state::page(out, v, page);
            out.push_str(if self.hit[page.index()] { ":1" } else { "" });
        });
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_hand_survives_whichever_page_leaves() {
        let mut cache = crate::testing::boxed("sieve", 4);
        let mut after = |requests, pick| {
            cache.pick = pick;
            cache.run(requests);
            format!("{} {:?}", cache.state(), cache.order())
        };
        assert_eq!(after("W1-4 R1 R3 W5", 0), "[5* 4* >3*:1 1*] [4, 5, 1, 3]");
        assert_eq!(after("T1 R5 T3", 0), "[5*:1 >4*] [4, 5]");
        assert_eq!(after("W6-8", 1), "[8* >7* 5* 4*] [7, 8, 4, 5]");
        assert_eq!(after("T4-8 W1", 0), "[1*] [1]");
    }
}
