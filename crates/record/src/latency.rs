//! Response times and waiting times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Mean of a time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct MeanNs {
    /// Mean in ns; null if nothing was measured.
    pub mean: Option<f64>,
}

/// Response times of all requests, of reads and of writes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Latencies {
    /// All requests.
    pub all: Latency,
    /// Read requests.
    pub read: Latency,
    /// Write requests.
    pub write: Latency,
}

/// Response times in ns; percentiles by nearest rank. Null if there was no request.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Latency {
    /// Mean.
    pub mean: Option<f64>,
    /// Population standard deviation.
    pub std: Option<f64>,
    /// 50th percentile.
    pub p50: Option<u64>,
    /// 95th percentile.
    pub p95: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// 99.9th percentile.
    pub p999: Option<u64>,
    /// 99.99th percentile.
    #[serde(default)]
    pub p9999: Option<u64>,
    /// Longest.
    pub max: Option<u64>,
}
