//! Response times: mean, deviation and exact percentiles.

mod folded_times;
mod percentiles;

use destage_record::profile::{ResponseTail, SLOWER_PPM};
use destage_record::{Latencies, Latency, MeanNs};
use destage_types::{Nanos, Op};
use folded_times::FoldedTimes;
use percentiles::Together;

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
mod tests;
