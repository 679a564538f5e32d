//! Cost-benefit (Kawaguchi, Nishioka, Motoda, USENIX 1995): age x (1 - u) / 2u.

use super::{Candidates, Policy, Settings};

/// The block with the largest age x (1 - u) / 2u, where u is the share of valid data pages and the
/// age counts the pages programmed since the block came to its valid count. A block without valid
/// pages beats all others. Ties: the first cell, then the fewest valid pages. Of equal counts only
/// the oldest block can win, so one block per count is compared: O(pages of a block) per cell.
#[derive(Clone, Debug)]
pub(in crate::ftl) struct CostBenefit;

impl CostBenefit {
    pub fn new(_settings: &Settings) -> CostBenefit {
        CostBenefit
    }
}

impl Policy for CostBenefit {
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<u32> {
        let data = u128::from(candidates.data);
        let mut best: Option<(u128, u128, u32)> = None;
        for (block, valid) in candidates.oldest() {
            if valid == 0 {
                return Some(block);
            }
            let valid = u128::from(valid);
            let benefit = u128::from(candidates.age(block)) * (data - valid);
            if best.is_none_or(|(b, v, _)| benefit * v > b * valid) {
                best = Some((benefit, valid, block));
            }
        }
        best.map(|(_, _, block)| block)
    }
}
