//! `destage mrc`: hit ratio against cache size.

mod plot;
mod points;
mod report;
mod sample;

use crate::args::{MrcArgs, PointsOut};
use destage_console::failure::Failure;
use destage_console::identity::{self, Output};
use destage_console::print::{print, print_exactly};
use destage_console::progress::Progress;
use destage_console::terminal::Warnings;
use destage_experiment::bounds::{Factors, count_schemes};
use destage_experiment::failures::{run_failure, run_failure_at, trace_failure};
use destage_experiment::options::CacheSizeArg;
use destage_experiment::run::{Clocks, follow_read_alloc, load};
use destage_report::picture;
use destage_scheme::Expr;
use destage_sim::curve::{Curve, CurveError, SampleSize, checked_by_runs, footprint};
use destage_sim::{RunError, RunSpec, SweepProgress, Touched};
use destage_trace::{LoadOptions, Stored, TraceMeta, Workload, format_by_name};
use destage_types::{ByteSize, PageSize};
use points::{CurvePoints, SchemeCurve};
use sample::TraceSample;

/// Does what `args` say.
///
/// # Errors
/// Bad usage or input, found before the trace is read where that is possible; or an output that
/// cannot be written.
pub fn run(args: &MrcArgs) -> Result<(), Failure> {
    let mut warnings = Warnings::default();
    let mut said = Vec::new();
    let (bases, refused) = bases(args, &mut said)?;
    warnings.extend(said);
    identity::protect(&args.trace);
    let written = [("--plot", &args.plot), ("--report", &args.report)];
    let written = written
        .iter()
        .filter_map(|(option, path)| Some(Output::of(option, path.as_deref()?)));
    identity::check(&written.collect::<Vec<_>>())?;
    // An unwritable file must not come up after hours of runs.
    if let Some(path) = &args.plot {
        picture::check("--plot", path)?;
    }
    if let Some(path) = &args.report {
        destage_report::html::check("--report", path)?;
    }
    let input = CurveInput::read(args, &bases, &mut warnings)?;
    let meta = input.meta();
    let mut curves = Vec::with_capacity(bases.len());
    for refused in refused {
        warnings.leave_out(Failure::usage(refused));
    }
    for base in bases {
        match curve(args, &input, base, &mut warnings) {
            Ok(curve) => curves.push(curve),
            // The fault of one scheme is none of the others.
            Err(fault @ Failure::Usage(_)) => warnings.leave_out(fault),
            Err(other) => return Err(other),
        }
    }
    if curves.is_empty() {
        return warnings.unless_left_out(false);
    }
    if let Some(path) = &args.plot {
        plot::draw(path, &curves)?;
    }
    if let Some(path) = &args.report {
        destage_report::html::write(path, report::page(meta, &curves))?;
    }
    match args.format_out.unwrap_or(PointsOut::Table) {
        PointsOut::Table => print(&points::table(meta, &curves)),
        PointsOut::Csv => print_exactly(&points::csv(meta, &curves)),
        PointsOut::Jsonl => print_exactly(&points::jsonl(meta, &curves)),
    }?;
    warnings.unless_left_out(true)
}

/// How the trace is read. Nothing but the report shows its hash.
fn load_options(args: &MrcArgs) -> LoadOptions {
    args.input.options(args.report.is_some())
}

/// The requests of the curves.
enum CurveInput {
    Whole(Box<Stored>),
    Sample(Box<TraceSample>),
}

impl CurveInput {
    /// Reads the trace, or a sample of it if that is asked for.
    fn read(
        args: &MrcArgs,
        bases: &[RunSpec],
        warnings: &mut Warnings,
    ) -> Result<CurveInput, Failure> {
        let size = match (args.sample_rate, args.sample_pages) {
            (Some(rate), _) => Some(SampleSize::Rate(rate)),
            (None, pages) => pages.map(SampleSize::Pages),
        };
        if let Some(size) = size {
            let keep = bases.iter().any(|base| checked_by_runs(&base.expr));
            let sample = sample::take(args, size, keep, warnings)?;
            return Ok(CurveInput::Sample(Box::new(sample)));
        }
        let memory = args.memory.of_requests(args.limit.limit());
        let options = load_options(args);
        let stored = load(&args.trace, &options, memory, warnings)?;
        Ok(CurveInput::Whole(Box::new(stored)))
    }

    /// The whole trace.
    fn meta(&self) -> &TraceMeta {
        match self {
            CurveInput::Whole(stored) => stored.meta(),
            CurveInput::Sample(sample) => sample.meta(),
        }
    }

    /// The requests of the whole trace, or of the sample if no others were kept.
    fn workload(&self) -> Workload<'_> {
        match self {
            CurveInput::Whole(stored) => stored.workload(),
            CurveInput::Sample(sample) => {
                let whole = sample.whole();
                whole.unwrap_or_else(|| sample.pages.trace().into())
            }
        }
    }

    /// Does a curve of this scheme take runs over the whole trace?
    fn needs_whole(&self, base: &RunSpec) -> bool {
        matches!(self, CurveInput::Whole(_)) || checked_by_runs(&base.expr)
    }

    /// Different pages that the whole trace reads or writes.
    fn footprint(&self, page: PageSize, meter: &Clocks) -> Result<u64, RunError> {
        match self {
            CurveInput::Sample(sample) => Ok(sample.footprint()),
            CurveInput::Whole(stored) => footprint(stored.workload(), page, meter),
        }
    }
}

/// One run per scheme, its cache size to be filled in.
fn bases(
    args: &MrcArgs,
    warnings: &mut Vec<String>,
) -> Result<(Vec<RunSpec>, Vec<String>), Failure> {
    let mut faults = Vec::new();
    if args.input.split() {
        faults.push("--volumes split: name one of them by `only=VOLUME`".to_owned());
    }
    if let Some(name) = &args.input.format
        && let Err(error) = format_by_name(name)
    {
        faults.push(format!("--format: {error}"));
    }
    let schemes = args.caches.scheme();
    Factors::default()
        .with(count_schemes(&schemes), "schemes")
        .with(args.caches.cache.len().max(1), "cache sizes")
        .check("points")
        .map_err(Failure::usage)?;
    let mut bases: Vec<RunSpec> = Vec::new();
    for text in &schemes {
        match Expr::parse_list(text, &[]) {
            Err(refusal) => faults.push(refusal.to_string()),
            Ok(found) => found.into_iter().for_each(|expr| {
                if !bases.iter().any(|base| base.expr == expr) {
                    bases.push(base(args, expr));
                }
            }),
        }
    }
    warnings.extend(follow_read_alloc(&mut bases));
    Failure::unless_none(faults)?;
    let mut refused = Vec::new();
    bases.retain(|base| {
        let given = &args.caches.cache;
        let before = refused.len();
        for size in given {
            // The size of a share is known later.
            if let CacheSizeArg::Bytes(cache) = size
                && let Err(error) = check(base, *cache)
            {
                refused.push(format!("{}, {cache}: {error}", base.expr));
            }
        }
        given.is_empty() || refused.len() - before < given.len()
    });
    match bases.is_empty() {
        true => Err(Failure::Usage(refused)),
        false => Ok((bases, refused)),
    }
}

/// Can the scheme of `base` run with a cache of this size?
fn check(base: &RunSpec, cache: ByteSize) -> Result<(), RunError> {
    let spec = RunSpec {
        cache,
        ..base.clone()
    };
    spec.check().map(|_| ())
}

fn base(args: &MrcArgs, expr: Expr) -> RunSpec {
    RunSpec {
        page: args.pages.page(),
        read_alloc: args.hits.read_alloc(),
        read_fill: args.hits.read_fill(),
        warmup: args.hits.warmup.unwrap_or_default(),
        seed: args.random.seed(),
        ..RunSpec::cache_only(expr, ByteSize(0))
    }
}

/// Cache sizes are of interest from a so-manieth of the footprint on.
const SMALLEST: u64 = 1024;

/// 2^k and 3 x 2^(k-1) pages: from a 1024th of the footprint to the first that holds all of it.
fn usual_sizes(pages: u64, page: PageSize) -> Vec<ByteSize> {
    let mut sizes = Vec::new();
    let mut size = (pages / SMALLEST).next_power_of_two();
    loop {
        for n in [size, size + size / 2] {
            if sizes.last() != Some(&ByteSize(n * page.bytes())) {
                sizes.push(ByteSize(n * page.bytes()));
            }
            if n >= pages {
                return sizes;
            }
        }
        size *= 2;
    }
}

/// Do the sizes depend on the pages of the trace?
fn sizes_need_footprint(args: &MrcArgs) -> bool {
    let given = &args.caches.cache;
    given.is_empty()
        || given
            .iter()
            .any(|size| matches!(size, CacheSizeArg::Share(_)))
}

/// The sizes of a curve that the scheme can work with: those asked for, or the usual ones.
fn sizes(
    args: &MrcArgs,
    input: &CurveInput,
    base: &RunSpec,
    meter: &Clocks,
    warnings: &mut Warnings,
) -> Result<Vec<ByteSize>, Failure> {
    let (given, name) = (&args.caches.cache, &input.meta().name);
    let pages = match sizes_need_footprint(args) {
        true => input.footprint(base.page, meter),
        false => Ok(0),
    };
    let pages = pages.map_err(|error| run_failure_at(name, error))?;
    if !given.is_empty() {
        let (mut sizes, mut faults) = (Vec::with_capacity(given.len()), Vec::new());
        for size in given {
            let bytes = match size {
                CacheSizeArg::Bytes(bytes) => *bytes,
                CacheSizeArg::Share(share) => ByteSize(share.of(pages) * base.page.bytes()),
            };
            match (check(base, bytes), size) {
                (Ok(()), _) => sizes.push(bytes),
                // Said before the trace was read.
                (Err(_), CacheSizeArg::Bytes(_)) => {}
                (Err(error), CacheSizeArg::Share(_)) => {
                    let expr = &base.expr;
                    faults.push(format!("{name}, {expr}, {bytes}: --cache {size}: {error}"));
                }
            }
        }
        if sizes.is_empty() {
            return Err(Failure::Usage(faults));
        }
        for fault in faults {
            warnings.leave_out(Failure::usage(fault));
        }
        return Ok(sizes);
    }
    let mut sizes = usual_sizes(pages, base.page);
    if let Some(&largest) = sizes.last() {
        check(base, largest).map_err(run_failure)?;
    }
    sizes.retain(|&size| check(base, size).is_ok());
    Ok(sizes)
}

/// Whether there is memory for the curve of a whole trace.
///
/// # Errors
/// There is not.
fn check_memory(args: &MrcArgs, trace: Workload<'_>, page: PageSize) -> Result<(), Failure> {
    let (name, limit) = (&trace.meta.name, args.limit.limit());
    let of_curve = |touched: Touched| touched.of_curve().saturating_add(trace.memory());
    // As a rule there is memory for every page up to the highest one, so nobody has to count them.
    let ends = trace.meta.volumes.iter();
    let end = ends
        .map(|volume| volume.start_sector + volume.end_sector)
        .max();
    let most = Touched::below(end.unwrap_or(0), page);
    if of_curve(most) <= limit.bytes() && most.fits_index().is_ok() {
        return Ok(());
    }
    let touched = Touched::by(trace, page).map_err(trace_failure)?;
    let needs = of_curve(touched);
    if needs > limit.bytes() {
        let what = "the curve with its trace (--sample-pages estimates that of lru in less)";
        return Err(limit.refused(&format!("{name}: {what}"), needs));
    }
    let indexed = touched.fits_index();
    indexed.map_err(|error| run_failure_at(name, error))
}

fn curve(
    args: &MrcArgs,
    input: &CurveInput,
    base: RunSpec,
    warnings: &mut Warnings,
) -> Result<SchemeCurve, Failure> {
    let trace = input.workload();
    if input.needs_whole(&base) {
        check_memory(args, trace, base.page)?;
    }
    let meter = Clocks::new(args.limit.limit());
    let sizes = sizes(args, input, &base, &meter, warnings)?;
    let counter = SweepProgress::default();
    let curve = Curve {
        trace,
        base: &base,
        sizes: &sizes,
        jobs: args.threads.resolve(),
        progress: &counter,
        meter: &meter,
    };
    let label = format!("{} {}", trace.meta.name, base.expr);
    // At most as many; one pass for all sizes ends the bar early.
    let progress = Progress::requests(&label, trace.len() * sizes.len() as u64);
    let found = progress.follow(&counter.requests, || match input {
        CurveInput::Whole(_) => curve.exact().map(CurvePoints::Exact),
        CurveInput::Sample(sample) => curve.of_sample(&sample.pages).map(CurvePoints::Sampled),
    });
    drop(progress);
    let found = found.map_err(|error| match error {
        CurveError::Run(error) => run_failure_at(&trace.meta.name, error),
        other => Failure::usage(other.to_string()),
    })?;
    Ok(SchemeCurve {
        base,
        points: found,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_sizes_reach_the_footprint() {
        let pages = |footprint| {
            let sizes = usual_sizes(footprint, PageSize::KIB4);
            sizes.iter().map(|s| s.0 / 4096).collect::<Vec<_>>()
        };
        assert_eq!(pages(0), [1]);
        assert_eq!(pages(1), [1]);
        assert_eq!(pages(5), [1, 2, 3, 4, 6]);
        assert_eq!(
            pages(4_096),
            [
                4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
                2048, 3072, 4096
            ]
        );
    }
}
