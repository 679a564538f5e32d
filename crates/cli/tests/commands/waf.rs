//! `destage waf`.

use crate::common::{Bench, contains};
use serde_json::Value;

/// The only point of a command, and its pages programmed and erases.
#[track_caller]
fn point(bench: &Bench, line: &str) -> Value {
    let points = bench.json(format!("waf {line} --format-out json"));
    assert_eq!(points.as_array().unwrap().len(), 1, "{points}");
    points[0].clone()
}

#[track_caller]
fn figures(point: &Value) -> [u64; 4] {
    [
        "write_pages",
        "flash_writes_host",
        "flash_writes_gc",
        "erases",
    ]
    .map(|key| point[key].as_u64().unwrap())
}

#[test]
fn sequential_writes_cost_a_program_each() {
    let bench = Bench::new();
    for streams in ["shared", "own", "two-region", "in-place"] {
        let shape = "--blocks 8 --pages-per-block 4 --fill 0.5 --sequential 1 --overwrites 3";
        let found = point(&bench, &format!("{shape} --streams {streams}"));
        // 3 x 16 pages, and a block of four for every four of them.
        assert_eq!(figures(&found), [48, 48, 0, 12], "{streams}");
        assert_eq!(found["write_amplification"], 1.0);
        assert!(found["analytic"].is_null() && found["optimum"].is_null());
        assert_eq!(found["streams"], streams);
    }
}

/// One of two pages is written again and again, in two blocks of two pages. By hand, with `s` the other
/// page: the fill gives s h, then h h goes to the second block. The first block has had one valid page
/// for longer, so s is written back and one h follows. Then the second block is empty and takes h h.
/// So three host writes cost one copy and two erases.
#[test]
fn a_static_page_is_copied_over_and_over() {
    let bench = Bench::new();
    let zones = "--zones 0.5:1+0.5:0 --blocks 2 --pages-per-block 2 --fill 0.5";
    for seed in 1..5 {
        let line = format!("{zones} --streams in-place --overwrites 3 --seed {seed}");
        let found = point(&bench, &line);
        assert_eq!(figures(&found), [6, 6, 2, 4], "seed {seed}");
        assert_eq!(found["write_amplification"], 8.0 / 6.0);
        // Alone the written page has three pages: x / (1 - e^-x) = 3, and 3 / x is its cost.
        let known = found["optimum"].as_f64().unwrap();
        assert!((known - 3.0 / 2.821_439).abs() < 1e-6, "{known}");
        assert_eq!(found["logical_pages"], 2);
    }
}

/// With a third block an empty victim is always there.
#[test]
fn an_empty_block_is_the_best_victim() {
    let bench = Bench::new();
    let zones = "--zones 0.5:1+0.5:0 --blocks 3 --pages-per-block 2 --fill 0.34";
    let found = point(&bench, &format!("{zones} --streams in-place"));
    assert_eq!(figures(&found), [20, 20, 0, 10]);
    assert_eq!(found["write_amplification"], 1.0);
}

/// A page that is written again stays in the buffer, and flash gets nothing.
#[test]
fn a_buffer_takes_hits_at_no_cost() {
    let bench = Bench::new();
    let zones = "--zones 0.5:1+0.5:0 --blocks 3 --pages-per-block 2 --fill 0.34";
    let found = point(&bench, &format!("{zones} --streams in-place --buffer 1"));
    assert_eq!(figures(&found), [20, 0, 0, 0]);
    assert_eq!(found["buffer_hits"], 20);
    assert_eq!(found["write_amplification"], 0.0);
    assert_eq!(found["analytic"], 0.0);
}

#[test]
fn a_figure_that_still_changes_gets_a_warning() {
    let bench = Bench::new();
    let shape = "waf --blocks 64 --pages-per-block 16";
    let short = bench.destage(format!("{shape} --fill 0.7,0.8 --warmup 0 --overwrites 2"));
    let warning = "2 of 2 points are not in a steady state";
    assert!(short.stderr.contains(warning), "{}", short.stderr);
    contains(&short.stdout, "steady: another warm-up of the same length");
    let point = point(
        &bench,
        "--blocks 64 --pages-per-block 16 --warmup 0 --overwrites 2",
    );
    let half = |key: &str| point[key].as_f64().unwrap();
    assert!(half("first_half") < half("second_half"), "{point}");
    assert_eq!(
        (&point["steady"], &point["warmup_pages"]),
        (&Value::Bool(false), &Value::from(0))
    );
    // Nothing changes under sequential writes.
    let same = bench.destage(format!("{shape} --sequential 1"));
    assert!(
        same.stderr.is_empty() && !same.stdout.contains("steady"),
        "{}",
        same.stderr
    );
    // A buffer that takes all writes leaves nothing to measure.
    let buffered = bench.destage(format!("{shape} --zones 0.01:1+0.99:0 --buffer 20"));
    contains(&buffered.stderr, "at 1, too few pages reached the flash");
}

#[test]
fn a_grid_has_a_point_for_each_combination() {
    let bench = Bench::new();
    let grid = "waf --blocks 64 --pages-per-block 16 --zipf 0.5,1 --streams shared,in-place,shared";
    let table = bench.shown(grid);
    let rows: Vec<Vec<&str>> = table
        .lines()
        .take(5)
        .map(|line| line.split_whitespace().collect())
        .collect();
    let heads = [
        "zipf",
        "streams",
        "write",
        "amplification",
        "analytic",
        "optimum",
        "steady",
    ];
    assert_eq!(rows[0], heads);
    let settings: Vec<_> = rows[1..].iter().map(|row| [row[0], row[1]]).collect();
    assert_eq!(
        settings,
        [
            ["0.5", "shared"],
            ["0.5", "in-place"],
            ["1", "shared"],
            ["1", "in-place"]
        ]
    );
    contains(
        &table,
        "fill 0.875, 64 blocks, 16 pages a block, victim greedy",
    );
    contains(
        &table,
        "rule in-place: copies go to the victim itself, after its erase",
    );
    contains(
        &table,
        "rule shared: copies go to the host's block; one block stays free",
    );
    let with_buffer = bench.shown(format!("{grid} --buffer 5"));
    contains(&with_buffer, "buffer hits");
    contains(&with_buffer, "LRU buffer of 5 pages");
    let csv = bench.shown(format!("{grid} --format-out csv"));
    assert_eq!(csv.lines().count(), 5);
    let jsonl = bench.records(grid);
    let array = bench.json(format!("{grid} --format-out json"));
    assert_eq!(array.as_array(), Some(&jsonl));
    assert_eq!(
        bench.shown(format!("{grid} --format-out csv --jobs 1")),
        csv
    );
    for (row, object) in rows[1..].iter().zip(&jsonl) {
        let measured = object["write_amplification"].as_f64().unwrap();
        assert_eq!(row[2], format!("{measured:.3}"));
    }
    let other = bench.shown(format!("{grid} --format-out csv --seed 2"));
    assert_ne!(other, csv);
}

#[test]
fn the_page_has_a_chart_and_the_rule() {
    let bench = Bench::new();
    let small = "waf --blocks 32 --pages-per-block 8";
    bench.shown(format!("{small} --fill 0.7,0.8 --report one.html"));
    let page = bench.read("one.html");
    contains(&page, "data-chart=\"0\"");
    assert!(!page.contains("data-chart=\"1\""), "one axis, one chart");
    contains(&page, "\"name\":\"optimum\"");
    bench.shown(format!(
        "{small} --fill 0.6,0.7 --victim greedy,random --report two.html"
    ));
    let page = bench.read("two.html");
    contains(&page, "data-chart=\"2\"");
    contains(&page, "\"name\":\"victim random\"");
    contains(&page, "one block stays free");
    // A point alone has a table.
    bench.shown(format!("{small} --report point.html"));
    assert!(!bench.read("point.html").contains("data-chart=\"0\""));
}

#[test]
fn wrong_values_are_refused_with_their_option() {
    let bench = Bench::new();
    bench.refuses(
        "
        waf --fill 1 | --fill | above 0 and below 1
        waf --fill -0.5 | --fill | above 0 and below 1
        waf --fill 0.5,x | --fill | 'x' | above 0 and below 1
        waf --zipf 11 | --zipf | from 0 to 10
        waf --zipf nan | --zipf | from 0 to 10
        waf --sequential 1.5 | --sequential | from 0 to 1
        waf --blocks 1 | --blocks | from 2 to 1048576
        waf --pages-per-block 65536 | --pages-per-block | from 1 to 65535
        waf --blocks 1048576 --pages-per-block 65535 | --blocks 1048576, --pages-per-block 65535
          | 2^31 pages together
        waf --victim best | --victim | greedy, cost-benefit, d-choices, random
        waf --streams two | --streams | shared, own, two-region, in-place
        waf --streams two-region --victim random | --victim random, --streams two-region
          | Leave --victim out
        waf --choices 5 | --choices | Add --victim d-choices
        waf --choices 0 | --choices | from 1 to 1024
        waf --overwrites 0 | --overwrites | from 1 to 1000
        waf --warmup 1001 | --warmup | from 0 to 1000
        waf --zones 0.2:0.8 | --zones 0.2:0.8 | at least two
        waf --zones 0.2-0.8+0.8 | --zones | `0.2-0.8` is not SPACE:WRITES
        waf --zones 0.2:0.8+0.7:0.2 | --zones 0.2:0.8+0.7:0.2 | space of all zones come to 0.8999 | come to 1
        waf --zones 1.2:0.8+-0.2:0.2 | --zones 1.2:0.8+-0.2:0.2 | shares from 0 to 1
        waf --zones 0.5:0.5+0.5:0.5 --zipf 1 | --zipf | --zones
        waf --buffer 917504 | --buffer 917504 | fewer than the 917504 logical pages
        waf --fill 0.9999 | --fill 0.9999, --streams shared, --blocks 2048, --pages-per-block 512
          | 105 of 1048576 pages spare | needs at least 513 | smaller --fill
        waf --fill 0.0000001 | --fill 0.0000001 | no logical page | larger --fill
        waf --fill 0.5,0.6 --buffer 0,1 --victim greedy,random | --fill, --victim, --buffer have several values
          | two options
        waf --report waf.txt.csv | --report
        waf --seed -1 | --seed | from 0 to
        ",
    );
    bench
        .destage("waf --memory 4MiB")
        .fails(1, &["a point", "--blocks", "--memory"]);
}
