//! The parts of fio's JSON and JSON+ output that are used here (fio 3).

use serde::Deserialize;
use std::collections::BTreeMap;

/// Output of one call of fio.
#[derive(Deserialize, Debug)]
pub struct FioOutput {
    /// Options of the section `[global]`, unless jobs repeat them.
    #[serde(rename = "global options", default)]
    pub global: BTreeMap<String, String>,
    /// A job, or a group of jobs with `group_reporting`.
    pub jobs: Vec<FioEntry>,
}

/// Results of a job, or of a group of jobs.
#[derive(Deserialize, Debug)]
pub struct FioEntry {
    /// Name of the job, or of the first one of the group.
    pub jobname: String,
    /// Jobs of one group ran at the same time.
    #[serde(default)]
    pub groupid: u32,
    /// 0 if it ended well.
    #[serde(default)]
    pub error: i64,
    /// Seconds that the whole call took.
    #[serde(default)]
    pub elapsed: f64,
    /// The option `description`.
    #[serde(default)]
    pub desc: String,
    /// Options of the job itself. fio leaves out options without a value, such as `stonewall`.
    #[serde(rename = "job options", default)]
    pub options: BTreeMap<String, String>,
    /// Time of the job in ms.
    #[serde(default)]
    pub job_runtime: u64,
    /// Results of reads.
    pub read: FioDirection,
    /// Results of writes.
    pub write: FioDirection,
}

/// Results of reads or of writes.
#[derive(Deserialize, Debug, Default)]
pub struct FioDirection {
    /// Bytes.
    pub io_bytes: u64,
    /// Requests a second.
    pub iops: f64,
    /// Time in ms.
    pub runtime: u64,
    /// Requests.
    pub total_ios: u64,
    /// Latency from the end of the submission; fio before 3.0 has it in us under another name.
    pub clat_ns: Option<FioLatency>,
    /// Latency from the start of the submission.
    pub lat_ns: Option<FioLatency>,
}

/// Latencies in ns.
#[derive(Deserialize, Debug, Default)]
pub struct FioLatency {
    /// The lowest one.
    #[serde(default)]
    pub min: f64,
    /// The highest one.
    #[serde(default)]
    pub max: f64,
    /// The mean.
    #[serde(default)]
    pub mean: f64,
    /// How many were measured.
    #[serde(rename = "N", default)]
    pub count: u64,
    /// Latencies by percentage, as texts.
    #[serde(default)]
    pub percentile: BTreeMap<String, f64>,
    /// JSON+: requests by latency in ns, as texts.
    #[serde(default)]
    pub bins: BTreeMap<String, u64>,
}
