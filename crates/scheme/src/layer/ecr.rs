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
//! - The next victim of a chip under `ecr(P)` is the first in P's order, or, if P has none, the
//!   chip's page touched longest ago.
//! - The order of victims, for background layers, is that in which they would leave if all queues were
//!   empty and stayed so: on an idle channel the first of its pages is what ECR would give up (ECR-9). A
//!   victim filter outside chooses by the queues as they are.
//! - Over a policy that evicts groups there is one instance of it, see [`EcrGroups`] (ECR-10).
//! - The policy of a chip is meant for its share of the cache (ECR-11).
//! - A ghost cannot be renamed to a page of another chip: instances share no history.
//! - Under `ecr(P)` the dirty pages cost what P says and one byte for the chip.

mod choice;
mod groups;

pub(crate) use choice::Heads;
pub use choice::{ChipChoice, Tie};
pub use groups::EcrGroups;

use super::layer_below;
use super::recency::{NO_PAGE, Recency};
use crate::contract::{Build, boxed};
use crate::info::{
    MetadataBound, MetadataContext, MinCapacity, PaperSource, ParamInfo, Role, SchemeInfo, Words,
    inner,
};
use crate::{
    Access, AccessId, Boxed, Env, Expr, Occasion, PageLists, Pages, Policy, RemoveReason, Request,
    Scheme, SchemeExt, SchemeNotice, SchemeStats, Unit, Victim, View, WriteBack, WriteBackQuery,
    params, words,
};
use choice::ChoiceParams;
use destage_types::{Lpn, Op, Slot};

/// Bytes of a list head.
pub(crate) const HEAD_BYTES: u64 = 8;

/// `ecr`: the dirty victim comes from the chip whose queue drains first.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "ecr",
    summary: "Clean pages leave first; then the victim of the chip whose queue drains first.",
    source: PaperSource {
        paper: "Chen, Pan, Li, Xu, ECR: Eviction-cost-aware cache management policy for \
                page-level flash-based SSDs, CCPE",
        year: None,
        section: "3.1-3.3",
        certain: true,
    },
    role: Role::VictimFilter,
    params: &[
        crate::cqct::Cqct::PARAMS,
        ChoiceParams::PARAMS,
        InnerParams::PARAMS,
    ],
    ties: "equal queue time: the chip whose first candidate was touched longest ago; of groups the first \
           in their order",
    order: Some("clean pages, then dirty ones, as if all queues were empty"),
    needs_order: |c| c.has(Role::GroupPolicy),
    clean_aware: true,
    chip_aware: true,
    chip_lists: true,
    min_capacity: MinCapacity::FramePerChip,
    frames_inside: |e, frames, chips| match e.word("inner-capacity") {
        "share" if !has_groups(e) => (frames / chips).max(1),
        _ => frames,
    },
    // Clean pages have nodes of `node-bytes`; the policy of a chip adds its chip's number to each.
    metadata: |e, c| {
        if has_groups(e) {
            return inner(e, c);
        }
        let own = MetadataBound::nodes(e.uint("node-bytes"));
        let own = own.and_entries(c.chips.saturating_add(1), HEAD_BYTES);
        if is_lru(layer_below(e)) {
            return Some(own);
        }
        let frames = (INFO.frames_inside)(e, c.frames, c.chips).max(1);
        let context = MetadataContext {
            frames,
            shares: true,
            ..*c
        };
        let chip = inner(e, &context)?;
        let per_page = own.per_page.max(chip.per_page.saturating_add(1));
        Some(MetadataBound { per_page, ..own }.and_entries(c.chips, chip.fixed))
    },
    without_device: Some(|inner| match inner {
        "lru" => "every queue is empty: ecr(lru) acts as cflru-eps".to_owned(),
        _ => format!(
            "every queue is empty and there is one chip: ecr({inner}) drops clean pages \
             first, then evicts what {inner} chooses of the dirty ones"
        ),
    }),
    vectors: &["ecr", "ecreq"],
    build: Some(|expr, env| {
        if has_groups(expr) {
            boxed::<EcrGroups<Boxed>>(expr, env)
        } else {
            boxed::<Pages<Ecr<Boxed>>>(expr, env)
        }
    }),
    ..SchemeInfo::BASE
};

words! {
    /// Size for which the policy of each chip is built.
    pub enum InnerCapacity {
        /// The cache divided by the number of chips, at least 1.
        Share = "share",
        /// The whole cache.
        Total = "total",
    }
}

params! {
    /// Parameters of the policies of the chips.
    pub struct InnerParams {
        /// nominal capacity of each chip's inner scheme: C / chips, or C; of groups there is one
        inner_capacity: InnerCapacity = ParamInfo::word(InnerCapacity::WORDS).source("3.1, ECR-11"),
    }
}

/// Does the policy inside evict groups?
fn has_groups(layer: &Expr) -> bool {
    layer.policy().scheme().role == Role::GroupPolicy
}

/// Is the policy of each chip LRU, whose order ECR keeps anyway?
fn is_lru(inner: &Expr) -> bool {
    inner.scheme() == &crate::policy::lru::INFO
}

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

/// Eviction-cost-aware replacement: a policy with another one for the dirty pages of each chip.
#[derive(Clone, Debug)]
pub struct Ecr<S> {
    choice: ChipChoice,
    /// List i: dirty pages of chip i, newest touch first; list `chips`: Clean-LRU.
    pages: Recency,
    chips: usize,
    /// The policy of every chip; none for LRU, whose order `pages` has anyway.
    inner: Vec<S>,
    /// Can the policies list their next victims?
    ordered: bool,
    heads: Heads,
    /// Has that policy background work of its own?
    writes_back: bool,
    zero_decisions: u64,
}

impl<S: Build> Ecr<S> {
    /// The policies of the chips: their parameters follow from their nominal capacity, while their
    /// arrays have room for all slots, any of which may come to hold a page of any chip.
    fn build_inner(expr: &Expr, env: &Env) -> Vec<S> {
        let mut chip = env.clone();
        let chips = u64::from(env.layout.chips());
        let frames = (INFO.frames_inside)(expr, u64::from(env.capacity), chips);
        chip.capacity = frames.max(1) as u32;
        // A clean page may be cached while the policy of its chip remembers it.
        chip.ghosts_in_slots = false;
        let build = |_| S::build(layer_below(expr), &chip);
        (0..chips).map(build).collect()
    }
}

impl<S: Scheme> Ecr<S> {
    /// With the policies `inner` for the chips, or LRU without any.
    pub fn new(choice: ChipChoice, inner: Vec<S>, env: &Env) -> Ecr<S> {
        let chips = env.layout.chips() as usize;
        Ecr {
            choice,
            pages: Recency::new(env.slots as usize, chips + 1),
            chips,
            ordered: true,
            heads: Heads::default(),
            inner,
            writes_back: false,
            zero_decisions: 0,
        }
    }

    /// Dirty pages in the order in which they would leave, with the queues as they are or as if they were
    /// `idle`; none if the policies of the chips have no order.
    fn dirty_in_order<'a>(
        &'a self,
        idle: bool,
        v: &'a View<'a>,
    ) -> impl Iterator<Item = Slot> + 'a {
        let next = move |chip: usize, passed: usize, last: Option<Slot>| {
            let Some(policy) = self.inner.get(chip) else {
                return match last {
                    None => self.pages.oldest(chip),
                    Some(last) => self.pages.newer(last),
                };
            };
            let mut before = 0;
            policy.first_victim(v, |_| {
                before += 1;
                before > passed
            })
        };
        let touched = |slot| self.pages.stamp(slot);
        let choice = &self.choice;
        choice.in_order(&self.heads, self.chips, idle, v, next, touched)
    }

    fn in_order<'a>(&'a self, idle: bool, v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        let order = || {
            let clean = self.pages.oldest_first(self.chips);
            clean.chain(self.dirty_in_order(idle, v))
        };
        self.ordered.then(order).into_iter().flatten()
    }

    #[inline]
    fn chip_of(&self, lpn: Lpn, v: &View) -> usize {
        v.layout.chip(lpn).index()
    }

    /// Last touch of the page that leaves next if this chip is chosen.
    #[inline]
    fn age(&self, chip: usize, v: &View) -> u64 {
        let policy = self.inner.get(chip);
        match policy.and_then(|policy| policy.first_victim(v, |_| true)) {
            Some(slot) => self.pages.stamp(slot),
            None => self.pages.oldest_touch(chip),
        }
    }

    /// A page becomes dirty, or comes in dirty.
    #[inline]
    fn push_dirty(&mut self, slot: Slot, a: &Access, v: &View) {
        let chip = self.chip_of(a.lpn, v);
        self.pages.push(chip, slot);
        if let Some(policy) = self.inner.get_mut(chip) {
            policy.on_insert(slot, a, v);
        }
    }
}

impl<S: Build> Policy for Ecr<S> {
    fn build(expr: &Expr, env: &Env) -> Ecr<S> {
        let inner = if is_lru(layer_below(expr)) {
            Vec::new()
        } else {
            Ecr::build_inner(expr, env)
        };
        let below = layer_below(expr).scheme();
        Ecr {
            ordered: below.order.is_some(),
            writes_back: below.write_backs.is_some(),
            ..Ecr::new(ChipChoice::of(expr, env), inner, env)
        }
    }

    fn on_request(&mut self, r: &Request, v: &View) {
        if self.writes_back {
            self.inner.iter_mut().for_each(|p| _ = p.on_request(r, v));
        }
    }

    /// The policy of each chip of the channel in turn.
    fn write_back(&mut self, query: &WriteBackQuery, v: &View, unit: &mut Unit) -> WriteBack {
        let Occasion::IdleChannel(channel) = query.occasion else {
            return WriteBack::Nothing;
        };
        if !self.writes_back {
            return WriteBack::Nowhere;
        }
        for chip in v.layout.chips_of(channel) {
            let answer = self.inner[chip.index()].write_back(query, v, unit);
            if let WriteBack::Unit(_) = answer {
                return answer;
            }
        }
        WriteBack::Nothing
    }

    fn rename_ghost(&mut self, from: Lpn, to: Lpn, v: &View) -> bool {
        let (old, new) = (self.chip_of(from, v), self.chip_of(to, v));
        let policy = self.inner.get_mut(old).filter(|_| old == new);
        policy.is_some_and(|policy| policy.rename(from, to, None, v))
    }

    /// On another chip, which has another queue, the page counts as newly dirty.
    fn on_rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) {
        let Some(slot) = slot else {
            return;
        };
        let (old, new) = (self.pages.list_of(slot), self.chip_of(to, v));
        if old == new {
            if let Some(policy) = self.inner.get_mut(old) {
                policy.rename(from, to, Some(slot), v);
            }
        } else if old != self.chips {
            self.on_remove(slot, RemoveReason::Discarded, v);
            // No access is behind it.
            let id = AccessId {
                request: 0,
                seq: v.seq,
            };
            let a = Access::new(id, v.now, Op::Write, to, v.frames.valid(slot));
            self.on_miss(&a, v);
            self.push_dirty(slot, &a, v);
        }
    }

    #[inline]
    fn on_miss(&mut self, a: &Access, v: &View) {
        if a.op == Op::Write && !self.inner.is_empty() {
            let chip = self.chip_of(a.lpn, v);
            self.inner[chip].on_miss(a, v);
        }
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        if a.op == Op::Read {
            self.pages.push(self.chips, slot);
        } else {
            self.push_dirty(slot, a, v);
        }
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        let list = self.pages.list_of(slot);
        if list == self.chips && a.op == Op::Write {
            self.pages.remove(slot);
            self.on_miss(a, v);
            return self.push_dirty(slot, a, v);
        }
        self.pages.touch(list, slot);
        if let Some(policy) = self.inner.get_mut(list) {
            policy.on_hit(slot, a, v);
        }
    }

    #[inline]
    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        match self.inner.get_mut(self.pages.list_of(slot)) {
            Some(policy) => policy.on_remove(slot, reason, v),
            None if reason == RemoveReason::Discarded => self.forget(v.frames.lpn(slot), v),
            None => {}
        }
        self.pages.remove(slot);
    }

    fn on_clean(&mut self, slots: &[Slot], v: &View) {
        for &slot in slots {
            if let Some(policy) = self.inner.get_mut(self.pages.list_of(slot)) {
                policy.on_remove(slot, RemoveReason::Discarded, v);
            }
        }
        self.pages.merge(self.chips, slots);
    }

    fn forget(&mut self, lpn: Lpn, v: &View) {
        if !self.inner.is_empty() {
            let chip = self.chip_of(lpn, v);
            self.inner[chip].on_notice(SchemeNotice::Forgotten(lpn), v);
        }
    }

    #[inline]
    fn victim(&mut self, a: &Access, v: &View) -> Option<Slot> {
        if let Some(slot) = self.pages.oldest(self.chips) {
            return Some(slot);
        }
        let choice = self.choice;
        let (chip, all_zero) = if self.inner.is_empty() {
            choice.choose(self.chips, v, |c| self.pages.oldest_touch(c))
        } else {
            choice.choose(self.chips, v, |c| self.age(c, v))
        };
        self.zero_decisions += u64::from(all_zero);
        let chip = chip?;
        let Some(policy) = self.inner.get_mut(chip) else {
            return self.pages.oldest(chip);
        };
        match policy.victim(a, v, &mut Unit::default()) {
            Victim::Page(slot) => Some(slot),
            Victim::Unit => None,
        }
    }

    fn next_victims<'a>(&'a self, v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        self.in_order(true, v)
    }

    fn next_units(&self, v: &View, unit: &mut Unit, stop: &mut dyn FnMut(&Unit) -> bool) {
        self.in_order(false, v)
            .any(|slot| unit.stops_at(slot, stop));
    }

    fn place(&self, slot: Slot, _v: &View) -> Option<u64> {
        let place = self.choice.place(self.pages.stamp(slot));
        place.filter(|_| self.inner.is_empty())
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        if self.inner.is_empty() {
            return self.choice.bytes(pages, self.chips + 1);
        }
        let clean = self.pages.len(self.chips) as u64;
        let of = |(chip, policy): (usize, &S)| {
            let pages = self.pages.len(chip) as u64;
            policy.metadata_bytes(pages) + pages
        };
        let dirty: u64 = self.inner.iter().enumerate().map(of).sum();
        self.choice.bytes(clean, self.chips + 1) + dirty
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.counter("zero_cqct_decisions", self.zero_decisions);
    }

    /// Clean pages, and the dirty pages of each chip in the lists of its policy.
    fn lists(&self, v: &View, out: &mut PageLists) {
        out.add("clean", self.pages.newest_first(self.chips));
        for chip in 0..self.chips {
            match self.inner.get(chip) {
                None => out.add(format!("chip {chip}"), self.pages.newest_first(chip)),
                Some(policy) => out.within(&format!("chip {chip} "), |out| policy.lists(v, out)),
            }
        }
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        out.push_str("clean");
        crate::state::pages(out, v, self.pages.newest_first(self.chips));
        print_chips(out, v, &self.choice.cqct, |chip, out| {
            match self.inner.get(chip) {
                None => crate::state::pages(out, v, self.pages.newest_first(chip)),
                Some(policy) => policy.state(v, out),
            }
        });
    }

    #[cfg(feature = "conformance")]
    fn take_notes(&mut self, out: &mut Vec<crate::Note>) {
        self.inner.iter_mut().for_each(|p| p.take_notes(out));
    }
}

#[cfg(test)]
mod tests;
