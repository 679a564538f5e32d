//! Curves in one pass are what the cache core counts at every size.

use destage_scheme::rng::SplitMix64;
use destage_scheme::{Expr, ReadAlloc};
use destage_sim::curve::{
    Curve, CurveError, CurvePoint, Method, SampleSize, SampledCurve, Sampling, footprint,
};
use destage_sim::record::RunInfo;
use destage_sim::{
    Hooks, MemoryExcess, Meter, ReadFill, RunError, RunSpec, SweepProgress, Unmetered, Warmup,
    execute,
};
use destage_trace::Trace;
use destage_types::{ByteSize, Extent, HostRequest, Nanos, Op, PageSize, RequestBatch};

/// Settings of the random requests.
#[derive(Clone, Copy)]
struct Mix {
    seed: u64,
    /// Requests move whole pages of 4 KiB only.
    whole: bool,
    /// One request in so many is a TRIM; 0: none.
    trims: u64,
    /// TRIMs cover whole pages.
    whole_trims: bool,
}

fn trace(mix: Mix, requests: u64) -> Trace {
    let mut random = SplitMix64::new(mix.seed);
    let mut below = |n: u64| (random.next_u64() >> 11) % n;
    let mut batch = RequestBatch::new();
    for i in 0..requests {
        let page = below(12) * below(9);
        let whole = mix.whole || below(3) > 0;
        let (mut start, mut sectors) = (8 * page, 8 * (1 + below(4)) as u32);
        if !whole {
            start += below(8);
            sectors = 1 + below(20) as u32;
        }
        let op = match below(10) {
            0..6 => Op::Write,
            _ => Op::Read,
        };
        let at = Nanos(1_000 * i);
        if mix.trims > 0 && below(mix.trims) == 0 {
            if mix.whole_trims {
                start -= start % 8;
                sectors = sectors.next_multiple_of(8);
            }
            batch.push(HostRequest::new(at, Op::Trim, start, sectors));
        } else if below(40) == 0 {
            batch.push(HostRequest::new(at, Op::Flush, 0, 0));
        } else if below(10) == 0 {
            let more = Extent::new(8 * below(100), 8);
            batch.push_with(HostRequest::new(at, op, start, sectors), &[more], &[]);
        } else {
            batch.push(HostRequest::new(at, op, start, sectors));
        }
    }
    let mut trace = destage_trace::synth::demo(1);
    trace.meta.requests = requests;
    trace.requests = batch;
    trace
}

pub fn spec(expr: &str) -> RunSpec {
    RunSpec::cache_only(Expr::parse(expr).unwrap(), ByteSize(4096))
}

pub fn curve<T>(
    trace: &Trace,
    base: &RunSpec,
    sizes: &[ByteSize],
    f: impl Fn(&Curve<'_>) -> T,
) -> T {
    let progress = SweepProgress::default();
    f(&Curve {
        trace: trace.into(),
        base,
        sizes,
        jobs: 2,
        progress: &progress,
        meter: &Unmetered,
    })
}

fn exact(trace: &Trace, base: &RunSpec, sizes: &[ByteSize]) -> Vec<CurvePoint> {
    curve(trace, base, sizes, |c| c.exact()).unwrap()
}

fn sampled(trace: &Trace, base: &RunSpec, sizes: &[ByteSize], size: SampleSize) -> SampledCurve {
    let sampling = Sampling { size, seed: 1 };
    curve(trace, base, sizes, |c| c.sampled(&sampling)).unwrap()
}

pub fn sizes(pages: impl IntoIterator<Item = u64>) -> Vec<ByteSize> {
    pages.into_iter().map(|n| ByteSize(n * 4096)).collect()
}

/// Compares every point with a run of its own and counts those of the one pass.
#[track_caller]
fn compare(trace: &Trace, base: &RunSpec, sizes: &[ByteSize]) -> usize {
    let points = exact(trace, base, sizes);
    assert_eq!(points.len(), sizes.len());
    for point in &points {
        let cache = point.cache;
        let run = RunSpec {
            cache,
            ..base.clone()
        };
        let record = execute(&run, trace, Hooks::default()).unwrap();
        let (c, p) = (&record.counts, &point.counts);
        let want = [
            c.read_requests,
            c.write_requests,
            c.read_request_hits,
            c.write_request_hits,
            c.read_pages,
            c.write_pages,
            c.read_page_hits,
            c.write_page_hits,
            c.flash_writes_host,
        ];
        let have = [
            p.read_requests,
            p.write_requests,
            p.read_request_hits,
            p.write_request_hits,
            p.read_pages,
            p.write_pages,
            p.read_page_hits,
            p.write_page_hits,
            p.flash_writes_host,
        ];
        assert_eq!(have, want, "{cache:?} {:?}", point.method);
        assert_eq!(p.page_hit_ratio(), record.ratios.page_hit_ratio);
    }
    points
        .iter()
        .filter(|p| p.method == Method::OnePass)
        .count()
}

/// Always finds that the program takes too much.
struct NoMemory;

impl Meter for NoMemory {
    fn measure(&self, run: &mut dyn FnMut()) -> RunInfo {
        run();
        RunInfo::default()
    }

    fn excess(&self) -> Option<MemoryExcess> {
        let (bytes, limit) = (2, 1);
        Some(MemoryExcess { bytes, limit })
    }
}

#[test]
fn every_pass_of_a_curve_looks_at_the_memory() {
    let mix = Mix {
        seed: 3,
        whole: true,
        trims: 0,
        whole_trims: true,
    };
    let trace = trace(mix, 10_000);
    let full = |error: RunError| match error {
        RunError::Memory { request, .. } => request,
        other => panic!("{other}"),
    };
    let counted = footprint((&trace).into(), PageSize::KIB4, &NoMemory);
    assert_eq!(full(counted.unwrap_err()), 4_095);
    let base = spec("lru");
    let curve = Curve {
        trace: (&trace).into(),
        base: &base,
        sizes: &[ByteSize(1 << 16)],
        jobs: 1,
        progress: &SweepProgress::default(),
        meter: &NoMemory,
    };
    let sampling = |size| curve.sampled(&Sampling { size, seed: 1 }).map(|_| ());
    for done in [
        curve.exact().map(|_| ()),
        sampling(SampleSize::Rate(0.5)),
        sampling(SampleSize::Pages(50)),
    ] {
        let Err(CurveError::Run(error)) = done else {
            panic!("no look at the memory")
        };
        assert_eq!(full(error), 4_095);
    }
}

/// Every size up to the footprint and beyond.
fn all_sizes(trace: &Trace) -> Vec<ByteSize> {
    sizes(1..=footprint(trace.into(), PageSize::KIB4, &Unmetered).unwrap() + 3)
}

#[test]
fn whole_pages_take_one_pass_at_every_size() {
    for seed in 0..6 {
        let mix = Mix {
            seed,
            whole: true,
            trims: [0, 9][seed as usize % 2],
            whole_trims: true,
        };
        let trace = trace(mix, 3_000);
        let sizes = all_sizes(&trace);
        for warmup in [Warmup::None, Warmup::Requests(700), Warmup::Passes(1)] {
            let base = RunSpec {
                warmup,
                ..spec("lru")
            };
            assert_eq!(compare(&trace, &base, &sizes), sizes.len(), "{warmup:?}");
        }
    }
}

#[test]
fn parts_of_pages_are_exact_at_every_size() {
    let (mut one_pass, mut runs) = (0, 0);
    for seed in 10..30 {
        let mix = Mix {
            seed,
            whole: false,
            trims: [0, 0, 30, 30][seed as usize % 4],
            whole_trims: seed % 4 == 2,
        };
        // Few requests: some sizes never see a page that lacks what is read.
        let trace = trace(mix, [40, 120, 2_000][seed as usize % 3]);
        let sizes = all_sizes(&trace);
        for read_fill in [ReadFill::Page, ReadFill::Requested] {
            for page in [PageSize::KIB4, PageSize::new(8192).unwrap()] {
                let base = RunSpec {
                    read_fill,
                    page,
                    ..spec("lru")
                };
                let from = (page.bytes() / 4096 - 1) as usize;
                let passed = compare(&trace, &base, &sizes[from..]);
                one_pass += passed;
                runs += sizes.len() - from - passed;
            }
        }
    }
    assert!(
        one_pass > 300 && runs > 300,
        "{one_pass} in one pass, {runs} runs"
    );
}

#[test]
fn sectors_written_to_small_caches_do_not_hide_a_lost_size() {
    // Page 0 comes in whole, leaves a cache of one page, and comes back in part: a read of all of
    // it then hits in larger caches, and is no touch in the small one.
    let mut batch = RequestBatch::new();
    for (i, (op, start, sectors)) in [
        (Op::Read, 0, 8),
        (Op::Write, 8, 8),
        (Op::Write, 0, 2),
        (Op::Read, 0, 8),
    ]
    .into_iter()
    .enumerate()
    {
        batch.push(HostRequest::new(Nanos(i as u64), op, start, sectors));
    }
    let mut trace = destage_trace::synth::demo(1);
    trace.requests = batch;
    let points = exact(&trace, &spec("lru"), &sizes([2, 1, 3]));
    let methods: Vec<_> = points.iter().map(|p| p.method).collect();
    assert_eq!(methods, [Method::OnePass, Method::Run, Method::OnePass]);
    let hits: Vec<_> = points.iter().map(|p| p.counts.page_hits()).collect();
    assert_eq!(
        hits,
        [2, 0, 2],
        "the points stand in the order of the sizes"
    );
}

#[test]
fn other_settings_and_schemes_are_runs() {
    let mix = Mix {
        seed: 5,
        whole: false,
        trims: 20,
        whole_trims: false,
    };
    let trace = trace(mix, 1_500);
    let sizes = sizes([1, 7, 30, 64]);
    let off = RunSpec {
        read_alloc: ReadAlloc::Off,
        ..spec("lru")
    };
    assert_eq!(compare(&trace, &off, &sizes), 0);
    for expr in ["fifo", "lfu", "belady(bypass=false)"] {
        assert_eq!(compare(&trace, &spec(expr), &sizes), 0, "{expr}");
    }
    assert_eq!(compare(&trace, &spec("req-block"), &sizes[1..]), 0);
    let refused = curve(&trace, &spec("lru"), &[ByteSize(4095)], |c| c.exact());
    assert!(matches!(refused, Err(CurveError::Run(_))));
    let long = RunSpec {
        warmup: Warmup::Requests(1_500),
        ..spec("lru")
    };
    assert!(curve(&trace, &long, &sizes, |c| c.exact()).is_err());
}

#[test]
fn the_demo_workload_takes_one_pass() {
    let trace = destage_trace::synth::demo(1);
    let sizes = sizes([1, 256, 4_096, 16_384, 65_536, 1 << 20]);
    assert_eq!(compare(&trace, &spec("lru"), &sizes), sizes.len());
}

#[test]
fn a_sample_of_all_pages_is_exact() {
    let mix = Mix {
        seed: 8,
        whole: true,
        trims: 15,
        whole_trims: true,
    };
    let trace = trace(mix, 2_000);
    let sizes = sizes([1, 5, 20, 70]);
    let pages = footprint((&trace).into(), PageSize::KIB4, &Unmetered).unwrap();
    for warmup in [Warmup::None, Warmup::Requests(500), Warmup::Passes(2)] {
        let base = RunSpec {
            warmup,
            ..spec("lru")
        };
        let points = exact(&trace, &base, &sizes);
        for size in [SampleSize::Rate(1.0), SampleSize::Pages(pages)] {
            let sampled = sampled(&trace, &base, &sizes, size);
            assert_eq!((sampled.rate, sampled.sampled_pages), (1.0, pages));
            for (s, p) in sampled.points.iter().zip(&points) {
                assert_eq!(s.scaled_pages, f64::from(p.pages));
                assert_eq!(s.page_hit_ratio.map(|e| e.value), p.counts.page_hit_ratio());
                let write = s.write_page_hit_ratio.unwrap();
                assert_eq!(Some(write.value), p.counts.write_page_hit_ratio());
                assert_eq!(write.error, 0.0);
            }
        }
    }
}

/// Share of points whose error is within `k` standard errors of the truth, and the mean error.
fn within(sampled: &SampledCurve, exact: &[CurvePoint], k: f64) -> (f64, f64) {
    let (mut inside, mut sum) = (0, 0.0);
    for (s, p) in sampled.points.iter().zip(exact) {
        let estimate = s.page_hit_ratio.unwrap();
        let off = (estimate.value - p.counts.page_hit_ratio().unwrap()).abs();
        inside += usize::from(off <= k * estimate.error + 1e-9);
        sum += off;
    }
    let n = exact.len() as f64;
    (inside as f64 / n, sum / n)
}

#[test]
fn samples_are_close_and_say_how_close() {
    let trace = destage_trace::synth::demo(3);
    let sizes = sizes((6..17).map(|i| 1 << i));
    for expr in ["lru", "arc", "lfu"] {
        let base = spec(expr);
        let exact = exact(&trace, &base, &sizes);
        for size in [SampleSize::Rate(0.1), SampleSize::Pages(20_000)] {
            let sampled = sampled(&trace, &base, &sizes, size);
            let (inside, mean) = within(&sampled, &exact, 3.0);
            assert!(mean < 0.02, "{expr} {size:?}: mean error {mean}");
            assert!(
                inside >= 0.8,
                "{expr} {size:?}: {inside} within 3 standard errors"
            );
        }
    }
    let fixed = sampled(&trace, &spec("lru"), &sizes, SampleSize::Pages(20_000));
    assert_eq!(fixed.sampled_pages, 20_000);
    let again = sampled(&trace, &spec("lru"), &sizes, SampleSize::Pages(20_000));
    assert_eq!(fixed, again);
}

#[test]
fn what_cannot_be_sampled_is_refused() {
    let trace = destage_trace::synth::demo(1);
    let sampling = |size| Sampling { size, seed: 1 };
    let refused = |expr: &str, size| {
        let sizes = sizes([1 << 12]);
        curve(&trace, &spec(expr), &sizes, |c| c.sampled(&sampling(size))).unwrap_err()
    };
    for expr in ["req-block", "prober(lru)", "ref", "best-of(lru,ref)"] {
        let error = refused(expr, SampleSize::Rate(0.5)).to_string();
        assert!(error.contains("cannot be sampled"), "{error}");
    }
    let error = refused("lru", SampleSize::Rate(1e-9));
    assert!(
        matches!(error, CurveError::EmptySample { pages: 0 }),
        "{error}"
    );
}

#[test]
fn a_ratio_of_few_sampled_accesses_has_no_estimate() {
    // Half of the writes hit, and a tenth of 40 pages are four or so, which all look alike.
    let mut batch = RequestBatch::new();
    for i in 0..4_000 {
        let (op, page) = match i % 50 {
            0 => (Op::Write, 10_000 + i / 100),
            _ => (Op::Read, i % 1_000),
        };
        batch.push(HostRequest::new(Nanos(i), op, 8 * page, 8));
    }
    let mut trace = destage_trace::synth::demo(1);
    trace.meta.requests = 4_000;
    trace.requests = batch;
    let sizes = sizes([500, 1_500]);
    for expr in ["lru", "sieve"] {
        let of = |rate| sampled(&trace, &spec(expr), &sizes, SampleSize::Rate(rate));
        let writes = |rate| {
            of(rate)
                .points
                .iter()
                .filter(|p| !p.by_run)
                .filter_map(|p| p.write_page_hit_ratio)
                .count()
        };
        assert_eq!(writes(0.1), 0, "{expr}");
        assert!(
            of(0.1).points.iter().all(|p| p.page_hit_ratio.is_some()),
            "{expr}"
        );
        assert_eq!(writes(1.0), 2, "{expr}");
    }
}
