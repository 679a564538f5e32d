//! Choosing among policies without knowing which is best: each is run on a sample of the pages in a cache
//! scaled down alike, and the one that was cheapest in the last epoch manages the real cache.
//!
//! Source: Waldspurger, Saemundsson, Ahmad, Park, Cache Modeling and Optimization using Miniature
//! Simulations, USENIX ATC 2017: scaled-down simulation of a spatially hashed sample, several at once, to
//! choose among configurations online. Uncertain: the abstract was at hand. Cost, epochs and how
//! the cache changes hands are ours.
//!
//! State: every member twice: over the cache, where all but one hold no pages, and over its shadow; and the
//! cached pages by last access, 8 B each. Order: none; that of the member in charge changes with the member. Cost: that of the
//! member in charge, and for sampled pages that of every shadow; a change of the member is O(C).
//!
//! The rules:
//! - BO-1: a page is in the sample iff its hashed number is below `shadow / C` of all; shadows have `shadow` frames.
//! - BO-2: a shadow serves the reads and writes of the host by the rules of a cache, with a whole page for a read
//!   that misses. It is told of TRIM and of pages that were cleaned when the cache is.
//! - BO-3: an epoch costs dirty evictions times the time of a program and read misses times that of a read, as the
//!   device has them; 750 us and 75 us without a device, as in the built-in one.
//! - BO-4: the member in charge changes, between two requests, if another one cost less by more than `margin`; of
//!   several the cheapest, the first of equals.
//! - BO-5: the cached pages are given to the new member in the order of their last access, as if they came in then.
//!   A member keeps its ghosts of pages that left for the next time, but for pages that are cached.

mod shadow;

use crate::contract::{Build, boxed};
use crate::expr::{Broken, Composition};
use crate::info::{
    MetadataBound, MetadataContext, PaperSource, ParamInfo, Range, Role, SchemeInfo,
};
use crate::lists::List;
use crate::rng::mix64;
use crate::{
    Access, AccessId, Admission, Boxed, Code, Env, Expr, Layer, RemoveReason, Request, Scheme,
    SchemeNotice, SchemeStats, View, params,
};
use destage_types::{Lpn, Nanos, Op, PageSize, SectorMask, Slot};
use shadow::ShadowCache;

/// `best-of`: the best of several policies.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "best-of",
    summary: "Lets that of several page policies manage the cache which was cheapest on a sample of the pages; \
              lru, arc and lirs unless others stand inside.",
    source: PaperSource {
        paper: "Waldspurger et al., Cache Modeling and Optimization using Miniature Simulations, USENIX ATC",
        year: Some(2017),
        section: "abstract",
        certain: false,
    },
    role: Role::PagePolicy,
    params: &[BestOfParams::PARAMS],
    ties: "those of the policy in charge; the first of equally cheap policies",
    members: &["lru", "arc", "lirs"],
    frames_inside: |e, frames, _| shadow_frames(e, frames),
    metadata,
    refuse_composition,
    build: Some(boxed::<BestOf>),
    hashes: true,
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`BestOf`].
    #[derive(Copy)]
    pub struct BestOfParams {
        /// frames of each shadow, of C at most; their share of C is the share of the pages in the sample
        shadow: u64 = ParamInfo::frames(4, 1, 16, 64).unit("pages").source("BO-1"),
        /// page accesses of an epoch
        epoch: u64 = ParamInfo::frames(1, 8, 1, 64).unit("page accesses").source("BO-4"),
        /// share by which another policy must be cheaper
        margin: f64 = ParamInfo::real(Range::UNIT_NOT_ONE, 0.05).source("BO-4"),
    }
}

/// Bytes of a page in the order of last access.
const PAGE_BYTES: u64 = 8;

fn shadow_frames(e: &Expr, frames: u64) -> u64 {
    e.frames("shadow", frames).unwrap_or(frames).min(frames)
}

fn metadata(e: &Expr, c: &MetadataContext) -> Option<MetadataBound> {
    let frames = shadow_frames(e, c.frames);
    // A member over the cache may hold no pages and remember many.
    let live = MetadataContext { shares: true, ..*c };
    let shadow = MetadataContext { frames, ..*c };
    let mut all = MetadataBound::default();
    for member in e.members() {
        let (live, shadow) = (member.metadata(&live)?, member.metadata(&shadow)?);
        all.per_page = all.per_page.max(live.per_page);
        all = all
            .and_entries(1, live.fixed)
            .and_entries(1, shadow.bytes(frames));
    }
    Some(all.and_per_page(PAGE_BYTES))
}

/// A policy must serve the requests of the host as its shadow does.
fn refuse_composition(c: &Composition) -> Result<(), Broken> {
    let other = |layer: &&Expr| layer.scheme().role != Role::Background;
    match c.outside().iter().find(other) {
        None => Ok(()),
        Some(layer) => {
            let name = layer.scheme().name;
            let why = format!(
                "best-of compares policies on the requests of the host, which {name} changes for them"
            );
            Err((Code::RoleOrder, why))
        }
    }
}

/// One of the policies.
struct Member {
    #[cfg(feature = "conformance")]
    name: &'static str,
    /// Over the cache.
    live: Box<dyn Scheme + Send>,
    shadow: ShadowCache,
}

/// The best of several policies.
pub struct BestOf {
    members: Vec<Member>,
    /// The member in charge.
    active: usize,
    /// Cached pages by last access.
    pages: List,
    page: PageSize,
    sample: Sample,
    params: BestOfParams,
    /// Page accesses of this epoch.
    accesses: u64,
    changes: u64,
}

/// Which pages the shadows see.
#[derive(Clone, Copy, Debug)]
struct Sample {
    shadow: u64,
    cache: u64,
}

impl Sample {
    fn has(self, lpn: Lpn) -> bool {
        (u128::from(mix64(lpn.0)) * u128::from(self.cache)) >> 64 < u128::from(self.shadow)
    }
}

/// Times of a program and a read (BO-3).
fn times(v: &View) -> (Nanos, Nanos) {
    let costs = v.device.costs();
    match (costs.program, costs.read) {
        (Nanos::ZERO, Nanos::ZERO) => (Nanos(750_000), Nanos(75_000)),
        times => times,
    }
}

impl BestOf {
    /// The shadows serve a request of the host.
    fn feed(&mut self, r: &Request, v: &View) {
        for extent in r.extents {
            let (first, last) = (
                self.page.page_of(extent.start_sector),
                self.page.page_of(extent.end() - 1),
            );
            self.accesses += last.0 - first.0 + 1;
            for lpn in (first.0..=last.0)
                .map(Lpn)
                .filter(|&lpn| self.sample.has(lpn))
            {
                let start = self.page.first_sector(lpn);
                let from = extent.start_sector.max(start) - start;
                let to = (extent.end() - start).min(self.page.sectors().into());
                let mask = SectorMask::span(from as u32, (to - from) as u32);
                for member in &mut self.members {
                    member.shadow.serve(r, lpn, mask, v);
                }
            }
        }
    }

    /// An epoch is over: is another member to take charge?
    fn decide(&mut self, r: &Request, v: &View) {
        let (program, read) = times(v);
        let cost = |m: &Member| m.shadow.cost(program, read);
        let costs = self.members.iter().map(cost);
        let best = costs.enumerate().min_by_key(|&(_, cost)| cost);
        if let Some((best, cheapest)) = best {
            let own = cost(&self.members[self.active]) as f64;
            if (cheapest as f64) < own * (1.0 - self.params.margin) {
                self.hand_over(best, r, v);
            }
        }
        for member in &mut self.members {
            member.shadow.begin_epoch();
        }
        self.accesses = 0;
    }

    /// Gives the cached pages to member `to`.
    fn hand_over(&mut self, to: usize, r: &Request, v: &View) {
        let from = std::mem::replace(&mut self.active, to);
        self.changes += 1;
        for slot in self.pages.from_tail() {
            self.members[from]
                .live
                .on_remove(slot, RemoveReason::Discarded, v);
            let op = if v.frames.is_dirty(slot) {
                Op::Write
            } else {
                Op::Read
            };
            let (lpn, valid) = (v.frames.lpn(slot), v.frames.valid(slot));
            let id = AccessId {
                request: r.id,
                seq: v.seq,
            };
            let a = Access::new(id, v.now, op, lpn, valid);
            let new = &mut self.members[to].live;
            new.on_notice(SchemeNotice::Forgotten(lpn), v);
            new.on_miss(&a, v);
            new.on_insert(slot, &a, v);
        }
    }

    fn clean_in_shadows(&mut self, lpn: Lpn, v: &View) {
        if self.sample.has(lpn) {
            for member in &mut self.members {
                member.shadow.clean(lpn, v);
            }
        }
    }

    fn drop_from_shadows(&mut self, lpn: Lpn, v: &View) {
        if self.sample.has(lpn) {
            for member in &mut self.members {
                member.shadow.drop_page(lpn, v);
            }
        }
    }
}

impl Build for BestOf {
    fn build(expr: &Expr, env: &Env) -> BestOf {
        let cache = u64::from(env.capacity);
        let shadow = shadow_frames(expr, cache);
        let mut live = env.clone();
        // A page may be cached while a member that is not in charge remembers it.
        live.ghosts_in_slots = false;
        let member = |e: &Expr| Member {
            #[cfg(feature = "conformance")]
            name: e.scheme().name,
            live: Boxed::build(e, &live).0,
            shadow: ShadowCache::new(e, shadow as u32, env),
        };
        BestOf {
            members: expr.members().iter().map(member).collect(),
            active: 0,
            pages: List::new(env.slots as usize),
            page: env.page,
            sample: Sample { shadow, cache },
            params: BestOfParams::of(expr, env),
            accesses: 0,
            changes: 0,
        }
    }
}

impl Layer for BestOf {
    type Inner = dyn Scheme + Send;

    fn inner(&self) -> &Self::Inner {
        &*self.members[self.active].live
    }

    fn inner_mut(&mut self) -> &mut Self::Inner {
        &mut *self.members[self.active].live
    }

    fn on_request(&mut self, r: &Request, v: &View) -> Admission {
        self.feed(r, v);
        if self.accesses >= self.params.epoch {
            self.decide(r, v);
        }
        Admission::PerPage
    }

    fn next_victims(&self, _v: &View, _visit: &mut dyn FnMut(Slot) -> bool) {}

    fn place(&self, _slot: Slot, _v: &View) -> Option<u64> {
        None
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.pages.push_head(slot);
        self.inner_mut().on_insert(slot, a, v);
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        self.pages.move_to_head(slot);
        self.inner_mut().on_hit(slot, a, v);
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        self.pages.unlink(slot);
        if reason == RemoveReason::Discarded {
            let lpn = v.frames.lpn(slot);
            self.drop_from_shadows(lpn, v);
            // Ghosts of the other members are older still.
            let active = self.active;
            let others = self.members.iter_mut().enumerate();
            for (_, member) in others.filter(|&(i, _)| i != active) {
                member.live.on_notice(SchemeNotice::Forgotten(lpn), v);
            }
        }
        self.inner_mut().on_remove(slot, reason, v);
    }

    fn on_notice(&mut self, notice: SchemeNotice<'_>, v: &View) {
        match notice {
            SchemeNotice::Cleaned(slots) => {
                for lpn in slots.iter().map(|&slot| v.frames.lpn(slot)) {
                    self.clean_in_shadows(lpn, v);
                }
                self.inner_mut().on_notice(notice, v);
            }
            SchemeNotice::Forgotten(lpn) => {
                self.drop_from_shadows(lpn, v);
                for member in &mut self.members {
                    member.live.on_notice(notice, v);
                }
            }
            SchemeNotice::RequestEnd(_)
            | SchemeNotice::RequestWaits(_)
            | SchemeNotice::RequestResumed(_)
            | SchemeNotice::PartialHit(..) => self.inner_mut().on_notice(notice, v),
        }
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        let of = |(i, member): (usize, &Member)| {
            let held = if i == self.active { pages } else { 0 };
            member.live.metadata_bytes(held) + member.shadow.metadata_bytes()
        };
        let members: u64 = self.members.iter().enumerate().map(of).sum();
        members + PAGE_BYTES * pages
    }

    /// Figures of members would begin anew with every change.
    fn stats(&self, out: &mut SchemeStats) {
        out.counter("changes_of_member", self.changes);
        out.gauge("member_in_charge", self.active as u64);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        use std::fmt::Write;
        self.inner().state(v, out);
        write!(out, " ; {}:", self.active).expect("writing to a string cannot fail");
        for member in &self.members {
            let (evictions, misses) = member.shadow.counts();
            write!(out, " {} {evictions}+{misses}", member.name)
                .expect("writing to a string cannot fail");
        }
    }
}

#[cfg(test)]
mod tests;
