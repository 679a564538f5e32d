//! Units of a drive that are open, queued or running.

use super::first_touch::FirstTouch;

/// A set of unit numbers, with one bit for each.
#[derive(Clone, Debug)]
pub(super) struct UnitSet(FirstTouch<u64, 64>);

impl UnitSet {
    /// No unit of a drive that has so many.
    pub fn new(units: u64) -> UnitSet {
        UnitSet(FirstTouch::new(units.div_ceil(u64::from(u64::BITS)), 0))
    }

    pub fn contains(&self, unit: u64) -> bool {
        let (word, bit) = word_and_bit(unit);
        self.0.get(word) & bit != 0
    }

    pub fn insert(&mut self, unit: u64) {
        let (word, bit) = word_and_bit(unit);
        *self.0.at(word) |= bit;
    }

    pub fn remove(&mut self, unit: u64) {
        let (word, bit) = word_and_bit(unit);
        *self.0.at(word) &= !bit;
    }

    /// Bytes of memory taken so far.
    pub fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

fn word_and_bit(unit: u64) -> (u64, u64) {
    let bits = u64::from(u64::BITS);
    (unit / bits, 1 << (unit % bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_one_word_are_apart() {
        let mut set = UnitSet::new(130);
        set.insert(63);
        set.insert(129);
        assert_eq!(
            [62, 63, 64, 129].map(|unit| set.contains(unit)),
            [false, true, false, true]
        );
        set.remove(63);
        assert!(!set.contains(63) && set.contains(129));
    }
}
