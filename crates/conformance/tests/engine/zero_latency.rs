//! Laws between runs: a device without latencies counts what the cache alone counts; all times
//! scale together; the same run gives the same result.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use destage_conformance::reference::{Profile, SlowRequest, swarm};
use destage_conformance::suites::{is_full, on_all_processors};
use destage_conformance::timed::runs::{self, device_of, logged, with_series};
use destage_conformance::timed::{TimedRun, timed_swarm, trace_of};
use destage_device::config::{DeviceConfig, Overwrite};
use destage_scheme::info::{MinCapacity, SchemeInfo};
use destage_scheme::registry::SCHEMES;
use destage_scheme::{Expr, ReadAlloc};
use destage_sim::run::{Hooks, execute};
use destage_sim::spec::{Replay, RunSpec, Warmup};
use destage_sim::{
    Every, Logs, PreparedDevices, ReadFill, RunError, SeriesRow, Sweep, SweepProgress, Unmetered,
};
use destage_trace::{LoadOptions, Source, Trace, load};
use destage_types::{ByteSize, Nanos, Op, PageSize};

/// Compositions beside every scheme by its name.
const COMPOSED: [&str; 15] = [
    "ecr(cqct=oracle)",
    "ecr(l-sp=1ms,xfer=excluded)",
    "ecr-eps(cqct=oracle,residual=remaining)",
    "ecr-eps(residual=remaining,page-latency=per-page,nfp=mapping)",
    "prober(arc,ssp=16k,rip=50)",
    "prober(ecr(lru),ssp=16k,rip=50)",
    "ecr(arc)",
    "gcar(cflru)",
    "procache(prober(lru,ssp=16k),p=0.5,c=64k)",
    "cac(arc)",
    "cac(prober(lirs,ssp=16k))",
    "req-block(delta=3,placement=single_block)",
    "req-block(merge=all,delta=2)",
    "bplru(block-pages=6,padding=true)",
    "cac(vbbms(migrate=true))",
];

/// All expressions that can be run and write nothing back in the background.
fn schemes(page: PageSize) -> Vec<Expr> {
    let expression = |info: &&'static SchemeInfo| match info.name {
        // The smallest caches hold no block of 64 pages.
        name if info.min_capacity == MinCapacity::OneBlock => format!("{name}(block-pages=4)"),
        name => name.to_owned(),
    };
    let singles = SCHEMES.iter().map(expression);
    let composed = COMPOSED.iter().map(|&s| s.to_owned());
    let expr = |text: String| Expr::parse(&text).unwrap_or_else(|r| panic!("{text}: {r}"));
    let exprs = singles.chain(composed).map(expr);
    let fits = |e: &Expr| page == PageSize::KIB4 || !e.contains("cac");
    exprs.filter(|e| fits(e) && !e.has_background()).collect()
}

/// Everything at once on `dies` dies, all logical pages mapped, room for `pages` of them and for a
/// run that programs three times as many.
fn at_once(dies: u64, pages: u64, page: PageSize) -> Arc<DeviceConfig> {
    let blocks = (pages * 4).div_ceil(dies * 64) + 64;
    without_times(dies, blocks, page, "op=0.75 precondition.overwrite=0")
}

/// The same with so little room that it collects garbage from the first write on.
fn collecting(dies: u64, pages: u64, page: PageSize) -> Arc<DeviceConfig> {
    let blocks = (pages * 4).div_ceil(dies * 64 * 3) + 8;
    let more = "op=0.2 gc_threshold=0.3 precondition.overwrite=until_gc";
    without_times(dies, blocks, page, more)
}

fn without_times(dies: u64, blocks: u64, page: PageSize, more: &str) -> Arc<DeviceConfig> {
    Arc::new(device_of(&format!(
        "channels=1 chips_per_channel=1 dies_per_chip={dies} planes_per_die=1 pages_per_block=64 \
         blocks_per_plane={blocks} page_bytes={} t_read=0 t_program=0 t_erase=0 t_cmd=0 t_byte=0 \
         t_dram=0 precondition.trace=false precondition.fill=1 {more}",
        page.bytes()
    )))
}

/// 0: any number of dies, 1: one, without changing what a scheme does: `ecr` has an instance of its base per chip, and only
/// those of LRU together are the same as one.
fn dies(expr: &Expr) -> usize {
    usize::from(expr.contains("ecr") && expr.policy().scheme().name != "lru")
}

/// Counters of a run, by name.
type Counts = BTreeMap<String, serde_json::Value>;

/// Counters of runs over `trace`, which share the devices that they begin on.
fn counts(runs: &[RunSpec], trace: &Trace) -> Vec<Counts> {
    let sweep = Sweep {
        trace: trace.into(),
        runs,
        jobs: 1,
        version: "",
        progress: &SweepProgress::default(),
        devices: Some(&PreparedDevices::new(0)),
        meter: &Unmetered,
    };
    let mut all = Vec::new();
    sweep.execute_each(&|_| Logs::default(), &mut |run, result| {
        let expr = &runs[run].expr;
        let record = result.unwrap_or_else(|error| panic!("{expr}: {error}"));
        let longest = record.latency_ns.map(|latency| latency.all.max);
        assert!(
            matches!(longest, None | Some(Some(0))),
            "{expr}: nothing takes time"
        );
        let counts = serde_json::to_value(&record.counts).expect("counters are plain numbers");
        let counts = counts.as_object().expect("an object").clone();
        all.push(counts.into_iter().collect());
        true
    });
    all
}

/// A run on one of two devices without latencies.
struct Case {
    spec: RunSpec,
    device: Arc<DeviceConfig>,
}

/// Runs `trace` with and without the device of each case.
fn same_counts(cases: Vec<Case>, trace: &Trace, what: &str) {
    let of_case = |Case { spec, device }| {
        let with_device = RunSpec {
            device: Some(device),
            ..spec.clone()
        };
        [spec, with_device]
    };
    let runs: Vec<RunSpec> = cases.into_iter().flat_map(of_case).collect();
    let counts = counts(&runs, trace);
    let (counts, _) = counts.as_chunks();
    let (runs, _) = runs.as_chunks();
    for ([spec, with_device], [alone, timed]) in runs.iter().zip(counts) {
        let device = with_device.device.as_ref().expect("the second has one");
        let collects = device.precondition.overwrite == Overwrite::UntilGc;
        compare(alone, timed, collects, &format!("{what}: {}", spec.expr));
    }
}

/// Compares a run without a device with one on a device, which `collects` garbage. TRIM makes pages unmapped,
/// which only a device knows.
fn compare(alone: &Counts, timed: &Counts, collects: bool, what: &str) {
    let trims = alone["trim_requests"] != 0;
    for (name, wanted) in alone {
        if name.starts_with("flash_reads_") && trims {
            let unmapped = timed["unmapped_reads"].as_u64().expect("a number");
            let (got, wanted) = (timed[name].as_u64(), wanted.as_u64());
            let (got, wanted) = (got.expect("a number"), wanted.expect("a number"));
            assert!(got <= wanted, "{what}: {name}");
            let all = name == "flash_reads_host";
            assert!(!all || got + unmapped <= wanted, "{what}: {name}");
        } else {
            assert_eq!(&timed[name], wanted, "{what}: {name}");
        }
    }
    if collects && alone["flash_writes_host"].as_u64() > Some(200) {
        assert!(timed["erases"].as_u64() > Some(0), "{what}");
    }
    let collections = [
        "erases",
        "flash_reads_gc",
        "flash_writes_gc",
        "flash_writes_meta",
    ];
    for none in collections.iter().filter(|_| !collects) {
        assert_eq!(timed[*none], 0, "{what}: {none}");
    }
    if !trims {
        assert_eq!(timed["unmapped_reads"], 0, "{what}");
    }
}

fn spec(expr: Expr, pages: u64, page: PageSize) -> RunSpec {
    RunSpec {
        page,
        ..RunSpec::cache_only(expr, ByteSize(pages * page.bytes()))
    }
}

#[test]
fn random_streams_without_latencies() {
    let mut runs = 0;
    for seed in 0..24 {
        let spp = [8, 8, 4, 32][seed as usize % 4];
        let page = PageSize::new(u64::from(spp) * 512).expect("a page size");
        let mut profile = Profile::new(300, spp).pages(400).with_extents();
        profile.trim = seed % 3 == 0;
        profile.prev = spp == 8;
        let trace = trace_of(&swarm(seed, profile));
        let devices = [4, 1].map(|dies| at_once(dies, 3000, page));
        let full = [4, 1].map(|dies| collecting(dies, 3000, page));
        let mut cases = Vec::new();
        for expr in schemes(page) {
            for boxed in [false, true] {
                let mut spec = spec(expr.clone(), 6 + seed * 3, page);
                spec.boxed = boxed;
                if seed % 5 == 4 {
                    spec.warmup = Warmup::Requests(100);
                }
                let device = match boxed {
                    false => &devices[dies(&expr)],
                    true => &full[dies(&expr)],
                };
                let device = Arc::clone(device);
                cases.push(Case { spec, device });
            }
        }
        runs += cases.len();
        same_counts(cases, &trace, &format!("seed {seed}"));
    }
    println!("{runs} runs with and without the device");
    assert!(runs > 500);
}

/// Files below `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        match path.is_dir() {
            true => out.extend(files(&path)),
            false => out.push(path),
        }
    }
    out.sort();
    out
}

/// Puts the 1 MiB pieces that a trace touches side by side, in order, so that a small device holds
/// them. Requests that cross from one piece to the next still do. Gives the pages needed.
fn compact(trace: &mut Trace) -> u64 {
    const PIECE: u64 = 2048;
    let mut pieces = BTreeMap::new();
    let mut touch = |start: u64, sectors: u64| {
        for piece in start / PIECE..=(start + sectors.max(1) - 1) / PIECE {
            pieces.insert(piece, 0);
        }
    };
    for request in trace.requests.iter() {
        request
            .extents()
            .for_each(|e| touch(e.start_sector, e.sectors.into()));
        let prev = request.prev.iter().filter(|&&p| p != u64::MAX);
        prev.for_each(|&p| touch(p, 1));
    }
    for (rank, place) in pieces.values_mut().enumerate() {
        *place = rank as u64;
    }
    let moved = |sector: u64| pieces[&(sector / PIECE)] * PIECE + sector % PIECE;
    let mut requests: Vec<SlowRequest> = trace.requests.iter().map(SlowRequest::from).collect();
    for request in &mut requests {
        request.extents.iter_mut().for_each(|e| e.0 = moved(e.0));
        let prev = request.prev.iter_mut().flatten();
        prev.for_each(|p| *p = moved(*p));
    }
    trace.requests = destage_conformance::reference::to_batch(&requests);
    pieces.len() as u64 * PIECE / 8
}

/// The first `limit` requests of a trace, if a reader knows it.
fn begin(path: &Path, limit: Option<u64>) -> Option<Trace> {
    let options = LoadOptions {
        limit,
        skip_bad_lines: true,
        hash: false,
        ..LoadOptions::default()
    };
    let trace = load(Source::from_arg(path), &options).ok()?;
    (!trace.requests.is_empty()).then_some(trace)
}

/// Runs a trace with the schemes that `takes` takes by their number, and gives the runs.
fn real_trace(mut trace: Trace, name: &str, turn: usize, takes: impl Fn(usize) -> bool) -> usize {
    let pages = compact(&mut trace);
    let written: u64 = trace.requests.iter().map(|r| r.bytes() / 4096 + 2).sum();
    let pages_needed = pages.max(written / 2);
    let devices = [4, 1].map(|dies| at_once(dies, pages_needed, PageSize::KIB4));
    let full = [4, 1].map(|dies| collecting(dies, pages, PageSize::KIB4));
    let exprs = schemes(PageSize::KIB4).into_iter().enumerate();
    let mut cases = Vec::new();
    for (i, expr) in exprs.filter(|&(i, _)| takes(i)) {
        let size = [64, 1024][(turn + i) % 2];
        let spec = spec(expr, size, PageSize::KIB4);
        let on = |devices: &[Arc<DeviceConfig>; 2]| Case {
            device: Arc::clone(&devices[dies(&spec.expr)]),
            spec: spec.clone(),
        };
        cases.push(on(&devices));
        // A run collects for longer than it takes without.
        if (turn + i).is_multiple_of(6) {
            cases.push(on(&full));
        }
    }
    let (requests, runs) = (trace.requests.len(), cases.len());
    println!("{name}: {requests} requests, {pages} pages, {runs} runs");
    same_counts(cases, &trace, name);
    runs
}

/// The beginning of every trace with every scheme. In `cargo xtask full` it is longer, and every trace as a whole
/// follows with one of four schemes, or with all where DESTAGE_WHOLE is set: some ten minutes.
#[test]
fn real_traces_without_latencies() {
    let beginning = if is_full() { 2500 } else { 400 };
    let Some(folder) = std::env::var_os("DESTAGE_TRACES").map(PathBuf::from) else {
        println!("SKIPPED: DESTAGE_TRACES does not name the folder of the real traces");
        return;
    };
    let all = std::env::var_os("DESTAGE_WHOLE").is_some();
    let readable = |path: PathBuf| match begin(&path, Some(beginning)) {
        Some(first) => Some((path, first)),
        None => {
            println!("{}: no requests in a format that is read", path.display());
            None
        }
    };
    let traces: Vec<_> = files(&folder).into_iter().filter_map(readable).collect();
    let numbered: Vec<_> = traces.iter().enumerate().collect();
    let whole = on_all_processors(&numbered, |&(turn, (path, first))| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let longer = first.requests.len() as u64 == beginning;
        if !longer || !all {
            real_trace(first.clone(), &name, turn, |_| true);
        }
        if !longer || !is_full() {
            return 0;
        }
        let trace = begin(path, None).expect("it has a beginning");
        real_trace(trace, &name, turn, |i| all || (turn + i) % 4 == 3)
    });
    let (traces, whole) = (traces.len(), whole.iter().sum::<usize>());
    assert!(traces >= 5, "{traces} traces were understood");
    assert!(whole >= 5 || !is_full(), "{whole} runs of whole traces");
}

/// A device whose times are all multiples of `k` ns.
fn scaled(k: u64, more: &str) -> DeviceConfig {
    let [read, program, erase] = [900, 7_000, 30_000].map(|ns| ns * k);
    let [cmd, ready, byte, dram] = [11, 3, 1, 40].map(|ns| ns * k);
    device_of(&format!(
        "channels=2 chips_per_channel=2 page_bytes=4096 t_read={read}ns t_program={program}ns \
         t_erase={erase}ns t_cmd={cmd}ns t_ready={ready}ns t_byte={byte}ns t_dram={dram}ns \
         queue=read-first {more}"
    ))
}

#[test]
fn all_times_scale_together() {
    let exprs = [
        "none",
        "lru",
        "req-block(delta=2)",
        "procache(lru,p=0.5,c=16k)",
        "prober(ecr(lru,cqct=oracle),ssp=16k,rip=9)",
        "ecr-eps(cqct=oracle)",
        "awb(prober(lru,ssp=16k,rip=9))",
        "awb(lru,depth=3,after=keep_clean)",
        "cac(lru)",
        "ecr(lru,cqct=oracle)",
    ];
    for (i, expr) in exprs.into_iter().enumerate() {
        for (wait, k) in [("program_done", 3), ("transfer_done", 10), ("issue", 1000)] {
            // `cac` knows pages of 4 KiB only.
            let sectors = if expr == "cac(lru)" {
                8
            } else {
                [8, 4, 32][i % 3]
            };
            let more = format!("evict_wait={wait} page_bytes={}", sectors * 512);
            let mut stream = timed_swarm(i as u64 + 50, Profile::new(300, sectors), 7_000);
            let run = |k| TimedRun {
                read_fill: [ReadFill::Page, ReadFill::Requested][i % 2],
                rmw: i % 4 < 2,
                ..TimedRun::new(expr, 20, scaled(k, &more))
            };
            let small = run(1).real(&stream);
            stream.iter_mut().for_each(|r| r.arrival *= k);
            let large = run(k).real(&stream);
            assert_eq!(small.counts, large.counts, "{expr}, k = {k}");
            assert_eq!(small.device_counts, large.device_counts, "{expr}, k = {k}");
            for (s, l) in small.requests.iter().zip(&large.requests) {
                assert_eq!((s.4 - s.3) * k, l.4 - l.3, "{expr}, k = {k}: {s:?}");
            }
            for (s, l) in small.programs.iter().zip(&large.programs) {
                assert_eq!(s.times.map(|t| t * k), l.times, "{expr}, k = {k}");
            }
        }
    }
}

/// The stream of a request.
fn source_of(index: usize) -> u32 {
    (index * 7 % 5) as u32
}

/// The figures of the result record and the rows of the request log are those of the requests, one
/// by one, warm-up left out.
#[test]
fn a_record_sums_up_its_requests() {
    let exprs = ["lru", "awb(prober(lru,ssp=16k,rip=9))", "none"];
    for (seed, expr) in exprs.into_iter().enumerate() {
        let streams = (90 + seed as u64..).map(|s| timed_swarm(s, Profile::new(700, 8), 7_000));
        let both = |s: &Vec<SlowRequest>| {
            let measured = |op: Op| s[150..].iter().any(|r| r.op == op);
            measured(Op::Read) && measured(Op::Write)
        };
        let stream = streams
            .filter(both)
            .nth(seed)
            .expect("most streams have both");
        let device = scaled(1, "dram=per_page");
        let outcome = TimedRun::new(expr, 24, device.clone()).real(&stream);
        let spec = RunSpec {
            warmup: Warmup::Requests(150),
            ..runs::spec(expr, Some(Arc::new(device)))
        };
        let mut trace = trace_of(&stream);
        for (i, head) in trace.requests.records_mut().iter_mut().enumerate() {
            head.stream = source_of(i);
        }
        let (record, log) = logged(&spec, &trace).expect("the run starts");
        let measured = &outcome.requests[150..];
        let of = |ops: &[Op]| {
            let wanted = measured
                .iter()
                .filter(|r| ops.contains(&stream[r.0 as usize].op));
            let mut times: Vec<u64> = wanted.map(|r| r.4 - r.3).collect();
            times.sort_unstable();
            times
        };
        let latency = record.latency_ns.expect("a device has times");
        for (got, times) in [
            (latency.all, of(&[Op::Read, Op::Write, Op::Trim, Op::Flush])),
            (latency.read, of(&[Op::Read])),
            (latency.write, of(&[Op::Write])),
        ] {
            let n = times.len();
            let rank = |p: usize| Some(times[(n * p).div_ceil(1000) - 1]);
            let wanted = [rank(500), rank(950), rank(990), rank(999), rank(1000)];
            assert_eq!([got.p50, got.p95, got.p99, got.p999, got.max], wanted);
            let mean = times.iter().sum::<u64>() as f64 / n as f64;
            assert_eq!(got.mean, Some(mean));
            let squares = times.iter().map(|&t| (t as f64 - mean).powi(2));
            let std = (squares.sum::<f64>() / n as f64).sqrt();
            assert!(got.std.is_some_and(|s| (s - std).abs() < 1e-6 * std));
        }
        let rows = measured
            .iter()
            .map(|&(index, pages, hits, arrival, complete)| {
                let op = match stream[index as usize].op {
                    Op::Read => "R",
                    Op::Write => "W",
                    Op::Trim => "T",
                    Op::Flush => "F",
                };
                let source = source_of(index as usize);
                format!("{index},{op},{arrival},{complete},{pages},{hits},{source}\n")
            });
        let header = "request,op,arrival_ns,complete_ns,pages,hit_pages,stream\n".to_owned();
        let wanted: String = std::iter::once(header).chain(rows).collect();
        assert_eq!(log, wanted, "{expr}");
    }
}

/// In a closed loop time passes before it is known when the next request is issued.
#[test]
fn a_series_of_time_sums_up_a_closed_loop() {
    for (seed, depth, length) in [(1, 1, 10), (2, 1, 20_000), (3, 4, 500), (4, 30, 3_000_000)] {
        let trace = trace_of(&timed_swarm(seed, Profile::new(300, 8), 7_000));
        let spec = RunSpec {
            warmup: Warmup::Requests(20),
            replay: Replay::Closed {
                depth: NonZeroU32::new(depth).expect("at least 1"),
            },
            ..runs::spec("lru", Some(Arc::new(scaled(1, "dram=per_page"))))
        };
        let unwatched = execute(&spec, &trace, Hooks::default()).expect("the run starts");
        let (watched, rows) = with_series(&spec, &trace, Every::Time(Nanos(length)));
        assert_eq!(unwatched, watched);
        let sum = |figure: fn(&SeriesRow) -> u64| rows.iter().map(figure).sum::<u64>();
        assert_eq!(sum(|row| row.requests), watched.counts.requests);
        assert_eq!(sum(|row| row.evictions), watched.counts.evictions);
        assert_eq!(
            sum(|row| row.flash_writes_host),
            watched.counts.flash_writes_host
        );
        assert!(
            rows.is_sorted_by(|a, b| a.time_ns < b.time_ns),
            "depth {depth}"
        );
    }
}

#[test]
fn a_second_replay_gives_the_same_record() {
    let trace = trace_of(&timed_swarm(7, Profile::new(500, 8), 7_000));
    for expr in [
        "lru",
        "req-block",
        "awb(prober(lru,ssp=16k))",
        "procache(lru,p=0.4,c=32k)",
    ] {
        let spec = RunSpec {
            warmup: Warmup::Millionths(200_000),
            ..runs::spec(expr, Some(Arc::new(scaled(1, "dram=per_page"))))
        };
        let first = execute(&spec, &trace, Hooks::default()).expect("the run starts");
        let second = execute(&spec, &trace, Hooks::default()).expect("the run starts");
        assert_eq!(first, second);
        assert!(first.latency_ns.is_some_and(|l| l.all.max > Some(0)));
    }
}

#[test]
fn a_device_that_holds_the_trace_wraps_nothing() {
    for (seed, expr) in (0..12).flat_map(|seed| ["lru", "cac(procache(lirs))"].map(|e| (seed, e))) {
        let trace = trace_of(&timed_swarm(seed, Profile::new(200, 8), 7_000));
        let run = |wrap: bool| {
            let spec = RunSpec {
                wrap,
                ..runs::spec(expr, Some(Arc::new(scaled(1, "dram=per_page"))))
            };
            execute(&spec, &trace, Hooks::default()).expect("the run starts")
        };
        assert_eq!(run(false), run(true), "seed {seed}: {expr}");
    }
}

#[test]
fn addresses_beyond_the_device_are_wrapped_or_refused() {
    let device = Arc::new(scaled(1, "blocks_per_plane=16"));
    let space = device.logical_pages() * 8;
    let near = timed_swarm(3, Profile::new(400, 8), 7_000);
    let mut far = near.clone();
    for request in far.iter_mut().filter(|r| r.op != Op::Flush) {
        request.extents.iter_mut().for_each(|e| e.0 += 5 * space);
    }
    let run = |wrap: bool, requests: &[SlowRequest]| {
        let spec = RunSpec {
            wrap,
            read_alloc: ReadAlloc::Off,
            ..runs::spec("lru", Some(Arc::clone(&device)))
        };
        execute(&spec, &trace_of(requests), Hooks::default())
    };
    let refused = run(false, &far);
    assert!(matches!(refused, Err(RunError::BeyondDevice { .. })));
    let inside = run(true, &near).expect("nothing to wrap");
    let mut outside = run(true, &far).expect("everything is wrapped");
    let moved = far.iter().filter(|r| r.op != Op::Flush).count() as u64;
    assert_eq!(outside.counts.wrapped_requests.replace(0), Some(moved));
    assert_eq!(inside, outside);
}
