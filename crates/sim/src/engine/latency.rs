//! Response times: mean, deviation and exact percentiles.

use crate::record::{Latency, MeanNs};
use crate::series::LatencySum;
use destage_types::Nanos;

/// Response times of one class of requests.
///
/// Percentiles are by nearest rank and exact, so every time is kept, except for the most frequent
/// one - the DRAM service time of requests that need no flash - which is only counted.
#[derive(Clone, Debug)]
pub struct LatencyStats {
    usual: u64,
    usual_count: u64,
    others: Vec<u64>,
    sum: u128,
}

impl LatencyStats {
    /// No request yet; `usual` is the time most requests are expected to take.
    pub fn new(usual: Nanos) -> LatencyStats {
        let (usual_count, sum) = (0, 0);
        LatencyStats {
            usual: usual.0,
            usual_count,
            others: Vec::new(),
            sum,
        }
    }

    /// A request took `time`.
    #[inline]
    pub fn add(&mut self, time: Nanos) {
        self.sum += u128::from(time.0);
        if time.0 == self.usual {
            self.usual_count += 1;
        } else {
            self.others.push(time.0);
        }
    }

    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        (self.usual_count, self.sum) = (0, 0);
        self.others.clear();
    }

    /// Requests.
    pub fn count(&self) -> u64 {
        self.usual_count + self.others.len() as u64
    }

    /// Requests and the sum of their times.
    pub fn total(&self) -> LatencySum {
        LatencySum {
            count: self.count(),
            sum: self.sum,
        }
    }

    /// The figures of the result record for these requests and those of `more`, which expect the
    /// same usual time.
    pub fn summary_with(&self, more: &[&LatencyStats]) -> Latency {
        let mut all = self.clone();
        for stats in more {
            all.usual_count += stats.usual_count;
            all.sum += stats.sum;
            all.others.extend_from_slice(&stats.others);
        }
        all.into_summary()
    }

    /// The figures of the result record.
    pub fn summary(&self) -> Latency {
        self.clone().into_summary()
    }

    fn into_summary(mut self) -> Latency {
        let n = self.count();
        if n == 0 {
            return Latency::default();
        }
        let (usual, usual_count, deviation) = (self.usual, self.usual_count, self.deviation());
        let below = self.others.iter().filter(|&&t| t < usual).count() as u64;
        let mut others = Ranks {
            times: &mut self.others,
            done: 0,
        };
        // The i-th smallest (from 1) of all times, the usual one standing as a block in between.
        let mut smallest = |i: u64| {
            if i <= below {
                others.nth(i as usize - 1)
            } else if i <= below + usual_count {
                usual
            } else {
                others.nth((i - usual_count) as usize - 1)
            }
        };
        let rank = |per_mille: u64| (u128::from(n) * u128::from(per_mille)).div_ceil(1000) as u64;
        let mean = self.sum as f64 / n as f64;
        Latency {
            mean: Some(mean),
            std: Some(deviation),
            p50: Some(smallest(rank(500))),
            p95: Some(smallest(rank(950))),
            p99: Some(smallest(rank(990))),
            p999: Some(smallest(rank(999))),
            max: Some(smallest(n)),
        }
    }
}

impl LatencyStats {
    /// Population standard deviation of at least one request.
    ///
    /// Squares are those of distances from the mean rounded down: n of them stay below 2^128 even
    /// where a queue that only grows makes requests wait for days, and integers do not cancel.
    fn deviation(&self) -> f64 {
        let n = u128::from(self.count());
        let (centre, rest) = (self.sum / n, self.sum % n);
        let square = |t: u64| u128::from(t).abs_diff(centre).pow(2);
        let others: u128 = self.others.iter().map(|&t| square(t)).sum();
        let squares = others + square(self.usual) * u128::from(self.usual_count);
        let beside = rest as f64 / n as f64;
        libm::sqrt(squares as f64 / n as f64 - beside * beside)
    }
}

/// The smallest times, asked for in ascending order of their ranks: cheaper than to sort them all.
struct Ranks<'a> {
    times: &'a mut [u64],
    /// So many are at their place in ascending order, as far as that was asked for.
    done: usize,
}

impl Ranks<'_> {
    /// The time of `rank`, from 0, which is not below any rank asked for before.
    fn nth(&mut self, rank: usize) -> u64 {
        if rank >= self.done {
            self.times[self.done..].select_nth_unstable(rank - self.done);
            self.done = rank + 1;
        }
        self.times[rank]
    }
}

/// Mean of a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean {
    sum: u128,
    count: u64,
}

impl Mean {
    /// One more value.
    #[inline]
    pub fn add(&mut self, time: Nanos) {
        self.sum += u128::from(time.0);
        self.count += 1;
    }

    /// The mean, without a value null.
    pub fn summary(&self) -> MeanNs {
        MeanNs {
            mean: (self.count > 0).then(|| self.sum as f64 / self.count as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_equal_those_of_the_sorted_list() {
        for usual in [0u64, 5, 50, 99] {
            let mut stats = LatencyStats::new(Nanos(usual));
            let mut all: Vec<u64> = (0..997).map(|i| (i * 37) % 100).collect();
            all.iter().for_each(|&t| stats.add(Nanos(t)));
            all.sort_unstable();
            let s = stats.summary();
            let rank = |p: f64| all[(p * 997.0).ceil() as usize - 1];
            assert_eq!(s.p50, Some(rank(0.5)));
            assert_eq!(s.p95, Some(rank(0.95)));
            assert_eq!(s.p99, Some(rank(0.99)));
            assert_eq!(s.p999, Some(rank(0.999)));
            assert_eq!(s.max, Some(99));
            let mean = all.iter().sum::<u64>() as f64 / 997.0;
            let var = all.iter().map(|&t| (t as f64 - mean).powi(2)).sum::<f64>() / 997.0;
            assert!((s.std.unwrap() - var.sqrt()).abs() < 1e-9);
        }
    }

    #[test]
    fn requests_of_several_classes_are_summed_up_together() {
        let parts = [0u64, 1, 2].map(|class| {
            let mut stats = LatencyStats::new(Nanos(7));
            let times = (0..200).map(|i| (i * 31 + class * 17) % 50 * (class + 1));
            times.for_each(|t| stats.add(Nanos(t)));
            stats
        });
        let mut whole = LatencyStats::new(Nanos(7));
        for class in 0..3u64 {
            let times = (0..200).map(|i| (i * 31 + class * 17) % 50 * (class + 1));
            times.for_each(|t| whole.add(Nanos(t)));
        }
        let [first, rest @ ..] = &parts;
        let rest: Vec<&LatencyStats> = rest.iter().collect();
        assert_eq!(first.summary_with(&rest), whole.summary());
    }

    #[test]
    fn deviation_of_an_overloaded_device() {
        let mut stats = LatencyStats::new(Nanos(1));
        // A million requests that wait for up to ten days.
        (0..1_000_000u64).for_each(|i| stats.add(Nanos(i * 864_000_000)));
        let step = 864_000_000.0;
        let wanted = step * ((1e12 - 1.0) / 12.0f64).sqrt();
        let got = stats.summary().std.unwrap();
        assert!((got / wanted - 1.0).abs() < 1e-12, "{got} {wanted}");
    }

    #[test]
    fn nothing_is_null() {
        assert_eq!(LatencyStats::new(Nanos(1)).summary(), Latency::default());
        assert_eq!(Mean::default().summary().mean, None);
    }
}
