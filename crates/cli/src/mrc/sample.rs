//! The sample of pages that curves are estimated from, taken while the trace is read.

use crate::args::MrcArgs;
use destage_console::failure::Failure;
use destage_console::terminal::Warnings;
use destage_experiment::counting::{LOOK, each_block};
use destage_experiment::failures::{run_failure_at, trace_failure};
use destage_experiment::memory::MemoryLimit;
use destage_experiment::run::{Clocks, load};
use destage_sim::curve::{PageSample, SampleSize, Sampler, Sampling};
use destage_sim::{Touched, TouchedCount, Warmup};
use destage_trace::{RequestSlice, Source, Stored, TraceMeta, Workload};

/// A sample, and the trace that it was taken from.
pub struct TraceSample {
    origin: Origin,
    pub pages: PageSample,
}

/// The trace of a sample.
enum Origin {
    /// Its requests are gone.
    Gone(TraceMeta),
    Stored(Stored),
}

impl TraceSample {
    /// The whole trace.
    pub fn meta(&self) -> &TraceMeta {
        match &self.origin {
            Origin::Gone(meta) => meta,
            Origin::Stored(stored) => stored.meta(),
        }
    }

    /// The requests of the whole trace, if they were kept.
    pub fn whole(&self) -> Option<Workload<'_>> {
        match &self.origin {
            Origin::Gone(_) => None,
            Origin::Stored(stored) => Some(stored.workload()),
        }
    }

    /// Different pages that the whole trace reads or writes, if sizes depend on that.
    pub fn footprint(&self) -> u64 {
        let counted = self.pages.footprint();
        counted.expect("the sampler counts pages if sizes depend on them")
    }
}

/// The share of the pages that is in the sample.
fn sample_rate(size: SampleSize, touched: Touched) -> f64 {
    match size {
        SampleSize::Rate(rate) => rate,
        SampleSize::Pages(pages) => (pages as f64 / touched.pages.max(1) as f64).min(1.0),
    }
}

/// Reads the trace and samples its pages. Keeps the whole trace if `keep` is set.
///
/// # Errors
/// Bad input, or there is not memory enough for the sample.
pub fn take(
    args: &MrcArgs,
    size: SampleSize,
    keep: bool,
    warnings: &mut Warnings,
) -> Result<TraceSample, Failure> {
    let options = super::load_options(args);
    let warmup = args.hits.warmup.unwrap_or_default();
    // Where a share of the requests ends is known when all are read.
    let first = match warmup {
        Warmup::Millionths(_) => None,
        Warmup::Requests(first) => Some(first),
        // Passes before the last one are warm-up.
        Warmup::None | Warmup::Passes(_) => Some(0),
    };
    if let (Some(first), false) = (first, keep) {
        let mut taking = Taking::new(args, size, first);
        let meta = each_block(&args.trace, &options, warnings, |block| taking.add(block))?;
        return taking.finish(Origin::Gone(meta));
    }
    let memory = args.memory.of_requests(args.limit.limit());
    let stored = load(&args.trace, &options, memory, warnings)?;
    let trace = stored.workload();
    let first = match first {
        Some(first) => first,
        None => {
            let first = warmup.resolve(trace.len());
            first
                .map_err(|error| run_failure_at(&trace.meta.name, error))?
                .0
        }
    };
    let mut taking = Taking::new(args, size, first);
    taking.held = trace.memory();
    let mut pass = trace.pass().map_err(trace_failure)?;
    while let Some(block) = pass.next(LOOK).map_err(trace_failure)? {
        taking.add(block)?;
    }
    drop(pass);
    taking.finish(match keep {
        true => Origin::Stored(stored),
        false => Origin::Gone(stored.into_meta()),
    })
}

/// Takes a sample as long as there is memory for it.
struct Taking {
    name: String,
    size: SampleSize,
    limit: MemoryLimit,
    meter: Clocks,
    touched: TouchedCount,
    /// Without sizes, those that are usual for all pages are taken, for which these are counted.
    counts: bool,
    sampler: Sampler,
    /// Memory beside the sample.
    held: u64,
    /// The most memory that was needed so far, in bytes.
    needs: u64,
}

impl Taking {
    fn new(args: &MrcArgs, size: SampleSize, first: u64) -> Taking {
        let page = args.pages.page();
        let seed = args.random.seed();
        let counts = super::sizes_need_footprint(args);
        let sampler = Sampler::new(page, &Sampling { size, seed }, first);
        let limit = args.limit.limit();
        Taking {
            name: Source::from_arg(&args.trace).trace_name(),
            size,
            limit,
            meter: Clocks::new(limit),
            touched: TouchedCount::new(page),
            counts,
            sampler: if counts { sampler.counting() } else { sampler },
            held: 0,
            needs: 0,
        }
    }

    /// Samples requests, unless those so far need more memory than there is: then the rest is counted only, for
    /// the message.
    fn add(&mut self, block: RequestSlice<'_>) -> Result<(), Failure> {
        for head in block.records {
            self.touched.add(block.batch.with_sides(head));
        }
        let touched = self.touched.touched();
        let counted = if self.counts { touched.of_count() } else { 0 };
        let sampled = touched.of_sample(sample_rate(self.size, touched));
        let needs = sampled.max(counted).saturating_add(self.held);
        self.needs = self.needs.max(needs);
        if self.needs > self.limit.bytes() || touched.fits_index().is_err() {
            return Ok(());
        }
        let added = self.sampler.add(block, &self.meter);
        added.map_err(|error| run_failure_at(&self.name, error))
    }

    fn finish(self, origin: Origin) -> Result<TraceSample, Failure> {
        let name = &self.name;
        if self.needs > self.limit.bytes() {
            let what = "the sampled curve with its trace (a smaller sample, or sizes by --cache)";
            return Err(self.limit.refused(&format!("{name}: {what}"), self.needs));
        }
        let indexed = self.touched.touched().fits_index();
        indexed.map_err(|error| run_failure_at(name, error))?;
        let meta = match &origin {
            Origin::Gone(meta) => meta,
            Origin::Stored(stored) => stored.meta(),
        };
        let pages = self.sampler.finish(meta.clone());
        Ok(TraceSample { origin, pages })
    }
}
