//! Blocks, and what is written into them: every block lists its pages, and every question looks at all of them. The map
//! of a device of pages and the pool of `waf` stand on it. (DEVICE_MODEL.md, "When a block is collected")

use std::collections::BTreeMap;
use std::ops::Range;

use destage_device::config::GcPolicy;
use destage_types::rng::SplitMix64;

/// A page of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlowPlace {
    /// Number of the block.
    pub block: usize,
    /// Number of the page in it.
    pub page: usize,
}

/// A block.
#[derive(Clone, Default, Debug)]
pub(super) struct SlowBlock {
    /// Pages programmed since the last erase: data of a logical page, or none.
    pub pages: Vec<Option<u64>>,
    pub erases: u64,
    /// Number of the change that erased it last.
    pub freed: u64,
    /// Number of the change that brought it to its number of valid pages: it became full, or lost one.
    pub counted: u64,
    /// Data pages programmed by then.
    pub age: u64,
    /// 2R: it was filled by collection.
    pub cold: bool,
}

impl SlowBlock {
    const EMPTY: SlowBlock = SlowBlock {
        pages: Vec::new(),
        erases: 0,
        freed: 0,
        counted: 0,
        age: 0,
        cold: false,
    };
}

/// All blocks.
#[derive(Clone, Debug)]
pub(super) struct SlowBlocks {
    /// Pages of a block.
    pub length: usize,
    /// Blocks that were ever written.
    pub written: BTreeMap<usize, SlowBlock>,
    /// Place of each mapped page.
    pub at: BTreeMap<u64, SlowPlace>,
    changes: u64,
    programmed: u64,
    /// For policies that draw.
    rng: SplitMix64,
}

impl SlowBlocks {
    pub fn new(length: usize, seed: u64) -> SlowBlocks {
        SlowBlocks {
            length,
            written: BTreeMap::new(),
            at: BTreeMap::new(),
            changes: 0,
            programmed: 0,
            rng: SplitMix64::new(seed),
        }
    }

    pub fn block(&self, block: usize) -> &SlowBlock {
        static EMPTY: SlowBlock = SlowBlock::EMPTY;
        self.written.get(&block).unwrap_or(&EMPTY)
    }

    pub fn is_full(&self, block: usize) -> bool {
        self.block(block).pages.len() == self.length
    }

    /// Pages of a block that can be written.
    pub fn left(&self, block: usize) -> usize {
        self.length - self.block(block).pages.len()
    }

    /// Logical pages whose data a block holds, with their places, in their order.
    pub fn valid(&self, block: usize) -> Vec<(u64, SlowPlace)> {
        let pages = self.block(block).pages.iter().enumerate();
        let valid = pages.filter_map(|(page, &lpn)| {
            let (lpn, place) = (lpn?, SlowPlace { block, page });
            (self.at.get(&lpn) == Some(&place)).then_some((lpn, place))
        });
        valid.collect()
    }

    fn count(&mut self, block: usize) {
        self.changes += 1;
        let block = self.written.entry(block).or_default();
        (block.counted, block.age) = (self.changes, self.programmed);
    }

    /// The page holds no data any more.
    pub fn lose(&mut self, lpn: u64) {
        let old = self.at.remove(&lpn);
        if let Some(old) = old.filter(|old| self.is_full(old.block)) {
            self.count(old.block);
        }
    }

    /// Programs the data of a page, or of none; the place.
    pub fn put(&mut self, block: usize, lpn: Option<u64>) -> SlowPlace {
        let page = self.block(block).pages.len();
        let place = SlowPlace { block, page };
        if let Some(lpn) = lpn {
            self.at.insert(lpn, place);
            self.programmed += 1;
        }
        self.written.entry(block).or_default().pages.push(lpn);
        if self.is_full(block) {
            self.count(block);
        }
        place
    }

    /// A block is erased; its data were moved before, or are about to be written again.
    pub fn erase(&mut self, block: usize) {
        self.changes += 1;
        let block = self.written.entry(block).or_default();
        block.pages.clear();
        block.erases += 1;
        (block.freed, block.cold) = (self.changes, false);
    }

    /// The candidate that a policy takes: cell and block. Blocks of one cell stand in one list for each number of valid
    /// pages. `data` pages of a block take data, and policies that draw do so among the blocks `all`.
    pub fn choose(
        &mut self,
        (policy, choices): (GcPolicy, u32),
        mut candidates: Vec<(u64, usize)>,
        data: usize,
        all: &[Range<usize>],
    ) -> Option<usize> {
        let with_valid = |&(_, b): &(u64, usize)| (b, self.valid(b).len());
        let valid: BTreeMap<usize, usize> = candidates.iter().map(with_valid).collect();
        let counted = |b: usize| self.block(b).counted;
        candidates.sort_by_key(|&(cell, b)| (valid[&b], cell, counted(b)));
        let fewest = candidates.first()?.1;
        match policy {
            GcPolicy::None => None,
            GcPolicy::Greedy => Some(fewest),
            GcPolicy::Random => self.draw(&valid, all).or(Some(fewest)),
            GcPolicy::DChoices => {
                let drawn = (0..choices).filter_map(|_| self.draw(&valid, all));
                let drawn: Vec<usize> = drawn.collect();
                let best = drawn.into_iter().min_by_key(|b| valid[b]);
                best.or(Some(fewest))
            }
            // The largest age x (1 - u) / 2u, compared as products; of equals the first.
            GcPolicy::CostBenefit if valid[&fewest] == 0 => Some(fewest),
            GcPolicy::CostBenefit => {
                candidates.sort_by_key(|&(cell, b)| (cell, valid[&b], counted(b)));
                let terms = |b: usize| {
                    let age = u128::from(self.programmed - self.block(b).age);
                    (age * (data - valid[&b]) as u128, valid[&b] as u128)
                };
                let better = |best: usize, (_, b): (u64, usize)| {
                    let ((gain, cost), (most, least)) = (terms(b), terms(best));
                    if gain * least > most * cost { b } else { best }
                };
                let first = candidates[0].1;
                Some(candidates.into_iter().fold(first, better))
            }
        }
    }

    /// Any block, again while it is no candidate, 64 times.
    fn draw(&mut self, candidates: &BTreeMap<usize, usize>, all: &[Range<usize>]) -> Option<usize> {
        let count: usize = all.iter().map(Range::len).sum();
        let mut blocks = (0..64).filter_map(|_| {
            let n = self.rng.below(count as u64) as usize;
            all.iter().cloned().flatten().nth(n)
        });
        blocks.find(|block| candidates.contains_key(block))
    }
}
