//! Co-Active: pages accessed once and pages accessed again in two LRU lists; clean pages leave first, and
//! while a chip is idle its oldest dirty cold page is written back and stays, clean.
//!
//! Source: Sun, Dai, Huang, Qin, IEEE TPDS 2021; the body of the paper was not at hand, so this is a
//! reconstruction. The policy names pages; issue, cancellation and pages in flight follow active write-back
//! (Prober section 3.4), so without a device nothing is written back.
//! State: both lists, 13 B per page with a bit for clean ones, and a counter for each chip; clean pages are
//! also in two orders by age, and dirty cold ones in lists by chip, in place of scans. Ties: not possible.
//! Cost: O(log C) where a page becomes clean or a clean one is hit or leaves, O(1) for dirty ones; chips of
//! the channel when it is asked for work.
//!
//! Where the abstract is silent:
//! - The idle chips are those without any work on channels that are idle for active write-back: a program
//!   on another channel would compete with host operations for its bus (CO-1).
//! - The count of write-backs begins anew with each read or write request; TRIM and FLUSH, after which
//!   there is no more to write, say nothing of the load (CO-2).
//! - The gap before a request is the time since the last one arrived (CO-3). The adaptive threshold begins
//!   at 1.
//! - With dynamic allocation an idle chip gets the oldest dirty cold page of all.

use crate::contract::boxed;
use crate::info::{MetadataBound, PaperSource, ParamInfo, Range, SchemeInfo};
use crate::lists::{ListArray, Lists};
use crate::ranking::Ranking;
use crate::{
    Access, Env, Expr, Occasion, PAGE_NODE_BYTES, PageLists, Pages, Policy, RemoveReason, Request,
    SchemeStats, Terms, Unit, View, WriteBack, WriteBackQuery, WriteBackRules, params,
};
use destage_types::{ChipId, Lpn, Nanos, Op, Slot};

/// Bytes of a node with its bit.
const NODE_BYTES: u64 = PAGE_NODE_BYTES + 1;
/// Bytes of the counter of a chip.
const COUNTER_BYTES: u64 = 1;

/// `co-active`: cold and hot lists with write-back on idle chips.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "co-active",
    summary: "Cold and hot lists, clean victims first, cold dirty pages cleaned on idle chips.",
    source: PaperSource {
        paper: "Sun, Dai, Huang, Qin, Co-Active, IEEE TPDS",
        year: Some(2021),
        section: "abstract",
        certain: false,
    },
    write_backs: Some(WriteBackRules::WHILE_IDLE),
    params: &[CoActiveParams::PARAMS],
    ties: "least recently used first; chips ascending",
    clean_aware: true,
    metadata: |_, c| Some(MetadataBound::nodes(NODE_BYTES).and_entries(c.chips, COUNTER_BYTES)),
    without_device: Some(|_| "co-active never writes back".to_owned()),
    vectors: &["coactive"],
    build: Some(boxed::<Pages<CoActive>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`CoActive`].
    pub struct CoActiveParams {
        /// capacity of the hot list
        hot_ratio: f64 = ParamInfo::real(Range::UNIT, 0.5).unit("fraction of C").source("uncertain"),
        /// write-backs between two host requests; adaptive follows burstiness in 1 to 8
        wb_max: Option<u64> = ParamInfo::count(1, 1)
            .or_word("adaptive")
            .unit("pages per chip")
            .source("uncertain"),
    }
}

/// Pages accessed once, or not for long.
const COLD: usize = 0;
/// Pages accessed again.
const HOT: usize = 1;

/// The most that the adaptive threshold comes to.
const MOST: u64 = 8;

/// Write-backs of a chip since a request.
#[derive(Clone, Copy, Default, Debug)]
struct Written {
    request: u64,
    pages: u64,
}

/// Cold and hot pages, and who is cleaned next.
#[derive(Clone, Debug)]
pub struct CoActive {
    pages: ListArray<2>,
    /// When the page of each slot came to the head of its list.
    moved: Vec<u64>,
    moves: u64,
    is_clean: Vec<bool>,
    /// The clean pages of each list, the oldest first.
    clean: [Ranking<u64>; 2],
    /// The dirty cold pages of each chip.
    dirty_cold: Lists,
    hot_pages: usize,
    written: Vec<Written>,
    /// Read and write requests so far.
    requests: u64,
    last_arrival: Option<Nanos>,
    /// Most write-backs of a chip between two requests.
    threshold: u64,
    adaptive: bool,
}

impl CoActive {
    /// Puts an absent page at the head of `list`.
    fn enter(&mut self, list: usize, slot: Slot, dirty: bool, chip: ChipId) {
        self.pages.push_head(list, slot.0);
        self.moves += 1;
        self.moved[slot.index()] = self.moves;
        self.is_clean[slot.index()] = !dirty;
        match (dirty, list) {
            (false, _) => self.clean[list].insert(slot.0, self.moves),
            (true, COLD) => self.dirty_cold.push_head(chip.index(), slot.0),
            (true, _) => {}
        }
    }

    /// Takes a page out and says whether it is dirty.
    fn leave(&mut self, slot: Slot) -> bool {
        let (list, clean) = (self.pages.list_of(slot.0), self.is_clean[slot.index()]);
        self.pages.unlink(slot.0);
        match (clean, list) {
            (true, _) => self.clean[list].remove(slot.0),
            (false, COLD) => self.dirty_cold.unlink(slot.0),
            (false, _) => {}
        }
        !clean
    }

    fn adapt(&mut self, gap: Nanos, v: &View) {
        self.threshold = if gap < v.device.costs().program {
            (self.threshold / 2).max(1)
        } else {
            (self.threshold * 2).min(MOST)
        };
    }

    /// Write-backs that a chip may have until the next request.
    fn left(&self, chip: ChipId) -> u64 {
        let Written { request, pages } = self.written[chip.index()];
        if request == self.requests {
            self.threshold.saturating_sub(pages)
        } else {
            self.threshold
        }
    }

    fn count(&mut self, chip: ChipId) {
        let (requests, written) = (self.requests, &mut self.written[chip.index()]);
        if written.request != requests {
            *written = Written {
                request: requests,
                pages: 0,
            };
        }
        written.pages += 1;
    }

    /// The oldest dirty cold page of a list that is not being written back.
    fn oldest_of(&self, chip: usize, busy: &dyn Fn(Slot) -> bool) -> Option<Slot> {
        let mut pages = self.dirty_cold.from_tail(chip).map(Slot);
        pages.find(|&slot| !busy(slot))
    }

    fn pick(&self, chip: ChipId, busy: &dyn Fn(Slot) -> bool, v: &View) -> Option<Slot> {
        if !v.device.allocates_dynamically() {
            return self.oldest_of(chip.index(), busy);
        }
        let lists = 0..self.dirty_cold.lists();
        let oldest = lists.filter_map(|list| self.oldest_of(list, busy));
        oldest.min_by_key(|slot| self.moved[slot.index()])
    }
}

impl Policy for CoActive {
    fn build(expr: &Expr, env: &Env) -> CoActive {
        let CoActiveParams { hot_ratio, wb_max } = CoActiveParams::of(expr, env);
        let (slots, chips) = (env.slots as usize, env.layout.chips() as usize);
        CoActive {
            pages: Lists::array(slots),
            moved: vec![0; slots],
            moves: 0,
            is_clean: vec![false; slots],
            clean: [Ranking::with_room(slots), Ranking::with_room(slots)],
            dirty_cold: Lists::new(slots, chips),
            hot_pages: (hot_ratio * f64::from(env.capacity)) as usize,
            written: vec![Written::default(); chips],
            requests: 0,
            last_arrival: None,
            threshold: wb_max.unwrap_or(1),
            adaptive: wb_max.is_none(),
        }
    }

    fn on_request(&mut self, r: &Request, v: &View) {
        self.requests += 1;
        let last = self.last_arrival.replace(r.now);
        if let Some(last) = last.filter(|_| self.adaptive) {
            self.adapt(r.now.since(last), v);
        }
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        let dirty = a.op == Op::Write || v.frames.is_dirty(slot);
        self.enter(COLD, slot, dirty, v.chip(slot));
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        let dirty = self.leave(slot) || a.op == Op::Write;
        self.enter(HOT, slot, dirty, v.chip(slot));
        if self.pages.len(HOT) > self.hot_pages
            && let Some(oldest) = self.pages.tail(HOT).map(Slot)
        {
            let dirty = self.leave(oldest);
            self.enter(COLD, oldest, dirty, v.chip(oldest));
        }
    }

    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        self.leave(slot);
    }

    fn on_clean(&mut self, slots: &[Slot], _v: &View) {
        for &slot in slots {
            if std::mem::replace(&mut self.is_clean[slot.index()], true) {
                continue;
            }
            let list = self.pages.list_of(slot.0);
            if list == COLD {
                self.dirty_cold.unlink(slot.0);
            }
            self.clean[list].insert(slot.0, self.moved[slot.index()]);
        }
    }

    /// The page keeps its place in its list (D11).
    fn on_rename(&mut self, _from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) {
        let lists = &mut self.dirty_cold;
        let Some(slot) = slot.filter(|slot| lists.list_of(slot.0) < lists.lists()) else {
            return;
        };
        let (chip, moved) = (v.layout.chip(to).index(), self.moved[slot.index()]);
        if chip == lists.list_of(slot.0) {
            return;
        }
        lists.unlink(slot.0);
        let is_newer = |&other: &u32| self.moved[other as usize] > moved;
        let newer = lists.from_tail(chip).find(is_newer);
        match newer {
            Some(newer) => lists.insert_older(slot.0, newer),
            None => lists.push_head(chip, slot.0),
        }
    }

    /// The next one alone: which pages follow it depends on what is written back until then.
    fn next_victim(&self, _v: &View) -> Option<Slot> {
        let [cold, hot] = &self.clean;
        let clean = cold.first().or_else(|| hot.first());
        let dirty = || self.pages.tail(COLD).or_else(|| self.pages.tail(HOT));
        clean.or_else(dirty).map(Slot)
    }

    fn write_back(&mut self, query: &WriteBackQuery, v: &View, unit: &mut Unit) -> WriteBack {
        let Occasion::IdleChannel(channel) = query.occasion else {
            return WriteBack::Nothing;
        };
        if self.pages.len(COLD) == self.clean[COLD].len() {
            return WriteBack::Nowhere;
        }
        let idle = |chip: &ChipId| self.left(*chip) > 0 && v.device.is_idle(*chip);
        let mut chips = v.layout.chips_of(channel).filter(idle);
        let picked = chips.find_map(|chip| Some((chip, self.pick(chip, query.busy, v)?)));
        let Some((chip, slot)) = picked else {
            return WriteBack::Nothing;
        };
        self.count(chip);
        unit.slots.push(slot);
        WriteBack::Unit(Terms::KEEP_CLEAN)
    }

    fn metadata_bytes(&self, pages: u64) -> u64 {
        pages * NODE_BYTES + self.written.len() as u64 * COUNTER_BYTES
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("hot_pages", self.pages.len(HOT) as u64);
        out.gauge("write_backs_per_chip", self.threshold);
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        for (list, name) in [(COLD, "cold"), (HOT, "hot")] {
            out.add(name, self.pages.from_head(list).map(Slot));
        }
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        for (list, name) in [(COLD, "cold"), (HOT, " hot")] {
            out.push_str(name);
            crate::state::pages(out, v, self.pages.from_head(list).map(Slot));
        }
    }
}

#[cfg(test)]
mod tests;
