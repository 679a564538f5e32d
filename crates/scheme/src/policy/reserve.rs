//! Reserve: half of the frames are kept free or clean for bursts, all others dirty, and pages that are written once go first.
//!
//! Source: this project; no paper has it. Dirty pages are in two LRU lists. One of them filters pages that are written once, as
//! the cold list of 2Q does.
//! State: three LRU lists of pages, and the last write of each page and of 4C evicted ones (24 B per page, 24 B per
//! ghost). Order: clean pages, least recently used first; then dirty pages in the order of hand-over. Cost: O(1); a
//! FLUSH of n pages O(n log n).
//!
//! C are the frames, U the pages of a program, h the reserve in frames: `start` times C.
//!
//! - A page that becomes dirty enters the residents R if R has fewer than 0.9 (C - h) pages, or if the write before was
//!   younger than the last write of the tail of R; else it enters the filter F. A page that is written while it is
//!   dirty goes to the head of its own list.
//! - After each page that comes in and each end of a program, while fewer units of the host are under way than there
//!   are dies: a batch of U pages begins once C - h + U pages are dirty. Its pages are handed over one by one: the tail
//!   of R while R has more than 0.9 (C - h) pages, else the tail of F, else that of R. Each stays, clean, and is the
//!   most recently used of the clean pages. Pages that a FLUSH cleans at once follow each other by their last writes.
//!
//! The parameters change a part of it for comparisons (docs/BUFFER.md). Without `filter`, all dirty pages are in R. Without
//! `units`, a batch is a page. With `adapt`, h follows the bursts:
//!
//! - When a request begins to wait for a frame, h becomes 1.5 h, at most once in C/8 writes of pages.
//! - Each C/2 writes, m is the lowest number of frames that were neither dirty nor under way, and h - m is what was used.
//!   Below h/2, h falls by a sixteenth, to no less than 2U. Above 0.8 h, it rises by a sixteenth. h is 0.9 C at most.
//!
//! Without a device nothing is handed over.

use crate::contract::boxed;
use crate::expr::{Broken, Composition};
use crate::info::{MetadataBound, PaperSource, ParamInfo, Range, Role, SchemeInfo};
use crate::lists::{ListArray, Lists};
use crate::store::GhostList;
use crate::{
    Access, Code, Env, Expr, Ghosts, PAGE_NODE_BYTES, PageLists, Pages, Policy, RemoveReason,
    Request, SchemeStats, Terms, Unit, View, WriteBack, WriteBackQuery, WriteBackRules, WriteClass,
    params,
};
use destage_types::{Lpn, Op, Slot};

/// Bytes of a number of a write.
const WRITE_BYTES: u64 = 8;
/// Ghosts for each frame.
const GHOSTS_PER_FRAME: u64 = 4;

/// `reserve`: a mark at half, and an order of writes of its own.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "reserve",
    summary: "Keeps half of the frames free or clean for bursts of writes; pages written once are programmed first.",
    source: PaperSource {
        paper: "destage",
        year: Some(2026),
        section: "no paper",
        certain: true,
    },
    write_backs: Some(WriteBackRules {
        on_page: true,
        on_program_end: true,
        class: WriteClass::Host,
        ..WriteBackRules::NEVER
    }),
    params: &[ReserveParams::PARAMS],
    ties: "none: every list is a total order",
    order: Some("clean pages from the LRU end, then dirty pages in the order of hand-over"),
    hit_leaves_next: true,
    refuse_composition,
    metadata: |_, c| {
        let ghosts = c.frames.saturating_mul(GHOSTS_PER_FRAME);
        let bound = MetadataBound::nodes(PAGE_NODE_BYTES + WRITE_BYTES);
        Some(bound.and_entries(ghosts, PAGE_NODE_BYTES + WRITE_BYTES))
    },
    without_device: Some(|_| "reserve never hands a page over".to_owned()),
    build: Some(boxed::<Pages<Reserve>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`Reserve`], which nobody need touch.
    #[derive(Copy)]
    pub struct ReserveParams {
        /// the reserve, or with `adapt` the reserve at first
        start: f64 = ParamInfo::real(Range::UNIT_NOT_ONE, 0.5).unit("fraction of C").source("no paper"),
        /// the reserve follows the bursts
        adapt: bool = ParamInfo::flag(false).source("no paper"),
        /// pages that are written once are handed over before others
        filter: bool = ParamInfo::flag(true).source("no paper"),
        /// pages are handed over by the unit
        units: bool = ParamInfo::flag(true).source("no paper"),
    }
}

/// A layer that keeps dirty pages for itself, or splits them by chip, would hide them from the reserve.
fn refuse_composition(c: &Composition) -> Result<(), Broken> {
    let keeps_pages = |layer: &&Expr| {
        let info = layer.scheme();
        info.role == Role::Classifier || info.chip_lists
    };
    match c.outside().iter().find(keeps_pages) {
        Some(layer) => {
            let name = layer.scheme().name;
            let why = format!(
                "reserve hands over all dirty pages in its own order, and {name} keeps some of them: leave {name} out, or \
                 write drain({name}(lru))"
            );
            Err((Code::RoleOrder, why))
        }
        None => Ok(()),
    }
}

/// Clean pages, by use.
const CLEAN: usize = 0;
/// Dirty pages, by write: F and R of the rules.
const FILTER: usize = 1;
const RESIDENTS: usize = 2;
/// Evicted pages that were written, by eviction.
const GHOSTS: usize = 3;

/// The lists, and the reserve.
#[derive(Clone, Debug)]
pub struct Reserve {
    params: ReserveParams,
    lists: ListArray<4>,
    ghosts: Ghosts,
    most_ghosts: usize,
    /// Number of the last write of each page and ghost; 0 of one that was not written.
    written: Vec<u64>,
    /// Writes of pages so far.
    writes: u64,
    frames: f64,
    dies: u64,
    /// h of the rules.
    reserve: f64,
    /// Pages of the batch that are still to be handed over, and the one that was named last.
    batch: u64,
    named: Option<Lpn>,
    /// Writes when the reserve was looked at last, and m of the rules since then.
    looked: u64,
    lowest: f64,
    /// Writes when the reserve rose for a write that waited.
    raised: Option<u64>,
    /// Number of the last request that waited.
    waited: u64,
    /// Memory of `on_clean`.
    cleaned: Vec<Slot>,
}

/// Pages that one program takes.
fn unit_pages(v: &View) -> u64 {
    v.device.costs().pages_per_program.max(1)
}

impl Reserve {
    /// Pages that are meant for R.
    fn resident_room(&self) -> f64 {
        0.9 * (self.frames - self.reserve)
    }

    fn most_reserve(&self) -> f64 {
        0.9 * self.frames
    }

    /// A page that becomes dirty was written before at `before`: the list that it enters.
    fn list_of_write(&self, before: u64) -> usize {
        let room = (self.lists.len(RESIDENTS) as f64) < self.resident_room();
        let oldest = self.lists.tail(RESIDENTS);
        match room
            || !self.params.filter
            || oldest.is_some_and(|oldest| before > self.written[oldest as usize])
        {
            true => RESIDENTS,
            false => FILTER,
        }
    }

    /// The next write: its number.
    fn count_write(&mut self, v: &View) -> u64 {
        self.writes += 1;
        let half = 2.0 * (self.writes - self.looked) as f64 >= self.frames;
        if half && self.params.adapt {
            self.adapt(unit_pages(v) as f64);
        }
        self.writes
    }

    /// Half the cache was written since the reserve was looked at.
    fn adapt(&mut self, unit: f64) {
        self.looked = self.writes;
        let lowest = std::mem::replace(&mut self.lowest, f64::INFINITY);
        if lowest.is_infinite() {
            return;
        }
        let (used, step) = (self.reserve - lowest, self.reserve / 16.0);
        if used < self.reserve / 2.0 {
            let least = self.reserve.min(2.0 * unit);
            self.reserve = (self.reserve - step).max(least);
        } else if used > 0.8 * self.reserve {
            self.reserve = (self.reserve + step).min(self.most_reserve());
        }
    }

    /// Dirty pages in the order of hand-over.
    fn dirty(&self) -> impl Iterator<Item = u32> + '_ {
        let surplus = self.lists.len(RESIDENTS) as f64 - self.resident_room();
        let surplus = surplus.max(0.0).ceil() as usize;
        let residents = || self.lists.from_tail(RESIDENTS);
        let first = residents().take(surplus);
        first
            .chain(self.lists.from_tail(FILTER))
            .chain(residents().skip(surplus))
    }
}

impl Policy for Reserve {
    fn build(expr: &Expr, env: &Env) -> Reserve {
        let params = ReserveParams::of(expr, env);
        let most_ghosts = GHOSTS_PER_FRAME as usize * env.capacity as usize;
        let ghosts = Ghosts::new(most_ghosts + 1, env);
        Reserve {
            params,
            lists: Lists::array(ghosts.nodes()),
            written: vec![0; ghosts.nodes()],
            ghosts,
            most_ghosts,
            writes: 0,
            frames: f64::from(env.capacity),
            dies: u64::from(env.layout.chips()),
            reserve: params.start * f64::from(env.capacity),
            batch: 0,
            named: None,
            looked: 0,
            lowest: f64::INFINITY,
            raised: None,
            waited: 0,
            cleaned: Vec::with_capacity(env.capacity as usize),
        }
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        let ghost = self.ghosts.take_inserted(slot, a);
        let before = ghost.map_or(0, |node| {
            self.lists.unlink(node);
            self.written[node as usize]
        });
        let (mut list, mut written) = (CLEAN, before);
        if v.frames.is_dirty(slot) {
            written = self.count_write(v);
            list = self.list_of_write(before);
        }
        self.written[slot.index()] = written;
        self.lists.push_head(list, slot.0);
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        let mut list = self.lists.list_of(slot.0);
        if a.op == Op::Write {
            let now = self.count_write(v);
            let before = std::mem::replace(&mut self.written[slot.index()], now);
            if list == CLEAN {
                list = self.list_of_write(before);
            }
        } else if list != CLEAN {
            return;
        }
        self.lists.move_to_head(list, slot.0);
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        self.lists.unlink(slot.0);
        let written = self.written[slot.index()];
        if reason == RemoveReason::Evicted && written > 0 {
            let list = GhostList {
                list: GHOSTS,
                most: self.most_ghosts,
            };
            let node = self.ghosts.remember_in(&mut self.lists, list, slot, v);
            if self.written.len() < self.ghosts.nodes() {
                self.written.resize(self.ghosts.nodes(), 0);
            }
            self.written[node as usize] = written;
        }
    }

    fn on_clean(&mut self, slots: &[Slot], _v: &View) {
        self.cleaned.extend_from_slice(slots);
        self.cleaned
            .sort_unstable_by_key(|slot| self.written[slot.index()]);
        for slot in self.cleaned.drain(..) {
            if self.lists.list_of(slot.0) != CLEAN {
                self.lists.move_to_head(CLEAN, slot.0);
            }
        }
    }

    fn on_wait(&mut self, r: &Request) {
        let lately =
            (self.raised).is_some_and(|at| 8.0 * ((self.writes - at) as f64) < self.frames);
        let waited = self.waited >= r.id;
        self.waited = self.waited.max(r.id);
        if !lately && !waited && self.params.adapt {
            self.raised = Some(self.writes);
            self.reserve = (1.5 * self.reserve).min(self.most_reserve());
        }
    }

    fn next_victims<'a>(&'a self, _v: &'a View<'a>) -> impl Iterator<Item = Slot> + 'a {
        self.lists.from_tail(CLEAN).chain(self.dirty()).map(Slot)
    }

    crate::remembers!(ghosts);

    fn forget(&mut self, lpn: Lpn, v: &View) {
        self.ghosts.forget_page(&mut self.lists, lpn, v);
    }

    fn write_back(&mut self, query: &WriteBackQuery, v: &View, unit: &mut Unit) -> WriteBack {
        let program = unit_pages(v);
        let pages = if self.params.units { program } else { 1 };
        let dirty = v.frames.dirty_pages() as f64;
        let under_way = (program * u64::from(query.units)) as f64;
        self.lowest = self.lowest.min(self.frames - dirty - under_way);
        // There was no room for a page that is dirty still.
        let named = self.named.take().and_then(|lpn| v.slot_of(lpn));
        self.batch += u64::from(named.is_some_and(|slot| v.frames.is_dirty(slot)));
        if u64::from(query.units) >= self.dies {
            return WriteBack::Nothing;
        }
        if self.batch == 0 && dirty >= self.frames - self.reserve + pages as f64 {
            self.batch = pages;
        }
        // A question about a page without room makes the drive wait for room.
        if self.batch == 0 {
            return WriteBack::Nothing;
        }
        let next = self.dirty().map(Slot).find(|&slot| !(query.busy)(slot));
        match next {
            Some(slot) => {
                self.batch -= 1;
                self.named = Some(v.frames.lpn(slot));
                unit.slots.push(slot);
                WriteBack::Unit(Terms::KEEP_CLEAN)
            }
            None => WriteBack::Nothing,
        }
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        (pages + self.lists.len(GHOSTS) as u64) * (PAGE_NODE_BYTES + WRITE_BYTES)
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("reserve_frames", self.reserve as u64);
        out.gauge("resident_pages", self.lists.len(RESIDENTS) as u64);
        out.gauge("filter_pages", self.lists.len(FILTER) as u64);
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        for (list, name) in [
            (RESIDENTS, "residents"),
            (FILTER, "filter"),
            (CLEAN, "clean"),
        ] {
            out.add(name, self.lists.from_head(list).map(Slot));
        }
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        for (list, name) in [(RESIDENTS, "R"), (FILTER, " F"), (CLEAN, " C")] {
            out.push_str(name);
            crate::state::pages(out, v, self.lists.from_head(list).map(Slot));
        }
        out.push_str(" G");
        let ghosts = self.lists.from_head(GHOSTS);
        crate::state::ghosts(out, ghosts.map(|node| self.ghosts.page(node, v)), " ");
    }
}

#[cfg(test)]
mod tests;
