//! `destage run --config`: run files, and the comparison with what a paper says.

mod common;

use common::{Bench, Done, csv, mixed};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A folder with two traces and a run file.
fn bench(file: &str) -> Bench {
    let bench = Bench::new();
    bench.file("a.csv", mixed(400));
    bench.file("b.csv", csv("W1 W2 W1 R2 W3 W1"));
    bench.file("run.toml", file);
    bench
}

fn run(bench: &Bench, args: &[&str]) -> Done {
    bench.destage(&[&["run", "--config", "run.toml"], args].concat())
}

/// A record without what a run file may change: where settings come from, and what it cost.
fn plain(mut record: Value) -> Value {
    record.as_object_mut().unwrap().remove("run");
    for setting in record["config"].as_array_mut().unwrap() {
        setting.as_object_mut().unwrap().remove("origin");
    }
    record
}

#[test]
fn a_run_file_is_its_command_line() {
    let bench = bench(
        "trace = ['a.csv', 'b.csv']\nscheme = ['lru', 'cac(arc)']\ncache = '40KiB'\n\
         read-alloc = 'on'\nwarmup = 2\nseed = 7\nformat-out = 'jsonl'\nskip-bad-lines = true\n",
    );
    let line = "run a.csv b.csv --scheme lru --scheme cac(arc) --cache 40KiB --read-alloc on \
                --warmup 2 --seed 7 --format-out jsonl --skip-bad-lines";
    let told = bench.destage(&line.split_whitespace().collect::<Vec<_>>());
    let told: Vec<Value> = told.ok().records().into_iter().map(plain).collect();
    let filed = run(&bench, &[]).ok();
    let origins = filed.records();
    let seed = origins[0]["config"].as_array().unwrap().iter();
    let seed = seed.clone().find(|s| s["key"] == "seed").unwrap();
    assert_eq!(seed["origin"], "run file run.toml");
    let filed: Vec<Value> = filed.records().into_iter().map(plain).collect();
    assert_eq!(filed, told);
}

#[test]
fn the_command_line_goes_before_the_file() {
    let bench = bench("trace = 'a.csv'\nscheme = ['lru', 'arc']\ncache = '40KiB'\nlimit = 300\n");
    let lines = ["--format-out", "jsonl"];
    let changed = ["--scheme", "fifo", "--cache=80KiB", "b.csv"];
    let records = run(&bench, &[&changed[..], &lines].concat()).ok().records();
    assert_eq!(records.len(), 1);
    let of = |key: &str| records[0][key].clone();
    assert_eq!(
        (of("scheme"), of("cache_bytes")),
        ("fifo".into(), 81_920.into())
    );
    assert_eq!(records[0]["trace"]["name"], "b");
    let origin = |key: &str| {
        let all = records[0]["config"].as_array().unwrap();
        let found = all.iter().find(|s| s["key"] == key).unwrap();
        found["origin"].as_str().unwrap().to_owned()
    };
    assert_eq!(origin("cache"), "command line");
    assert_eq!(origin("limit"), "run file run.toml");
}

#[test]
fn several_runs_are_one_table() {
    let bench = bench(
        "cache = '40KiB'\n[[run]]\nname = 'first'\ntrace = 'a.csv'\n\
         [[run]]\ntrace = 'b.csv'\nscheme = ['arc', 'cac(lru)']\nhost-fs = 'lfs'\n\
         [[run]]\nif-present = true\ntrace = ['none.csv', 'b.csv']\n\
         [[run]]\nif-present = true\ntrace = ['none.csv']\n",
    );
    let done = run(&bench, &[]).ok();
    let rows: Vec<Vec<&str>> = done
        .stdout
        .lines()
        .skip(1)
        .take_while(|l| !l.is_empty())
        .map(|l| l.split_whitespace().take(2).collect())
        .collect();
    assert_eq!(
        rows,
        [
            ["a", "lru"],
            ["b+lfs", "arc"],
            ["b+lfs", "cac(lru)"],
            ["b", "lru"],
        ]
    );
    assert!(
        done.stderr
            .contains("run.toml: [[run]] 4: none of its traces is in"),
        "{}",
        done.stderr
    );
    let other = Bench::new();
    other.file("b.csv", csv("W1"));
    let file = bench.dir.path().join("run.toml");
    let file = file.to_str().unwrap();
    let found = other.destage(&["run", "--config", file, "--trace-dir", "."]);
    found.fails(2, &["a.csv"]);
}

#[test]
fn claims_stand_below_the_table() {
    let bench = bench(
        "trace = 'b.csv'\nscheme = ['none', 'lru']\ncache = ['4KiB', '40KiB']\n\
         [[claim]]\nfigure = '3'\nwhat = 'write hits'\npaper = 50\ncache = '40KiB'\n\
         field = 'ratios.write_page_hit_ratio'\nof = { trace = 'b', scheme = 'lru' }\n\
         [[claim]]\nfigure = '5'\nwhat = 'writes'\npaper = -10.5\nfield = 'counts.evictions'\n\
         of = { trace = 'b', scheme = 'lru', cache = '40KiB' }\n\
         against = { trace = 'b', scheme = 'lru', cache = '4KiB' }\n\
         [[claim]]\nfigure = '6'\nwhat = 'absent'\npaper = 1\nfield = 'counts.evictions'\n\
         of = { trace = 'c', scheme = 'lru' }\n",
    );
    let text = run(&bench, &[]).ok().stdout;
    let rows: Vec<String> = text
        .lines()
        .skip_while(|l| !l.starts_with("figure"))
        .map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        rows,
        [
            "figure claim paper here difference",
            "3 write hits 50.0 40.0 -10.0",
            "5 writes -10.5 -100.0 -89.5",
            "6 absent 1.0 - -",
        ]
    );
    let lines = run(&bench, &["--format-out", "jsonl"]).ok();
    assert_eq!(lines.records().len(), 3, "programs get records alone");
}

#[test]
fn bad_run_files_are_refused() {
    let cases = [
        (
            "trace = 'a.csv'\nschem = 'lru'",
            "no option `schem`; did you mean `scheme`?",
        ),
        ("trace = 'a.csv'\nconfig = 'x'", "no option `config`"),
        (
            "trace = 'a.csv'\nwrap = 'yes'",
            "wrap = \"yes\": allowed: true, false",
        ),
        (
            "trace = 'a.csv'\ncache = true",
            "cache = true: a text, a number or a list",
        ),
        (
            "trace = 'a.csv'\ncache = '16'",
            "[[run]] 1: invalid value '16' for '--cache",
        ),
        ("trace = 'a.csv'\nscheme = 'lur'", "unknown scheme"),
        ("scheme = 'lru'", "no trace given"),
        ("trace = 'none.csv'", "none.csv"),
        (
            "trace = 'none.csv'\nif-present = true",
            "no trace of it is in",
        ),
        (
            "[[run]]\ntrace = 'a.csv'\nout = 'x'",
            "`out` is about all runs",
        ),
        (
            "log-evictions = 'x'\n[[run]]\ntrace = 'a.csv'\n[[run]]\ntrace = 'b.csv'",
            "`log-evictions`: a run file with several [[run]] writes no logs",
        ),
        ("trace = ", "--config run.toml: TOML parse error"),
        ("trace = 'a.csv'\n[[claim]]\nfigure = '1'", "missing field"),
        (
            "trace = 'a.csv'\n[[claim]]\nfigure = '1'\nwhat = ''\npaper = 1\n\
             of = { trace = 'a', sheme = 'lru' }",
            "unknown field `sheme`",
        ),
    ];
    for (file, part) in cases {
        run(&bench(file), &[]).fails(2, &[part]);
    }
    let bench = Bench::new();
    run(&bench, &[]).fails(2, &["--config run.toml:"]);
    let alone = bench.destage(&["run", "--trace-dir", "."]);
    assert_eq!(alone.code, 2);
    assert!(alone.stderr.contains("--config"), "{}", alone.stderr);
}

/// The folder of traces, if the captures are there.
fn captures() -> Option<PathBuf> {
    let Some(dir) = std::env::var_os("DESTAGE_TRACES") else {
        eprintln!("SKIPPED: DESTAGE_TRACES is not set");
        return None;
    };
    let dir = PathBuf::from(dir);
    if !dir.join("fs/ext4-prxy-fdatasync.csv.zst").exists() {
        eprintln!("SKIPPED: {} has no captures", dir.display());
        return None;
    }
    Some(dir)
}

/// The write hits were measured independently of this program: 93.4, 0.0 and 93.4 % where the
/// cache holds all.
#[test]
fn the_experiment_of_cac() {
    let Some(traces) = captures() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = root.join("papers/cac/run.toml");
    let out = Bench::new();
    let args = ["--config", file.to_str().unwrap(), "--out", "."];
    let traces = ["--trace-dir", traces.to_str().unwrap()];
    let text = out
        .destage(&[&["run"], &args[..], &traces].concat())
        .ok()
        .stdout;
    let records: Vec<Value> = out
        .read("results.jsonl")
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let hits = |trace: &str, scheme: &str, mib: u64| {
        let found = records.iter().find(|r| {
            r["trace"]["name"] == trace && r["scheme"] == scheme && r["cache_bytes"] == mib << 20
        });
        let ratio = found.unwrap()["ratios"]["write_page_hit_ratio"].as_f64();
        format!("{:.1}", 100.0 * ratio.unwrap())
    };
    let (ext4, f2fs) = ("ext4-prxy-fdatasync", "f2fs-prxy-lfs-fdatasync");
    for (plain, with) in [("lru", "cac(lru)"), ("arc", "cac(arc)")] {
        assert_eq!(hits(ext4, plain, 16), "93.4");
        assert_eq!(hits(f2fs, plain, 16), "0.0");
        assert_eq!(hits(f2fs, with, 16), "93.4");
        for mib in [1, 2, 4, 16, 128] {
            assert_eq!(hits(f2fs, with, mib), hits(ext4, plain, mib), "{mib} MiB");
            assert_eq!(hits(f2fs, plain, mib), "0.0");
        }
    }
    for row in [
        "3b      write hits %, EXT4, LRU                              93.0   93.3         0.3",
        "7b      write hits %, F2FS, LRU+CAC                          92.7   93.3         0.6",
        "9       dirty write-backs, CAC against none, LRU            -90.8  -96.7        -5.9",
    ] {
        assert!(text.contains(row), "no `{row}` in:\n{text}");
    }
}
