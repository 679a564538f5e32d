//! Cleaning ahead of need: while a chip is idle and too much of the cache is dirty, pages that nobody has
//! used for a time are programmed and stay, clean, so that replacing them costs no program.
//!
//! Sources: Shin, Dynamic Early Dirty Buffer Flush, IEEE Access 8, 2020: dirty pages are flushed at idle time
//! once they are more than a share of the cache, as far as rewrites after an early flush and dirty
//! replacements balance; Shin, Early Dirty Buffer Flush with Second Chance, Micromachines 14(4), 2023: a page
//! that is likely to be rewritten waits. Uncertain: of both the abstract was at hand, not the rules, so
//! those below are ours. Issue, cancellation and pages in flight follow active write-back (Prober 3.4), so
//! without a device `idle-clean(X)` is X.
//!
//! State: the cached pages by last access, with marks where old ones begin, and the dirty ones of each chip
//! likewise, those written once and those written again; 24 B per page. Order: the page that was not accessed for
//! the longest time, whatever the order of the scheme inside, so any scheme may stand there. Cost:
//! O(1) per access, and per idle chip O(1) and the pages that are queued already; clean pages cost nothing.
//!
//! The rules:
//! - IC-1: cleaning goes on while more than `watermark` of the frames are dirty.
//! - IC-2: the `young` pages that were accessed last are not cleaned (the reuse veto). They are counted, not timed,
//!   so that the veto means the same on a busy and on a quiet device, and whatever the hit ratio is.
//! - IC-3: with `second-chance` a page that was written again since it came in is cleaned only among the oldest
//!   C/16. Off unless asked for: on five real traces it saved few programs and made dirty evictions.
//! - IC-4: after every `period` accesses `young` grows by C/32 if pages that were cleaned ahead were rewritten more
//!   than `balance` times for each dirty page that was evicted, and shrinks by as much if less. It stays
//!   between 0 and C - C/16. Earlier counts fade by a sixteenth each time, because dirty evictions
//!   come in bursts.
//! - IC-5: a chip gets one page, and only while nothing at all is queued on it.
//! - IC-6: over a policy that evicts groups the unit is all dirty pages of the group that leaves next, as
//!   with active write-back, if all of them are old; a channel gets one at a time.

mod order;

use super::awb::{evicts_groups, take_unit};
use super::layer_below;
use crate::contract::{Build, boxed};
use crate::info::{MetadataBound, PaperSource, ParamInfo, Range, Role, SchemeInfo, inner};
use crate::lists::Lists;
use crate::{
    Access, Boxed, Env, Expr, Layer, Occasion, RemoveReason, Scheme, SchemeExt, SchemeNotice,
    SchemeStats, Terms, Unit, View, WriteBack, WriteBackQuery, params,
};
use destage_types::{ChannelId, ChipId, Lpn, Op, Slot};
use order::Order;
use std::cmp::Ordering;

/// `idle-clean`: cleaning ahead of need.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "idle-clean",
    summary: "Cleans pages that were not used for a time while their chip is idle and much of the cache is dirty.",
    source: PaperSource {
        paper: "Shin, Dynamic Early Dirty Buffer Flush, IEEE Access 8; Early Dirty Buffer Flush with Second Chance, \
                Micromachines 14(4), 2023",
        year: Some(2020),
        section: "abstracts",
        certain: false,
    },
    role: Role::Background,
    params: &[IdleCleanParams::PARAMS],
    ties: "none: recency is a total order; channels ascending",
    metadata: |e, c| {
        let inside = inner(e, c)?.and_per_page(PAGE_BYTES);
        Some(inside.and_entries(2 * c.chips, LIST_BYTES))
    },
    without_device: Some(|_| "idle-clean never writes back".to_owned()),
    build: Some(boxed::<IdleClean<Boxed>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`IdleClean`].
    #[derive(Copy)]
    pub struct IdleCleanParams {
        /// share of the frames that may be dirty before anything is cleaned
        watermark: f64 = ParamInfo::real(Range::UNIT_NOT_ONE, 0.1).source("IC-1"),
        /// pages accessed last that are not cleaned, at first; C - C/16 at most
        young: usize = ParamInfo::frames(0, 1, 2, 0).unit("pages").source("IC-2"),
        /// are pages that were written again cleaned only when they are among the oldest?
        second_chance: bool = ParamInfo::flag(false).source("IC-3"),
        /// rewrites of cleaned pages that one dirty eviction is worth
        balance: u64 = ParamInfo::integer(1, 64, 4).unit("rewrites").source("IC-4"),
        /// does the number of young pages follow from rewrites and dirty evictions?
        adapt: bool = ParamInfo::flag(true).source("IC-4"),
        /// page accesses after which that number is looked at
        period: u64 = ParamInfo::frames(1, 1, 4, 1).unit("page accesses").source("IC-4"),
    }
}

/// Four links, the last access, and flags in what is left of them.
const PAGE_BYTES: u64 = 24;
/// The ends of a list.
const LIST_BYTES: u64 = 8;

/// Flags of a cached page.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    /// Was it written again since it came in?
    rewritten: bool,
    /// Was it named for cleaning since its last access?
    named: bool,
    /// Has it become clean so, and not been written since?
    cleaned: bool,
}

/// Mark of pages that are old, and of those that are old although they were written again.
const OLD: usize = 0;
const OLDEST: usize = 1;

/// The background layer around another scheme.
#[derive(Clone, Debug)]
pub struct IdleClean<S> {
    inner: S,
    params: IdleCleanParams,
    /// Most dirty pages that are let be.
    watermark: usize,
    /// Does the scheme inside evict groups?
    groups: bool,
    pages: Vec<Page>,
    order: Order,
    /// Dirty pages by last access: list 2 c of chip c those written once, 2 c + 1 those written again.
    dirty: Lists,
    dirty_pages: usize,
    /// Chips of each channel.
    chips: Vec<Vec<ChipId>>,
    veto: Veto,
    /// Page accesses so far: hits, and pages that came in.
    accesses: u64,
    rewrites: u64,
}

/// How many pages are young, and what that follows from.
#[derive(Clone, Copy, Debug)]
struct Veto {
    young: usize,
    most: usize,
    step: usize,
    /// Of late.
    rewrites: u64,
    dirty_evictions: u64,
}

impl Veto {
    fn new(young: usize, frames: usize) -> Veto {
        let most = frames - (frames / 16).max(1).min(frames);
        Veto {
            young: young.min(most),
            most,
            step: (frames / 32).max(1),
            rewrites: 0,
            dirty_evictions: 0,
        }
    }

    /// Moves towards a balance of rewrites and dirty evictions.
    fn adapt(&mut self, balance: u64) {
        let evictions = self.dirty_evictions.saturating_mul(balance);
        self.young = match self.rewrites.cmp(&evictions) {
            Ordering::Greater => (self.young + self.step).min(self.most),
            Ordering::Less => self.young.saturating_sub(self.step),
            Ordering::Equal => self.young,
        };
        for count in [&mut self.rewrites, &mut self.dirty_evictions] {
            *count -= count.div_ceil(16);
        }
    }
}

impl<S: Scheme> IdleClean<S> {
    /// One more page access, to the page in `slot`, which stands in its place already.
    fn count_access(&mut self, slot: Slot) {
        self.accesses += 1;
        self.pages[slot.index()].named = false;
        if self.params.adapt && self.accesses.is_multiple_of(self.params.period) {
            self.veto.adapt(self.params.balance);
            self.order.set_depth(OLD, self.veto.young);
        }
    }

    /// Puts the page in `slot` at the head of the list where it belongs, if it is dirty.
    fn place(&mut self, slot: Slot, dirty: bool, v: &View) {
        self.leave(slot);
        if dirty {
            // Where pages may go anywhere there is one list for all chips.
            let chip = if v.device.allocates_dynamically() {
                0
            } else {
                v.chip(slot).index()
            };
            let again = usize::from(self.pages[slot.index()].rewritten);
            self.dirty.push_head(2 * chip + again, slot.0);
            self.dirty_pages += 1;
        }
    }

    /// Takes the page in `slot` out of its list, if it is in one.
    fn leave(&mut self, slot: Slot) {
        if self.dirty.list_of(slot.0) != self.dirty.lists() {
            self.dirty.unlink(slot.0);
            self.dirty_pages -= 1;
        }
    }

    /// May the page in `slot` be cleaned, as far as its accesses go?
    fn is_old(&self, slot: Slot) -> bool {
        let waits = self.params.second_chance && self.pages[slot.index()].rewritten;
        self.order.is_old(slot, if waits { OLDEST } else { OLD })
    }

    /// The oldest page of the chips of `channel` on which nothing is queued.
    fn pick(
        &self,
        channel: ChannelId,
        outstanding: u32,
        busy: &dyn Fn(Slot) -> bool,
        v: &View,
    ) -> Option<Slot> {
        let chips = &self.chips[channel.index()];
        if v.device.allocates_dynamically() {
            let free = (outstanding as usize) < chips.len();
            return self.oldest(0, busy).filter(|_| free);
        }
        let idle = chips.iter().filter(|&&chip| v.device.is_idle(chip));
        let pages = idle.filter_map(|chip| self.oldest(chip.index(), busy));
        pages.min_by_key(|&slot| self.order.stamp(slot))
    }

    /// The same of one chip, or of all.
    fn oldest(&self, chip: usize, busy: &dyn Fn(Slot) -> bool) -> Option<Slot> {
        let first = |list| {
            let mut pages = self.dirty.from_tail(list).map(Slot);
            pages.find(|&slot| !busy(slot))
        };
        let both = [2 * chip, 2 * chip + 1].into_iter().filter_map(first);
        let old = both.filter(|&slot| self.is_old(slot));
        old.min_by_key(|&slot| self.order.stamp(slot))
    }
}

impl<S: Build> Build for IdleClean<S> {
    fn build(expr: &Expr, env: &Env) -> IdleClean<S> {
        let below = layer_below(expr);
        let groups = evicts_groups(below);
        let params = IdleCleanParams::of(expr, env);
        let mut inner = S::build(below, env);
        let slots = env.slots as usize + inner.max_ghosts() as usize;
        let chips = || (0..env.layout.chips()).map(ChipId);
        let of_channel = |channel| chips().filter(move |&c| env.layout.channel(c) == channel);
        let channels = (0..env.layout.channels()).map(ChannelId);
        let veto = Veto::new(params.young, env.capacity as usize);
        IdleClean {
            inner,
            params,
            watermark: (params.watermark * f64::from(env.capacity)) as usize,
            groups,
            pages: vec![Page::default(); slots],
            order: Order::new(slots, [veto.young, veto.most]),
            dirty: Lists::new(slots, 2 * env.layout.chips() as usize),
            dirty_pages: 0,
            chips: channels.map(|c| of_channel(c).collect()).collect(),
            veto,
            accesses: 0,
            rewrites: 0,
        }
    }
}

impl<S: Scheme> Layer for IdleClean<S> {
    crate::inside!(inner: S);

    fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) -> bool {
        if let Some(slot) = slot {
            // Part of a write of the page; that it is dirty then comes with the write itself.
            self.order.touch(slot);
            self.count_access(slot);
            self.place(slot, v.frames.is_dirty(slot), v);
        }
        self.inner.rename(from, to, slot, v)
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.pages[slot.index()] = Page::default();
        self.order.push(slot);
        self.count_access(slot);
        self.place(slot, v.frames.is_dirty(slot), v);
        self.inner.on_insert(slot, a, v);
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        self.order.touch(slot);
        self.count_access(slot);
        let write = a.op == Op::Write;
        if write {
            let page = &mut self.pages[slot.index()];
            let wasted = u64::from(std::mem::take(&mut page.cleaned));
            page.rewritten = true;
            self.veto.rewrites += wasted;
            self.rewrites += wasted;
        }
        // `frames` has the state before the access.
        self.place(slot, write || v.frames.is_dirty(slot), v);
        self.inner.on_hit(slot, a, v);
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        let evicted = reason == RemoveReason::Evicted && v.frames.is_dirty(slot);
        self.veto.dirty_evictions += u64::from(evicted);
        self.order.remove(slot);
        self.leave(slot);
        self.inner.on_remove(slot, reason, v);
    }

    fn on_notice(&mut self, notice: SchemeNotice<'_>, v: &View) {
        if let SchemeNotice::Cleaned(slots) = notice {
            for &slot in slots {
                self.leave(slot);
                let page = &mut self.pages[slot.index()];
                page.cleaned |= std::mem::take(&mut page.named);
            }
        }
        self.inner.on_notice(notice, v);
    }

    fn write_back(&mut self, query: &WriteBackQuery, v: &View, unit: &mut Unit) -> WriteBack {
        let Occasion::IdleChannel(channel) = query.occasion else {
            return WriteBack::Nothing;
        };
        if self.dirty_pages <= self.watermark {
            return WriteBack::Nowhere;
        }
        if !self.groups {
            unit.slots
                .extend(self.pick(channel, query.outstanding, query.busy, v));
        } else if query.outstanding == 0
            && take_unit(&self.inner, channel, query.busy, v, unit)
            && !unit.slots.iter().all(|&slot| self.is_old(slot))
        {
            unit.clear();
        }
        for slot in &unit.slots {
            self.pages[slot.index()].named = true;
        }
        if unit.slots.is_empty() {
            WriteBack::Nothing
        } else {
            WriteBack::Unit(Terms::KEEP_CLEAN)
        }
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        let own =
            MetadataBound::nodes(PAGE_BYTES).and_entries(self.dirty.lists() as u64, LIST_BYTES);
        self.inner.metadata_bytes(pages) + own.bytes(pages)
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.counter("rewrites_after_clean", self.rewrites);
        out.gauge("young_pages", self.veto.young as u64);
        self.inner.stats(out);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        use std::fmt::Write;
        self.inner.state(v, out);
        write!(out, " ; young={}", self.veto.young).expect("writing to a string cannot fail");
    }
}

#[cfg(test)]
mod tests;
