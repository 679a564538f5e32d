//! Group policies: write buffers whose pages leave together.

use super::answers::no_part_in_other_stages;
use super::{
    Access, PageLists, RemoveReason, Request, Scheme, SchemeNotice, Unit, Victim, View, WriteBack,
    WriteBackQuery,
};
use crate::store::{Ghosts, Upcoming};
use crate::{Env, Expr, SchemeStats};
use destage_types::{Lpn, Slot};

/// Keeps pages in groups and names the group that leaves. The rules of a [`Policy`](crate::Policy)
/// hold here: any page may be removed at any time, another group than that of `victim` may leave,
/// and methods with `&self` change nothing. Frames may be in use by pages that the policy does not
/// hold: those of a classifier outside.
pub trait GroupPolicy: Sized {
    /// As the layer `expr` of an expression says, for a cache as `env` says.
    fn build(expr: &Expr, env: &Env) -> Self;

    /// A read or write request begins.
    #[inline(always)]
    fn on_request(&mut self, _r: &Request, _v: &View) {}

    /// The write with this number waits for frames, and others are served before [`GroupPolicy::on_resume`]. Written by
    /// a policy that keeps something of the request.
    fn on_wait(&mut self, _request: u64) {}

    /// The write goes on with its next page.
    fn on_resume(&mut self, _request: u64) {}

    /// Must a group leave before page `a` can enter?
    #[inline(always)]
    fn is_full(&self, _a: &Access, v: &View) -> bool {
        v.frames.used() >= v.frames.capacity()
    }

    /// Page `a` is in `slot` now.
    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View);

    /// Page `a`, which is in `slot`, is read or written; `v.frames` has the state before that.
    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View);

    /// The page in `slot` leaves; `v.frames` still knows it.
    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View);

    /// Page `from`, cached in `slot`, is page `to` from now on.
    fn on_rename(&mut self, from: Lpn, to: Lpn, slot: Slot, v: &View);

    /// Puts the group that leaves to let `a` in into `unit`, which is empty. Asked only while there
    /// are pages; they stay until `on_remove`. Written by a policy whose choice depends on `a` or moves
    /// something of its own.
    fn victim(&mut self, _a: &Access, v: &View, unit: &mut Unit) {
        self.next_unit(v, unit);
    }

    /// The group that leaves next if nothing else happens.
    fn next_unit(&self, v: &View, unit: &mut Unit);

    /// Puts the groups that could leave to let `a` in into `unit`, which is empty, one after the other,
    /// each what would leave now if those before it had to stay: the first is that of `victim`. Ends where
    /// `stop` says so of one, which stays in `unit`, or with an empty `unit`. A policy that can do this
    /// describes the order in its declaration (`order`); victim filters refuse the others.
    fn next_units(
        &self,
        _a: &Access,
        _v: &View,
        _unit: &mut Unit,
        _stop: &mut dyn FnMut(&Unit) -> bool,
    ) {
    }

    /// The first of [`GroupPolicy::next_units`] that `stop` takes, which takes none without a dirty page. Written by a policy
    /// that finds it sooner than by looking at all before it.
    fn next_dirty_unit(
        &self,
        a: &Access,
        v: &View,
        unit: &mut Unit,
        stop: &mut dyn FnMut(&Unit) -> bool,
    ) {
        self.next_units(a, v, unit, stop);
    }

    /// These pages, which stay, are clean now.
    #[inline(always)]
    fn on_cleaned(&mut self, _slots: &[Slot]) {}

    /// Bytes of metadata now.
    fn metadata_bytes(&self) -> u64;

    /// Counters and gauges of the policy's own, reported as `scheme_stats`.
    fn stats(&self, _out: &mut SchemeStats) {}

    /// Reads what is known of pages that are accessed soon, so that the processor has it at hand.
    #[inline(always)]
    fn prefetch(&self, _upcoming: &Upcoming) {}

    /// The lists that the policy keeps its pages in. Without it a picture shows the pages by their addresses.
    fn lists(&self, _v: &View, _out: &mut PageLists) {}

    /// The state as the worked examples print it.
    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String);
}

/// A group policy as a scheme: answers for all stages that it has no part in.
#[derive(Clone, Debug)]
pub struct Groups<P> {
    policy: P,
}

impl<P: GroupPolicy> Groups<P> {
    /// An empty cache under `policy`.
    pub fn of(policy: P) -> Groups<P> {
        Groups { policy }
    }

    /// The policy.
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// The same, to bring about what no run does.
    #[cfg(test)]
    pub(crate) fn policy_mut(&mut self) -> &mut P {
        &mut self.policy
    }
}

impl<P: GroupPolicy> Scheme for Groups<P> {
    no_part_in_other_stages!();

    fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) -> bool {
        if let Some(slot) = slot {
            self.policy.on_rename(from, to, slot, v);
        }
        slot.is_some()
    }

    #[inline(always)]
    fn admit(&mut self, _a: &Access, _v: &View) -> bool {
        true
    }

    #[inline(always)]
    fn is_full(&self, a: &Access, v: &View) -> bool {
        self.policy.is_full(a, v)
    }

    fn write_back(&mut self, _query: &WriteBackQuery, _v: &View, _unit: &mut Unit) -> WriteBack {
        WriteBack::Nowhere
    }

    fn next_victims(&self, _v: &View, _visit: &mut dyn FnMut(Slot) -> bool) {}

    fn place(&self, _slot: Slot, _v: &View) -> Option<u64> {
        None
    }

    fn next_units(
        &self,
        incoming: Option<&Access>,
        v: &View,
        unit: &mut Unit,
        stop: &mut dyn FnMut(&Unit) -> bool,
    ) {
        if let Some(a) = incoming {
            return self.policy.next_units(a, v, unit, stop);
        }
        self.policy.next_unit(v, unit);
        if !unit.slots.is_empty() {
            unit.stops(stop);
        }
    }

    fn next_dirty_unit(
        &self,
        incoming: &Access,
        v: &View,
        unit: &mut Unit,
        stop: &mut dyn FnMut(&Unit) -> bool,
    ) {
        self.policy.next_dirty_unit(incoming, v, unit, stop);
    }

    #[inline(always)]
    fn on_miss(&mut self, _a: &Access, _v: &View) {}

    #[inline(always)]
    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.policy.on_insert(slot, a, v);
    }

    #[inline(always)]
    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        self.policy.on_hit(slot, a, v);
    }

    #[inline(always)]
    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        self.policy.on_remove(slot, reason, v);
    }

    #[inline(always)]
    fn on_notice(&mut self, notice: SchemeNotice<'_>, _v: &View) {
        match notice {
            SchemeNotice::RequestWaits(r) => self.policy.on_wait(r.id),
            SchemeNotice::RequestResumed(r) => self.policy.on_resume(r.id),
            SchemeNotice::Cleaned(slots) => self.policy.on_cleaned(slots),
            SchemeNotice::RequestEnd(_)
            | SchemeNotice::PartialHit(..)
            | SchemeNotice::Forgotten(_) => {}
        }
    }

    #[inline(always)]
    fn victim(&mut self, a: &Access, v: &View, unit: &mut Unit) -> Victim {
        self.policy.victim(a, v, unit);
        Victim::Unit
    }

    #[inline(always)]
    fn ghosts(&mut self) -> Option<&mut Ghosts> {
        None
    }

    #[inline(always)]
    fn prefetch(&self, upcoming: &Upcoming) {
        self.policy.prefetch(upcoming);
    }

    fn metadata_bytes(&self, _pages: u64) -> u64 {
        self.policy.metadata_bytes()
    }

    #[cfg(feature = "conformance")]
    fn take_notes(&mut self, _out: &mut Vec<crate::Note>) {}
}
