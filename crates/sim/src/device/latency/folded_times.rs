//! Response times in bounded memory.

use std::collections::BTreeMap;

/// Times beyond a bound: how many there are of each length, to ten binary digits.
#[derive(Clone, Debug)]
pub(super) struct FoldedTimes {
    /// Times that are kept exactly.
    pub exact: usize,
    pub counts: BTreeMap<u64, u64>,
    pub count: u64,
    pub longest: u64,
}

impl FoldedTimes {
    pub fn new(exact: usize) -> FoldedTimes {
        FoldedTimes {
            exact,
            counts: BTreeMap::new(),
            count: 0,
            longest: 0,
        }
    }

    /// A time without all but its ten leading binary digits.
    fn rounded(time: u64) -> u64 {
        let shift = (u64::BITS - time.leading_zeros()).saturating_sub(10);
        time >> shift << shift
    }

    pub fn add(&mut self, time: u64) {
        *self.counts.entry(FoldedTimes::rounded(time)).or_default() += 1;
        self.count += 1;
        self.longest = self.longest.max(time);
    }
}
