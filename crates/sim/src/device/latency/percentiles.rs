//! Figures of several classes of requests together: exact percentiles, the deviation, the longest time.

use super::LatencyStats;
use destage_record::Latency;
use std::ops::Range;

/// Several classes of requests, summed up together.
pub(super) struct Together<'a>(pub &'a [LatencyStats]);

impl Together<'_> {
    /// All times, and how often each is there.
    #[inline]
    pub fn each(&self, mut f: impl FnMut(u64, u64)) {
        for stats in self.0 {
            if stats.usual_count > 0 {
                f(stats.usual, stats.usual_count);
            }
            stats.short().for_each(|time| f(u64::from(time), 1));
            stats.long.iter().for_each(|&time| f(time, 1));
            let folded = stats.folded.iter().flat_map(|folded| &folded.counts);
            folded.for_each(|(&time, &often)| f(time, often));
        }
    }

    fn longest(&self) -> u64 {
        let folded = self.0.iter().filter_map(|stats| stats.folded.as_ref());
        let mut max = folded.map(|folded| folded.longest).max().unwrap_or(0);
        self.each(|time, _| max = max.max(time));
        max
    }

    pub fn summary(&self) -> Latency {
        let n: u64 = self.0.iter().map(|stats| stats.count()).sum();
        if n == 0 {
            return Latency::default();
        }
        let sum: u128 = self.0.iter().map(|stats| stats.sum).sum();
        let rank = |share: u64| (u128::from(n) * u128::from(share)).div_ceil(10_000) as u64;
        let [p50, p95, p99, p999, p9999] = self.at_ranks([5000, 9500, 9900, 9990, 9999].map(rank));
        Latency {
            mean: Some(sum as f64 / n as f64),
            std: Some(self.deviation(n, sum)),
            p50: Some(p50),
            p95: Some(p95),
            p99: Some(p99),
            p999: Some(p999),
            p9999: Some(p9999),
            max: Some(self.longest()),
        }
    }

    /// The times of `ranks`, which ascend and are those of requests, counted from 1.
    pub fn at_ranks<const N: usize>(&self, ranks: [u64; N]) -> [u64; N] {
        let mut kept: Vec<u64> = Vec::new();
        let mut counted: Vec<(u64, u64)> = Vec::new();
        for stats in self.0 {
            kept.extend(
                stats
                    .short()
                    .map(u64::from)
                    .chain(stats.long.iter().copied()),
            );
            counted.push((stats.usual, stats.usual_count));
            let folded = stats.folded.iter().flat_map(|folded| &folded.counts);
            counted.extend(folded.map(|(&time, &often)| (time, often)));
        }
        counted.sort_unstable();
        // Ranks ascend with the times, and of times that are as long the kept ones come first.
        let mut ahead = vec![0; counted.len() + 1];
        for &time in &kept {
            ahead[counted.partition_point(|&(counted, _)| counted < time)] += 1;
        }
        let mut last = 0;
        let of_counted: Vec<Range<u64>> = (ahead.iter().zip(&counted))
            .map(|(kept, (_, often))| {
                let first = last + kept;
                last = first + often;
                first..last
            })
            .collect();
        let mut found = 0;
        ranks.map(|rank| {
            let rank = rank - 1;
            let next = of_counted.partition_point(|ranks| ranks.end <= rank);
            if let Some(ranks) = of_counted.get(next)
                && ranks.contains(&rank)
            {
                return counted[next].0;
            }
            // Times before the one found last are less than or equal to it.
            let before: u64 = counted[..next].iter().map(|(_, often)| often).sum();
            let at = (rank - before) as usize;
            let (_, &mut time, _) = kept[found..].select_nth_unstable(at - found);
            found = at;
            time
        })
    }

    /// Population standard deviation of `n` requests, at least one, whose times add up to `sum`.
    ///
    /// Squares are those of distances from the mean rounded down: n of them stay below 2^128 even
    /// where a queue that only grows makes requests wait for days, and integers do not cancel.
    fn deviation(&self, n: u64, sum: u128) -> f64 {
        let (centre, rest) = (sum / u128::from(n), sum % u128::from(n));
        let centre = u64::try_from(centre).expect("a mean of 64-bit numbers is one");
        let mut squares = 0u128;
        self.each(|time, often| {
            let distance = u128::from(time.abs_diff(centre));
            squares += distance * distance * u128::from(often);
        });
        let beside = rest as f64 / n as f64;
        libm::sqrt(squares as f64 / n as f64 - beside * beside)
    }
}
