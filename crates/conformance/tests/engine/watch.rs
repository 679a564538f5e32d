//! Scenes of runs that are watched. Watching changes no record, and the events of a window lead from the state at its
//! begin to the state at its end.

use crate::gc_runs::{MODES, small, timed};
use destage_conformance::suites::{is_full, schemes};
use destage_conformance::timed::runs::{device_of, run, spec};
use destage_device::config::{DeviceConfig, EffectiveDevice};
use destage_sim::record::ResultRecord;
use destage_sim::record::Scene;
use destage_sim::record::scene::{CodedPage, SceneEvent, SceneFigures, SceneStart};
use destage_sim::run::{Hooks, execute};
use destage_sim::spec::{Replay, RunSpec, Warmup};
use destage_sim::{WatchAsk, WatchFrom, WatchHook, WatchWindow};
use destage_trace::Trace;
use destage_types::Nanos;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

/// A drive with units of two planes, a bounded buffer, paced collection, and a host's side.
const UNITS: &str = "channels=2 chips_per_channel=1 dies_per_chip=2 planes_per_die=2 blocks_per_plane=12 \
     pages_per_block=8 page_bytes=16384 mapping_bytes=4096 op=0.5 allocation=dynamic queue=read-first \
     suspend=program+erase t_suspend=20us t_resume=5us queue_per=die frontier=die gc_unit=die program_planes=all \
     program_pages=1 buffer=bounded frame_release=program_end rewrite=new gc_mode=paced gc_low=2 gc_high=3 \
     gc_burst=8 gc_streams=own wear_levelling=off command_slots=4 t_command=2us precondition.fill=1 \
     precondition.overwrite=1";

fn classroom() -> Arc<DeviceConfig> {
    let sets = ["blocks_per_plane=8".to_owned()];
    Arc::new(
        EffectiveDevice::from_preset("classroom-128m", &sets)
            .unwrap()
            .into_config(),
    )
}

fn watched(spec: &RunSpec, trace: &Trace, window: WatchWindow) -> (ResultRecord, Scene) {
    let taken = Arc::new(Mutex::new(None));
    let place = Arc::clone(&taken);
    let hooks = Hooks {
        watch: Some(WatchHook {
            window,
            limit: u64::MAX,
            take: Box::new(move |scene| {
                *place.lock().unwrap() = Some(scene);
                Ok(())
            }),
        }),
        ..Hooks::default()
    };
    let record = execute(spec, trace, hooks).unwrap_or_else(|e| panic!("{}: {e}", spec.expr));
    let scene = taken.lock().unwrap().take();
    (record, scene.expect("a watched run gives its scene"))
}

/// A window of a run that takes `length`, in parts of 16.
fn window(length: Nanos, from: u64, to: u64) -> WatchWindow {
    let at = |part: u64| Nanos(length.0 / 16 * part);
    WatchWindow {
        from: at(from),
        to: if to == 16 { Nanos::NEVER } else { at(to) },
    }
}

/// The state that a picture shows at one time.
#[derive(PartialEq, Debug)]
struct Shown {
    lists: BTreeMap<String, Vec<CodedPage>>,
    blocks: Vec<[u32; 2]>,
    open: Vec<u32>,
    figures: SceneFigures,
}

fn shown(start: &SceneStart, events: &[SceneEvent]) -> Shown {
    let mut names: Vec<String> = start.lists.iter().map(|l| l.name.to_string()).collect();
    let mut lists: Vec<Vec<CodedPage>> = start.lists.iter().map(|l| l.pages.clone()).collect();
    let blocks = start.blocks.as_ref().expect("the device is small");
    let pairs = blocks.valid.iter().zip(&blocks.written);
    let mut blocks: Vec<[u32; 2]> = pairs.map(|(&valid, &written)| [valid, written]).collect();
    let (mut open, mut figures) = (start.open.clone(), start.so_far);
    for event in events {
        match event {
            SceneEvent::List { list, name, .. } => {
                assert_eq!(*list, lists.len(), "lists are numbered in order");
                names.push(name.to_string());
                lists.push(Vec::new());
            }
            SceneEvent::Splice {
                list,
                start,
                removed,
                pages,
                ..
            } => {
                lists[*list].splice(*start..start + removed, pages.iter().copied());
            }
            SceneEvent::Blocks { blocks: rows, .. } => rows
                .iter()
                .for_each(|&[block, valid, written]| blocks[block as usize] = [valid, written]),
            SceneEvent::Open { blocks, .. } => open.clone_from(blocks),
            SceneEvent::Counts { counts, .. } => figures.counts = *counts,
            SceneEvent::Done {
                response, timed: 1, ..
            } => {
                figures.requests += 1;
                figures.response_sum += response;
            }
            _ => {}
        }
    }
    let lists = names
        .into_iter()
        .zip(lists)
        .filter(|list| !list.1.is_empty());
    Shown {
        lists: lists.collect(),
        blocks,
        open,
        figures,
    }
}

/// What a scene tells happens in its window.
fn keeps_to_its_window(scene: &Scene, what: &str) {
    let window = scene.from..scene.to;
    for event in &scene.events {
        assert!(window.contains(&event.at().0), "{what}: {event:?}");
    }
    for row in &scene.start.busy {
        assert!(
            row.begin < scene.from && row.end >= scene.from,
            "{what}: {row:?}"
        );
    }
    for row in &scene.end.waiting {
        assert!(
            row.begin >= scene.to && row.queued < scene.to,
            "{what}: {row:?}"
        );
    }
}

/// Watching is told in the record nowhere, and two windows that meet fit together.
fn check(spec: &RunSpec, trace: &Trace, what: &str) {
    let length = match spec.replay {
        Replay::Closed { .. } => Nanos(watched(spec, trace, window(Nanos(0), 0, 16)).1.to),
        _ => trace.requests.records().last().unwrap().arrival,
    };
    let record = run(spec, trace);
    let (early, first) = watched(spec, trace, window(length, 3, 9));
    let (late, second) = watched(spec, trace, window(length, 9, 16));
    keeps_to_its_window(&first, what);
    keeps_to_its_window(&second, what);
    let bytes = |record: &ResultRecord| serde_json::to_string(record).unwrap();
    assert_eq!(bytes(&record), bytes(&early), "{what}");
    assert_eq!(bytes(&record), bytes(&late), "{what}");
    assert_eq!(
        shown(&first.start, &first.events),
        shown(&second.start, &[]),
        "{what}"
    );
    let end = shown(&second.start, &second.events).figures;
    assert_eq!(end, second.end.so_far, "{what}");
    assert_eq!(first.end.so_far, second.start.so_far, "{what}");
    for scene in [&first, &second] {
        assert!(scene.events.is_sorted_by_key(SceneEvent::at), "{what}");
        let unlisted = |name: &str| name == "other pages";
        assert!(
            !scene.start.lists.iter().any(|list| unlisted(&list.name)),
            "{what}"
        );
    }
    // The last window ends with all work, so it has the figures of the table.
    let counts = &record.counts;
    let (programs, run) = (end.counts.flash_writes, second.run);
    assert_eq!(
        (run.flash_writes, run.requests),
        (counts_of(&record), counts.requests),
        "{what}"
    );
    assert!(
        programs >= run.flash_writes,
        "{what}: what is done after the last arrival counts"
    );
    let latency = record.latency_ns.expect("a device keeps time");
    let mean = end.response_sum as f64 / end.requests as f64;
    assert!(
        (mean - latency.all.mean.unwrap()).abs() < 1e-6 * mean.max(1.0),
        "{what}"
    );
}

fn counts_of(record: &ResultRecord) -> u64 {
    let c = &record.counts;
    let own = [c.flash_writes_gc, c.flash_writes_meta, c.padded_places];
    c.flash_writes_host + own.into_iter().flatten().sum::<u64>()
}

/// On all devices. `cargo xtask ci` takes one of them for each scheme, another one each time.
#[test]
fn every_scheme_can_be_watched_and_its_record_stays() {
    let trace = timed(1);
    let devices = [
        ("small", small(2, "")),
        ("classroom", classroom()),
        ("units", Arc::new(device_of(UNITS))),
    ];
    let mut watched = [0; 3];
    let kinds = if is_full() { 1 } else { devices.len() };
    for (number, expr) in schemes().into_iter().enumerate() {
        for (i, (name, device)) in devices.iter().enumerate() {
            if (number + i) % kinds != 0 {
                continue;
            }
            let spec = spec(&expr.to_string(), Some(Arc::clone(device)));
            // Some schemes want chips with pages of their own, and a cache in flash.
            if spec.check().is_ok() {
                check(&spec, &trace, &format!("{expr}, {name}"));
                watched[i] += 1;
            }
        }
    }
    // All but few; one scheme alone may go with no device.
    let most = if schemes().len() > 10 {
        schemes().len() * 3 / 4 / kinds
    } else {
        0
    };
    assert!(
        watched.iter().all(|&count| count >= most),
        "{watched:?} of {most}"
    );
}

#[test]
fn windows_fit_together_in_every_mode_of_collection() {
    for (seed, mode) in MODES.iter().enumerate() {
        let trace = timed(seed);
        for (i, expr) in [
            "lru",
            "req-block",
            "idle-clean(lru)",
            "awb(prober(lru,ssp=16k))",
        ]
        .iter()
        .enumerate()
        {
            if (seed + i) % 2 == 1 && !is_full() {
                continue;
            }
            let mut spec = spec(expr, Some(small(2, mode)));
            match (seed + i / 2) % 4 {
                0 => spec.warmup = Warmup::Requests(200),
                1 => {
                    spec.replay = Replay::Limited {
                        depth: NonZeroU32::new(4).unwrap(),
                    };
                }
                2 => spec.flush_at_end = true,
                _ => {}
            }
            check(&spec, &trace, &format!("{expr}, {mode}"));
        }
    }
}

#[test]
fn a_closed_loop_can_be_watched_by_its_time() {
    let trace = timed(3);
    for expr in ["lru", "req-block", "idle-clean(lru)"] {
        for depth in [1, 8] {
            let mut spec = spec(expr, Some(small(2, "")));
            let depth = NonZeroU32::new(depth).unwrap();
            spec.replay = Replay::Closed { depth };
            check(&spec, &trace, &format!("{expr}, closed loop of {depth}"));
        }
    }
    let mut spec = spec("lru", Some(small(2, "")));
    spec.replay = Replay::Closed {
        depth: NonZeroU32::MIN,
    };
    let ask = |from, to| WatchAsk { from, to }.window(&spec, (&trace).into());
    let window = ask(WatchFrom::Time(Nanos(5)), Some(Nanos(9))).unwrap();
    assert_eq!((window.from, window.to), (Nanos(5), Nanos(9)));
    for (from, to) in [
        (WatchFrom::Request(3), Some(Nanos(9))),
        (WatchFrom::Time(Nanos(5)), None),
        (WatchFrom::Time(Nanos(9)), Some(Nanos(9))),
    ] {
        let refused = ask(from, to).unwrap_err().to_string();
        assert!(refused.contains("a closed loop issues"), "{refused}");
    }
}

#[test]
fn a_window_can_begin_with_a_request() {
    let trace = timed(2);
    let spec = spec("lru", Some(small(2, "")));
    let ask = |from, to| WatchAsk { from, to }.window(&spec, (&trace).into());
    let arrivals: Vec<Nanos> = trace.requests.records().iter().map(|r| r.arrival).collect();
    let found = ask(WatchFrom::Request(30), None).unwrap();
    assert_eq!((found.from, found.to), (arrivals[30], arrivals[530]));
    let (_, scene) = watched(&spec, &trace, found);
    let sent = |event: &SceneEvent| match event {
        SceneEvent::Request(request) => Some(request.id),
        _ => None,
    };
    let ids: Vec<u64> = scene.events.iter().filter_map(sent).collect();
    assert!(ids.iter().copied().eq(30..530));
    let none = ask(WatchFrom::Request(1 << 40), None).unwrap_err();
    assert!(none.to_string().contains("is not in the trace"), "{none}");
    let empty = ask(WatchFrom::Time(Nanos(5)), Some(Nanos(5))).unwrap_err();
    assert!(empty.to_string().contains("empty"), "{empty}");
}
