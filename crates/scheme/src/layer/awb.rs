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
//! - Over a policy that evicts groups the unit is all dirty pages of the group that leaves next. It
//!   belongs to the channel of its plane (`single_block`) or of its smallest page (`stripe`), and
//!   waits while any of its pages is busy. Clean pages of it need no program and stay.

use super::layer_below;
use super::sweep::DirtyVictims;
use crate::contract::{Build, boxed};
use crate::expr::{Broken, Composition};
use crate::info::{DefaultValue, OF_INNER, PaperSource, ParamInfo, Role, SchemeInfo, Words};
use crate::{
    After, BackgroundPage, Boxed, Code, Env, Expr, Layer, Occasion, Placement, Scheme, Terms, Unit,
    View, WriteBack, WriteBackQuery, params, words,
};
use destage_types::{ChannelId, PlaneId, Slot};

/// `awb`: active write-back.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "awb",
    summary: "Writes large sequential data back while channels are idle, so that later \
              requests find free frames.",
    source: PaperSource {
        paper: "Zhou et al., Prober, Frontiers of Computer Science 10(5)",
        year: Some(2016),
        section: "3.4",
        certain: true,
    },
    role: Role::Background,
    params: &[AwbParams::PARAMS],
    ties: "least recent write (arrival serial number), then smallest LPN; channels ascending",
    metadata: OF_INNER,
    needs_order,
    refuse_composition,
    without_device: Some(|_| "awb never writes back".to_owned()),
    vectors: &["awb", "awbinflight"],
    build: Some(boxed::<Awb<Boxed>>),
    ..SchemeInfo::BASE
};

words! {
    /// Which pages are written back.
    pub enum Scope {
        /// Pages of large sequential writes only.
        Ldr = "ldr",
        /// These first, then the victims of the base in their order.
        LdrThenBase = "ldr-then-base",
    }
}

words! {
    /// Treatment of a page that is not full and whose stream may still grow (PR-9).
    pub enum Partial {
        /// It waits until the stream is outdated.
        Wait = "wait",
        /// It is written like any other.
        Write = "write",
    }
}

words! {
    /// The state of a page after its write-back.
    pub enum AfterWrite {
        /// It leaves the cache.
        Remove = "remove",
        /// It stays and is clean.
        KeepClean = "keep-clean",
    }
}

words! {
    /// Which accesses cancel a queued write-back (PR-10).
    pub enum CancelOn {
        /// Reads, writes, TRIM and renames.
        Any = "any",
        /// All but reads.
        Write = "write",
    }
}

params! {
    /// Parameters of [`Awb`].
    #[derive(Copy, Eq)]
    pub struct AwbParams {
        /// pages written back: large sequential data only, or then those the inner scheme would
        /// evict
        scope: Scope = ParamInfo::word(Scope::WORDS)
            .default(DefaultValue::Inside {
                layer: "prober",
                then: "ldr",
                otherwise: "ldr-then-base",
            })
            .source("3.4"),
        /// queued and started write-backs of one channel
        depth: u32 = ParamInfo::count(1, 2).unit("write-backs per channel").source("PR-8"),
        /// a partly filled page waits until its stream is outdated, or is written at once
        partial: Partial = ParamInfo::word(Partial::WORDS).source("PR-9"),
        /// what happens to a page that has been written back
        after: AfterWrite = ParamInfo::word(AfterWrite::WORDS).source("3.4"),
        /// host accesses that cancel a queued write-back of their page
        cancel_on: CancelOn = ParamInfo::word(CancelOn::WORDS).source("PR-10"),
    }
}

fn is_given(layer: &Expr, scope: &str) -> bool {
    layer.is_given("scope") && layer.word("scope") == scope
}

/// Without a classifier there are no pages but those of the base.
fn needs_order(c: &Composition) -> bool {
    !c.has(Role::Classifier) || is_given(c.layer(), "ldr-then-base")
}

fn refuse_composition(c: &Composition) -> Result<(), Broken> {
    if !c.has(Role::Classifier) && is_given(c.layer(), "ldr") {
        Err((Code::Awb, "no LDR to write back".to_owned()))
    } else {
        Ok(())
    }
}

/// The background layer around another scheme.
#[derive(Clone, Debug)]
pub struct Awb<S> {
    inner: DirtyVictims<S>,
    /// Does the policy evict groups?
    groups: bool,
    params: AwbParams,
}

impl<S: Scheme> Awb<S> {
    /// Around `inner`, whose policy evicts groups or single pages.
    pub fn new(inner: S, groups: bool, params: AwbParams) -> Awb<S> {
        let inner = DirtyVictims::new(inner, usize::MAX);
        Awb {
            inner,
            groups,
            params,
        }
    }

    /// The first page of LDR for `channel` that is acceptable.
    fn first_of_ldr(
        &self,
        channel: ChannelId,
        v: &View,
        mut accept: impl FnMut(BackgroundPage) -> bool,
    ) -> Option<Slot> {
        let mut first = None;
        Scheme::background_pages(&self.inner, channel, v, &mut |page| {
            first = accept(page).then_some(page.slot);
            first.is_none()
        });
        first
    }

    fn ldr_is_empty(&self, v: &View) -> bool {
        !Scheme::background_pages(&self.inner, ChannelId(0), v, &mut |_| false)
    }

    fn pick_from_ldr(
        &self,
        channel: ChannelId,
        busy: &dyn Fn(Slot) -> bool,
        v: &View,
    ) -> Option<Slot> {
        let wait = self.params.partial == Partial::Wait;
        self.first_of_ldr(channel, v, |BackgroundPage { slot, outdated }| {
            let ready = !wait || outdated || v.frames.is_full(slot);
            ready && v.frames.is_dirty(slot) && !busy(slot)
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

    /// Prober's next victims hold the pages of LDR too: is this one that must not be written yet?
    fn must_wait(&self, slot: Slot, channel: ChannelId, v: &View) -> bool {
        let growing = |page: BackgroundPage| page.slot == slot && !page.outdated;
        self.params.partial == Partial::Wait
            && !v.frames.is_full(slot)
            && self.first_of_ldr(channel, v, growing).is_some()
    }
}

/// Does the policy of the expression evict groups?
pub(super) fn evicts_groups(expr: &Expr) -> bool {
    expr.policy().scheme().role == Role::GroupPolicy
}

/// Leaves the next group of `inner` in `unit` if it is this channel's turn; empties `unit` otherwise.
pub(super) fn take_unit(
    inner: &impl Scheme,
    channel: ChannelId,
    busy: &dyn Fn(Slot) -> bool,
    v: &View,
    unit: &mut Unit,
) -> bool {
    inner.next_units(None, v, unit, &mut |_| true);
    let here = may_go_to(unit, channel, v);
    let free = !unit.slots.iter().any(|&s| busy(s));
    unit.slots.retain(|&s| v.frames.is_dirty(s));
    let take = here && free && !unit.slots.is_empty();
    if !take {
        unit.clear();
    }
    take
}

/// Does a group belong to `channel`, or may it? An empty one does not.
fn may_go_to(unit: &Unit, channel: ChannelId, v: &View) -> bool {
    let first = unit.slots.iter().min_by_key(|&&s| v.frames.lpn(s));
    first.is_some_and(|&first| match unit.placement {
        Placement::SingleBlock if !v.device.spreads_groups() => {
            let plane = PlaneId((unit.id % u64::from(v.layout.planes())) as u32);
            ChannelId(v.layout.plane_address(plane).channel) == channel
        }
        Placement::SingleBlock | Placement::Stripe => v.may_go_to(first, channel),
    })
}

impl<S: Build> Build for Awb<S> {
    fn build(expr: &Expr, env: &Env) -> Awb<S> {
        let below = layer_below(expr);
        let inner = S::build(below, &env.with_background());
        Awb::new(inner, evicts_groups(below), AwbParams::of(expr, env))
    }
}

impl<S: Scheme> Layer for Awb<S> {
    crate::inside!(inner: DirtyVictims<S>);

    fn write_back(&mut self, query: &WriteBackQuery, v: &View, unit: &mut Unit) -> WriteBack {
        let Occasion::IdleChannel(channel) = query.occasion else {
            return WriteBack::Nothing;
        };
        let ldr_alone = self.params.scope == Scope::Ldr;
        if ldr_alone && self.ldr_is_empty(v) {
            return WriteBack::Nowhere;
        }
        if query.outstanding >= self.params.depth {
            return WriteBack::Nothing;
        }
        let mut slot = self.pick_from_ldr(channel, query.busy, v);
        if slot.is_none() && !ldr_alone {
            slot = self.pick_from_base(channel, query.busy, v);
        }
        match slot {
            Some(slot) => unit.slots.push(slot),
            None if ldr_alone => return WriteBack::Nothing,
            None if self.groups && take_unit(&self.inner, channel, query.busy, v, unit) => {}
            None => return WriteBack::Nothing,
        }
        WriteBack::Unit(Terms {
            after: match self.params.after {
                AfterWrite::Remove => After::Remove,
                AfterWrite::KeepClean => After::KeepClean,
            },
            yields_to_reads: self.params.cancel_on == CancelOn::Any,
        })
    }
}

#[cfg(test)]
mod tests;
