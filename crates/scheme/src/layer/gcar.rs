//! gcar: pages whose chip is collecting garbage stay, if the base policy has another victim.
//!
//! Source: Wu, Lin, Mao, Jiang, "GCaR", ICS 2016, as far as its abstract tells (decision GC-1).
//! State: the base's. Order of victims: the base's, as if no chip were in GC.
//! Cost: the candidates that are skipped; nothing while no chip is in GC.
//!
//! Over a policy that evicts groups a candidate is a group: it stays while any of its pages is
//! protected, because it has left only when its slowest page has (GC-2). The group after one that stays is
//! the one that would leave if that were not there.

use super::layer_below;
use crate::contract::{Build, boxed};
use crate::info::{DefaultValue, OF_INNER, PaperSource, ParamInfo, Role, SchemeInfo, Words};
use crate::{Access, Boxed, Env, Expr, Layer, Scheme, Unit, Victim, View, params, words};

/// `gcar`: spares the pages of chips that collect garbage.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "gcar",
    summary: "Takes the first victim candidate whose chip is not collecting garbage.",
    source: PaperSource {
        paper: "Wu, Lin, Mao, Jiang, GCaR: Garbage Collection aware Cache Management, ICS",
        year: Some(2016),
        section: "as described by ECR 2.2 and 4.1",
        certain: false,
    },
    role: Role::VictimFilter,
    params: &[GcarOptions::PARAMS],
    ties: "the candidate order of the inner scheme",
    chip_aware: true,
    order: Some("the inner scheme's, as if no chip were collecting"),
    needs_order: |_| true,
    metadata: OF_INNER,
    without_device: Some(|inner| format!("gcar({inner}) acts as {inner}")),
    vectors: &["gcarlru", "gcarcflru"],
    build: Some(boxed::<Gcar<Boxed>>),
    ..SchemeInfo::BASE
};

words! {
    /// Which pages of a chip in GC stay.
    pub enum Protect {
        /// Clean ones too.
        All = "all",
        /// Dirty ones; a clean page leaves without a flash operation.
        Dirty = "dirty",
    }
}

params! {
    /// Parameters of [`Gcar`].
    #[derive(Copy)]
    pub struct GcarOptions {
        /// all pages of a collecting chip are spared, or only dirty ones
        protect: Protect = ParamInfo::word(Protect::WORDS).source("GC-1"),
        /// candidates that are looked at
        depth: Option<u64> = ParamInfo::count(1, 0)
            .or_word("inf")
            .default(DefaultValue::Word("inf"))
            .unit("pages, or groups of pages")
            .source("GC-1"),
    }
}

/// The victim filter around a base policy.
#[derive(Clone, Debug)]
pub struct Gcar<S> {
    inner: S,
    options: GcarOptions,
}

impl<S: Build> Build for Gcar<S> {
    fn build(expr: &Expr, env: &Env) -> Gcar<S> {
        Gcar {
            inner: S::build(layer_below(expr), env),
            options: GcarOptions::of(expr, env),
        }
    }
}

impl<S: Scheme> Gcar<S> {
    /// Would a page of the unit that counts be programmed on a collecting chip, now or when it is dirty?
    #[inline]
    fn is_protected(&self, unit: &Unit, v: &View) -> bool {
        let counts = |slot| self.options.protect == Protect::All || v.frames.is_dirty(slot);
        let mut pages = unit.slots.iter().copied();
        pages.any(|slot| counts(slot) && v.device.in_gc(unit.chip(slot, v)))
    }

    /// Puts the first unprotected one among so many that would leave next into `unit`, if there is one.
    fn find_unprotected(&self, a: &Access, v: &View, unit: &mut Unit) -> bool {
        let (mut left, mut found) = (self.options.depth.unwrap_or(u64::MAX), false);
        self.inner.next_units(Some(a), v, unit, &mut |unit| {
            found = !self.is_protected(unit, v);
            left -= 1;
            found || left == 0
        });
        if !found {
            unit.clear();
        }
        found
    }
}

impl<S: Scheme> Layer for Gcar<S> {
    crate::inside!(inner: S);

    #[inline]
    fn victim(&mut self, a: &Access, v: &View, unit: &mut Unit) -> Victim {
        if v.device.any_in_gc() && self.find_unprotected(a, v, unit) {
            return Victim::Unit;
        }
        self.inner.victim(a, v, unit)
    }
}

#[cfg(test)]
mod tests;
