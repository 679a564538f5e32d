//! Timelines: they change no result, and say what the record and the request log say.

use crate::gc_runs::{MODES, small, timed};
use destage_conformance::suites::is_full;
use destage_conformance::timed::runs::{Pipe, run, spec};
use destage_device::nand::{OpKind, OpPhase, PhaseKind};
use destage_sim::log::REQUEST_COLUMNS;
use destage_sim::record::{Completion, ResultRecord};
use destage_sim::run::{Hooks, execute};
use destage_sim::spec::{Replay, RunSpec, Warmup};
use destage_sim::timeline::{PURPOSES, TimelineCollection, TimelineOperation};
use destage_sim::{Timeline, TimelineHook, TimelineWindow};
use destage_trace::Trace;
use destage_types::{Nanos, Op};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

const ALL: TimelineWindow = TimelineWindow {
    from: None,
    to: Nanos::NEVER,
};

/// A run with its request log and its timeline.
struct Watched {
    record: ResultRecord,
    log: String,
    timeline: Timeline,
}

fn watched(spec: &RunSpec, trace: &Trace, window: TimelineWindow) -> Watched {
    let (log, taken) = (Pipe::default(), Arc::new(Mutex::new(None)));
    let place = Arc::clone(&taken);
    let hooks = Hooks {
        request_log: Some(Box::new(log.clone())),
        timeline: Some(TimelineHook {
            window,
            limit: u64::MAX,
            take: Box::new(move |timeline| {
                *place.lock().unwrap() = Some(timeline);
                Ok(())
            }),
        }),
        ..Hooks::default()
    };
    let record = execute(spec, trace, hooks).unwrap_or_else(|e| panic!("{}: {e}", spec.expr));
    let timeline = taken.lock().unwrap().take().expect("it was taken");
    Watched {
        record,
        log: log.text(),
        timeline,
    }
}

/// Runs in all modes of collection, with schemes that evict, write back in the background and bypass,
/// also where reads suspend, in closed loops and behind a warm-up.
fn each_case(mut f: impl FnMut(&RunSpec, &Trace, &str)) {
    for (seed, mode) in MODES.iter().enumerate() {
        let trace = timed(seed);
        for (i, expr) in ["lru", "none", "ecr(lru)", "awb(prober(lru,ssp=16k))"]
            .iter()
            .enumerate()
        {
            let more = match (seed + i) % 3 {
                0 => " suspend=program+erase t_resume=3us",
                1 => " suspend=erase",
                _ => "",
            };
            let mut spec = spec(expr, Some(small(2, &format!("{mode}{more}"))));
            let what = format!("{expr}, {mode}{more}");
            match (seed + i) % 4 {
                0 => spec.warmup = Warmup::Requests(300 + 100 * seed as u64),
                1 => {
                    spec.replay = Replay::Closed {
                        depth: NonZeroU32::new(1 + seed as u32).unwrap(),
                    };
                }
                2 => spec.flush_at_end = true,
                _ => {}
            }
            f(&spec, &trace, &what);
        }
    }
}

#[test]
fn a_timeline_changes_no_result() {
    each_case(|spec, trace, what| {
        assert_eq!(run(spec, trace), watched(spec, trace, ALL).record, "{what}");
    });
}

#[test]
fn its_slices_sum_up_to_the_utilisation() {
    let mut suspended = 0;
    each_case(|spec, trace, what| {
        let Watched {
            record, timeline, ..
        } = watched(spec, trace, ALL);
        let u = record.utilisation.expect("a device is busy");
        assert_eq!((timeline.to - timeline.from).0, u.elapsed_ns, "{what}");
        let share = |busy: Nanos| busy.0 as f64 / u.elapsed_ns as f64;
        let ops = || timeline.operations.iter().map(|op| &op.activity);
        for (channel, &busy) in u.channels.iter().enumerate() {
            let of = ops().filter(|op| op.channel.index() == channel);
            let bus = of
                .flat_map(|op| &op.phases)
                .filter(|p| p.kind == PhaseKind::Bus);
            assert_eq!(
                share(sum(bus, timeline.from)),
                busy,
                "{what}, channel {channel}"
            );
        }
        for (chip, &busy) in u.dies.iter().enumerate() {
            let of = ops().filter(|op| op.chip.index() == chip);
            let phases = of.flat_map(|op| &op.phases);
            assert_eq!(
                share(sum(phases, timeline.from)),
                busy,
                "{what}, chip {chip}"
            );
        }
        let gap = |p: &[OpPhase]| p[0].to < p[1].from;
        suspended += ops().filter(|op| op.phases.windows(2).any(gap)).count();
    });
    assert!(suspended > 500, "{suspended}");
}

/// Time of phases that must not overlap, from `from` on.
fn sum<'a>(phases: impl Iterator<Item = &'a OpPhase>, from: Nanos) -> Nanos {
    let mut phases: Vec<&OpPhase> = phases.collect();
    phases.sort_by_key(|p| p.from);
    for pair in phases.windows(2) {
        assert!(pair[0].to <= pair[1].from, "{pair:?}");
    }
    let rest = phases.iter().map(|p| p.to.since(p.from.max(from)).0);
    Nanos(rest.sum())
}

#[test]
fn its_requests_are_those_of_the_request_log() {
    each_case(|spec, trace, what| {
        let Watched { log, timeline, .. } = watched(spec, trace, ALL);
        let mut rows: Vec<_> = timeline.requests.iter().filter(|r| r.measured).collect();
        rows.sort_by_key(|r| r.index);
        let mut text = REQUEST_COLUMNS.map(|column| column.0).join(",") + "\n";
        for r in &rows {
            let op = match r.op {
                Op::Read => "R",
                Op::Write => "W",
                Op::Trim => "T",
                Op::Flush => "F",
            };
            let (arrival, complete) = (r.arrival, r.complete);
            text += &format!(
                "{},{op},{arrival},{complete},{},{},0\n",
                r.index, r.pages, r.hits
            );
        }
        assert_eq!(text, log, "{what}");
        let others = timeline.requests.len() - rows.len();
        assert!(
            spec.warmup != Warmup::None || others == 0,
            "{what}: {others}"
        );
    });
}

/// Operations belong to requests and collections that are there, in an order that can be.
#[test]
fn its_operations_are_those_of_its_requests_and_collections() {
    let names: BTreeSet<&str> = PURPOSES.iter().map(|purpose| purpose.0).collect();
    let mut seen = BTreeSet::new();
    let (mut taken_back, mut waits) = (0, 0);
    each_case(|spec, trace, what| {
        let Watched {
            record, timeline, ..
        } = watched(spec, trace, ALL);
        let requests: BTreeSet<_> = timeline
            .requests
            .iter()
            .map(|r| (r.index, r.arrival))
            .collect();
        let ends: BTreeMap<u64, Nanos> = timeline
            .operations
            .iter()
            .map(|op| (op.activity.number, op.activity.end))
            .collect();
        assert_eq!(ends.len(), timeline.operations.len(), "{what}");
        let mut of_collections: BTreeMap<u64, Vec<&TimelineOperation>> = BTreeMap::new();
        for op in &timeline.operations {
            let (queued, a) = (op.queued, &op.activity);
            assert!(queued <= a.start && a.start <= a.end, "{what}: {op:?}");
            assert!(names.contains(op.purpose), "{what}: {op:?}");
            seen.insert(op.purpose);
            if let Some(request) = op.request {
                let known = requests.contains(&(request, queued));
                assert!(known || queued < timeline.from, "{what}: {op:?}");
            }
            for end in op
                .after
                .iter()
                .flatten()
                .filter_map(|number| ends.get(number))
            {
                assert!(*end <= a.start, "{what}: {op:?}");
                waits += 1;
            }
            if let Some(collection) = op.collection {
                of_collections.entry(collection).or_default().push(op);
            }
            taken_back += usize::from(op.taken_back);
            assert!(op.taken_back || !a.phases.is_empty(), "{what}: {op:?}");
        }
        for collection in &timeline.collections {
            let ops = &of_collections[&collection.number];
            of_collection(collection, ops, timeline.from, what);
        }
        let of = |kind| {
            let all = timeline.operations.iter();
            all.filter(|op| op.activity.kind == kind && op.collection.is_some())
                .count() as u64
        };
        if spec.warmup == Warmup::None && !what.contains("awb") && !what.contains("background") {
            assert_eq!(Some(of(OpKind::Erase)), record.counts.erases, "{what}");
            assert_eq!(
                Some(of(OpKind::Copyback)),
                record.counts.copybacks,
                "{what}"
            );
            let c = &record.counts;
            let summaries = timeline
                .operations
                .iter()
                .filter(|op| op.purpose == "summary");
            let programs = c.flash_writes_gc.zip(c.flash_writes_meta);
            assert_eq!(
                Some(of(OpKind::Program) + of(OpKind::Copyback) + summaries.count() as u64),
                programs.map(|(moved, summaries)| moved + summaries),
                "{what}"
            );
            let all = timeline.operations.iter();
            let host = all.filter(|op| ["bypass", "eviction", "flush"].contains(&op.purpose));
            let pages: u64 = host.map(|op| u64::from(op.pages)).sum();
            assert_eq!(pages, record.counts.flash_writes_host, "{what}");
        }
    });
    assert!(seen.len() >= 7, "{seen:?}");
    assert!(taken_back > 0 && waits > 1000, "{taken_back}, {waits}");
}

fn of_collection(
    collection: &TimelineCollection,
    ops: &[&TimelineOperation],
    from: Nanos,
    what: &str,
) {
    let place = |op: &&TimelineOperation| (op.activity.chip, op.queued);
    let here = (collection.chip, collection.queued);
    assert!(ops.iter().all(|op| place(op) == here), "{what}");
    let end = ops.iter().map(|op| op.activity.end).max();
    assert_eq!(end, Some(collection.end), "{what}");
    if collection.start >= from {
        let start = ops.iter().map(|op| op.activity.start).min();
        assert_eq!(start, Some(collection.start), "{what}");
        let erases = ops.iter().filter(|op| op.activity.kind == OpKind::Erase);
        assert_eq!(erases.count(), collection.blocks as usize, "{what}");
        let moves =
            |op: &&&TimelineOperation| matches!(op.activity.kind, OpKind::Read | OpKind::Copyback);
        assert_eq!(
            ops.iter().filter(moves).count(),
            collection.pages as usize,
            "{what}"
        );
    }
}

#[test]
fn a_window_keeps_exactly_what_overlaps_it() {
    let mut case = 0;
    each_case(|spec, trace, what| {
        case += 1;
        let whole = TimelineWindow {
            from: Some(Nanos::ZERO),
            to: Nanos::NEVER,
        };
        let mut all = watched(spec, trace, whole).timeline;
        let end = all.to.0;
        let windows = [
            (0, 1),
            (end / 3, end / 2),
            (end / 2, end),
            (end, end + 9),
            (end + 1, end + 2),
        ];
        // `cargo xtask ci` takes two windows of each case, so that some cases meet all of them.
        let tried = if is_full() { windows.len() } else { 2 };
        let windows = windows.iter().cycle().skip(2 * case).take(tried);
        for &(from, to) in windows {
            let (from, to) = (Nanos(from), Nanos(to));
            let window = TimelineWindow {
                from: Some(from),
                to,
            };
            let part = watched(spec, trace, window).timeline;
            let shows = |begin: Nanos, end: Nanos| begin < to && end >= from;
            let is_before = |r: &&Completion| r.timed && r.complete < from;
            let before = all.requests.iter().filter(is_before);
            let times = before.map(|r| (r.complete - r.arrival).0);
            let mut expected = Timeline {
                from,
                to: to.min(Nanos(end)),
                before: (times.clone().count() as u64, times.sum()),
                ..all.clone()
            };
            expected.requests.retain(|r| shows(r.arrival, r.complete));
            expected
                .operations
                .retain(|op| shows(op.queued, op.activity.end));
            expected.collections.retain(|c| shows(c.queued, c.end));
            assert_eq!(part, expected, "{what}, {from} to {to}");
        }
        all.requests.retain(|r| r.measured);
        let measured = watched(spec, trace, ALL).timeline;
        let kept = measured.requests.iter().filter(|r| r.measured).count();
        assert_eq!(kept, all.requests.len(), "{what}");
    });
}

#[test]
fn more_memory_than_allowed_ends_the_run_with_the_time() {
    let trace = timed(0);
    let spec = spec("lru", Some(small(2, MODES[0])));
    let hook = |limit| Hooks {
        timeline: Some(TimelineHook {
            window: ALL,
            limit,
            take: Box::new(|_| Ok(())),
        }),
        ..Hooks::default()
    };
    let error = execute(&spec, &trace, hook(20_000)).expect_err("it is too small");
    let text = error.to_string();
    for part in [" ns of simulated time", "20000 bytes"] {
        assert!(text.contains(part), "{text}");
    }
    execute(&spec, &trace, hook(100 << 20)).expect("it fits");
}
