//! ECR: when a dirty page must go, it goes to the chip whose queue drains first.
//!
//! Source: Chen, Pan, Li, Xu, "ECR: Eviction-cost-aware cache management policy for page-level
//! flash-based SSDs", CCPE, sections 3.1-3.3; the queue's drain time is
//! [`Cqct`](crate::cqct::Cqct).
//! State: Clean-LRU and the dirty pages of every chip, which another policy may manage
//! (`ecr(P)`, section 3.1). Cost: O(n_chips) a dirty eviction, O(1) otherwise.
//! Ties: the chip whose next victim was touched longest ago (ECR-4), or the lowest number.
//! Memory: 24 B a slot; an inner policy other than LRU has one instance a chip, and because any
//! chip may come to hold any slot, each has arrays for all slots.
//!
//! Where the paper is silent:
//! - The next victim of a chip under `ecr(P)` is P's first candidate, or, if P cannot list any, the
//!   chip's page touched longest ago.
//! - A ghost cannot be renamed to a page of another chip: instances share no history.
//! - Under `ecr(P)` the dirty pages cost what P says and one byte for the chip.

mod choice;

pub use choice::{EcrOptions, InnerCapacity, Tie};

use super::layer_below;
use super::recency::{NO_PAGE, Recency};
use crate::registry::Build;
use crate::{Access, Entry, Env, Expr, Request, Scheme, View, Why};
use destage_types::{Lpn, Op, Slot};

/// Bytes of a list head.
pub(crate) const HEAD_BYTES: u64 = 8;

/// `c0[2* 0*] c1[1*] CQCT=[0, 25]` as the worked examples print it.
#[cfg(feature = "conformance")]
pub(crate) fn print_chips(
    out: &mut String,
    v: &View,
    cqct: &crate::cqct::Cqct,
    mut chip: impl FnMut(usize, &mut String),
) {
    use std::fmt::Write;
    let chips = v.layout.chips() as usize;
    for i in 0..chips {
        write!(out, " c{i}").expect("writing to a string cannot fail");
        chip(i, out);
    }
    let mut times: Vec<u64> = Vec::new();
    cqct.each(chips, v, |_, time| times.push(time.0));
    write!(out, " CQCT={times:?}").expect("writing to a string cannot fail");
}

/// Eviction-cost-aware replacement.
#[derive(Clone, Debug)]
pub struct Ecr<S> {
    options: EcrOptions,
    /// List i: dirty pages of chip i, newest touch first; list `chips`: Clean-LRU.
    pages: Recency,
    chips: usize,
    /// The policy of every chip; none for LRU, whose order `pages` has anyway.
    inner: Vec<S>,
    zero_decisions: u64,
}

impl<S: Scheme> Ecr<S> {
    /// `ecr(lru)`.
    pub fn lru(options: EcrOptions, env: &Env) -> Ecr<S> {
        let chips = env.layout.chips() as usize;
        Ecr {
            options,
            pages: Recency::new(env.slots as usize, chips + 1),
            chips,
            inner: Vec::new(),
            zero_decisions: 0,
        }
    }

    /// `ecr(P)`; `make` builds the policy of one chip.
    pub fn new(options: EcrOptions, env: &Env, mut make: impl FnMut() -> S) -> Ecr<S> {
        let mut ecr = Ecr::lru(options, env);
        ecr.inner = (0..ecr.chips).map(|_| make()).collect();
        ecr
    }

    #[inline]
    fn chip_of(&self, lpn: Lpn, v: &View) -> usize {
        v.layout.chip(lpn).index()
    }

    /// Last touch of the page that would leave `chip` next, [`NO_PAGE`] if it has none.
    #[inline]
    fn age(&self, chip: usize, v: &View) -> u64 {
        let first = self
            .inner
            .get(chip)
            .and_then(|p| p.candidates(v, &mut |_| true));
        match first {
            Some(slot) => self.pages.stamp(slot),
            None => self.pages.oldest_touch(chip),
        }
    }

    /// An absent page, or one that just left another list, becomes a dirty page of its chip.
    #[inline]
    fn push_dirty(&mut self, slot: Slot, a: &Access, v: &View) {
        let chip = self.chip_of(a.lpn, v);
        self.pages.push(chip, slot);
        if let Some(policy) = self.inner.get_mut(chip) {
            policy.insert(slot, a, v);
        }
    }

    /// A ghost of `from` becomes one of `to`, if both belong to one chip.
    fn rename_ghost(&mut self, from: Lpn, to: Lpn, v: &View) -> bool {
        let (old, new) = (self.chip_of(from, v), self.chip_of(to, v));
        let policy = self.inner.get_mut(old).filter(|_| old == new);
        policy.is_some_and(|p| p.rename(from, to, None, v))
    }
}

impl<S: Build> Build for Ecr<S> {
    fn build(expr: &Expr, env: &Env) -> Ecr<S> {
        let (options, inner) = (EcrOptions::from_expr(expr), layer_below(expr));
        if inner.scheme().name == "lru" {
            return Ecr::lru(options, env);
        }
        let mut chip = env.clone();
        chip.capacity = InnerCapacity::from_expr(expr).nominal(env);
        chip.keeps_slots = false;
        Ecr::new(options, env, || S::build(inner, &chip))
    }
}

impl<S: Scheme> Scheme for Ecr<S> {
    fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) -> bool {
        let Some(slot) = slot else {
            return self.rename_ghost(from, to, v);
        };
        let (old, new) = (self.pages.list_of(slot), self.chip_of(to, v));
        if old == new {
            if let Some(policy) = self.inner.get_mut(old) {
                policy.rename(from, to, Some(slot), v);
            }
        } else if old != self.chips {
            // D11: to the MRU end of the new chip's list, as a write would put it.
            self.remove(slot, Why::Gone, v);
            let a = Access {
                lpn: to,
                op: Op::Write,
                now: v.now,
                request: 0,
                seq: 0,
                sectors: v.frames.valid(slot),
                entry: Entry::BLANK,
            };
            self.expect(&a, v);
            self.push_dirty(slot, &a, v);
        }
        true
    }

    #[inline]
    fn request(&mut self, r: &Request, v: &View) {
        self.inner.iter_mut().for_each(|p| p.request(r, v));
    }

    #[inline]
    fn request_done(&mut self, r: &Request, v: &View) {
        self.inner.iter_mut().for_each(|p| p.request_done(r, v));
    }

    #[inline]
    fn expect(&mut self, a: &Access, v: &View) {
        if a.op == Op::Write && !self.inner.is_empty() {
            let chip = self.chip_of(a.lpn, v);
            self.inner[chip].expect(a, v);
        }
    }

    #[inline]
    fn insert(&mut self, slot: Slot, a: &Access, v: &View) {
        if a.op == Op::Read {
            self.pages.push(self.chips, slot);
        } else {
            self.push_dirty(slot, a, v);
        }
    }

    #[inline]
    fn touch(&mut self, slot: Slot, a: &Access, v: &View) {
        let list = self.pages.list_of(slot);
        if list == self.chips && a.op == Op::Write {
            self.pages.remove(slot);
            self.expect(a, v);
            return self.push_dirty(slot, a, v);
        }
        self.pages.touch(list, slot);
        if let Some(policy) = self.inner.get_mut(list) {
            policy.touch(slot, a, v);
        }
    }

    #[inline]
    fn remove(&mut self, slot: Slot, why: Why, v: &View) {
        match self.inner.get_mut(self.pages.list_of(slot)) {
            Some(policy) => policy.remove(slot, why, v),
            // A clean page may have a ghost among the dirty ones of its chip.
            None if why == Why::Gone => self.forget(v.frames.lpn(slot), v),
            None => {}
        }
        self.pages.remove(slot);
    }

    fn cleaned(&mut self, slots: &[Slot], v: &View) {
        for &slot in slots {
            if let Some(policy) = self.inner.get_mut(self.pages.list_of(slot)) {
                policy.remove(slot, Why::Gone, v);
            }
        }
        self.pages.merge(self.chips, slots);
    }

    fn forget(&mut self, lpn: Lpn, v: &View) {
        if !self.inner.is_empty() {
            let chip = self.chip_of(lpn, v);
            self.inner[chip].forget(lpn, v);
        }
    }

    #[inline]
    fn size(&self) -> usize {
        self.pages.size()
    }

    #[inline]
    fn page_victim(&mut self, a: &Access, v: &View) -> Option<Slot> {
        if let Some(slot) = self.pages.oldest(self.chips) {
            return Some(slot);
        }
        let options = self.options;
        let (chip, all_zero) = match self.inner.is_empty() {
            true => options.choose(self.chips, v, |c| self.pages.oldest_touch(c)),
            false => options.choose(self.chips, v, |c| self.age(c, v)),
        };
        self.zero_decisions += u64::from(all_zero);
        let chip = chip?;
        match self.inner.get_mut(chip) {
            Some(policy) => policy.page_victim(a, v),
            None => self.pages.oldest(chip),
        }
    }

    /// None: the next victim depends on the queues.
    fn candidates(&self, _v: &View, _f: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        None
    }

    fn meta_bytes(&self) -> u64 {
        if self.inner.is_empty() {
            return self.options.bytes(self.size(), self.chips + 1);
        }
        let clean = self.pages.len(self.chips);
        let dirty: u64 = self
            .inner
            .iter()
            .map(|p| p.meta_bytes() + p.size() as u64)
            .sum();
        self.options.bytes(clean, self.chips + 1) + dirty
    }

    fn stats(&self, f: &mut dyn FnMut(&'static str, u64)) {
        f("zero_cqct_decisions", self.zero_decisions);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        out.push_str("clean");
        crate::state::pages(out, v, self.pages.newest_first(self.chips));
        print_chips(out, v, &self.options.cqct, |chip, out| {
            match self.inner.get(chip) {
                None => crate::state::pages(out, v, self.pages.newest_first(chip)),
                Some(policy) => policy.state(v, out),
            }
        });
    }

    #[cfg(feature = "conformance")]
    fn take_notes(&mut self, out: &mut Vec<(crate::Column, String)>) {
        self.inner.iter_mut().for_each(|p| p.take_notes(out));
    }
}

#[cfg(test)]
mod tests;
