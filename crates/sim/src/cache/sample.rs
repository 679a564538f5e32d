//! Measures that are sampled during a run rather than counted.

use crate::run::run_cache::CacheState;
use destage_record::{ListPages, Unbalance};
use destage_scheme::View;
use destage_scheme::cqct::Cqct;
use destage_types::ChipId;

/// Requests between two samples of metadata and list lengths (Req-block section 4.2.6).
pub const SAMPLE_EVERY: u64 = 10_000;

/// Metadata and list lengths, sampled every [`SAMPLE_EVERY`] requests.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    meta_bytes_sum: u128,
    count: u64,
    /// Pages in the lists of Req-block, one entry per sample.
    pub list_pages: Vec<ListPages>,
}

impl Samples {
    /// Takes a sample after `requests` measured requests.
    pub(crate) fn take(&mut self, cache: &dyn CacheState, requests: u64) {
        self.meta_bytes_sum += u128::from(cache.metadata_bytes());
        self.count += 1;
        self.list_pages.extend(list_pages(cache, requests));
    }

    /// Leaves out every second sample of lists while there are more than `most`.
    pub fn thin(&mut self, most: usize) {
        while self.list_pages.len() > most {
            let mut keep = false;
            self.list_pages.retain(|_| {
                keep = !keep;
                !keep
            });
        }
    }

    /// Mean metadata in bytes; `None` without a sample.
    pub fn meta_bytes_mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.meta_bytes_sum as f64 / self.count as f64)
    }
}

/// Pages in the three lists of Req-block; `None` for other schemes.
pub(crate) fn list_pages(cache: &dyn CacheState, request: u64) -> Option<ListPages> {
    let stats = cache.stats();
    Some(ListPages {
        request,
        irl: stats.get("irl_pages")?,
        srl: stats.get("srl_pages")?,
        drl: stats.get("drl_pages")?,
    })
}

/// How many evictions removed how many pages.
#[derive(Clone, Debug, Default)]
pub struct PagesHistogram {
    /// By number of pages, all but those of [`PagesHistogram::add_one`].
    evictions: Vec<u64>,
    ones: u64,
}

impl PagesHistogram {
    /// Empty, with room for evictions of up to `pages` pages.
    pub fn new(pages: usize) -> PagesHistogram {
        PagesHistogram {
            evictions: Vec::with_capacity(pages + 1),
            ones: 0,
        }
    }

    /// An eviction removed `pages` pages.
    #[inline]
    pub fn add(&mut self, pages: usize) {
        if pages >= self.evictions.len() {
            self.evictions.resize(pages + 1, 0);
        }
        self.evictions[pages] += 1;
    }

    /// An eviction removed one page, as most do.
    #[inline(always)]
    pub fn add_one(&mut self) {
        self.ones += 1;
    }

    /// How often [`PagesHistogram::add_one`] was told.
    pub fn ones(&self) -> u64 {
        self.ones
    }

    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        self.evictions.fill(0);
        self.ones = 0;
    }

    /// (pages, evictions) in ascending order, without empty rows.
    pub fn rows(&self) -> Vec<(u64, u64)> {
        let rows = (0..self.evictions.len().max(2)).map(|pages| {
            let ones = if pages == 1 { self.ones } else { 0 };
            let others = self.evictions.get(pages).copied().unwrap_or(0);
            (pages as u64, ones + others)
        });
        rows.filter(|r| r.1 > 0).collect()
    }
}

/// How unevenly the chip queues are filled: max CQCT / mean CQCT over the chips, sampled before
/// each dirty eviction (ECR Fig. 4). CQCT is that of Equations 1-4 with their
/// defaults, whatever the scheme.
#[derive(Clone, Debug)]
pub struct QueueSampler {
    cqct: Cqct,
    chips: u32,
    /// Samples by ten times their rate, rounded up.
    tenths: Vec<u64>,
    above_10: u64,
    samples: u64,
    undefined: u64,
    rates: f64,
}

impl QueueSampler {
    /// A sampler for a device of `chips` queues.
    pub fn new(chips: u32) -> QueueSampler {
        QueueSampler {
            cqct: Cqct::DEFAULT,
            chips,
            tenths: vec![0; 10 * chips as usize + 1],
            above_10: 0,
            samples: 0,
            undefined: 0,
            rates: 0.0,
        }
    }

    /// Looks at the queues as they are now.
    pub fn take(&mut self, view: &View) {
        let (mut sum, mut most) = (0, 0);
        for chip in (0..self.chips).map(ChipId) {
            let time = u128::from(self.cqct.of_chip(chip, view).0);
            sum += time;
            most = time.max(most);
        }
        self.add(most, sum);
    }

    fn add(&mut self, most: u128, sum: u128) {
        if sum == 0 {
            self.undefined += 1;
            return;
        }
        let scaled = most * u128::from(self.chips);
        self.samples += 1;
        self.rates += scaled as f64 / sum as f64;
        self.above_10 += u64::from(scaled > 10 * sum);
        // The rate lies between 1 and the number of chips.
        self.tenths[(10 * scaled).div_ceil(sum) as usize] += 1;
    }

    /// Forgets the samples but keeps the memory.
    pub fn clear(&mut self) {
        self.tenths.fill(0);
        (self.above_10, self.samples, self.undefined) = (0, 0, 0);
        self.rates = 0.0;
    }

    /// Sum of the rates so far, and how many they are.
    pub(crate) fn rates(&self) -> (f64, u64) {
        (self.rates, self.samples)
    }

    /// The measure of the record; the rates of its CDF are rounded up to tenths.
    pub fn report(&self) -> Unbalance {
        let share = |part: u64| part as f64 / self.samples as f64;
        let mut below = 0;
        let rows = self.tenths.iter().enumerate().filter(|row| *row.1 > 0);
        let cdf = rows.map(|(tenths, n)| {
            below += n;
            (tenths as f64 / 10.0, share(below))
        });
        Unbalance {
            cdf: cdf.collect(),
            share_above_10: (self.samples > 0).then(|| share(self.above_10)),
            samples: self.samples,
            undefined: self.undefined,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_queues() {
        let mut sampler = QueueSampler::new(16);
        assert_eq!(sampler.report(), Unbalance::default());
        // All alike; one chip alone; [300, 100, 0, ...] on 16 chips; idle.
        for (most, sum) in [(5, 80), (7, 7), (300, 400), (0, 0), (0, 0)] {
            sampler.add(most, sum);
        }
        let report = sampler.report();
        assert_eq!((report.samples, report.undefined), (3, 2));
        assert_eq!(report.share_above_10, Some(2.0 / 3.0));
        assert_eq!(
            report.cdf,
            [(1.0, 1.0 / 3.0), (12.0, 2.0 / 3.0), (16.0, 1.0)]
        );
        sampler.clear();
        assert_eq!(sampler.report(), Unbalance::default());
        // 10 itself is not above 10; a little more is, and is rounded up to 10.1.
        sampler.add(1000, 1600);
        sampler.add(1001, 1600);
        let report = sampler.report();
        assert_eq!(report.cdf, [(10.0, 0.5), (10.1, 1.0)]);
        assert_eq!(report.share_above_10, Some(0.5));
    }

    #[test]
    fn the_example_of_the_definition() {
        let mut sampler = QueueSampler::new(4);
        sampler.add(300, 400);
        let report = sampler.report();
        assert_eq!(report.cdf, [(3.0, 1.0)]);
        assert_eq!(report.share_above_10, Some(0.0));
    }
}
