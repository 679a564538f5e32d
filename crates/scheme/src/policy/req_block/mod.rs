//! Req-block: a write buffer in units of host write requests; small and hit requests stay, cold
//! large ones leave in one batch.
//!
//! Source: Lin et al., "DRAM Cache Management with Request Granularity for NAND-based SSDs",
//! ICPP 2022, Algorithm 1 (corrected as RB-0 says: a write miss is stored whether or not room
//! had to be made), Eq. 1, Figs 4-6.
//!
//! State: three lists of request blocks, newest first: IRL (newly written), SRL (small, hit) and
//! DRL (divided from large blocks). 32 B per block: the paper's 0.41 % of the cache are about 1.9
//! pages per block and nothing per page (section 4.2.5). Ties: equal frequency IRL, then DRL,
//! then SRL. Counters of victims are those of blocks that the policy chose itself, without a victim
//! filter outside. Cost: O(1) per access, O(pages that leave) per eviction; `merge=all` O(origins).

mod blocks;
mod params;
#[cfg(test)]
mod tests;

use crate::contract::boxed;
use crate::info::{MetadataBound, PaperSource, Role, SchemeInfo};
use crate::{
    Access, Env, Expr, GroupPolicy, Groups, PageLists, RemoveReason, Request, SchemeStats, Unit,
    Upcoming, View,
};
use blocks::{Blocks, DRL, IRL, Identity, SRL};
use destage_types::{Lpn, Op, Slot};
pub use params::{
    AccessUnit, Merge, OriginRule, ReqBlockParams, SizeBasis, SplitAccess, SplitInsertTime,
    TimeBasis,
};

/// The lists in the order in which they give the victim among equals.
const TIES: [usize; 3] = [IRL, DRL, SRL];

/// Bytes of a request block (Req-block section 4.2.5).
const BLOCK_NODE_BYTES: u64 = 32;

/// `req-block`: request granularity.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "req-block",
    summary: "Keeps the pages of a write request together; small and re-hit requests stay, \
              cold large ones leave in one batch.",
    source: PaperSource {
        paper: "Lin, Sha, Li, Cai, Gerofi, Shi, Liao, DRAM Cache Management with Request \
                Granularity for NAND-based SSDs, ICPP",
        year: Some(2022),
        section: "Algorithm 1, Eq. 1, Figs 4-6",
        certain: true,
    },
    role: Role::GroupPolicy,
    params: &[ReqBlockParams::PARAMS],
    ties: "equal frequency: IRL, then DRL, then SRL",
    write_buffer: true,
    order: Some(
        "the coldest of the oldest blocks of each list, as if those before it were not there",
    ),
    metadata: |_, _| Some(MetadataBound::nodes(BLOCK_NODE_BYTES)),
    // The access itself may move the clock.
    victim_is_known: |layer| layer.word("time-basis") != "page-seq",
    vectors: &["reqblock1", "reqblock2", "reqblock3", "reqblock4"],
    build: Some(boxed::<Groups<ReqBlock>>),
    ..SchemeInfo::BASE
};

/// Counters for `scheme_stats`.
#[derive(Clone, Copy, Debug, Default)]
struct Stats {
    upgrades: u64,
    divisions: u64,
    victims: [u64; 3],
    merged: u64,
}

/// Request-block management.
#[derive(Clone, Debug)]
pub struct ReqBlock {
    params: ReqBlockParams,
    blocks: Blocks,
    /// T_cur of the last request (RB-3), for what is decided between requests.
    clock: u64,
    stats: Stats,
}

impl ReqBlock {
    /// T_cur of Eq. 1 (RB-3).
    #[inline]
    fn time(&self, a: &Access) -> u64 {
        match self.params.time_basis {
            TimeBasis::RequestTime => a.now.0,
            TimeBasis::PageSeq => a.seq,
            TimeBasis::ReqSeq => a.request,
        }
    }

    /// Line 22 of Algorithm 1 (RB-1).
    #[inline]
    fn is_small(&self, b: u32) -> bool {
        let pages = match self.params.size_basis {
            SizeBasis::Current => self.blocks.len(b) as u64,
            SizeBasis::Original => u64::from(self.blocks.get(b).created),
        };
        pages <= self.params.delta
    }

    /// The block of the request at the head of `list`, if it is there.
    #[inline]
    fn filling(&self, list: usize, request: u64) -> Option<u32> {
        let head = self.blocks.head(list)?;
        (self.blocks.get(head).request == request).then_some(head)
    }

    /// Lines 22-24: a hit in a small block.
    #[inline]
    fn upgrade(&mut self, b: u32, request: u64) {
        let block = self.blocks.get_mut(b);
        if self.params.access_unit == AccessUnit::Page || block.hit_by != request {
            block.acc += 1;
            block.hit_by = request;
        }
        self.stats.upgrades += u64::from(self.blocks.upgrade(b));
    }

    /// Lines 26-28: a hit in a large block `b` moves the page to the request's block in DRL.
    fn divide(&mut self, slot: Slot, b: u32, a: &Access) {
        // A block that is emptied by this is released last: its node must not become the new
        // block, which still asks it for its past.
        let emptied = self.blocks.take(slot);
        let old = *self.blocks.get(b);
        let h = match self.filling(DRL, a.request) {
            Some(h) => h,
            None => {
                let acc = match self.params.split_access {
                    SplitAccess::One => 1,
                    SplitAccess::PerPage => 0,
                    SplitAccess::Inherit => old.acc,
                };
                let inserted = match self.params.split_insert_time {
                    SplitInsertTime::Now => self.time(a),
                    SplitInsertTime::Inherit => old.inserted,
                };
                self.blocks.create(DRL, a.request, acc, inserted)
            }
        };
        // With `origin=root` a block that was divided itself passes on where its pages came from.
        if !self.blocks.get(h).split {
            let origin = match self.params.origin {
                OriginRule::Root if old.split => self.blocks.origin(b),
                _ => Identity {
                    node: b,
                    born: old.born,
                },
            };
            self.blocks.set_origin(h, origin);
        }
        if self.params.split_access == SplitAccess::PerPage {
            self.blocks.get_mut(h).acc += 1;
        }
        if self.params.merge == Merge::All {
            match self.params.origin {
                OriginRule::None => {}
                OriginRule::Root if old.split => self.blocks.add_origins_of(h, b),
                _ => self.blocks.add_origin(h, b),
            }
        }
        self.blocks.put(h, slot);
        if let Some(b) = emptied {
            self.blocks.release(b);
        }
        self.stats.divisions += 1;
    }

    /// Eq. 1: is `x` accessed less often per page and time than `y`? Age 0 is infinitely often.
    fn colder(&self, x: u32, y: u32, now: u64) -> bool {
        let terms = |b: u32| {
            let block = self.blocks.get(b);
            let age = now.saturating_sub(block.inserted);
            let pages = self.blocks.len(b) as u128;
            (u128::from(block.acc), pages * u128::from(age))
        };
        // acc / (pages * age) of both, compared crosswise: exact, and no division by the age 0 of a
        // block that is being filled (RB-6). Strict, so a tie stays with the list looked at before.
        let ((acc_x, div_x), (acc_y, div_y)) = (terms(x), terms(y));
        div_x != 0 && (div_y == 0 || acc_x * div_y < acc_y * div_x)
    }

    /// `get_victim` of Algorithm 1: the coldest of the oldest blocks. Among equals the first one
    /// stays, so the order of the lists is that of ties.
    fn coldest(&self, now: u64) -> Option<u32> {
        self.coldest_of(TIES.map(|list| self.blocks.tail(list)), now)
    }

    #[inline]
    fn coldest_of(&self, oldest: [Option<u32>; 3], now: u64) -> Option<u32> {
        let mut best = None;
        for tail in oldest.into_iter().flatten() {
            if best.is_none_or(|b| self.colder(tail, b, now)) {
                best = Some(tail);
            }
        }
        best
    }

    /// The hottest of block `b` and those before it in the order of its list.
    fn hottest_until(&self, b: u32, now: u64) -> u32 {
        let before = std::iter::successors(Some(b), |&b| self.blocks.older(b));
        let hotter = |best, other| {
            if self.colder(best, other, now) {
                other
            } else {
                best
            }
        };
        before.reduce(hotter).unwrap_or(b)
    }

    /// Block `b` and what leaves with it (downgraded merge, Fig. 6).
    ///
    /// An origin that was hit when it had become small is in SRL now: it is not cold and stays.
    fn collect(&self, b: u32, v: &View, unit: &mut Unit) {
        let block = self.blocks.get(b);
        unit.id = block.born;
        unit.placement = self.params.placement;
        unit.slots.extend(self.blocks.pages(b));
        match self.params.merge {
            Merge::Neighbour => self.collect_neighbours(b, v, unit),
            _ if !block.split || self.params.origin == OriginRule::None => {}
            Merge::First => {
                if let Some(origin) = self.blocks.in_irl(self.blocks.origin(b)) {
                    unit.slots.extend(self.blocks.pages(origin));
                }
            }
            Merge::All => {
                for origin in self.blocks.origins(b) {
                    unit.slots.extend(self.blocks.pages(origin));
                }
            }
        }
    }

    /// The blocks of IRL that hold a page next to one of block `b`, each once.
    fn collect_neighbours(&self, b: u32, v: &View, unit: &mut Unit) {
        // Only what was taken out of IRL is merged with what stayed there.
        if self.blocks.is_in(b, IRL) {
            return;
        }
        let own = unit.slots.len();
        // A page that a classifier outside holds is in no block, whatever stands in its slot.
        let held = self.blocks.held().iter().sum::<u64>() as usize;
        let all_held = held == v.frames.used();
        for page in self.blocks.pages(b) {
            let lpn = v.frames.lpn(page).0;
            let beside = [lpn.checked_sub(1), lpn.checked_add(1)];
            for slot in beside
                .into_iter()
                .flatten()
                .filter_map(|l| v.slot_of(Lpn(l)))
            {
                let neighbour = self.blocks.of(slot);
                let is_held = || all_held || self.blocks.pages(neighbour).any(|s| s == slot);
                if self.blocks.is_in(neighbour, IRL)
                    && is_held()
                    && !self.is_collected(neighbour, own, unit)
                {
                    unit.slots.extend(self.blocks.pages(neighbour));
                }
            }
        }
    }

    /// Is block `b` among the whole blocks that stand in `unit` from index `at` on?
    fn is_collected(&self, b: u32, mut at: usize, unit: &Unit) -> bool {
        while let Some(&slot) = unit.slots.get(at) {
            let block = self.blocks.of(slot);
            if block == b {
                return true;
            }
            at += self.blocks.len(block);
        }
        false
    }
}

impl GroupPolicy for ReqBlock {
    fn build(expr: &Expr, env: &Env) -> ReqBlock {
        let params = ReqBlockParams::of(expr, env);
        let mut blocks = Blocks::new(env.slots as usize, params.merge == Merge::All);
        // With the other merges what leaves with a block is known once it leaves.
        if env.background && params.merge == Merge::First {
            blocks = blocks.with_dirty();
        }
        ReqBlock {
            params,
            blocks,
            clock: 0,
            stats: Stats::default(),
        }
    }

    #[inline]
    fn on_request(&mut self, r: &Request, _v: &View) {
        match self.params.time_basis {
            TimeBasis::RequestTime => self.clock = r.now.0,
            TimeBasis::PageSeq => self.clock += r.pages,
            TimeBasis::ReqSeq => self.clock = r.id,
        }
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        let b = match self.filling(IRL, a.request) {
            Some(b) => b,
            None => self.blocks.create(IRL, a.request, 1, self.time(a)),
        };
        self.blocks.put(b, slot);
        if self.blocks.knows_dirty() && v.frames.is_dirty(slot) {
            self.blocks.mark_dirty(slot);
        }
    }

    /// Reads and writes alike: Algorithm 1 does not tell them apart.
    #[inline]
    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        let b = self.blocks.of(slot);
        if self.is_small(b) {
            self.upgrade(b, a.request);
        } else {
            self.divide(slot, b, a);
        }
        if self.blocks.knows_dirty() {
            if a.op == Op::Write || v.frames.is_dirty(slot) {
                self.blocks.mark_dirty(slot);
            }
            self.blocks.show_dirty(self.blocks.of(slot));
        }
    }

    #[inline]
    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        if let Some(b) = self.blocks.take(slot) {
            self.blocks.release(b);
        }
    }

    /// Pages are known by slot, so a renamed page stays in its block (D11).
    fn on_rename(&mut self, _from: Lpn, _to: Lpn, _slot: Slot, _v: &View) {}

    #[inline]
    fn victim(&mut self, a: &Access, v: &View, unit: &mut Unit) {
        let Some(b) = self.coldest(self.time(a)) else {
            return;
        };
        self.collect(b, v, unit);
        for list in [IRL, SRL, DRL] {
            self.stats.victims[list] += u64::from(self.blocks.is_in(b, list));
        }
        self.stats.merged += u64::from(unit.slots.len() > self.blocks.len(b));
    }

    fn next_unit(&self, v: &View, unit: &mut Unit) {
        if let Some(b) = self.coldest(self.clock) {
            self.collect(b, v, unit);
        }
    }

    fn next_units(
        &self,
        a: &Access,
        v: &View,
        unit: &mut Unit,
        stop: &mut dyn FnMut(&Unit) -> bool,
    ) {
        let now = self.time(a);
        let mut oldest = TIES.map(|list| self.blocks.tail(list));
        while let Some(b) = self.coldest_of(oldest, now) {
            self.collect(b, v, unit);
            if unit.stops(stop) {
                return;
            }
            let list = oldest.iter_mut().find(|first| **first == Some(b));
            *list.expect("it is the first of its list") = self.blocks.newer(b);
        }
    }

    fn next_dirty_unit(
        &self,
        a: &Access,
        v: &View,
        unit: &mut Unit,
        stop: &mut dyn FnMut(&Unit) -> bool,
    ) {
        if !self.blocks.knows_dirty() {
            return self.next_units(a, v, unit, stop);
        }
        let now = self.time(a);
        let mut first_of = |list: usize| {
            let mut blocks = self.blocks.maybe_dirty(list);
            blocks.find(|&b| {
                unit.clear();
                self.blocks.may_be_dirty(b) && {
                    self.collect(b, v, unit);
                    stop(unit)
                }
            })
        };
        let firsts = TIES.map(&mut first_of);
        unit.clear();
        let mut first = None;
        // Its turn comes when all before it in its list have had theirs, so after the hottest of them.
        for b in firsts.into_iter().flatten() {
            let is_first =
                |of: u32| self.colder(self.hottest_until(b, now), self.hottest_until(of, now), now);
            if first.is_none_or(is_first) {
                first = Some(b);
            }
        }
        if let Some(b) = first {
            self.collect(b, v, unit);
        }
    }

    fn on_cleaned(&mut self, slots: &[Slot]) {
        self.blocks.cleaned(slots);
    }

    fn metadata_bytes(&self) -> u64 {
        let blocks: usize = [IRL, SRL, DRL].iter().map(|&l| self.blocks.blocks(l)).sum();
        blocks as u64 * BLOCK_NODE_BYTES
    }

    fn stats(&self, out: &mut SchemeStats) {
        let [irl, srl, drl] = self.blocks.held();
        out.list("irl_pages", irl);
        out.list("srl_pages", srl);
        out.list("drl_pages", drl);
        out.gauge("irl_blocks", self.blocks.blocks(IRL) as u64);
        out.gauge("srl_blocks", self.blocks.blocks(SRL) as u64);
        out.gauge("drl_blocks", self.blocks.blocks(DRL) as u64);
        out.counter("upgraded_blocks", self.stats.upgrades);
        out.counter("divided_pages", self.stats.divisions);
        out.counter("irl_victims", self.stats.victims[IRL]);
        out.counter("srl_victims", self.stats.victims[SRL]);
        out.counter("drl_victims", self.stats.victims[DRL]);
        out.counter("merged_victims", self.stats.merged);
    }

    #[inline]
    fn prefetch(&self, upcoming: &Upcoming) {
        self.blocks.prefetch(upcoming);
    }

    fn lists(&self, _v: &View, out: &mut PageLists) {
        for (name, list) in [("IRL", IRL), ("SRL", SRL), ("DRL", DRL)] {
            let blocks = self.blocks.newest_first(list);
            out.add(name, blocks.flat_map(|block| self.blocks.pages(block)));
        }
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        let lists = [("IRL", IRL), ("SRL", SRL), ("DRL", DRL)];
        let text = lists.map(|(name, list)| {
            let blocks = self.blocks.newest_first(list).map(|b| {
                let block = self.blocks.get(b);
                let pages: Vec<String> = self
                    .blocks
                    .pages(b)
                    .map(|s| v.frames.lpn(s).to_string())
                    .collect();
                format!(
                    "b{}({};a{};t{}{})",
                    block.born,
                    pages.join(","),
                    block.acc,
                    block.inserted,
                    if block.split { ";s" } else { "" }
                )
            });
            let blocks: Vec<String> = blocks.collect();
            if blocks.is_empty() {
                format!("{name} -")
            } else {
                format!("{name} {}", blocks.join(" "))
            }
        });
        out.push_str(&text.join(" ; "));
    }
}
