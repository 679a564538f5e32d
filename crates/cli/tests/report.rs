//! `--report`.

mod common;

use common::{Bench, csv, mixed};

fn args(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The page refers to nothing outside itself, and its elements are closed.
fn assert_self_contained(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    for outside in ["<script", "src=", "href=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    // The name space of SVG is the only address.
    let addresses = page.matches("http").count();
    assert_eq!(
        addresses,
        page.matches("http://www.w3.org/2000/svg").count()
    );
    for tag in ["table", "svg", "div", "tr", "h2"] {
        let opened =
            page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

#[test]
fn a_report_of_several_sizes_has_curves_and_a_row_per_run() {
    let bench = Bench::new();
    bench.file("a.csv", mixed(600));
    bench.file("b.csv", mixed(300));
    let run = "run a.csv b.csv --scheme lru --scheme req-block --scheme none --cache 64k --cache \
               128k --device req-block-128g --report r.html";
    let done = bench.destage(&args(run)).ok();
    assert!(
        done.stdout.contains("req-block"),
        "the table is shown as ever"
    );
    let page = bench.read("r.html");
    assert_self_contained(&page);
    let traces: Vec<&str> = page.split("<h2>").skip(1).take(2).collect();
    for trace in traces {
        let (main, details) = trace.split_once("<h3>").unwrap();
        let rows = main.matches("<tr").count();
        assert_eq!(rows, 1 + 5, "five runs a trace, and a head");
        assert_eq!(main.matches("<svg").count(), 7, "seven charts a trace");
        for title in ["response time in ms", "flash reads in pages"] {
            assert!(details.contains(title), "no {title}");
        }
    }
    for part in [
        "page hit ratio",
        "mean response time",
        "64KiB",
        "128KiB",
        "reading: ",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn a_report_without_a_device_has_no_times() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(300));
    bench
        .destage(&args(
            "run t.csv --cache 64k --format-out jsonl --report r.html",
        ))
        .ok();
    let page = bench.read("r.html");
    assert_self_contained(&page);
    assert!(!page.contains("response time in ms"));
    assert_eq!(page.matches("<svg").count(), 3);
}

#[test]
fn a_report_of_the_demo() {
    let bench = Bench::new();
    bench.destage(&args("demo --report r.html")).ok();
    let page = bench.read("r.html");
    assert_self_contained(&page);
    assert!(page.contains("destage demo, seed 1") && page.contains("belady"));
}

#[test]
fn reports_that_cannot_be_written() {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0"));
    let refused = |line: &str, parts: &[&str]| {
        bench.destage(&args(line)).fails(2, parts);
    };
    refused(
        "run t.csv --report nowhere/r.html",
        &["--report nowhere/r.html", "cannot create"],
    );
    refused(
        "demo --report nowhere/r.html",
        &["--report nowhere/r.html", "cannot create"],
    );
    refused("run t.csv --report -", &["--report needs a file"]);
    refused(
        "run t.csv --report t.csv",
        &["t.csv is read and would be overwritten"],
    );
}
