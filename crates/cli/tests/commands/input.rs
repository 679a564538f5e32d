//! Traces that are not what they should be, but are read.

use crate::common::{Bench, HEAD, contains, csv, mixed, rows};

#[test]
fn skipped_lines_are_told_once() {
    let bench = Bench::with(csv("W0 W1") + "5000,X,0,8,0,,0\n6000,W,0,0,0,,0\n");
    let run = "run t.csv --skip-bad-lines --scheme lru --scheme fifo --format-out jsonl";
    let done = bench.destage(run).ok();
    let told = done.stderr.matches("skipped 2 bad lines").count();
    assert_eq!(told, 1, "{}", done.stderr);
    done.says("line 4, column 2 (op): `X`");
    done.says("line 5, column 4 (sectors): `0`");
    assert!(done.records().iter().all(|r| r["counts"]["requests"] == 2));
    let head = bench.destage("trace head t.csv --skip-bad-lines").ok();
    head.says("skipped 2 bad lines");
}

#[test]
fn results_before_a_bad_trace_are_shown() {
    let bench = Bench::new();
    bench.file("good.csv", csv("W0 W1"));
    bench.file("bad.csv", csv("W0") + "oops\n");
    let done = bench.destage("run good.csv bad.csv");
    assert_eq!(done.code, 2);
    done.shows("good");
    done.says("bad.csv: line 3");
}

#[test]
fn changed_requests_are_warned_of() {
    let bench = Bench::with(format!("{HEAD}9000,W,0,8,0,,0\n5000,W,8,8,0,,0\n"));
    let done = bench.destage("run t.csv --format-out jsonl").ok();
    done.says("warning: t: 1 of 2 requests arrive earlier than the request before them");
    assert_eq!(done.records()[0]["counts"]["arrival_corrections"], 1);
    let unaligned = "0,hm,0,Write,100,8192,7\n10,hm,0,Write,4096,4096,7\n";
    bench.file("m.csv", unaligned);
    let done = bench.destage("run m.csv").ok();
    done.says("warning: m: 1 of 2 requests were not whole");
}

#[test]
fn effects_that_cannot_be_are_warned_of() {
    let bench = Bench::with(mixed(100));
    let run = "run t.csv --scheme cflru --read-alloc off --cache 1m --cache 2m";
    let said = bench.destage(run).ok().stderr;
    assert_eq!(
        said.matches("warning: cflru: clean-first has no effect")
            .count(),
        1,
        "{said}"
    );
}

/// A first time stamp that is not one, as collectors write: 406 years before the second.
const BOGUS: &str = "0,hm,1,Write,0,4096,1\n\
                     128166372003061629,hm,1,Write,8192,4096,1\n\
                     128166372013061629,hm,1,Read,819200,4096,1\n";

#[test]
fn a_device_leaves_half_of_all_times_to_what_waits() {
    let bench = Bench::new();
    bench.file("bogus.csv", BOGUS);
    bench.refuses(
        "
        run bogus.csv --device default
          | bogus: the last request would arrive after 406 years (12816637201306162900 ns)
          | below 292 years (2^63 ns) | --time-scale
        run bogus.csv --device default --time-scale 0.5 --warmup passes=1 | after 406 years
        ",
    );
    bench.destage("run bogus.csv").ok();
    let device = "run bogus.csv --device default";
    bench.destage(format!("{device} --time-scale 0.5")).ok();
    // The requests of a closed loop do not look at the trace's times.
    bench.destage(format!("{device} --closed-loop 1")).ok();
}

#[test]
fn times_do_not_start_again_at_zero() {
    let bench = Bench::new();
    bench.file("bogus.csv", BOGUS);
    let last = |time: u64| format!("0,hm,1,Write,0,4096,1\n{time},hm,1,Read,8192,4096,1\n");
    // 10^9 ns and 10^13 ns, scaled to just below and just above 2^63 ns.
    bench.file("short.csv", last(10_000_000));
    bench.file("long.csv", last(100_000_000_000));
    // Without a device all 64 bits are there for arrivals, and no more.
    bench.refuses(
        "
        run bogus.csv --warmup passes=1
          | bogus: the last request | after 812 years | 584 years (2^64 ns)
        run long.csv --device default --time-scale 922337.203686
          | long: the last request would arrive after 292 years
        ",
    );
    for (trace, scale) in [("short", "999999999"), ("long", "922337.203685")] {
        let run = format!("run {trace}.csv --device default --time-scale {scale}");
        bench.destage(run).ok();
    }
}

#[test]
fn times_of_a_trace_have_the_unit_that_is_said() {
    let bench = Bench::new();
    bench.file("us.txt", "0 0 8 8 0\n7 0 16 8 0\n10 0 24 8 1\n");
    let last = |options: &str| {
        let run = format!("run us.txt --format ssdsim --device default {options}");
        let record = bench.record(format!("{run} --log-requests log.csv"));
        let settings = record["config"].as_array().unwrap().iter();
        let unit = settings.clone().find(|s| s["key"] == "time_unit").unwrap();
        let log = bench.read("log.csv");
        let arrival = log.lines().last().unwrap().split(',').nth(2).unwrap();
        (
            arrival.to_owned(),
            unit["value"].as_str().unwrap().to_owned(),
        )
    };
    let pair = |arrival: &str, unit: &str| (arrival.to_owned(), unit.to_owned());
    assert_eq!(last(""), pair("10", "as the format says"));
    assert_eq!(last("--time-unit us"), pair("10000", "us"));
    bench.refuses(
        "
        run us.txt --time-unit min | --time-unit | `min` is none of the units s, ms, us, 100ns, ns
        run us.txt --format block-list --time-unit us | us.txt: the times of `block-list`
        ",
    );
}

#[test]
fn schemes_that_read_the_clock_do_so_without_a_device() {
    let bench = Bench::new();
    // One page every ms, four times: its counter fades every 2.5 ms, or not before the end.
    let lines = (0..4).map(|i| format!("{} 0 8 8 0\n", i * 1_000_000));
    bench.file("t.txt", lines.collect::<String>());
    let bypassed = |options: &str| {
        let scheme = "refcount(lru,threshold=3,decay-period=2500us)";
        let run = format!("run t.txt --format ssdsim --scheme {scheme} {options}");
        bench.record(&run)["counts"]["bypassed_pages"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(
        [
            bypassed(""),
            bypassed("--time-scale 0.5"),
            bypassed("--time-unit us")
        ],
        [4, 3, 4]
    );
}

/// A rate that was fitted to random writes says nothing of large ones.
#[test]
fn large_writes_at_the_rate_of_small_ones_are_warned_of() {
    let bench = Bench::new();
    let synth = "trace synth --writes 1 --gap 10us --requests 2000 --part at=sequential,unit";
    bench
        .destage(format!("{synth}=128KiB,size=128KiB -o large.csv"))
        .ok();
    bench
        .destage(format!("{synth}=4KiB,size=4KiB -o small.csv"))
        .ok();
    let said = |trace: &str, set: &str| {
        let run = format!("run {trace} --device samsung-pm9a3-960 --read-alloc off {set}");
        bench.destage(run).ok().stderr
    };
    let rate = "write_pace = 76510 of device samsung-pm9a3-960";
    let constant = "--set write_pace=76510";
    let large = said("large.csv", constant);
    assert!(
        large.contains("large: writes of 128KiB on average wait"),
        "{large}"
    );
    assert!(large.contains(rate), "{large}");
    assert!(!said("small.csv", constant).contains(rate));
    // The preset has a price of writes.
    assert!(!said("large.csv", "").contains("write_pace = "));
}

#[test]
fn arrivals_that_carry_no_time_are_warned_of() {
    let bench = Bench::new();
    bench.file("burst.txt", "5 0 8 8 0\n".repeat(9));
    bench.file("blocks.txt", "1\n2\n3\n");
    bench.file("near.txt", "0 0 9 7 0\n12 0 17 7 0\n20 0 25 7 1\n");
    let seconds = |i: u64| format!("{},{},8,1,7\n", 1_538_323_200 + i / 10, 8 * i);
    bench.file("tencent.csv", (0..40).map(seconds).collect::<String>());
    for row in rows(
        "
        burst.txt --format ssdsim | all 9 requests arrive at the same time
        blocks.txt | the format block-list has no times
        near.txt | taken for ssdsim, whose times are in ns: 10.0 ns
        tencent.csv | arrivals are whole s, and 90.0 % of the requests
        ",
    ) {
        let (run, part) = row.split_once(" | ").unwrap();
        let run = format!("run {run}");
        let done = bench.destage(format!("{run} --device default")).ok();
        contains(&done.stderr, part);
        // Without times, nothing rests on them.
        for other in ["--device default --closed-loop 2", ""] {
            let done = bench.destage(format!("{run} {other}")).ok();
            assert!(
                !done.stderr.contains(part),
                "{run} {other}: {}",
                done.stderr
            );
        }
    }
    let named = bench
        .destage("run near.txt --format ssdsim --device default")
        .ok();
    assert!(!named.stderr.contains("taken for"), "{}", named.stderr);
}
