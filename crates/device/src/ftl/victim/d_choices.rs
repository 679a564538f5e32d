//! d-choices (Van Houdt, SIGMETRICS 2013): the greedy choice among d random blocks.

use super::{Candidates, Policy, Settings};
use destage_types::rng::SplitMix64;

/// The block with the fewest valid pages of `gc_choices` blocks drawn with replacement; ties: the
/// one drawn first. If no draw finds a block, the greedy choice.
#[derive(Clone, Debug)]
pub(in crate::ftl) struct DChoices {
    rng: SplitMix64,
    choices: u32,
}

impl DChoices {
    pub fn new(settings: &Settings) -> DChoices {
        DChoices {
            rng: SplitMix64::new(settings.seed),
            choices: settings.choices,
        }
    }
}

impl Policy for DChoices {
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<u32> {
        if !candidates.exist() {
            return None;
        }
        let rng = &mut self.rng;
        let drawn = (0..self.choices).filter_map(|_| candidates.draw(rng));
        let best = drawn.min_by_key(|&block| candidates.blocks.valid(block));
        best.or_else(|| candidates.greedy())
    }
}
