//! Random drives that are fed by hand: the same as a run, and what they say of durability.

use super::schemes::on_demand;
use super::{Before, config, load, spec, trace_of};
use destage_conformance::by_hand::{
    check_against_run, check_next_events, check_promises, check_steps, completions, device,
    replayed, submit,
};
use destage_conformance::reference::drive::{DriveConfig, DriveModel};
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::suites::is_full;
use destage_device::config::DeviceConfig;
use destage_scheme::Expr;
use destage_sim::RunSpec;
use destage_sim::live::{LiveDevice, LiveEvent, SubmitError};
use destage_trace::Trace;
use destage_types::{ByteSize, HostRequest, Lpn, Nanos, Op, RequestFlags};
use std::sync::Arc;

/// A random drive with a load. One drive in four has no bounded buffer.
fn case(seed: u64) -> (RunSpec, Trace, String) {
    let mut rng = SplitMix64::new(seed);
    let mut c = config(&mut rng);
    // A host names no old addresses.
    c.cac = None;
    let exported = DriveModel::new(c.clone()).expect("legal").exported() as u64;
    let before = Before::draw(&mut rng, &c);
    let requests = load(&mut rng, &c, exported, 300);
    let mut spec = spec(&c, before);
    if rng.chance(25) {
        spec.device = device_on_demand(&c, before);
    }
    (spec, trace_of(&requests), format!("seed {seed}: {c:#?}"))
}

fn device_on_demand(c: &DriveConfig, before: Before) -> Option<Arc<DeviceConfig>> {
    let mut c = c.clone();
    on_demand(&mut c);
    spec(&c, before).device
}

/// Of so many drives one is tried.
fn parts() -> u64 {
    if is_full() { 1 } else { 3 }
}

fn cases(seeds: u64) -> impl Iterator<Item = (RunSpec, Trace, String)> {
    (0..seeds).map(case)
}

#[test]
fn a_drive_fed_by_hand_does_what_a_run_does() {
    for (spec, trace, what) in cases(400 / parts()) {
        assert!(check_against_run(&spec, &trace, &what), "{what}");
    }
}

#[test]
fn it_does_not_matter_in_how_many_steps_time_passes_for_drives() {
    for (seed, (spec, trace, what)) in (0..).zip(cases(100 / parts())) {
        check_steps(&spec, &trace, seed, &what);
    }
}

#[test]
fn the_next_event_of_a_drive_is_exact() {
    for (spec, trace, what) in cases(100 / parts()) {
        check_next_events(&spec, &trace, &what);
    }
}

/// A cache that survives a power cut promises nothing of flash.
#[test]
fn what_is_flushed_to_a_drive_is_durable() {
    let mut promises = 0;
    for (spec, trace, what) in cases(300 / parts()) {
        let device = spec.device.as_ref().expect("a drive");
        if !device.keeps_cache() {
            promises += check_promises(&spec, &trace, &what);
        }
    }
    assert!(promises * parts() > 100_000, "{promises}");
}

/// The host of such a drive sends no FLUSH, and FUA has nothing to write.
#[test]
fn flags_of_writes_change_nothing_on_a_drive_that_keeps_its_cache() {
    let mut compared = 0;
    for (spec, trace, what) in cases(300) {
        if !spec.device.as_ref().expect("a drive").keeps_cache() {
            continue;
        }
        let mut plain = trace.clone();
        for request in plain.requests.records_mut() {
            request.flags = RequestFlags::NONE;
        }
        let [flagged, plain] = [&trace, &plain].map(|trace| {
            let (record, ends) = replayed(&spec, trace).expect("room");
            (serde_json::to_string(&record).expect("a record"), ends)
        });
        assert_eq!(flagged, plain, "{what}");
        compared += 1;
    }
    assert!(compared > 30, "{compared}");
}

/// After each of many power cuts the drive serves the next requests: no block is lost, nothing that was mapped is
/// gone, and what was under way never ends.
#[test]
fn a_drive_survives_power_cuts() {
    for (seed, (spec, trace, what)) in (0..).zip(cases(100)) {
        let mut rng = SplitMix64::new(seed);
        let mut device = device(&spec);
        let filled = device.record().counts.unmapped_reads;
        assert_eq!(filled.unwrap_or(0), 0);
        let mut out = Vec::new();
        let requests = trace.requests.records();
        for _ in 0..12 {
            let (start, first) = (device.now(), device.requests());
            let worn = device.record().erase_counts.expect("a drive wears").mean;
            let count = rng.below(requests.len() as u64 - 2) as usize;
            for request in &requests[..count] {
                let mut one = *request;
                one.arrival = Nanos(start.0 + request.arrival.0);
                let room = submit(&mut device, &one).is_some();
                assert!(room, "{what}: {:?}", device.fault());
                device.advance(one.arrival, &mut out);
            }
            device.power_cycle(Nanos(device.now().0 + rng.below(3_000_000)));
            out.clear();
            assert_eq!(device.volatile_pages(), 0, "{what}");
            let record = device.record();
            assert_eq!(record.counts.requests, 0, "{what}");
            let mean = record.erase_counts.expect("a drive wears").mean;
            assert!(mean >= worn, "{what}");
            // Every unit that has data is read from flash, and nothing before ends.
            let last = device.requests();
            let at = device.now();
            let sectors = device.capacity_sectors() as u32;
            let read = HostRequest::new(at, Op::Read, 0, sectors);
            device.submit(at, read).expect("room");
            device.advance(Nanos(at.0 + 60_000_000_000), &mut out);
            let counts = device.record().counts;
            assert_eq!(counts.page_hits, 0, "{what}");
            let unmapped = counts.unmapped_reads.unwrap_or(0);
            assert_eq!(
                counts.flash_reads_host + unmapped,
                counts.read_pages,
                "{what}"
            );
            let ends = completions(&out);
            assert!(ends.keys().eq([&last]), "{what}: {first} to {last}");
            out.clear();
        }
    }
}

/// The next scheme comes when the cache was given to flash, and every request before it is complete.
#[test]
fn the_scheme_of_a_drive_changes() {
    for (spec, trace, what) in cases(100) {
        let mut device = device(&spec);
        let mut out = Vec::new();
        for (i, expr) in ["drain(lru)", "fifo", "drain(arc)"].iter().enumerate() {
            let start = device.now();
            for request in &trace.requests.records()[..60 * (i + 1)] {
                let mut one = *request;
                one.arrival = Nanos(start.0 + request.arrival.0);
                submit(&mut device, &one).expect("room");
            }
            let expr = Expr::parse(expr).expect("a scheme");
            let at = device.now();
            device
                .change_scheme(at, expr.clone())
                .expect("it can change");
            if device.is_changing() {
                let write = HostRequest::new(at, Op::Write, 0, 8);
                let refused = device.submit(at, write);
                assert!(matches!(refused, Err(SubmitError::Changing)), "{what}");
                device.advance(Nanos(at.0 + 60_000_000_000), &mut out);
            }
            assert!(!device.is_changing(), "{what}");
            let record = device.record();
            assert_eq!(
                (record.scheme, record.counts.requests),
                (expr.to_string(), 0),
                "{what}"
            );
        }
        let served = device.requests();
        device.finish(&mut out);
        assert_eq!(completions(&out).len() as u64, served, "{what}");
    }
}

/// A cache that survives power cuts is written to flash before another scheme follows.
#[test]
fn the_scheme_changes_of_a_drive_that_keeps_its_cache() {
    let mut c = DriveConfig::small(4);
    on_demand(&mut c);
    c.drain = None;
    c.set("cache_persistence", "nvm");
    c.set("gc_high", 2);
    let mut device = LiveDevice::new(&spec(&c, Before::EMPTY), "").expect("a drive");
    let write = HostRequest::new(Nanos(0), Op::Write, 0, 8);
    device.submit(Nanos(0), write).expect("room");
    let expr = Expr::parse("lru").expect("a scheme");
    let flush = device
        .change_scheme(Nanos(5_000), expr)
        .expect("it can change");
    let mut out = Vec::new();
    device.advance(Nanos(10_000_000), &mut out);
    assert_eq!(completions(&out).get(&flush.0), Some(&621_484));
}

/// Of four frames, pages 1 and 2 have clean ones. Page 4 takes that of page 1, and page 0 leaves before. When page 0 is
/// written again, its unit is still open.
#[test]
fn a_page_that_left_keeps_its_version_in_its_open_unit() {
    let mut c = DriveConfig::small(4);
    (c.scheme, c.drain, c.read_allocation) = ("sieve".to_owned(), None, true);
    c.set("gc_high", 2);
    c.set("rewrite", "in_place");
    c.set("unit_hold", "100us");
    let mut device = LiveDevice::new(&spec(&c, Before::EMPTY), "").expect("a drive");
    let requests = [
        (Op::Write, 0),
        (Op::Read, 1),
        (Op::Read, 2),
        (Op::Write, 3),
        (Op::Write, 4),
        (Op::Write, 0),
    ];
    for (at, (op, page)) in (0..).zip(requests) {
        let request = HostRequest::new(Nanos(at), op, page * 8, 8);
        device.submit(Nanos(at), request).expect("room");
    }
    let mut out = Vec::new();
    device.advance(Nanos(10_000_000), &mut out);
    let of_page = |event: &LiveEvent| match *event {
        LiveEvent::Written {
            lpn: Lpn(0),
            ticket,
        } => Some(("written", ticket.0)),
        LiveEvent::Captured {
            lpn: Lpn(0),
            ticket,
        } => Some(("captured", ticket.0)),
        LiveEvent::Durable {
            lpn: Lpn(0),
            ticket,
            ..
        } => Some(("durable", ticket.0)),
        _ => None,
    };
    let told: Vec<(&str, u64)> = out.iter().filter_map(of_page).collect();
    assert_eq!(
        told,
        [
            ("written", 0),
            ("captured", 0),
            ("written", 5),
            ("durable", 0)
        ]
    );
}

/// Memory does not depend on how many requests were served.
#[test]
fn what_is_kept_of_a_drive_is_bounded() {
    let (mut spec, ..) = case(1);
    spec.cache = ByteSize(spec.cache.0.max(256 * spec.page.bytes()));
    let mut device = device(&spec);
    let page = u64::from(spec.page.sectors());
    let pages = device.capacity_sectors() / page;
    let (mut rng, mut out) = (SplitMix64::new(1), Vec::new());
    for i in 0..30_000u64 {
        let at = Nanos(i * 2_000_000);
        device.advance(at, &mut out);
        out.clear();
        let op = [Op::Read, Op::Write][rng.below(2) as usize];
        let request = HostRequest::new(at, op, rng.below(pages) * page, page as u32);
        device.submit(at, request).expect("room");
        assert!(device.volatile_pages() as u64 <= pages);
    }
}
