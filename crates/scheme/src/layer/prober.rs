//! Prober: pages of large sequential writes leave first, and leave no trace in the base policy.
//!
//! Source: Zhou, Feng, Hua, Liu, Huang, Chen, Zhang, Frontiers of Computer Science 10(5), 2016,
//! sections 3.1-3.3. The queue that recognises streams is [`Lwrs`]; pages it points out
//! stand in LDR, all others in the base policy (RDR in the paper).
//! State: base, LDR list (12 B a page), queue (16 B a node). Cost: the base's and O(log rip) a
//! write request. Ties: none; LDR is a strict order.
//!
//! Where the paper is silent:
//! - A request of several extents advances the serial number once; every extent grows its own
//!   set, and the request is LWdata if one of these sets is large.
//! - `ldr_evict=head` takes the page pushed first. That is the oldest serial number, except
//!   between streams that became large in another order than they were written.
//! - With `ldr_skip_partial` half-filled pages of LDR leave when the base is empty too.

mod classify;
mod options;
#[cfg(test)]
mod tests;

use super::layer_below;
use super::ldr::Ldr;
use super::lwrs::{LWRS_NODE_BYTES, Lwrs};
use crate::contract::{Build, boxed};
use crate::info::{MetadataBound, MetadataContext, PaperSource, Role, SchemeInfo, inner};
use crate::{
    Access, Admission, BackgroundPage, Boxed, Env, Expr, Layer, Notes, PAGE_NODE_BYTES, PageLists,
    RemoveReason, Request, Scheme, SchemeExt, SchemeNotice, SchemeStats, Unit, Upcoming, Victim,
    View,
};
use destage_types::{ChannelId, Lpn, Op, SECTOR_BYTES, Slot};
use options::large_is_above_a_page;

pub use options::{AsnCounts, CacUpdates, LdrEvict, LdrMode, LdrReadHit, ProberOptions, RipCmp};

/// `prober`: large sequential write streams leave first.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "prober",
    summary: "Recognises large sequential streams made of small writes, keeps them apart and \
              evicts them first.",
    source: PaperSource {
        paper: "Zhou, Feng, Hua, Liu, Huang, Chen, Zhang, Prober: exploiting sequential \
                characteristics in buffer for improving SSDs write performance, Frontiers of \
                Computer Science 10(5)",
        year: Some(2016),
        section: "3.1-3.3",
        certain: true,
    },
    role: Role::Classifier,
    params: &[ProberOptions::PARAMS],
    ties: "none in the queue; then those of the inner scheme",
    write_buffer: true,
    // A node for each extent of the last `rip` write requests; a page of LDR has a node of 12 B.
    metadata: |e, c| {
        let base = inner(e, &MetadataContext { shares: true, ..*c })?;
        let per_page = base.per_page.max(PAGE_NODE_BYTES);
        let window = e
            .uint("rip")
            .saturating_add(u64::from(e.word("rip-cmp") == "gt"));
        let nodes = window.saturating_mul(c.extents);
        Some(MetadataBound { per_page, ..base }.and_entries(nodes, LWRS_NODE_BYTES))
    },
    refuse_run: large_is_above_a_page,
    vectors: &["lwrs", "proberlru", "proberlirs", "proberarc"],
    build: Some(boxed::<Prober<Boxed>>),
    ..SchemeInfo::BASE
};

/// Pages of a request (1 MiB) for which the list of renamed ones has room at once.
const USUAL_PAGES: usize = 256;

/// State of a request that waits for frames.
#[derive(Clone, Debug)]
struct Waiting {
    request: u64,
    large: bool,
    renamed: Vec<Lpn>,
}

/// The classifier around a base policy.
#[derive(Clone, Debug)]
pub struct Prober<S> {
    inner: S,
    options: ProberOptions,
    queue: Lwrs,
    page_sectors: u32,
    ldr: Ldr,
    /// Is the request in service LWdata?
    large: bool,
    /// The base needs no (further) call to adapt to the page that comes in.
    adapted: bool,
    /// Cached pages that were renamed for the request in service, sorted; empty unless exempt.
    renamed: Vec<Lpn>,
    /// Requests that wait for frames.
    waiting: Vec<Waiting>,
    /// Pages that the request in service moves from the base to LDR; reused.
    scratch: Vec<Slot>,
    #[cfg(any(test, feature = "conformance"))]
    background: bool,
    large_requests: u64,
    migrated: u64,
    notes: Notes,
}

impl<S: Scheme> Prober<S> {
    /// Is page `lpn` of the request in service LWdata?
    #[inline]
    fn is_large(&self, a: &Access) -> bool {
        self.large && a.op == Op::Write && !self.is_exempt(a.lpn)
    }

    /// Did the page hit through a rename, and does that matter (PR-12)?
    #[inline]
    fn is_exempt(&self, lpn: Lpn) -> bool {
        !self.renamed.is_empty() && self.renamed.binary_search(&lpn).is_ok()
    }

    /// An LDR page becomes regular data: admitted, then hit (PR-5). A dirty page that is read
    /// is admitted as the dirty page it is.
    fn make_regular(&mut self, slot: Slot, a: &Access, v: &View) {
        self.ldr.remove(slot);
        // As a read it would be filed as clean by a base that evicts clean pages first.
        let dirty = v.frames.is_dirty(slot);
        let admitted = Access {
            op: if dirty { Op::Write } else { a.op },
            ..*a
        };
        self.inner.on_miss(&admitted, v);
        self.inner.on_insert(slot, &admitted, v);
        self.inner.on_hit(slot, a, v);
    }

    fn waits(&mut self, request: u64) {
        self.waiting.push(Waiting {
            request,
            large: std::mem::take(&mut self.large),
            renamed: std::mem::take(&mut self.renamed),
        });
    }

    fn resumes(&mut self, request: u64) {
        let at = self
            .waiting
            .iter()
            .position(|waits| waits.request == request);
        if let Some(at) = at {
            let Waiting { large, renamed, .. } = self.waiting.swap_remove(at);
            (self.large, self.renamed) = (large, renamed);
        }
    }

    /// Does the base alone hear of what happens: regular data, and nothing in LDR? As nearly
    /// always, so all that is done otherwise is kept out of line.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        !self.large && self.ldr.is_empty()
    }

    #[inline(never)]
    fn hit_beside_ldr(&mut self, slot: Slot, a: &Access, v: &View) {
        let held = self.ldr.contains(slot);
        if a.op == Op::Read {
            match (held, self.options.ldr_read_hit) {
                (false, _) => self.inner.on_hit(slot, a, v),
                (true, LdrReadHit::Stay) => {}
                (true, LdrReadHit::Promote) => self.make_regular(slot, a, v),
            }
            return;
        }
        let large = self.is_large(a);
        match (held, large) {
            (false, false) => self.inner.on_hit(slot, a, v),
            (true, false) => self.make_regular(slot, a, v),
            (true, true) => self.ldr.remove(slot),
            (false, true) => self.inner.on_remove(slot, RemoveReason::Discarded, v),
        }
        self.ldr.stamp(slot, self.queue.asn());
        if large {
            self.ldr.push(slot, v);
        }
    }

    #[inline(never)]
    fn insert_beside_ldr(&mut self, slot: Slot, a: &Access, v: &View) {
        if self.is_large(a) {
            self.inner.on_notice(SchemeNotice::Forgotten(a.lpn), v);
            self.ldr.push(slot, v);
        } else {
            self.inner.on_insert(slot, a, v);
        }
    }

    /// The scheme inside hears of its own pages.
    #[inline(never)]
    fn clean_beside_ldr(&mut self, slots: &[Slot], v: &View) {
        let ldr = &self.ldr;
        self.scratch.clear();
        self.scratch
            .extend(slots.iter().filter(|&&s| !ldr.contains(s)));
        if !self.scratch.is_empty() {
            self.inner
                .on_notice(SchemeNotice::Cleaned(&self.scratch), v);
        }
    }

    #[inline(never)]
    fn victim_beside_ldr(&mut self, a: &Access, v: &View, unit: &mut Unit) -> Victim {
        if let Some(slot) = self.find_in_ldr(|s| !self.is_spared(s, v)) {
            return Victim::Page(slot);
        }
        if v.frames.used() > self.ldr.len() {
            // LDR has nothing to give for LWdata, so the base adapts to it like to any page.
            if !std::mem::replace(&mut self.adapted, true) {
                self.inner.on_miss(a, v);
            }
            return self.inner.victim(a, v, unit);
        }
        let spared = self.find_in_ldr(|_| true);
        Victim::Page(spared.expect("asked only while there are pages"))
    }

    /// A page that demand eviction passes over (PR-6).
    #[inline]
    fn is_spared(&self, slot: Slot, v: &View) -> bool {
        self.options.ldr_skip_partial && !v.frames.is_full(slot)
    }

    /// The first page of LDR in its order of eviction for which `f` says true.
    fn find_in_ldr(&self, mut f: impl FnMut(Slot) -> bool) -> Option<Slot> {
        match self.options.ldr_evict {
            LdrEvict::Tail => self.ldr.newest_first().find(|&s| f(s)),
            LdrEvict::Head => self.ldr.oldest_first().find(|&s| f(s)),
        }
    }
}

impl<S: Build> Build for Prober<S> {
    /// Around a scheme that runs with its full capacity (PR-7).
    fn build(expr: &Expr, env: &Env) -> Prober<S> {
        let options = ProberOptions::of(expr, env);
        let mut inner = S::build(layer_below(expr), env);
        let capacity = (env.slots + inner.max_ghosts()) as usize;
        let window = options.rip + u64::from(options.rip_cmp == RipCmp::Gt);
        let channels = if env.background && env.write_back {
            env.layout.channels()
        } else {
            0
        };
        Prober {
            inner,
            options,
            queue: Lwrs::new(options.ssp.bytes(env.page) / SECTOR_BYTES, window),
            page_sectors: env.page.sectors(),
            ldr: Ldr::new(capacity, channels),
            large: false,
            adapted: true,
            renamed: Vec::with_capacity(USUAL_PAGES),
            waiting: Vec::new(),
            scratch: Vec::with_capacity(capacity),
            #[cfg(any(test, feature = "conformance"))]
            background: env.background,
            large_requests: 0,
            migrated: 0,
            notes: Notes::default(),
        }
    }
}

impl<S: Scheme> Layer for Prober<S> {
    crate::inside!(inner: S);

    fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) -> bool {
        if slot.is_some() && self.options.cac_updates == CacUpdates::Exempt {
            self.renamed.push(to);
        }
        match slot {
            Some(s) if self.ldr.contains(s) => {
                self.ldr.rename(s, v);
                true
            }
            _ => self.inner.rename(from, to, slot, v),
        }
    }

    #[inline]
    fn prefetch(&self, upcoming: &Upcoming) {
        let sectors = u64::from(self.page_sectors);
        self.queue.prefetch(|i| upcoming[i].0 * sectors);
        self.inner.prefetch(upcoming);
    }

    #[inline(always)]
    fn on_request(&mut self, r: &Request, v: &View) -> Admission {
        let admission = self.inner.on_request(r, v);
        self.large = false;
        if r.op == Op::Write {
            self.classify(r, v);
        } else if self.options.asn_counts == AsnCounts::All {
            self.queue.tick();
        }
        let goes_past = self.large && self.options.ldr == LdrMode::Bypass;
        if goes_past && self.renamed.is_empty() {
            Admission::Bypass
        } else {
            admission
        }
    }

    #[inline]
    fn admit(&mut self, a: &Access, v: &View) -> bool {
        let written = a.op == Op::Write;
        if written && self.options.ldr == LdrMode::Bypass && self.is_large(a) {
            return false;
        }
        self.inner.admit(a, v)
    }

    #[inline(always)]
    fn on_miss(&mut self, a: &Access, v: &View) {
        // LWdata never enter the base, so it adapts to them only if it has to give the victim.
        self.adapted = !self.is_large(a);
        if self.adapted {
            self.inner.on_miss(a, v);
        }
    }

    #[inline(always)]
    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.ldr.stamp(slot, self.queue.asn());
        self.adapted = true;
        if self.large {
            self.insert_beside_ldr(slot, a, v)
        } else {
            self.inner.on_insert(slot, a, v)
        }
    }

    #[inline(always)]
    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        if !self.is_plain() {
            return self.hit_beside_ldr(slot, a, v);
        }
        if a.op == Op::Write {
            self.ldr.stamp(slot, self.queue.asn());
        }
        self.inner.on_hit(slot, a, v);
    }

    #[inline(always)]
    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        if self.ldr.contains(slot) {
            self.ldr.remove(slot);
        } else {
            self.inner.on_remove(slot, reason, v);
        }
    }

    #[inline]
    fn on_notice(&mut self, notice: SchemeNotice<'_>, v: &View) {
        match notice {
            SchemeNotice::Cleaned(slots) if !self.ldr.is_empty() => self.clean_beside_ldr(slots, v),
            SchemeNotice::RequestEnd(_) => {
                self.large = false;
                self.renamed.clear();
                self.inner.on_notice(notice, v);
            }
            SchemeNotice::RequestWaits(r) => {
                self.waits(r.id);
                self.inner.on_notice(notice, v);
            }
            SchemeNotice::RequestResumed(r) => {
                self.resumes(r.id);
                self.inner.on_notice(notice, v);
            }
            _ => self.inner.on_notice(notice, v),
        }
    }

    #[inline(always)]
    fn victim(&mut self, a: &Access, v: &View, unit: &mut Unit) -> Victim {
        if self.is_plain() {
            self.inner.victim(a, v, unit)
        } else {
            self.victim_beside_ldr(a, v, unit)
        }
    }

    /// Pages of LDR have a place of another kind.
    fn place(&self, _slot: Slot, _v: &View) -> Option<u64> {
        None
    }

    fn next_victims(&self, v: &View, visit: &mut dyn FnMut(Slot) -> bool) {
        let mut stopped = false;
        let mut show = |slot| {
            stopped = !visit(slot);
            !stopped
        };
        let stop = self.find_in_ldr(|s| !self.is_spared(s, v) && !show(s));
        if stop.is_none() {
            self.inner.next_victims(v, &mut show);
        }
        if !stopped {
            self.find_in_ldr(|s| self.is_spared(s, v) && !visit(s));
        }
    }

    fn background_pages(
        &self,
        channel: ChannelId,
        v: &View,
        visit: &mut dyn FnMut(BackgroundPage) -> bool,
    ) -> bool {
        self.ldr.of_channel(&self.queue, channel, v).all(visit);
        self.ldr.offers_pages()
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        let large = self.ldr.len() as u64;
        self.inner.metadata_bytes(pages - large)
            + large * PAGE_NODE_BYTES
            + self.queue.len() as u64 * LWRS_NODE_BYTES
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.counter("large_write_requests", self.large_requests);
        out.counter("migrated_pages", self.migrated);
        self.inner.stats(out);
    }

    /// The page of LDR that was pushed last is first.
    fn lists(&self, v: &View, out: &mut PageLists) {
        self.inner.lists(v, out);
        out.add("LDR", self.ldr.newest_first());
    }

    /// `LWRS (1,0,3) ; RDR [..] ; LDR [..]`, or with a background layer outside
    /// `LDR [..] ; RDR [..]`: the two forms of the worked examples. The newest LDR page is right.
    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        let ldr = |out: &mut String| {
            out.push_str("LDR ");
            crate::state::pages(out, v, self.ldr.oldest_first());
        };
        if self.background {
            ldr(out);
            out.push_str(" ; RDR ");
            return self.inner.state(v, out);
        }
        self.queue.print(out);
        out.push_str(" ; RDR ");
        self.inner.state(v, out);
        out.push_str(" ; ");
        ldr(out);
    }

    #[cfg(feature = "conformance")]
    fn take_notes(&mut self, out: &mut Vec<crate::Note>) {
        self.notes.take(out);
        self.inner.take_notes(out);
    }
}
