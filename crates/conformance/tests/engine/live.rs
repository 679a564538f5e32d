//! A device that is fed by hand: the same as a run, and what it says of durability.

use super::gc_runs::{MODES, small, timed};
use destage_conformance::by_hand::{
    check_against_run, check_next_events, check_promises, check_steps, completions, device, submit,
};
use destage_conformance::reference::{Profile, SlowRequest};
use destage_conformance::suites::is_full;
use destage_conformance::timed::runs::spec;
use destage_conformance::timed::{timed_swarm, trace_of};
use destage_scheme::Expr;
use destage_sim::live::{LiveDevice, LiveEvent, SubmitError, Ticket};
use destage_sim::run::{Hooks, execute};
use destage_sim::spec::RunSpec;
use destage_trace::{BinWriter, LoadOptions, Source, Trace, load};
use destage_types::rng::SplitMix64;
use destage_types::{HostRequest, Nanos, Op, RequestFlags};
use std::io::Cursor;

const EXPRS: [&str; 13] = [
    "none",
    "lru",
    "lirs",
    "gcar(cflru)",
    "ecr(lru)",
    "req-block",
    "bplru(block-pages=8,padding=true)",
    "eager(lru)",
    "awb(prober(lru,ssp=16k))",
    "procache(lru,p=0.4,c=32k)",
    "test-drain(lru,depth=3)",
    "test-age(lru,age=60000)",
    "test-age-idle(arc,age=20000)",
];

/// Requests of one extent with FLUSH and TRIM among them, on a device of about 400 pages.
fn stream(seed: u64) -> Trace {
    let profile = Profile::new(900, 8).pages(390).with_forced();
    let mut requests = timed_swarm(seed, profile, 9_000);
    let mut rng = SplitMix64::new(seed);
    for request in &mut requests {
        request.extents.truncate(1);
        request.prev.clear();
        if rng.below(40) == 0 {
            *request = SlowRequest::new(Op::Flush, 0, 0).at(request.arrival);
        }
        if request.op == Op::Write {
            request.flags = RequestFlags::FUA
                .only_if(rng.below(12) == 0)
                .and(RequestFlags::PREFLUSH.only_if(rng.below(20) == 0));
        }
    }
    trace_of(&requests)
}

/// A run whose addresses are modulo the device.
fn wrapped(expr: &str, mode: &str) -> RunSpec {
    RunSpec {
        wrap: true,
        ..spec(expr, Some(small(2, mode)))
    }
}

/// Of so many cases one is tried: each scheme and each kind of device, but not all together.
fn parts() -> usize {
    if is_full() { 1 } else { 5 }
}

/// Each scheme on a device of each kind, with requests of their own.
pub(super) fn cases() -> impl Iterator<Item = (RunSpec, Trace, String)> {
    let schemes = EXPRS.iter().enumerate();
    schemes.flat_map(|(i, expr)| {
        MODES.iter().enumerate().map(move |(j, mode)| {
            let seed = (i * MODES.len() + j) as u64;
            let spec = wrapped(expr, mode);
            (spec, stream(seed), format!("{expr}, {mode}, {seed}"))
        })
    })
}

#[test]
fn a_device_fed_by_hand_does_what_a_run_does() {
    let compared = cases().filter(|(spec, trace, what)| check_against_run(spec, trace, what));
    let compared = compared.count();
    assert!(compared > 100, "{compared} runs reached their end");
}

#[test]
fn it_does_not_matter_in_how_many_steps_time_passes() {
    for (seed, (spec, trace, what)) in (0..).zip(cases().step_by(parts())) {
        check_steps(&spec, &trace, seed, &what);
    }
}

#[test]
fn the_next_event_is_exact() {
    for (spec, trace, what) in cases().step_by(parts()) {
        check_next_events(&spec, &trace, &what);
    }
}

/// Every completed FLUSH, every FUA write, and every write with a preflush has what it promises on flash before it;
/// nothing is said of what was not written, and versions of a page come in their order.
#[test]
fn what_is_flushed_is_durable() {
    let of = |(spec, trace, what): (RunSpec, Trace, String)| check_promises(&spec, &trace, &what);
    let promises: u64 = cases().step_by(parts()).map(of).sum();
    assert!(promises * parts() as u64 > 500_000, "{promises}");
}

/// Memory does not depend on how many requests were served.
#[test]
fn what_is_kept_is_bounded() {
    let spec = spec("lru", Some(small(2, MODES[0])));
    let mut device = LiveDevice::new(&spec, "").unwrap();
    let sectors = device.capacity_sectors();
    let (mut rng, mut out, mut completed) = (SplitMix64::new(1), Vec::new(), 0u64);
    for i in 0..100_000u64 {
        let at = Nanos(i * 2_000_000);
        device.advance(at, &mut out);
        completed += out
            .iter()
            .filter(|e| matches!(e, LiveEvent::Completed { .. }))
            .count() as u64;
        out.clear();
        let op = [Op::Read, Op::Write][rng.below(2) as usize];
        let request = HostRequest::new(at, op, rng.below(sectors / 8) * 8, 8);
        device.submit(at, request).unwrap();
        assert!(device.volatile_pages() as u64 <= sectors / 8);
        if i % 10_000 == 0 {
            assert_eq!(device.record().counts.requests, i + 1, "at any time");
        }
    }
    assert!(completed > 99_000, "{completed}");
}

/// Once nothing is under way, the versions that are not on flash are those of dirty pages. (A write past the cache left that
/// of the page whose data it had replaced.)
#[test]
fn at_rest_dirty_pages_alone_are_not_on_flash() {
    let mut past = 0;
    for expr in ["lru", "procache(lru)", "procache(arc)", "prober(lru)"] {
        let spec = spec(expr, Some(small(2, MODES[0])));
        let mut device = LiveDevice::new(&spec, "").unwrap();
        let (mut rng, mut out) = (SplitMix64::new(7), Vec::new());
        for i in 1..400_u64 {
            let at = Nanos(i * 1_000_000_000);
            device.advance(at, &mut out);
            let dirty = device.record().dirty_pages_left;
            assert_eq!(device.volatile_pages() as u64, dirty, "{expr}, request {i}");
            // Some go past the cache for their size.
            let pages = 1 << rng.below(6);
            let request = HostRequest::new(at, Op::Write, rng.below(64) * 8, 8 * pages);
            device.submit(at, request).unwrap();
        }
        past += u64::from(expr != "lru") * device.record().counts.flash_writes_host;
    }
    assert!(past > 0);
}

#[test]
fn a_scheme_changes_after_a_flush() {
    for (seed, mode) in MODES.iter().enumerate() {
        let spec = wrapped("lru", mode);
        let mut device = LiveDevice::new(&spec, "").unwrap();
        let (mut out, mut last) = (Vec::new(), Vec::new());
        let chain = [
            "eager(lru)",
            "lirs",
            "awb(prober(lru,ssp=16k))",
            "cflru",
            "none",
        ];
        'changes: for (i, expr) in chain.iter().enumerate() {
            let start = device.now();
            let trace = timed(seed + i);
            for request in trace.requests.records() {
                let at = Nanos(start.0 + request.arrival.0);
                let one = HostRequest::new(at, request.op, request.start_sector, request.sectors);
                if device.submit(at, one).is_err() {
                    break 'changes;
                }
            }
            let refused = device.change_scheme(device.now(), Expr::parse("belady").unwrap());
            assert!(
                matches!(refused, Err(SubmitError::Scheme(_))),
                "{refused:?}"
            );
            let expr = Expr::parse(expr).unwrap();
            last.push(device.change_scheme(device.now(), expr.clone()).unwrap());
            let record = device.record();
            assert_eq!(
                (record.scheme, record.counts.requests),
                (expr.to_string(), 0)
            );
        }
        let served = device.requests();
        device.finish(&mut out);
        let ends = completions(&out);
        assert_eq!(ends.len() as u64, served, "{mode}: all are completed");
        assert!(last.iter().all(|flush| ends.contains_key(&flush.0)));
    }
}

/// The cache is lost, the translation layer is not: what was flushed is read from flash again, blocks stay worn,
/// and what was under way never ends.
#[test]
fn a_power_cycle_keeps_the_mapping() {
    for (seed, mode) in MODES.iter().enumerate() {
        for expr in EXPRS {
            let spec = wrapped(expr, mode);
            let mut device = LiveDevice::new(&spec, "").unwrap();
            let mut out = Vec::new();
            let trace = timed(seed);
            let full = !trace
                .requests
                .records()
                .iter()
                .all(|r| submit(&mut device, r).is_some());
            let what = format!("{expr}, {mode}");
            if full {
                continue;
            }
            let worn = device.record().erase_counts.unwrap().mean;
            let last = Ticket(device.requests() - 1);
            device.power_cycle(device.now());
            let at = device.now();
            let record = device.record();
            assert_eq!(record.counts.requests, 0, "{what}");
            assert!(record.erase_counts.unwrap().mean >= worn, "{what}");
            assert_eq!(device.volatile_pages(), 0, "{what}");
            // Every page: those that flash had are read from it, and no cache has any.
            let sectors = device.capacity_sectors() as u32;
            let read = HostRequest::new(at, Op::Read, 0, sectors);
            let ticket = device.submit(at, read).unwrap();
            let counts = device.record().counts;
            assert_eq!(counts.page_hits, 0, "{what}");
            assert!(counts.flash_reads_host > 0, "{what}");
            assert!(
                counts.flash_reads_host + counts.unmapped_reads.unwrap_or(0) == counts.read_pages,
                "{what}"
            );
            device.finish(&mut out);
            let ends = completions(&out);
            assert!(
                ends.keys().eq([&ticket.0]) && ticket > last,
                "{what}: {ends:?}"
            );
        }
    }
}

/// A recording of the served requests gives the same counts in a run.
#[test]
fn a_recorded_stream_replays_alike() {
    for expr in EXPRS {
        let spec = wrapped(expr, MODES[0]);
        let mut device = device(&spec);
        let mut file = BinWriter::new(Cursor::new(Vec::new())).unwrap();
        let trace = stream(5);
        for request in trace.requests.records() {
            let at = Nanos(request.arrival.0 + 77_000);
            let mut served =
                HostRequest::new(at, request.op, request.start_sector, request.sectors);
            served.flags = request.flags;
            device.submit(at, served).unwrap();
            let (head, more, prev) = (&served, &[], &[]);
            file.write(destage_types::RequestRef { head, more, prev })
                .unwrap();
        }
        let file = file.finish(&[], true).unwrap().into_inner();
        let read = load(Source::bytes("record.bin", file), &LoadOptions::default()).unwrap();
        let run = execute(&spec, &read, Hooks::default()).unwrap();
        let served = device.finish(&mut Vec::new());
        assert_eq!(run.counts, served.counts, "{expr}");
    }
}

#[test]
fn what_a_device_does_not_take() {
    let spec = spec("lru", Some(small(2, MODES[0])));
    let mut device = LiveDevice::new(&spec, "").unwrap();
    let sectors = device.capacity_sectors();
    let at = Nanos(100);
    let write = |start, count| HostRequest::new(at, Op::Write, start, count);
    device.submit(at, write(sectors - 8, 8)).unwrap();
    for (at, request, why) in [
        (Nanos(99), write(0, 8), "after the device was at 100"),
        (Nanos(1 << 63), write(0, 8), "below 2^63"),
        (at, write(sectors - 7, 8), "beyond"),
        (at, write(u64::MAX, 8), "beyond"),
        (at, write(0, 0), "at least one sector"),
    ] {
        let refused = device.submit(at, request).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
    assert_eq!(device.requests(), 1);
    let flushing = RunSpec {
        flush_at_end: true,
        ..spec.clone()
    };
    let refused = LiveDevice::new(&flushing, "").err().unwrap().to_string();
    assert_eq!(refused, "a live device takes no flush at the end");
    let bare = RunSpec {
        device: None,
        ..spec
    };
    assert!(LiveDevice::new(&bare, "").is_err());
}
