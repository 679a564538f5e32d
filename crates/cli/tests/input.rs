//! Traces that are not what they should be.

mod common;

use common::{Bench, csv, mixed};

#[test]
fn missing_file() {
    Bench::new()
        .destage(&["run", "missing.csv"])
        .fails(2, &["missing.csv", "No such file"]);
}

#[test]
fn missing_second_file_ends_before_the_first_run() {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0"));
    bench
        .destage(&["run", "t.csv", "missing.csv"])
        .fails(2, &["missing.csv"]);
}

#[test]
fn folder_instead_of_file() {
    let bench = Bench::new();
    bench.destage(&["run", "."]).fails(2, &[".: ", "directory"]);
}

#[test]
fn empty_traces() {
    let bench = Bench::new();
    bench.file("empty.csv", "");
    bench
        .destage(&["run", "empty.csv"])
        .fails(2, &["empty.csv", "the trace is empty"]);
    bench.file("header.csv", csv(""));
    bench
        .destage(&["run", "header.csv"])
        .fails(2, &["header.csv", "holds no request"]);
    bench
        .with_stdin(&["run", "-"], "# nothing\n")
        .fails(2, &["stdin", "the trace is empty"]);
}

#[test]
fn a_bad_line_is_named() {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0 W1") + "5000,X,0,8,0,,0\n");
    bench.destage(&["run", "t.csv"]).fails(
        2,
        &[
            "t.csv: line 4, column 2 (op): `X`",
            "allowed: R (read)",
            "--skip-bad-lines",
        ],
    );
}

#[test]
fn skipped_lines_are_told_once() {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0 W1") + "5000,X,0,8,0,,0\n6000,W,0,0,0,,0\n");
    let args = [
        "run",
        "t.csv",
        "--skip-bad-lines",
        "--scheme",
        "lru",
        "--scheme",
        "fifo",
    ];
    let done = bench
        .destage(&[&args[..], &["--format-out", "jsonl"]].concat())
        .ok();
    assert_eq!(
        done.stderr.matches("skipped 2 bad lines").count(),
        1,
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.contains("line 4, column 2 (op): `X`"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.contains("line 5, column 4 (sectors): `0`"),
        "{}",
        done.stderr
    );
    assert!(done.records().iter().all(|r| r["counts"]["requests"] == 2));
}

#[test]
fn nothing_but_bad_lines() {
    let bench = Bench::new();
    bench.file("t.csv", "hello\nworld\n");
    let args = ["run", "t.csv", "--format", "msr", "--skip-bad-lines"];
    bench.destage(&args).fails(
        2,
        &["t.csv", "not one of 2 lines is a `msr` request", "hello"],
    );
}

#[test]
fn no_format_fits() {
    let bench = Bench::new();
    bench.file("t.csv", "hello\nworld\n");
    bench
        .destage(&["run", "t.csv"])
        .fails(2, &["t.csv", "`hello`", "msr", "--format"]);
}

#[test]
fn truncated_zstd() {
    let bench = Bench::new();
    let packed = zstd::encode_all(mixed(5000).as_bytes(), 3).unwrap();
    bench.file("t.csv.zst", &packed[..packed.len() / 2]);
    bench
        .destage(&["run", "t.csv.zst"])
        .fails(2, &["t.csv.zst", "damaged or truncated zstd"]);
}

#[test]
fn warm_up_that_covers_the_trace() {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0 W1"));
    let args = ["run", "t.csv", "--warmup", "2"];
    bench.destage(&args).fails(
        2,
        &["t: a warm-up of 2 requests covers the trace of 2 requests"],
    );
}

#[test]
fn results_before_a_bad_trace_are_shown() {
    let bench = Bench::new();
    bench.file("good.csv", csv("W0 W1"));
    bench.file("bad.csv", csv("W0") + "oops\n");
    let done = bench.destage(&["run", "good.csv", "bad.csv"]);
    assert_eq!(done.code, 2);
    assert!(done.stdout.contains("good"), "{}", done.stdout);
    assert!(done.stderr.contains("bad.csv: line 3"), "{}", done.stderr);
}

#[test]
fn changed_requests_are_warned_of() {
    let bench = Bench::new();
    let head = "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n";
    bench.file("t.csv", format!("{head}9000,W,0,8,0,,0\n5000,W,8,8,0,,0\n"));
    let done = bench
        .destage(&["run", "t.csv", "--format-out", "jsonl"])
        .ok();
    assert!(
        done.stderr
            .contains("warning: t: 1 of 2 requests came before"),
        "{}",
        done.stderr
    );
    assert_eq!(done.records()[0]["counts"]["arrival_corrections"], 1);
    bench.file(
        "m.csv",
        "0,hm,0,Write,100,8192,7\n10,hm,0,Write,4096,4096,7\n",
    );
    let done = bench.destage(&["run", "m.csv"]).ok();
    assert!(
        done.stderr
            .contains("warning: m: 1 of 2 requests were not whole"),
        "{}",
        done.stderr
    );
}

#[test]
fn effects_that_cannot_be_are_warned_of() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(100));
    if !common::available_schemes(&bench)
        .iter()
        .any(|s| s == "cflru")
    {
        return eprintln!("SKIPPED: cflru is not available yet");
    }
    let args = ["run", "t.csv", "--scheme", "cflru", "--read-alloc", "off"];
    let sizes = ["--cache", "1m", "--cache", "2m"];
    let done = bench.destage(&[&args[..], &sizes].concat()).ok();
    assert_eq!(
        done.stderr.matches("warning: cflru: X8 READ").count(),
        1,
        "{}",
        done.stderr
    );
}
