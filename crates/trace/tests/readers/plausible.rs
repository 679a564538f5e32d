//! Columns that several formats have, and times in another unit than that of the format.

use crate::common::{overlay, read, read_with, refuses};
use destage_trace::{Source, TimeUnit, Trace, load, write_disksim, write_ssdsim};
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

#[test]
fn multiples_of_512_are_sectors_or_bytes_as_the_load_says() {
    let is = |text: &str, want: (&str, &str, u64, u64), doubtful: bool| {
        let (format, unit, last, bytes) = told(text);
        assert_eq!((format, unit.as_str(), last, bytes), want, "{text}");
        assert_eq!(
            !doubts(text).0.is_empty(),
            doubtful,
            "{text}: {}",
            doubts(text).0
        );
    };
    // 256 KiB every ms, and every 60 us into a zone.
    let ms = |i: u64| format!("{} 0 {} 512 0", i * 1_000_000, i * 512);
    is(
        &lines(400, ms),
        ("ssdsim", "ns", 399_000_000, 400 << 18),
        false,
    );
    let zone = |i: u64| format!("{} 1 {} 512 0", 5_000_000 + i * 60_000, 1_048_576 + i * 512);
    is(
        &lines(400, zone),
        ("ssdsim", "ns", 23_940_000, 400 << 18),
        false,
    );
    // The same in ms with a fraction, of any number of digits.
    let three = |i: u64| format!("{i}.000 0 {} 512 0", i * 512);
    is(
        &lines(400, three),
        ("disksim", "ms", 399_000_000, 400 << 18),
        false,
    );
    // Bytes of a volume: small requests all over it.
    let bytes = |i: u64| format!("{}.250 0 {} 8192 1", 20 * i, (i * 7_919 % 97) * 40_000_512);
    is(
        &lines(400, bytes),
        ("replayer", "ms", 7_980_000_000, 400 << 13),
        false,
    );
    // Whole ms: as ns and sectors 4 MiB would come every 20 ns.
    let whole = |i: u64| format!("{} 0 {} 8192 1", 20 * i, (i * 7_919 % 97) * 40_000_512);
    is(
        &lines(400, whole),
        ("replayer", "ms", 7_980_000_000, 400 << 13),
        false,
    );
    // Times do not tell here, but 200 KB are no device.
    let burst = |i: u64| format!("0 0 {} 512 0", i * 512);
    is(&lines(400, burst), ("ssdsim", "ns", 0, 400 << 18), false);
    // 4 KiB or 2 MiB at places all over a device: the digits of the times decide.
    let pages = |i: u64| format!("{}.000000 0 {} 4096 0", 20 * i, i * 40_000_512);
    is(
        &lines(100, pages),
        ("disksim", "ms", 1_980_000_000, 100 << 21),
        true,
    );
    let (doubt, _) = doubts(&lines(100, pages));
    for part in [
        "disksim (ms, sectors): 20.0 ms between two requests, 104.9 MB/s",
        "--format replayer",
        "--time-unit",
    ] {
        assert!(doubt.contains(part), "{doubt}");
    }
}

#[test]
fn dates_have_the_unit_that_makes_them_dates() {
    let is = |text: &str, format: &str, unit: &str, last: u64| {
        let (found, in_unit, at, _) = told(text);
        assert_eq!(
            (found, in_unit.as_str(), at),
            (format, unit, last),
            "{text}"
        );
        let (_, doubt) = doubts(text);
        let options = destage_trace::LoadOptions {
            time_unit: Some(TimeUnit::Microseconds),
            ..overlay()
        };
        // A unit or format that the user gives is taken without doubt.
        let meta = read_with("", text, &options).unwrap().meta;
        assert_eq!(meta.time_unit, Some(TimeUnit::Microseconds));
        assert_eq!(meta.time_doubt, None);
        doubt
    };
    const S: u64 = 1_000_000_000;
    let alibaba =
        |from: u64, step: u64| lines(5, |i| format!("3,W,{},4096,{}", i * 4096, from + i * step));
    let doubt = is(&alibaba(1_577_808_000, 1), "alibaba", "s", 4 * S);
    assert!(
        doubt.contains("dates of 2019 in s; in us, the unit of alibaba"),
        "{doubt}"
    );
    assert!(doubt.contains("--time-unit us"), "{doubt}");
    assert_ne!(
        is(&alibaba(1_577_808_000_000, 1), "alibaba", "ms", S / 250),
        ""
    );
    assert_eq!(
        is(&alibaba(1_577_808_000_000_000, 1), "alibaba", "us", 4_000),
        ""
    );
    // From 0 there are no dates.
    assert_eq!(is(&alibaba(0, 1_000), "alibaba", "us", S / 250), "");
    let tencent =
        |from: u64, step: u64| lines(5, |i| format!("{},{},8,1,1063", from + i * step, i * 8));
    assert_eq!(is(&tencent(1_538_323_200, 1), "tencent", "s", 4 * S), "");
    assert_ne!(
        is(&tencent(1_538_323_200_000, 5), "tencent", "ms", S / 50),
        ""
    );
    assert_ne!(
        is(&tencent(1_538_323_200_000_000, 5), "tencent", "us", 20_000),
        ""
    );
    let msr = |from: u64, step: u64| {
        lines(5, |i| {
            format!("{},hm,0,Write,{},4096,7", from + i * step, i * 4096)
        })
    };
    assert_eq!(
        is(&msr(128_166_372_003_061_629, 10), "msr", "100ns", 4_000),
        ""
    );
    assert_ne!(is(&msr(1_172_163_600, 1), "msr", "s", 4 * S), "");
    assert_ne!(is(&msr(1_172_163_600_000, 1), "msr", "ms", S / 250), "");
    assert_ne!(
        is(&msr(1_172_163_600_000_000_000, 500), "msr", "ns", 2_000),
        ""
    );
    let systor = lines(5, |i| {
        format!("{},0.1,R,0,{},512", 1_456_095_145_133 + i, i * 512)
    });
    assert_ne!(is(&systor, "systor17", "ms", S / 250), "");
}

#[test]
fn a_format_that_is_named_keeps_its_unit() {
    let text = lines(5, |i| {
        format!("3,W,{},4096,{}", i * 4096, 1_577_808_000 + i)
    });
    let meta = read("alibaba", &text).unwrap().meta;
    assert_eq!(meta.time_unit, Some(TimeUnit::Microseconds));
    let doubt = meta.time_doubt.unwrap();
    assert!(doubt.contains("may be dates of 2019 in s"), "{doubt}");
    assert!(doubt.contains("--time-unit s"), "{doubt}");
}

#[test]
fn times_that_make_no_load_are_doubted() {
    let (_, doubt) = doubts(&lines(20, |i| format!("0,{},4096,W,{}", i * 9, i * 26_214)));
    let says = "taken for spc, whose times are in s: 26214.0 s between two requests, 0.2 B/s";
    assert!(doubt.contains(says), "{doubt}");
    assert!(
        doubt.contains("--time-unit") && doubt.contains("--format"),
        "{doubt}"
    );
    let (_, doubt) = doubts(&lines(20, |i| {
        format!("{i},h,0,Write,{},4096,1", i * 4_096)
    }));
    assert!(doubt.contains("100.0 ns between two requests"), "{doubt}");
    // One wrong time is no unit.
    let glitch = |i: u64| {
        let ahead = if i == 10 { 36_000_000_000_000 } else { 0 };
        format!(
            "{},h,0,Write,{},4096,1",
            128_166_372_003_061_629 + i * 10_000 + ahead,
            i * 4_096
        )
    };
    let meta = read("", lines(100, glitch)).unwrap().meta;
    assert_eq!((meta.time_doubt, meta.arrival_corrections), (None, 89));
    assert_eq!(
        (meta.most_raised.request, meta.most_raised.raised),
        (11, 89)
    );
}

#[test]
fn tables_of_other_columns_are_not_taken() {
    // Five columns of SPC's kind with response times in the fifth, or dates in the first.
    let response = |i: u64| format!("{i},{},8192,R,0.000{}", i * 4_096, 901 - i * 397 % 800);
    refuses("", lines(40, response), "no known trace format fits");
    let dates = |i: u64| format!("{},{},8192,R,{i}.5,0", 1_455_591_804 + i, i * 4_096);
    let guess = read("", lines(40, dates)).unwrap().meta;
    assert_eq!(guess.format, "table");
    assert!(guess.time_doubt.unwrap().contains("offset=2,size=3"));
    let last = |i: u64| format!("3,{},8,1,{}", i * 8, 1_577_808_000 + i);
    refuses("", lines(40, last), "no known trace format fits");
    // Named, they are read as they stand.
    assert_eq!(read("spc", lines(40, response)).unwrap().meta.requests, 40);
    // Addresses in bytes where sectors are due.
    let bytes = |i: u64| format!("0,{},8192,r,{i}.5", i * i * 8_192);
    assert!(doubts(&lines(40, bytes)).0.contains("multiple of 512"));
    let sectors = |i: u64| format!("0,{},262144,r,{i}.5", i * 512);
    assert_eq!(doubts(&lines(40, sectors)).0, "");
}

type Write = fn(&RequestBatch, &mut Vec<u8>);

const WRITERS: [(&str, Write); 2] = [
    ("ssdsim", |batch, out| {
        let _ = write_ssdsim(batch, &[], out).unwrap();
    }),
    ("disksim", |batch, out| {
        let _ = write_disksim(batch, &[], out).unwrap();
    }),
];

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
            write(&batch, &mut bytes);
            let trace = again(&bytes);
            prop_assert_eq!(trace.meta.format, format);
            prop_assert_eq!(trace.requests.records(), batch.records());
        }
    }
}
