//! Timelines of drives with units: the program of a unit is one slice, with its pages and its padding.

use destage_device::config::EffectiveDevice;
use destage_scheme::rng::SplitMix64;
use destage_scheme::{Expr, ReadAlloc};
use destage_sim::timeline::{TimelineOperation, TimelineWindow};
use destage_sim::{Hooks, ResultRecord, RunSpec, Timeline, TimelineHook, execute};
use destage_trace::Trace;
use destage_types::{
    ByteSize, HostRequest, Lpn, Nanos, Op, OpKind, OpPhase, PhaseKind, RequestBatch,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A page takes 16,484 ns on the bus, and a program of four mapping units 616,484 ns.
const ONE_DIE: &str = "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 blocks_per_plane=16 \
                       pages_per_block=8 page_bytes=16384 mapping_bytes=4096 op=0.25 t_read=50us \
                       t_program=600us t_erase=3ms t_cmd=100ns t_byte=1ns t_dram=1us allocation=dynamic \
                       queue=fifo suspend=off queue_per=die frontier=die gc_unit=die buffer=bounded \
                       gc_mode=paced gc_low=1 gc_high=2 wear_levelling=off";

fn watched(sets: &str, frames: u64, requests: Vec<HostRequest>) -> (ResultRecord, Timeline) {
    let sets: Vec<String> = sets.split_whitespace().map(str::to_owned).collect();
    let config = EffectiveDevice::from_preset("default", &sets)
        .unwrap()
        .into_config();
    let spec = RunSpec {
        page: config.mapping(),
        read_alloc: ReadAlloc::Off,
        device: Some(Arc::new(config)),
        ..RunSpec::cache_only(Expr::parse("drain(lru)").unwrap(), ByteSize(frames * 4096))
    };
    let mut batch = RequestBatch::new();
    requests.into_iter().for_each(|head| batch.push(head));
    let trace = Trace::generated("requests", batch);
    let found: Arc<Mutex<Option<Timeline>>> = Arc::default();
    let sink = Arc::clone(&found);
    let hooks = Hooks {
        timeline: Some(TimelineHook {
            window: TimelineWindow {
                from: None,
                to: Nanos::NEVER,
            },
            limit: 100 << 20,
            take: Box::new(move |timeline| {
                *sink.lock().unwrap() = Some(timeline);
                Ok(())
            }),
        }),
        ..Hooks::default()
    };
    let record = execute(&spec, &trace, hooks).unwrap();
    let timeline = found.lock().unwrap().take();
    (record, timeline.expect("a run gives its timeline"))
}

fn request(at: u64, op: Op, page: u64, pages: u32) -> HostRequest {
    HostRequest::new(Nanos(at), op, 8 * page, 8 * pages)
}

fn phase(kind: PhaseKind, from: u64, to: u64) -> OpPhase {
    let (from, to) = (Nanos(from), Nanos(to));
    OpPhase { kind, from, to }
}

#[test]
fn units_are_slices_with_pages_and_padding() {
    let flush = HostRequest::new(Nanos(1_000_000), Op::Flush, 0, 0);
    let requests = vec![
        request(0, Op::Write, 0, 4),
        request(900_000, Op::Write, 9, 1),
        flush,
        request(5_000_000, Op::Write, 20, 4),
        request(10_000_000, Op::Write, 24, 4),
        request(15_000_000, Op::Read, 0, 2),
    ];
    let (record, timeline) = watched(ONE_DIE, 8, requests);
    assert_eq!(record.counts.padded_places, Some(3));
    let said = |op: &TimelineOperation| {
        (
            op.purpose,
            op.page.map(|page| page.0),
            op.pages,
            op.padding,
            op.request,
            (op.queued.0, op.activity.start.0, op.activity.end.0),
        )
    };
    let operations: Vec<_> = timeline.operations.iter().map(said).collect();
    let unit = |page, pages, padding, request, at: u64| {
        let times = (at, at, at + 616_484);
        ("unit", Some(page), pages, Some(padding), request, times)
    };
    assert_eq!(
        operations,
        [
            unit(0, 4, 0, None, 0),
            // The FLUSH closes the unit of page 9 and waits for it.
            unit(9, 1, 3, None, 1_000_000),
            unit(20, 4, 0, None, 5_000_000),
            unit(24, 4, 0, None, 10_000_000),
            // Two mapping units of one page: 50,100 ns, then 8,192 B.
            (
                "read",
                Some(0),
                2,
                None,
                Some(5),
                (15_000_000, 15_000_000, 15_058_292)
            ),
        ]
    );
    assert_eq!(
        timeline.operations[0].activity.phases,
        [
            phase(PhaseKind::Bus, 0, 16_484),
            phase(PhaseKind::Array, 16_484, 616_484)
        ]
    );
    assert_eq!(
        timeline.operations[4].activity.phases,
        [
            phase(PhaseKind::Bus, 15_000_000, 15_000_100),
            phase(PhaseKind::Array, 15_000_100, 15_050_100),
            phase(PhaseKind::Bus, 15_050_100, 15_058_292)
        ]
    );
    assert_eq!(timeline.requests.len(), 6);
    assert_eq!(timeline.chips, 1);
}

/// Random loads on drives of two dies with collection and suspension, and a host's side.
#[test]
fn timelines_add_up_to_the_record() {
    let base = ONE_DIE
        .replace("chips_per_channel=1", "chips_per_channel=2")
        .replace("planes_per_die=1", "planes_per_die=2");
    for (seed, more) in (0..8).zip(
        [
            "suspend=off program_pages=2",
            "suspend=program+erase program_planes=all t_suspend=5us t_resume=7us queue=read-first",
            "suspend=program+erase command_slots=2 t_command=3us",
        ]
        .into_iter()
        .cycle(),
    ) {
        let mut rng = SplitMix64::new(seed);
        let mut at = 0;
        let requests: Vec<HostRequest> = (0..3000)
            .map(|_| {
                at += rng.below(500_000);
                match rng.below(40) {
                    0 => HostRequest::new(Nanos(at), Op::Flush, 0, 0),
                    1..10 => request(at, Op::Read, rng.below(500), 1 + rng.below(6) as u32),
                    _ => request(at, Op::Write, rng.below(500), 1 + rng.below(6) as u32),
                }
            })
            .collect();
        let base = base.replace("suspend=off", "").replace("queue=fifo", "");
        let (record, timeline) = watched(&format!("{base} {more}"), 32, requests);
        check(&record, &timeline, more);
    }
}

fn check(record: &ResultRecord, timeline: &Timeline, what: &str) {
    assert_eq!(timeline.requests.len(), 3000, "{what}");
    let held = timeline.requests.iter().all(|r| r.came >= r.arrival);
    assert!(held, "{what}");
    let numbers: BTreeMap<u64, &TimelineOperation> = timeline
        .operations
        .iter()
        .map(|op| (op.activity.number, op))
        .collect();
    assert_eq!(numbers.len(), timeline.operations.len(), "{what}");
    let mut on_die: BTreeMap<u32, Vec<OpPhase>> = BTreeMap::new();
    let mut on_bus: BTreeMap<u32, Vec<OpPhase>> = BTreeMap::new();
    for op in &timeline.operations {
        let (activity, phases) = (&op.activity, &op.activity.phases);
        assert!(op.queued <= activity.start, "{what}: {op:?}");
        assert_eq!(phases.first().map(|p| p.from), Some(activity.start));
        assert_eq!(phases.last().map(|p| p.to), Some(activity.end));
        on_die.entry(activity.chip.0).or_default().extend(phases);
        let bus = phases.iter().filter(|p| p.kind == PhaseKind::Bus);
        on_bus.entry(activity.channel.0).or_default().extend(bus);
    }
    // Neither a die nor a bus does two things at once.
    for phases in on_die.values_mut().chain(on_bus.values_mut()) {
        phases.sort_by_key(|phase| phase.from);
        assert!(phases.windows(2).all(|p| p[0].to <= p[1].from), "{what}");
    }
    let units = |collects: bool| {
        (timeline.operations.iter()).filter(move |op| {
            op.activity.kind == OpKind::Program && op.collection.is_some() == collects
        })
    };
    let sum = |of: fn(&TimelineOperation) -> u32, collects| -> u64 {
        units(collects).map(|op| u64::from(of(op))).sum()
    };
    let pages: fn(&TimelineOperation) -> u32 = |op| op.pages;
    let padding: fn(&TimelineOperation) -> u32 = |op| op.padding.unwrap_or(0);
    let whole: Vec<u32> = units(false).map(|op| pages(op) + padding(op)).collect();
    assert!(
        whole.iter().all(|&all| all == whole[0]),
        "{what}: {whole:?}"
    );
    // The run is over with the last request; what is drained behind it is in no counter.
    let counts = &record.counts;
    assert!(
        sum(pages, false) >= counts.flash_writes_host - u64::from(whole[0] - 1),
        "{what}"
    );
    assert!(
        sum(padding, false) >= counts.padded_places.unwrap(),
        "{what}"
    );
    assert!(!timeline.collections.is_empty(), "{what}");
    for collection in &timeline.collections {
        let of = (timeline.operations.iter()).filter(|op| op.collection == Some(collection.number));
        let start = of.clone().map(|op| op.activity.start).min();
        assert_eq!(start, Some(collection.start), "{what}");
        let end = of.clone().map(|op| op.activity.end).max();
        assert_eq!(end, Some(collection.end), "{what}");
        let reads = of.filter(|op| op.activity.kind == OpKind::Read);
        let moved: u32 = reads.map(|op| op.pages).sum();
        assert_eq!(moved, collection.pages, "{what}");
    }
    assert!(units(true).next().is_some(), "{what}");
    assert!(
        timeline
            .operations
            .iter()
            .all(|op| op.page != Some(Lpn(u64::MAX))),
        "{what}"
    );
}
