use super::FioContext;
use super::options::FioOptions;
use crate::measurements::LoadArrivals;
use crate::measurements::tests::{context, fault, read};
use std::collections::BTreeMap;

/// fio output of one job, without bins. `results` is the object `write`.
fn fio(options: &str, results: &str) -> String {
    let none = r#"{"io_bytes":0,"iops":0,"runtime":0,"total_ios":0}"#;
    format!(
        r#"fio: a message before the output
{{"fio version":"fio-3.33","global options":{{"direct":"1","ioengine":"io_uring"}},
"jobs":[{{"jobname":"w","groupid":0,"error":0,"elapsed":31,"job_runtime":30000,"desc":"",
"job options":{{"rw":"randwrite","bs":"4k","iodepth":"16"{options}}},"read":{none},"write":{results}}}]}}"#
    )
}

/// 100 writes a ms for 30 s at depth 16: 160 us by Little's law.
fn results(clat: &str, lat_mean: f64) -> String {
    format!(
        r#"{{"io_bytes":12288000000,"iops":100000,"runtime":30000,"total_ios":3000000,
"clat_ns":{clat},"lat_ns":{{"min":10000,"max":4000000,"mean":{lat_mean},"N":3000000}}}}"#
    )
}

const GOOD_CLAT: &str = r#"{"min":9000,"max":4000000,"mean":158000,"N":3000000,
"percentile":{"50.000000":140000,"99.000000":400000,"99.900000":900000}}"#;

#[test]
fn fio_output_becomes_a_cell() {
    let text = fio("", &results(GOOD_CLAT, 159_000.0));
    let found = read(&[("x.json", &text)], &context("mine")).unwrap();
    let [cell] = &found.cells[..] else {
        panic!("one cell");
    };
    assert_eq!(cell.drive, "mine");
    assert_eq!(cell.measured.writes_per_s, Some(100_000.0));
    assert_eq!(cell.measured.write.mean_us, Some(159.0));
    assert_eq!(cell.measured.write.at(0.999), Some(900.0));
    assert!(cell.measured.read.is_empty());
    let stream = &cell.load.streams[0];
    assert_eq!((stream.depth, stream.bytes, stream.reads), (16, 4096, 0.0));
    assert_eq!(stream.arrivals, LoadArrivals::Closed);
    assert_eq!(found.doubts.len(), 1, "{:?}", found.doubts);
    assert!(found.doubts[0].contains("--fill and --overwrites"));
}

/// A segment of a fill that is not much longer than its queue depth says how a closed loop begins.
#[test]
fn a_short_closed_loop_is_not_used() {
    let of = |requests: u32| {
        let bytes = requests * 4096;
        format!(r#"{{"io_bytes":{bytes},"iops":1000,"runtime":300,"total_ios":{requests}}}"#)
    };
    let short = fio("", &of(63));
    let found = fault(&[("x.json", &short)]);
    let why = "x.json: job w: 63 requests are too few for a queue depth of 16";
    assert!(found.contains(why), "{found}");
    let rate = |text: &str| {
        read(&[("x.json", text)], &context("d"))
            .unwrap()
            .cells
            .len()
    };
    assert_eq!(rate(&fio("", &of(64))), 1);
    assert_eq!(rate(&fio(r#","rate_iops":"1000""#, &of(63))), 1);
}

#[test]
fn latencies_that_contradict_the_rate_are_not_used() {
    let polled = r#"{"min":10136527817,"max":40136546133,"mean":25130065657,"N":3000000,
"percentile":{"50.000000":17112760320,"99.000000":17112760320}}"#;
    let found = read(
        &[("x.json", &fio("", &results(polled, 159_000.0)))],
        &context("d"),
    )
    .unwrap();
    let write = &found.cells[0].measured.write;
    assert_eq!((write.mean_us, write.quantiles.len()), (Some(159.0), 0));
    let doubts = found.doubts.join("\n");
    assert!(
        doubts.contains("`clat_ns` cannot be believed: mean times rate is 2513006.6"),
        "{doubts}"
    );
    assert!(
        doubts.contains("percentiles of writes are missing"),
        "{doubts}"
    );

    // Half of the depth is never reached: something else held the requests back.
    let found = read(
        &[("x.json", &fio("", &results(GOOD_CLAT, 70_000.0)))],
        &context("d"),
    )
    .unwrap();
    assert!(
        found
            .doubts
            .join("\n")
            .contains("`lat_ns` cannot be believed: mean times rate is 7.0")
    );
    // Percentiles that need a higher mean.
    let high = GOOD_CLAT.replace("140000", "390000");
    let found = read(
        &[("x.json", &fio("", &results(&high, 159_000.0)))],
        &context("d"),
    )
    .unwrap();
    assert!(
        found
            .doubts
            .join("\n")
            .contains("the percentiles say that the mean is at least")
    );
    assert!(found.cells[0].measured.write.quantiles.is_empty());
}

#[test]
fn jobs_that_no_cell_can_describe_are_named() {
    let of = |options: &str| fault(&[("x.json", &fio(options, &results(GOOD_CLAT, 159_000.0)))]);
    let cases = [
        (
            r#","iodepth":"many""#,
            "x.json: job w: `iodepth` is `many`. Allowed: a whole number from 1.",
        ),
        (
            r#","rw":"randwrit""#,
            "x.json: job w: `rw` is `randwrit`. Allowed: read, write,",
        ),
        (
            r#","bs":"4000""#,
            "x.json: job w: `bs` is `4000`. Allowed: a multiple of 512.",
        ),
        (
            r#","direct":"0""#,
            "x.json: job w has no `direct=1`. It measured the page cache",
        ),
        (
            r#","random_distribution":"zipf:1.2""#,
            "`random_distribution=zipf:1.2`, which a cell cannot describe",
        ),
        (
            r#","bs":"8k""#,
            "job w moved 4096 bytes a write, and its options say 8192",
        ),
        (
            r#","rate_iops":"5","thinktime":"5""#,
            "job w has both a rate and `thinktime`",
        ),
        (
            r#","thinktime":"5""#,
            "job w has bursts of unknown length: fio counts completed requests",
        ),
        (
            r#","numjobs":"2","rate_iops":"10","rate_process":"even""#,
            "`rate_process` is `even`. Allowed: linear or poisson.",
        ),
    ];
    for (options, expected) in cases {
        let found = of(options);
        assert!(found.contains(expected), "{options}: {found}");
    }
    assert!(
        fault(&[("x.json", "{}")])
            .contains("this is no JSON or JSON+ output of fio 3: missing field `jobs`")
    );
}

/// Two threads with bins, described by a probe.
fn threads(description: &str, rw: &str, count: u64) -> String {
    let entry = |ns: [u64; 2]| {
        let (n, mean) = (count, (ns[0] * 3 + ns[1]) / 4);
        let bins = format!(r#"{{"{}":{},"{}":{}}}"#, ns[0], n / 4 * 3, ns[1], n / 4);
        let (min, max) = (ns[0], ns[1]);
        let latency = format!(
            r#"{{"min":{min},"max":{max},"mean":{mean},"N":{n},"percentile":{{"50.000000":{min}}},"bins":{bins}}}"#
        );
        let bytes = n * 4096;
        let results = format!(
            r#"{{"io_bytes":{bytes},"iops":{},"runtime":10000,"total_ios":{n},"lat_ns":{latency},"clat_ns":{latency}}}"#,
            n / 10
        );
        let none = r#"{"io_bytes":0,"iops":0,"runtime":0,"total_ios":0}"#;
        format!(
            r#"{{"jobname":"w","groupid":0,"error":0,"elapsed":11,"job_runtime":10000,"desc":"{description}",
"job options":{{"rw":"{rw}","bs":"4k","iodepth":"4","numjobs":"2","rate_iops":"{}","rate_process":"poisson"}},
"read":{none},"write":{results}}}"#,
            n / 10
        )
    };
    let (a, b) = (entry([10_000, 20_000]), entry([30_000, 40_000]));
    format!(r#"{{"global options":{{"ioengine":"nbd"}},"jobs":[{a},{b}]}}"#)
}

#[test]
fn threads_are_joined_by_their_bins_and_a_probe_counts_its_writes() {
    // 2,000 writes by each of two threads are 16,384,000 bytes.
    let of = |rw, more: &str| {
        threads(
            &format!("destage drive=mine capacity=16384000{more}"),
            rw,
            2000,
        )
    };
    let files = [
        ("1.json", of("write", " cell=no")),
        ("2.json", of("randwrite", "")),
        ("3.json", of("randwrite", "")),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    let found = read(&files, &FioContext::default()).unwrap();
    assert_eq!(found.doubts, Vec::<String>::new());
    let [first, second] = &found.cells[..] else {
        panic!("two cells");
    };
    assert_eq!(first.drive, "mine");
    assert_eq!((first.load.fill, first.load.overwrites), (1.0, 0.0));
    assert_eq!((second.load.fill, second.load.overwrites), (1.0, 1.0));
    let stream = &first.load.streams[0];
    assert_eq!(stream.threads, 2);
    assert_eq!(stream.arrivals, LoadArrivals::Poisson { per_s: 400.0 });
    let write = &first.measured.write;
    assert_eq!(first.measured.writes_per_s, Some(400.0));
    assert_eq!(write.mean_us, Some((12.5 + 32.5) / 2.0));
    assert_eq!(
        (write.at(0.25), write.at(0.5), write.at(0.75), write.at(0.9)),
        (Some(10.0), Some(20.0), Some(30.0), Some(40.0))
    );
    // Fewer than ten requests lie beyond it.
    assert_eq!(write.at(0.999), None);
}

#[test]
fn a_slower_clock_is_that_of_the_drive() {
    let of = |more: &str| {
        let text = threads(&format!("destage drive=mine{more}"), "randwrite", 2000);
        read(&[("x.json", &text)], &FioContext::default())
            .unwrap()
            .cells
            .remove(0)
    };
    let (same, slower) = (of(""), of(" slower=50"));
    assert_eq!(
        slower.load.streams[0].arrivals,
        LoadArrivals::Poisson { per_s: 20_000.0 }
    );
    assert_eq!(slower.measured.writes_per_s, Some(20_000.0));
    assert_eq!(
        slower.measured.write.at(0.5),
        same.measured.write.at(0.5).map(|us| us / 50.0)
    );
    assert_eq!(
        slower.measured.write.mean_us,
        same.measured.write.mean_us.map(|us| us / 50.0)
    );
    assert_eq!(
        (same.load.seconds, slower.load.seconds),
        (Some(10.0), Some(0.2))
    );
}

#[test]
fn groups_that_overlap_and_threads_without_bins_are_doubted() {
    let text = threads("", "randwrite", 2000).replacen(r#""groupid":0"#, r#""groupid":1"#, 1);
    let found = fault(&[("x.json", &text)]);
    assert!(
        found.contains("x.json: its groups took 20 s together, and fio ran for 11 s"),
        "{found}"
    );
    let text = threads("", "randwrite", 2000).replace("bins", "binz");
    let found = read(&[("x.json", &text)], &context("d")).unwrap();
    assert!(found.cells[0].measured.write.quantiles.is_empty());
    assert!(
        found
            .doubts
            .join("\n")
            .contains("those of several jobs cannot be joined")
    );
    let refused = fault(&[(
        "x.json",
        &threads("destage capacity=none", "randwrite", 2000),
    )]);
    assert!(
        refused.contains("`description` has `capacity=none`. Allowed:"),
        "{refused}"
    );
}

/// Arrivals of a job with these options.
fn arrivals_of(options: &[(&str, &str)]) -> LoadArrivals {
    let own = options.iter().chain(&[("direct", "1")]);
    let own = own.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let own: BTreeMap<String, String> = own.collect();
    let stream = FioOptions::new(&BTreeMap::new(), &own).stream(true);
    stream.unwrap().arrivals
}

#[test]
fn rates_and_pauses_of_fio_are_arrivals() {
    assert_eq!(
        arrivals_of(&[("rw", "randrw"), ("rate_iops", "1k,500")]),
        LoadArrivals::Paced { per_s: 1524.0 }
    );
    assert_eq!(
        arrivals_of(&[("rw", "write"), ("bs", "128k"), ("rate", "1m")]),
        LoadArrivals::Paced { per_s: 8.0 }
    );
    let bursts = arrivals_of(&[
        ("rw", "write"),
        ("thinktime", "20ms"),
        ("thinktime_blocks", "8"),
    ]);
    assert_eq!(
        bursts,
        LoadArrivals::Bursts {
            requests: 8,
            idle_s: 0.02
        }
    );
}
