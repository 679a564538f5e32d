//! Multi-plane commands in runs: times reckoned by hand, and laws.
//!
//! A page moves in 1024 ns, a command in 10 ns; the array reads in 100 ns, programs in 1000 ns.

use std::num::NonZeroU32;
use std::sync::Arc;

use destage_conformance::reference::{Profile, SlowRequest};
use destage_conformance::timed::runs::{
    device_of, flush_at_the_end, logged, outcome, record, requests, scales, spec, times,
};
use destage_conformance::timed::{TimedRun, timed_swarm, trace_of};
use destage_device::config::DeviceConfig;
use destage_device::nand::OpKind;
use destage_sim::precondition::prepare;
use destage_sim::record::ResultRecord;
use destage_sim::spec::{Replay, RunSpec};
use destage_sim::{Cause, Flash, Program};
use destage_trace::Trace;
use destage_types::rng::SplitMix64;
use destage_types::{ChannelId, ChipId, HostRequest, Lpn, Nanos, Op};

const PROGRAM: u64 = 10 + 1024 + 1000;
const READ: u64 = 10 + 100 + 1024;

/// A program of several pages in different planes of a die.
const fn program(pages: u64) -> u64 {
    pages * (10 + 1024) + 1000
}

const fn read(pages: u64) -> u64 {
    pages * (10 + 1024) + 100
}

/// One die of `planes` planes; page n lies in plane n modulo them.
fn die(planes: u32, more: &str) -> DeviceConfig {
    device_of(&format!(
        "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die={planes} page_bytes=4096 \
         pages_per_block=16 t_cmd=10ns t_read=100ns t_program=1us t_byte=0.25ns t_dram=1ns \
         multi_plane=on {more}"
    ))
}

/// Response times of requests for (first page, last page, arrival).
fn responses(expr: &str, device: DeviceConfig, list: &[(Op, u64, u64, u64)]) -> Vec<u64> {
    let run = TimedRun::new(expr, 2, device);
    times(&outcome(&run, &requests(list)))
}

use Op::{Read, Write};

#[test]
fn pages_of_a_request_are_programmed_together() {
    let one = [(Write, 0, 1, 0)];
    assert_eq!(responses("none", die(2, ""), &one), [program(2)]);
    assert_eq!(
        responses("none", die(2, "multi_plane=off"), &one),
        [2 * PROGRAM]
    );
    assert_eq!(
        responses("none", die(4, ""), &[(Write, 0, 3, 0)]),
        [program(4)]
    );
    assert_eq!(
        responses("none", die(4, ""), &[(Write, 2, 4, 0)]),
        [program(3)],
        "planes 2, 3 and 0"
    );
    assert_eq!(
        responses("none", die(2, ""), &[(Write, 0, 3, 0)]),
        [2 * program(2)],
        "two pages of a plane are two programs"
    );
    assert_eq!(
        responses("none", die(1, ""), &one),
        [2 * PROGRAM],
        "one plane: no effect"
    );
}

#[test]
fn evicted_pages_are_programmed_together() {
    // Two units of one page each, evicted for one request.
    let list = [(Write, 0, 1, 0), (Write, 2, 3, 10_000)];
    assert_eq!(responses("lru", die(2, ""), &list), [1, program(2)]);
    // One of two pages.
    let list = [(Write, 0, 1, 0), (Write, 4, 4, 10_000)];
    let expr = "bplru(block-pages=2,placement=stripe)";
    assert_eq!(responses(expr, die(2, ""), &list), [1, program(2)]);
    // `single_block` puts them in one plane.
    let expr = "bplru(block-pages=2)";
    assert_eq!(responses(expr, die(2, ""), &list), [1, 2 * PROGRAM]);
}

#[test]
fn pages_of_a_flush_are_programmed_together() {
    let flush = SlowRequest::new(Op::Flush, 0, 0).at(100);
    let mut list = requests(&[(Write, 0, 0, 0), (Write, 1, 1, 50)]);
    list.push(flush);
    let run = TimedRun::new("lru", 2, die(2, ""));
    assert_eq!(times(&outcome(&run, &list)), [1, 1, program(2)]);
}

#[test]
fn planes_out_of_step_are_joined() {
    // Plane 0 is one page ahead of plane 1 from the first request on.
    let list = [
        (Write, 0, 0, 0),
        (Write, 1, 2, 10_000),
        (Write, 3, 3, 20_000),
        (Write, 4, 5, 30_000),
    ];
    let all = responses("none", die(2, ""), &list);
    assert_eq!(all, [PROGRAM, program(2), PROGRAM, program(2)]);
}

#[test]
fn pages_of_a_request_are_read_together() {
    let reads = [(Read, 0, 1, 0)];
    assert_eq!(responses("none", die(2, ""), &reads), [read(2)]);
    assert_eq!(
        responses("none", die(2, "multi_plane=off"), &reads),
        [2 * READ]
    );
    assert_eq!(responses("none", die(4, ""), &[(Read, 1, 4, 0)]), [read(4)]);
    // Preconditioning maps 0, 2, 1: plane 0 is a page ahead.
    let list = [(Read, 0, 0, 0), (Read, 1, 2, 10_000)];
    assert_eq!(responses("none", die(2, ""), &list), [READ, read(2)]);
}

#[test]
fn requests_do_not_share_operations() {
    let list = [(Write, 0, 0, 0), (Write, 1, 1, 0)];
    assert_eq!(
        responses("none", die(2, ""), &list),
        [PROGRAM, 2 * PROGRAM],
        "at the same instant"
    );
    let list = [(Read, 0, 0, 0), (Read, 1, 1, 0)];
    assert_eq!(responses("none", die(2, ""), &list), [READ, 2 * READ]);
}

#[test]
fn dies_do_not_share_operations() {
    let two = "dies_per_chip=2 planes_per_die=2 queue_per=chip";
    // Pages 0 and 1 lie on different dies of one queue, 0 and 2 on one.
    let run = |list| responses("none", die(2, two), list);
    assert_eq!(run(&[(Write, 0, 1, 0)]), [2 * PROGRAM]);
    assert_eq!(run(&[(Write, 0, 3, 0)]), [2 * program(2)]);
}

/// Parts of pages that flash has: one read of both pages, one program of both after it.
#[test]
fn partial_pages_are_read_together_and_programmed_together() {
    let part = |page: u64, arrival| SlowRequest::new(Write, page * 8, 4).at(arrival);
    let mut list = requests(&[(Read, 0, 1, 0)]);
    list.extend([part(0, 10_000), part(1, 10_000)]);
    list.extend(requests(&[(Write, 2, 3, 20_000)]));
    let run = TimedRun {
        read_alloc: Some(false),
        ..TimedRun::new("lru", 2, die(2, ""))
    };
    let response = times(&outcome(&run, &list));
    assert_eq!(response, [read(2), 1, 1, read(2) + program(2)]);
}

/// A page that is read while its program waits is read alone, after that; a program that has
/// started is over when the die reads, so it keeps nothing apart.
#[test]
fn a_read_behind_its_program_is_on_its_own() {
    let list = [
        (Read, 0, 3, 0),
        (Write, 0, 0, 10_000),
        (Write, 2, 2, 10_100),
        (Read, 2, 3, 10_200),
        (Write, 2, 2, 30_000),
        (Read, 2, 3, 30_500),
    ];
    for queue in ["fifo", "read-first"] {
        let device = die(2, &format!("queue={queue}"));
        let wanted = [
            2 * read(2),
            PROGRAM,
            if queue == "fifo" {
                2 * PROGRAM
            } else {
                2 * PROGRAM + READ
            } - 100,
            2 * PROGRAM + 2 * READ - 200,
            PROGRAM,
            PROGRAM + read(2) - 500,
        ];
        assert_eq!(responses("none", device, &list), wanted, "{queue}");
    }
}

/// Two-page writes over a full device: collections come between, and every page is programmed.
fn collecting(more: &str) -> DeviceConfig {
    die(
        2,
        &format!(
            "blocks_per_plane=16 op=0.3 t_erase=5us gc_threshold=0.2 precondition.trace=false \
             precondition.fill=1 {more}"
        ),
    )
}

#[test]
fn a_collection_stands_between_the_programs_around_it() {
    for more in [
        "",
        "queue=read-first",
        "gc_mode=background",
        "copyback=on",
        "frontier=plane gc_unit=die",
    ] {
        let list: Vec<_> = (0..200u64)
            .map(|n| {
                let first = n * 37 % 170 * 2;
                (Write, first, first + 1, n * 30_000)
            })
            .collect();
        let run = TimedRun::new("none", 0, collecting(more));
        let outcome = outcome(&run, &requests(&list));
        assert!(outcome.device_counts[7] > 20, "{more}: collections");
        assert_eq!(outcome.programs.len(), 400);
        let together = times(&outcome).iter().filter(|&&t| t == program(2)).count();
        assert!(together > 50, "{more}: {together}");
        assert!(outcome.joined[1] > 100, "{more}: {:?}", outcome.joined);
    }
}

const EXPRS: [&str; 6] = [
    "none",
    "lru",
    "bplru(block-pages=4,placement=stripe)",
    "ecr(lru,cqct=oracle)",
    "gcar(cflru)",
    "awb(prober(lru,ssp=8k,rip=6))",
];

/// Pages, not operations, are what counters and energy count.
#[test]
fn pages_and_energy_do_not_depend_on_how_pages_are_grouped() {
    let mut profile = Profile::new(1500, 8).pages(300);
    profile.flush = true;
    let each = "e_read=1nJ e_program=1nJ e_erase=1nJ e_byte=0";
    let (mut joined, mut faster) = (0, 0);
    for seed in 0..8 {
        let mut requests = timed_swarm(seed, profile, 60_000);
        flush_at_the_end(&mut requests);
        for expr in EXPRS.iter().take(3) {
            let make = |more: &str| {
                let one = "op=0.5 blocks_per_plane=4096";
                record(expr, die(2, &format!("{one} {each} {more}")), &requests)
            };
            let (on, off) = (make("multi_plane=on"), make("multi_plane=off"));
            let (a, b) = (&on.counts, &off.counts);
            assert_eq!(a, b, "{expr}: no choice depends on queues");
            let energy = |r: &ResultRecord| r.energy_nj.clone().expect("energies are given");
            let (a, b) = (energy(&on), energy(&off));
            assert_eq!(a, b, "{expr}");
            assert_eq!(a.program, on.counts.flash_writes_host as f64, "{expr}");
            assert_eq!(a.read, on.counts.flash_reads_host as f64, "{expr}");
            let mean = |r: &ResultRecord| r.latency_ns.and_then(|l| l.all.mean);
            faster += u32::from(mean(&on) < mean(&off));
            joined += 1;
        }
    }
    assert!(faster * 10 > joined * 9, "{faster} of {joined}");
}

/// A die is busy for its operations: for each the array, for each page its command and transfer,
/// and the waits of reads for the bus.
#[test]
fn busy_time_is_the_sum_of_the_operations() {
    let config = die(4, "dies_per_chip=2 queue_per=die blocks_per_plane=4096");
    let engine = prepare(&config, &trace_of(&[]), false, false, 1);
    let mut engine = engine.expect("a new device needs no preparation");
    let (mut rng, mut now) = (SplitMix64::new(5), Nanos::ZERO);
    for index in 0..2000 {
        engine.step(now);
        let op = [Write, Write, Read][rng.below(3) as usize];
        engine.begin(index, &HostRequest::new(now, op, 0, 8), now);
        let (first, pages) = (rng.below(400), 1 + rng.below(12));
        for lpn in (first..first + pages).map(Lpn) {
            let read_first = op == Write && rng.below(4) == 0;
            match op {
                Read if engine.is_mapped(lpn) => engine.read(lpn, 8),
                Read => {}
                _ => {
                    engine.program(Program {
                        lpn,
                        cause: Cause::Own,
                        unit: None,
                        channel: None,
                        read_first,
                        cached: false,
                    });
                }
            }
        }
        engine.end(pages, 0);
        now += Nanos(rng.below(20_000));
    }
    while engine.next_event() != Nanos::NEVER {
        engine.step(engine.next_event());
    }
    let (nand, mut moved) = (engine.nand(), 0);
    let [reads, programs] = [OpKind::Read, OpKind::Program].map(|kind| nand.started(kind));
    let (mut busy, mut pages) = (Nanos::ZERO, 0);
    for chip in (0..nand.chips()).map(ChipId) {
        let stats = nand.chip_stats(chip);
        busy += stats.busy - stats.stalled;
        pages += stats.of(OpKind::Read) + stats.of(OpKind::Program);
        moved += stats.bytes_read + stats.bytes_programmed;
    }
    let operations = programs * 1000 + reads * 100;
    assert_eq!(busy, Nanos(operations + pages * (10 + 1024)));
    assert_eq!(nand.bus_time(ChannelId(0)), Nanos(pages * (10 + 1024)));
    assert_eq!(moved, pages * 4096);
    let ways = programs + reads;
    assert!(
        2 * pages > 3 * ways && pages > 8_000,
        "{pages} pages in {ways}"
    );
}

/// Where no request has two pages in two planes nothing is joined, and nothing changes.
#[test]
fn single_pages_take_the_times_they_took() {
    let mut stream = timed_swarm(3, Profile::new(800, 8).pages(300), 3_000);
    stream.retain(|r| r.op != Op::Flush);
    for request in &mut stream {
        let page = request.extents[0].0 / 8;
        request.extents = vec![(page * 8, 8)];
        request.prev.clear();
    }
    for expr in EXPRS.iter().filter(|expr| !expr.contains("bplru")) {
        for more in ["", "queue=read-first", "gc_mode=background"] {
            let on = record(expr, collecting(more), &stream);
            let off = record(
                expr,
                collecting(&format!("{more} multi_plane=off")),
                &stream,
            );
            assert_eq!(on.counts, off.counts, "{expr}, {more}");
            assert_eq!(on.latency_ns, off.latency_ns, "{expr}, {more}");
            assert_eq!(on.erase_counts, off.erase_counts, "{expr}, {more}");
        }
    }
}

#[test]
fn all_times_scale_together() {
    let mut profile = Profile::new(900, 8).pages(300);
    profile.flush = true;
    let stream = timed_swarm(11, profile, 4_000);
    let times = |k: u64| {
        format!(
            "t_read={}ns t_program={}ns t_erase={}ns t_cmd={}ns t_byte={}ps t_dram={}ns",
            100 * k,
            1_000 * k,
            5_000 * k,
            10 * k,
            250 * k,
            k
        )
    };
    for expr in EXPRS {
        for more in ["", "gc_mode=background"] {
            let device = |k| collecting(&format!("{more} {}", times(k)));
            scales(expr, device, &stream, 7);
        }
    }
}

/// Laws between schemes that hold whatever the times are: on one chip there is none to prefer, no
/// chip collects where there is room, and a filter that admits everything is its base.
#[test]
fn schemes_that_are_the_same_take_the_same_times() {
    let pairs = [
        ("ecr-eps", "lru", None),
        ("ecr(lru)", "cflru-eps", None),
        ("gcar(lru)", "lru", None),
        ("gcar(cflru)", "cflru", None),
        (
            "procache(lru,p=1,c=100000p,hit_rule=page)",
            "lru",
            Some(false),
        ),
    ];
    for seed in 0..10 {
        let stream = timed_swarm(seed, Profile::new(300, 8).pages(200), 2_000);
        for (one, other, read_alloc) in pairs {
            for more in ["", "queue=read-first"] {
                let run = |expr: &str| {
                    let device = die(3, &format!("op=0.5 blocks_per_plane=4096 {more}"));
                    let run = TimedRun {
                        read_alloc,
                        ..TimedRun::new(expr, 20, device)
                    };
                    let outcome = run.real(&stream);
                    (outcome.requests, outcome.programs, outcome.joined)
                };
                assert_eq!(
                    run(one),
                    run(other),
                    "{one} and {other}, {more}, seed {seed}"
                );
            }
        }
    }
}

/// Issue and completion of every request in a closed loop.
fn closed_loop(expr: &str, device: &DeviceConfig, depth: u32, trace: &Trace) -> Vec<(u64, u64)> {
    let spec = RunSpec {
        replay: Replay::Closed {
            depth: NonZeroU32::new(depth).expect("a loop has requests"),
        },
        ..spec(expr, Some(Arc::new(device.clone())))
    };
    let (_, log) = logged(&spec, trace).unwrap_or_else(|e| panic!("{expr}: {e}"));
    let row = |line: &str| {
        let cell = |i: usize| line.split(',').nth(i).and_then(|c| c.parse().ok());
        let times = cell(2).zip(cell(3));
        times.expect("a row has arrival and completion")
    };
    log.lines().skip(1).map(row).collect()
}

/// A closed loop issues a request when the first of those in flight completes, and with the times
/// of issue as arrivals the slow device completes every request at the same nanosecond.
#[test]
fn closed_loops_agree_with_the_slow_device() {
    let (mut programs, mut joined) = (0, [0; 2]);
    for seed in 0..60 {
        let rng = &mut SplitMix64::new(seed);
        let mut pick = |from: &[&'static str]| from[rng.below(from.len() as u64) as usize];
        let modes = ["", "gc_mode=background", "copyback=on"];
        let more = format!(
            "{} {} {} chips_per_channel={}",
            pick(&modes),
            pick(&["", "dies_per_chip=2 queue_per=chip"]),
            pick(&["", "queue=read-first"]),
            pick(&["1", "3"]),
        );
        let (expr, device) = (pick(&EXPRS), collecting(&more));
        // The slow model of `ecr` knows chips by page numbers.
        if expr.contains("ecr") && more.contains("dies_per_chip") {
            continue;
        }
        let mut stream = timed_swarm(seed, Profile::new(300, 8).pages(200), 1_000);
        let depth = 1 + rng.below(9) as u32;
        let times = closed_loop(expr, &device, depth, &trace_of(&stream));
        assert_eq!(times.len(), stream.len());
        let (mut flying, mut now) = (Vec::new(), 0);
        for (i, &(issued, complete)) in times.iter().enumerate() {
            if i >= depth as usize {
                flying.sort_unstable();
                now = now.max(flying.remove(0));
            }
            assert_eq!(issued, now, "{expr}, {more}: request {i}");
            flying.push(complete);
        }
        for (request, &(issued, _)) in stream.iter_mut().zip(&times) {
            request.arrival = issued;
        }
        let slow = TimedRun::new(expr, 24, device).slow(&stream);
        let complete: Vec<_> = slow.requests.iter().map(|r| (r.3, r.4)).collect();
        assert_eq!(complete, times, "{expr}, {more}, depth {depth}");
        programs += slow.programs.len();
        (0..2).for_each(|i| joined[i] += slow.joined[i]);
    }
    assert!(
        programs > 5_000 && joined.iter().all(|&n| n > 300),
        "{programs}, {joined:?}"
    );
}
