//! `destage mrc`.

mod common;

use common::{Bench, csv, mixed};
use serde_json::Value;
use std::path::PathBuf;

/// Requests of parts of pages beside whole ones.
fn parts() -> String {
    let mut text = mixed(300);
    for i in 0..300 {
        let (op, start) = (["W", "R"][i % 2], 5 * i % 90);
        text += &format!("{},{op},{start},{},0,,0\n", 1_000 * (300 + i), 1 + i % 9);
    }
    text
}

/// Every point of the curves of `trace` is what `run` says.
fn agrees(bench: &Bench, trace: &str, options: &[&str], caches: &[&str], methods: &[&str]) {
    let mut sizes = Vec::new();
    for cache in caches {
        sizes.extend(["--cache", cache]);
    }
    let common = [options, &sizes[..]].concat();
    let args =
        |command: &'static str| [&[command, trace, "--format-out", "jsonl"], &common[..]].concat();
    let points = bench.destage(&args("mrc")).ok().records();
    let records = bench.destage(&args("run")).ok().records();
    assert_eq!(points.len(), records.len());
    for (point, record) in points.iter().zip(&records) {
        for key in ["scheme", "cache_bytes", "cache_pages", "page_bytes"] {
            assert_eq!(point[key], record[key], "{key}");
        }
        for (key, value) in record["ratios"].as_object().unwrap() {
            if let Some(own) = point.get(key) {
                assert_eq!(own, value, "{key}");
            }
        }
        for (key, value) in record["counts"].as_object().unwrap() {
            if let Some(own) = point.get(key) {
                assert_eq!(own, value, "{key} at {}", point["cache_bytes"]);
            }
        }
        assert!(
            methods.contains(&point["method"].as_str().unwrap()),
            "{point}"
        );
        assert!(point["page_hits"].is_u64() && point["flash_writes_host"].is_u64());
    }
}

#[test]
fn points_are_those_of_run() {
    let bench = Bench::new();
    bench.file("whole.csv", mixed(3_000));
    bench.file("parts.csv", parts());
    let caches = ["4k", "12k", "64k", "100k", "1m", "2m"];
    agrees(&bench, "whole.csv", &[], &caches, &["one-pass"]);
    agrees(
        &bench,
        "whole.csv",
        &["--warmup", "10%"],
        &caches,
        &["one-pass"],
    );
    agrees(
        &bench,
        "whole.csv",
        &["--read-alloc", "off"],
        &caches,
        &["run"],
    );
    agrees(&bench, "parts.csv", &[], &caches, &["one-pass", "run"]);
    agrees(
        &bench,
        "parts.csv",
        &["--read-fill", "requested"],
        &caches,
        &["one-pass", "run"],
    );
    let several = [
        "--scheme",
        "fifo",
        "--scheme",
        "req-block",
        "--warmup",
        "passes=1",
    ];
    agrees(&bench, "parts.csv", &several, &caches[1..], &["run"]);
    let spooled = ["--scheme", "lru", "--scheme", "arc", "--trace-memory", "1k"];
    agrees(&bench, "whole.csv", &spooled, &caches, &["one-pass", "run"]);
}

#[test]
fn the_usual_sizes_reach_from_small_to_all() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(3_000));
    let done = bench.destage(&["mrc", "t.csv", "--format-out", "csv"]).ok();
    let lines: Vec<Vec<&str>> = done
        .stdout
        .lines()
        .map(|l| l.split(',').collect())
        .collect();
    assert_eq!(
        lines[0][..4],
        ["trace", "scheme", "cache_bytes", "cache_pages"]
    );
    assert!(lines.iter().all(|l| l.len() == lines[0].len()));
    let pages: Vec<u64> = lines[1..].iter().map(|l| l[3].parse().unwrap()).collect();
    assert!(pages.starts_with(&[1, 2, 3, 4, 6, 8]) && pages.ends_with(&[192, 256, 384]));
    // A scheme that needs more frames than the smallest sizes have starts later.
    let done = bench.destage(&["mrc", "t.csv", "--scheme", "lirs", "--format-out", "csv"]);
    let least = done.ok().stdout.lines().count();
    assert!(least > 10 && least < lines.len(), "{least}");
    let again = bench.destage(&["mrc", "t.csv", "--format-out", "csv", "--jobs", "1"]);
    assert_eq!(
        again.stdout,
        bench
            .destage(&["mrc", "t.csv", "--format-out", "csv"])
            .stdout
    );
}

#[test]
fn the_table_says_how_it_is_to_be_read() {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0 W1 R0 W2 R1 R1 W0"));
    let table = bench.destage(&["mrc", "t.csv"]).ok().stdout;
    let want = "\
t, lru

cache  pages  page hit %  read hit %  write hit %  flash writes  found by
4KiB       1       14.29       33.33         0.00             3  one-pass
8KiB       2       28.57       66.67         0.00             3  one-pass
12KiB      3       57.14      100.00        25.00             0  one-pass

reading: page 4KiB, read allocation on, read fill page, no device, warm-up none
exact: 3 sizes in one pass, 0 by a run each
";
    assert_eq!(table, want);
    let partial = "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n\
                   0,W,0,2,0,,0\n1,R,0,8,0,,0\n";
    bench.file("p.csv", partial);
    let table = bench.destage(&["mrc", "p.csv"]).ok().stdout;
    assert!(
        table.contains("by a run each (there a read met a page"),
        "{table}"
    );
}

#[test]
fn a_sample_says_its_error() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(5_000));
    let args = ["mrc", "t.csv", "--cache", "100k", "--cache", "400k"];
    let points = |more: &[&str]| {
        let all = [&args[..], &["--format-out", "jsonl"], more].concat();
        bench.destage(&all).ok().records()
    };
    let exact = points(&[]);
    let number = |p: &Value, key: &str| p[key].as_f64().unwrap();
    for sample in [["--sample-rate", "0.5"], ["--sample-pages", "200"]] {
        let sampled = points(&sample);
        assert_eq!(sampled, points(&[&sample[..], &["--jobs", "1"]].concat()));
        for (s, e) in sampled.iter().zip(&exact) {
            assert_eq!(s["method"], "sampled");
            let off = number(s, "page_hit_ratio") - number(e, "page_hit_ratio");
            assert!(off.abs() < 0.1, "{s}");
            assert!(number(s, "page_hit_ratio_stderr") > 0.0);
        }
        assert_ne!(sampled, points(&[&sample[..], &["--seed", "7"]].concat()));
    }
    assert_eq!(points(&["--sample-pages", "200"])[0]["sampled_pages"], 200);
    let done = bench
        .destage(&[&args[..], &["--sample-rate", "0.5"]].concat())
        .ok();
    assert!(
        done.stdout.contains("95 % confidence interval"),
        "{}",
        done.stdout
    );
}

#[test]
fn the_picture_is_an_svg_with_a_line_per_scheme() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(3_000));
    let draw = |more: &[&str]| {
        let args = [
            "mrc", "t.csv", "--scheme", "lru", "--scheme", "arc", "--plot", "c.svg",
        ];
        bench.destage(&[&args[..], more].concat()).ok();
        bench.read("c.svg")
    };
    let svg = draw(&[]);
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    for part in ["lru", "arc", "t: page hit ratio", "cache size", "1MiB", "%"] {
        assert!(svg.contains(part), "no `{part}` in the picture");
    }
    assert!(!svg.contains("<polygon") && draw(&["--sample-rate", "0.5"]).contains("<polygon"));
}

#[test]
fn bad_usage_is_refused() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(50));
    bench.file(
        "flush.csv",
        "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n0,F,0,0,0,,0\n",
    );
    for (args, parts) in [
        (&["--scheme", "lur"][..], &["lur", "lru"][..]),
        (&["--cache", "16"], &["16", "unit"]),
        (&["--cache", "1k"], &["lru", "holds no page"]),
        (&["--volumes", "split"], &["only=VOLUME"]),
        (&["--format", "mrs"], &["did you mean `msr`"]),
        (&["--sample-rate", "0"], &["above 0 and at most 1"]),
        (&["--sample-rate", "1.5"], &["above 0 and at most 1"]),
        (
            &["--sample-rate", "0.1", "--sample-pages", "5"],
            &["cannot be used with"],
        ),
        (
            &["--sample-rate", "0.5", "--scheme", "req-block"],
            &["req-block cannot be sampled"],
        ),
        (
            &["--sample-rate", "0.000001"],
            &["the sample of 0 pages leaves no request"],
        ),
        (&["--warmup", "50"], &["covers the trace"]),
        (
            &["--plot", "no/such/dir/c.svg"],
            &["--plot", "cannot write"],
        ),
    ] {
        let done = bench.destage(&[&["mrc", "t.csv"], args].concat());
        done.fails(2, parts);
    }
    bench
        .destage(&["mrc", "missing"])
        .fails(2, &["missing", "No such file"]);
    let done = bench.destage(&["mrc", "flush.csv", "--plot", "c.svg"]);
    done.fails(1, &["no point has a page access"]);
}

#[test]
fn real_traces_agree_with_run() {
    let Some(dir) = std::env::var_os("DESTAGE_TRACES").map(PathBuf::from) else {
        eprintln!("SKIPPED: DESTAGE_TRACES is not set");
        return;
    };
    let bench = Bench::new();
    let caches = ["256k", "1m", "4m", "64m"];
    for name in [
        "msr-prxy_0-first20k.csv.zst",
        "msr-cut-w80-10k.replay.zst",
        "tpcc-small.mqsim.zst",
    ] {
        let path = dir.join(name);
        if !path.exists() {
            eprintln!("SKIPPED: {name} is not there");
            continue;
        }
        agrees(
            &bench,
            path.to_str().unwrap(),
            &[],
            &caches,
            &["one-pass", "run"],
        );
        agrees(
            &bench,
            path.to_str().unwrap(),
            &["--page", "16k"],
            &caches,
            &["one-pass", "run"],
        );
    }
}
