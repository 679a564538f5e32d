//! `--report`.

use crate::common::{Bench, contains, mixed};

/// The page refers to nothing outside itself, and its elements are closed.
pub fn assert_self_contained(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    for outside in ["<script", "src=", "href=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    // The name space of SVG is the only address.
    let count = |part: &str| page.matches(part).count();
    assert_eq!(count("http"), count("http://www.w3.org/2000/svg"));
    for tag in ["table", "svg", "div", "tr", "h2"] {
        let opened = count(&format!("<{tag}>")) + count(&format!("<{tag} "));
        assert_eq!(opened, count(&format!("</{tag}>")), "{tag}");
    }
}

#[test]
fn a_report_of_several_sizes_has_curves_and_a_row_per_run() {
    let bench = Bench::with(mixed(600));
    bench.file("b.csv", mixed(300));
    let run = "run t.csv b.csv --scheme lru --scheme req-block --scheme none --cache 64k --cache \
               128k --device req-block-128g --report r.html";
    // The table is shown as ever.
    bench.destage(run).ok().shows("req-block");
    let page = bench.read("r.html");
    assert_self_contained(&page);
    let traces: Vec<&str> = page.split("<h2>").skip(1).take(2).collect();
    for trace in traces {
        let (main, details) = trace.split_once("<h3>").unwrap();
        let rows = main.matches("<tr").count();
        assert_eq!(rows, 1 + 5, "five runs a trace, and a head");
        assert_eq!(main.matches("<svg").count(), 7, "seven charts a trace");
        contains(details, "response time in ms");
        contains(details, "flash reads in pages");
    }
    for part in [
        "page hit ratio",
        "mean response time",
        "64KiB",
        "128KiB",
        "reading: ",
    ] {
        contains(&page, part);
    }
}

#[test]
fn a_report_without_a_device_has_no_times() {
    let bench = Bench::with(mixed(300));
    bench.record("run t.csv --cache 64k --report r.html");
    let page = bench.read("r.html");
    assert_self_contained(&page);
    assert!(!page.contains("response time in ms"));
    assert_eq!(page.matches("<svg").count(), 3);
}
