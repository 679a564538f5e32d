//! `destage demo`.

mod common;

use common::{Bench, available_schemes};

const LINE_UP: [&str; 8] = [
    "lru",
    "arc",
    "cflru",
    "prober",
    "req-block",
    "ecr",
    "procache",
    "belady",
];

#[test]
fn it_needs_no_input_and_says_what_it_shows() {
    let bench = Bench::new();
    let done = bench.destage(&["demo"]).ok();
    assert_eq!(done.stderr, "");
    assert!(
        done.stdout.starts_with("demo: 200000 requests"),
        "{}",
        done.stdout
    );
    let available = available_schemes(&bench);
    for name in LINE_UP {
        let rows = done.stdout.lines().filter(|line| {
            let mut words = line.split_whitespace();
            let is_row = words.next().is_some_and(|w| w.ends_with("MiB"));
            let scheme = words.next().unwrap_or("");
            is_row && scheme.split(['(', '*']).next() == Some(name)
        });
        let expected = if available.iter().any(|a| a == name) {
            3
        } else {
            0
        };
        assert_eq!(rows.count(), expected, "{name}: {}", done.stdout);
    }
    assert!(
        done.stdout.contains("reading: read allocation"),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout.contains("belady with read allocation"),
        "{}",
        done.stdout
    );
    let left_out = LINE_UP
        .iter()
        .any(|name| !available.iter().any(|a| a == name));
    assert_eq!(
        done.stdout.contains("left out, not available yet"),
        left_out
    );
}

#[test]
fn no_scheme_beats_the_bound() {
    let bench = Bench::new();
    if !available_schemes(&bench).iter().any(|s| s == "belady") {
        return eprintln!("SKIPPED: belady is not available yet");
    }
    let done = bench.destage(&["demo", "--format-out", "jsonl"]).ok();
    let records = done.records();
    let hits = |r: &serde_json::Value| r["counts"]["page_hits"].as_u64().unwrap();
    for record in &records {
        let bound = records
            .iter()
            .find(|b| b["scheme"] == "belady" && b["cache_bytes"] == record["cache_bytes"])
            .unwrap();
        assert!(
            hits(record) <= hits(bound),
            "{} beats the bound",
            record["scheme"]
        );
    }
}

#[test]
fn the_seed_changes_the_workload() {
    let bench = Bench::new();
    let first = |seed: &str| {
        let done = bench
            .destage(&["demo", "--format-out", "jsonl", "--seed", seed])
            .ok();
        done.records().remove(0)["counts"].clone()
    };
    assert_ne!(first("1"), first("2"));
}
