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
//! What a scheme counts in frames or accesses is scaled with the cache ([`Expr::scaled`]).
//!
//! Small caches of LRU are like large ones. Those of other schemes need not be: a page that leaves SIEVE
//! with the next insertion stays 50 times as long in a sample of 2 %. The sample cannot tell, so two runs over
//! all pages do, [`checked_by_runs`]. What they differ by from the sample corrects the other sizes and widens
//! their intervals.
//!
//! A scaled cache of less than one frame has no estimate, nor has one that is too small for the scheme, nor has a ratio of
//! fewer than [`LEAST_ACCESSES`]. A cache of few frames lies between two caches of whole frames.

use super::estimate::{Between, Estimate, KnownSize, SampledRatios, SampledSize, ratios};
use super::sampler::{GROUPS, PagePicker, PageSample, SampledRequests, Sampler};
use super::{Curve, CurveCounts, CurveError, LOOK_EVERY};
use crate::run::spec::{RunSpec, Warmup};
use destage_scheme::{Expr, Role};
use destage_types::ByteSize;
use std::collections::{BTreeMap, BTreeSet};

/// Accesses from which on a sample tells a ratio: groups of fewer are alike by chance, and then show no error.
pub const LEAST_ACCESSES: u64 = 8 * GROUPS;

/// Needs a sampled curve of this scheme two runs over all pages, because small caches are not like large ones?
pub fn checked_by_runs(expr: &Expr) -> bool {
    !expr.scheme().recency_stack
}

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
    /// Page frames of the cache that stands for it. Below one, and below the least of the scheme, there is no estimate.
    pub scaled_pages: f64,
    /// Are the ratios those of a run over all pages?
    pub by_run: bool,
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
        let single = matches!(expr.scheme().role, Role::PagePolicy | Role::Offline);
        let by_blocks = |e: &Expr| e.scheme().param("block-pages").is_some();
        match single && !expr.schemes().any(by_blocks) {
            true => Ok(()),
            false => Err(CurveError::NotSampled(expr.to_string())),
        }
    }

    /// The curve from a sample, which was taken for the page size and the warm-up of the curve.
    ///
    /// # Errors
    /// As [`Curve::sampled`].
    ///
    /// # Panics
    /// If the curve is [`checked_by_runs`], and its trace is not the one that was sampled.
    pub fn of_sample(&self, sample: &PageSample) -> Result<SampledCurve, CurveError> {
        self.check_sampled()?;
        let mut pages = Vec::with_capacity(self.sizes.len());
        for &size in self.sizes {
            pages.push(self.spec(size).capacity()?);
        }
        let sampled = self.sampled_sizes(sample, &pages)?;
        let runs = match sample.picker.picks_all() || !checked_by_runs(&self.base.expr) {
            true => BTreeMap::new(),
            false => {
                assert_eq!(self.trace.len(), sample.requests, "the sampled trace");
                self.some_runs(&pages, &sampled)?
            }
        };
        let of_pages: BTreeMap<u32, &SampledSize> = pages.iter().copied().zip(&sampled).collect();
        let known: Vec<KnownSize<'_>> = runs
            .iter()
            .map(|(pages, &ratios)| KnownSize {
                sampled: of_pages[pages],
                ratios,
            })
            .collect();
        let points = pages.iter().zip(&sampled).zip(self.sizes);
        let points = points.map(|((pages, sampled), &cache)| {
            let run = runs.get(pages);
            let estimate = |kind: usize| match run {
                Some(ratios) => ratios[kind].map(Estimate::sure),
                None => sampled.estimate(kind, &known),
            };
            SampledPoint {
                cache,
                pages: *pages,
                scaled_pages: sampled.frames,
                by_run: run.is_some(),
                page_hit_ratio: estimate(0),
                read_page_hit_ratio: estimate(1),
                write_page_hit_ratio: estimate(2),
            }
        });
        let (sampled_pages, sampled_accesses) = sample.sample.pages_and_accesses(self.base.page);
        Ok(SampledCurve {
            rate: sample.picker.rate(),
            sampled_pages,
            sampled_accesses,
            points: points.collect(),
        })
    }

    /// Runs over all pages at two sizes that have an estimate: the smallest, where scaled caches differ most, and
    /// the middle one.
    fn some_runs(
        &self,
        pages: &[u32],
        sampled: &[SampledSize],
    ) -> Result<BTreeMap<u32, SampledRatios>, CurveError> {
        let both = pages.iter().zip(self.sizes).zip(sampled);
        let estimated = both.filter(|(_, sampled)| sampled.estimate(0, &[]).is_some());
        let estimated: BTreeMap<u32, ByteSize> = estimated
            .map(|((&pages, &size), _)| (pages, size))
            .collect();
        let sizes: Vec<ByteSize> = estimated.into_values().collect();
        let Some(&smallest) = sizes.first() else {
            return Ok(BTreeMap::new());
        };
        let middle = sizes[sizes.len() / 2];
        let sizes = BTreeSet::from([smallest.0, middle.0]);
        let sizes: Vec<ByteSize> = sizes.into_iter().map(ByteSize).collect();
        let points = Curve {
            sizes: &sizes,
            ..*self
        }
        .exact()?;
        let ratios = |c: &CurveCounts| {
            [
                c.page_hit_ratio(),
                c.read_page_hit_ratio(),
                c.write_page_hit_ratio(),
            ]
        };
        let known = points.iter().map(|p| (p.pages, ratios(&p.counts)));
        Ok(known.collect())
    }

    /// The sample's view of caches of so many pages.
    fn sampled_sizes(
        &self,
        sample: &PageSample,
        pages: &[u32],
    ) -> Result<Vec<SampledSize>, CurveError> {
        let picker = sample.picker;
        let (_, passes) = self.base.warmup.resolve(sample.requests)?;
        let scaled: Vec<f64> = pages
            .iter()
            .map(|&n| f64::from(n) * picker.rate())
            .collect();
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
        let n = scaled.len();
        let size = |(i, &frames): (usize, &f64)| SampledSize {
            frames,
            beside: [whole[i], whole[n + i], whole[2 * n + i]],
            without: Vec::new(),
        };
        let mut sizes: Vec<SampledSize> = scaled.iter().enumerate().map(size).collect();
        if picker.picks_all() {
            return Ok(sizes);
        }
        for group in 0..GROUPS {
            let part = picker.without(group);
            let share = part.rate() / picker.rate();
            let frames: Vec<f64> = scaled.iter().map(|frames| frames * share).collect();
            let left = sample.sample.restricted_to(self.base.page, part);
            let found = self.estimate(&left, part, &sample.all, passes, &frames)?;
            for (size, ratios) in sizes.iter_mut().zip(found) {
                size.without.push(ratios);
            }
        }
        Ok(sizes)
    }

    /// Hit ratios of caches of so many frames under a sample; `None` below the least of the scheme.
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
        let size_of = |frames: u64| ByteSize(frames * page.bytes());
        let base = RunSpec {
            expr: self.base.expr.scaled(rate),
            warmup: match self.base.warmup {
                Warmup::Passes(_) | Warmup::None => self.base.warmup,
                Warmup::Requests(_) | Warmup::Millionths(_) => Warmup::Requests(sample.warmup),
            },
            ..self.base.clone()
        };
        let works = |&frames: &u64| {
            let cache = size_of(frames);
            let at = RunSpec {
                cache,
                ..base.clone()
            };
            frames > 0 && at.check().is_ok()
        };
        let frames = between.iter().flat_map(|b| [b.below, b.above]);
        let frames: BTreeSet<u64> = frames
            .collect::<BTreeSet<_>>()
            .into_iter()
            .filter(works)
            .collect();
        let sizes: Vec<ByteSize> = frames.iter().copied().map(size_of).collect();
        let curve = Curve {
            trace: (&sample.trace).into(),
            base: &base,
            sizes: &sizes,
            ..*self
        };
        let points = curve.exact()?;
        let found = points.iter().map(|p| ratios(&p.counts, all, rate));
        let mut of: BTreeMap<u64, SampledRatios> = frames.into_iter().zip(found).collect();
        // Without a frame nothing hits, which needs no run but the number of accesses.
        let counted = sample.measured_accesses(page);
        of.insert(0, ratios(&counted, all, rate));
        let accesses = [
            counted.page_accesses(),
            counted.read_pages,
            counted.write_pages,
        ];
        let enough = accesses.map(|n| picker.picks_all() || n >= LEAST_ACCESSES);
        let told = |ratios: SampledRatios| {
            std::array::from_fn(|kind| ratios[kind].filter(|_| enough[kind]))
        };
        Ok(between.iter().map(|b| told(b.ratios(&of))).collect())
    }
}
