//! Shared by the tests of the crate.

use std::io::{self, Read, Write};

use destage_trace::{
    LoadOptions, RequestPasses, Source, Trace, TraceError, Volume, Volumes, WriteSummary, load,
    write_bin, write_csv,
};
use destage_types::request::NO_PREV;
use destage_types::{RequestBatch, RequestFlags, RequestRef};

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

pub type Writer = fn(&dyn RequestPasses, &[Volume], &mut dyn Write) -> io::Result<WriteSummary>;

/// A request: `ns kind sector sectors stream`, further extents behind `+`, old addresses behind `<`, its tag and flags.
fn row(request: RequestRef<'_>) -> String {
    let head = request.head;
    let letter = ["R", "W", "T", "F"][head.op as usize];
    let (start, sectors, stream) = (head.start_sector, head.sectors, head.stream);
    let mut row = format!("{} {letter} {start} {sectors} {stream}", head.arrival.0);
    for extent in request.more {
        row += &format!(" + {} {}", extent.start_sector, extent.sectors);
    }
    for (i, &sector) in request.prev.iter().enumerate() {
        row += if i == 0 { " <" } else { "" };
        let old = (sector != NO_PREV).then(|| sector.to_string());
        row += &format!(" {}", old.as_deref().unwrap_or("-1"));
    }
    row += ["", " data", " node", " meta", " gc"][head.tag as usize];
    let flags = [
        RequestFlags::ATOMIC,
        RequestFlags::FUA,
        RequestFlags::PREFLUSH,
    ];
    for (flag, name) in flags.into_iter().zip([" atomic", " fua", " preflush"]) {
        row += if head.flags.any(flag) { name } else { "" };
    }
    row
}

/// Requests, joined by commas.
pub fn said(batch: &RequestBatch) -> String {
    let rows: Vec<String> = batch.iter().map(row).collect();
    rows.join(", ")
}

/// The requests of a trace.
pub fn told(trace: &Trace) -> String {
    said(&trace.requests)
}

/// Notes and doubts.
pub fn remarks(trace: &Trace) -> String {
    let meta = &trace.meta;
    let doubts = meta.format_doubt.iter().chain(&meta.time_doubt);
    let all: Vec<&str> = meta
        .notes
        .iter()
        .chain(doubts)
        .map(String::as_str)
        .collect();
    all.join("; ")
}

/// Options in words: a format, `event=D`, `tags=data`, `time-unit=us`, `restarts=continue`, and a mapping as the last.
pub fn given(text: &str) -> LoadOptions {
    let (mut options, mut rest) = (overlay(), text.trim());
    while !rest.is_empty() {
        let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
        match word.split_once('=') {
            None => options.format = Some(word.to_owned()),
            Some(("event", event)) => options.event = Some(event.parse().unwrap()),
            Some(("tags", tags)) => options.tags = Some(tags.parse().unwrap()),
            Some(("time-unit", unit)) => options.time_unit = Some(unit.parse().unwrap()),
            Some(("restarts", how)) => options.restarts = how.parse().unwrap(),
            Some(_) => {
                options.columns = Some(rest.parse().unwrap_or_else(|why| panic!("{rest}: {why}")));
                break;
            }
        }
        rest = behind.trim_start();
    }
    options
}

/// A text with `\\n`, `\\t` and `\\xNN` for bytes.
pub fn unescaped(text: &str) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), text);
    while let Some((front, behind)) = rest.split_once('\\') {
        out.extend(front.bytes());
        let (code, length) = match behind.as_bytes() {
            [b'n', ..] => (b'\n', 1),
            [b't', ..] => (b'\t', 1),
            [b'0', ..] => (0, 1),
            [b'x', ..] => (u8::from_str_radix(&behind[1..3], 16).unwrap(), 3),
            _ => (b'\\', 0),
        };
        out.push(code);
        rest = &behind[length..];
    }
    out.extend(rest.bytes());
    out
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

/// Random cases of a law: some, or all where everything is tested.
pub fn cases_of(some: u64, all: u64) -> u64 {
    match std::env::var_os("DESTAGE_FULL") {
        Some(_) => all,
        None => some,
    }
}
