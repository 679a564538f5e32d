//! Curves from a sample of the pages.
//!
//! A page is in the sample if its hash is below a threshold, so all of its accesses are or none
//! (SHARDS: Waldspurger et al., Efficient MRC Construction with SHARDS, FAST 2015). The sampled
//! requests go through caches scaled down by the share of pages (Waldspurger et al., Cache
//! Modeling and Optimization using Miniature Simulations, USENIX ATC 2017). The sample has a few
//! more or fewer accesses than its share; like SHARDS-adj, the difference is counted as hits,
//! because it is the few hottest pages that make it.
//!
//! The error is a standard error by the jackknife: the pages fall into [`GROUPS`] groups, each is
//! left out once, and the whole estimate is made anew, distances included. Estimates beyond 0 and 1 are
//! cut off only at the end: a hit ratio near 0 would have no error otherwise.
//!
//! The interval is that of the cache with one standard deviation fewer and more pages: as many pages as
//! the cache has are in the sample with a binomial distribution, and where many distances are alike, the
//! jackknife sees nothing of that.
//!
//! A cache of which less than one frame is left has no estimate, and one of few frames lies between two
//! caches of whole frames.

use super::estimate::{Between, Estimate, SampledRatios, error, ratios};
use super::sampler::{GROUPS, PagePicker, PageSample, SampledRequests, Sampler};
use super::{Curve, CurveCounts, CurveError, LOOK_EVERY};
use crate::run::spec::{RunSpec, Warmup};
use destage_scheme::Role;
use destage_types::ByteSize;
use std::collections::{BTreeMap, BTreeSet};

/// How large the sample is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SampleSize {
    /// Share of the pages, above 0 and at most 1.
    Rate(f64),
    /// The pages with the smallest hashes, so many; all if the trace has no more.
    Pages(u64),
}

/// Which pages are in the sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampling {
    /// How many.
    pub size: SampleSize,
    /// Seed of the hash.
    pub seed: u64,
}

/// One size of a sampled curve. A ratio without a denominator is `None`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SampledPoint {
    /// Cache size as given.
    pub cache: ByteSize,
    /// Page frames of that cache.
    pub pages: u32,
    /// Page frames of the cache that stands for it. Below one there is no estimate.
    pub scaled_pages: f64,
    /// Hits per page access.
    pub page_hit_ratio: Option<Estimate>,
    /// Hits per read page.
    pub read_page_hit_ratio: Option<Estimate>,
    /// Hits per written page.
    pub write_page_hit_ratio: Option<Estimate>,
}

/// A curve from a sample.
#[derive(Clone, PartialEq, Debug)]
pub struct SampledCurve {
    /// Share of the pages that the threshold picks.
    pub rate: f64,
    /// Pages in the sample.
    pub sampled_pages: u64,
    /// Page accesses in the sample, warm-up included.
    pub sampled_accesses: u64,
    /// The points in the order of the sizes.
    pub points: Vec<SampledPoint>,
}

impl Curve<'_> {
    /// The curve from a sample of the pages.
    ///
    /// # Errors
    /// Those of [`Curve::exact`]; the scheme is none of single pages, or the sample is empty.
    ///
    /// # Panics
    /// If the rate is not above 0 and at most 1.
    pub fn sampled(&self, sampling: &Sampling) -> Result<SampledCurve, CurveError> {
        self.check_sampled()?;
        let (warmup, passes) = self.base.warmup.resolve(self.trace.len())?;
        // Passes before the last one are warm-up.
        let first = warmup - (passes - 1) * self.trace.len();
        let mut sampler = Sampler::new(self.base.page, sampling, first);
        let mut requests = self.trace.pass()?;
        while let Some(block) = requests.next(LOOK_EVERY)? {
            sampler.add(block, self.meter)?;
        }
        self.of_sample(&sampler.finish(self.trace.meta.clone()))
    }

    fn check_sampled(&self) -> Result<(), CurveError> {
        let expr = &self.base.expr;
        match expr.scheme().role {
            Role::PagePolicy | Role::Offline => Ok(()),
            _ => Err(CurveError::NotSampled(expr.to_string())),
        }
    }

    /// The curve from a sample, which was taken for the page size and the warm-up of the curve.
    ///
    /// # Errors
    /// As [`Curve::sampled`].
    pub fn of_sample(&self, sample: &PageSample) -> Result<SampledCurve, CurveError> {
        self.check_sampled()?;
        let (_, passes) = self.base.warmup.resolve(sample.requests)?;
        let picker = sample.picker;
        let mut scaled = Vec::with_capacity(self.sizes.len());
        for &size in self.sizes {
            scaled.push(f64::from(self.spec(size).capacity()?) * picker.rate());
        }
        let part = 1.0 - picker.rate();
        let beside = |sign: f64| {
            scaled
                .iter()
                .map(move |n| (n + sign * libm::sqrt(n * part)).max(0.0))
        };
        let frames: Vec<f64> = beside(-1.0)
            .chain(scaled.iter().copied())
            .chain(beside(1.0))
            .collect();
        let whole = self.estimate(&sample.sample, picker, &sample.all, passes, &frames)?;
        let mut without = Vec::new();
        if !picker.picks_all() {
            for group in 0..GROUPS {
                let part = picker.without(group);
                let share = part.rate() / picker.rate();
                let frames: Vec<f64> = scaled.iter().map(|frames| frames * share).collect();
                let left = sample.sample.restricted_to(self.base.page, part);
                without.push(self.estimate(&left, part, &sample.all, passes, &frames)?);
            }
        }
        let estimate = |point: usize, kind: usize| {
            if scaled[point] < 1.0 {
                return None;
            }
            let n = scaled.len();
            let [smaller, value, larger] =
                [point, n + point, 2 * n + point].map(|i| whole[i][kind]);
            let values = [smaller?, value?, larger?];
            let others: Vec<_> = without.iter().map(|r| r[point][kind]).collect();
            let error = if others.is_empty() {
                0.0
            } else {
                error(&others)
            };
            Some(Estimate::between(values, error))
        };
        let mut points = Vec::with_capacity(self.sizes.len());
        for (i, &cache) in self.sizes.iter().enumerate() {
            points.push(SampledPoint {
                cache,
                pages: self.spec(cache).capacity()?,
                scaled_pages: scaled[i],
                page_hit_ratio: estimate(i, 0),
                read_page_hit_ratio: estimate(i, 1),
                write_page_hit_ratio: estimate(i, 2),
            });
        }
        let (sampled_pages, sampled_accesses) = sample.sample.pages_and_accesses(self.base.page);
        Ok(SampledCurve {
            rate: picker.rate(),
            sampled_pages,
            sampled_accesses,
            points,
        })
    }

    /// Hit ratios of caches of so many frames under a sample.
    fn estimate(
        &self,
        sample: &SampledRequests,
        picker: PagePicker,
        all: &CurveCounts,
        passes: u64,
        frames: &[f64],
    ) -> Result<Vec<SampledRatios>, CurveError> {
        let page = self.base.page;
        if sample.warmup >= sample.trace.meta.requests * passes {
            let (pages, _) = sample.pages_and_accesses(page);
            return Err(CurveError::EmptySample { pages });
        }
        let rate = picker.rate();
        let between: Vec<Between> = frames.iter().map(|&frames| Between::of(frames)).collect();
        let frames = between.iter().flat_map(|b| [b.below, b.above]);
        // Without a frame nothing hits, which needs no run but the number of accesses.
        let frames: BTreeSet<u64> = frames.filter(|&frames| frames > 0).chain([1]).collect();
        let sizes: Vec<ByteSize> = frames
            .iter()
            .map(|frames| ByteSize(frames * page.bytes()))
            .collect();
        let base = RunSpec {
            warmup: match self.base.warmup {
                Warmup::Passes(_) | Warmup::None => self.base.warmup,
                Warmup::Requests(_) | Warmup::Millionths(_) => Warmup::Requests(sample.warmup),
            },
            ..self.base.clone()
        };
        let curve = Curve {
            trace: (&sample.trace).into(),
            base: &base,
            sizes: &sizes,
            ..*self
        };
        let points = curve.exact()?;
        let found = points.iter().map(|p| ratios(&p.counts, all, rate));
        let mut of: BTreeMap<u64, SampledRatios> = frames.into_iter().zip(found).collect();
        let empty = CurveCounts {
            read_page_hits: 0,
            write_page_hits: 0,
            ..points[0].counts
        };
        of.insert(0, ratios(&empty, all, rate));
        Ok(between.iter().map(|b| b.ratios(&of)).collect())
    }
}
