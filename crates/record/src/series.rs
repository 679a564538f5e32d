//! Time series: what happened in each interval of the measured part, and what the cache holds at
//! its end.

use destage_types::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

/// Length of an interval.
///
/// Requests that a modelled file system adds for its cleaning are no requests of the host and do not
/// count as such: an interval of requests ends right after its last request that counts, so cleaning
/// is in the interval of the request that needs it. Its work on flash is in the interval in which
/// it is served, so that the intervals add up to the counters of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Every {
    /// That many requests that count, at least 1.
    Requests(u64),
    /// That much simulated time, at least 1 ns. An interval in which nothing is served gives no row.
    Time(Nanos),
}

/// One interval. Counters and ratios are those of the interval alone; the last one may be shorter.
#[derive(Clone, Debug, Default, Serialize, JsonSchema, PartialEq)]
pub struct SeriesRow {
    /// Measured requests up to the end of the interval.
    pub request: u64,
    /// Simulated time in ns: end of an interval of time, arrival of the last request of an interval
    /// of requests.
    pub time_ns: u64,
    /// Requests of any kind.
    pub requests: u64,
    /// Pages read.
    pub read_pages: u64,
    /// Pages written.
    pub write_pages: u64,
    /// Hit pages / accessed pages (D12); null without an access.
    pub page_hit_ratio: Option<f64>,
    /// The same of reads.
    pub read_page_hit_ratio: Option<f64>,
    /// The same of writes.
    pub write_page_hit_ratio: Option<f64>,
    /// Evictions.
    pub evictions: u64,
    /// Pages removed by them.
    pub evicted_pages: u64,
    /// Flash reads for the host.
    pub flash_reads_host: u64,
    /// Flash programs for the host.
    pub flash_writes_host: u64,
    /// Flash programs of garbage collection and wear levelling; null without a device.
    pub flash_writes_gc: Option<u64>,
    /// Blocks erased; null without a device.
    pub erases: Option<u64>,
    /// Mean response time in ns of the requests that were completed in the interval; null without
    /// one, or without a device.
    pub latency_mean_ns: Option<f64>,
    /// 50th percentile of these response times in ns.
    pub latency_p50_ns: Option<u64>,
    /// 95th percentile of these response times in ns.
    pub latency_p95_ns: Option<u64>,
    /// 99th percentile of these response times in ns.
    pub latency_p99_ns: Option<u64>,
    /// 99.9th percentile of these response times in ns.
    pub latency_p999_ns: Option<u64>,
    /// Mean response time in ns of the reads among them.
    pub read_latency_mean_ns: Option<f64>,
    /// 50th percentile of the response times of reads in ns.
    pub read_latency_p50_ns: Option<u64>,
    /// 95th percentile of the response times of reads in ns.
    pub read_latency_p95_ns: Option<u64>,
    /// 99th percentile of the response times of reads in ns.
    pub read_latency_p99_ns: Option<u64>,
    /// 99.9th percentile of the response times of reads in ns.
    pub read_latency_p999_ns: Option<u64>,
    /// Mean response time in ns of the writes among them.
    pub write_latency_mean_ns: Option<f64>,
    /// 50th percentile of the response times of writes in ns.
    pub write_latency_p50_ns: Option<u64>,
    /// 95th percentile of the response times of writes in ns.
    pub write_latency_p95_ns: Option<u64>,
    /// 99th percentile of the response times of writes in ns.
    pub write_latency_p99_ns: Option<u64>,
    /// 99.9th percentile of the response times of writes in ns.
    pub write_latency_p999_ns: Option<u64>,
    /// Pages in the cache at the end of the interval.
    pub cached_pages: u64,
    /// Dirty ones among them.
    pub dirty_pages: u64,
    /// Metadata of the scheme in bytes at the end of the interval.
    pub meta_bytes: u64,
    /// Blocks in SLC mode that are not free at the end of the interval; null without an SLC cache.
    pub slc_blocks: Option<u64>,
    /// Req-block: pages in IRL at the end of the interval, null for other schemes.
    pub irl: Option<u64>,
    /// Req-block: pages in SRL.
    pub srl: Option<u64>,
    /// Req-block: pages in DRL.
    pub drl: Option<u64>,
    /// Mean over the dirty evictions of the interval of max CQCT / mean CQCT of the chips
    /// ([`crate::Unbalance`]), where the queues are sampled. For charts; the files do not have it.
    #[serde(skip)]
    pub unbalance_mean: Option<f64>,
}

/// The JSON Schema of a row.
pub fn row_schema() -> String {
    let schema = schemars::schema_for!(SeriesRow);
    serde_json::to_string(&schema).expect("a schema is plain JSON")
}
