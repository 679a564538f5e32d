//! Differences of candidates, and a step of Gauss and Newton: where they say that the residual is smallest.

use crate::residual::Entry;
use serde::{Deserialize, Serialize};

/// The residual of a candidate that is no device.
const IMPOSSIBLE: f64 = 1e3;
/// A curvature that is no curvature.
const FLAT: f64 = 1e-9;
/// A curvature that lets nothing move.
const STIFF: f64 = 1e9;

/// The differences of a candidate that have a weight: number of the quantity, difference in scales, weight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Differences(pub(super) Vec<(u32, f64, f64)>);

impl Differences {
    /// Those of entries.
    pub(super) fn of(entries: &[Entry]) -> Differences {
        let of = |e: &Entry| (e.number(), e.log_ratio() / e.scale, e.weight);
        let mut all: Vec<_> = entries.iter().filter(|e| e.weight > 0.0).map(of).collect();
        all.sort_by_key(|difference| difference.0);
        Differences(all)
    }

    /// The residual: the weighted mean of the losses.
    #[must_use]
    pub fn residual(&self) -> f64 {
        let weights: f64 = self.0.iter().map(|d| d.2).sum();
        let loss = |&(_, x, weight): &(u32, f64, f64)| weight * (libm::sqrt(1.0 + x * x) - 1.0);
        match weights > 0.0 {
            true => self.0.iter().map(loss).sum::<f64>() / weights,
            false => IMPOSSIBLE,
        }
    }

    /// Draws of a candidate as one: the mean difference of each quantity.
    pub(super) fn mean(draws: &[Differences]) -> Differences {
        Differences::agreed(draws, draws)
    }

    /// Draws of a candidate beside those of another one, `from`, as one. Of the change of each quantity, chance makes the part
    /// in which draws do not agree: what is left is the mean of `from` and the least change, none where two have other signs.
    pub(super) fn agreed(from: &[Differences], to: &[Differences]) -> Differences {
        let mut all = Vec::new();
        for &(number, _, weight) in from.first().into_iter().flat_map(|first| &first.0) {
            let at = |of: &[Differences]| -> Option<Vec<f64>> {
                of.iter().map(|draw| draw.at(number)).collect()
            };
            let Some((from, to)) = at(from).zip(at(to)) else {
                continue;
            };
            let mean = from.iter().sum::<f64>() / from.len() as f64;
            let change = |sign: f64| {
                let changes = from.iter().zip(&to).map(|(from, to)| sign * (to - from));
                sign * changes.fold(f64::INFINITY, f64::min).max(0.0)
            };
            all.push((number, mean + change(1.0) + change(-1.0), weight));
        }
        Differences(all)
    }

    /// The difference of a quantity.
    fn at(&self, number: u32) -> Option<f64> {
        let at = self.0.binary_search_by_key(&number, |d| d.0).ok()?;
        Some(self.0[at].1)
    }
}

/// The residual around a candidate, as far as it is quadratic in the values.
pub(super) struct Quadratic {
    /// Slope by value.
    slope: Vec<f64>,
    /// Curvature by two values.
    curvature: Vec<Vec<f64>>,
}

impl Quadratic {
    /// From the differences of a candidate, and by value of two candidates that lie so many steps apart in it.
    pub fn new(here: &Differences, pairs: &[(f64, Differences, Differences)]) -> Quadratic {
        let n = pairs.len();
        let mut slope = vec![0.0; n];
        let mut curvature = vec![vec![0.0; n]; n];
        let weights: f64 = here.0.iter().map(|d| d.2).sum();
        for &(number, x, weight) in &here.0 {
            // The loss of a large difference is hardly curved.
            let weight = weight / weights / libm::sqrt(1.0 + x * x);
            let grows = |(steps, a, b): &(f64, Differences, Differences)| {
                let (a, b) = a.at(number).zip(b.at(number))?;
                Some((b - a) / steps)
            };
            let grows: Vec<f64> = pairs
                .iter()
                .map(|pair| grows(pair).unwrap_or(0.0))
                .collect();
            for (i, a) in grows.iter().enumerate() {
                slope[i] += weight * x * a;
                for (sum, b) in curvature[i].iter_mut().zip(&grows) {
                    *sum += weight * a * b;
                }
            }
        }
        Quadratic { slope, curvature }
    }

    /// The steps to the smallest residual. The more damping, the shorter.
    pub fn step(&self, damping: f64) -> Vec<f64> {
        let against = self.slope.iter().map(|slope| -slope).collect();
        self.solve(|at| damping * self.curvature[at][at], against)
    }

    /// How much the residual rises, if a value is a step away and all others are the best ones then. Those that are `pinned` stay.
    pub fn rise(&self, value: usize, pinned: impl Fn(usize) -> bool) -> f64 {
        let mut one = vec![0.0; self.slope.len()];
        one[value] = 1.0;
        let stiff = |at| if pinned(at) { STIFF } else { 0.0 };
        0.5 / self.solve(stiff, one)[value].max(FLAT)
    }

    /// The curvature's equations with `right`, by elimination. The curvature is positive, and more so by what is `added`.
    fn solve(&self, added: impl Fn(usize) -> f64, right: Vec<f64>) -> Vec<f64> {
        let n = right.len();
        let mut rows = self.curvature.clone();
        for (i, (row, right)) in rows.iter_mut().zip(right).enumerate() {
            row[i] += added(i) + FLAT;
            row.push(right);
        }
        for i in 0..n {
            let (done, rest) = rows.split_at_mut(i + 1);
            let pivot = &done[i];
            for row in rest {
                let times = row[i] / pivot[i];
                for (to, from) in row.iter_mut().zip(pivot) {
                    *to -= times * from;
                }
            }
        }
        let mut found = vec![0.0; n];
        for (i, row) in rows.iter().enumerate().rev() {
            let known = row[i + 1..n].iter().zip(&found[i + 1..]);
            let known: f64 = known.map(|(of, value)| of * value).sum();
            found[i] = (row[n] - known) / row[i];
        }
        found
    }
}
