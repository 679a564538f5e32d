//! Laws of what a run says of its measured part, over all schemes and devices that collect garbage.
//!
//! A run that stops where the warm-up of another one ends, and that other one, together did what a run
//! without a warm-up did: their counters add up, and so does their wear. Nothing was busy for longer
//! than it was there. The intervals of a series add up to the counters, whoever sent the requests.

use crate::gc_runs::{MODES, small, timed};
use destage_conformance::drive::Config;
use destage_conformance::reference::SlowRequest;
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::suites::{self, is_full, on_all_processors, selected};
use destage_conformance::timed::runs::{device_of, run, spec, with_series};
use destage_conformance::timed::trace_of;
use destage_scheme::Expr;
use destage_scheme::info::Role;
use destage_sim::record::ResultRecord;
use destage_sim::series::{Every, SeriesRow};
use destage_sim::spec::{Replay, RunSpec, Warmup};
use destage_trace::Trace;
use destage_types::{ByteSize, Nanos, Op, RequestBatch, RequestOrigin};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;

/// The first requests of a trace.
fn first(trace: &Trace, requests: u64) -> Trace {
    let first = trace.requests.iter().take(requests as usize);
    trace_of(&first.map(SlowRequest::from).collect::<Vec<_>>())
}

/// A run, the part of it before `warmup`, and the part behind it.
struct Parts {
    what: String,
    whole: ResultRecord,
    before: ResultRecord,
    behind: ResultRecord,
}

impl Parts {
    fn of(spec: &RunSpec, trace: &Trace, warmup: u64, what: &str) -> Parts {
        let behind = RunSpec {
            warmup: Warmup::Requests(warmup),
            ..spec.clone()
        };
        Parts {
            what: format!("{}, {what}, warm-up {warmup}", spec.expr),
            whole: run(spec, trace),
            before: run(spec, &first(trace, warmup)),
            behind: run(&behind, trace),
        }
    }

    /// The counters of the record and those of the scheme's own, with their names.
    fn counters(&self, record: &ResultRecord) -> BTreeMap<String, f64> {
        let own = counters_of(&record.scheme);
        let counts = serde_json::to_value(&record.counts).expect("counters are plain");
        let counts = counts.as_object().expect("counters have names").clone();
        let stats = record.scheme_stats.clone().into_iter();
        let stats = stats.filter(|(name, _)| own.contains(name));
        let all = counts.into_iter().chain(stats);
        let number = |value: Value| value.as_f64().expect("a counter is a number");
        all.map(|(name, value)| (name, number(value))).collect()
    }

    fn counters_add_up(&self) {
        let [whole, before, behind] =
            [&self.whole, &self.before, &self.behind].map(|r| self.counters(r));
        assert_eq!(
            whole.keys().collect::<Vec<_>>(),
            behind.keys().collect::<Vec<_>>()
        );
        for (name, all) in &whole {
            let sum = before[name] + behind[name];
            let what = format!("{}: {name}: {} + {}", self.what, before[name], behind[name]);
            match name.as_str() {
                // Of the trace, not of the run.
                "arrival_corrections" => {}
                _ => assert!((sum - all).abs() < 1e-6, "{what} is not {all}"),
            }
        }
    }

    /// Erases are counted where blocks wear.
    fn wear_is_erases(&self) {
        let worn = |record: &ResultRecord| -> u64 {
            let wear = record.erase_counts.as_ref().expect("a device wears");
            wear.histogram.iter().map(|(n, blocks)| n * blocks).sum()
        };
        let since = worn(&self.behind) - worn(&self.before);
        assert_eq!(Some(since), self.behind.counts.erases, "{}", self.what);
        assert_eq!(worn(&self.whole), worn(&self.behind), "{}", self.what);
    }

    fn nothing_is_busier_than_always(&self) {
        for record in [&self.whole, &self.before, &self.behind] {
            let u = record.utilisation.as_ref().expect("a device is busy");
            let shares = u.channels.iter().chain(&u.dies);
            let ends = [u.channel_mean, u.channel_max, u.die_mean, u.die_max];
            for share in shares.copied().chain(ends.into_iter().flatten()) {
                assert!((0.0..=1.0).contains(&share), "{}: {u:?}", self.what);
            }
        }
    }
}

/// Names of the counters of a scheme's own.
fn counters_of(scheme: &str) -> BTreeSet<String> {
    let expr = Expr::parse(scheme).expect("a record has a legal expression");
    let measures = Config::new(24, 8).drive(&expr, &[]).measures();
    let names = measures.stats.counters().map(|(name, _)| name.to_owned());
    names.collect()
}

/// Every composition, each on another device and trace; those that know what comes only if a part of
/// the trace is no other future.
fn cases() -> Vec<(usize, Expr)> {
    let all = selected();
    let all = all.iter().map(suites::small).enumerate();
    let fits = |expr: &Expr| expr.scheme().role != Role::Offline && is_legal(expr);
    all.filter(|(_, expr)| fits(expr)).collect()
}

fn is_legal(expr: &Expr) -> bool {
    let device = small(dies_for(expr), "");
    spec(&expr.to_string(), Some(device)).check().is_ok() && Config::new(24, 8).check(expr).is_ok()
}

/// `ecr` and its relatives keep a list for every chip, for which a page each must do.
fn dies_for(expr: &Expr) -> u32 {
    if expr.contains("ecr") { 1 } else { 2 }
}

#[test]
fn parts_of_a_run_add_up_to_the_run() {
    let traces: Vec<Trace> = (0..3).map(timed).collect();
    let mut cases = cases();
    if !is_full() {
        // Every scheme alone, and a third of the pairs.
        cases.retain(|(number, expr)| match expr.chain().count() {
            1 => true,
            2 => number % 3 == 0,
            _ => false,
        });
    }
    on_all_processors(&cases, |(number, expr)| {
        let trace = &traces[number % traces.len()];
        let mode = MODES[number % MODES.len()];
        let times = ["", "t_erase=400us", "t_byte=400ns t_read=7us"][number / 9 % 3];
        let device = small(dies_for(expr), &format!("{mode} {times}"));
        let mut rng = SplitMix64::new(*number as u64);
        let warmup = 1 + rng.below(trace.requests.len() as u64 - 1);
        let spec = spec(&expr.to_string(), Some(device));
        let parts = Parts::of(&spec, trace, warmup, &format!("{mode} {times}"));
        parts.counters_add_up();
        parts.wear_is_erases();
        parts.nothing_is_busier_than_always();
    });
    assert!(cases.len() > 20 || selected().len() < 20, "{}", cases.len());
}

/// Plain schemes on every device, with warm-ups that end while nearly everything is at work.
#[test]
fn a_warm_up_may_end_at_any_moment() {
    for (number, mode) in MODES.iter().enumerate() {
        let trace = timed(number);
        for (expr, warmup) in [
            ("lru", 700),
            ("awb(lru)", 701),
            ("none", 3),
            ("ecr(lru)", 900),
        ] {
            let device = small(
                if expr == "ecr(lru)" { 1 } else { 2 },
                &format!("{mode} t_erase=300us"),
            );
            let parts = Parts::of(&spec(expr, Some(device)), &trace, warmup, mode);
            parts.counters_add_up();
            parts.wear_is_erases();
            parts.nothing_is_busier_than_always();
            assert!(parts.behind.counts.erases > Some(0), "{}", parts.what);
        }
    }
}

/// Reads and writes of the host with the cleaning of a file system between them.
fn cleaned(seed: u64, requests: usize) -> Trace {
    let made = timed(seed as usize);
    let mut rng = SplitMix64::new(seed);
    let share = rng.below(100);
    let mut batch = RequestBatch::new();
    for request in made.requests.iter().take(requests) {
        let mut head = *request.head;
        let cleans = matches!(head.op, Op::Read | Op::Write) && rng.chance(share);
        head.origin = match cleans {
            true => RequestOrigin::Cleaning,
            false => RequestOrigin::FileSystem,
        };
        batch.push_with(head, request.more, &[]);
    }
    let mut trace = Trace::generated("made", batch);
    trace.meta.modelled = true;
    trace
}

#[test]
fn intervals_add_up_whoever_sent_the_requests() {
    for seed in 0..24 {
        let trace = cleaned(seed, 400);
        let device = (seed % 2 == 0).then(|| small(2, MODES[seed as usize % MODES.len()]));
        let passes = 1 + seed as u32 % 3;
        let spec = RunSpec {
            warmup: [Warmup::None, Warmup::Requests(97), Warmup::Passes(passes)][seed as usize % 3],
            cache: ByteSize(16 * 4096),
            ..spec("lru", device)
        };
        let all = run(&spec, &trace);
        let wanted = serde_json::to_value(&all.counts).expect("counters are plain");
        for every in [1, 2, 7, 50, 399, 400, 401, u64::MAX]
            .map(Every::Requests)
            .into_iter()
            .chain([10_000, 200_000, u64::MAX].map(|ns| Every::Time(Nanos(ns))))
        {
            let (record, rows) = with_series(&spec, &trace, every);
            let what = format!("{every:?}, seed {seed}");
            assert_eq!(record, all, "{what}: it is only watched");
            for name in [
                "requests",
                "read_pages",
                "write_pages",
                "evictions",
                "flash_reads_host",
                "flash_writes_host",
                "flash_writes_gc",
                "erases",
            ] {
                let of = |row: &SeriesRow| serde_json::to_value(row).expect("plain")[name].as_u64();
                let sum: Option<u64> = rows.iter().map(of).sum();
                let wanted = wanted.get(name).and_then(Value::as_u64);
                assert_eq!(sum.filter(|_| wanted.is_some()), wanted, "{what}: {name}");
            }
            if let Every::Requests(n) = every {
                let (last, others) = rows.split_last().expect("there are requests");
                let full = others.iter().all(|row| row.requests == n);
                assert!(full && last.requests <= n, "{what}: {rows:?}");
            }
        }
    }
}

/// Found by torture: its sectors that hit were counted, but not the request.
#[test]
fn a_write_of_the_warm_up_that_waits_for_a_frame_counts_in_no_figure() {
    let device = Arc::new(device_of(
        "channels=1 chips_per_channel=1 dies_per_chip=1 frontier=die gc_unit=die gc_mode=paced gc_low=2 gc_high=5 buffer=bounded",
    ));
    let ops = [
        Op::Write,
        Op::Write,
        Op::Read,
        Op::Read,
        Op::Write,
        Op::Write,
    ];
    let requests = ops.map(|op| SlowRequest::new(op, 0, 8));
    let mut waited = 0;
    for (warmup, depth) in (1..6).flat_map(|warmup| [(warmup, 1), (warmup, 2)]) {
        let spec = RunSpec {
            cache: ByteSize(4096),
            warmup: Warmup::Requests(warmup),
            replay: Replay::Closed {
                depth: NonZeroU32::new(depth).expect("a depth"),
            },
            ..spec("drain(lru)", Some(Arc::clone(&device)))
        };
        let counts = run(&spec, &trace_of(&requests)).counts;
        let what = format!("warm-up {warmup}, depth {depth}");
        assert_eq!(
            counts.write_sector_hits,
            8 * counts.write_page_hits,
            "{what}"
        );
        waited += counts.flash_writes_host - counts.write_requests;
    }
    assert!(waited > 0, "a write of the warm-up is programmed later");
}
