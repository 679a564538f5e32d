//! What a trace consists of.

use destage_trace::TraceMeta;
use destage_types::{Nanos, Op, RequestBatch};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Sectors of a 4 KiB page, the unit of the footprint.
const PAGE: u64 = 8;
/// Pages in one chunk of a page set.
const CHUNK: u64 = 1 << 15;

/// A set of pages: one bit each, in chunks that exist once touched.
#[derive(Default)]
struct PageSet {
    chunks: BTreeMap<u64, Box<[u64]>>,
    pages: u64,
}

impl PageSet {
    fn insert(&mut self, first: u64, end: u64) {
        let mut page = first;
        while page < end {
            let number = page / CHUNK;
            let words = (CHUNK / 64) as usize;
            let chunk = self.chunks.entry(number);
            let chunk = chunk.or_insert_with(|| vec![0; words].into_boxed_slice());
            let stop = end.min((number + 1) * CHUNK);
            for p in page..stop {
                let (word, bit) = ((p % CHUNK / 64) as usize, 1u64 << (p % 64));
                self.pages += u64::from(chunk[word] & bit == 0);
                chunk[word] |= bit;
            }
            page = stop;
        }
    }
}

/// Counts the requests of a trace.
#[derive(Default)]
pub struct Info {
    requests: [u64; 4],
    bytes: [u64; 2],
    touched: PageSet,
    written: PageSet,
    streams: BTreeSet<u32>,
    end_sector: u64,
    last: Nanos,
    requests_with_prev: u64,
    atomic: u64,
}

impl Info {
    /// Counts the requests of `batch`.
    pub fn add(&mut self, batch: &RequestBatch) {
        for request in batch.iter() {
            let head = request.head;
            self.requests[head.op as usize] += 1;
            self.last = head.arrival;
            self.streams.insert(head.stream);
            self.requests_with_prev += u64::from(!request.prev.is_empty());
            self.atomic += u64::from(head.atomic);
            for extent in request.extents() {
                self.end_sector = self.end_sector.max(extent.end());
                let pages = (extent.start_sector / PAGE, extent.end().div_ceil(PAGE));
                if matches!(head.op, Op::Read | Op::Write) {
                    self.bytes[usize::from(head.op == Op::Write)] +=
                        u64::from(extent.sectors) * 512;
                    self.touched.insert(pages.0, pages.1);
                }
                if head.op == Op::Write {
                    self.written.insert(pages.0, pages.1);
                }
            }
        }
    }

    /// The figures of the trace that `meta` describes.
    pub fn report(&self, meta: &TraceMeta) -> Report {
        let [reads, writes, trims, flushes] = self.requests;
        let data = reads + writes;
        let share = (data > 0).then(|| writes as f64 / data as f64);
        Report {
            trace: meta.name.clone(),
            format: meta.format,
            container: meta.container.to_string(),
            sha256: meta.sha256.clone(),
            requests: meta.requests,
            read_requests: reads,
            write_requests: writes,
            trim_requests: trims,
            flush_requests: flushes,
            write_share: share,
            read_bytes: self.bytes[0],
            write_bytes: self.bytes[1],
            footprint_pages: self.touched.pages,
            written_pages: self.written.pages,
            timed: meta.timed,
            span_ns: self.last.0,
            end_byte: self.end_sector * 512,
            streams: self.streams.len() as u64,
            requests_with_prev: self.requests_with_prev,
            atomic_requests: self.atomic,
            arrival_corrections: meta.arrival_corrections,
            unaligned_requests: meta.unaligned_requests,
            skipped_lines: meta.skipped_lines,
        }
    }
}

/// The figures of one trace. Bytes and pages are of reads and writes; pages have 4 KiB.
#[derive(Serialize)]
pub struct Report {
    trace: String,
    format: &'static str,
    container: String,
    sha256: Option<String>,
    requests: u64,
    read_requests: u64,
    write_requests: u64,
    trim_requests: u64,
    flush_requests: u64,
    write_share: Option<f64>,
    read_bytes: u64,
    write_bytes: u64,
    footprint_pages: u64,
    written_pages: u64,
    timed: bool,
    span_ns: u64,
    end_byte: u64,
    streams: u64,
    requests_with_prev: u64,
    atomic_requests: u64,
    arrival_corrections: u64,
    unaligned_requests: u64,
    skipped_lines: u64,
}

/// `bytes` with a unit, beside the exact number.
fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} B"),
        _ => format!("{value:.1} {} ({bytes} B)", units[unit]),
    }
}

fn mean(bytes: u64, requests: u64) -> String {
    match requests {
        0 => "-".to_owned(),
        n => format!("{:.2} KiB", bytes as f64 / n as f64 / 1024.0),
    }
}

impl Report {
    /// The figures for people.
    pub fn text(&self) -> String {
        let pages = |n: u64| format!("{n} pages of 4 KiB, {}", size(n * 4096));
        let span = match self.timed {
            true => format!("{:.3} s", self.span_ns as f64 / 1e9),
            false => "no times in this format".to_owned(),
        };
        let share = self.write_share.map(|s| format!(" ({:.1} %)", 100.0 * s));
        let mut rows = vec![
            ("trace", self.trace.clone()),
            ("format", format!("{}, {}", self.format, self.container)),
            ("sha256", self.sha256.clone().unwrap_or_default()),
            ("requests", self.requests.to_string()),
            ("reads", self.read_requests.to_string()),
            (
                "writes",
                format!("{}{}", self.write_requests, share.unwrap_or_default()),
            ),
            ("read", size(self.read_bytes)),
            ("mean read", mean(self.read_bytes, self.read_requests)),
            ("written", size(self.write_bytes)),
            ("mean write", mean(self.write_bytes, self.write_requests)),
            ("footprint", pages(self.footprint_pages)),
            ("written part", pages(self.written_pages)),
            ("span", span),
            ("end address", size(self.end_byte)),
            ("streams", self.streams.to_string()),
        ];
        let rare = [
            ("trims", self.trim_requests),
            ("flushes", self.flush_requests),
            ("with old addresses", self.requests_with_prev),
            ("atomic", self.atomic_requests),
            ("times raised", self.arrival_corrections),
            ("unaligned", self.unaligned_requests),
            ("lines skipped", self.skipped_lines),
        ];
        rows.extend(
            rare.iter()
                .filter(|r| r.1 > 0)
                .map(|r| (r.0, r.1.to_string())),
        );
        rows.iter()
            .map(|(name, value)| format!("{name:<19}{value}\n"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_counts_once() {
        let mut set = PageSet::default();
        set.insert(0, 3);
        set.insert(2, 4);
        set.insert(CHUNK - 1, CHUNK + 1);
        set.insert(u64::MAX / 4096, u64::MAX / 4096 + 1);
        assert_eq!(set.pages, 7);
    }
}
