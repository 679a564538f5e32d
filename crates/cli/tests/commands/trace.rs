//! `destage trace`.

use crate::browser::assert_shown;
use crate::common::{Bench, HEAD, mixed, unframed};
use serde_json::json;

const MSR: &str = "0,hm,0,Write,4096,8192,7\n10,hm,1,Read,0,4096,7\n30,hm,0,Write,8192,4096,7\n";

#[test]
fn info_counts() {
    let bench = Bench::new();
    bench.file("hm_0.csv", MSR);
    let info = bench.json("trace info hm_0.csv --json");
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
    let done = bench.destage("trace info hm_0.csv").ok();
    done.shows("writes             2 (66.7 %)");
    done.shows("3 pages of 4 KiB");
}

#[test]
fn info_as_a_page() {
    let bench = Bench::new();
    bench.file("mixed.csv", mixed(3_000));
    bench.file("hm_0.csv", MSR);
    let text = bench.destage("trace info mixed.csv hm_0.csv").ok();
    let with_page = bench
        .destage("trace info mixed.csv hm_0.csv --report info.html")
        .ok();
    assert_eq!(with_page.stdout, text.stdout);
    let charts = [
        "request sizes",
        "time between two requests",
        "reuse",
        "footprint",
        "data moved",
    ];
    assert_shown(&bench, "info.html", &charts);
    let before = bench.read("hm_0.csv");
    let done = bench.destage("trace info hm_0.csv --report hm_0.csv");
    done.fails(2, &["hm_0.csv is read and would be overwritten"]);
    assert_eq!(bench.read("hm_0.csv"), before);
    // No page stays of a trace that is refused.
    bench.file("bad.csv", MSR.to_owned() + "nonsense\n");
    let done = bench.destage("trace info bad.csv --report bad.html");
    assert_ne!(done.code, 0);
    assert!(!bench.path("bad.html").exists());
}

/// Every figure of this trace was worked out by hand.
#[test]
fn info_of_a_small_trace() {
    let bench = Bench::new();
    // Sectors; 8 to a page, more than 256 in a row to a large set.
    let rows = [
        "0,W,800,8,1,,0",       // page 100
        "1000,W,804,8,1,,0",    // pages 100 (update) and 101
        "2000,W,8000,128,2,,0", // pages 1000-1015
        "3000,R,800,8,1,,0",    // page 100, the third access
        "4000,W,8128,128,2,,0", // pages 1016-1031: 256 sectors in a row, not more
        "5000,W,8256,1,2,,0",   // page 1032: 257, large with all it is made of
        "6000,R,812,4,1,,0",    // page 101, where stream 1 last ended at 808
        "7000,R,816,16,1,,0",   // pages 102 and 103, where the read before ended
        "7500,T,0,8,1,,0",
        "7500,F,0,0,1,,0",
        "8000,W,800,8,1,,0", // page 100 again
        "9000,R,820,1,1,,0", // page 102
        "9900,R,820,1,1,,0", // page 102, the third access, never written
    ];
    bench.file("t.csv", HEAD.to_owned() + &rows.join("\n") + "\n");
    let info = bench.json("trace info t.csv --json");
    let shares = |n: u64, of: u64| json!(n as f64 / of as f64);
    for (key, value) in [
        ("requests", json!(13)),
        ("read_requests", json!(5)),
        ("write_requests", json!(6)),
        ("trim_requests", json!(1)),
        ("flush_requests", json!(1)),
        ("write_share", shares(6, 11)),
        ("read_bytes", json!(30 * 512)),
        ("write_bytes", json!(281 * 512)),
        ("mean_read_bytes", shares(30 * 512, 5)),
        ("mean_write_bytes", shares(281 * 512, 6)),
        ("read_bytes_range", json!([512, 8192])),
        ("write_bytes_range", json!([512, 65536])),
        (
            "sizes",
            json!([
                [512, 2, 1],
                [2048, 1, 0],
                [4096, 1, 3],
                [8192, 1, 0],
                [65536, 0, 2]
            ]),
        ),
        // 100-103 and 1000-1032, of which 102 and 103 are only read.
        ("footprint_pages", json!(37)),
        ("written_pages", json!(35)),
        ("page_accesses", json!(43)),
        ("reuse_share", shares(43 - 37, 43)),
        ("frequent_pages", json!(2)),
        ("frequent_share", shares(2, 37)),
        ("frequent_written_share", json!(0.5)),
        ("write_page_accesses", json!(37)),
        ("update_page_accesses", json!(2)),
        ("update_share", shares(2, 37)),
        ("update_request_share", shares(2, 6)),
        ("lwdata_bytes", json!(257 * 512)),
        ("lwdata_share", shares(257, 281)),
        // The fifth, sixth and eighth row.
        ("sequential_share", shares(3, 11)),
        ("span_ns", json!(9900)),
        ("mean_gap_ns", shares(9900, 12)),
        ("first_byte", json!(0)),
        ("end_byte", json!(8257 * 512)),
        ("streams", json!(2)),
    ] {
        // JSON is read back with an error of one in the last place.
        match (info[key].as_f64(), value.as_f64()) {
            (Some(have), Some(want)) => assert!((have - want).abs() < 1e-12, "{key}: {have}"),
            _ => assert_eq!(info[key], value, "{key}"),
        }
    }
    let text = bench.destage("trace info t.csv").ok();
    for line in [
        "mean read          3.00 KiB, from 512 B to 8.0 KiB (8192 B)",
        "reuse              14.0 % of 43 page accesses",
        "frequent           2 pages accessed 3 times and more (5.4 %), 50.0 % of them written",
        "updates            5.4 % of 37 page writes, in 33.3 % of the write requests",
        "large sequential   91.5 % of the written bytes",
        "sequential         27.3 % of the requests",
        "sizes up to        512B    2 reads, 1 writes",
        "                   64KiB   0 reads, 2 writes",
    ] {
        text.shows(line);
    }
}

#[test]
fn info_lists_the_volumes() {
    let bench = Bench::new();
    bench.file("hm.csv", MSR);
    let info = bench.json("trace info hm.csv --json");
    let volumes = json!([
        {"name": "hm_0", "requests": 2, "end_byte": 12288, "start_byte": 0},
        {"name": "hm_1", "requests": 1, "end_byte": 4096, "start_byte": 1 << 20},
    ]);
    assert_eq!(info["volumes"], volumes);
    let text = bench.destage("trace info hm.csv").ok();
    text.shows("volumes            hm_0: 2 requests, 12.0 KiB (12288 B) at 0 B\n");
}

/// A pipe is read but once, and where its volumes go is known at its end.
#[test]
fn info_of_standard_input_is_that_of_the_file() {
    let bench = Bench::new();
    bench.file("stdin.csv", MSR);
    for volumes in ["stack", "overlay", "only=hm_1", "split"] {
        let info = |trace| {
            let line = format!("trace info {trace} --json --volumes {volumes}");
            bench.with_stdin(line, MSR).ok().stdout
        };
        assert_eq!(info("-"), info("stdin.csv"), "{volumes}");
    }
}

#[test]
fn head_prints_the_first_requests() {
    let bench = Bench::new();
    bench.file("hm_0.csv", MSR);
    let shown = bench.shown("trace head hm_0.csv -n 2");
    assert_eq!(
        unframed(&shown),
        format!("{HEAD}0,W,8,16,0,,0\n1000,R,2048,8,1,,0\n")
    );
}

#[test]
fn convert_keeps_every_request() {
    let text = mixed(500);
    let bench = Bench::with(&text);
    bench.shown("trace convert t.csv -o copy.csv");
    assert_eq!(unframed(&bench.read("copy.csv")), text);
    let piped = bench.with_stdin("trace convert -", &text).ok();
    assert_eq!(unframed(&piped.stdout), text);
    let limited = bench.shown("trace convert t.csv --limit 3");
    assert_eq!(unframed(&limited).lines().count(), 4);
}

#[test]
fn optional_columns_survive() {
    let text = "arrival_ns,op,start_sector,sectors,stream,prev,atomic,tag,group\n\
                0,W,0,16,0,800;-1,0,data,\n\
                2500,W,800,8,0,,1,node,0\n\
                2500,W,4096,8,0,,1,node,0\n";
    let converted = Bench::with(text).shown("trace convert t.csv");
    assert_eq!(unframed(&converted), text);
}

#[test]
fn names_do_not_reach_the_terminal() {
    let bench = Bench::new();
    let name = "\u{1b}[31mred";
    let log = "fio version 2 iolog\nNAME add\nNAME open\nNAME write 0 4096\nNAME close\n";
    bench.file("log.fio", log.replace("NAME", name));
    bench.file(&format!("{name}.csv"), mixed(10));
    for line in [
        "trace info log.fio",
        "run log.fio --volumes split",
        "run log.fio --volumes split --format-out csv",
        "run log.fio --volumes split --details",
        "mrc log.fio",
        &format!("run {name}.csv"),
        &format!("run {name}.csv --limit 5 --warmup 5"),
    ] {
        let done = bench.destage(line);
        for said in [&done.stdout, &done.stderr] {
            assert!(!said.contains('\u{1b}'), "{line}: {said:?}");
        }
    }
    let shown = bench.shown("run log.fio --volumes split");
    assert!(shown.contains("\\u{1b}[31mred"), "{shown}");
}
