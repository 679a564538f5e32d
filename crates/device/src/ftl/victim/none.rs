//! No garbage collection.

use super::{Candidates, Policy, Settings};

/// Never chooses.
#[derive(Clone, Debug)]
pub(in crate::ftl) struct None;

impl None {
    pub fn new(_settings: &Settings) -> None {
        None
    }
}

impl Policy for None {
    fn choose(&mut self, _candidates: &Candidates<'_>) -> Option<u32> {
        Option::None
    }
}
