//! `destage mrc`.

use crate::common::{Bench, HEAD, contains, csv, mixed, trace};
use serde_json::Value;

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
fn agrees(bench: &Bench, trace: &str, options: &str, caches: &[&str], methods: &[&str]) {
    let caches: String = caches.iter().map(|c| format!(" --cache {c}")).collect();
    let points = bench.records(format!("mrc '{trace}' {options} {caches}"));
    let records = bench.records(format!("run '{trace}' {options} {caches}"));
    assert_eq!(points.len(), records.len());
    for (point, record) in points.iter().zip(&records) {
        for key in ["scheme", "cache_bytes", "cache_pages", "page_bytes"] {
            assert_eq!(point[key], record[key], "{key}");
        }
        let figures = ["ratios", "counts"].map(|part| record[part].as_object().unwrap());
        for (key, value) in figures.into_iter().flatten() {
            if let Some(own) = point.get(key) {
                assert_eq!(own, value, "{key} at {}", point["cache_bytes"]);
            }
        }
        let method = point["method"].as_str().unwrap();
        assert!(methods.contains(&method), "{point}");
        assert!(point["page_hits"].is_u64() && point["flash_writes_host"].is_u64());
    }
}

#[test]
fn points_are_those_of_run() {
    let bench = Bench::new();
    bench.file("whole.csv", mixed(3_000));
    bench.file("parts.csv", parts());
    let caches = ["4k", "12k", "64k", "100k", "1m", "2m"];
    let (one_pass, run) = (&["one-pass"][..], &["run"][..]);
    let both = &["one-pass", "run"][..];
    for (trace, options, methods) in [
        ("whole", "", one_pass),
        ("whole", "--warmup 10%", one_pass),
        ("whole", "--read-alloc off", run),
        ("whole", "--scheme lru --scheme arc --trace-memory 1k", both),
        ("parts", "", both),
        ("parts", "--read-fill requested", both),
    ] {
        agrees(&bench, &format!("{trace}.csv"), options, &caches, methods);
    }
    let several = "--scheme fifo --scheme req-block --warmup passes=1";
    agrees(&bench, "parts.csv", several, &caches[1..], run);
}

#[test]
fn the_usual_sizes_reach_from_small_to_all() {
    let bench = Bench::with(mixed(3_000));
    let csv = "mrc t.csv --format-out csv";
    let text = bench.shown(csv);
    let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split(',').collect()).collect();
    assert_eq!(
        lines[0][..4],
        ["trace", "scheme", "cache_bytes", "cache_pages"]
    );
    assert!(lines.iter().all(|l| l.len() == lines[0].len()));
    let pages: Vec<u64> = lines[1..].iter().map(|l| l[3].parse().unwrap()).collect();
    assert!(pages.starts_with(&[1, 2, 3, 4, 6, 8]) && pages.ends_with(&[192, 256, 384]));
    // A scheme that needs more frames than the smallest sizes have starts later.
    let least = bench.shown(format!("{csv} --scheme lirs")).lines().count();
    assert!(least > 10 && least < lines.len(), "{least}");
    assert_eq!(bench.shown(format!("{csv} --jobs 1")), text);
}

#[test]
fn the_table_says_how_it_is_to_be_read() {
    let bench = Bench::with(csv("W0 W1 R0 W2 R1 R1 W0"));
    let table = bench.shown("mrc t.csv");
    let want = "\
t, lru

cache  pages  page hit %  read hit %  write hit %  flash writes  found by
4KiB       1       14.29       33.33         0.00             3  one-pass
8KiB       2       28.57       66.67         0.00             3  one-pass
12KiB      3       57.14      100.00        25.00             0  one-pass

reading: page 4KiB, read allocation on, read fill page, no device, warm-up none
exact: 3 sizes in one pass, 0 by a run each
format: destage, times in ns
";
    assert_eq!(table, want);
    bench.file("p.csv", format!("{HEAD}0,W,0,2,0,,0\n1,R,0,8,0,,0\n"));
    let partial = bench.destage("mrc p.csv").ok();
    partial.shows("by a run each (there a read met a page");
}

#[test]
fn a_sample_says_its_error() {
    let bench = Bench::with(mixed(5_000));
    let args = "mrc t.csv --cache 100k --cache 400k";
    let points = |more: &str| bench.records(format!("{args} {more}"));
    let exact = points("");
    let number = |p: &Value, key: &str| p[key].as_f64().unwrap();
    for sample in ["--sample-rate 0.5", "--sample-pages 200"] {
        let sampled = points(sample);
        assert_eq!(sampled, points(&format!("{sample} --jobs 1")));
        for (s, e) in sampled.iter().zip(&exact) {
            assert_eq!(s["method"], "sampled");
            let off = number(s, "page_hit_ratio") - number(e, "page_hit_ratio");
            assert!(off.abs() < 0.1, "{s}");
            let [low, high] =
                ["low", "high"].map(|end| number(s, &format!("page_hit_ratio_{end}")));
            let value = number(s, "page_hit_ratio");
            assert!(
                (0.0..value).contains(&low) && value < high && high <= 1.0,
                "{s}"
            );
        }
        assert_ne!(sampled, points(&format!("{sample} --seed 7")));
    }
    assert_eq!(points("--sample-pages 200")[0]["sampled_pages"], 200);
    let done = bench.destage(format!("{args} --sample-rate 0.5")).ok();
    done.shows("95 % confidence interval");
    // 25 pages of which 1 in 50 is looked at: less than one.
    let small = points("--sample-rate 0.02");
    assert!(small[0]["page_hit_ratio"].is_null() && small[0]["page_hit_ratio_low"].is_null());
}

#[test]
fn samples_of_other_schemes_than_lru_are_corrected_by_two_runs() {
    let bench = Bench::with(mixed(5_000));
    let args = "mrc t.csv --scheme sieve --scheme lirs --cache 20k --cache 100k --cache 200k,400k";
    let exact = bench.records(args);
    let sampled = bench.records(format!("{args} --sample-rate 0.3"));
    assert_eq!(sampled.len(), exact.len());
    for scheme in ["sieve", "lirs"] {
        let of = sampled
            .iter()
            .zip(&exact)
            .filter(|(s, _)| s["scheme"] == scheme);
        let (runs, others): (Vec<_>, Vec<_>) = of.partition(|(s, _)| s["method"] == "run");
        assert_eq!(runs.len(), 2, "{scheme}");
        for (s, e) in runs {
            for key in [
                "page_hit_ratio",
                "read_page_hit_ratio",
                "write_page_hit_ratio",
            ] {
                assert_eq!(s[key], e[key]);
                assert_eq!(s[format!("{key}_low")], s[format!("{key}_high")]);
            }
        }
        assert!(others.iter().all(|(s, _)| s["method"] == "sampled"));
    }
    // 1.5 of the 5 pages are in the sample: fewer than LIRS needs.
    let small = sampled.iter().find(|s| s["scheme"] == "lirs").unwrap();
    assert!(small["page_hit_ratio"].is_null(), "{small}");
    // A share of the requests as warm-up, and a stream, are kept as well.
    for more in ["--warmup 10%", "--trace-memory 1k"] {
        bench
            .destage(format!("{args} --sample-rate 0.3 {more}"))
            .ok();
    }
    let table = bench.destage(format!("{args} --sample-rate 0.3")).ok();
    table.shows("without an interval: by runs over all pages");
    table.shows("-: the sample has less than one page of the cache");
    let lru = bench.shown("mrc t.csv --cache 100k --sample-rate 0.3");
    assert!(!lru.contains("by runs"), "{lru}");
}

#[test]
fn the_picture_is_an_svg_with_a_line_per_scheme() {
    let bench = Bench::with(mixed(3_000));
    let draw = |more: &str| {
        let line = "mrc t.csv --scheme lru --scheme arc --plot c.svg";
        bench.destage(format!("{line} {more}")).ok();
        bench.read("c.svg")
    };
    let svg = draw("");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    for part in [
        "lru",
        "arc",
        "page hits / page accesses",
        "cache size",
        "1MiB",
        "%",
    ] {
        contains(&svg, part);
    }
    // A caption below it says whose curves they are; text is at least 8 points in a column of 480 units.
    assert!(
        !svg.contains("t: ") && !svg.contains("font-size=\"1\""),
        "{svg}"
    );
    let bands = |svg: &str| svg.matches("opacity=\"0.2\"").count();
    assert!(bands(&draw("--sample-rate 0.5")) > bands(&svg));
    if cfg!(feature = "png") {
        bench.destage("mrc t.csv --plot c.png").ok();
        let png = std::fs::read(bench.path("c.png")).unwrap();
        assert!(png.starts_with(b"\x89PNG"));
    } else {
        bench.refuses("mrc t.csv --plot c.png | --plot c.png | --features png");
    }
}

#[test]
fn real_traces_agree_with_run() {
    let bench = Bench::new();
    let caches = ["256k", "1m", "4m", "64m"];
    for name in [
        "msr-prxy_0-first20k.csv.zst",
        "msr-cut-w80-10k.replay.zst",
        "tpcc-small.mqsim.zst",
    ] {
        let Some(path) = trace(name) else { continue };
        for options in ["", "--page 16k"] {
            let path = path.to_str().unwrap();
            agrees(&bench, path, options, &caches, &["one-pass", "run"]);
        }
    }
}
