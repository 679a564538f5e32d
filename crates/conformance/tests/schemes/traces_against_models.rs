//! The real core against the slow models on the beginning of real traces, step by step: the exact
//! result on a real trace of schemes that no other tool has. `DESTAGE_TRACES` names the folder.

use destage_conformance::drive::Config;
use destage_conformance::reference::SlowRequest;
use destage_conformance::suites::{
    Case, is_full, least_capacity, on_all_processors, schemes, with,
};
use destage_scheme::info::Role;
use destage_scheme::{Expr, SchemeInfo};
use destage_trace::{LoadOptions, Source, load};
use destage_types::StaticLayout;
use std::path::{Path, PathBuf};

/// Mostly writes, a mix, and mostly reads.
const TRACES: [&str; 3] = [
    "msr-cut-w80-10k.replay.zst",
    "msr-prxy_0-first20k.csv.zst",
    "tpcc-small.mqsim.zst",
];

/// Requests of a trace that are run.
const LENGTH: usize = 1500;

fn read(folder: &Path, name: &str) -> Vec<SlowRequest> {
    let source = Source::Path(folder.join(name));
    let trace = load(source, &LoadOptions::default()).expect("a readable trace");
    let requests = trace.requests.iter().take(LENGTH);
    requests.map(SlowRequest::from).collect()
}

/// Every scheme by its name, blocks small enough for small caches.
fn expressions() -> Vec<Expr> {
    let exprs = schemes().into_iter().map(|expr| {
        let blocks = expr.scheme().param("block-pages").map(|p| p.key);
        let small = |info: &SchemeInfo| match info == expr.scheme() {
            true => blocks.map(|key| format!("{key}=8")).into_iter().collect(),
            false => Vec::new(),
        };
        with(&expr, small).expect("a legal expression")
    });
    exprs
        .filter(|e| Case::random(e, 0, 0).has_model())
        .collect()
}

#[test]
fn schemes_and_models_agree_on_real_traces() {
    if !is_full() {
        println!("SKIPPED: only in cargo xtask full; random streams find the same faults sooner");
        return;
    }
    let exprs = expressions();
    let Some(folder) = std::env::var_os("DESTAGE_TRACES").map(PathBuf::from) else {
        println!("SKIPPED: DESTAGE_TRACES does not name the folder of real traces");
        return;
    };
    let mut hits = vec![0; exprs.len()];
    for name in TRACES {
        let requests = read(&folder, name);
        assert_eq!(requests.len(), LENGTH, "{name}");
        let more = on_all_processors(&exprs, |expr| {
            let mut config = Config {
                layout: StaticLayout::flat(2, 4),
                ..Config::new(4096, 8)
            };
            config.capacity = least_capacity(expr, &config).max(100);
            let case = Case {
                expr: expr.clone(),
                config,
                chips_seed: 5,
                requests: requests.clone(),
            };
            let counts = case.compare();
            let counts = counts.unwrap_or_else(|difference| panic!("{name}, {expr}: {difference}"));
            let (page_hits, evictions) = (counts.page_hits, counts.evictions);
            println!("{name} {expr}: {page_hits} hits, {evictions} evictions");
            assert!(counts.page_accesses > 0);
            page_hits
        });
        hits.iter_mut().zip(more).for_each(|(sum, n)| *sum += n);
    }
    for (expr, hits) in exprs.iter().zip(hits) {
        assert_eq!(hits == 0, expr.scheme().role == Role::None, "{expr}");
    }
}
