//! Rates of closed loops, held against the requests one by one and against what a device can do at most.

use crate::host_side::{PAGES, UNITS, closed, device, random, run, times};
use destage_scheme::Expr;
use destage_scheme::rng::SplitMix64;
use destage_sim::record::series::Every;
use destage_sim::{ResultRecord, RunSpec, Warmup};
use destage_trace::Trace;

/// MB/s of the link, to the drive and to the host.
const LINK: [u64; 2] = [70, 110];

/// A random loop: its device, scheme, depth and warm-up.
fn draw(rng: &mut SplitMix64, requests: u64) -> (RunSpec, u32) {
    let base = [PAGES, UNITS][rng.below(2) as usize];
    let host = match rng.below(3) {
        0 => String::new(),
        1 => "command_slots=3 t_command=700ns".to_owned(),
        _ => format!(
            "host_link={{write=\"{}MB/s\",read=\"{}MB/s\"}}",
            LINK[0], LINK[1]
        ),
    };
    let depths = [
        1,
        2,
        7,
        16,
        requests / 2 + 1,
        requests,
        requests + 1,
        u64::from(u32::MAX),
    ];
    let depth = depths[rng.below(8) as usize] as u32;
    let warm_ups = [
        Warmup::None,
        Warmup::Requests(requests / 3),
        Warmup::Passes(1),
    ];
    let mut spec = RunSpec {
        replay: closed(depth),
        warmup: warm_ups[rng.below(3) as usize],
        seed: rng.next_u64(),
        ..device(&format!("{base} {host}"))
    };
    let schemes: &[&str] = match base == PAGES {
        true => &["lru", "awb(lru)", "ecr(lru)", "none"],
        false => &["drain(lru)", "lru"],
    };
    let scheme = schemes[rng.below(schemes.len() as u64) as usize];
    spec.expr = Expr::parse(scheme).unwrap();
    (spec, depth)
}

/// Time in which exactly `depth` of the requests are outstanding, by their issues and completions.
fn time_at(depth: u64, times: &[(u64, u64)]) -> u64 {
    let mut events: Vec<(u64, i64)> = times.iter().flat_map(|t| [(t.0, 1), (t.1, -1)]).collect();
    events.sort_unstable();
    let (mut at, mut outstanding, mut held) = (0, 0, 0);
    for (time, change) in events {
        held += (time - at) * u64::from(outstanding == depth as i64);
        (at, outstanding) = (time, outstanding + change);
    }
    held
}

/// Bytes of reads or writes per second over the link; no limit without one.
fn check_link(record: &ResultRecord, elapsed: f64, what: &str) {
    let c = &record.counts;
    for (sectors, limit) in [c.write_sectors, c.read_sectors].into_iter().zip(LINK) {
        let least = (sectors * 512) as f64 / (limit * 1_000_000) as f64 * 1e9;
        // Each request rounds to whole ns.
        assert!(
            least <= elapsed + c.requests as f64,
            "{what}: {least} ns at least"
        );
    }
}

fn check(spec: &RunSpec, trace: &Trace, depth: u32, what: &str) {
    let ran = run(spec, trace, Every::Requests(1000)).unwrap();
    let record = &ran.record;
    let times = times(&ran.requests);
    let (n, depth) = (times.len() as u64, u64::from(depth));
    let rates = record.throughput.expect(what);
    let first = times.iter().map(|t| t.0).min().unwrap();
    let last = times.iter().map(|t| t.1).max().unwrap();
    let elapsed = rates.elapsed_ns as f64;
    assert_eq!(rates.elapsed_ns, last - first, "{what}");
    assert_eq!(record.counts.requests, n, "{what}");
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
    assert!(
        near(rates.requests_per_s * elapsed, n as f64 * 1e9),
        "{what}: {rates:?}"
    );
    let bytes = (record.counts.read_sectors + record.counts.write_sectors) * 512;
    assert!(
        near(rates.bytes_per_s * elapsed, bytes as f64 * 1e9),
        "{what}: {rates:?}"
    );

    // No more than the depth is outstanding, and each takes the shortest response at least.
    let sum: u64 = times.iter().map(|t| t.1 - t.0).sum();
    assert!(sum as f64 <= depth as f64 * elapsed, "{what}: Little's law");
    let shortest = times.iter().map(|t| t.1 - t.0).min().unwrap();
    assert!(
        rates.requests_per_s * shortest as f64 <= depth as f64 * 1e9 * (1.0 + 1e-9),
        "{what}"
    );
    if spec.device.as_ref().unwrap().host_link.read().is_some() {
        check_link(record, elapsed, what);
    }

    let held = rates.depth_held * elapsed;
    let own = time_at(depth, &times) as f64;
    match spec.warmup {
        Warmup::None => assert!((held - own).abs() <= 1.0, "{what}: held {held}, not {own}"),
        // Those of the warm-up are outstanding, too.
        _ => assert!(
            own <= held + 1.0 && rates.depth_held <= 1.0,
            "{what}: {own} > {held}"
        ),
    }
}

#[test]
fn rates_of_random_loops_are_requests_per_time() {
    for seed in 0..300 {
        let mut rng = SplitMix64::new(seed);
        let requests = [1, 2, 17, 90, 300, 700][rng.below(6) as usize];
        let (spec, depth) = draw(&mut rng, requests);
        let what = format!(
            "seed {seed}: {requests} requests at depth {depth}, {}",
            spec.expr
        );
        check(&spec, &random(seed, requests), depth, &what);
    }
}

/// Beyond the length of the trace the depth changes nothing, and what was never reached was not held.
#[test]
fn a_loop_deeper_than_its_trace_has_the_rate_of_one_burst() {
    for (seed, base) in (0..20).zip([PAGES, UNITS].into_iter().cycle()) {
        let trace = random(seed, 400);
        let rates = |depth: u32| {
            let spec = RunSpec {
                replay: closed(depth),
                ..device(base)
            };
            run(&spec, &trace, Every::Requests(1000))
                .unwrap()
                .record
                .throughput
                .unwrap()
        };
        let (alone, burst) = (rates(1), rates(400));
        assert_eq!(alone.depth_held, 1.0);
        for depth in [401, 5_000, u32::MAX] {
            let deeper = rates(depth);
            assert_eq!(
                (deeper.requests_per_s, deeper.depth_held),
                (burst.requests_per_s, 0.0)
            );
        }
        assert!(
            !burst.is_of_depth() && burst.requests_per_s > alone.requests_per_s,
            "seed {seed}"
        );
    }
}
