//! Estimates of a ratio from a sample, with confidence intervals.

use super::CurveCounts;
use std::collections::BTreeMap;

/// A ratio with its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The ratio, between 0 and 1.
    pub value: f64,
    /// Its standard error; 0 if every page is in the sample.
    pub error: f64,
    /// Lower end of the interval, at least 0.
    pub low: f64,
    /// Upper end of the interval, at most 1.
    pub high: f64,
}

/// Standard errors on either side. Student's t for 95 % and eight groups is 2.365; hits fall on few pages,
/// so tails are heavier, and with 3 the truth is in as many intervals as they promise (docs/PERFORMANCE.md
/// has the figures).
const ERRORS: f64 = 3.0;

impl Estimate {
    /// A ratio that is known.
    pub fn sure(value: f64) -> Estimate {
        Estimate::new(value, 0.0)
    }

    fn new(value: f64, error: f64) -> Estimate {
        Estimate::between([value; 3], error)
    }

    /// SampledRatios of a smaller cache, of the cache and of a larger one.
    pub(super) fn between([smaller, value, larger]: [f64; 3], error: f64) -> Estimate {
        let cut = |value: f64| value.clamp(0.0, 1.0);
        Estimate {
            value: cut(value),
            error,
            low: cut(smaller.min(value) - ERRORS * error),
            high: cut(larger.max(value) + ERRORS * error),
        }
    }
}

/// Hit ratios of one sample, all, reads and writes.
pub(super) type SampledRatios = [Option<f64>; 3];

/// Hits per access, the number of accesses being what the share promises.
fn adjusted(hits: u64, accesses: u64, expected: f64) -> Option<f64> {
    let hits = hits as f64 + (expected - accesses as f64);
    (expected > 0.0).then(|| hits / expected)
}

pub(super) fn ratios(c: &CurveCounts, all: &CurveCounts, rate: f64) -> SampledRatios {
    let (read, write) = (all.read_pages as f64 * rate, all.write_pages as f64 * rate);
    [
        adjusted(c.page_hits(), c.page_accesses(), read + write),
        adjusted(c.read_page_hits, c.read_pages, read),
        adjusted(c.write_page_hits, c.write_pages, write),
    ]
}

/// Standard error of `whole` by the jackknife.
pub(super) fn error(without: &[Option<f64>]) -> f64 {
    let n = without.len() as f64;
    let values = || without.iter().map(|v| v.unwrap_or(0.0));
    let mean = values().sum::<f64>() / n;
    let squares: f64 = values().map(|v| (v - mean) * (v - mean)).sum();
    libm::sqrt((n - 1.0) / n * squares)
}

/// Caches of whole frames around one that has parts of a frame, too.
#[derive(Clone, Copy)]
pub(super) struct Between {
    pub below: u64,
    pub above: u64,
    /// How far it is from the lower one to the upper one.
    part: f64,
}

/// Frames from which on a part of one makes no difference.
const MANY_FRAMES: f64 = 64.0;

impl Between {
    pub fn of(frames: f64) -> Between {
        let (below, above) = match frames {
            n if n < MANY_FRAMES => (libm::floor(n), libm::ceil(n)),
            n => (libm::round(n), libm::round(n)),
        };
        Between {
            below: below as u64,
            above: above as u64,
            part: frames - below,
        }
    }

    pub fn ratios(self, of: &BTreeMap<u64, SampledRatios>) -> SampledRatios {
        let (below, above) = (of[&self.below], of[&self.above]);
        let part = if self.below == self.above {
            0.0
        } else {
            self.part
        };
        let at = |kind: usize| {
            let (below, above) = (below[kind]?, above[kind]?);
            Some(below + part * (above - below))
        };
        [at(0), at(1), at(2)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jackknife_of_a_mean_is_its_standard_error() {
        // Means of 1, 2, 3, 6 without each in turn; variance 14/3, divided by 4.
        let without = [11.0 / 3.0, 10.0 / 3.0, 3.0, 2.0].map(Some);
        let expected = libm::sqrt(14.0 / 3.0 / 4.0);
        assert!((error(&without) - expected).abs() < 1e-12);
    }

    #[test]
    fn surplus_accesses_are_hits() {
        assert_eq!(adjusted(50, 90, 100.0), Some(0.6));
        assert_eq!(adjusted(50, 110, 100.0), Some(0.4));
        // Cut off at the end, and not before its error is known.
        assert_eq!(adjusted(0, 110, 100.0), Some(-0.1));
        let end = Estimate::new(-0.1, 0.1);
        assert_eq!((end.value, end.low), (0.0, 0.0));
        assert!((end.high - 0.2).abs() < 1e-12);
        assert_eq!(adjusted(0, 0, 0.0), None);
    }
}
