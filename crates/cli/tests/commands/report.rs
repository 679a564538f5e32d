//! `--report`.

use crate::browser::assert_shown;
use crate::common::{Bench, contains, counted, mixed, objects, options, root, without_cost};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The page refers to nothing outside itself, its elements are closed, and it is not too large.
pub fn assert_self_contained(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    contains(page, "content=\"default-src 'none'; ");
    // Behind it are the data and the scripts.
    let (html, scripts) = page
        .split_once("<script type=\"application/json\"")
        .unwrap();
    for outside in [
        "<script", "src=", "href=", "@import", "url(", "http:", "https:",
    ] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert_eq!(
        scripts.matches("</script>").count(),
        3,
        "no text ends a script"
    );
    let count = |part: &str| html.matches(part).count();
    for tag in [
        "table", "figure", "div", "tr", "h2", "section", "details", "th", "td", "p",
    ] {
        let opened = count(&format!("<{tag}>")) + count(&format!("<{tag} "));
        assert_eq!(opened, count(&format!("</{tag}>")), "{tag}");
    }
}

const OF_EVERY_RUN: [&str; 5] = [
    "page hit ratio",
    "flash writes",
    "page hit ratio over time",
    "eviction sizes",
    "pages programmed, by cause",
];

#[test]
fn a_report_of_several_sizes_and_traces_shows_everything() {
    let bench = Bench::with(mixed(6000));
    bench.file("b.csv", mixed(3000));
    let run = "run t.csv b.csv --scheme lru --scheme req-block --scheme none --scheme belady --cache 64k \
               --cache 128k --device req-block-128g --report r.html";
    // The table is shown as ever.
    bench.destage(run).ok().shows("req-block");
    let page = bench.read("r.html");
    assert_self_contained(&page);
    let traces: Vec<&str> = page.split("<h2>").skip(2).take(2).collect();
    for trace in traces {
        let (main, _) = trace.split_once("</table>").unwrap();
        assert_eq!(
            main.matches("<tr").count(),
            1 + 7,
            "seven runs a trace, and a head"
        );
        contains(trace, "response time in ms");
        contains(trace, "flash reads in pages");
        contains(trace, "belady (bound)");
    }
    for part in [
        "All traces",
        "64KiB",
        "128KiB",
        "reading: ",
        "shortest mean response time",
    ] {
        contains(&page, part);
    }
    let mut titles = OF_EVERY_RUN.to_vec();
    titles.extend([
        "all traces, relative to lru",
        "relative to lru",
        "response time of reads",
        "response time of writes",
        "mean response time over time",
        "imbalance of the chip queues over time",
        "list occupancy over time",
        "die load",
        "pages programmed per chip",
        "write amplification",
    ]);
    assert_shown(&bench, "r.html", &titles);
}

#[test]
fn a_report_without_a_device_has_no_times() {
    let bench = Bench::with(mixed(300));
    bench.record("run t.csv --cache 64k --report r.html");
    let page = bench.read("r.html");
    assert_self_contained(&page);
    assert!(!page.contains("response time of reads") && !page.contains("die load"));
    assert_shown(&bench, "r.html", &OF_EVERY_RUN);
}

#[test]
fn a_report_of_many_schemes_tells_them_apart() {
    let bench = Bench::with(mixed(2000));
    let schemes: Vec<String> = (1..=20).map(|n| format!("req-block(delta={n})")).collect();
    let run = format!(
        "run t.csv{} --cache 64k --cache 128k --report r.html",
        options(&schemes)
    );
    bench.destage(run).ok();
    assert_self_contained(&bench.read("r.html"));
    assert_shown(&bench, "r.html", &OF_EVERY_RUN);
}

#[test]
fn names_are_text_whatever_they_are() {
    let bench = Bench::new();
    let name = "<img src=x onerror=alert(1)>&\"'<script>.csv";
    bench.file(name, mixed(500));
    let mut command = bench.command("run --cache 64k --scheme lru --scheme arc --report r.html");
    command.arg(name).assert().success();
    let page = bench.read("r.html");
    let html = page.split_once("<script type").unwrap().0;
    assert!(!html.contains("<img") && html.contains("&lt;img src"));
    assert_eq!(page.matches("</script>").count(), 3);
    assert_shown(&bench, "r.html", &OF_EVERY_RUN);
}

#[test]
fn curves_and_their_samples_are_drawn() {
    let bench = Bench::with(mixed(3000));
    let bench_says =
        bench.destage("mrc t.csv --scheme lru --scheme belady --report m.html --plot m.svg");
    bench_says.ok().shows("belady (bound)");
    assert_self_contained(&bench.read("m.html"));
    assert_shown(
        &bench,
        "m.html",
        &["page hit ratio", "write hit ratio", "flash writes"],
    );
    // A whole line of one piece, and a dashed one of many.
    let lines = bench.read("m.svg").matches("<polyline").count()
        + bench.read("m.svg").matches("<line").count();
    assert!(lines > 10, "{lines}");
    bench
        .destage("mrc t.csv --scheme lru --sample-rate 0.5 --report s.html")
        .ok();
    contains(&bench.read("s.html"), "\"range\":[[");
    assert_shown(&bench, "s.html", &["page hit ratio"]);
}

#[test]
fn a_report_has_a_file_of_its_own() {
    let bench = Bench::with(mixed(100));
    bench.refuses(
        "mrc t.csv --plot x --report x | --plot and --report need a file each
         mrc t.csv --report t.csv | t.csv is read and would be overwritten
         mrc t.csv --report - | --report needs a file
         repro cac --out r --report r/PAPERS.md | --out and --report need a file each
         run t.csv --report no/where.html | --report no/where.html: cannot create it
         demo --report - | --report needs a file",
    );
}

#[test]
fn runs_done_before_have_no_charts_over_time() {
    let bench = Bench::with(mixed(500));
    bench
        .destage("run t.csv --cache 64k --out o --report o/r.html")
        .ok();
    let first = bench.read("o/r.html");
    assert!(first.contains("page hit ratio over time") && !first.contains("were read from a file"));
    bench
        .destage("run t.csv --cache 64k --out o --report o/r.html")
        .ok();
    let again = bench.read("o/r.html");
    assert!(!again.contains("page hit ratio over time"));
    contains(
        &again,
        "Runs whose records were read from a file are not in the charts over time",
    );
}

#[test]
fn a_report_changes_no_figure() {
    let bench = Bench::with(mixed(3000));
    let run = "run t.csv --scheme lru --scheme req-block --scheme awb(prober(lru)) --scheme ecr --cache 64k \
               --device req-block-128g --warmup 10%";
    let plain = bench.records(run);
    bench
        .destage(format!("{run} --report r.html --series s.csv --out o"))
        .ok();
    let reported = objects(&bench.read("o/results.jsonl"));
    let of = |records: Vec<Value>| records.into_iter().map(without_cost).collect::<Vec<_>>();
    assert_eq!(of(plain), of(reported));
}

#[test]
fn a_page_too_large_leaves_charts_out_and_says_so() {
    let bench = Bench::new();
    let mut traces = String::new();
    for i in 0..24 {
        bench.file(&format!("t{i}.csv"), mixed(400));
        traces += &format!(" t{i}.csv");
    }
    let schemes: Vec<String> = (1..=12).map(|n| format!("req-block(delta={n})")).collect();
    let run = format!(
        "run{traces}{} --cache 64k --cache 96k --device req-block-128g --report r.html",
        options(&schemes)
    );
    bench.destage(run).ok();
    let page = bench.read("r.html");
    assert_self_contained(&page);
    contains(
        &page,
        "were left out, because the page would be larger than 2 MB",
    );
    assert_eq!(
        page.matches("all runs; the best").count(),
        24 * 2,
        "every run is in a table"
    );
}

#[test]
fn a_bound_is_never_the_best() {
    let bench = Bench::with(mixed(2000));
    // Alone it does not allocate on reads in every case; beside others it does as they do.
    let records =
        bench.records("run t.csv --scheme lru --scheme belady --cache 128k --report r.html");
    assert_eq!(records[0]["reading"], records[1]["reading"]);
    let hits = |i: usize| records[i]["counts"]["page_hits"].as_u64();
    assert!(hits(1) >= hits(0));
    let page = bench.read("r.html");
    let best = page
        .split("<tr>")
        .skip(1)
        .find(|row| row.contains("data-best"))
        .unwrap();
    contains(best, ">lru</th>");
    assert!(!page.contains("highest page hit ratio: belady"));
    let off = bench.records("run t.csv --scheme prober(lru) --scheme belady --cache 128k");
    assert_eq!(off[0]["reading"], off[1]["reading"]);
    let said =
        bench.destage("run t.csv --scheme lru --scheme prober(lru) --scheme belady --cache 128k");
    said.ok()
        .says("the schemes that belady bounds differ in read allocation");
}

#[test]
fn the_library_of_charts_is_the_one_it_is_said_to_be() {
    let folder = root().join("crates/report/vendor/echarts");
    let bytes = std::fs::read(folder.join("echarts.common.min.js")).unwrap();
    let hash: String = Sha256::digest(&bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    contains(
        &std::fs::read_to_string(folder.join("README.md")).unwrap(),
        &hash,
    );
    for text in ["LICENSE", "NOTICE", "LICENSE-d3"] {
        assert!(folder.join(text).is_file(), "{text}");
    }
    assert!(!String::from_utf8(bytes).unwrap().contains("</script"));
}

/// Places that a FLUSH pads are programmed too.
#[test]
fn the_front_has_all_programs() {
    let writes = (0..300).map(|i| match i % 100 {
        99 => format!("{i}000000,F,0,0,0,,0\n"),
        page => format!("{i}000000,W,{},8,0,,0\n", page * 8),
    });
    let head = "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n".to_owned();
    let bench = Bench::with(head + &writes.collect::<String>());
    let run = "run t.csv --scheme drain(lru),drain(fifo) --device consumer-tlc-1t --cache 1MiB";
    bench.destage(format!("{run} --report r.html")).ok();
    let record = &bench.records(run)[0];
    let pages: u64 = ["host", "gc", "meta"]
        .map(|cause| counted(record, &format!("flash_writes_{cause}")))
        .iter()
        .sum();
    let padded = counted(record, "padded_places");
    assert!(padded > 0, "a FLUSH pads");
    let bytes = (pages + padded) * record["page_bytes"].as_u64().unwrap();
    contains(&bench.read("r.html"), &format!("[{bytes}"));
}

#[test]
fn the_page_answers_first() {
    let bench = Bench::with(mixed(3000));
    let run = "run t.csv --scheme lru,arc,req-block,belady --device default --report r.html";
    let done = bench.destage(format!("{run} --cache 64k,128k,256k")).ok();
    done.says("report: r.html");
    let page = bench.read("r.html");
    let (top, charts) = page.split_once("class=\"charts\"").unwrap();
    // Req-block inserts no page on a read, so that its hits have a tile of their own.
    assert_eq!(top.matches("<div class=\"tile\">").count(), 5);
    // The figures are those of the records, at the size in the middle.
    let records =
        bench.records("run t.csv --scheme lru,arc,req-block --device default --cache 128k");
    let mean = |r: &&Value| r["latency_ns"]["all"]["mean"].as_f64().unwrap();
    let fastest = records
        .iter()
        .min_by(|a, b| mean(a).total_cmp(&mean(b)))
        .unwrap();
    let time = match mean(&fastest) {
        ns if ns < 1e6 => format!("{:.1} us", ns / 1e3),
        ns => format!("{:.3} ms", ns / 1e6),
    };
    let answer = format!(
        "At 128KiB: {} answers fastest: in {time} on average",
        fastest["scheme"].as_str().unwrap()
    );
    contains(top, &answer);
    let (unfolded, folded) = charts.split_once("<details class=\"fold\">").unwrap();
    assert_eq!(unfolded.matches("<figure").count(), 2);
    assert!(folded.matches("<figure").count() > 10);
    let titles = [
        "response time against flash writes",
        "page hit ratio",
        "response time of reads",
    ];
    assert_shown(&bench, "r.html", &titles);
}

#[test]
fn records_that_are_there_become_a_page() {
    let bench = Bench::with(mixed(1500));
    bench.file(
        "s.toml",
        "trace = 't.csv'\nscheme = ['lru', 'arc']\ncache = '64k'\nseed = [1, 2]\n",
    );
    bench
        .destage("run t.csv --scheme lru,arc --cache 64k,128k,256k --out d")
        .ok();
    bench.destage("sweep s.toml --out s").ok();
    let lines =
        bench.shown("run t.csv --scheme fifo --cache 64k --device default --format-out jsonl");
    bench.file("one.jsonl", lines);
    for (results, parts) in [
        ("d", &["arc", "256KiB"][..]),
        ("s", &["seed=2"]),
        ("one.jsonl d", &["fifo", "arc"]),
    ] {
        bench
            .destage(format!("report {results} -o r.html"))
            .ok()
            .says("report: r.html");
        let page = bench.read("r.html");
        assert_self_contained(&page);
        parts.iter().for_each(|part| contains(&page, part));
    }
    assert_shown(&bench, "r.html", &["page hit ratio", "flash writes"]);
    bench.file("empty.jsonl", "\n");
    std::fs::create_dir(bench.path("none")).unwrap();
    for (line, parts) in [
        (
            "report empty.jsonl -o e.html",
            &["empty.jsonl", "no record"][..],
        ),
        (
            "report none -o e.html",
            &["none", "results.jsonl", "--merge"],
        ),
        ("report missing.jsonl -o e.html", &["missing.jsonl"]),
        ("report t.csv -o e.html", &["t.csv:1", "no result record"]),
        ("report d -o e.pdf", &["--output", "HTML"]),
    ] {
        bench.destage(line).fails(2, parts);
    }
    assert!(!bench.path("e.html").exists());
}
