//! Rates at which a percentile rises.
//!
//! Near the rate that a drive cannot exceed, a percentile rises by a factor of 30 within 5 % of the rate. There the rate
//! is compared at which the percentile passes the middle of the rise.

/// A percentile that is more than this factor larger at the next rate has a knee between them.
pub const KNEE_RISE: f64 = 3.0;

/// A percentile over the rate of writes, by rising rate.
#[derive(Clone, Debug)]
pub struct RateCurve(Vec<(f64, f64)>);

impl RateCurve {
    /// Points of rate and percentile, by rising rate.
    pub fn new(points: impl Iterator<Item = (f64, f64)>) -> RateCurve {
        RateCurve(points.collect())
    }

    /// The lowest rate at which the curve is at `level`; between points it is straight on logarithmic axes.
    #[must_use]
    pub fn reaches(&self, level: f64) -> Option<f64> {
        let (first, last) = (self.0.first()?, self.0.last()?);
        if first.1 >= level {
            return Some(first.0);
        }
        for pair in self.0.windows(2) {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            if y1 >= level {
                let share = libm::log(level / y0) / libm::log(y1 / y0);
                return Some(x0 * libm::exp(share * libm::log(x1 / x0)));
            }
        }
        (last.1 >= level).then_some(last.0)
    }

    /// The same; the highest rate with half of the last step on top if the curve stays below `level`.
    #[must_use]
    pub fn reaches_or_ends(&self, level: f64) -> Option<f64> {
        let last = self.0.last()?.0;
        let before = self.0.iter().rev().nth(1).map_or(last, |point| point.0);
        let beyond = last * libm::sqrt((last / before).max(1.1));
        Some(self.reaches(level).unwrap_or(beyond))
    }
}
