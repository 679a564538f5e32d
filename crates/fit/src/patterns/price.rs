//! Prices of writes from rates and write amplifications.

use super::{CollectionRule, RuleFit};
use crate::measurements::{PARTS, PatternRun};

/// Times for each moved unit between which prices are sought, in ns.
const MOVED: (f64, f64) = (50.0, 100_000.0);
/// Prices that are tried between them before the best one is made exact.
const TRIED: u32 = 300;
/// Thirds by which the place of the best one is narrowed.
const NARROWED: u32 = 30;

/// The time that a write of a mapping unit takes, in ns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WritePrices {
    /// Where nothing is collected, as sequential writes show it: a.
    pub host: f64,
    /// Of small writes in any case, as a drive that was just filled shows it.
    pub command: f64,
    /// For each unit that is moved for it: g.
    pub moved: f64,
}

impl WritePrices {
    /// Writes a second with this write amplification.
    #[must_use]
    pub fn rate(&self, amplification: f64) -> f64 {
        let price = self.host + self.moved * (amplification - 1.0).max(0.0);
        1e9 / price.max(self.command)
    }
}

/// Prices for the amplifications of all parts under a rule.
pub(super) fn fit(
    rule: CollectionRule,
    runs: &[PatternRun],
    amplifications: &[[f64; PARTS]],
    host: Option<f64>,
) -> RuleFit {
    let rows: Vec<Row<'_>> = runs.iter().zip(amplifications).collect();
    let mut fresh: Vec<f64> = runs.iter().filter_map(|run| run.fresh).collect();
    fresh.sort_by(f64::total_cmp);
    let fresh = fresh.get(fresh.len() / 2).map(|rate| 1e9 / rate);
    // Without either, the fastest part had the least to collect.
    let fastest = runs.iter().flat_map(|run| run.rates).fold(1.0, f64::max);
    let host = host.or(fresh).unwrap_or(1e9 / fastest);
    let start = WritePrices {
        host,
        command: fresh.unwrap_or(host),
        moved: 0.0,
    };
    let prices = best(start, &rows);
    let left_out = (0..rows.len()).map(|out| {
        let others: Vec<Row<'_>> = (rows.iter().enumerate())
            .filter(|(at, _)| *at != out)
            .map(|(_, row)| *row)
            .collect();
        // The only run says how it fits itself.
        let prices = if others.is_empty() {
            prices
        } else {
            best(start, &others)
        };
        let errors = parts(&prices, &rows[out]).map(|(model, drive)| (model / drive - 1.0).abs());
        errors.sum::<f64>() / PARTS as f64
    });
    RuleFit {
        rule,
        prices,
        left_out: left_out.collect(),
        rates: amplifications
            .iter()
            .map(|of_run| of_run.map(|w| prices.rate(w)))
            .collect(),
    }
}

type Row<'a> = (&'a PatternRun, &'a [f64; PARTS]);

/// Rates of the model and of the drive.
fn parts<'a>(prices: &'a WritePrices, row: &Row<'a>) -> impl Iterator<Item = (f64, f64)> + 'a {
    let (run, amplifications) = *row;
    let model = amplifications.iter().map(|&w| prices.rate(w));
    model.zip(run.rates.iter().copied())
}

/// The prices with the least sum of |ln(model / drive)|.
fn best(start: WritePrices, rows: &[Row<'_>]) -> WritePrices {
    let with = |moved: f64| WritePrices { moved, ..start };
    let off = |moved: f64| -> f64 {
        let prices = with(moved);
        let of_row = |row: &Row<'_>| -> f64 {
            parts(&prices, row)
                .map(|(model, drive)| libm::fabs(libm::log(model / drive)))
                .sum()
        };
        rows.iter().map(of_row).sum()
    };
    let step = libm::log(MOVED.1 / MOVED.0) / f64::from(TRIED);
    let at = |i: u32| MOVED.0 * libm::exp(f64::from(i) * step);
    let nearest = (0..=TRIED).min_by(|&a, &b| off(at(a)).total_cmp(&off(at(b))));
    let nearest = at(nearest.unwrap_or(0));
    let (mut low, mut high) = (nearest * libm::exp(-step), nearest * libm::exp(step));
    for _ in 0..NARROWED {
        let third = (high - low) / 3.0;
        let (a, b) = (low + third, high - third);
        if off(a) < off(b) {
            high = b;
        } else {
            low = a;
        }
    }
    with((low + high) / 2.0)
}
