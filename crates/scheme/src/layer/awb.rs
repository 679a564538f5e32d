//! Active write-back: while a channel is idle, pages of large sequential writes go to flash.
//!
//! Source: Zhou et al., Frontiers of Computer Science 10(5), 2016, section 3.4. The layer names
//! pages; the engine queues, starts, cancels and completes the programs, so without a device
//! `awb(X)` is X.
//! State: the inner scheme's. Order: pages of LDR by (serial number, LPN); with
//! `scope=ldr_then_base` then dirty pages in the base's order of eviction. Cost: the pages of
//! LDR that are passed over because they are clean or busy; of the base those passed over because
//! they are clean, once per change of the inner scheme, and all if 64 dirty ones do not do.
//!
//! Where the paper is silent:
//! - `partial` concerns LDR alone: a page of the base belongs to no stream that could grow.
//! - Over a leaf that evicts groups the unit is all dirty pages of the group that leaves next. It
//!   belongs to the channel of its plane (`single_block`) or of its smallest page (`stripe`), and
//!   waits while any of its pages is busy. Clean pages of it need no program and stay.

use super::layer_below;
use super::sweep::Sweep;
use crate::registry::Build;
use crate::{After, Candidate, Env, Expr, Placement, Scheme, Scope, Unit, View, forward};
use destage_types::{ChannelId, Lpn, Op, PlaneId, Slot};

/// What happens to a page that is not full and whose stream may still grow (PR-9).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Partial {
    /// It waits until the stream is outdated.
    #[default]
    Wait,
    /// It is written like any other.
    Write,
}

/// Which accesses cancel a queued write-back (PR-10).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CancelOn {
    /// Reads, writes, TRIM and renames.
    #[default]
    Any,
    /// All but reads.
    Write,
}

/// Parameters of [`Awb`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AwbOptions {
    /// Outstanding write-backs per channel, at least 1 (PR-8).
    pub depth: u32,
    /// Half-filled pages.
    pub partial: Partial,
    /// What becomes of a page that is written.
    pub after: After,
    /// What cancels.
    pub cancel_on: CancelOn,
    /// Which pages: [`Scope::Ldr`] with prober inside, else [`Scope::LdrThenBase`].
    pub scope: Scope,
}

impl AwbOptions {
    /// The defaults; `prober` says whether prober is inside.
    pub fn new(prober: bool) -> AwbOptions {
        AwbOptions {
            depth: 2,
            partial: Partial::Wait,
            after: After::Remove,
            cancel_on: CancelOn::Any,
            scope: if prober {
                Scope::Ldr
            } else {
                Scope::LdrThenBase
            },
        }
    }
}

impl AwbOptions {
    /// As the layer `e` of an expression says.
    pub fn from_expr(e: &Expr) -> AwbOptions {
        AwbOptions {
            depth: e.uint("depth").min(u64::from(u32::MAX)) as u32,
            partial: match e.word("partial") {
                "wait" => Partial::Wait,
                _ => Partial::Write,
            },
            after: match e.word("after") {
                "remove" => After::Remove,
                _ => After::KeepClean,
            },
            cancel_on: match e.word("cancel-on") {
                "any" => CancelOn::Any,
                _ => CancelOn::Write,
            },
            scope: match e.word("scope") {
                "ldr" => Scope::Ldr,
                _ => Scope::LdrThenBase,
            },
        }
    }
}

/// The background layer around another scheme.
#[derive(Clone, Debug)]
pub struct Awb<S> {
    inner: Sweep<S>,
    options: AwbOptions,
}

impl<S: Scheme> Awb<S> {
    /// Around `inner`.
    pub fn new(inner: S, options: AwbOptions) -> Awb<S> {
        let inner = Sweep::new(inner, usize::MAX);
        Awb { inner, options }
    }

    fn pick_from_ldr(
        &self,
        channel: ChannelId,
        busy: &dyn Fn(Slot) -> bool,
        v: &View,
    ) -> Option<Slot> {
        let wait = self.options.partial == Partial::Wait;
        self.inner.flush_candidates(channel, v, &mut |c| {
            let ready = !wait || c.outdated || v.frames.is_full(c.slot);
            ready && v.frames.is_dirty(c.slot) && !busy(c.slot)
        })
    }

    fn pick_from_base(
        &mut self,
        channel: ChannelId,
        busy: &dyn Fn(Slot) -> bool,
        v: &View,
    ) -> Option<Slot> {
        self.inner.refresh(v);
        self.inner.first(v, |slot| {
            v.may_go_to(slot, channel) && !busy(slot) && !self.must_wait(slot, channel, v)
        })
    }

    /// Prober's candidates hold the pages of LDR too: is this one that must not be written yet?
    fn must_wait(&self, slot: Slot, channel: ChannelId, v: &View) -> bool {
        let mut growing = |c: Candidate| c.slot == slot && !c.outdated;
        self.options.partial == Partial::Wait
            && !v.frames.is_full(slot)
            && self
                .inner
                .flush_candidates(channel, v, &mut growing)
                .is_some()
    }
}

/// Leaves the next group of `inner` in `out` if it is this channel's turn; empties `out` otherwise.
pub(super) fn take_group(
    inner: &impl Scheme,
    channel: ChannelId,
    busy: &dyn Fn(Slot) -> bool,
    v: &View,
    out: &mut Unit,
) -> bool {
    inner.next_group(v, out);
    let here = may_go_to(out, channel, v);
    let free = !out.slots.iter().any(|&s| busy(s));
    out.slots.retain(|&s| v.frames.is_dirty(s));
    let take = here && free && !out.slots.is_empty();
    if !take {
        out.clear();
    }
    take
}

/// Does a group belong to `channel`, or may it? An empty one does not.
fn may_go_to(unit: &Unit, channel: ChannelId, v: &View) -> bool {
    let first = unit.slots.iter().min_by_key(|&&s| v.frames.lpn(s));
    first.is_some_and(|&first| match unit.placement {
        Placement::Stripe => v.may_go_to(first, channel),
        Placement::SingleBlock => {
            let plane = PlaneId((unit.id % u64::from(v.layout.planes())) as u32);
            ChannelId(v.layout.plane_address(plane).channel) == channel
        }
    })
}

impl<S: Build> Build for Awb<S> {
    fn build(expr: &Expr, env: &Env) -> Awb<S> {
        let mut env = env.clone();
        env.background = true;
        Awb::new(
            S::build(layer_below(expr), &env),
            AwbOptions::from_expr(expr),
        )
    }
}

impl<S: Scheme> Scheme for Awb<S> {
    forward!(inner: look_ahead ghosts rename_plan tracks_updates rename request request_done admit_request
        admit_page admit_read full expect insert touch foresee remove cleaned forget size victim
        candidates next_group flush_candidates measures conformance);

    fn background(
        &mut self,
        channel: ChannelId,
        outstanding: u32,
        busy: &dyn Fn(Slot) -> bool,
        v: &View,
        out: &mut Unit,
    ) -> Option<After> {
        if outstanding >= self.options.depth {
            return None;
        }
        let mut slot = self.pick_from_ldr(channel, busy, v);
        if slot.is_none() && self.options.scope == Scope::LdrThenBase {
            slot = self.pick_from_base(channel, busy, v);
        }
        match slot {
            Some(slot) => out.one(Some(slot)),
            None if self.options.scope == Scope::Ldr => return None,
            None if take_group(&self.inner, channel, busy, v, out) => {}
            None => return None,
        }
        Some(self.options.after)
    }

    fn has_background(&self) -> bool {
        self.options.scope != Scope::Ldr || self.inner.has_flush_candidates()
    }

    fn cancels(&self, op: Op) -> bool {
        self.options.cancel_on == CancelOn::Any || op != Op::Read
    }
}

#[cfg(test)]
mod tests;
