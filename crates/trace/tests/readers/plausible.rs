//! Columns that several formats have, and times in another unit than that of the format.

use crate::common::{Writer, given, overlay, read, read_with, refuses, says};
use destage_trace::{Source, TimeUnit, Trace, load, write_disksim, write_ssdsim};
use destage_types::rng::SplitMix64;
use destage_types::{HostRequest, Nanos, Op, RequestBatch};
use proptest::prelude::*;

/// Lines `line(i)` of `n` requests.
fn lines(n: u64, line: impl Fn(u64) -> String) -> String {
    (0..n).map(|i| line(i) + "\n").collect()
}

/// Format, unit, time of the last request and bytes of a trace that is told by its content.
fn told(text: &str) -> (&'static str, String, u64, u64) {
    let trace = read("", text).unwrap();
    let unit = trace.meta.time_unit.map(|unit| unit.to_string());
    let bytes = trace.requests.iter().map(|r| r.bytes()).sum();
    let last = trace.requests.records().last().unwrap().arrival.0;
    (trace.meta.format, unit.unwrap_or_default(), last, bytes)
}

fn doubts(text: &str) -> (String, String) {
    let meta = read("", text).unwrap().meta;
    let said = |doubt: Option<String>| doubt.unwrap_or_default();
    (said(meta.format_doubt), said(meta.time_doubt))
}

/// Line i, lines, and format, unit, time of the last request, and bytes that must come out; with a doubt or without.
type Case = (fn(u64) -> String, u64, &'static str, u64, u64, bool);

#[rustfmt::skip]
const CASES: [Case; 7] = [
    // 256 KiB every ms, and every 60 us into a zone.
    (|i| format!("{} 0 {} 512 0", i * 1_000_000, i * 512), 400, "ssdsim ns", 399_000_000, 400 << 18, false),
    (|i| format!("{} 1 {} 512 0", i * 60_000, 1_048_576 + i * 512), 400, "ssdsim ns", 23_940_000, 400 << 18, false),
    // The same in ms with a fraction, of any number of digits.
    (|i| format!("{i}.000 0 {} 512 0", i * 512), 400, "disksim ms", 399_000_000, 400 << 18, false),
    // Bytes of a volume: small requests all over it.
    (|i| format!("{}.250 0 {} 8192 1", 20 * i, spread(i)), 400, "replayer ms", 7_980_000_000, 400 << 13, false),
    // Whole ms: as ns and sectors 4 MiB would come every 20 ns.
    (|i| format!("{} 0 {} 8192 1", 20 * i, spread(i)), 400, "replayer ms", 7_980_000_000, 400 << 13, false),
    // Times do not tell here, but 200 KB are no device.
    (|i| format!("0 0 {} 512 0", i * 512), 400, "ssdsim ns", 0, 400 << 18, false),
    // 4 KiB or 2 MiB at places all over a device: the digits of the times decide.
    (PAGES, 100, "disksim ms", 1_980_000_000, 100 << 21, true),
];
const PAGES: fn(u64) -> String = |i| format!("{}.000000 0 {} 4096 0", 20 * i, i * 40_000_512);

fn spread(i: u64) -> u64 {
    (i * 7_919 % 97) * 40_000_512
}

#[test]
fn multiples_of_512_are_sectors_or_bytes_as_the_load_says() {
    for (line, n, reading, last, bytes, doubtful) in CASES {
        let text = lines(n, line);
        let (format, unit, at, sum) = told(&text);
        let found = (format!("{format} {unit}"), at, sum);
        assert_eq!(found, (reading.to_owned(), last, bytes), "{text}");
        assert_eq!(!doubts(&text).0.is_empty(), doubtful, "{text}");
    }
    let (doubt, _) = doubts(&lines(100, PAGES));
    says(
        &doubt,
        "disksim (ms, sectors): 20.0 ms between two requests, 104.9 MB/s",
    );
    says(&doubt, "--format replayer and --time-unit");
}

/// What is doubted of a trace of dates, which is read as `reading` up to `last`.
fn dates(text: &str, reading: &str, last: u64) -> String {
    let (format, unit, at, _) = told(text);
    assert_eq!(
        (&*format!("{format} {unit}"), at),
        (reading, last),
        "{text}"
    );
    let (_, doubt) = doubts(text);
    // A unit or format that the user gives is taken without doubt.
    let meta = read_with("", text, &given("time-unit=us")).unwrap().meta;
    let us = Some(TimeUnit::Microseconds);
    assert_eq!((meta.time_unit, meta.time_doubt), (us, None));
    doubt
}

const S: u64 = 1_000_000_000;
/// Format, first time, step, unit, last arrival, and whether the unit is that of the format.
const DATES: [(&str, u64, u64, &str, u64, bool); 11] = [
    ("alibaba", 1_577_808_000, 1, "s", 4 * S, false),
    ("alibaba", 1_577_808_000_000, 1, "ms", S / 250, false),
    ("alibaba", 1_577_808_000_000_000, 1, "us", 4_000, true),
    // From 0 there are no dates.
    ("alibaba", 0, 1_000, "us", S / 250, true),
    ("tencent", 1_538_323_200, 1, "s", 4 * S, true),
    ("tencent", 1_538_323_200_000, 5, "ms", S / 50, false),
    ("tencent", 1_538_323_200_000_000, 5, "us", 20_000, false),
    ("msr", 128_166_372_003_061_629, 10, "100ns", 4_000, true),
    ("msr", 1_172_163_600, 1, "s", 4 * S, false),
    ("msr", 1_172_163_600_000, 1, "ms", S / 250, false),
    ("msr", 1_172_163_600_000_000_000, 500, "ns", 2_000, false),
];

#[test]
fn dates_have_the_unit_that_makes_them_dates() {
    for (format, first, step, unit, last, own) in DATES {
        let text = lines(5, |i| match (format, first + i * step) {
            ("alibaba", time) => format!("3,W,{},4096,{time}", i * 4096),
            ("tencent", time) => format!("{time},{},8,1,1063", i * 8),
            (_, time) => format!("{time},hm,0,Write,{},4096,7", i * 4096),
        });
        let doubt = dates(&text, &format!("{format} {unit}"), last);
        assert_eq!(doubt.is_empty(), own, "{text}: {doubt}");
        if (format, unit) == ("alibaba", "s") {
            says(&doubt, "dates of 2019 in s; in us, the unit of alibaba");
            says(&doubt, "--time-unit us");
        }
    }
    let systor = lines(5, |i| {
        format!("{},0.1,R,0,{},512", 1_456_095_145_133 + i, i * 512)
    });
    assert_ne!(dates(&systor, "systor17 ms", S / 250), "");
}

/// Columns of SSDsim in real numbers, as programs write whole ones.
#[test]
fn whole_numbers_with_a_fraction_of_zero_have_a_unit_that_gives_a_load() {
    for (step, unit, last) in [
        (25_000, "disksim ns", 19 * 25_000),
        (250, "disksim us", 19 * 250_000),
    ] {
        let text = lines(20, |i| format!("{}.0 0 {} 8 0", i * step, i * 8));
        let (format, found, at, _) = told(&text);
        assert_eq!((&*format!("{format} {found}"), at), (unit, last), "{text}");
        says(doubts(&text).1, "every time ends in .0");
    }
}

#[test]
fn a_format_that_is_named_keeps_its_unit() {
    let text = lines(5, |i| {
        format!("3,W,{},4096,{}", i * 4096, 1_577_808_000 + i)
    });
    let meta = read("alibaba", &text).unwrap().meta;
    assert_eq!(meta.time_unit, Some(TimeUnit::Microseconds));
    let doubt = meta.time_doubt.unwrap();
    says(&doubt, "may be dates of 2019 in s");
    says(&doubt, "--time-unit s");
}

#[test]
fn times_that_make_no_load_are_doubted() {
    let (_, doubt) = doubts(&lines(20, |i| format!("0,{},4096,W,{}", i * 9, i * 26_214)));
    says(
        &doubt,
        "taken for spc, whose times are in s: 26214.0 s between two requests, 0.2 B/s",
    );
    says(&doubt, "--time-unit says so");
    says(&doubt, "--format names another");
    let msr = |time: u64, i: u64| format!("{time},h,0,Write,{},4096,1", i * 4_096);
    let (_, doubt) = doubts(&lines(20, |i| msr(i, i)));
    says(doubt, "100.0 ns between two requests");
    // One wrong time is no unit.
    let ahead = |i: u64| if i == 10 { 36_000_000_000_000 } else { 0 };
    let glitch = |i: u64| msr(128_166_372_003_061_629 + i * 10_000 + ahead(i), i);
    let meta = read("", lines(100, glitch)).unwrap().meta;
    assert_eq!((meta.time_doubt, meta.arrival_corrections), (None, 89));
    let raised = (meta.most_raised.request, meta.most_raised.raised);
    assert_eq!(raised, (11, 89));
}

#[test]
fn tables_of_other_columns_are_not_taken() {
    // Five columns of SPC's kind with response times in the fifth, or dates in the first.
    let response = |i: u64| format!("{i},{},8192,R,0.000{}", i * 4_096, 901 - i * 397 % 800);
    refuses("", lines(40, response), "no known trace format fits");
    let dates = |i: u64| format!("{},{},8192,R,{i}.5,0", 1_455_591_804 + i, i * 4_096);
    let guess = read("", lines(40, dates)).unwrap().meta;
    assert_eq!(guess.format, "table");
    assert!(guess.format_doubt.unwrap().contains("offset=2,size=3"));
    let last = |i: u64| format!("3,{},8,1,{}", i * 8, 1_577_808_000 + i);
    refuses("", lines(40, last), "no known trace format fits");
    // Named, they are read as they stand.
    assert_eq!(read("spc", lines(40, response)).unwrap().meta.requests, 40);
    // Addresses in bytes where sectors are due.
    let bytes = |i: u64| format!("0,{},8192,r,{i}.5", i * i * 8_192);
    says(
        doubts(&lines(40, bytes)).0,
        "if they are bytes, --trace-columns 'time=5:s,op=4:r=R,R=R,w=W,W=W,offset=2:bytes,size=3,volume=1,separator=comma'",
    );
    let sectors = |i: u64| format!("0,{},262144,r,{i}.5", i * 512);
    assert_eq!(doubts(&lines(40, sectors)).0, "");
}

const WRITERS: [(&str, Writer); 2] = [("ssdsim", write_ssdsim), ("disksim", write_disksim)];

fn again(bytes: &[u8]) -> Trace {
    load(Source::bytes("x", bytes.to_vec()), &overlay()).unwrap()
}

proptest! {
    /// Any load: arrivals at once, every ns, every year.
    #[test]
    fn what_convert_writes_is_read_as_it_was(
        rows in prop::collection::vec((any::<bool>(), 0u64..1 << 20, 1u32..16), 1..60),
        gap in 0u32..46,
        unit in prop::sample::select(vec![1u64, 8, 512, 4_096]),
    ) {
        let mut batch = RequestBatch::new();
        for (i, &(write, start, size)) in rows.iter().enumerate() {
            let at = Nanos(i as u64 * ((1 << gap) - 1));
            let op = if write { Op::Write } else { Op::Read };
            let size = size * unit.min(512) as u32;
            // More than 4 TB/s of long requests are taken for whole ms and bytes.
            let size = if gap < 12 { size.min(1_024) } else { size };
            batch.push(HostRequest::new(at, op, start * unit, size));
        }
        for (format, write) in WRITERS {
            let mut bytes = Vec::new();
            write(&batch, &[], &mut bytes).unwrap();
            let trace = again(&bytes);
            prop_assert_eq!(trace.meta.format, format);
            prop_assert_eq!(trace.requests.records(), batch.records());
        }
    }
}

/// Lines of a format whose sizes and addresses have changed places, with times or without.
#[test]
fn exchanged_columns_are_doubted() {
    for case in 0..200 {
        let random = &mut SplitMix64::new(case);
        let step = [0, 1][random.below(2) as usize];
        let rows = 3 + random.below(40);
        let line = |i: u64, random: &mut SplitMix64| {
            let (sectors, sector) = (8 * (1 + random.below(32)), 8 * random.below(1 << 24));
            let op = ["R", "W", "discard"][random.below(3) as usize];
            format!("{}.000250 {op} {sectors} {sector}\n", i * step)
        };
        let text: String = (0..rows).map(|i| line(i, random)).collect();
        if let Ok(trace) = read("", &text) {
            let doubt = trace.meta.format_doubt.or(trace.meta.time_doubt);
            let format = trace.meta.format;
            assert!(doubt.is_some(), "case {case}: {format}\n{text}");
        }
    }
}
