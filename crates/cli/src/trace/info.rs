//! What a trace consists of: counting, in memory that grows with its requests only, whatever they say of
//! their length.

use super::pages::PageMarks;
use super::report::VolumeReports;
use super::streams::RecentSets;
use destage_trace::TraceMeta;
use destage_types::{Extent, Nanos, Op, RequestRef, SECTOR_BYTES};
use serde::Serialize;
use std::collections::BTreeMap;

/// Sectors of a 4 KiB page, the unit of the footprint.
const PAGE: u64 = 8;
/// Sectors above which a set of sequential writes is large, and writes that a set is remembered
/// for (Prober, sections 3.1 and 4.2.1).
const SSP: u64 = 256;
const RIP: u64 = 3000;
/// Classes of request sizes: up to 512 B, 1 KiB, 2 KiB, ... 2 TiB.
const CLASSES: usize = 33;

/// Bytes of the requests of a kind.
#[derive(Clone, Copy)]
struct Sizes {
    bytes: u64,
    least: u64,
    most: u64,
    classes: [u64; CLASSES],
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes {
            bytes: 0,
            least: 0,
            most: 0,
            classes: [0; CLASSES],
        }
    }
}

impl Sizes {
    fn add(&mut self, bytes: u64, first: bool) {
        self.bytes += bytes;
        self.least = if first { bytes } else { self.least.min(bytes) };
        self.most = self.most.max(bytes);
        let sectors = bytes.div_ceil(SECTOR_BYTES);
        let class = sectors.next_power_of_two().trailing_zeros() as usize;
        self.classes[class.min(CLASSES - 1)] += 1;
    }
}

/// Counts the requests of a trace.
pub struct Info {
    requests: [u64; 4],
    sizes: [Sizes; 2],
    pages: PageMarks,
    update_requests: u64,
    /// Where the last request of each stream ended.
    ends: BTreeMap<u32, u64>,
    sequential: u64,
    sets: RecentSets,
    large_bytes: u64,
    first_sector: u64,
    end_sector: u64,
    last: Nanos,
    requests_with_prev: u64,
    atomic: u64,
}

impl Default for Info {
    fn default() -> Info {
        Info {
            requests: [0; 4],
            sizes: [Sizes::default(); 2],
            pages: PageMarks::default(),
            update_requests: 0,
            ends: BTreeMap::new(),
            sequential: 0,
            sets: RecentSets::new(SSP, RIP),
            large_bytes: 0,
            first_sector: u64::MAX,
            end_sector: 0,
            last: Nanos::ZERO,
            requests_with_prev: 0,
            atomic: 0,
        }
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Info {
    /// Counts a request.
    pub fn request(&mut self, request: RequestRef<'_>) {
        let head = request.head;
        let number = &mut self.requests[head.op as usize];
        let first = *number == 0;
        *number += 1;
        self.last = head.arrival;
        self.requests_with_prev += u64::from(!request.prev.is_empty());
        self.atomic += u64::from(head.atomic);
        let end = self.ends.entry(head.stream).or_insert(u64::MAX);
        for extent in request.extents() {
            self.first_sector = self.first_sector.min(extent.start_sector);
            self.end_sector = self.end_sector.max(extent.end());
        }
        if matches!(head.op, Op::Read | Op::Write) {
            self.sequential += u64::from(*end == head.start_sector);
            *end = request.extents().last().map_or(u64::MAX, |e| e.end());
            let write = head.op == Op::Write;
            self.sizes[usize::from(write)].add(request.bytes(), first);
            self.data(request, write);
        }
    }

    fn data(&mut self, request: RequestRef<'_>, write: bool) {
        let mut update = false;
        if write {
            self.sets.begin();
        }
        for extent in request.extents() {
            let pages = (extent.start_sector / PAGE, extent.end().div_ceil(PAGE));
            update |= self.pages.access(pages.0, pages.1, write);
            if write {
                self.large(extent);
            }
        }
        self.update_requests += u64::from(write && update);
    }

    /// A set that becomes large brings along what it was made of (Prober, section 3.1).
    fn large(&mut self, extent: Extent) {
        let sectors = self.sets.write(extent.start_sector, extent.end() - 1);
        self.large_bytes += sectors * SECTOR_BYTES;
    }
}

/// The figures of a trace: each with its type, its meaning, and how it follows from what was
/// counted.
macro_rules! figures {
    (
        |$info:ident, $meta:ident| { $($names:tt)* }
        $($(#[$doc:meta])* $name:ident: $type:ty = $value:expr,)*
    ) => {
        /// The figures of one trace. Bytes and pages are of reads and writes; pages have 4 KiB. A
        /// share or mean without a denominator is null.
        #[derive(Serialize)]
        pub struct TraceReport {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl TraceReport {
            /// The figures of the trace that `meta` describes and `info` counted.
            pub fn of($info: &Info, $meta: TraceMeta) -> TraceReport {
                $($names)*
                TraceReport { $($name: $value,)* }
            }
        }
    };
}

figures! {
    |info, meta| {
        let [reads, writes, trims, flushes] = info.requests;
        let (pages, [read, write]) = (&info.pages, &info.sizes);
        let some = |n: u64, sizes: &Sizes| (n > 0).then_some((sizes.least, sizes.most));
        let classes = (0..CLASSES)
            .map(|c| (SECTOR_BYTES << c, read.classes[c], write.classes[c]))
            .filter(|c| c.1 + c.2 > 0);
    }
    trace: String = meta.name,
    format: &'static str = meta.format,
    container: String = meta.container.to_string(),
    sha256: Option<String> = meta.sha256,
    requests: u64 = meta.requests,
    read_requests: u64 = reads,
    write_requests: u64 = writes,
    trim_requests: u64 = trims,
    flush_requests: u64 = flushes,
    write_share: Option<f64> = share(writes, reads + writes),
    read_bytes: u64 = read.bytes,
    write_bytes: u64 = write.bytes,
    mean_read_bytes: Option<f64> = share(read.bytes, reads),
    mean_write_bytes: Option<f64> = share(write.bytes, writes),
    /// The smallest and the largest request.
    read_bytes_range: Option<(u64, u64)> = some(reads, read),
    write_bytes_range: Option<(u64, u64)> = some(writes, write),
    /// Requests by size: up to so many bytes and more than half of that; reads; writes.
    sizes: Vec<(u64, u64, u64)> = classes.collect(),
    footprint_pages: u64 = pages.touched,
    written_pages: u64 = pages.written,
    page_accesses: u64 = pages.accesses,
    /// Page accesses to a page that was accessed before.
    reuse_share: Option<f64> = share(pages.accesses - pages.touched, pages.accesses),
    /// Pages accessed three times and more, and their share of all (Req-block, Table 2).
    frequent_pages: u64 = pages.frequent,
    frequent_share: Option<f64> = share(pages.frequent, pages.touched),
    /// The share of them that is written at all.
    frequent_written_share: Option<f64> = share(pages.frequent_written, pages.frequent),
    /// Pages written by requests, and those of them that had been written before (CAC, Table 2).
    write_page_accesses: u64 = pages.write_accesses,
    update_page_accesses: u64 = pages.updates,
    update_share: Option<f64> = share(pages.updates, pages.write_accesses),
    /// Share of the write requests that write such a page.
    update_request_share: Option<f64> = share(info.update_requests, writes),
    /// Bytes written in sequential sets of more than 128 KiB (Prober, Table 1).
    lwdata_bytes: u64 = info.large_bytes,
    lwdata_share: Option<f64> = share(info.large_bytes, write.bytes),
    /// Share of the requests that begin where the one before it of the same stream ended.
    sequential_share: Option<f64> = share(info.sequential, reads + writes),
    timed: bool = meta.timed,
    span_ns: u64 = info.last.0,
    mean_gap_ns: Option<f64> = share(info.last.0, meta.requests.saturating_sub(1)),
    first_byte: u64 = info.first_sector.min(info.end_sector) * SECTOR_BYTES,
    end_byte: u64 = info.end_sector * SECTOR_BYTES,
    streams: u64 = info.ends.len() as u64,
    volumes: VolumeReports = VolumeReports(meta.volumes),
    requests_with_prev: u64 = info.requests_with_prev,
    atomic_requests: u64 = info.atomic,
    arrival_corrections: u64 = meta.arrival_corrections,
    unaligned_requests: u64 = meta.unaligned_requests,
    skipped_lines: u64 = meta.skipped_lines,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fall_into_classes() {
        let mut sizes = Sizes::default();
        for (i, bytes) in [4096, 512, 4608, 8192].into_iter().enumerate() {
            sizes.add(bytes, i == 0);
        }
        assert_eq!((sizes.bytes, sizes.least, sizes.most), (17_408, 512, 8_192));
        assert_eq!(
            (sizes.classes[0], sizes.classes[3], sizes.classes[4]),
            (1, 1, 2)
        );
    }
}
