//! Draws from rows of counts: alias tables (Walker 1977, Vose 1991) in integers.

use super::tables::{TABLES, Table, Tables, row_number};
use destage_types::rng::SplitMix64;

/// A row to draw from: for each column the share of 2^64 that is its own, and who has the rest.
pub struct Alias(Vec<(u64, u32)>);

impl Alias {
    /// None if all weights are 0.
    fn new(weights: &[u64]) -> Option<Alias> {
        let total: u128 = weights.iter().map(|&w| u128::from(w)).sum();
        if total == 0 {
            return None;
        }
        let n = weights.len() as u128;
        let mut left: Vec<u128> = weights.iter().map(|&w| u128::from(w) * n).collect();
        let mut row: Vec<(u64, u32)> = (0..weights.len()).map(|i| (u64::MAX, i as u32)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|&i| left[i] < total);
        while let (Some(&few), Some(&many)) = (small.last(), large.last()) {
            small.pop();
            // Weights are below 2^63 in sum, so the shift loses nothing.
            row[few] = (((left[few] << 64) / total) as u64, many as u32);
            left[many] -= total - left[few];
            if left[many] < total {
                large.pop();
                small.push(many);
            }
        }
        Some(Alias(row))
    }

    pub fn draw(&self, random: &mut SplitMix64) -> usize {
        let product = u128::from(random.next_u64()) * self.0.len() as u128;
        let column = (product >> 64) as usize;
        let (own, other) = self.0[column];
        if (product as u64) < own || other as usize == column {
            column
        } else {
            other as usize
        }
    }
}

/// All rows, ready to be drawn from.
pub struct Draws(Vec<Vec<Option<Alias>>>);

impl Draws {
    pub fn new(tables: &Tables) -> Draws {
        let rows = |t: Table| tables.rows(t).iter().map(|row| Alias::new(row)).collect();
        Draws(TABLES.iter().map(|&(table, ..)| rows(table)).collect())
    }

    /// A column of the row that `at` names; `None` if the row is absent.
    pub fn draw(&self, table: Table, at: &[usize], random: &mut SplitMix64) -> Option<usize> {
        self.row(table, at).map(|row| row.draw(random))
    }

    /// The row that `at` names, to draw from it several times.
    pub fn row(&self, table: Table, at: &[usize]) -> Option<&Alias> {
        self.0[table as usize][row_number(table, at)].as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_as_often_as_they_count() {
        let weights = [0, 5, 1, 0, 94, 300];
        let row = Alias::new(&weights).unwrap();
        let (mut random, mut seen) = (SplitMix64::new(1), [0u64; 6]);
        for _ in 0..400_000 {
            seen[row.draw(&mut random)] += 1;
        }
        for (weight, seen) in weights.iter().zip(seen) {
            assert!(
                seen.abs_diff(weight * 1000) <= 40 * weight.isqrt() * 4,
                "{weight} {seen}"
            );
        }
        assert!(Alias::new(&[0, 0]).is_none());
    }
}
