//! Response times: mean, deviation and exact percentiles.

use super::folded_times::FoldedTimes;
use destage_record::profile::{ResponseTail, SLOWER_PPM};
use destage_record::{Latencies, Latency, MeanNs};
use destage_types::{Nanos, Op};
use std::ops::Range;

/// Number of completed requests and the sum of their response times in ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LatencySum {
    /// Requests.
    pub count: u64,
    /// Sum in ns.
    pub sum: u128,
}

/// Response times of reads, of writes, and of other requests.
pub type LatencyTriple = [LatencyStats; 3];

/// How many response times there were of each kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct LatencyMark {
    usual: u64,
    short: usize,
    long: usize,
    sum: u128,
}

/// Position of the times of a request in a [`LatencyTriple`].
#[inline]
pub(crate) fn class_of(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Trim | Op::Flush => 2,
    }
}

/// The figures of all requests, of reads and of writes.
pub fn latencies(times: &LatencyTriple) -> Latencies {
    Latencies {
        all: LatencyStats::summary_of_all(times),
        read: times[0].summary(),
        write: times[1].summary(),
    }
}

/// All requests, and the sum of their times.
pub fn total_of(times: &LatencyTriple) -> LatencySum {
    LatencySum {
        count: times.iter().map(LatencyStats::count).sum(),
        sum: times.iter().map(|stats| stats.sum).sum(),
    }
}

/// Response times of one class of requests.
///
/// Percentiles are by nearest rank and exact, so every time is kept, except for the most frequent
/// one - the DRAM service time of requests that need no flash - which is only counted. A time takes
/// 4 bytes, from 2^32 ns (4.3 s) on 8 bytes, and 8 bytes more while percentiles are looked for.
#[derive(Clone, Debug)]
pub struct LatencyStats {
    usual: u64,
    usual_count: u64,
    /// Other times below 2^32 ns, the last ones not included.
    short: Vec<u32>,
    /// The last ones: whether a time is another one is random, so it is written here in any case.
    last: [u32; LAST],
    last_count: usize,
    long: Vec<u64>,
    sum: u128,
    /// If memory is bounded.
    folded: Option<Box<FoldedTimes>>,
}

/// Times that are moved at once.
const LAST: usize = 64;

impl LatencyStats {
    /// No request yet; `usual` is the time most requests are expected to take.
    pub fn new(usual: Nanos) -> LatencyStats {
        let (usual_count, sum) = (0, 0);
        LatencyStats {
            usual: usual.0,
            usual_count,
            short: Vec::new(),
            last: [0; LAST],
            last_count: 0,
            long: Vec::new(),
            sum,
            folded: None,
        }
    }

    /// From now on at most `exact` times, and those that are moved at once, are kept exactly: when
    /// there are more, all are counted by their ten leading binary digits. Percentiles, the
    /// deviation and charts are at most 0.2 % too low then; count, mean and longest time stay exact.
    /// Memory stays below that of `exact` times and 28,000 counts.
    pub fn bound(&mut self, exact: usize) {
        self.folded = Some(Box::new(FoldedTimes::new(exact)));
    }

    /// Folds the exact times if there are too many.
    #[cold]
    fn fold(&mut self) {
        let Some(folded) = &mut self.folded else {
            return;
        };
        if self.short.len() + self.long.len() > folded.exact {
            let short = self.short.drain(..).map(u64::from);
            short
                .chain(self.long.drain(..))
                .for_each(|time| folded.add(time));
        }
    }

    /// A request took `time`.
    #[inline]
    pub fn add(&mut self, time: Nanos) {
        self.sum += u128::from(time.0);
        let usual = time.0 == self.usual;
        self.usual_count += u64::from(usual);
        let Ok(short) = u32::try_from(time.0) else {
            return self.add_long(time);
        };
        self.last[self.last_count] = short;
        self.last_count += usize::from(!usual);
        if self.last_count == LAST {
            self.short.extend_from_slice(&self.last);
            self.last_count = 0;
            if self.folded.is_some() {
                self.fold();
            }
        }
    }

    #[cold]
    fn add_long(&mut self, time: Nanos) {
        if time.0 != self.usual {
            self.long.push(time.0);
            self.fold();
        }
    }

    /// Other times below 2^32 ns.
    fn short(&self) -> impl Iterator<Item = u32> {
        let last = &self.last[..self.last_count];
        self.short.iter().chain(last).copied()
    }

    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        (self.usual_count, self.sum) = (0, 0);
        self.short.clear();
        self.last_count = 0;
        self.long.clear();
        if let Some(folded) = &mut self.folded {
            **folded = FoldedTimes::new(folded.exact);
        }
    }

    /// Requests.
    pub fn count(&self) -> u64 {
        let folded = self.folded.as_ref().map_or(0, |folded| folded.count);
        let exact = (self.short.len() + self.last_count + self.long.len()) as u64;
        self.usual_count + exact + folded
    }

    /// How far the times have come.
    pub(crate) fn mark(&self) -> LatencyMark {
        LatencyMark {
            usual: self.usual_count,
            short: self.short.len() + self.last_count,
            long: self.long.len(),
            sum: self.sum,
        }
    }

    /// The times that were added since `mark`, where memory is not bounded.
    pub(crate) fn since(&self, mark: LatencyMark) -> LatencyStats {
        debug_assert!(self.folded.is_none(), "folded times have no order");
        LatencyStats {
            usual_count: self.usual_count - mark.usual,
            short: self.short().skip(mark.short).collect(),
            long: self.long[mark.long..].to_vec(),
            sum: self.sum - mark.sum,
            ..LatencyStats::new(Nanos(self.usual))
        }
    }

    /// The figures of the result record for the requests of all `classes`.
    pub fn summary_of_all(classes: &[LatencyStats]) -> Latency {
        Together(classes).summary()
    }

    /// The figures of the result record.
    pub fn summary(&self) -> Latency {
        LatencyStats::summary_of_all(std::slice::from_ref(self))
    }

    /// The distribution for a chart.
    pub fn tail(&self) -> ResponseTail {
        let together = Together(std::slice::from_ref(self));
        let n = self.count();
        if n == 0 {
            return vec![None; SLOWER_PPM.len()];
        }
        let slower = SLOWER_PPM.map(|ppm| (u128::from(n) * u128::from(ppm) / 1_000_000) as u64);
        let times = together.at_ranks(slower.map(|slower| n - slower));
        let known = |(slower, time)| (slower > 0).then_some(time);
        slower.into_iter().zip(times).map(known).collect()
    }
}

/// Several classes of requests, summed up together.
struct Together<'a>(&'a [LatencyStats]);

impl Together<'_> {
    /// All times, and how often each is there.
    #[inline]
    fn each(&self, mut f: impl FnMut(u64, u64)) {
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

    fn summary(&self) -> Latency {
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
    fn at_ranks<const N: usize>(&self, ranks: [u64; N]) -> [u64; N] {
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

/// Mean of a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeanTime {
    sum: u128,
    count: u64,
}

impl MeanTime {
    /// One more value.
    #[inline]
    pub fn add(&mut self, time: Nanos) {
        self.add_if(true, time);
    }

    /// One more value if it `counts`, without a branch.
    #[inline]
    pub fn add_if(&mut self, counts: bool, time: Nanos) {
        let counts = u64::from(counts);
        self.sum += u128::from(time.0 * counts);
        self.count += counts;
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
    use destage_types::rng::SplitMix64;

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

    /// Wherever an interval begins, and however long its times are, its figures are those of its times alone.
    #[test]
    fn an_interval_has_its_own_figures() {
        let mut rng = SplitMix64::new(7);
        for round in 0..60 {
            let usual = 1 << rng.below(20);
            let mut stats = LatencyStats::new(Nanos(usual));
            for _ in 0..8 {
                let mark = stats.mark();
                let mut alone = LatencyStats::new(Nanos(usual));
                for _ in 0..rng.below(150) {
                    let time = match rng.below(3) {
                        0 => usual,
                        _ => rng.below(1 << 40) >> rng.below(40),
                    };
                    stats.add(Nanos(time));
                    alone.add(Nanos(time));
                }
                assert_eq!(stats.since(mark).summary(), alone.summary(), "{round}");
            }
        }
    }

    #[test]
    fn the_tail_is_that_of_the_sorted_list() {
        for n in [0u64, 1, 7, 1000, 2_000_003] {
            let mut stats = LatencyStats::new(Nanos(40));
            let mut all: Vec<u64> = (0..n).map(|i| i * 7919 % 1_000_003).collect();
            all.iter().for_each(|&time| stats.add(Nanos(time)));
            all.sort_unstable();
            let at = |ppm: &u32| {
                let slower = n * u64::from(*ppm) / 1_000_000;
                (slower > 0).then(|| all[(n - slower - 1) as usize])
            };
            assert_eq!(stats.tail(), SLOWER_PPM.iter().map(at).collect::<Vec<_>>());
        }
    }

    #[test]
    fn percentiles_of_times_of_every_length() {
        let mut rng = SplitMix64::new(1);
        for n in [1u64, 2, 3, 999, 1000, 1001, 20_000] {
            let mut stats = LatencyStats::new(Nanos(1000));
            let time = |_| rng.below(1 << 54) >> rng.below(54);
            let mut all: Vec<u64> = (0..n).map(time).collect();
            all[0] = 1 << 54;
            all.iter().for_each(|&t| stats.add(Nanos(t)));
            all.sort_unstable();
            let s = stats.summary();
            let rank = |share: u64| Some(all[(n * share).div_ceil(10_000) as usize - 1]);
            let found = [s.p50, s.p95, s.p99, s.p999, s.p9999, s.max];
            let shares = [5000, 9500, 9900, 9990, 9999, 10_000];
            assert_eq!(found, shares.map(rank), "{n}");
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
        assert_eq!(LatencyStats::summary_of_all(&parts), whole.summary());
    }

    /// Usual times that differ, times of more than 32 bits, and folded ones beside exact ones.
    #[test]
    fn every_rank_is_that_of_the_sorted_list() {
        let mut rng = SplitMix64::new(11);
        for requests in [1, 10, 300] {
            let classes = [7u64, 7, 5_000_000_000].map(|usual| {
                let mut stats = LatencyStats::new(Nanos(usual));
                if rng.below(2) == 0 {
                    stats.bound(40);
                }
                for _ in 0..requests {
                    let time = rng.below(1 << 36) >> rng.below(36);
                    let time = if rng.below(3) == 0 { usual } else { time };
                    stats.add(Nanos(time));
                }
                stats
            });
            let (together, mut all) = (Together(&classes), Vec::new());
            together.each(|time, often| all.extend((0..often).map(|_| time)));
            all.sort_unstable();
            assert_eq!(all.len() as u64, 3 * requests);
            for first in 1..=all.len() as u64 - 2 {
                let ranks = [first, first + 1, first + 1, all.len() as u64];
                let wanted = ranks.map(|rank| all[rank as usize - 1]);
                assert_eq!(together.at_ranks(ranks), wanted, "{first} of {requests}");
            }
        }
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
    fn bounded_times_are_nearly_exact() {
        let (mut exact, mut bounded) = (LatencyStats::new(Nanos(5)), LatencyStats::new(Nanos(5)));
        bounded.bound(1000);
        let mut rng = SplitMix64::new(3);
        for n in 0..50_000 {
            if n == 900 {
                assert_eq!(bounded.summary(), exact.summary(), "none is folded yet");
            }
            let time = Nanos(rng.below(1 << 40) >> rng.below(40));
            exact.add(time);
            bounded.add(time);
            assert!(bounded.short.len() + bounded.long.len() <= 1000 + LAST);
        }
        let (exact, bounded) = (exact.summary(), bounded.summary());
        assert_eq!((exact.mean, exact.max), (bounded.mean, bounded.max));
        for (e, b) in [(exact.p50, bounded.p50), (exact.p99, bounded.p99)] {
            let (e, b) = (e.unwrap(), b.unwrap());
            assert!(b <= e && e - b <= e / 500, "{e} {b}");
        }
        let (e, b) = (exact.std.unwrap(), bounded.std.unwrap());
        assert!((b / e - 1.0).abs() < 0.004, "{e} {b}");
    }

    #[test]
    fn nothing_is_null() {
        assert_eq!(LatencyStats::new(Nanos(1)).summary(), Latency::default());
        assert_eq!(MeanTime::default().summary().mean, None);
    }
}
