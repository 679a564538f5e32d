//! Shared by the tests of the crate.

use std::io::{Read, Write};

use destage_trace::{
    LoadOptions, Source, Trace, TraceError, Volume, Volumes, load, write_bin, write_csv,
};
use destage_types::{Op, RequestBatch};

/// Loads bytes as `format` (empty: detected), bad lines being errors.
pub fn read(format: &str, text: impl AsRef<[u8]>) -> Result<Trace, TraceError> {
    read_with(format, text, &LoadOptions::default())
}

pub fn read_with(
    format: &str,
    text: impl AsRef<[u8]>,
    options: &LoadOptions,
) -> Result<Trace, TraceError> {
    let mut options = options.clone();
    if !format.is_empty() {
        options.format = Some(format.to_owned());
    }
    load(Source::bytes("trace.csv", text.as_ref().to_vec()), &options)
}

/// Requests as `destage-bin`.
pub fn bin(batch: &RequestBatch, volumes: &[Volume], timed: bool) -> Vec<u8> {
    let mut out = Vec::new();
    write_bin(batch, volumes, timed, &mut out).unwrap();
    out
}

/// Requests as `destage`.
pub fn csv(batch: &RequestBatch) -> String {
    let mut out = Vec::new();
    write_csv(batch, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub fn skipping() -> LoadOptions {
    LoadOptions {
        skip_bad_lines: true,
        ..LoadOptions::default()
    }
}

/// No more than the first `limit` requests.
pub fn limited(limit: u64) -> LoadOptions {
    LoadOptions {
        limit: Some(limit),
        ..LoadOptions::default()
    }
}

pub fn with(volumes: Volumes) -> LoadOptions {
    LoadOptions {
        volumes,
        ..LoadOptions::default()
    }
}

/// Addresses as they are, whatever the volumes.
pub fn overlay() -> LoadOptions {
    with(Volumes::Overlay)
}

/// The message of the error that reading must end with.
#[track_caller]
pub fn refused(format: &str, text: impl AsRef<[u8]>) -> String {
    match read(format, text) {
        Ok(trace) => panic!("read {} requests", trace.meta.requests),
        Err(error) => error.to_string(),
    }
}

/// Reading ends with an error that says `part`.
#[track_caller]
pub fn refuses(format: &str, text: impl AsRef<[u8]>, part: &str) {
    says(refused(format, text), part);
}

/// `part` is in `message`.
#[track_caller]
pub fn says(message: impl AsRef<str>, part: &str) {
    let message = message.as_ref();
    assert!(message.contains(part), "no `{part}` in: {message}");
}

pub fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 3).unwrap()
}

pub fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    liblzma::read::XzEncoder::new(bytes, 1)
        .read_to_end(&mut out)
        .unwrap();
    out
}

/// `n` MSR lines that do not compress to nothing.
pub fn msr_lines(n: u64) -> String {
    (0..n)
        .map(|i| {
            let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30;
            format!(
                "{},hm,1,Write,{},4096,{}\n",
                128_166_372_003_061_629 + i,
                mixed * 512,
                i % 97
            )
        })
        .collect()
}

/// Headers of the own CSV, without and with the optional columns.
pub const HEADER: &str = "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n";
pub const GROUPS: &str = "arrival_ns,op,start_sector,sectors,stream,prev,atomic,tag,group\n";

pub fn arrivals(batch: &RequestBatch) -> Vec<u64> {
    batch.records().iter().map(|r| r.arrival.0).collect()
}

/// Arrival in ns, kind, first sector, sectors, stream.
pub type Row = (u64, Op, u64, u32, u32);

pub fn rows(trace: &Trace) -> Vec<Row> {
    let records = trace.requests.records().iter();
    records
        .map(|r| (r.arrival.0, r.op, r.start_sector, r.sectors, r.stream))
        .collect()
}

/// The requests of a trace: `ns kind sector sectors`, joined by commas.
pub fn said(trace: &Trace) -> String {
    let row = |(ns, op, start, sectors, _)| {
        let letter = ["R", "W", "T", "F"][op as usize];
        format!("{ns} {letter} {start} {sectors}")
    };
    let rows: Vec<String> = rows(trace).into_iter().map(row).collect();
    rows.join(", ")
}

/// Reads a trace by its content with addresses as they are.
#[track_caller]
pub fn detected(format: &str, text: &str) -> Trace {
    let trace = read_with("", text, &overlay()).unwrap();
    assert_eq!(trace.meta.format, format);
    // Lines may end as on Windows or on old Macintoshes, and the last one need not end.
    for end in ["\r\n", "\r"] {
        let other = text.trim_end().replace('\n', end);
        let again = read_with("", format!("\u{feff}{other}"), &overlay()).unwrap();
        assert_eq!(again.requests.records(), trace.requests.records());
        assert_eq!(again.meta.notes, trace.meta.notes);
    }
    trace
}

/// The lines of a table `left => right`.
pub fn cases(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = table
        .lines()
        .map(str::trim_start)
        .filter(|row| !row.is_empty());
    rows.map(|row| {
        let (left, right) = row.split_once(" =>").expect("left => right");
        (left, right.trim_start())
    })
}

/// Each bad line of a table behind `good`, which may have several lines: what the message says, and that
/// skipping leaves the good lines alone.
#[track_caller]
pub fn check_errors(format: &str, good: &str, table: &str) {
    let lines = good.lines().count();
    let requests = read(format, good).unwrap().meta.requests;
    for (line, expected) in cases(table) {
        for end in ["", "\n", "\r\n"] {
            let message = refused(format, format!("{good}{line}{end}"));
            let expected = expected.replace('\0', "\\0");
            let expected = format!("trace.csv: line {}, {expected}", lines + 1);
            assert!(message.starts_with(&expected), "{line}: {message}");
            says(&message, "; allowed: ");
        }
        let text = format!("{good}{line}\n{}\n", good.lines().last().unwrap());
        let trace = read_with(format, text, &skipping()).unwrap();
        let counts = (trace.meta.requests, trace.meta.skipped_lines);
        assert_eq!(counts, (requests + 1, 1), "{line}");
        // A bad line moves no clock.
        let clean = read(format, format!("{good}{}\n", good.lines().last().unwrap())).unwrap();
        assert_eq!(
            arrivals(&trace.requests),
            arrivals(&clean.requests),
            "{line}"
        );
    }
}
