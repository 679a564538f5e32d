//! Measures that a run takes only if it is asked for them, or of one scheme only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pages in the lists of Req-block at one moment.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
pub struct ListPages {
    /// Requests served so far.
    pub request: u64,
    /// Pages in IRL.
    pub irl: u64,
    /// Pages in SRL.
    pub srl: u64,
    /// Pages in DRL.
    pub drl: u64,
}

/// max CQCT / mean CQCT over the chips, sampled before each dirty eviction (ECR Fig. 4).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Unbalance {
    /// Share of samples above 10.
    pub share_above_10: Option<f64>,
    /// Samples taken.
    pub samples: u64,
    /// Dirty evictions at which all CQCT were 0.
    pub undefined: u64,
    /// (rate rounded up to tenths, share of samples at or below it), ascending.
    pub cdf: Vec<(f64, f64)>,
}

/// All that is submitted to flash after the measured part of a run at whose end the cache is flushed: the
/// write-back of all dirty pages that are left.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
pub struct FinalFlush {
    /// Pages programmed for the host: the dirty pages that were left.
    pub flash_writes_host: u64,
    /// Pages read to complete partial ones.
    pub flash_reads_rmw: u64,
    /// Pages programmed by garbage collection. Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash_writes_gc: Option<u64>,
    /// Summary pages programmed. Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash_writes_meta: Option<u64>,
    /// Blocks erased. Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erases: Option<u64>,
    /// From the flush, which arrives once all other work is done, to the end of its last program.
    /// Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
}

/// Pages of the measured part by the size of the write request that brought them into the cache. Pages
/// that a read brought in are in none of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct HitsBySize {
    /// Mean size of all reads and writes of the trace. Larger requests are large.
    pub mean_bytes: f64,
    /// Share of the pages brought in that small requests brought; null without a page.
    pub small_insert_share: Option<f64>,
    /// Share of the page hits that are on pages of small requests; null without a hit.
    pub small_hit_share: Option<f64>,
    /// Share of the pages of large requests that were hit before they left; null without a page.
    pub large_reaccessed_share: Option<f64>,
    /// Classes of request sizes, ascending.
    pub classes: Vec<SizeClass>,
}

/// Requests of up to `bytes` and more than half of that.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
pub struct SizeClass {
    /// A power of two, at least 512.
    pub bytes: u64,
    /// Pages that they brought in.
    pub inserts: u64,
    /// Reads and writes that hit such a page.
    pub hits: u64,
    /// Pages that were hit at least once before they left.
    pub reaccessed: u64,
}

impl SizeClass {
    /// The class of requests of so many bytes.
    pub fn of(bytes: u64) -> u64 {
        bytes.next_power_of_two().max(512)
    }

    /// Adds the counts of another class.
    pub fn add(&mut self, other: &SizeClass) {
        self.inserts += other.inserts;
        self.hits += other.hits;
        self.reaccessed += other.reaccessed;
    }
}
