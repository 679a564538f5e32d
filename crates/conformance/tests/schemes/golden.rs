//! Miss counts on public traces that several independent simulators agree on.
//!
//! `DESTAGE_GOLDEN` names the folder with `golden.csv` and the traces. A line of a trace is one
//! read of one 4 KiB block, and every miss enters the cache.

use destage_conformance::suites::is_selected;
use destage_conformance::vectors::Golden;
use destage_scheme::{Expr, ReadAlloc};
use destage_sim::{Hooks, RunSpec, execute};
use destage_trace::{LoadOptions, Source, Trace, load};
use destage_types::{ByteSize, PageSize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn spec(expr: Expr, pages: u64, boxed: bool) -> RunSpec {
    let page = PageSize::KIB4;
    let cache = ByteSize(pages * page.bytes());
    RunSpec {
        page,
        read_alloc: ReadAlloc::On,
        boxed,
        ..RunSpec::cache_only(expr, cache)
    }
}

/// Requests and misses of a run.
fn run(expr: &Expr, pages: u64, boxed: bool, trace: &Trace) -> (u64, u64) {
    let spec = spec(expr.clone(), pages, boxed);
    let record = execute(&spec, trace, Hooks::default()).expect("the run is legal");
    let c = &record.counts;
    assert_eq!(c.read_requests, c.requests, "a line is one read");
    assert_eq!(c.read_pages, c.requests, "of one page");
    (c.requests, c.read_pages - c.read_page_hits)
}

fn read(folder: &Path, name: &str) -> Trace {
    let path = folder.join(format!("{name}.txt.xz"));
    load(Source::Path(path), &LoadOptions::default()).expect("a readable trace")
}

#[test]
fn miss_counts_are_those_of_independent_tools() {
    let (Some(folder), Some(lines)) = (Golden::folder(), Golden::load()) else {
        return;
    };
    let mut traces: BTreeMap<&str, Trace> = BTreeMap::new();
    let (mut ran, mut wrong) = (BTreeMap::new(), Vec::new());
    let mut missing = BTreeSet::new();
    for line in &lines {
        let Some(expr) = line.expr() else {
            missing.insert(&line.policy);
            continue;
        };
        if !is_selected(&expr) {
            continue;
        }
        let name = line.trace.as_str();
        let trace = traces.entry(name).or_insert_with(|| read(&folder, name));
        // Dynamic calls on the small traces only: they give the same, more slowly.
        let boxed = trace.requests.len() < 20_000;
        let got = run(&expr, line.pages, boxed, trace);
        if got != (line.requests, line.misses) {
            wrong.push(format!("{line:?}: {got:?} requests and misses"));
        }
        *ran.entry(&line.policy).or_insert(0) += 1;
    }
    println!("rows per policy: {ran:?}; unknown here: {missing:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The sketch of W-TinyLFU decides about a tenth of the hits. A sample counter that started again from zero
/// and an increment of all four counters together gave 5,600 hits (WT-2, WT-3).
#[test]
fn w_tinylfu_hits_on_a_real_trace_as_the_paper_has_it() {
    let Some(folder) = std::env::var_os("DESTAGE_TRACES").map(PathBuf::from) else {
        println!("SKIPPED: DESTAGE_TRACES does not name the folder of real traces");
        return;
    };
    let source = Source::Path(folder.join("cloudphysics-114k.msr.csv.zst"));
    let options = LoadOptions {
        limit: Some(5000),
        ..LoadOptions::default()
    };
    let trace = load(source, &options).expect("a readable trace");
    for (text, hits) in [("w-tinylfu", 6154), ("w-tinylfu(increment=plain)", 5907)] {
        let expr = Expr::parse(text).expect("a legal expression");
        let record = execute(&spec(expr, 128, false), &trace, Hooks::default());
        let counts = record.expect("the run is legal").counts;
        assert_eq!(
            (counts.page_accesses, counts.page_hits),
            (16_075, hits),
            "{text}"
        );
    }
}

/// Misses that follow by hand from the rules, so that the path from a file to a record is tested
/// without the folder.
#[test]
fn loops_and_scans_miss_as_arithmetic_says() {
    let lines = |blocks: &mut dyn Iterator<Item = u64>| {
        let text: String = blocks.map(|b| format!("{b}\n")).collect();
        let source = Source::bytes("loop.txt", text.into_bytes());
        load(source, &LoadOptions::default()).expect("a legal trace")
    };
    let rounds = 20;
    let ring = lines(&mut (0..rounds * 10).map(|i| i % 10));
    let scan = lines(&mut (0..200));
    for (text, pages, misses) in [
        ("lru", 10, 10),
        ("fifo", 10, 10),
        // One frame too few: every access of a loop misses.
        ("lru", 9, 200),
        ("fifo", 9, 200),
        // Belady keeps all but one page: after the first round one miss in every nine accesses.
        ("belady(bypass=false)", 9, 10 + (rounds * 10 - 10) / 9),
        // LFU never lets go of pages used twice as long as the newest one was used once.
        ("lfu", 10, 10),
        ("arc", 10, 10),
    ] {
        let expr = Expr::parse(text).expect("a legal expression");
        let (requests, got) = run(&expr, pages, false, &ring);
        assert_eq!((requests, got), (200, misses), "{text}, {pages} pages");
        let all_miss = run(&expr, pages, false, &scan);
        assert_eq!(all_miss, (200, 200), "{text}: a scan");
    }
}
