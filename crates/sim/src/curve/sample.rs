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
use super::pages::each_page;
use super::{Curve, CurveCounts, CurveError, try_each};
use crate::RunError;
use crate::run::meter::Meter;
use crate::run::spec::{RunSpec, Warmup};
use destage_scheme::rng::mix64;
use destage_scheme::{Role, rng};
use destage_trace::{Trace, TraceError, Workload};
use destage_types::{ByteSize, Extent, HostRequest, Lpn, Op, PageSize, RequestBatch, SectorMask};
use std::collections::{BTreeMap, BTreeSet};

/// Groups of pages, each of which is left out once for the error.
pub const GROUPS: u64 = 8;

/// Bits of a hash that the threshold is compared with.
const HASH_BITS: u32 = 53;

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

#[derive(Clone, Copy)]
struct Picker {
    seed: u64,
    /// Hashes below it are in the sample.
    threshold: u64,
    /// The group that is left out.
    without: Option<u64>,
}

impl Picker {
    fn hash(&self, lpn: Lpn) -> u64 {
        mix64(lpn.0.wrapping_add(mix64(self.seed ^ 0x9E37_79B9_7F4A_7C15)))
    }

    fn picks(&self, lpn: Lpn) -> bool {
        let hash = self.hash(lpn);
        hash >> (64 - HASH_BITS) < self.threshold && self.without != Some(hash % GROUPS)
    }

    fn rate(&self) -> f64 {
        let rate = self.threshold as f64 / (1u64 << HASH_BITS) as f64;
        match self.without {
            Some(_) => rate * (GROUPS - 1) as f64 / GROUPS as f64,
            None => rate,
        }
    }

    /// The threshold below which `pages` different pages of the trace are.
    fn smallest(
        mut self,
        trace: Workload<'_>,
        page: PageSize,
        pages: u64,
        meter: &dyn Meter,
    ) -> Result<Picker, RunError> {
        let mut kept = BTreeSet::new();
        self.threshold = 1 << HASH_BITS;
        try_each(trace, meter, |_, request| {
            if !moves_data(request.head.op) {
                return;
            }
            each_page(request, page, |lpn, _| {
                let hash = self.hash(lpn) >> (64 - HASH_BITS);
                if hash < self.threshold && kept.insert((hash, lpn.0)) && kept.len() as u64 > pages
                {
                    let out = kept.pop_last().expect("more than one page is kept");
                    self.threshold = out.0;
                }
            });
        })?;
        Ok(self)
    }
}

fn moves_data(op: Op) -> bool {
    matches!(op, Op::Read | Op::Write)
}

/// The requests of the sampled pages.
struct Sample {
    trace: Trace,
    pages: BTreeSet<u64>,
    accesses: u64,
    /// Requests kept of the part before the measured one.
    warmup: u64,
}

fn sample(
    trace: Workload<'_>,
    page: PageSize,
    warmup: u64,
    picker: Picker,
    meter: &dyn Meter,
) -> Result<Sample, RunError> {
    let mut sample = Sample {
        trace: Trace {
            requests: RequestBatch::new(),
            meta: trace.meta.clone(),
        },
        pages: BTreeSet::new(),
        accesses: 0,
        warmup: 0,
    };
    let mut extents: Vec<Extent> = Vec::new();
    try_each(trace, meter, |i, request| {
        extents.clear();
        each_page(request, page, |lpn, mask| {
            if picker.picks(lpn) {
                extents.push(extent(lpn, mask, page));
                if moves_data(request.head.op) {
                    sample.accesses += 1;
                    sample.pages.insert(lpn.0);
                }
            }
        });
        let HostRequest { arrival, op, .. } = *request.head;
        match extents.split_first() {
            Some((first, more)) => {
                let head = HostRequest::new(arrival, op, first.start_sector, first.sectors);
                sample.trace.requests.push_with(head, more, &[]);
            }
            None if op == Op::Flush => sample.trace.requests.push(*request.head),
            None => return,
        }
        sample.warmup += u64::from(i < warmup);
    })?;
    sample.trace.meta.requests = sample.trace.requests.len() as u64;
    Ok(sample)
}

fn extent(lpn: Lpn, mask: SectorMask, page: PageSize) -> Extent {
    let before = u64::from(mask.0.trailing_zeros());
    Extent::new(page.first_sector(lpn) + before, mask.count())
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
        let expr = &self.base.expr;
        if !matches!(expr.scheme().role, Role::PagePolicy | Role::Offline) {
            return Err(CurveError::NotSampled(expr.to_string()));
        }
        let (warmup, passes) = self.base.warmup.resolve(self.trace.len())?;
        let picker = self.picker(sampling)?;
        let all = measured(self.trace, self.base.page, warmup, passes)?;
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
        let whole = self.estimate(picker, &all, warmup, passes, &frames)?;
        let mut without = Vec::new();
        if picker.threshold < 1 << HASH_BITS {
            for group in 0..GROUPS {
                let part = Picker {
                    without: Some(group),
                    ..picker
                };
                let share = part.rate() / picker.rate();
                let frames: Vec<f64> = scaled.iter().map(|frames| frames * share).collect();
                without.push(self.estimate(part, &all, warmup, passes, &frames)?.ratios);
            }
        }
        let estimate = |point: usize, kind: usize| {
            if scaled[point] < 1.0 {
                return None;
            }
            let n = scaled.len();
            let [smaller, value, larger] =
                [point, n + point, 2 * n + point].map(|i| whole.ratios[i][kind]);
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
        Ok(SampledCurve {
            rate: picker.rate(),
            sampled_pages: whole.pages,
            sampled_accesses: whole.accesses,
            points,
        })
    }

    fn picker(&self, sampling: &Sampling) -> Result<Picker, RunError> {
        let picker = Picker {
            seed: sampling.seed,
            threshold: 1 << HASH_BITS,
            without: None,
        };
        match sampling.size {
            SampleSize::Rate(rate) => {
                assert!(rate > 0.0 && rate <= 1.0, "a rate of {rate}");
                let threshold = rng::threshold(rate);
                Ok(Picker {
                    threshold,
                    ..picker
                })
            }
            SampleSize::Pages(pages) => {
                picker.smallest(self.trace, self.base.page, pages, self.meter)
            }
        }
    }

    fn estimate(
        &self,
        picker: Picker,
        all: &CurveCounts,
        warmup: u64,
        passes: u64,
        frames: &[f64],
    ) -> Result<Estimated, CurveError> {
        let page = self.base.page;
        let sample = sample(self.trace, page, warmup, picker, self.meter)?;
        let pages = sample.pages.len() as u64;
        if sample.warmup >= sample.trace.meta.requests * passes {
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
        Ok(Estimated {
            ratios: between.iter().map(|b| b.ratios(&of)).collect(),
            pages,
            accesses: sample.accesses,
        })
    }
}

struct Estimated {
    ratios: Vec<SampledRatios>,
    pages: u64,
    accesses: u64,
}

/// Accesses of the measured part of the whole trace.
fn measured(
    trace: Workload<'_>,
    page: PageSize,
    warmup: u64,
    passes: u64,
) -> Result<CurveCounts, TraceError> {
    let mut all = CurveCounts::default();
    // Passes before the last one are warm-up.
    let first = warmup - (passes - 1) * trace.len();
    trace.try_each(|i, request| {
        if i >= first && moves_data(request.head.op) {
            let mut pages = 0;
            each_page(request, page, |_, _| pages += 1);
            all.count(request.head.op, pages);
        }
        Ok::<(), TraceError>(())
    })?;
    Ok(all)
}
