//! Random: every block that is worth collecting with the same probability.

use super::{Candidates, Policy, Settings};
use destage_types::rng::SplitMix64;

/// A block drawn at random; if 64 draws find none, the greedy choice.
#[derive(Clone, Debug)]
pub(in crate::ftl) struct Random {
    rng: SplitMix64,
}

impl Random {
    pub fn new(settings: &Settings) -> Random {
        Random {
            rng: SplitMix64::new(settings.seed),
        }
    }
}

impl Policy for Random {
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<u32> {
        if !candidates.exist() {
            return None;
        }
        let drawn = candidates.draw(&mut self.rng);
        drawn.or_else(|| candidates.greedy())
    }
}
