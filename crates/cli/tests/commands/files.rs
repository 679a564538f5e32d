//! Files that `run` writes, and a reader that goes away.

use crate::common::{Bench, csv, mixed, objects};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::{Value, json};
use std::fs::File;
use std::process::{Command, Stdio};

#[test]
fn out_writes_records_beside_the_table() {
    let bench = Bench::with(mixed(300));
    for (form, file) in [
        ("table", "results.jsonl"),
        ("jsonl", "results.jsonl"),
        ("csv", "results.csv"),
    ] {
        let out = format!("out/{form}");
        let shown = bench.shown(format!("run t.csv --out {out} --format-out {form}"));
        assert!(shown.starts_with("trace "), "{form}: {shown}");
        let text = bench.read(format!("{out}/{file}"));
        if form == "csv" {
            assert!(text.starts_with("schema,trace.name,"), "{text}");
            assert_eq!(text.lines().count(), 2);
        } else {
            assert_eq!(objects(&text)[0]["trace"]["name"], "t");
        }
    }
}

#[test]
fn eviction_log_by_hand() {
    let bench = Bench::with(csv("W0 W1 R0 W2 R1 R3"));
    let run = "run t.csv --cache 8k --log-evictions log.jsonl";
    bench.destage(run).ok();
    let evicted =
        |request, page| json!({"request": request, "flush": [page], "drop": [], "discard": []});
    assert_eq!(
        objects(&bench.read("log.jsonl")),
        [evicted(3, 1), evicted(4, 0), evicted(5, 2)]
    );
    // The log covers the measured part.
    bench.destage(format!("{run} --warmup 4")).ok();
    let logged = objects(&bench.read("log.jsonl"));
    assert_eq!(logged, [evicted(4, 0), evicted(5, 2)]);
}

#[test]
fn several_runs_log_to_a_file_each() {
    let bench = Bench::new();
    bench.file("a.csv", mixed(300));
    bench.file("b.csv", mixed(400));
    let run = "run a.csv b.csv --scheme lru --scheme none --cache 16k --cache 1m --out out \
               --log-evictions ev.jsonl --jobs 2";
    bench.destage(run).ok();
    let names = bench.names("out");
    assert_eq!(
        names,
        [
            "ev-a-lru-16KiB.jsonl",
            "ev-a-lru-1MiB.jsonl",
            "ev-a-none.jsonl",
            "ev-b-lru-16KiB.jsonl",
            "ev-b-lru-1MiB.jsonl",
            "ev-b-none.jsonl",
            "results.jsonl",
        ]
    );
    let first = &objects(&bench.read("out/results.jsonl"))[0];
    let logged = bench.log("out", "ev-a-lru-16KiB.jsonl").lines().count();
    assert_eq!(first["counts"]["evictions"], logged);
    let none = bench.log("out", "ev-b-none.jsonl");
    assert_eq!(none, "", "no cache, no eviction");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::with(mixed(20_000));
    for line in [
        "trace convert t.csv",
        "demo --format-out jsonl",
        "schemes",
        "run t.csv",
    ] {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("destage"))
            .args(line.split(' '))
            .current_dir(bench.dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failed_run() {
    let bench = Bench::with(mixed(3000));
    let done = bench.destage("run t.csv --cache 8k --log-evictions /dev/full");
    done.fails(1, &["cannot write the log"]);
}

fn rows(file: File) -> Vec<Row> {
    let reader = SerializedFileReader::new(file).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap()).collect()
}

fn field(row: &Row, name: &str) -> Field {
    let mut columns = row.get_column_iter();
    let found = columns.find(|(column, _)| *column == name);
    found.expect(name).1.clone()
}

#[test]
fn parquet_holds_the_fields_of_the_record() {
    let bench = Bench::with(mixed(400));
    let run = |format: &str| {
        bench.destage(format!(
            "run t.csv --scheme lru --scheme req-block --cache 64k --device req-block-128g --out \
             {format} --format-out {format}"
        ))
    };
    // The table is shown too.
    run("parquet").ok().shows("req-block");
    run("jsonl").ok();
    let records = objects(&bench.read("jsonl/results.jsonl"));
    let file = File::open(bench.dir.path().join("parquet/results.parquet")).unwrap();
    let rows = rows(file);
    assert_eq!(rows.len(), 2);
    for (row, record) in rows.iter().zip(&records) {
        let text = |v: &Value| Field::Str(v.as_str().unwrap().to_owned());
        assert_eq!(field(row, "scheme"), text(&record["scheme"]));
        let hits = record["counts"]["page_hits"].as_u64().unwrap();
        assert_eq!(field(row, "counts.page_hits"), Field::ULong(hits));
        let mean = record["latency_ns"]["all"]["mean"].as_f64().unwrap();
        assert_eq!(field(row, "latency_ns.all.mean"), Field::Double(mean));
        let Field::Str(config) = field(row, "config") else {
            panic!("lists are JSON text")
        };
        let config: Value = serde_json::from_str(&config).unwrap();
        assert_eq!(config, record["config"]);
    }
}

#[test]
fn parquet_goes_to_a_pipe() {
    let bench = Bench::with(mixed(50));
    let mut command = bench.command("run t.csv --format-out parquet");
    let output = command.output().unwrap();
    assert!(output.status.success());
    let path = bench.file("piped.parquet", &output.stdout);
    let rows = rows(File::open(path).unwrap());
    assert_eq!(field(&rows[0], "counts.requests"), Field::ULong(50));
    assert_eq!(field(&rows[0], "counts.erases"), Field::Null, "no device");
}
