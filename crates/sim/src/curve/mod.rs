//! Hit ratio against cache size.
//!
//! - [`Curve::exact`]: every size as `run` gives it. LRU needs one pass over the trace for all
//!   sizes at which it is a stack algorithm (`lru`, the module, says when it is not); other
//!   schemes, and the sizes that the pass cannot tell, are runs of their own, in parallel.
//! - [`Curve::sampled`]: the same on a part of the pages that a hash picks, with caches scaled
//!   down alike, and with the error that comes of it.

mod estimate;
mod lru;
mod octaves;
mod pages;
mod sample;
mod sampler;
mod stack;

pub use estimate::Estimate;
pub use sample::{
    LEAST_ACCESSES, SampleSize, SampledCurve, SampledPoint, Sampling, checked_by_runs,
};
pub use sampler::{GROUPS, PageSample, Sampler};

use crate::RunError;
use crate::run::meter::{Meter, SweepProgress, look};
use crate::run::runner::{Logs, Sweep};
use crate::run::spec::RunSpec;
use destage_record::CountFields;
use destage_record::counts::ratio;
use destage_trace::{TraceError, Workload};
use destage_types::{ByteSize, Op, PageSize, RequestRef};
use pages::{PageCount, each_page};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// Counts at one cache size over the measured part, named as in the result record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CurveCounts {
    /// Read requests.
    pub read_requests: u64,
    /// Write requests.
    pub write_requests: u64,
    /// Read requests whose pages all hit.
    pub read_request_hits: u64,
    /// Write requests whose pages all hit.
    pub write_request_hits: u64,
    /// Pages read.
    pub read_pages: u64,
    /// Pages written.
    pub write_pages: u64,
    /// Read pages that hit.
    pub read_page_hits: u64,
    /// Written pages that hit.
    pub write_page_hits: u64,
    /// Pages programmed for the host.
    pub flash_writes_host: u64,
}

impl CurveCounts {
    /// Pages read and written.
    pub fn page_accesses(&self) -> u64 {
        self.read_pages + self.write_pages
    }

    /// Read and written pages that hit.
    pub fn page_hits(&self) -> u64 {
        self.read_page_hits + self.write_page_hits
    }

    /// Hits per page access; `None` without one.
    pub fn page_hit_ratio(&self) -> Option<f64> {
        ratio(self.page_hits() as f64, self.page_accesses() as f64)
    }

    /// Hits per read page; `None` without one.
    pub fn read_page_hit_ratio(&self) -> Option<f64> {
        ratio(self.read_page_hits as f64, self.read_pages as f64)
    }

    /// Hits per written page; `None` without one.
    pub fn write_page_hit_ratio(&self) -> Option<f64> {
        ratio(self.write_page_hits as f64, self.write_pages as f64)
    }

    fn of(c: &CountFields) -> CurveCounts {
        CurveCounts {
            read_requests: c.read_requests,
            write_requests: c.write_requests,
            read_request_hits: c.read_request_hits,
            write_request_hits: c.write_request_hits,
            read_pages: c.read_pages,
            write_pages: c.write_pages,
            read_page_hits: c.read_page_hits,
            write_page_hits: c.write_page_hits,
            flash_writes_host: c.flash_writes_host,
        }
    }

    fn count(&mut self, op: Op, pages: u64) {
        let write = u64::from(op == Op::Write);
        self.write_requests += write;
        self.read_requests += 1 - write;
        *match op {
            Op::Write => &mut self.write_pages,
            _ => &mut self.read_pages,
        } += pages;
    }

    fn page_hits_mut(&mut self, op: Op) -> &mut u64 {
        match op {
            Op::Write => &mut self.write_page_hits,
            _ => &mut self.read_page_hits,
        }
    }

    fn request_hits_mut(&mut self, op: Op) -> &mut u64 {
        match op {
            Op::Write => &mut self.write_request_hits,
            _ => &mut self.read_request_hits,
        }
    }

    fn add_hits(&mut self, more: &CurveCounts) {
        self.read_page_hits += more.read_page_hits;
        self.write_page_hits += more.write_page_hits;
        self.read_request_hits += more.read_request_hits;
        self.write_request_hits += more.write_request_hits;
    }

    fn with_accesses_of(self, all: &CurveCounts) -> CurveCounts {
        CurveCounts {
            read_requests: all.read_requests,
            write_requests: all.write_requests,
            read_pages: all.read_pages,
            write_pages: all.write_pages,
            ..self
        }
    }
}

/// How a point was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// One pass for all sizes.
    OnePass,
    /// A run through the cache core.
    Run,
}

/// One size of an exact curve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CurvePoint {
    /// Cache size as given.
    pub cache: ByteSize,
    /// Page frames.
    pub pages: u32,
    /// The counts.
    pub counts: CurveCounts,
    /// How it was found; the counts do not depend on it.
    pub method: Method,
}

/// Why there is no curve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CurveError {
    /// A run cannot start.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The trace cannot be read again.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Sampling changes what the scheme is about.
    #[error(
        "{0} cannot be sampled: picking pages one by one tears apart the requests and groups of \
         pages that it goes by; leave sampling out"
    )]
    NotSampled(String),
    /// Too little is left.
    #[error("the sample of {pages} pages leaves no request to measure; use a larger one")]
    EmptySample {
        /// Pages in the sample.
        pages: u64,
    },
}

/// A curve that is asked for.
pub struct Curve<'a> {
    /// The trace.
    pub trace: Workload<'a>,
    /// Scheme and settings; without a device, its cache size is not looked at.
    pub base: &'a RunSpec,
    /// Cache sizes in the order of the points.
    pub sizes: &'a [ByteSize],
    /// Threads, at least 1.
    pub jobs: usize,
    /// Counts the requests served by all runs; a pass over all sizes counts once.
    pub progress: &'a SweepProgress,
    /// Measures each run.
    pub meter: &'a dyn Meter,
}

impl Curve<'_> {
    fn spec(&self, cache: ByteSize) -> RunSpec {
        RunSpec {
            cache,
            ..self.base.clone()
        }
    }

    /// The points in the order of the sizes.
    ///
    /// # Errors
    /// A size that the scheme refuses, a warm-up that covers the trace, or the program takes too much
    /// memory.
    pub fn exact(&self) -> Result<Vec<CurvePoint>, CurveError> {
        let specs: Vec<RunSpec> = self.sizes.iter().map(|&size| self.spec(size)).collect();
        let mut capacities = Vec::with_capacity(specs.len());
        for spec in &specs {
            spec.check()?;
            capacities.push(spec.capacity()?);
        }
        let passed = self.one_pass(&capacities)?;
        let lost = |i: &usize| passed[*i].is_none();
        let left: Vec<usize> = (0..specs.len()).filter(lost).collect();
        let runs: Vec<RunSpec> = left.iter().map(|&i| specs[i].clone()).collect();
        let sweep = Sweep {
            trace: self.trace,
            runs: &runs,
            jobs: self.jobs,
            version: "",
            progress: self.progress,
            devices: None,
            meter: self.meter,
        };
        let mut records = sweep.execute(&|_| Logs::default())?.into_iter();
        let points = passed.iter().enumerate().map(|(i, passed)| {
            let (counts, method) = match passed {
                Some(counts) => (*counts, Method::OnePass),
                None => {
                    let record = records.next().expect("a record for each run");
                    (CurveCounts::of(&record.counts), Method::Run)
                }
            };
            CurvePoint {
                cache: specs[i].cache,
                pages: capacities[i],
                counts,
                method,
            }
        });
        Ok(points.collect())
    }

    /// Counts of one pass at each of the capacities; `None` where a run is needed.
    fn one_pass(&self, capacities: &[u32]) -> Result<Vec<Option<CurveCounts>>, RunError> {
        let plain = self.base.expr.scheme().recency_stack && self.base.device.is_none();
        if !plain || !self.base.resolved_read_alloc() {
            return Ok(vec![None; capacities.len()]);
        }
        let requests = self.trace.len();
        let (warmup, passes) = self.base.warmup.resolve(requests)?;
        let sizes: BTreeSet<u32> = capacities.iter().copied().collect();
        let sizes: Vec<u32> = sizes.into_iter().collect();
        let pass = lru::Pass {
            page: self.base.page,
            read_fill: self.base.read_fill,
            warmup,
            passes,
            sizes: &sizes,
        };
        let found = lru::one_pass(self.trace, &pass, self.meter)?;
        let served = &self.progress.requests;
        served.fetch_add(passes * requests, Ordering::Relaxed);
        let of = |pages: &u32| found[sizes.partition_point(|size| size < pages)];
        Ok(capacities.iter().map(of).collect())
    }
}

/// Different pages that the trace reads or writes: the size at which no cache grows any more.
///
/// # Errors
/// The trace cannot be read again, or the program takes too much memory.
pub fn footprint(trace: Workload<'_>, page: PageSize, meter: &dyn Meter) -> Result<u64, RunError> {
    let mut count = PageCount::default();
    try_each(trace, meter, |_, request| {
        if matches!(request.head.op, Op::Read | Op::Write) {
            each_page(request, page, |lpn, _| count.touch(lpn));
        }
    })?;
    Ok(count.pages)
}

/// Requests of a pass between two looks at the memory of the program.
const LOOK_EVERY: u64 = 4_096;

/// Calls `f` with every request and its number.
///
/// # Errors
/// As [`footprint`].
fn try_each(
    trace: Workload<'_>,
    meter: &dyn Meter,
    mut f: impl FnMut(u64, RequestRef<'_>),
) -> Result<(), RunError> {
    trace.try_each(|i, request| {
        f(i, request);
        if (i + 1).is_multiple_of(LOOK_EVERY) {
            look(meter, i)
        } else {
            Ok(())
        }
    })
}
