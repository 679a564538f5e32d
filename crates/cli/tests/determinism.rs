//! The same command gives the same records, whatever the number of threads.

mod common;

use common::{Bench, available_schemes, mixed};
use serde_json::Value;

fn without_run(mut records: Vec<Value>) -> Vec<Value> {
    for record in &mut records {
        let run = record.as_object_mut().unwrap().remove("run");
        assert!(run.is_some(), "every record says what it cost");
    }
    records
}

#[test]
fn threads_do_not_change_results() {
    let bench = Bench::new();
    bench.file("a.csv", mixed(3000));
    bench.file("b.csv", mixed(1500));
    let schemes = available_schemes(&bench);
    let records = |jobs: &str, log: &str| {
        let mut args = vec![
            "run",
            "a.csv",
            "b.csv",
            "--format-out",
            "jsonl",
            "--jobs",
            jobs,
        ];
        args.extend([
            "--cache",
            "256k",
            "--cache",
            "512k",
            "--out",
            log,
            "--log-evictions",
            "e",
        ]);
        for scheme in &schemes {
            args.extend(["--scheme", scheme]);
        }
        bench.destage(&args).ok();
        let text = bench.read(format!("{log}/results.jsonl"));
        let lines = text.lines().map(|l| serde_json::from_str(l).unwrap());
        without_run(lines.collect())
    };
    let (one, four) = (records("1", "one"), records("4", "four"));
    assert!(one.len() >= 2 * (2 * 2 + 1), "{} records", one.len());
    assert_eq!(one, four);
    for entry in std::fs::read_dir(bench.dir.path().join("one")).unwrap() {
        let name = entry.unwrap().file_name();
        if name != "results.jsonl" {
            let read = |dir: &str| std::fs::read(bench.dir.path().join(dir).join(&name)).unwrap();
            assert_eq!(read("one"), read("four"), "{name:?}");
        }
    }
}

#[test]
fn the_demo_is_the_same_every_time() {
    let bench = Bench::new();
    let records = |jobs: &str| {
        let done = bench
            .destage(&["demo", "--format-out", "jsonl", "--jobs", jobs])
            .ok();
        without_run(done.records())
    };
    assert_eq!(records("1"), records("4"));
}
