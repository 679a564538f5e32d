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

mod options;
#[cfg(test)]
mod tests;

use super::layer_below;
use super::ldr::Ldr;
use super::lwrs::{Grown, LWRS_NODE_BYTES, Lwrs};
use crate::policy::PAGE_NODE_BYTES;
use crate::registry::Build;
use crate::{
    Access, Admission, Ahead, Candidate, Column, Env, Expr, Notes, Request, Scheme, View, Why,
    forward,
};
use destage_types::{ChannelId, Extent, Lpn, Op, Slot};

pub use options::{AsnCounts, CacUpdates, LdrEvict, LdrMode, LdrReadHit, ProberOptions, RipCmp};

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
    scratch: Vec<Slot>,
    #[cfg(any(test, feature = "conformance"))]
    background: bool,
    large_requests: u64,
    migrated: u64,
    notes: Notes,
}

impl<S: Scheme> Prober<S> {
    /// Around `inner`, which runs with its full capacity (PR-7).
    pub fn new(inner: S, options: ProberOptions, env: &Env) -> Prober<S> {
        let capacity = (env.slots + inner.most_kept()) as usize;
        let window = options.rip + u64::from(options.rip_cmp == RipCmp::Gt);
        let channels = if env.background && env.write_back {
            env.layout.channels()
        } else {
            0
        };
        Prober {
            inner,
            options,
            queue: Lwrs::new(options.ssp, window),
            page_sectors: env.page.sectors(),
            ldr: Ldr::new(capacity, channels),
            large: false,
            adapted: true,
            renamed: Vec::new(),
            scratch: Vec::with_capacity(capacity),
            #[cfg(any(test, feature = "conformance"))]
            background: env.background,
            large_requests: 0,
            migrated: 0,
            notes: Notes::default(),
        }
    }

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

    /// Feeds the queue with a write request and moves what it points out.
    #[inline(always)]
    fn classify(&mut self, r: &Request, v: &View) {
        match r.extents {
            [only] if self.renamed.is_empty() => {
                let alone = self.queue.begin_alone(only.start_sector, only.end() - 1);
                if alone {
                    return;
                }
            }
            _ => self.queue.begin(),
        }
        self.classify_many(r, v);
    }

    #[inline(never)]
    fn classify_many(&mut self, r: &Request, v: &View) {
        if self.renamed.len() > 1 {
            self.renamed.sort_unstable();
        }
        self.scratch.clear();
        for e in r.extents {
            let grown = self.queue.write(e.start_sector, e.end() - 1);
            if grown.large {
                self.grow(&grown, r.extents, v);
            }
        }
        if self.large {
            self.large_requests += 1;
            self.migrated += self.scratch.len() as u64;
            self.ldr.sort_in(&self.scratch, v);
            self.note(v);
        }
    }

    /// The write with these extents is part of a large set.
    fn grow(&mut self, grown: &Grown, extents: &[Extent], v: &View) {
        self.large = true;
        for joined in grown.joined.into_iter().flatten() {
            self.leave_base(joined, extents, v);
        }
    }

    /// Takes the pages of a set that just became part of a large one out of the base, except
    /// those of the request itself, appends them to LDR and collects them in `scratch`.
    fn leave_base(&mut self, (first, last): (u64, u64), extents: &[Extent], v: &View) {
        let page = v.frames.page();
        let own = |lpn: Lpn| {
            let mut ends = extents.iter().map(|e| (e.start_sector, e.end() - 1));
            ends.any(|(a, b)| page.page_of(a) <= lpn && lpn <= page.page_of(b))
        };
        for lpn in page.page_of(first).0..=page.page_of(last).0 {
            let Some(slot) = v.slot_of(Lpn(lpn)) else {
                continue;
            };
            if !self.ldr.contains(slot) && !own(Lpn(lpn)) {
                self.inner.remove(slot, Why::Gone, v);
                self.ldr.append(slot);
                self.scratch.push(slot);
            }
        }
    }

    fn note(&mut self, v: &View) {
        self.notes.add(Column::Result, || "LW".to_owned());
        if !self.scratch.is_empty() {
            let lpn = |s: &Slot| v.frames.lpn(*s).to_string();
            let moved = &self.scratch;
            self.notes.add(Column::Result, || {
                format!(
                    "mig[{}]",
                    moved.iter().map(lpn).collect::<Vec<_>>().join(", ")
                )
            });
        }
    }

    /// An LDR page becomes regular data: admitted, then touched (PR-5). A dirty page that is read
    /// is admitted as the dirty page it is.
    fn make_regular(&mut self, slot: Slot, a: &Access, v: &View) {
        self.ldr.remove(slot, v);
        let dirty = v.frames.is_dirty(slot);
        let admitted = Access {
            op: if dirty { Op::Write } else { a.op },
            ..*a
        };
        self.inner.expect(&admitted, v);
        self.inner.insert(slot, &admitted, v);
        self.inner.touch(slot, a, v);
    }

    /// Does the base alone hear of what happens: regular data, and nothing in LDR? As nearly
    /// always, so all that is done otherwise is kept out of line.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        !self.large && self.ldr.is_empty()
    }

    #[inline(never)]
    fn touch_beside_ldr(&mut self, slot: Slot, a: &Access, v: &View) {
        let held = self.ldr.contains(slot);
        if a.op == Op::Read {
            match (held, self.options.ldr_read_hit) {
                (false, _) => self.inner.touch(slot, a, v),
                (true, LdrReadHit::Stay) => {}
                (true, LdrReadHit::Promote) => self.make_regular(slot, a, v),
            }
            return;
        }
        let large = self.is_large(a);
        match (held, large) {
            (false, false) => self.inner.touch(slot, a, v),
            (true, false) => self.make_regular(slot, a, v),
            (true, true) => self.ldr.remove(slot, v),
            (false, true) => self.inner.remove(slot, Why::Gone, v),
        }
        self.ldr.stamp(slot, self.queue.asn());
        if large {
            self.ldr.push(slot, v);
        }
    }

    #[inline(never)]
    fn insert_beside_ldr(&mut self, slot: Slot, a: &Access, v: &View) {
        if self.is_large(a) {
            self.inner.forget(a.lpn, v);
            self.ldr.push(slot, v);
        } else {
            self.inner.insert(slot, a, v);
        }
    }

    #[inline(never)]
    fn victim_beside_ldr(&mut self, a: &Access, v: &View) -> Option<Slot> {
        let slot = self.find_in_ldr(|s| !self.is_spared(s, v));
        match slot {
            Some(slot) => Some(slot),
            None if self.inner.size() > 0 => {
                if !std::mem::replace(&mut self.adapted, true) {
                    self.inner.expect(a, v);
                }
                self.inner.page_victim(a, v)
            }
            None => self.find_in_ldr(|_| true),
        }
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
    fn build(expr: &Expr, env: &Env) -> Prober<S> {
        let options = ProberOptions::from_expr(expr, env.page);
        Prober::new(S::build(layer_below(expr), env), options, env)
    }
}

impl<S: Scheme> Scheme for Prober<S> {
    forward!(inner: ghosts rename_plan tracks_updates admit_read full foresee forget next_group background
        cancels list_pages);

    fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) -> bool {
        if slot.is_some() && self.options.cac_updates == CacUpdates::Exempt {
            self.renamed.push(to);
        }
        match slot {
            Some(s) if self.ldr.contains(s) => {
                self.ldr.rename(s, from, v);
                true
            }
            _ => self.inner.rename(from, to, slot, v),
        }
    }

    #[inline]
    fn look_ahead(&self, ahead: &Ahead) -> u64 {
        let sectors = u64::from(self.page_sectors);
        let queue = self.queue.look_ahead(|i| ahead[i].0 * sectors);
        queue ^ self.inner.look_ahead(ahead)
    }

    #[inline(always)]
    fn request(&mut self, r: &Request, v: &View) {
        self.inner.request(r, v);
        self.large = false;
        if r.op == Op::Write {
            self.classify(r, v);
        } else if self.options.asn_counts == AsnCounts::All {
            self.queue.tick();
        }
    }

    #[inline]
    fn request_done(&mut self, r: &Request, v: &View) {
        self.large = false;
        self.renamed.clear();
        self.inner.request_done(r, v);
    }

    #[inline]
    fn admit_request(&mut self, r: &Request, v: &View) -> Admission {
        if self.large && self.options.ldr == LdrMode::Bypass && self.renamed.is_empty() {
            return Admission::Bypass;
        }
        self.inner.admit_request(r, v)
    }

    #[inline]
    fn admit_page(&mut self, a: &Access, v: &View) -> bool {
        if self.options.ldr == LdrMode::Bypass && self.is_large(a) {
            return false;
        }
        self.inner.admit_page(a, v)
    }

    #[inline(always)]
    fn expect(&mut self, a: &Access, v: &View) {
        // The base is asked for a victim on behalf of LWdata, but never gets the page.
        self.adapted = !self.is_large(a);
        if self.adapted {
            self.inner.expect(a, v);
        }
    }

    #[inline(always)]
    fn insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.ldr.stamp(slot, self.queue.asn());
        self.adapted = true;
        match self.large {
            false => self.inner.insert(slot, a, v),
            true => self.insert_beside_ldr(slot, a, v),
        }
    }

    #[inline(always)]
    fn touch(&mut self, slot: Slot, a: &Access, v: &View) {
        if !self.is_plain() {
            return self.touch_beside_ldr(slot, a, v);
        }
        if a.op == Op::Write {
            self.ldr.stamp(slot, self.queue.asn());
        }
        self.inner.touch(slot, a, v);
    }

    #[inline(always)]
    fn remove(&mut self, slot: Slot, why: Why, v: &View) {
        if self.ldr.contains(slot) {
            self.ldr.remove(slot, v);
        } else {
            self.inner.remove(slot, why, v);
        }
    }

    fn cleaned(&mut self, slots: &[Slot], v: &View) {
        if self.ldr.is_empty() {
            return self.inner.cleaned(slots, v);
        }
        let ldr = &self.ldr;
        self.scratch.clear();
        self.scratch
            .extend(slots.iter().filter(|&&s| !ldr.contains(s)));
        if !self.scratch.is_empty() {
            self.inner.cleaned(&self.scratch, v);
        }
    }

    #[inline]
    fn size(&self) -> usize {
        self.ldr.len() + self.inner.size()
    }

    #[inline(always)]
    fn page_victim(&mut self, a: &Access, v: &View) -> Option<Slot> {
        match self.is_plain() {
            true => self.inner.page_victim(a, v),
            false => self.victim_beside_ldr(a, v),
        }
    }

    fn candidates(&self, v: &View, f: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        self.find_in_ldr(|s| !self.is_spared(s, v) && f(s))
            .or_else(|| self.inner.candidates(v, f))
            .or_else(|| self.find_in_ldr(|s| self.is_spared(s, v) && f(s)))
    }

    fn flush_candidates(
        &self,
        channel: ChannelId,
        v: &View,
        f: &mut dyn FnMut(Candidate) -> bool,
    ) -> Option<Slot> {
        let mut pages = self
            .ldr
            .of_channel(channel, v)
            .map(|(slot, asn)| Candidate {
                slot,
                outdated: self.queue.outdated(asn),
            });
        pages.find(|&c| f(c)).map(|c| c.slot)
    }

    fn has_flush_candidates(&self) -> bool {
        self.ldr.keeps_ages() && !self.ldr.is_empty()
    }

    fn meta_bytes(&self) -> u64 {
        self.inner.meta_bytes()
            + self.ldr.len() as u64 * PAGE_NODE_BYTES
            + self.queue.len() as u64 * LWRS_NODE_BYTES
    }

    fn stats(&self, f: &mut dyn FnMut(&'static str, u64)) {
        f("large_write_requests", self.large_requests);
        f("migrated_pages", self.migrated);
        self.inner.stats(f);
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
    fn take_notes(&mut self, out: &mut Vec<(Column, String)>) {
        self.notes.take(out);
        self.inner.take_notes(out);
    }
}
