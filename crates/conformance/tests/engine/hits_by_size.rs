//! Hits and inserts by the size of the request that brought the page in: a list that is searched from end
//! to end for LRU and FIFO, and laws over every composition.

use destage_conformance::drive::Config;
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::suites::{selected, small};
use destage_conformance::timed::runs::{device_of, requests, run, spec};
use destage_conformance::timed::trace_of;
use destage_scheme::ReadAlloc;
use destage_sim::record::{HitsBySize, SizeClass};
use destage_sim::spec::{RunSpec, Warmup};
use destage_trace::Trace;
use destage_types::Op;
use std::sync::Arc;

/// Whole pages: kind, first page, pages.
type Step = (Op, u64, u64);

fn steps(seed: u64) -> Vec<Step> {
    let rng = &mut SplitMix64::new(seed);
    let step = |rng: &mut SplitMix64| {
        let op = if rng.chance(30) { Op::Read } else { Op::Write };
        let pages = if rng.chance(70) { 1 } else { 1 + rng.below(12) };
        (op, rng.below(60), pages)
    };
    (0..600).map(|_| step(rng)).collect()
}

fn trace(steps: &[Step]) -> Trace {
    let request =
        |(i, &(op, page, pages)): (usize, &Step)| (op, page, page + pages - 1, i as u64 * 1_000);
    let list: Vec<_> = steps.iter().enumerate().map(request).collect();
    trace_of(&requests(&list))
}

/// A page of the slow cache: the newest, or the last one accessed, stands last.
struct Cached {
    page: u64,
    /// Pages of the write that brought it in; 0 for a read.
    by: u64,
    counts: bool,
    hit: bool,
}

/// Counts of the cache of 24 pages: (pages of the request, inserts, hits, pages hit again).
fn slow(steps: &[Step], touch: bool, read_alloc: bool, warmup: usize) -> Vec<[u64; 4]> {
    let mut cache: Vec<Cached> = Vec::new();
    let mut counts: Vec<[u64; 4]> = (0..=12).map(|pages| [pages, 0, 0, 0]).collect();
    for (i, (op, first, pages)) in steps.iter().enumerate() {
        let counting = i >= warmup;
        let by = if *op == Op::Write { *pages } else { 0 };
        for page in *first..first + pages {
            if let Some(at) = cache.iter().position(|c| c.page == page) {
                let mut found = cache.remove(at);
                let row = &mut counts[found.by as usize];
                row[2] += u64::from(counting);
                row[3] += u64::from(counting && found.counts && !found.hit);
                found.hit = true;
                let at = if touch { cache.len() } else { at };
                cache.insert(at, found);
            } else if *op == Op::Write || read_alloc {
                if cache.len() == 24 {
                    cache.remove(0);
                }
                counts[by as usize][1] += u64::from(counting);
                let (counts, hit) = (counting, false);
                cache.push(Cached {
                    page,
                    by,
                    counts,
                    hit,
                });
            }
        }
    }
    counts.retain(|row| row[0] > 0 && row[1] + row[2] > 0);
    counts
}

/// The same as the record has it.
fn expected(steps: &[Step], rows: &[[u64; 4]]) -> HitsBySize {
    let bytes: u64 = steps.iter().map(|s| s.2 * 4096).sum();
    let mean_bytes = bytes as f64 / steps.len() as f64;
    let sum = |large: bool, column: usize| {
        let rows = rows
            .iter()
            .filter(|r| ((r[0] * 4096) as f64 > mean_bytes) == large);
        rows.map(|r| r[column]).sum::<u64>()
    };
    let share = |part: u64, all: u64| (all > 0).then(|| part as f64 / all as f64);
    let mut classes: Vec<SizeClass> = Vec::new();
    for [pages, inserts, hits, reaccessed] in rows {
        let mut bytes = 512;
        while bytes < pages * 4096 {
            bytes *= 2;
        }
        if classes.last().is_none_or(|last| last.bytes != bytes) {
            classes.push(SizeClass {
                bytes,
                ..SizeClass::default()
            });
        }
        let class = classes.last_mut().unwrap();
        class.inserts += inserts;
        class.hits += hits;
        class.reaccessed += reaccessed;
    }
    HitsBySize {
        mean_bytes,
        small_insert_share: share(sum(false, 1), sum(false, 1) + sum(true, 1)),
        small_hit_share: share(sum(false, 2), sum(false, 2) + sum(true, 2)),
        large_reaccessed_share: share(sum(true, 3), sum(true, 1)),
        classes,
    }
}

fn watched(scheme: &str, read_alloc: bool, warmup: usize) -> RunSpec {
    RunSpec {
        hits_by_size: true,
        read_alloc: if read_alloc {
            ReadAlloc::On
        } else {
            ReadAlloc::Off
        },
        warmup: Warmup::Requests(warmup as u64),
        ..spec(scheme, None)
    }
}

#[test]
fn a_searched_list_counts_the_same() {
    for seed in 0..20 {
        let steps = steps(seed);
        for (scheme, touch) in [("lru", true), ("fifo", false)] {
            for read_alloc in [false, true] {
                let warmup = [0, 250][seed as usize % 2];
                let record = run(&watched(scheme, read_alloc, warmup), &trace(&steps));
                let rows = slow(&steps, touch, read_alloc, warmup);
                let what = format!("{scheme}, seed {seed}, read allocation {read_alloc}");
                assert_eq!(record.hits_by_size, Some(expected(&steps, &rows)), "{what}");
            }
        }
    }
}

#[test]
fn requests_that_overtake_the_warm_up_are_measured() {
    // Reads pass writes that are let in one by one, and so come to the cache before many of the warm-up.
    let device = device_of("write_pace=20000 write_pace_burst=1");
    let steps = steps(3);
    let spec = RunSpec {
        device: Some(Arc::new(device)),
        ..watched("lru", false, 250)
    };
    let record = run(&spec, &trace(&steps));
    let found = record.hits_by_size.expect("it was asked for");
    let hits: u64 = found.classes.iter().map(|class| class.hits).sum();
    assert_eq!(hits, record.counts.page_hits);
    assert!(hits > 0);
}

#[test]
fn watching_changes_nothing_and_finds_every_hit() {
    for (i, expr) in selected().iter().map(small).enumerate() {
        if Config::new(24, 8).check(&expr).is_err() {
            continue;
        }
        let steps = steps(i as u64);
        let spec = RunSpec {
            read_alloc: ReadAlloc::Off,
            ..watched(&expr.to_string(), false, 0)
        };
        if spec.check().is_err() {
            continue;
        }
        let mut record = run(&spec, &trace(&steps));
        let found = record.hits_by_size.take().unwrap();
        let alone = RunSpec {
            hits_by_size: false,
            ..spec
        };
        assert_eq!(record, run(&alone, &trace(&steps)), "{expr}");
        let hits: u64 = found.classes.iter().map(|class| class.hits).sum();
        assert_eq!(hits, record.counts.page_hits, "{expr}");
        for class in &found.classes {
            assert!(class.reaccessed <= class.inserts.min(class.hits), "{expr}");
        }
    }
}
