//! Which block garbage collection empties: one function per policy of [`GcPolicy`].
//!
//! A policy sees the full blocks of one unit that are worth collecting: those with fewer valid
//! pages than data pages. Others gain nothing. It is asked for one block at a time and keeps no
//! clock.

use super::FlashBlocks;
use crate::config::GcPolicy;
use crate::map::groups::UnitMembers;
use destage_types::rng::SplitMix64;

/// Draws of one block before a random policy gives up and the greedy choice is taken.
const DRAWS: u32 = 64;

/// A policy at work.
#[derive(Clone, Debug)]
pub(super) struct VictimChooser {
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
pub(super) struct Candidates<'a> {
    pub blocks: &'a FlashBlocks,
    /// Groups of the unit.
    pub groups: UnitMembers,
    /// Cells of the unit.
    pub cells: UnitMembers,
}

impl Candidates<'_> {
    /// Greedy: the block with the fewest valid pages, so the least to copy and the most to gain; of
    /// equals the one of the first cell, there the one that has had that count for longest. O(1) per
    /// cell.
    fn greedy(&self) -> Option<u32> {
        let lists = &self.blocks.lists;
        let lowest = |cell| Some((lists.lowest(cell)?, cell));
        let cells = self.cells.iter().filter_map(lowest);
        let (valid, cell) = cells.min_by_key(|&(valid, _)| valid)?;
        let block = lists.first(cell, valid);
        block.filter(|_| valid < self.blocks.data)
    }

    /// Cost-benefit (Kawaguchi, Nishioka, Motoda, USENIX 1995): the block with the largest
    /// age x (1 - u) / 2u, where u is the share of valid data pages and the age counts the pages
    /// programmed since the block came to its valid count. A block without valid pages beats all
    /// others. Ties: the first cell, then the fewest valid pages. Of equal counts only the oldest
    /// block can win, so one block per count is compared: O(pages of a block) per cell.
    fn cost_benefit(&self) -> Option<u32> {
        let data = u128::from(self.blocks.data);
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
        let best = drawn.min_by_key(|&block| self.blocks.row(block).valid());
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
        let mut lowest = self
            .cells
            .iter()
            .filter_map(|c| self.blocks.lists.lowest(c));
        lowest.any(|valid| valid < self.blocks.data)
    }

    /// Per cell and valid count the block that has had the count for longest: (block, valid).
    fn oldest(&self) -> impl Iterator<Item = (u32, u32)> {
        let (lists, data) = (&self.blocks.lists, self.blocks.data);
        self.cells.iter().flat_map(move |cell| {
            let lowest = lists.lowest(cell).unwrap_or(data);
            let each = move |valid| Some((lists.first(cell, valid)?, valid));
            (lowest..data).filter_map(each)
        })
    }

    /// Pages programmed since the block came to its valid count.
    fn age(&self, block: u32) -> u64 {
        let stamps = self.blocks.stamps.as_ref();
        self.blocks.programmed - stamps.map_or(0, |s| s.get(u64::from(block)))
    }

    /// A block drawn uniformly from all blocks of the unit, again while it is not worth
    /// collecting, 64 times at most.
    fn draw(&self, rng: &mut SplitMix64) -> Option<u32> {
        let each = u64::from(self.blocks.shape.blocks);
        let all = u64::from(self.groups.count()) * each;
        (0..DRAWS).find_map(|_| {
            let n = rng.below(all);
            let group = self.groups.at((n / each) as u32);
            let block = self.blocks.shape.number(group, (n % each) as u32);
            self.is_candidate(block).then_some(block)
        })
    }

    fn is_candidate(&self, block: u32) -> bool {
        let row = self.blocks.row(block);
        row.is_listed() && row.valid() < self.blocks.data
    }
}
