//! CLOCK: a hand goes round the pages; it passes over those that were hit since it came by, and
//! clears their bit.
//!
//! Source: classic policy, as in the extended set. State: a ring, a hand and one bit per page (0
//! at insertion, 1 on a hit); 12 B per page. Order: the ring from the hand, pages with bit 0 and
//! then pages with bit 1. Ties: first from the hand. Cost: O(1) amortised.
//!
//! A new page takes the place of the victim, that is the place just behind the hand; so does one
//! that comes in after a TRIM. If another page than the next victim leaves (`gcar`), bits and hand
//! are as if the hand had stopped at that page.

use crate::contract::boxed;
use crate::info::{PaperSource, SchemeInfo};
use crate::lists::List;
use crate::{Access, Env, Expr, PageLists, Pages, Policy, RemoveReason, View};
use destage_types::Slot;

/// `clock`: second chance.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "clock",
    summary: "Second chance: a hand passes over pages that were hit and clears their bit.",
    source: PaperSource::CLASSIC,
    ties: "first from the hand",
    order: Some("ring from the hand: pages with bit 0, then pages with bit 1"),
    vectors: &["clock"],
    build: Some(boxed::<Pages<Clock>>),
    ..SchemeInfo::BASE
};

/// Second chance.
#[derive(Clone, Debug)]
pub struct Clock {
    /// The ring, cut open at a place that only state strings show: first page at the tail.
    ring: List,
    /// Was the page of this slot hit since the hand came by?
    hit: Vec<bool>,
    /// Page the hand points at; `None` behind the last page, and so at the first one.
    hand: Option<Slot>,
}

impl Clock {
    /// The page the hand points at.
    #[inline]
    fn at_hand(&self) -> Option<Slot> {
        self.hand.or_else(|| self.ring.tail())
    }

    /// The page behind `page`, round the ring.
    #[inline]
    fn next(&self, page: Slot) -> Option<Slot> {
        self.ring.newer(page).or_else(|| self.ring.tail())
    }

    /// Moves the hand to the next page whose bit is 0 and clears the bits it passes.
    #[inline]
    fn advance(&mut self) -> Option<Slot> {
        let mut page = self.at_hand()?;
        while std::mem::take(&mut self.hit[page.index()]) {
            page = self.next(page)?;
        }
        self.hand = Some(page);
        self.hand
    }

    /// The hand stops at `page`: in its second round if the bit is set.
    fn stop_at(&mut self, page: Slot) {
        if self.hit[page.index()] {
            for other in self.ring.from_tail() {
                self.hit[other.index()] = false;
            }
        }
        let mut passed = self.at_hand();
        while let Some(other) = passed.filter(|&other| other != page) {
            self.hit[other.index()] = false;
            passed = self.next(other);
        }
        self.hand = Some(page);
    }

    /// Pages from the hand on, once round.
    fn round(&self) -> impl Iterator<Item = Slot> + '_ {
        let first = self.at_hand();
        let rest = std::iter::successors(first, |&page| self.next(page));
        rest.take(self.ring.len())
    }
}

impl Policy for Clock {
    fn build(_expr: &Expr, env: &Env) -> Clock {
        let slots = env.slots as usize;
        Clock {
            ring: List::new(slots),
            hit: vec![false; slots],
            hand: None,
        }
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.hit[slot.index()] = false;
        match self.hand {
            Some(hand) => self.ring.insert_older(slot, hand),
            None => self.ring.push_head(slot),
        }
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, _a: &Access, _v: &View) {
        self.hit[slot.index()] = true;
    }

    #[inline]
    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, _v: &View) {
        let victim = self.hand == Some(slot) && !self.hit[slot.index()];
        // A layer chose another page than the hand did: the hand moves there all the same.
        if reason == RemoveReason::Evicted && !victim {
            self.stop_at(slot);
        }
        if self.hand == Some(slot) {
            self.hand = self.ring.newer(slot);
        }
        self.ring.unlink(slot);
    }

    #[inline]
    fn victim(&mut self, _a: &Access, _v: &View) -> Option<Slot> {
        self.advance()
    }

    fn next_victims<'a>(&'a self, _v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        let of = |hit: bool| {
            self.round()
                .filter(move |page| self.hit[page.index()] == hit)
        };
        of(false).chain(of(true))
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        out.add("ring", self.ring.from_tail());
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        let hand = self.at_hand();
        crate::state::list(out, self.ring.from_tail(), |out, page| {
            out.push_str(if hand == Some(page) { ">" } else { "" });
            crate::state::page(out, v, page);
            out.push_str(if self.hit[page.index()] { ":1" } else { ":0" });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Storm, TestCache};

    type Cache = TestCache<Pages<Clock>>;

    fn cache(capacity: u32, requests: &str) -> Cache {
        let mut cache = Cache::new("clock", capacity);
        cache.run(requests);
        cache
    }

    #[test]
    fn the_worked_example() {
        let mut cache = cache(3, "W1 W2 W3 R1");
        assert_eq!(cache.order(), [2, 3, 1]);
        for (requests, evicted, order) in [
            ("W4", vec![2], [3, 1, 4]),
            ("R3", vec![2], [1, 4, 3]),
            ("W5 W6", vec![2, 1, 4], [3, 5, 6]),
        ] {
            cache.run(requests);
            assert_eq!((&cache.evicted, cache.order()), (&evicted, order.to_vec()));
        }
    }

    #[test]
    fn a_full_round_ends_where_it_began() {
        let mut cache = cache(3, "W1 W2 W3 W1 W2 W3");
        assert_eq!(cache.order(), [1, 2, 3], "all bits are set");
        cache.write(4);
        assert_eq!((cache.evicted[0], cache.order()), (1, vec![2, 3, 4]));
    }

    #[test]
    fn the_hand_stops_at_a_page_that_was_passed_over_to() {
        let mut cache = cache(4, "W1 W2 W3 W4 W1 W3");
        assert_eq!(cache.order(), [2, 4, 1, 3]);
        cache.pick = 1;
        cache.write(5);
        // The hand passed 1, 2 and 3 on its way to 4.
        assert_eq!((cache.evicted[0], cache.order()), (4, vec![1, 2, 3, 5]));
        cache.run("R1 R2");
        cache.pick = 3;
        cache.write(6);
        // Page 2 goes in the second round, so no bit is left.
        assert_eq!((cache.evicted[1], cache.order()), (2, vec![3, 5, 1, 6]));
    }

    #[test]
    fn the_hand_comes_back_to_the_page_it_points_at() {
        let mut cache = cache(3, "W1 W2 W3 W4 W2 W3");
        assert_eq!(cache.order(), [4, 2, 3]);
        cache.pick = 1;
        cache.write(5);
        assert_eq!(
            (&cache.evicted, cache.order()),
            (&vec![1, 2], vec![3, 4, 5])
        );
    }

    #[test]
    fn a_trimmed_page_takes_the_hand_along() {
        let mut cache = cache(3, "W1 W2 W3 W4");
        assert_eq!(cache.order(), [2, 3, 4]);
        cache.run("T2 W5");
        assert_eq!(cache.order(), [3, 4, 5]);
    }

    #[test]
    fn random_operations_keep_the_ring_whole() {
        for capacity in [1, 2, 5, 16] {
            let mut cache = cache(capacity, "");
            let pages = 4 * u64::from(capacity) + 2;
            let storm = Storm {
                steps: 20_000,
                pages,
                seed: 3,
                passed_over: true,
            };
            cache.storm(storm, |cache, done| {
                let Clock { hand, ring, .. } = cache.scheme.policy();
                let held = hand.is_none_or(|h| ring.from_tail().any(|p| p == h));
                assert!(held, "{done:?}");
            });
            cache.scheme.policy().ring.validate().unwrap();
        }
    }
}
