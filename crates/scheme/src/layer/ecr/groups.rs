//! ECR over a policy that evicts groups: the group leaves whose slowest page is written soonest.
//!
//! ECR gives up the first page, in the order of LRU, of those that wait least. Here it is the first
//! group, in the order of the policy, of those that wait least (ECR-10): a group has left when its last
//! page has, so it waits as long as the slowest of the chips on which its dirty pages are programmed.
//! Groups without a dirty page wait for nothing and leave before all others, as clean pages do. The
//! policy is asked as if there were no layer, and there is one for all chips: a group of pages on
//! one chip would be another group.
//!
//! Cost: the groups that are looked at until one waits no longer than the chip that drains first, all of
//! them if none does, an eviction.

use super::{ChipChoice, Tie, layer_below};
use crate::contract::Build;
use crate::{Access, Env, Expr, Layer, Scheme, SchemeStats, Unit, Victim, View};
use std::cell::RefCell;

/// The rank of a group, the smallest first: 0 without a dirty page, else one more than its wait;
/// then the number of its slowest chip, if that decides.
type Wait = (u64, u64);

/// A group that could leave; the smallest does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Candidate {
    wait: Wait,
    /// Place in the order of the policy.
    place: usize,
}

/// Eviction-cost-aware choice among the groups of a policy.
#[derive(Clone, Debug)]
pub struct EcrGroups<S> {
    inner: S,
    choice: ChipChoice,
    /// CQCT of every chip; its memory is kept.
    times: RefCell<Vec<u64>>,
    zero_decisions: u64,
}

impl<S: Build> Build for EcrGroups<S> {
    fn build(expr: &Expr, env: &Env) -> EcrGroups<S> {
        let chips = env.layout.chips() as usize;
        EcrGroups {
            inner: S::build(layer_below(expr), env),
            choice: ChipChoice::of(expr, env),
            times: RefCell::new(vec![0; chips]),
            zero_decisions: 0,
        }
    }
}

impl<S: Scheme> EcrGroups<S> {
    fn wait(&self, unit: &Unit, times: &[u64], v: &View) -> Wait {
        let dirty = unit.slots.iter().filter(|&&slot| v.frames.is_dirty(slot));
        let chips = dirty.map(|&slot| unit.chip(slot, v).index());
        // The slowest one, of equally slow ones that with the lowest number.
        let slowest = chips.map(|chip| (times[chip], usize::MAX - chip)).max();
        match (slowest, self.choice.tie) {
            (None, _) => (0, 0),
            (Some((time, _)), Tie::Oldest) => (time.saturating_add(1), 0),
            (Some((time, chip)), Tie::LowestIndex) => {
                (time.saturating_add(1), (usize::MAX - chip) as u64)
            }
        }
    }

    /// The least that a group can wait now.
    fn least(&self, times: &[u64], v: &View) -> Wait {
        if v.frames.used() as u64 > v.frames.dirty_pages() {
            return (0, 0);
        }
        let chips = times.iter().enumerate();
        let (chip, time) = chips.min_by_key(|chip| chip.1).unwrap_or((0, &0));
        match self.choice.tie {
            Tie::Oldest => (time.saturating_add(1), 0),
            Tie::LowestIndex => (time.saturating_add(1), chip as u64),
        }
    }

    /// The group that waits least of those behind `last`.
    fn next(
        &self,
        last: Option<Candidate>,
        times: &[u64],
        a: &Access,
        v: &View,
        unit: &mut Unit,
    ) -> Option<Candidate> {
        let (mut best, mut place) = (None, 0);
        let least = self.least(times, v);
        self.inner.next_units(Some(a), v, unit, &mut |unit| {
            let wait = self.wait(unit, times, v);
            let this = Candidate { wait, place };
            place += 1;
            if last.is_some_and(|last| this <= last) || best.is_some_and(|best| this > best) {
                return false;
            }
            best = Some(this);
            wait == least
        });
        unit.clear();
        best
    }

    /// Puts the group at `place` of the order of the policy into `unit`.
    fn get(&self, place: usize, a: &Access, v: &View, unit: &mut Unit) {
        let mut left = place;
        self.inner.next_units(Some(a), v, unit, &mut |_| {
            let found = left == 0;
            left = left.saturating_sub(1);
            found
        });
    }

    /// CQCT of every chip; are all of them 0?
    fn look(&self, times: &mut [u64], v: &View) -> bool {
        let mut all_zero = true;
        self.choice.cqct.each(times.len(), v, |chip, time| {
            times[chip] = time.0;
            all_zero &= time.0 == 0;
        });
        all_zero
    }
}

impl<S: Scheme> Layer for EcrGroups<S> {
    crate::inside!(inner: S);

    fn victim(&mut self, a: &Access, v: &View, unit: &mut Unit) -> Victim {
        let mut times = self.times.borrow_mut();
        let all_zero = self.look(&mut times, v);
        let first = self.next(None, &times, a, v, unit);
        drop(times);
        let is_clean = first.is_some_and(|group| group.wait.0 == 0);
        self.zero_decisions += u64::from(all_zero && !is_clean);
        match first {
            Some(Candidate { place, .. }) if place > 0 => {
                self.get(place, a, v, unit);
                Victim::Unit
            }
            // The policy's own choice.
            _ => self.inner.victim(a, v, unit),
        }
    }

    fn next_units(
        &self,
        incoming: Option<&Access>,
        v: &View,
        unit: &mut Unit,
        stop: &mut dyn FnMut(&Unit) -> bool,
    ) {
        let Some(a) = incoming else {
            return self.inner.next_units(None, v, unit, stop);
        };
        let mut times = self.times.borrow_mut();
        self.look(&mut times, v);
        let mut last = None;
        loop {
            last = self.next(last, &times, a, v, unit);
            let Some(Candidate { place, .. }) = last else {
                return;
            };
            self.get(place, a, v, unit);
            if unit.stops(stop) {
                return;
            }
        }
    }

    fn next_dirty_unit(
        &self,
        incoming: &Access,
        v: &View,
        unit: &mut Unit,
        stop: &mut dyn FnMut(&Unit) -> bool,
    ) {
        Layer::next_units(self, Some(incoming), v, unit, stop);
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.counter("zero_cqct_decisions", self.zero_decisions);
        self.inner.stats(out);
    }
}
