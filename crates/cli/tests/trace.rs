//! `destage trace`.

mod common;

use common::{Bench, csv, mixed};

const MSR: &str = "0,hm,0,Write,4096,8192,7\n10,hm,1,Read,0,4096,7\n30,hm,0,Write,8192,4096,7\n";

#[test]
fn info_counts() {
    let bench = Bench::new();
    bench.file("hm_0.csv", MSR);
    let done = bench.destage(&["trace", "info", "hm_0.csv", "--json"]).ok();
    let info: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    for (key, value) in [
        ("requests", 3),
        ("read_requests", 1),
        ("write_requests", 2),
        ("read_bytes", 4096),
        ("write_bytes", 12288),
        ("footprint_pages", 3),
        ("written_pages", 2),
        ("span_ns", 3000),
        // The second disk starts at 1 MiB.
        ("end_byte", (1 << 20) + 4096),
        ("streams", 2),
    ] {
        assert_eq!(info[key], value, "{key}");
    }
    assert_eq!(info["format"], "msr");
    assert_eq!(info["trace"], "hm_0");
    let done = bench.destage(&["trace", "info", "hm_0.csv"]).ok();
    assert!(
        done.stdout.contains("writes             2 (66.7 %)"),
        "{}",
        done.stdout
    );
    assert!(done.stdout.contains("3 pages of 4 KiB"), "{}", done.stdout);
}

#[test]
fn head_prints_the_first_requests() {
    let bench = Bench::new();
    bench.file("hm_0.csv", MSR);
    let done = bench
        .destage(&["trace", "head", "hm_0.csv", "-n", "2"])
        .ok();
    assert_eq!(
        done.stdout,
        "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n\
         0,W,8,16,0,,0\n1000,R,2048,8,1,,0\n"
    );
}

#[test]
fn convert_keeps_every_request() {
    let bench = Bench::new();
    let text = mixed(500);
    bench.file("t.csv", &text);
    bench
        .destage(&["trace", "convert", "t.csv", "-o", "copy.csv"])
        .ok();
    assert_eq!(bench.read("copy.csv"), text);
    let piped = bench.with_stdin(&["trace", "convert", "-"], &text).ok();
    assert_eq!(piped.stdout, text);
    let limited = bench
        .destage(&["trace", "convert", "t.csv", "--limit", "3"])
        .ok();
    assert_eq!(limited.stdout.lines().count(), 4);
}

#[test]
fn optional_columns_survive() {
    let bench = Bench::new();
    let text = "arrival_ns,op,start_sector,sectors,stream,prev,atomic,tag,group\n\
                0,W,0,16,0,800;-1,0,data,\n\
                2500,W,800,8,0,,1,node,0\n\
                2500,W,4096,8,0,,1,node,0\n";
    bench.file("t.csv", text);
    let done = bench.destage(&["trace", "convert", "t.csv"]).ok();
    assert_eq!(done.stdout, text);
}

#[test]
fn bad_input_is_refused() {
    let bench = Bench::new();
    bench.file("bad.csv", csv("W0") + "oops\n");
    for command in ["info", "head", "convert"] {
        let done = bench.destage(&["trace", command, "bad.csv"]);
        done.fails(2, &["bad.csv: line 3", "oops"]);
        bench
            .destage(&["trace", command, "missing"])
            .fails(2, &["missing", "No such file"]);
    }
    bench
        .destage(&["trace", "info", "bad.csv", "--format", "mrs"])
        .fails(2, &["did you mean"]);
    let done = bench
        .destage(&["trace", "head", "bad.csv", "--skip-bad-lines"])
        .ok();
    assert!(
        done.stderr.contains("skipped 1 bad lines"),
        "{}",
        done.stderr
    );
}
