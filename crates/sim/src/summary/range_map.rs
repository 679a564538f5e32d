//! Values by numbers that come in long runs: a run of equal ones takes the memory of one.

use std::collections::BTreeMap;

/// Values of numbers, as runs that do not overlap: each from a key up to an end.
#[derive(Clone, Debug)]
pub(super) struct RangeMap<V>(BTreeMap<u64, (u64, V)>);

impl<V> Default for RangeMap<V> {
    fn default() -> RangeMap<V> {
        RangeMap(BTreeMap::new())
    }
}

impl<V: Copy> RangeMap<V> {
    /// Lets no run reach over `at`.
    pub fn cut(&mut self, at: u64) {
        let Some((_, run)) = self.0.range_mut(..at).next_back() else {
            return;
        };
        let (end, value) = *run;
        if end > at {
            run.0 = at;
            self.0.insert(at, (end, value));
        }
    }

    /// The first run that begins from `first` on and before `end`: begin, end, value.
    pub fn first_in(&self, first: u64, end: u64) -> Option<(u64, u64, V)> {
        let (&at, &(to, value)) = self.0.range(first..end).next()?;
        Some((at, to, value))
    }

    /// The value of a number.
    pub fn of(&self, number: u64) -> Option<V> {
        let (_, &(end, value)) = self.0.range(..=number).next_back()?;
        (number < end).then_some(value)
    }

    /// Gives the numbers from `first` up to `end` a value. No run reaches over either, and between them none
    /// begins but at `first`.
    pub fn set(&mut self, first: u64, end: u64, value: V) {
        self.0.insert(first, (end, value));
    }

    /// Takes out what the numbers from `first` up to `end` had, and makes them one run: how many numbers had
    /// which value.
    pub fn replace(&mut self, first: u64, end: u64, value: V) -> Vec<(u64, V)> {
        self.cut(first);
        self.cut(end);
        let before = self.0.extract_if(first..end, |_, _| true);
        let before = before.map(|(at, (to, value))| (to - at, value)).collect();
        self.set(first, end, value);
        before
    }

    /// Ranges.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::rng::SplitMix64;

    #[test]
    fn runs_have_what_numbers_one_by_one_have() {
        let mut rng = SplitMix64::new(3);
        let mut runs = RangeMap::default();
        let mut each: BTreeMap<u64, u64> = BTreeMap::new();
        for now in 0..3_000 {
            let first = rng.below(500);
            let end = first + 1 + rng.below(60);
            let mut expected: BTreeMap<u64, u64> = BTreeMap::new();
            for number in first..end {
                if let Some(before) = each.insert(number, now) {
                    *expected.entry(before).or_default() += 1;
                }
            }
            let mut found: BTreeMap<u64, u64> = BTreeMap::new();
            for (numbers, before) in runs.replace(first, end, now) {
                *found.entry(before).or_default() += numbers;
            }
            assert_eq!(found, expected);
        }
        runs.replace(0, u64::MAX, 3_000);
        assert_eq!(runs.len(), 1, "one run is one entry");
    }
}
