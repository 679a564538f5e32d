//! Files that `run` writes, and a reader that goes away.

mod common;

use common::{Bench, csv, mixed};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

#[test]
fn out_writes_records_beside_the_table() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(300));
    for (form, file) in [
        ("table", "results.jsonl"),
        ("jsonl", "results.jsonl"),
        ("csv", "results.csv"),
    ] {
        let out = format!("out/{form}");
        let args = ["run", "t.csv", "--out", &out, "--format-out", form];
        let done = bench.destage(&args).ok();
        assert!(done.stdout.starts_with("trace "), "{form}: {}", done.stdout);
        let text = bench.read(format!("{out}/{file}"));
        if form == "csv" {
            assert!(text.starts_with("schema,trace.name,"), "{text}");
            assert_eq!(text.lines().count(), 2);
        } else {
            let record: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(record["trace"]["name"], "t");
        }
    }
}

#[test]
fn eviction_log_by_hand() {
    let bench = Bench::new();
    bench.file("five.csv", csv("W0 W1 R0 W2 R1 R3"));
    let args = [
        "run",
        "five.csv",
        "--cache",
        "8k",
        "--log-evictions",
        "log.jsonl",
    ];
    bench.destage(&args).ok();
    let text = bench.read("log.jsonl");
    let objects: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(
        objects,
        [
            json!({"request": 3, "flush": [1], "drop": [], "discard": []}),
            json!({"request": 4, "flush": [0], "drop": [], "discard": []}),
            json!({"request": 5, "flush": [2], "drop": [], "discard": []}),
        ]
    );
}

#[test]
fn the_log_covers_the_measured_part() {
    let bench = Bench::new();
    bench.file("five.csv", csv("W0 W1 W2 W3"));
    let args = [
        "run",
        "five.csv",
        "--cache",
        "4k",
        "--log-evictions",
        "log.jsonl",
    ];
    bench
        .destage(&[&args[..], &["--warmup", "2"]].concat())
        .ok();
    let requests: Vec<Value> = bench
        .read("log.jsonl")
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap()["request"].clone())
        .collect();
    assert_eq!(requests, [2, 3]);
}

#[test]
fn several_runs_log_to_a_file_each() {
    let bench = Bench::new();
    bench.file("a.csv", mixed(300));
    bench.file("b.csv", mixed(400));
    let args = "run a.csv b.csv --scheme lru --scheme none --cache 16k --cache 1m --out out \
                --log-evictions ev.jsonl --jobs 2";
    bench
        .destage(&args.split_whitespace().collect::<Vec<_>>())
        .ok();
    let mut names: Vec<String> = std::fs::read_dir(bench.dir.path().join("out"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "ev-001-a-lru-16KiB.jsonl",
            "ev-002-a-lru-1MiB.jsonl",
            "ev-003-a-none.jsonl",
            "ev-004-b-lru-16KiB.jsonl",
            "ev-005-b-lru-1MiB.jsonl",
            "ev-006-b-none.jsonl",
            "results.jsonl",
        ]
    );
    let results = bench.read("out/results.jsonl");
    let first: Value = serde_json::from_str(results.lines().next().unwrap()).unwrap();
    let logged = bench.read("out/ev-001-a-lru-16KiB.jsonl").lines().count();
    assert_eq!(first["counts"]["evictions"], logged);
    assert_eq!(
        bench.read("out/ev-006-b-none.jsonl"),
        "",
        "no cache, no eviction"
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(20_000));
    let commands: [&[&str]; 4] = [
        &["trace", "convert", "t.csv"],
        &["demo", "--format-out", "jsonl"],
        &["schemes"],
        &["run", "t.csv"],
    ];
    for args in commands {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("destage"))
            .args(args)
            .current_dir(bench.dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failed_run() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(3000));
    let args = [
        "run",
        "t.csv",
        "--cache",
        "8k",
        "--log-evictions",
        "/dev/full",
    ];
    let done = bench.destage(&args);
    done.fails(1, &["cannot write the log"]);
}
