//! The load of a trace against the speed of a device: which reading of its columns is plausible,
//! and whether the device follows.

use crate::common::{Bench, contains};

/// Lines `line(i)` of `n` requests.
fn lines(n: u64, line: impl Fn(u64) -> String) -> String {
    (0..n).map(|i| line(i) + "\n").collect()
}

#[test]
fn sectors_that_are_multiples_of_512_are_no_bytes() {
    let bench = Bench::new();
    let zone = |i: u64| format!("{} 1 {} 512 0", 5_000_000 + i * 60_000, 1_048_576 + i * 512);
    bench.file("zone.mqsim", lines(400, zone));
    let ms = |i: u64| format!("{} 0 {} 512 0", i * 1_000_000, i * 512);
    bench.file("seq.ssdsim", lines(400, ms));
    for (file, span) in [("zone.mqsim", 23_940_000), ("seq.ssdsim", 399_000_000)] {
        let done = bench.destage(format!("trace info {file} --json")).ok();
        let report = &done.records()[0];
        assert_eq!(report["format"], "ssdsim");
        assert_eq!(report["time_unit"], "ns");
        assert_eq!(report["write_bytes"], 400 << 18);
        assert_eq!(report["span_ns"], span);
        assert_eq!(done.stderr, "");
        let record = bench.record(format!("run {file} --cache 1MiB"));
        assert_eq!(record["counts"]["page_hits"], 0);
        assert_eq!(record["trace"]["format"], "ssdsim");
        assert_eq!(record["trace"]["time_unit"], "ns");
        let table = bench.destage(format!("run {file} --cache 1MiB")).ok();
        table.shows("format: ssdsim, times in ns");
        for to in ["ssdsim", "disksim"] {
            bench
                .destage(format!("trace convert {file} -o again --to {to}"))
                .ok();
            let again = bench.destage("trace info again --json").ok();
            assert_eq!(again.records()[0]["format"], to);
            assert_eq!(again.records()[0]["span_ns"], span);
            assert_eq!(again.stderr, "");
        }
    }
}

#[test]
fn tables_name_the_formats_of_their_traces() {
    let bench = Bench::new();
    bench.file(
        "a.csv",
        lines(3, |i| {
            format!("{},h,0,Write,{},4096,1", i * 9_999, i * 4096)
        }),
    );
    bench.file(
        "b.csv",
        lines(3, |i| {
            format!("3,W,{},4096,{}", i * 4096, 1_577_808_000 + i)
        }),
    );
    bench.file("c.txt", "1\n2\n");
    let done = bench.destage("run a.csv b.csv c.txt").ok();
    done.shows(
        "format: msr, times in 100ns: a\nformat: alibaba, times in s: b\nformat: block-list: c\n",
    );
    assert!(
        bench.record("run c.txt")["trace"]
            .get("time_unit")
            .is_none()
    );
    let curve = bench.destage("mrc b.csv").ok();
    curve.shows("format: alibaba, times in s");
    let points = bench.records("mrc b.csv");
    assert_eq!(
        (&points[0]["format"], &points[0]["time_unit"]),
        (&"alibaba".into(), &"s".into())
    );
}

#[test]
fn arrivals_that_the_device_cannot_follow_are_warned_of() {
    let bench = Bench::new();
    // As the cuts of some collections have it: units of 100 ns.
    let line = |gap: u64| {
        lines(2_000, move |i| {
            format!("{} 0 {} 8 0", i * gap, i * 797 % 65_536 * 8)
        })
    };
    bench.file("fast.txt", line(1_000));
    bench.file("slow.txt", line(100_000));
    // A burst, and time to work it off.
    let burst = |i: u64| {
        let at = if i < 1_500 { i * 1_000 } else { i * 1_000_000 };
        format!("{at} 0 {} 8 0", i * 797 % 65_536 * 8)
    };
    bench.file("burst.txt", lines(2_000, burst));
    let run = |options: &str| {
        bench
            .destage(format!("run {options} --cache 1MiB"))
            .ok()
            .stderr
    };
    let said = run("fast.txt --device default");
    for part in [
        "the trace offers 1000500 requests/s",
        "device default with lru completes",
        "--closed-loop",
        "--time-scale",
        "--time-unit",
    ] {
        contains(&said, part);
    }
    let both = run("fast.txt --device default --scheme lru --scheme fifo");
    contains(&both, "as in 2 of 2 runs");
    for follows in [
        "fast.txt",
        "fast.txt --device default --closed-loop 8",
        "fast.txt --device default --time-scale 100",
        "slow.txt --device default",
        "burst.txt --device default",
    ] {
        let said = run(follows);
        assert!(!said.contains("offers"), "{follows}: {said}");
    }
    // The burst did wait.
    let record = bench.record("run burst.txt --device default --cache 1MiB");
    assert!(record["latency_ns"]["all"]["max"].as_u64().unwrap() > 10_000_000);
    let backlog = &bench.record("run fast.txt --device default --cache 1MiB")["backlog"];
    assert!(backlog["requests"].as_u64().unwrap() > 1_000, "{backlog}");
    let closed = bench.record("run fast.txt --device default --cache 1MiB --closed-loop 8");
    assert!(closed.get("backlog").is_none());
}

#[test]
fn the_request_whose_time_others_were_raised_to_is_named() {
    let bench = Bench::new();
    let ahead = |i: u64| {
        let at =
            128_166_372_003_061_629 + i * 10_000 + if i == 10 { 36_000_000_000_000 } else { 0 };
        format!("{at},h,0,Write,{},4096,1", i % 50 * 4_096)
    };
    bench.file("glitch.csv", lines(1_000, ahead));
    let done = bench.destage("run glitch.csv --device default").ok();
    done.says("989 of them that of request 11 of the file");
    assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
}
