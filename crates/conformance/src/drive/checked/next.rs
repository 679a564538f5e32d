//! What would leave next, and whether that leaves.

use super::{Checked, Choice, Order, sorted};
use destage_scheme::{Access, Scheme, SchemeExt, Unit, Victim, View};
use destage_types::{Lpn, Slot};

impl<S: Scheme> Checked<S> {
    /// The first of the next victims, where it is the victim or may be.
    pub(super) fn next_victim(&self, v: &View) -> Option<Slot> {
        match self.promise.order {
            Order::Free => None,
            _ => self.inner.first_victim(v, |_| true),
        }
    }

    /// All candidates in order, checked for what holds of every order.
    pub(super) fn candidate_order(&self, v: &View) -> Vec<Slot> {
        let mut order = Vec::new();
        self.inner.next_victims(v, &mut |slot| {
            order.push(slot);
            true
        });
        self.check_cached(&order, v, "next victims");
        if matches!(self.promise.order, Order::Holds | Order::First) {
            assert_eq!(order.len(), v.frames.used(), "next victims: not all pages");
        }
        self.check_places(&order, v);
        if let Some(&second) = order.get(1) {
            let answer = self.inner.first_victim(v, |slot| slot == second);
            assert_eq!(answer, Some(second), "the page that was looked for");
        }
        order
    }

    /// Places of dirty pages, where all have one, grow in the order of eviction.
    fn check_places(&self, order: &[Slot], v: &View) {
        let dirty: Vec<Slot> = (order.iter().copied())
            .filter(|&slot| v.frames.is_dirty(slot))
            .collect();
        let places = dirty.iter().map(|&slot| self.inner.place(slot, v));
        if let Some(places) = places.collect::<Option<Vec<u64>>>() {
            let pages: Vec<Lpn> = dirty.iter().map(|&slot| v.frames.lpn(slot)).collect();
            assert!(
                places.windows(2).all(|pair| pair[0] < pair[1]),
                "places {places:?} of {pages:?}, which leave in this order"
            );
        }
    }

    /// All units that could leave to let `a` in, each with its pages sorted.
    pub(super) fn candidate_units(&mut self, a: &Access, v: &View) -> Vec<Vec<Slot>> {
        let mut scratch = std::mem::take(&mut self.unit);
        scratch.clear();
        let mut units = Vec::new();
        self.inner.next_units(a, v, &mut scratch, &mut |unit| {
            let mut slots = unit.slots.clone();
            slots.sort_unstable();
            units.push(slots);
            false
        });
        assert!(scratch.slots.is_empty(), "no unit was accepted");
        for unit in &units {
            assert!(!unit.is_empty(), "an empty unit");
            self.check_cached(unit, v, "next units");
        }
        if let Some(second) = units.get(1) {
            let mut left = 1;
            self.inner.next_units(a, v, &mut scratch, &mut |_| {
                left -= 1;
                left < 0
            });
            let mut found = std::mem::take(&mut scratch.slots);
            found.sort_unstable();
            assert_eq!(&found, second, "the unit that was looked for");
        }
        self.unit = scratch;
        units
    }

    /// What leaves to let `a` in: what the scheme says, or the first of what it would say.
    pub(super) fn chosen(
        &mut self,
        a: &Access,
        v: &View,
        out: &mut Unit,
        order: &[Slot],
    ) -> Victim {
        if self.choice == Choice::Unasked {
            let first = order.first();
            if let Some(&slot) = first.filter(|_| self.promise.order.names_the_victim()) {
                return Victim::Page(slot);
            }
            if self.promise.units.names_the_victim() {
                self.inner.next_units(a, v, out, &mut |_| true);
                if !out.slots.is_empty() {
                    return Victim::Unit;
                }
            }
        }
        self.inner.victim(a, v, out)
    }

    /// The victim is what was promised of it.
    pub(super) fn check_promise(&self, victim: &[Slot], order: &[Slot], units: &[Vec<Slot>]) {
        match self.promise.order {
            Order::Free => {}
            Order::Begins => {
                let first = order.first().is_none_or(|first| victim == [*first]);
                assert!(first, "not the next victim");
            }
            Order::Holds => assert!(order.contains(&victim[0]), "not a next victim"),
            Order::First => assert_eq!(victim, &order[..1], "not the first of the next victims"),
        }
        let taken = sorted(victim);
        match self.promise.units {
            Order::Free | Order::Begins => {}
            Order::Holds => assert!(units.contains(&taken), "not a next unit"),
            Order::First => assert_eq!(Some(&taken), units.first(), "not the first next unit"),
        }
    }
}

impl Order {
    /// Is the first one, if there is any, the victim?
    fn names_the_victim(self) -> bool {
        matches!(self, Order::Begins | Order::First)
    }
}
