//! Greedy: the fewest valid pages, so the least to copy and the most to gain.

use super::{Candidates, Policy, Settings};

/// The block with the fewest valid pages. Ties: the first cell of the unit; there the block that
/// has had its count for longest. O(1) per cell.
#[derive(Clone, Debug)]
pub(in crate::ftl) struct Greedy;

impl Greedy {
    pub fn new(_settings: &Settings) -> Greedy {
        Greedy
    }
}

impl Policy for Greedy {
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<u32> {
        candidates.greedy()
    }
}
