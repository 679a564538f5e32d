//! A sweep of many workers in one folder: what the manifest and the shared folder cost.
//!
//! A test of 400 runs. `DESTAGE_SWEEP_RUNS=100000 DESTAGE_SWEEP_SHARDS=1000 cargo test --release -p destage-cli
//! --test commands sweep_scale -- --nocapture` is the simulation of docs/CLUSTER.md: each run is a batch of its own
//! over a trace of two requests, so that nothing but the folder takes time, and each share is a process.

use crate::common::{Bench, csv};
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

fn number(name: &str, default: u32) -> u32 {
    let given = std::env::var(name).ok();
    given.map_or(default, |n| n.parse().expect(name))
}

#[test]
fn many_workers_share_a_folder() {
    let runs = number("DESTAGE_SWEEP_RUNS", 400).next_multiple_of(100);
    let shards = number("DESTAGE_SWEEP_SHARDS", 8);
    let bench = Bench::with(csv("W1 R2"));
    let seeds: Vec<String> = (0..runs / 100).map(|seed| seed.to_string()).collect();
    let sizes: Vec<String> = (16..36)
        .map(|pages| format!("'{}KiB'", 4 * pages))
        .collect();
    let grid = format!(
        "trace = 't.csv'\nscheme = ['lru', 'fifo', 'arc', 'lirs', 'clock']\ncache = [{}]\nseed = [{}]\n",
        sizes.join(", "),
        seeds.join(", ")
    );
    bench.file("s.toml", grid);
    let timed = |what: &str, line: &str| -> Duration {
        let start = Instant::now();
        bench.destage(line).ok();
        let time = start.elapsed();
        println!("{what}: {:.3} s", time.as_secs_f64());
        time
    };
    timed("plan", "sweep s.toml --out o --batch 1 --plan");
    let manifest = bench.path("o/manifest.jsonl").metadata().unwrap().len();
    println!("manifest: {:.1} MB", manifest as f64 / 1e6);
    let mut shares = Vec::new();
    for shard in 1..=shards {
        let start = Instant::now();
        let line = format!("sweep s.toml --out o --shard {shard}/{shards} --jobs 1");
        bench.destage(line).ok();
        shares.push(start.elapsed());
    }
    let all: Duration = shares.iter().sum();
    let per_run = all.as_secs_f64() / f64::from(runs);
    println!(
        "{shards} shares: {:.3} s, {:.3} ms for a run",
        all.as_secs_f64(),
        1e3 * per_run
    );
    timed(
        "a share that is done",
        &format!("sweep s.toml --out o --shard 1/{shards}"),
    );
    timed("what is left of all of it", "sweep s.toml --out o --plan");
    timed("merge", "sweep --out o --merge");
    let mut parts = BTreeMap::new();
    for part in fs::read_dir(bench.path("o/batches")).unwrap() {
        let path = part.unwrap().path();
        parts.insert(path.clone(), fs::read_dir(path).unwrap().count());
    }
    let (files, longest) = (parts.values().sum::<usize>(), parts.values().max());
    println!(
        "{files} files in {} folders, at most {longest:?} in one",
        parts.len()
    );
    assert_eq!(files, runs as usize);
    assert!(parts.len() <= 256);
    assert_eq!(bench.read("o/results.jsonl").lines().count(), runs as usize);
    let whole = bench.destage("sweep s.toml --out whole");
    whole.ok();
    assert!(bench.read("o/results.jsonl") == bench.read("whole/results.jsonl"));
}
