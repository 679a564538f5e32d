//! Blocks by their number of pages, and of those with equally many the one with the largest update
//! distance.
//!
//! The distance of a block grows by 1 / writes with every page write, so of two blocks the one with fewer
//! writes overtakes the other one at a time that is known. The blocks of one number of pages are leaves of
//! a tree; each cell above has the better one of the two below it and knows until when that is so. A cell
//! is looked at again only when that time is over or something below it has changed: O(log^2) per change,
//! amortised.

use super::Updates;
use crate::lists::{ListArray, Lists};

/// A block; one without pages is not there.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct UpdatedBlock {
    pub updates: Updates,
    /// When it came to the head of the LRU order; of equal distances the earlier one is better.
    pub touched: u64,
    pub pages: u32,
}

impl UpdatedBlock {
    /// Is the distance larger than that of `other` after `now` page writes?
    fn beats(&self, other: &UpdatedBlock, now: u64) -> bool {
        let side = |a: Updates, b: Updates| u128::from(now - a.first) * u128::from(b.divisor());
        let own = side(self.updates, other.updates);
        let its = side(other.updates, self.updates);
        own > its || own == its && self.touched < other.touched
    }

    /// After how many page writes `other` beats this one, which beats it now.
    fn until(&self, other: &UpdatedBlock) -> u64 {
        let (own, its) = (self.updates, other.updates);
        let Some(faster @ 1..) = own.divisor().checked_sub(its.divisor()) else {
            return u64::MAX;
        };
        let product = |first: u64, divisor: u64| u128::from(first) * u128::from(divisor);
        let (ahead, faster) = (
            product(its.first, own.divisor()) - product(own.first, its.divisor()),
            u128::from(faster),
        );
        let until = match other.touched < self.touched {
            true => ahead.div_ceil(faster),
            false => ahead / faster + 1,
        };
        until.min(u128::from(u64::MAX)) as u64
    }
}

/// No block.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Cell {
    best: u32,
    /// The first number of page writes at which it may be another one.
    until: u64,
}

const EMPTY: Cell = Cell {
    best: NONE,
    until: u64::MAX,
};

/// The better one of two blocks, and until when it is that.
fn better(blocks: &[UpdatedBlock], a: u32, b: u32, now: u64) -> Cell {
    let (best, other) = match (a, b) {
        (NONE, best) | (best, NONE) => {
            return Cell { best, ..EMPTY };
        }
        _ if blocks[a as usize].beats(&blocks[b as usize], now) => (a, b),
        _ => (b, a),
    };
    let until = blocks[best as usize].until(&blocks[other as usize]);
    Cell { best, until }
}

/// The blocks with one number of pages.
#[derive(Clone, Default, Debug)]
struct Contest {
    /// Below cell `i` are cells `2i` and `2i + 1`; the upper half are leaves.
    cells: Vec<Cell>,
    /// Leaves in use, the first ones.
    used: usize,
}

impl Contest {
    fn leaves(&self) -> usize {
        self.cells.len() / 2
    }

    fn play(&mut self, at: usize, blocks: &[UpdatedBlock], now: u64) {
        let (a, b) = (self.cells[2 * at], self.cells[2 * at + 1]);
        let cell = better(blocks, a.best, b.best, now);
        self.cells[at] = Cell {
            until: cell.until.min(a.until).min(b.until),
            ..cell
        };
    }

    /// Puts a block, or none, into a leaf.
    fn set(&mut self, leaf: usize, best: u32, blocks: &[UpdatedBlock], now: u64) {
        let mut at = self.leaves() + leaf;
        self.cells[at] = Cell { best, ..EMPTY };
        while at > 1 {
            at /= 2;
            self.play(at, blocks, now);
        }
    }

    /// Adds a block; its leaf.
    fn push(&mut self, node: u32, blocks: &[UpdatedBlock], now: u64) -> usize {
        if self.used == self.leaves() {
            self.grow(blocks, now);
        }
        self.used += 1;
        self.set(self.used - 1, node, blocks, now);
        self.used - 1
    }

    #[cold]
    fn grow(&mut self, blocks: &[UpdatedBlock], now: u64) {
        let leaves = self.leaves();
        let more = (2 * leaves).max(1);
        let old = self.cells.split_off(leaves);
        self.cells.clear();
        self.cells.resize(2 * more, EMPTY);
        self.cells[more..more + leaves].copy_from_slice(&old);
        for at in (1..more).rev() {
            self.play(at, blocks, now);
        }
    }

    /// Empties a leaf; the block of the last one takes its place and is given.
    fn take(&mut self, leaf: usize, blocks: &[UpdatedBlock], now: u64) -> Option<u32> {
        self.used -= 1;
        let moved = self.cells[self.leaves() + self.used].best;
        self.set(self.used, NONE, blocks, now);
        if leaf == self.used {
            return None;
        }
        self.set(leaf, moved, blocks, now);
        Some(moved)
    }

    /// The block with the largest distance; cells whose time is over stay as they are.
    fn latest(&self, at: usize, blocks: &[UpdatedBlock], now: u64) -> u32 {
        if self.cells[at].until > now {
            return self.cells[at].best;
        }
        let [a, b] = [2 * at, 2 * at + 1].map(|below| self.latest(below, blocks, now));
        better(blocks, a, b, now).best
    }

    /// Brings cells whose time is over up to date.
    fn settle(&mut self, at: usize, blocks: &[UpdatedBlock], now: u64) {
        if self.cells[at].until <= now {
            self.settle(2 * at, blocks, now);
            self.settle(2 * at + 1, blocks, now);
            self.play(at, blocks, now);
        }
    }
}

/// All blocks by their number of pages.
#[derive(Clone, Debug)]
pub(super) struct ByPages {
    blocks: Vec<UpdatedBlock>,
    /// The leaf of each block.
    leaf: Vec<usize>,
    /// By number of pages.
    contests: Vec<Contest>,
    /// The numbers of pages that blocks have, the largest at the head.
    sizes: ListArray<1>,
}

/// The one list of sizes.
const SIZES: usize = 0;
/// The top of a contest.
const TOP: usize = 1;

impl ByPages {
    /// No block yet; they are below `nodes`.
    pub fn new(nodes: usize) -> ByPages {
        ByPages {
            blocks: vec![UpdatedBlock::default(); nodes],
            leaf: vec![0; nodes],
            contests: Vec::new(),
            sizes: Lists::array(0),
        }
    }

    /// The block at `node`.
    pub fn get(&self, node: u32) -> UpdatedBlock {
        self.blocks[node as usize]
    }

    /// The block at `node` is as `new` says from now on. It has at most one page more or less than before.
    pub fn set(&mut self, node: u32, new: UpdatedBlock, now: u64) {
        let old = std::mem::replace(&mut self.blocks[node as usize], new);
        if old.pages == new.pages {
            if new.pages > 0 {
                let leaf = self.leaf[node as usize];
                self.contests[new.pages as usize].set(leaf, node, &self.blocks, now);
            }
            return;
        }
        let leaf = (new.pages > 0).then(|| self.enter(node, old.pages, now));
        if old.pages > 0 {
            self.leave(node, old.pages, now);
        }
        self.leaf[node as usize] = leaf.unwrap_or(0);
    }

    /// A block that had `old` pages joins those with as many as it has now; its leaf there.
    fn enter(&mut self, node: u32, old: u32, now: u64) -> usize {
        let pages = self.blocks[node as usize].pages;
        debug_assert_eq!(old.abs_diff(pages), 1, "one page at a time");
        if pages as usize >= self.contests.len() {
            self.contests
                .resize_with(pages as usize + 1, Contest::default);
            self.sizes.reserve(pages as usize + 1);
        }
        let contest = &mut self.contests[pages as usize];
        if contest.used == 0 {
            match old {
                0 => self.sizes.push_tail(SIZES, pages),
                _ if pages > old => self.sizes.insert_newer(pages, old),
                _ => self.sizes.insert_older(pages, old),
            }
        }
        contest.push(node, &self.blocks, now)
    }

    /// A block that had `old` pages leaves the others that have as many.
    fn leave(&mut self, node: u32, old: u32, now: u64) {
        let (contest, leaf) = (&mut self.contests[old as usize], self.leaf[node as usize]);
        if let Some(moved) = contest.take(leaf, &self.blocks, now) {
            self.leaf[moved as usize] = leaf;
        }
        if contest.used == 0 {
            self.sizes.unlink(old);
        }
    }

    /// Of each number of pages, the largest first, the block with the largest distance.
    pub fn latest(&self, now: u64) -> impl Iterator<Item = u32> + '_ {
        let sizes = self.sizes.from_head(SIZES);
        sizes.map(move |pages| self.contests[pages as usize].latest(TOP, &self.blocks, now))
    }

    /// Brings what `latest` looks at up to date, down to blocks of so many pages.
    pub fn settle(&mut self, pages: u32, now: u64) {
        let mut size = self.sizes.head(SIZES);
        while let Some(at) = size.filter(|&size| size >= pages) {
            self.contests[at as usize].settle(TOP, &self.blocks, now);
            size = self.sizes.older(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    #[test]
    fn the_time_at_which_a_block_is_overtaken_is_exact() {
        let mut rng = SplitMix64::new(6);
        let mut draw = |n: u64| rng.next_u64() % n;
        for _ in 0..5000 {
            let mut block = || UpdatedBlock {
                updates: Updates {
                    first: draw(40),
                    writes: draw(9),
                },
                touched: draw(1000),
                pages: 1,
            };
            let (a, b) = (block(), block());
            let now = 40 + draw(40);
            if a.touched == b.touched {
                continue;
            }
            assert_ne!(a.beats(&b, now), b.beats(&a, now));
            if a.beats(&b, now) {
                let until = a.until(&b);
                let overtaken = (now..400).find(|&later| b.beats(&a, later));
                assert_eq!(
                    overtaken,
                    Some(until).filter(|&until| until < 400),
                    "{a:?} {b:?}"
                );
            }
        }
    }

    #[test]
    fn the_latest_agree_with_a_search() {
        let mut rng = SplitMix64::new(8);
        let mut by_pages = ByPages::new(30);
        let mut now = 0;
        for touched in 0..30_000 {
            let x = rng.next_u64();
            now += x % 2;
            let node = (x >> 8) as u32 % 30;
            let mut block = by_pages.get(node);
            block.touched = touched;
            match (x >> 20) % 4 {
                0 if block.pages > 0 => block.pages -= 1,
                1 | 2 if block.pages < 9 => block.pages += 1,
                _ => {}
            }
            match block.pages {
                0 => block = UpdatedBlock::default(),
                1 if by_pages.get(node).pages == 0 => block.updates.first = now,
                _ => block.updates.writes += x >> 40 & 1,
            }
            by_pages.set(node, block, now);
            let mut latest: Vec<u32> = by_pages.latest(now).collect();
            for pages in (1..10).rev() {
                let all = (0..30).filter(|&n| by_pages.get(n).pages == pages);
                let best = all.reduce(|a, b| match by_pages.get(a).beats(&by_pages.get(b), now) {
                    true => a,
                    false => b,
                });
                if let Some(best) = best {
                    assert_eq!(latest.remove(0), best);
                }
            }
            assert!(latest.is_empty());
            if x >> 60 == 0 {
                by_pages.settle(3, now);
            }
        }
    }
}
