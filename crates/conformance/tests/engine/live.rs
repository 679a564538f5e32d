//! A device that is fed by hand: the same as a run, and what it says of durability.

use super::gc_runs::{MODES, small, timed};
use destage_conformance::reference::{Profile, SlowRequest};
use destage_conformance::timed::runs::{logged, spec};
use destage_conformance::timed::{timed_swarm, trace_of};
use destage_scheme::Expr;
use destage_sim::live::{DurablePart, LiveDevice, LiveEvent, SubmitError, Ticket};
use destage_sim::record::{ResultRecord, TraceInfo};
use destage_sim::run::{Hooks, execute};
use destage_sim::spec::RunSpec;
use destage_trace::{BinWriter, LoadOptions, Source, Trace, load};
use destage_types::rng::SplitMix64;
use destage_types::{HostRequest, Nanos, Op};
use std::collections::{BTreeMap, BTreeSet};
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
    let profile = Profile::new(900, 8).pages(390);
    let mut requests = timed_swarm(seed, profile, 9_000);
    let mut rng = SplitMix64::new(seed);
    for request in &mut requests {
        request.extents.truncate(1);
        request.prev.clear();
        if rng.below(40) == 0 {
            *request = SlowRequest::new(Op::Flush, 0, 0).at(request.arrival);
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

/// Each scheme on a device of each kind, with requests of their own.
fn cases() -> impl Iterator<Item = (RunSpec, Trace, String)> {
    let schemes = EXPRS.iter().enumerate();
    schemes.flat_map(|(i, expr)| {
        MODES.iter().enumerate().map(move |(j, mode)| {
            let seed = (i * MODES.len() + j) as u64;
            let spec = wrapped(expr, mode);
            (spec, stream(seed), format!("{expr}, {mode}, {seed}"))
        })
    })
}

fn submit(device: &mut LiveDevice, request: &HostRequest) -> Option<Ticket> {
    let (at, start) = (request.arrival, request.start_sector);
    match device.submit(at, HostRequest::new(at, request.op, start, request.sectors)) {
        Ok(ticket) => Some(ticket),
        Err(SubmitError::Full(_)) => None,
        Err(other) => panic!("{other}"),
    }
}

/// Everything that happens to a device, which is advanced by `step` between requests: what was captured,
/// then what has a time.
fn live(
    spec: &RunSpec,
    trace: &Trace,
    mut step: impl FnMut(&mut LiveDevice, Nanos, &mut Vec<LiveEvent>),
) -> Option<(ResultRecord, Vec<LiveEvent>)> {
    let (mut device, mut out) = (LiveDevice::new(spec, "").unwrap(), Vec::new());
    for request in trace.requests.records() {
        step(&mut device, request.arrival, &mut out);
        submit(&mut device, request)?;
    }
    let record = device.finish(&mut out);
    let times: Vec<Nanos> = out.iter().filter_map(LiveEvent::at).collect();
    assert!(times.is_sorted(), "time does not go back");
    let (mut written, mut captured) = (BTreeSet::new(), BTreeSet::new());
    for event in &out {
        match *event {
            LiveEvent::Written { lpn, ticket } => {
                written.insert((lpn, ticket));
            }
            LiveEvent::Captured { lpn, ticket } => {
                assert!(written.contains(&(lpn, ticket)), "{lpn}, {ticket:?}");
                captured.insert((lpn, ticket));
            }
            LiveEvent::Durable { lpn, ticket, .. } => {
                assert!(captured.contains(&(lpn, ticket)), "{lpn}, {ticket:?}");
            }
            LiveEvent::Completed { .. } | LiveEvent::Trimmed { .. } => {}
        }
    }
    // What is captured is told at once, between others that depend on when somebody asks.
    out.sort_by_key(|event| event.at().is_some());
    Some((record, out))
}

fn completions(events: &[LiveEvent]) -> BTreeMap<u64, u64> {
    let completed = events.iter().filter_map(|event| match event {
        LiveEvent::Completed { ticket, at } => Some((ticket.0, at.0)),
        _ => None,
    });
    completed.collect()
}

/// The record of a run and the completion of each request.
fn replayed(spec: &RunSpec, trace: &Trace) -> Option<(ResultRecord, BTreeMap<u64, u64>)> {
    let (mut record, log) = logged(spec, trace).ok()?;
    record.trace = TraceInfo {
        name: "live".to_owned(),
        format: "live".to_owned(),
        time_unit: None,
        ..record.trace
    };
    // Nobody tells a device that is fed by hand when the last request comes.
    record.backlog = None;
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        (fields[0].parse().unwrap(), fields[3].parse().unwrap())
    };
    Some((record, log.lines().skip(1).map(row).collect()))
}

#[test]
fn a_device_fed_by_hand_does_what_a_run_does() {
    let mut compared = 0;
    for (spec, trace, what) in cases() {
        let run = replayed(&spec, &trace);
        let by_hand = live(&spec, &trace, |device, to, out| device.advance(to, out));
        let (Some((record, ends)), Some((by_hand, events))) = (&run, &by_hand) else {
            assert_eq!(run.is_none(), by_hand.is_none(), "{what}");
            continue;
        };
        let texts = [record, by_hand].map(|r| serde_json::to_string(r).unwrap());
        assert_eq!(texts[0], texts[1], "{what}");
        assert_eq!(*ends, completions(events), "{what}");
        compared += 1;
    }
    assert!(compared > 100, "{compared} runs reached their end");
}

#[test]
fn it_does_not_matter_in_how_many_steps_time_passes() {
    for (seed, (spec, trace, what)) in cases().enumerate() {
        let at_once = live(&spec, &trace, |_, _, _| {});
        let mut rng = SplitMix64::new(seed as u64);
        let in_steps = live(&spec, &trace, |device, to, out| {
            while device.now() < to {
                let left = to.0 - device.now().0;
                let most = 1 << rng.below(40);
                let step = 1 + rng.below(left.min(most));
                device.advance(device.now() + Nanos(step), out);
            }
        });
        assert!(at_once == in_steps, "{what}");
    }
}

/// Nothing happens before [`LiveDevice::next_event`], and something does at it.
#[test]
fn the_next_event_is_exact() {
    for (spec, trace, what) in cases() {
        let at_once = live(&spec, &trace, |_, _, _| {});
        let by_events = live(&spec, &trace, |device, to, out| {
            while let Some(next) = device.next_event()
                && next <= to
            {
                let before = out.len();
                if next > device.now() {
                    device.advance(Nanos(next.0 - 1), out);
                    let early = out[before..].iter().find(|e| e.at().is_some());
                    assert_eq!(early, None, "{what}: an event before {next:?}");
                    assert_eq!(device.next_event(), Some(next), "{what}");
                }
                device.advance(next, out);
                let news = &out[before..];
                let at_once = |e: &LiveEvent| e.at().is_none_or(|at| at == next);
                assert!(news.iter().all(at_once), "{what}: {news:?}");
                let later = device.next_event().is_none_or(|after| after > next);
                assert!(later, "{what}: still something at {next:?}");
            }
        });
        assert!(at_once == by_events, "{what}");
    }
}

/// Sectors that a request touches, modulo those of the device.
fn sectors(request: &HostRequest, space: u64) -> impl Iterator<Item = u64> {
    let first = request.start_sector;
    (first..first + u64::from(request.sectors)).map(move |sector| sector % space)
}

/// What must be on flash, sector by sector.
struct Written {
    space: u64,
    /// All writes of each sector.
    writes: BTreeMap<u64, Vec<u64>>,
    /// The last one since its last TRIM.
    last: BTreeMap<u64, u64>,
    /// What must be durable before a FLUSH or FUA completes.
    wanted: BTreeMap<u64, BTreeMap<u64, u64>>,
    /// The newest durable version of each sector, and the last one told of each page.
    durable: BTreeMap<u64, u64>,
    told: BTreeMap<u64, u64>,
    promises: u64,
}

impl Written {
    fn submitted(&mut self, ticket: u64, request: &HostRequest, fua: bool) {
        for sector in sectors(request, self.space) {
            match request.op {
                Op::Write => {
                    self.writes.entry(sector).or_default().push(ticket);
                    self.last.insert(sector, ticket);
                    if fua {
                        self.wanted
                            .entry(ticket)
                            .or_default()
                            .insert(sector, ticket);
                    }
                }
                Op::Trim => {
                    self.last.remove(&sector);
                    for wanted in self.wanted.values_mut() {
                        wanted.remove(&sector);
                    }
                }
                Op::Flush | Op::Read => {}
            }
        }
        if request.op == Op::Flush {
            self.wanted.insert(ticket, self.last.clone());
        }
    }

    fn happened(&mut self, event: LiveEvent, what: &str) {
        match event {
            // What a program takes is a version that was written, and no older than what is on flash.
            LiveEvent::Captured { lpn, ticket } => {
                let mut sectors = lpn.0 * 8..lpn.0 * 8 + 8;
                let wrote = |sector| {
                    let writes = self.writes.get(&sector).into_iter().flatten();
                    writes.copied().any(|write| write == ticket.0)
                };
                assert!(
                    sectors.any(wrote),
                    "{what}: {lpn} not written by {ticket:?}"
                );
                let told = self.told.get(&lpn.0).copied();
                assert!(told <= Some(ticket.0), "{what}: {lpn} goes back");
            }
            LiveEvent::Written { .. } | LiveEvent::Trimmed { .. } => {}
            LiveEvent::Durable {
                lpn, ticket, part, ..
            } => {
                let before = self.told.insert(lpn.0, ticket.0);
                assert!(before <= Some(ticket.0), "{what}: {lpn} goes back");
                let mut own = false;
                for sector in lpn.0 * 8..lpn.0 * 8 + 8 {
                    let writes = self.writes.get(&sector).into_iter().flatten();
                    let version = writes.copied().filter(|&write| write <= ticket.0).max();
                    own |= version == Some(ticket.0);
                    if let Some(version) = version
                        && (part == DurablePart::Page || version == ticket.0)
                    {
                        let durable = self.durable.entry(sector).or_default();
                        *durable = version.max(*durable);
                    }
                }
                assert!(own, "{what}: {lpn} was not written by {ticket:?}");
            }
            LiveEvent::Completed { ticket, .. } => {
                for (sector, version) in self.wanted.remove(&ticket.0).into_iter().flatten() {
                    let durable = self.durable.get(&sector).copied();
                    assert!(durable >= Some(version), "{what}: {sector} at {ticket:?}");
                    self.promises += 1;
                }
            }
        }
    }
}

/// Every completed FLUSH, and every FUA write, has what it promises on flash before it; nothing is
/// said of what was not written, and versions of a page come in their order.
#[test]
fn what_is_flushed_is_durable() {
    let mut promises = 0;
    for ((spec, trace, what), fua) in cases().flat_map(|case| [(case.clone(), false), (case, true)])
    {
        let mut device = LiveDevice::new(&spec, "").unwrap();
        let mut written = Written {
            space: device.capacity_sectors(),
            writes: BTreeMap::new(),
            last: BTreeMap::new(),
            wanted: BTreeMap::new(),
            durable: BTreeMap::new(),
            told: BTreeMap::new(),
            promises: 0,
        };
        let mut out = Vec::new();
        for (i, request) in trace.requests.records().iter().enumerate() {
            let (at, op) = (request.arrival, request.op);
            device.advance(at, &mut out);
            out.drain(..)
                .for_each(|event| written.happened(event, &what));
            let plain = HostRequest::new(at, op, request.start_sector, request.sectors);
            let fua = fua && i % 7 == 0 && op == Op::Write;
            let ticket = match fua {
                true => device.submit_fua(at, plain),
                false => device.submit(at, plain),
            };
            let Ok(ticket) = ticket else { break };
            written.submitted(ticket.0, &plain, fua);
        }
        device.finish(&mut out);
        out.drain(..)
            .for_each(|event| written.happened(event, &what));
        promises += written.promises;
    }
    assert!(promises > 500_000, "{promises}");
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

/// What was served, written as it came, gives the same counts in a run.
#[test]
fn a_recorded_stream_replays_alike() {
    for expr in EXPRS {
        let spec = wrapped(expr, MODES[0]);
        let mut device = LiveDevice::new(&spec, "").unwrap();
        let mut file = BinWriter::new(Cursor::new(Vec::new())).unwrap();
        let trace = stream(5);
        for request in trace.requests.records() {
            let at = Nanos(request.arrival.0 + 77_000);
            let served = HostRequest::new(at, request.op, request.start_sector, request.sectors);
            device.submit(at, served).unwrap();
            let (head, more, prev) = (&served, &[], &[]);
            file.write(destage_types::RequestRef { head, more, prev })
                .unwrap();
        }
        let file = file.finish(&[], true).unwrap().into_inner();
        let read = load(Source::bytes("record.bin", file), &LoadOptions::default()).unwrap();
        let run = execute(&spec, &read, Hooks::default()).unwrap();
        assert_eq!(run.counts, device.record().counts, "{expr}");
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
