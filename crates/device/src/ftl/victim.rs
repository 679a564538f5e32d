//! Which block garbage collection empties: one function per policy of [`GcPolicy`].
//!
//! A policy sees the full blocks of one unit that are worth collecting: those with fewer valid
//! pages than data pages. Others gain nothing. It is asked for one block at a time and keeps no
//! clock.

use super::block_table::BlockTable;
use super::buckets::Buckets;
use super::first_touch::FirstTouch;
use crate::config::GcPolicy;
use destage_types::rng::SplitMix64;

/// Draws of one block before a random policy gives up and the greedy choice is taken.
const DRAWS: u32 = 64;

/// A policy at work.
#[derive(Clone, Debug)]
pub(crate) struct VictimChooser {
    policy: GcPolicy,
    rng: SplitMix64,
    choices: u32,
}

impl VictimChooser {
    /// Random policies draw from `seed`, and `choices` blocks at a time where they do so.
    pub fn new(policy: GcPolicy, seed: u64, choices: u32) -> VictimChooser {
        VictimChooser {
            policy,
            rng: SplitMix64::new(seed),
            choices,
        }
    }

    /// Does the policy draw blocks at random?
    pub fn draws(&self) -> bool {
        matches!(self.policy, GcPolicy::DChoices | GcPolicy::Random)
    }

    /// A block of `candidates`, `None` if there is none (or the policy never collects).
    pub fn choose(&mut self, candidates: &Candidates<'_>) -> Option<u32> {
        match self.policy {
            GcPolicy::None => None,
            GcPolicy::Greedy => candidates.greedy(),
            GcPolicy::CostBenefit => candidates.cost_benefit(),
            GcPolicy::DChoices => candidates.d_choices(&mut self.rng, self.choices),
            GcPolicy::Random => candidates.random(&mut self.rng),
        }
    }
}

/// The blocks of one unit.
pub(crate) struct Candidates<'a> {
    pub blocks: &'a BlockTable,
    /// With lists for all `cells`.
    pub buckets: &'a Buckets,
    /// When every full block came to its valid count, in pages programmed by then.
    pub stamps: Option<&'a FirstTouch<u64, 256>>,
    /// Pages programmed so far.
    pub programmed: u64,
    /// Cells of the unit, ascending.
    pub cells: &'a [u32],
    /// Planes of the unit, ascending.
    pub planes: &'a [u32],
    pub blocks_per_plane: u32,
    /// Data pages of a block.
    pub data: u32,
}

impl Candidates<'_> {
    /// Greedy: the block with the fewest valid pages, so the least to copy and the most to gain; of
    /// equals the one of the first cell, there the one that has had that count for longest. O(1) per
    /// cell.
    fn greedy(&self) -> Option<u32> {
        let lowest = |&cell: &u32| Some((self.buckets.lowest(cell)?, cell));
        let cells = self.cells.iter().filter_map(lowest);
        let (valid, cell) = cells.min_by_key(|&(valid, _)| valid)?;
        let block = self.buckets.first(cell, valid);
        block.filter(|_| valid < self.data)
    }

    /// Cost-benefit (Kawaguchi, Nishioka, Motoda, USENIX 1995): the block with the largest
    /// age x (1 - u) / 2u, where u is the share of valid data pages and the age counts the pages
    /// programmed since the block came to its valid count. A block without valid pages beats all
    /// others. Ties: the first cell, then the fewest valid pages. Of equal counts only the oldest
    /// block can win, so one block per count is compared: O(pages of a block) per cell.
    fn cost_benefit(&self) -> Option<u32> {
        let data = u128::from(self.data);
        let mut best: Option<(u128, u128, u32)> = None;
        for (block, valid) in self.oldest() {
            if valid == 0 {
                return Some(block);
            }
            let valid = u128::from(valid);
            let benefit = u128::from(self.age(block)) * (data - valid);
            if best.is_none_or(|(b, v, _)| benefit * v > b * valid) {
                best = Some((benefit, valid, block));
            }
        }
        best.map(|(_, _, block)| block)
    }

    /// d-choices (Van Houdt, SIGMETRICS 2013): the block with the fewest valid pages of `choices`
    /// blocks drawn with replacement; ties: the one drawn first. If no draw finds a block, the
    /// greedy choice.
    fn d_choices(&self, rng: &mut SplitMix64, choices: u32) -> Option<u32> {
        if !self.exist() {
            return None;
        }
        let drawn = (0..choices).filter_map(|_| self.draw(rng));
        let best = drawn.min_by_key(|&block| self.blocks.valid(block));
        best.or_else(|| self.greedy())
    }

    /// Every block that is worth collecting with the same probability; if no draw finds one, the
    /// greedy choice.
    fn random(&self, rng: &mut SplitMix64) -> Option<u32> {
        if !self.exist() {
            return None;
        }
        self.draw(rng).or_else(|| self.greedy())
    }

    /// Is any block worth collecting?
    fn exist(&self) -> bool {
        let mut lowest = self.cells.iter().filter_map(|&c| self.buckets.lowest(c));
        lowest.any(|valid| valid < self.data)
    }

    /// Per cell and valid count the block that has had the count for longest: (block, valid).
    fn oldest(&self) -> impl Iterator<Item = (u32, u32)> {
        self.cells.iter().flat_map(move |&cell| {
            let lowest = self.buckets.lowest(cell).unwrap_or(self.data);
            let each = move |valid| Some((self.buckets.first(cell, valid)?, valid));
            (lowest..self.data).filter_map(each)
        })
    }

    /// Pages programmed since the block came to its valid count.
    fn age(&self, block: u32) -> u64 {
        self.programmed - self.stamps.map_or(0, |s| s.get(u64::from(block)))
    }

    /// A block drawn uniformly from all blocks of the unit, again while it is not worth
    /// collecting, 64 times at most.
    fn draw(&self, rng: &mut SplitMix64) -> Option<u32> {
        let all = self.planes.len() as u64 * u64::from(self.blocks_per_plane);
        (0..DRAWS).find_map(|_| {
            let n = rng.below(all);
            let plane = self.planes[(n / u64::from(self.blocks_per_plane)) as usize];
            let within = (n % u64::from(self.blocks_per_plane)) as u32;
            let block = plane * self.blocks_per_plane + within;
            self.is_candidate(block).then_some(block)
        })
    }

    fn is_candidate(&self, block: u32) -> bool {
        let row = self.blocks.get(block);
        row.is_listed() && self.blocks.is_full(block) && self.blocks.valid(block) < self.data
    }
}
