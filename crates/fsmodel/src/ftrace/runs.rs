//! Values by number, where consecutive numbers mostly have consecutive values: an entry for each run,
//! so that memory grows with the lines of a capture and not with the lengths in them.

use std::collections::BTreeMap;

/// A value of which the numbers behind have the ones behind.
pub(super) trait Consecutive: Copy + PartialEq {
    /// The value of the number that is `n` behind.
    fn behind(self, n: u64) -> Self;
}

impl Consecutive for u64 {
    fn behind(self, n: u64) -> u64 {
        self + n
    }
}

/// Consecutive numbers of one group with consecutive values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece<V> {
    pub first: u64,
    pub len: u64,
    pub value: V,
}

/// Values by group and number.
pub(super) struct Runs<V> {
    /// Length and first value by group and first number.
    runs: BTreeMap<(u64, u64), (u64, V)>,
}

impl<V> Default for Runs<V> {
    fn default() -> Runs<V> {
        let runs = BTreeMap::new();
        Runs { runs }
    }
}

impl<V: Consecutive> Runs<V> {
    /// The value of a number.
    pub fn get(&self, group: u64, number: u64) -> Option<V> {
        let before = self.runs.range((group, 0)..=(group, number)).next_back();
        let (&(_, first), &(len, value)) = before?;
        (number - first < len).then(|| value.behind(number - first))
    }

    /// Gives the numbers of `new` their values and returns what those had that had one, ascending.
    pub fn insert(&mut self, group: u64, new: Piece<V>) -> Vec<Piece<V>> {
        let old = self.take(group, new.first, new.len);
        let before = self.runs.range_mut((group, 0)..(group, new.first));
        if let Some((&(_, first), (len, value))) = before.last()
            && first + *len == new.first
            && value.behind(*len) == new.value
        {
            *len += new.len;
        } else {
            let run = (new.len, new.value);
            self.runs.insert((group, new.first), run);
        }
        old
    }

    /// As [`Runs::insert`] for one number.
    pub fn insert_one(&mut self, group: u64, number: u64, value: V) -> Option<V> {
        let new = Piece {
            first: number,
            len: 1,
            value,
        };
        self.insert(group, new).first().map(|old| old.value)
    }

    /// Takes the value of one number.
    pub fn take_one(&mut self, group: u64, number: u64) -> Option<V> {
        self.take(group, number, 1).first().map(|old| old.value)
    }

    /// Takes the values of `len` numbers from `first` on; ascending, in runs.
    pub fn take(&mut self, group: u64, first: u64, len: u64) -> Vec<Piece<V>> {
        self.cut(group, first);
        self.cut(group, first + len);
        let mut taken = Vec::new();
        while let Some((&(_, at), &(len, value))) =
            self.runs.range((group, first)..(group, first + len)).next()
        {
            self.runs.remove(&(group, at));
            taken.push(Piece {
                first: at,
                len,
                value,
            });
        }
        taken
    }

    /// Lets no run reach over `number`.
    fn cut(&mut self, group: u64, number: u64) {
        let before = self.runs.range_mut((group, 0)..(group, number));
        if let Some((&(_, first), (len, value))) = before.last()
            && first + *len > number
        {
            let rest = (first + *len - number, value.behind(number - first));
            *len = number - first;
            self.runs.insert((group, number), rest);
        }
    }

    /// Numbers that have a value.
    pub fn len(&self) -> u64 {
        self.runs.values().map(|run| run.0).sum()
    }

    /// Runs that are remembered.
    pub fn entries(&self) -> usize {
        self.runs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::rng::SplitMix64;

    #[test]
    fn runs_agree_with_a_map_of_single_numbers() {
        let mut rng = SplitMix64::new(3);
        let mut runs: Runs<u64> = Runs::default();
        let mut model: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for step in 0..4_000u64 {
            let (group, first, len) = (rng.below(2), rng.below(300), 1 + rng.below(40));
            let value = rng.below(4) * 1_000 + first;
            let numbers = first..first + len;
            let old: Vec<(u64, u64)> = numbers
                .clone()
                .filter_map(|n| Some((n, model.remove(&(group, n))?)))
                .collect();
            let taken = match step % 3 {
                0 => runs.take(group, first, len),
                _ => {
                    model.extend(numbers.map(|n| ((group, n), value + n - first)));
                    runs.insert(group, Piece { first, len, value })
                }
            };
            let each = |p: &Piece<u64>| (0..p.len).map(|i| (p.first + i, p.value + i)).collect();
            let taken: Vec<(u64, u64)> = taken.iter().flat_map::<Vec<_>, _>(each).collect();
            assert_eq!(taken, old);
            assert_eq!(runs.len(), model.len() as u64);
            let asked = rng.below(340);
            assert_eq!(runs.get(group, asked), model.get(&(group, asked)).copied());
        }
    }

    #[test]
    fn what_follows_on_is_one_run() {
        let mut runs = Runs::default();
        for i in 0..1_000 {
            assert_eq!(runs.insert_one(7, i, 50 + i), None);
        }
        assert_eq!((runs.entries(), runs.len()), (1, 1_000));
        assert_eq!(runs.take_one(7, 500), Some(550));
        assert_eq!((runs.entries(), runs.get(7, 500)), (2, None));
        assert_eq!((runs.get(7, 501), runs.get(8, 501)), (Some(551), None));
    }
}
