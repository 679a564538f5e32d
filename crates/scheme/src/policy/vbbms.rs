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
//! - The group for background work is the tail of the random region if that region is full or
//!   neither is, else of the sequential one; of the other region if that one is empty.

use crate::list::ListArena;
use crate::registry::Build;
use crate::{Access, Env, Expr, Request, Scheme, Unit, View, Why};
use destage_types::{Lpn, Op, Slot};

/// Bytes of a virtual block node (Req-block section 4.2.5).
pub(crate) const BLOCK_NODE_BYTES: u64 = 24;

/// The region for random requests (RRSR).
const RANDOM: usize = 0;
/// The region for sequential requests (SRSR).
const SEQUENTIAL: usize = 1;
/// Pages of a virtual block of each region.
const BLOCK_PAGES: [u64; 2] = [3, 4];

/// Which writes are sequential (VB-1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Classify {
    /// Large ones.
    #[default]
    Size,
    /// Those that begin where the previous write ended.
    Contiguous,
    /// Both.
    Either,
}

/// Parameters of [`Vbbms`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VbbmsParams {
    /// Pages from which a write is large.
    pub seq_min_pages: u64,
    /// VB-1.
    pub classify: Classify,
    /// Does a write of the other class move a page it hits?
    pub migrate: bool,
}

impl VbbmsParams {
    /// As the layer `expr` says.
    pub fn from_expr(expr: &Expr) -> VbbmsParams {
        VbbmsParams {
            seq_min_pages: expr.uint("seq-min-pages"),
            classify: match expr.word("classify") {
                "contiguous" => Classify::Contiguous,
                "either" => Classify::Either,
                _ => Classify::Size,
            },
            migrate: expr.flag("migrate"),
        }
    }
}

/// A virtual block with at least one cached page.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    number: u64,
    region: usize,
}

/// Virtual-block buffer management.
#[derive(Clone, Debug)]
pub struct Vbbms {
    params: VbbmsParams,
    blocks: Vec<Block>,
    free: Vec<u32>,
    /// Virtual blocks of each region.
    regions: ListArena,
    /// Pages of each virtual block by slot; list number = node of the block.
    pages: ListArena,
    /// Virtual block of each slot.
    of: Vec<u32>,
    /// Pages in each region, and its frames.
    held: [usize; 2],
    share: [usize; 2],
    /// Region of the write being served.
    class: usize,
    /// Page behind the last one of the previous write.
    expected: Option<Lpn>,
    migrations: u64,
}

impl Vbbms {
    /// For a cache of `capacity` pages, at least 5.
    pub fn new(params: VbbmsParams, capacity: usize) -> Vbbms {
        let random = capacity * 3 / 5;
        Vbbms {
            params,
            blocks: vec![Block::default(); capacity],
            free: (0..capacity as u32).rev().collect(),
            regions: ListArena::new(capacity, 2),
            pages: ListArena::new(capacity, capacity),
            of: vec![0; capacity],
            held: [0; 2],
            share: [random, capacity - random],
            class: RANDOM,
            expected: None,
            migrations: 0,
        }
    }

    /// The virtual block of `region` that holds page `lpn`, found through its other pages.
    #[inline]
    fn find(&self, region: usize, lpn: Lpn, v: &View) -> Option<u32> {
        let first = lpn.0 - lpn.0 % BLOCK_PAGES[region];
        let others = (first..first + BLOCK_PAGES[region]).filter(|&l| l != lpn.0);
        let slots = others.filter_map(|l| v.slot_of(Lpn(l)));
        let mut nodes = slots.map(|slot| self.of[slot.index()]);
        nodes.find(|&node| self.blocks[node as usize].region == region)
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
            None => {
                let node = self.free.pop().expect("a virtual block has a cached page");
                let number = lpn.0 / BLOCK_PAGES[region];
                self.blocks[node as usize] = Block { number, region };
                self.regions.push_head(region, node);
                node
            }
        };
        self.of[slot.index()] = node;
        self.pages.push_head(node as usize, slot.0);
        self.held[region] += 1;
    }

    /// The page leaves its virtual block, which goes when it is empty.
    #[inline]
    fn leave(&mut self, slot: Slot) {
        let node = self.of[slot.index()];
        let region = self.blocks[node as usize].region;
        self.pages.unlink(node as usize, slot.0);
        self.held[region] -= 1;
        if self.pages.is_empty(node as usize) {
            self.regions.unlink(region, node);
            self.free.push(node);
        }
    }

    #[inline]
    fn is_full(&self, region: usize) -> bool {
        self.held[region] >= self.share[region]
    }

    fn collect(&self, node: u32, out: &mut Unit) {
        out.id = self.blocks[node as usize].number;
        out.slots
            .extend(self.pages.from_tail(node as usize).map(Slot));
    }
}

impl Build for Vbbms {
    fn build(expr: &Expr, env: &Env) -> Vbbms {
        Vbbms::new(VbbmsParams::from_expr(expr), env.slots as usize)
    }
}

impl Scheme for Vbbms {
    /// The page keeps its region (D11).
    fn rename(&mut self, _from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) -> bool {
        let Some(slot) = slot else { return false };
        let Block { number, region } = self.blocks[self.of[slot.index()] as usize];
        if number != to.0 / BLOCK_PAGES[region] {
            self.leave(slot);
            self.join(slot, to, region, false, v);
        }
        true
    }

    fn request(&mut self, r: &Request, v: &View) {
        if r.op != Op::Write {
            return;
        }
        let page = v.frames.page();
        let [Some(first), Some(last)] = [r.extents.first(), r.extents.last()] else {
            return;
        };
        let large = u64::from(r.pages) >= self.params.seq_min_pages;
        let follows = self.expected == Some(page.page_of(first.start_sector));
        let sequential = match self.params.classify {
            Classify::Size => large,
            Classify::Contiguous => follows,
            Classify::Either => large || follows,
        };
        self.class = if sequential { SEQUENTIAL } else { RANDOM };
        self.expected = Some(Lpn(page.page_of(last.end() - 1).0 + 1));
    }

    /// The region of the request is full, or with `migrate` the other one took its frames.
    #[inline]
    fn full(&self, _a: &Access, v: &View) -> bool {
        self.is_full(self.class) || v.frames.used() >= v.frames.capacity()
    }

    #[inline]
    fn insert(&mut self, slot: Slot, a: &Access, v: &View) {
        debug_assert!(a.op == Op::Write, "a write buffer holds written pages only");
        self.join(slot, a.lpn, self.class, true, v);
    }

    #[inline]
    fn touch(&mut self, slot: Slot, a: &Access, v: &View) {
        let node = self.of[slot.index()];
        let region = self.blocks[node as usize].region;
        if self.params.migrate && a.op == Op::Write && region != self.class {
            self.migrations += 1;
            self.leave(slot);
            self.join(slot, a.lpn, self.class, true, v);
        } else if region == RANDOM {
            self.regions.move_to_head(RANDOM, node);
        }
    }

    #[inline]
    fn remove(&mut self, slot: Slot, _why: Why, _v: &View) {
        self.leave(slot);
    }

    #[inline]
    fn size(&self) -> usize {
        self.held[RANDOM] + self.held[SEQUENTIAL]
    }

    fn victim(&mut self, _a: &Access, _v: &View, out: &mut Unit) {
        let region = match self.is_full(self.class) {
            true => self.class,
            false => 1 - self.class,
        };
        if let Some(node) = self.regions.tail(region) {
            self.collect(node, out);
        }
    }

    /// Virtual blocks leave whole: there is no order of single pages.
    fn candidates(&self, _v: &View, _f: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        None
    }

    fn next_group(&self, _v: &View, out: &mut Unit) {
        let sequential = self.is_full(SEQUENTIAL) && !self.is_full(RANDOM);
        let first = usize::from(sequential);
        let tail = self.regions.tail(first);
        if let Some(node) = tail.or_else(|| self.regions.tail(1 - first)) {
            self.collect(node, out);
        }
    }

    fn meta_bytes(&self) -> u64 {
        let blocks = self.regions.len(RANDOM) + self.regions.len(SEQUENTIAL);
        blocks as u64 * BLOCK_NODE_BYTES
    }

    fn stats(&self, f: &mut dyn FnMut(&'static str, u64)) {
        f("random_pages", self.held[RANDOM] as u64);
        f("sequential_pages", self.held[SEQUENTIAL] as u64);
        f("migrations", self.migrations);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        for (region, name, letter) in [(RANDOM, "RRSR: ", 'r'), (SEQUENTIAL, " ; SRSR: ", 's')] {
            let blocks = self.regions.from_head(region).map(|node| {
                let pages = self.pages.from_tail(node as usize).map(Slot);
                let pages = crate::state::sorted(v, pages, false);
                format!("{letter}{}{{{pages}}}", self.blocks[node as usize].number)
            });
            out.push_str(name);
            out.push_str(&crate::state::joined_or_dash(blocks));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mini::Mini;
    use crate::rng::SplitMix64;

    const SIZE: VbbmsParams = VbbmsParams {
        seq_min_pages: 4,
        classify: Classify::Size,
        migrate: false,
    };

    fn cache(capacity: u32, params: VbbmsParams) -> Mini<Vbbms> {
        Mini::new(capacity, false, Vbbms::new(params, capacity as usize))
    }

    /// Virtual blocks of a region, newest first.
    fn order(m: &Mini<Vbbms>, region: usize) -> Vec<u64> {
        let blocks = m.scheme.regions.from_head(region);
        blocks.map(|n| m.scheme.blocks[n as usize].number).collect()
    }

    #[test]
    fn the_worked_example() {
        let mut m = cache(10, SIZE);
        for (first, last) in [(0, 1), (2, 2), (7, 7), (20, 23), (0, 0), (9, 9)] {
            m.write(first, last, 0);
        }
        assert_eq!(
            (order(&m, RANDOM), order(&m, SEQUENTIAL)),
            (vec![3, 0, 2], vec![5])
        );
        m.write(24, 25, 0);
        assert_eq!(m.said(), "flush{7}");
        m.write(40, 43, 0);
        assert_eq!(m.said(), "flush{20,21,22,23}");
        assert_eq!(m.write(41, 41, 0), "H");
        m.write(22, 22, 0);
        assert_eq!(m.said(), "flush{0,1,2}");
        assert_eq!(
            (order(&m, RANDOM), order(&m, SEQUENTIAL)),
            (vec![7, 8, 3], vec![10])
        );
        assert_eq!(m.scheme.meta_bytes(), 4 * 24);
    }

    #[test]
    fn vb_1_a_write_that_goes_on_where_the_last_one_ended() {
        for (classify, first, second) in [
            (Classify::Size, RANDOM, RANDOM),
            (Classify::Contiguous, RANDOM, SEQUENTIAL),
            (Classify::Either, RANDOM, SEQUENTIAL),
        ] {
            let mut m = cache(10, VbbmsParams { classify, ..SIZE });
            m.write(5, 6, 0);
            assert_eq!(m.scheme.class, first);
            m.read(0, 0, 0);
            m.write(7, 7, 0);
            assert_eq!(m.scheme.class, second);
            m.write(20, 23, 0);
            let large = classify != Classify::Contiguous;
            assert_eq!(m.scheme.class == SEQUENTIAL, large);
        }
    }

    #[test]
    fn a_migrating_page_may_overfill_its_new_region() {
        let mut m = cache(
            5,
            VbbmsParams {
                migrate: true,
                seq_min_pages: 2,
                ..SIZE
            },
        );
        m.write(30, 30, 0);
        m.write(10, 11, 0);
        m.write(0, 0, 0);
        m.write(1, 1, 0);
        assert_eq!(m.scheme.held, [3, 2]);
        assert_eq!(m.write(0, 1, 0), "HH");
        assert_eq!((m.scheme.held, m.said().as_str()), ([1, 4], "-"));
        // The random region has room, the cache has not: the sequential one gives it back.
        m.write(60, 60, 0);
        assert_eq!(m.said(), "flush{10,11}");
        assert_eq!(m.scheme.held, [2, 2]);
    }

    #[test]
    fn a_page_of_the_other_region_stays_and_a_block_can_be_in_both() {
        let mut m = cache(10, SIZE);
        m.write(12, 12, 0);
        m.write(13, 16, 0);
        assert_eq!(
            (order(&m, RANDOM), order(&m, SEQUENTIAL)),
            (vec![4], vec![4, 3])
        );
        m.write(12, 15, 0);
        assert_eq!(m.scheme.held, [1, 4]);
    }

    #[test]
    fn random_runs_keep_blocks_and_pages_together() {
        for (seed, capacity, migrate) in [(1, 5, false), (2, 11, true), (3, 20, true)] {
            let mut rng = SplitMix64::new(seed);
            let mut m = cache(capacity, VbbmsParams { migrate, ..SIZE });
            for now in 0..20_000 {
                let first = rng.next_u64() % 60;
                let last = first + rng.next_u64() % 6;
                match rng.next_u64() % 16 {
                    0 => m.trim(first, last),
                    1 => m.flush(),
                    2..6 => drop(m.read(first, last, now)),
                    _ => drop(m.write(first, last, now)),
                }
                let s = &m.scheme;
                for region in [RANDOM, SEQUENTIAL] {
                    let blocks = s.regions.from_head(region);
                    let pages: usize = blocks.map(|n| s.pages.len(n as usize)).sum();
                    assert_eq!(pages, s.held[region]);
                    assert!(migrate || pages <= s.share[region]);
                    let mut numbers = order(&m, region);
                    numbers.sort_unstable();
                    assert!(numbers.windows(2).all(|w| w[0] != w[1]), "no block twice");
                }
                for slot in m.frames.used_slots() {
                    let block = &s.blocks[s.of[slot.index()] as usize];
                    let pages = BLOCK_PAGES[block.region];
                    assert_eq!(block.number, m.frames.lpn(slot).0 / pages);
                }
            }
            m.scheme.regions.validate().unwrap();
        }
    }
}
