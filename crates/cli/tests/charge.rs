//! `--charge-metadata`: metadata of the scheme takes frames away.

mod common;

use common::{Bench, mixed};
use serde_json::Value;

fn run(bench: &Bench, args: &str) -> Vec<Value> {
    let line = format!("run t.csv --format-out jsonl {args}");
    let args: Vec<&str> = line.split_whitespace().collect();
    bench.destage(&args).ok().records()
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("t.csv", mixed(3000));
    bench
}

/// LRU: 12 B a page. ARC: 12 B a page and 8 B a ghost. Req-block: 32 B a block of one page.
#[test]
fn pages_and_metadata_share_the_cache() {
    let bench = bench();
    let schemes = "--scheme lru --scheme arc --scheme req-block --scheme none --cache 1MiB";
    let charged = run(&bench, &format!("{schemes} --charge-metadata"));
    let plain = run(&bench, schemes);
    for (record, per_page) in charged.iter().zip([12, 20, 32]) {
        let pages = (1 << 20) / (4096 + per_page);
        assert_eq!(record["cache_pages"], pages, "{}", record["scheme"]);
        assert_eq!(record["meta_bytes_charged"], pages * per_page);
        assert_eq!(record["cache_bytes"], 1 << 20, "as given");
        assert_eq!(record["reading"]["charge_metadata"], true);
        let mean = record["meta_bytes_mean"].as_f64().unwrap();
        assert!(mean > 0.0 && mean <= (pages * per_page) as f64, "{mean}");
    }
    assert_eq!(charged[3]["meta_bytes_charged"], 0, "no cache");
    for record in &plain[..3] {
        assert_eq!(record["cache_pages"], 256, "metadata is only measured");
        assert!(record.get("meta_bytes_charged").is_none());
        assert!(record["reading"].get("charge_metadata").is_none());
    }
    let hits = |record: &Value| record["counts"]["page_hits"].as_u64().unwrap();
    let fewer = |pair: (&Value, &Value)| hits(pair.0) < hits(pair.1);
    assert!(charged.iter().zip(&plain).take(3).any(fewer), "pages count");
}

#[test]
fn a_cache_that_only_holds_metadata_is_refused() {
    let bench = bench();
    let refused = |args: &str, parts: &[&str]| {
        let line = format!("run t.csv --charge-metadata {args}");
        let args: Vec<&str> = line.split_whitespace().collect();
        bench.destage(&args).fails(2, parts);
    };
    refused(
        "--cache 4k",
        &[
            "--cache 4KiB: ",
            "no room for a page beside the metadata",
            "at least 4108 bytes",
        ],
    );
    refused(
        "--scheme prober(lru) --cache 48k",
        &[
            "prober(lru) needs for one, 48012 bytes",
            "at least 52108 bytes",
        ],
    );
    refused(
        "--scheme lirs(max-nonres=inf) --cache 1MiB",
        &["grows without bound", "`max-nonres`"],
    );
    refused("--scheme lirs --cache 8k", &["X9"]);
}

/// The counters of reference counting follow from the trace: 1 B for each page up to the last.
#[test]
fn what_the_trace_asks_for_is_charged() {
    let bench = Bench::new();
    let head = "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n";
    bench.file("t.csv", format!("{head}0,W,0,8,0,,0\n10,W,79992,8,0,,0\n"));
    let record = &run(&bench, "--scheme refcount --cache 1MiB --charge-metadata")[0];
    let pages = ((1 << 20) - 10_000) / (4096 + 12);
    assert_eq!(record["cache_pages"], pages);
    assert_eq!(record["meta_bytes_charged"], 12 * pages + 10_000);
    // Known only once the trace is there.
    let args = "run t.csv --scheme refcount --cache 12k --charge-metadata";
    let args: Vec<&str> = args.split_whitespace().collect();
    let parts = ["refcount(lru) needs for one, 10012 bytes"];
    bench.destage(&args).fails(2, &parts);
}

#[test]
fn run_files_and_tables_say_it() {
    let bench = bench();
    bench.file(
        "runs.toml",
        "trace = \"t.csv\"\ncache = \"256k\"\n[[run]]\ncharge-metadata = true\n[[run]]\nscheme = \"fifo\"\n",
    );
    let done = bench.destage(&["run", "--config", "runs.toml"]).ok();
    let reading = |mark: &str| {
        let lines = done.stdout.lines();
        let line = lines.clone().find(|l| l.starts_with(mark));
        line.unwrap_or_else(|| panic!("no {mark} in {}", done.stdout))
            .to_owned()
    };
    let (common, other) = (reading("reading: "), reading("* differs: "));
    assert!(common.contains("metadata charged"), "{common}");
    assert!(!other.contains("metadata charged"), "{other}");
    let args = ["run", "--config", "runs.toml", "--format-out", "jsonl"];
    let record = bench.destage(&args).ok().records().remove(0);
    let config = record["config"].as_array().unwrap();
    let setting = config
        .iter()
        .find(|s| s["key"] == "charge_metadata")
        .unwrap();
    assert_eq!(setting["value"], "true");
    assert_eq!(setting["origin"], "run file runs.toml");
}
