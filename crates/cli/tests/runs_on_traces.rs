//! Real traces through the whole program; they are looked for in `DESTAGE_TRACES`.

mod common;

use common::Bench;
use std::path::PathBuf;

fn trace(name: &str) -> Option<PathBuf> {
    let Some(dir) = std::env::var_os("DESTAGE_TRACES") else {
        eprintln!("SKIPPED: DESTAGE_TRACES is not set");
        return None;
    };
    let path = PathBuf::from(dir).join(name);
    if !path.exists() {
        eprintln!("SKIPPED: {} is not there", path.display());
        return None;
    }
    Some(path)
}

#[test]
fn lru_grows_with_the_cache_on_a_real_trace() {
    let Some(path) = trace("msr-prxy_0-first20k.csv.zst") else {
        return;
    };
    let path = path.to_str().unwrap();
    let bench = Bench::new();
    let mut args = vec!["run", path, "--format-out", "jsonl"];
    for cache in ["256k", "1m", "4m", "16m"] {
        args.extend(["--cache", cache]);
    }
    let records = bench.destage(&args).ok().records();
    let hits: Vec<u64> = records
        .iter()
        .map(|r| r["counts"]["page_hits"].as_u64().unwrap())
        .collect();
    assert!(
        hits.windows(2).all(|w| w[0] <= w[1]),
        "LRU is a stack algorithm: {hits:?}"
    );
    let write_ratio = records[3]["ratios"]["write_page_hit_ratio"]
        .as_f64()
        .unwrap();
    assert!((0.92..0.95).contains(&write_ratio), "{write_ratio}");
    let info = bench.destage(&["trace", "info", path, "--json"]).ok();
    let info: serde_json::Value = serde_json::from_str(&info.stdout).unwrap();
    assert_eq!(info["requests"], 20_000);
    assert_eq!(info["sha256"], records[0]["trace"]["sha256"]);
}
