//! The figures of a trace, made of what was counted.

use crate::trace::report::VolumeReports;
use destage_sim::summary::{CLASSES, RequestSizes, TraceSummary};
use destage_trace::TraceMeta;
use destage_types::SECTOR_BYTES;
use serde::Serialize;

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn per_s(number: u64, timed: bool, ns: u64) -> Option<f64> {
    (timed && ns > 0).then(|| number as f64 * 1e9 / ns as f64)
}

/// The figures of a trace: each with its type, its meaning, and how it follows from what was
/// counted.
macro_rules! figures {
    (
        |$summary:ident, $meta:ident| { $($names:tt)* }
        $($(#[$doc:meta])* $name:ident: $type:ty = $value:expr,)*
    ) => {
        /// The figures of one trace. Bytes and pages are of reads and writes; pages have 4 KiB. A
        /// share or mean without a denominator is null.
        #[derive(Serialize)]
        pub struct TraceReport {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl TraceReport {
            /// The figures of the trace that `meta` describes and `summary` counted.
            pub fn of($summary: &TraceSummary, $meta: TraceMeta) -> TraceReport {
                $($names)*
                TraceReport { $($name: $value,)* }
            }
        }
    };
}

figures! {
    |summary, meta| {
        let [reads, writes, trims, flushes] = summary.requests;
        let (pages, [read, write]) = (&summary.pages, &summary.sizes);
        let some = |n: u64, sizes: &RequestSizes| (n > 0).then_some((sizes.least, sizes.most));
        let classes = (0..CLASSES)
            .map(|c| (SECTOR_BYTES << c, read.classes[c], write.classes[c]))
            .filter(|c| c.1 + c.2 > 0);
    }
    trace: String = meta.name,
    format: &'static str = meta.format,
    /// The unit that its times were read in; null without times.
    time_unit: Option<String> = meta.time_unit.map(|unit| unit.to_string()),
    /// Which columns of a table hold what, as `--trace-columns` takes it; null for other formats.
    columns: Option<String> = meta.mapping,
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
    update_request_share: Option<f64> = share(summary.update_requests, writes),
    /// Bytes written in sequential sets of more than 128 KiB (Prober, Table 1).
    lwdata_bytes: u64 = summary.large_bytes,
    lwdata_share: Option<f64> = share(summary.large_bytes, write.bytes),
    /// Share of the requests that begin where the one before it of the same stream ended.
    sequential_share: Option<f64> = share(summary.sequential, reads + writes),
    timed: bool = meta.timed,
    span_ns: u64 = summary.last.0,
    /// The offered load: requests and bytes a second from the first arrival to the last; null without times.
    requests_per_s: Option<f64> = per_s(meta.requests, meta.timed, summary.last.0),
    bytes_per_s: Option<f64> = per_s(read.bytes + write.bytes, meta.timed, summary.last.0),
    mean_gap_ns: Option<f64> = share(summary.last.0, meta.requests.saturating_sub(1)),
    first_byte: u64 = summary.first_sector.min(summary.end_sector) * SECTOR_BYTES,
    end_byte: u64 = summary.end_sector * SECTOR_BYTES,
    streams: u64 = summary.streams(),
    volumes: VolumeReports = VolumeReports(meta.volumes),
    requests_with_prev: u64 = summary.requests_with_prev,
    atomic_requests: u64 = summary.atomic,
    fua_requests: u64 = summary.fua,
    preflush_requests: u64 = summary.preflush,
    arrival_corrections: u64 = meta.arrival_corrections,
    unaligned_requests: u64 = meta.unaligned_requests,
    skipped_lines: u64 = meta.skipped_lines,
}
