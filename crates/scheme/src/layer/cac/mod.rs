//! CAC: the cached old version of a file block becomes the new one when a log-structured file
//! system writes the block to another address.
//!
//! Source: Tian, "Data Correlation Aware Buffer Cache Management for Improved I/O Performance on
//! Log-Structured File System-based NAND Flash Storage Devices", sections 4.1-4.4.
//!
//! Order: all renames of a write first, then one ordinary request of the inner scheme, then the
//! address remapping table (CAC-8). State: at most one table entry per cached block; 4 B of
//! metadata per cached block, with or without an entry (CAC-1; 128 KiB for a full cache of
//! 128 MiB). Ties: those of the inner scheme; renames in the order of the request. Cost: O(1) per
//! block, amortised.

mod art;
#[cfg(test)]
mod tests;

use super::layer_below;
use crate::contract::{Build, boxed};
use crate::expr::{Broken, RunContext};
use crate::info::{PaperSource, ParamInfo, Role, SchemeInfo, inner};
use crate::{
    Admission, Boxed, Code, Env, Expr, Layer, RemoveReason, RenamePlan, Request, Scheme, SchemeExt,
    SchemeNotice, SchemeStats, Update, View, params,
};
use art::Art;
use destage_types::{Lpn, Op, Slot};

/// Bytes of a table entry (CAC section 4.4).
const ART_ENTRY_BYTES: u64 = 4;

/// Blocks of a request (1 MiB) for which the lists of a request have room at once.
const USUAL_BLOCKS: usize = 256;

/// `cac`: address remapping for log-structured file systems.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "cac",
    summary: "Re-keys the cached old version of a file block to the address of its update, \
              so that the update of a log-structured file system hits.",
    source: PaperSource {
        paper: "Tian, Data Correlation Aware Buffer Cache Management for Improved I/O \
                Performance on LFS-based NAND Flash Storage Devices (CAC)",
        year: Some(2024),
        section: "4.1-4.4",
        certain: true,
    },
    role: Role::Mapping,
    params: &[CacParams::PARAMS],
    ties: "those of the inner scheme; renames of one request in its block order",
    metadata: |e, c| Some(inner(e, c)?.and_per_page(ART_ENTRY_BYTES)),
    refuse_run,
    vectors: &[
        "caclru",
        "cacatomic",
        "cacarc",
        "cacghost",
        "cacinplace",
        "cacmulti",
    ],
    build: Some(boxed::<Cac<Boxed>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`Cac`].
    #[derive(Copy, Eq)]
    pub struct CacParams {
        /// an update also renames what the inner scheme remembers of an evicted page
        ghosts: bool = ParamInfo::flag(true).source("CAC-2"),
        /// a non-atomic update of an atomic chain drops the older version that was kept
        drop_stale: bool = ParamInfo::flag(true).source("CAC-4"),
        /// a remap also invalidates the flash copy of the old address
        unmap_pre: bool = ParamInfo::flag(false).source("CAC-6"),
    }
}

/// Updates name blocks of 4 KiB.
fn refuse_run(_layer: &Expr, run: &RunContext) -> Result<(), Broken> {
    match run.page.bytes() {
        4096 => Ok(()),
        bytes => Err((
            Code::Param,
            format!("out of range: cac needs pages of 4096 bytes, not {bytes}"),
        )),
    }
}

/// An entry of the table for a block: the address of its old version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pair {
    pre: Lpn,
    /// Written atomically: the old version must stay too.
    atomic: bool,
}

/// The mapping layer.
#[derive(Clone, Debug)]
pub struct Cac<S> {
    inner: S,
    params: CacParams,
    art: Art,
    /// Is a request between its first rename and its classification?
    renaming: bool,
    /// Updates of the current request, in its order, which wait for its end.
    pending: Vec<(Lpn, Pair)>,
    /// Updates of requests that wait for frames, by request.
    waiting: Vec<(u64, Vec<(Lpn, Pair)>)>,
    /// Entries of blocks that were dropped while the current request is renamed: the table keeps
    /// them until the end of the request, and a later block of it may name them.
    dropped: Vec<(Lpn, Pair)>,
}

impl<S: Scheme> Cac<S> {
    /// ART\[`block`\].
    fn entry(&self, block: Lpn, v: &View) -> Option<Pair> {
        if let Some(slot) = v.slot_of(block) {
            return self.art.get(slot);
        }
        let dropped = self.dropped.iter().find(|(lpn, _)| *lpn == block);
        dropped.map(|(_, pair)| *pair)
    }

    /// The address names new data from now on: its own entry and all entries that name it as
    /// old address go (CAC-3).
    fn forget_pairs(&mut self, block: Lpn, v: &View) {
        if self.art.len() == 0 && self.dropped.is_empty() {
            return;
        }
        if let Some(slot) = v.slot_of(block) {
            self.art.delete(slot);
        }
        self.art.delete_naming(block);
        self.dropped
            .retain(|(lpn, pair)| *lpn != block && pair.pre != block);
    }

    /// A write that names no old addresses: its blocks have none from now on.
    #[inline(never)]
    fn forget_written(&mut self, r: &Request, v: &View) {
        let page = v.frames.page();
        for extent in r.extents {
            let pages = page.page_of(extent.start_sector).0..=page.page_of(extent.end() - 1).0;
            pages.for_each(|lpn| self.forget_pairs(Lpn(lpn), v));
        }
    }

    /// The block in `slot` leaves.
    #[inline(never)]
    fn drop_entry(&mut self, slot: Slot, v: &View) {
        if let Some(pair) = self.art.delete(slot)
            && self.renaming
        {
            self.dropped.push((v.frames.lpn(slot), pair));
        }
    }

    /// The updates of a request reach the table at its end.
    #[inline(never)]
    fn update_table(&mut self, v: &View) {
        for (current, pair) in self.pending.drain(..) {
            if pair.atomic
                && let Some(slot) = v.slot_of(pair.pre)
            {
                self.art.delete(slot);
            }
            // A bypassed or evicted block has no entry.
            if let Some(slot) = v.slot_of(current) {
                self.art.set(slot, pair);
            }
        }
    }
}

impl<S: Build> Build for Cac<S> {
    fn build(expr: &Expr, env: &Env) -> Cac<S> {
        let mut inner = S::build(layer_below(expr), env);
        let slots = env.slots as usize;
        Cac {
            art: Art::new(slots + inner.max_ghosts() as usize, slots),
            inner,
            params: CacParams::of(expr, env),
            renaming: false,
            pending: Vec::with_capacity(USUAL_BLOCKS),
            waiting: Vec::new(),
            dropped: Vec::with_capacity(USUAL_BLOCKS),
        }
    }
}

impl<S: Scheme> Layer for Cac<S> {
    crate::inside!(inner: S);

    fn rename_plan(&mut self, u: &Update, v: &View) -> RenamePlan {
        self.renaming = true;
        let previous = u.previous.filter(|&p| p != u.current);
        // Read before the pairs of the target are forgotten, as the write rule orders it: an update
        // that goes back to the address of the older version kept still drops that version.
        let old = previous.and_then(|p| self.entry(p, v));
        self.forget_pairs(u.current, v);
        let Some(pre) = previous else {
            return RenamePlan::default();
        };
        let atomic = u.atomic;
        self.pending.push((u.current, Pair { pre, atomic }));
        // The two newest atomic versions must survive a crash, so the third one gives its place
        // (section 4.3).
        let source = if atomic {
            old.map(|pair| pair.pre)
        } else {
            Some(pre)
        };
        let kept = old.filter(|pair| pair.atomic && !atomic && self.params.drop_stale);
        RenamePlan {
            forget: v.slot_of(u.current).is_none(),
            source,
            ghosts: self.params.ghosts,
            discard: kept.map(|pair| pair.pre),
            unmap: self.params.unmap_pre,
        }
    }

    fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) -> bool {
        if let Some(slot) = slot {
            self.art.delete(slot);
        }
        self.inner.rename(from, to, slot, v)
    }

    #[inline(always)]
    fn on_request(&mut self, r: &Request, v: &View) -> Admission {
        let names_none = !std::mem::replace(&mut self.renaming, false);
        if names_none && r.op == Op::Write && self.art.len() > 0 {
            self.forget_written(r, v);
        }
        self.dropped.clear();
        self.inner.on_request(r, v)
    }

    #[inline(always)]
    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        if self.art.len() > 0 {
            self.drop_entry(slot, v);
        }
        self.inner.on_remove(slot, reason, v);
    }

    #[inline(always)]
    fn on_notice(&mut self, notice: SchemeNotice<'_>, v: &View) {
        match notice {
            SchemeNotice::RequestEnd(_) if !self.pending.is_empty() => self.update_table(v),
            SchemeNotice::RequestWaits(r) => {
                self.waiting.push((r.id, std::mem::take(&mut self.pending)));
            }
            SchemeNotice::RequestResumed(r) => {
                if let Some(at) = self.waiting.iter().position(|waits| waits.0 == r.id) {
                    self.pending = self.waiting.swap_remove(at).1;
                }
            }
            // TRIM, or an address that is written anew.
            SchemeNotice::Forgotten(lpn) => self.forget_pairs(lpn, v),
            _ => {}
        }
        self.inner.on_notice(notice, v);
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        self.inner.metadata_bytes(pages) + ART_ENTRY_BYTES * pages
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("art_entries", self.art.len() as u64);
        self.inner.stats(out);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        self.inner.state(v, out);
        let entries = v.frames.used_slots().filter_map(|slot| {
            let pair = self.art.get(slot)?;
            Some((v.frames.lpn(slot), pair))
        });
        let mut entries: Vec<(Lpn, Pair)> = entries.collect();
        entries.sort_unstable_by_key(|(lpn, _)| *lpn);
        let word = |(lpn, pair): &(Lpn, Pair)| {
            let mark = if pair.atomic { "a" } else { "" };
            format!("{lpn}:{}{mark}", pair.pre)
        };
        let words: Vec<String> = entries.iter().map(word).collect();
        out.push_str(&format!(" ; ART{{{}}}", words.join(" ")));
    }
}
