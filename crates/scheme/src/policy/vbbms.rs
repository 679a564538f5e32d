//! VBBMS: virtual blocks in two regions, one for random data (LRU) and one for sequential data
//! (FIFO).
//!
//! Source: Du, Yao, Zhou, Xu, IEEE TCE 2019, of which the abstract was available; sizes as in
//! Req-block section 4.1: three fifths of the frames for random data in virtual blocks of 3 pages,
//! the rest for sequential data in virtual blocks of 4.
//!
//! State: two lists of virtual blocks, newest first, 24 B each (Req-block section 4.2.5). Ties: not
//! possible. Cost: O(1) per page and eviction: a virtual block is found through its pages.
//!
//! Where the source is silent:
//! - `migrate`: a page hit by a write of the other class joins that class's region as a new page
//!   would, but nothing has to leave for it. The region may exceed its share until a page comes in;
//!   that page then makes room in its own region if that is full, and else in the other one.
//! - A page that a classifier outside gives back joins the region of the last write.
//! - The group for background work is the tail of the random region if that region is full or
//!   neither is, else of the sequential one; of the other region if that one is empty.

use crate::contract::boxed;
use crate::info::{MetadataBound, MinCapacity, PaperSource, ParamInfo, Role, SchemeInfo, Words};
use crate::lists::{ListArray, Lists};
use crate::{
    Access, Env, Expr, GroupPolicy, Groups, PageLists, RemoveReason, Request, SchemeStats, Unit,
    View, params, words,
};
use destage_types::{Lpn, Op, Slot};

/// Bytes of a virtual block node (Req-block section 4.2.5).
const BLOCK_NODE_BYTES: u64 = 24;

/// `vbbms`: virtual blocks in two regions.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "vbbms",
    summary: "Virtual blocks in a region for random (LRU) and one for sequential data (FIFO).",
    source: PaperSource {
        paper: "Du, Yao, Zhou, Xu, VBBMS, IEEE TCE",
        year: Some(2019),
        section: "abstract; sizes as in Req-block 4.1",
        certain: false,
    },
    role: Role::GroupPolicy,
    params: &[VbbmsParams::PARAMS],
    ties: "none: both lists are total orders",
    write_buffer: true,
    order: Some("virtual blocks of the region that gives room, from its end"),
    min_capacity: MinCapacity::Frames(5),
    metadata: |_, _| Some(MetadataBound::nodes(BLOCK_NODE_BYTES)),
    // The class of the request picks the region.
    victim_is_known: |_| false,
    vectors: &["vbbms"],
    build: Some(boxed::<Groups<Vbbms>>),
    ..SchemeInfo::BASE
};

words! {
    /// Which writes are sequential (VB-1).
    pub enum Classify {
        /// Large ones.
        Size = "size",
        /// Those that begin where the previous write ended.
        Contiguous = "contiguous",
        /// Both.
        Either = "either",
    }
}

params! {
    /// Parameters of [`Vbbms`].
    #[derive(Copy)]
    pub struct VbbmsParams {
        /// a write of at least so many pages is sequential
        seq_min_pages: u64 = ParamInfo::count(1, 4).unit("pages").source("VB-1"),
        /// sequential by size, by following the previous write, or by either
        classify: Classify = ParamInfo::word(Classify::WORDS).source("VB-1"),
        /// a page hit by a write of the other class changes the region
        migrate: bool = ParamInfo::flag(false).source("measured baselines"),
    }
}

/// The region for random requests (RRSR).
const RANDOM: usize = 0;
/// The region for sequential requests (SRSR).
const SEQUENTIAL: usize = 1;
/// Pages of a virtual block of each region.
const BLOCK_PAGES: [u64; 2] = [3, 4];

/// Virtual-block buffer management.
#[derive(Clone, Debug)]
pub struct Vbbms {
    params: VbbmsParams,
    /// Number of the virtual block of each node.
    numbers: Vec<u64>,
    free: Vec<u32>,
    /// Virtual blocks of each region.
    regions: ListArray<2>,
    /// Pages of each virtual block by slot; list number = node of the block.
    pages: Lists,
    /// Pages in each region, and its frames.
    held: [usize; 2],
    share: [usize; 2],
    /// Region of the write being served.
    class: usize,
    /// Region of the write that came last.
    newest: usize,
    /// Regions of writes that wait for frames, by request.
    waiting: Vec<(u64, usize)>,
    /// Page behind the last one of the previous write.
    expected: Option<Lpn>,
    migrations: u64,
}

impl Vbbms {
    /// Virtual block of the page in `slot`.
    #[inline]
    fn of(&self, slot: Slot) -> u32 {
        self.pages.list_of(slot.0) as u32
    }

    /// The virtual block of `region` that holds page `lpn`, found through its other pages.
    #[inline]
    fn find(&self, region: usize, lpn: Lpn, v: &View) -> Option<u32> {
        let first = lpn.0 - lpn.0 % BLOCK_PAGES[region];
        let others = (first..first + BLOCK_PAGES[region]).filter(|&l| l != lpn.0);
        // A cached page may be held by a classifier outside and be in no virtual block.
        let none = self.numbers.len();
        let mut nodes = others
            .filter_map(|l| v.slot_of(Lpn(l)))
            .map(|slot| self.pages.list_of(slot.0))
            .filter(|&node| node < none)
            .map(|node| node as u32);
        // A neighbour may be in the other region, whose virtual blocks are of another size.
        nodes.find(|&node| self.regions.list_of(node) == region)
    }

    /// The page, which is in no virtual block, joins its one in `region`, made if it is not there.
    /// `front`: an existing one of the random region moves to the head.
    #[inline]
    fn join(&mut self, slot: Slot, lpn: Lpn, region: usize, front: bool, v: &View) {
        let node = match self.find(region, lpn, v) {
            Some(node) => {
                if front && region == RANDOM {
                    self.regions.move_to_head(region, node);
                }
                node
            }
            // Room was made before: this may be the virtual block that was the victim (VB-2).
            None => {
                let node = self.free.pop().expect("a virtual block has a cached page");
                self.numbers[node as usize] = lpn.0 / BLOCK_PAGES[region];
                self.regions.push_head(region, node);
                node
            }
        };
        self.pages.push_head(node as usize, slot.0);
        self.held[region] += 1;
    }

    /// The page leaves its virtual block, which goes when it is empty.
    #[inline]
    fn leave(&mut self, slot: Slot) {
        let node = self.of(slot);
        self.pages.unlink(slot.0);
        self.held[self.regions.list_of(node)] -= 1;
        if self.pages.is_empty(node as usize) {
            self.regions.unlink(node);
            self.free.push(node);
        }
    }

    #[inline]
    fn has_its_share(&self, region: usize) -> bool {
        self.held[region] >= self.share[region]
    }

    /// The region that makes room for the request: its own, or the other one if that took frames of
    /// it (`migrate`) or is the only one with pages.
    fn giving(&self) -> usize {
        let other = 1 - self.class;
        let took = self.held[other] > self.share[other];
        if took || self.held[self.class] == 0 {
            other
        } else {
            self.class
        }
    }

    fn collect(&self, node: u32, unit: &mut Unit) {
        unit.id = self.numbers[node as usize];
        let pages = self.pages.from_tail(node as usize).map(Slot);
        unit.slots.extend(pages);
    }
}

impl GroupPolicy for Vbbms {
    /// An empty cache as `env` says, of at least 5 pages.
    fn build(expr: &Expr, env: &Env) -> Vbbms {
        let (slots, capacity) = (env.slots as usize, env.capacity as usize);
        let random = capacity * 3 / 5;
        Vbbms {
            params: VbbmsParams::of(expr, env),
            numbers: vec![0; slots],
            free: (0..env.slots).rev().collect(),
            regions: Lists::array(slots),
            pages: Lists::new(slots, slots),
            held: [0; 2],
            share: [random, capacity - random],
            class: RANDOM,
            newest: RANDOM,
            waiting: Vec::new(),
            expected: None,
            migrations: 0,
        }
    }

    fn on_request(&mut self, r: &Request, v: &View) {
        if r.op != Op::Write {
            return;
        }
        let page = v.frames.page();
        let [Some(first), Some(last)] = [r.extents.first(), r.extents.last()] else {
            return;
        };
        let large = r.pages >= self.params.seq_min_pages;
        let follows = self.expected == Some(page.page_of(first.start_sector));
        let sequential = match self.params.classify {
            Classify::Size => large,
            Classify::Contiguous => follows,
            Classify::Either => large || follows,
        };
        self.class = if sequential { SEQUENTIAL } else { RANDOM };
        self.newest = self.class;
        self.expected = Some(Lpn(page.page_of(last.end() - 1).0 + 1));
    }

    fn on_wait(&mut self, request: u64) {
        self.waiting.push((request, self.class));
        self.class = self.newest;
    }

    fn on_resume(&mut self, request: u64) {
        if let Some(at) = self.waiting.iter().position(|waits| waits.0 == request) {
            self.class = self.waiting.swap_remove(at).1;
        }
    }

    /// The region of the request is full, or with `migrate` the other one took its frames.
    #[inline]
    fn is_full(&self, _a: &Access, v: &View) -> bool {
        self.has_its_share(self.class) || v.frames.used() >= v.frames.capacity()
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.join(slot, a.lpn, self.class, true, v);
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        let node = self.of(slot);
        let region = self.regions.list_of(node);
        if self.params.migrate && a.op == Op::Write && region != self.class {
            self.migrations += 1;
            self.leave(slot);
            self.join(slot, a.lpn, self.class, true, v);
        } else if region == RANDOM {
            self.regions.move_to_head(RANDOM, node);
        }
    }

    #[inline]
    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        self.leave(slot);
    }

    /// The page keeps its region (D11).
    fn on_rename(&mut self, _from: Lpn, to: Lpn, slot: Slot, v: &View) {
        let node = self.of(slot);
        let region = self.regions.list_of(node);
        if self.numbers[node as usize] != to.0 / BLOCK_PAGES[region] {
            self.leave(slot);
            self.join(slot, to, region, false, v);
        }
    }

    fn victim(&mut self, _a: &Access, _v: &View, unit: &mut Unit) {
        if let Some(node) = self.regions.tail(self.giving()) {
            self.collect(node, unit);
        }
    }

    fn next_units(
        &self,
        _a: &Access,
        _v: &View,
        unit: &mut Unit,
        stop: &mut dyn FnMut(&Unit) -> bool,
    ) {
        let mut blocks = self.regions.from_tail(self.giving());
        blocks.any(|node| {
            self.collect(node, unit);
            unit.stops(stop)
        });
    }

    fn next_unit(&self, _v: &View, unit: &mut Unit) {
        let sequential = self.has_its_share(SEQUENTIAL) && !self.has_its_share(RANDOM);
        let first = usize::from(sequential);
        let tail = self.regions.tail(first);
        if let Some(node) = tail.or_else(|| self.regions.tail(1 - first)) {
            self.collect(node, unit);
        }
    }

    fn metadata_bytes(&self) -> u64 {
        let blocks: usize = self.regions.lens().iter().sum();
        blocks as u64 * BLOCK_NODE_BYTES
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("random_pages", self.held[RANDOM] as u64);
        out.gauge("sequential_pages", self.held[SEQUENTIAL] as u64);
        out.counter("migrations", self.migrations);
    }

    fn lists(&self, v: &View, out: &mut PageLists) {
        for (region, name) in [(RANDOM, "random"), (SEQUENTIAL, "sequential")] {
            let blocks = self.regions.from_head(region);
            let pages = blocks.flat_map(|node| {
                let mut pages: Vec<Slot> = self.pages.from_tail(node as usize).map(Slot).collect();
                v.frames.sort_by_lpn(&mut pages);
                pages
            });
            out.add(name, pages);
        }
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        for (region, name, letter) in [(RANDOM, "RRSR: ", 'r'), (SEQUENTIAL, " ; SRSR: ", 's')] {
            let blocks = self.regions.from_head(region).map(|node| {
                let pages = self.pages.from_tail(node as usize).map(Slot);
                let pages = crate::state::sorted(v, pages, false);
                format!("{letter}{}{{{pages}}}", self.numbers[node as usize])
            });
            out.push_str(name);
            out.push_str(&crate::state::joined_or_dash(blocks));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{STILL, TestCache};

    type Cache = TestCache<Groups<Vbbms>>;

    fn cache(capacity: u32, options: &str, requests: &str) -> Cache {
        let mut cache = Cache::new(&format!("vbbms({options})"), capacity);
        cache.run(requests);
        cache
    }

    /// Virtual blocks of a region, newest first.
    fn order(cache: &Cache, region: usize) -> Vec<u64> {
        let policy = cache.scheme.policy();
        let blocks = policy.regions.from_head(region);
        blocks.map(|n| policy.numbers[n as usize]).collect()
    }

    const SIZE: &str = "classify=size";

    #[test]
    fn the_worked_example() {
        let mut cache = cache(10, SIZE, "W0-1 W2 W7 W20-23 W0 W9");
        assert_eq!(
            cache.state(),
            "RRSR: r3{9} r0{0,1,2} r2{7} ; SRSR: s5{20,21,22,23}"
        );
        for (requests, result, said) in [
            ("W24-25", "MM", "flush{7}"),
            ("W40-43", "MMMM", "flush{20,21,22,23}"),
            ("W41", "H", "-"),
            ("W22", "M", "flush{0,1,2}"),
        ] {
            assert_eq!(
                (cache.run(requests), cache.said()),
                (result.to_owned(), said.to_owned())
            );
        }
        assert_eq!(
            cache.state(),
            "RRSR: r7{22} r8{24,25} r3{9} ; SRSR: s10{40,41,42,43}"
        );
        assert_eq!(cache.metadata_bytes(), 4 * 24);
    }

    #[test]
    fn vb_1_a_write_that_goes_on_where_the_last_one_ended() {
        for (classify, follows, large) in [
            ("size", RANDOM, SEQUENTIAL),
            ("contiguous", SEQUENTIAL, RANDOM),
            ("either", SEQUENTIAL, SEQUENTIAL),
        ] {
            let mut cache = cache(10, &format!("classify={classify}"), "");
            for (requests, class) in [("W5-6", RANDOM), ("R0 W7", follows), ("W20-23", large)] {
                cache.run(requests);
                assert_eq!(cache.scheme.policy().class, class, "{classify}: {requests}");
            }
        }
    }

    #[test]
    fn a_migrating_page_may_overfill_its_new_region() {
        let mut cache = cache(5, "migrate=true,seq-min-pages=2", "W30 W10-11 W0 W1");
        for (requests, held, said) in [
            ("", [3, 2], "-"),
            ("W0-1", [1, 4], "-"),
            // The random region has room, the cache has not: the sequential one gives it back.
            ("W60", [2, 2], "flush{10,11}"),
        ] {
            cache.run(requests);
            assert_eq!(
                (cache.scheme.policy().held, cache.said().as_str()),
                (held, said)
            );
        }
    }

    #[test]
    fn a_page_of_the_other_region_stays_and_a_block_can_be_in_both() {
        let mut cache = cache(10, SIZE, "W12 W13-16");
        assert_eq!(cache.state(), "RRSR: r4{12} ; SRSR: s4{16} s3{13,14,15}");
        cache.run("W12-15");
        assert_eq!(cache.scheme.policy().held, [1, 4]);
    }

    #[test]
    fn random_runs_keep_blocks_and_pages_together() {
        for (seed, capacity, migrate) in [(1, 5, false), (2, 11, true), (3, 20, true)] {
            let mut cache = cache(capacity, &format!("migrate={migrate}"), "");
            cache.random(seed, 20_000, STILL, |cache| {
                let s = cache.scheme.policy();
                for region in [RANDOM, SEQUENTIAL] {
                    let blocks = s.regions.from_head(region);
                    let pages: usize = blocks.map(|n| s.pages.len(n as usize)).sum();
                    assert_eq!(pages, s.held[region]);
                    assert!(migrate || pages <= s.share[region]);
                    let mut numbers = order(cache, region);
                    numbers.sort_unstable();
                    assert!(numbers.is_sorted_by(|a, b| a < b), "no block twice");
                }
                for slot in cache.frames.used_slots() {
                    let block = s.of(slot);
                    let pages = BLOCK_PAGES[s.regions.list_of(block)];
                    assert_eq!(s.numbers[block as usize], cache.frames.lpn(slot).0 / pages);
                }
            });
            cache.scheme.policy().regions.validate().unwrap();
        }
    }
}
