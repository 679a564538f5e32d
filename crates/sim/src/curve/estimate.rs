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
        Estimate::between([value; 3], Correction::default(), 0.0)
    }

    /// Of the ratios of a smaller cache, of the cache and of a larger one.
    fn between(values: [f64; 3], correction: Correction, error: f64) -> Estimate {
        let cut = |value: f64| value.clamp(0.0, 1.0);
        let corrected = values.map(|value| value - correction.offset);
        let around = correction.most + ERRORS * error;
        Estimate {
            value: cut(corrected[1]),
            error,
            low: cut(corrected.into_iter().fold(f64::INFINITY, f64::min) - around),
            high: cut(corrected.into_iter().fold(f64::NEG_INFINITY, f64::max) + around),
        }
    }
}

/// How far the sample is off at sizes that are known.
#[derive(Clone, Copy, Default)]
struct Correction {
    /// At the size that is asked for.
    offset: f64,
    /// The most at a known size beside it.
    most: f64,
}

/// What a sample tells of a cache size.
pub(super) struct SampledSize {
    /// Frames of the cache that stands for it.
    pub frames: f64,
    /// Ratios of a cache with fewer pages in the sample, of the cache, and of one with more.
    pub beside: [SampledRatios; 3],
    /// Ratios without each group of pages; none if every page is in the sample.
    pub without: Vec<SampledRatios>,
}

/// A cache size whose ratios are known.
pub(super) struct KnownSize<'a> {
    pub sampled: &'a SampledSize,
    pub ratios: SampledRatios,
}

impl SampledSize {
    /// The estimate of one kind of ratio, corrected by sizes that are known, in ascending order.
    pub fn estimate(&self, kind: usize, known: &[KnownSize<'_>]) -> Option<Estimate> {
        if self.frames < 1.0 {
            return None;
        }
        let [smaller, value, larger] = self.beside.map(|ratios| ratios[kind]);
        let values = [smaller?, value?, larger?];
        let weighted = self.nearest(known);
        let mut correction = Correction::default();
        let mut without = of_kind(&self.without, kind)?;
        for (size, weight) in weighted {
            let off = size.sampled.beside[1][kind]? - size.ratios[kind]?;
            correction.offset += weight * off;
            correction.most = correction.most.max(off.abs());
            // What makes both too high or too low is no error of the difference.
            let others = of_kind(&size.sampled.without, kind)?;
            for (value, other) in without.iter_mut().zip(others) {
                *value -= weight * other;
            }
        }
        Some(Estimate::between(values, correction, error(&without)))
    }

    /// The known sizes beside this one, and how much each counts.
    fn nearest<'a, 'b>(&self, known: &'a [KnownSize<'b>]) -> Vec<(&'a KnownSize<'b>, f64)> {
        let above = known.partition_point(|size| size.sampled.frames < self.frames);
        let below = above.checked_sub(1).map(|i| &known[i]);
        match (below, known.get(above)) {
            (Some(below), Some(above)) => {
                let [from, to] = [below, above].map(|size| libm::log(size.sampled.frames));
                let weight = (libm::log(self.frames) - from) / (to - from);
                vec![(below, 1.0 - weight), (above, weight)]
            }
            (one, other) => one.or(other).map(|size| (size, 1.0)).into_iter().collect(),
        }
    }
}

/// The ratios of one kind, if there are all.
fn of_kind(ratios: &[SampledRatios], kind: usize) -> Option<Vec<f64>> {
    ratios.iter().map(|ratios| ratios[kind]).collect()
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

/// Standard error by the jackknife, of estimates without each group in turn; 0 without groups.
fn error(without: &[f64]) -> f64 {
    let n = without.len().max(1) as f64;
    let mean = without.iter().sum::<f64>() / n;
    let squares: f64 = without.iter().map(|v| (v - mean) * (v - mean)).sum();
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
        let (Some(below), Some(above)) = (of.get(&self.below), of.get(&self.above)) else {
            return [None; 3];
        };
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
        let without = [11.0 / 3.0, 10.0 / 3.0, 3.0, 2.0];
        let expected = libm::sqrt(14.0 / 3.0 / 4.0);
        assert!((error(&without) - expected).abs() < 1e-12);
    }

    #[test]
    fn surplus_accesses_are_hits() {
        assert_eq!(adjusted(50, 90, 100.0), Some(0.6));
        assert_eq!(adjusted(50, 110, 100.0), Some(0.4));
        // Cut off at the end, and not before its error is known.
        assert_eq!(adjusted(0, 110, 100.0), Some(-0.1));
        let end = Estimate::between([-0.1; 3], Correction::default(), 0.1);
        assert_eq!((end.value, end.low), (0.0, 0.0));
        assert!((end.high - 0.2).abs() < 1e-12);
        assert_eq!(adjusted(0, 0, 0.0), None);
    }
}
