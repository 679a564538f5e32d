//! The result record, `destage.result/1`: what one run measured, and under which conditions.
//!
//! Adding a field keeps `/1`; changing a meaning makes `/2`. A JSON Schema generated from these
//! types is committed and compared by a test. Only [`RunInfo`] may differ between two executions
//! of the same run.

use crate::backlog::Backlog;
use crate::counts::{COUNTERS, CountFields, Counts, ratio};
use crate::device_report::{EnergyNj, EraseCounts, HandleFigures, Utilisation};
use crate::endurance::Endurance;
use crate::latency::{Latencies, MeanNs};
use crate::measures::{FinalFlush, HitsBySize, ListPages, Unbalance};
use crate::paced_writes::PacedWrites;
use destage_types::SECTOR_BYTES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Value of [`ResultRecord::schema`].
pub const SCHEMA: &str = "destage.result/1";

/// One run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct ResultRecord {
    /// `destage.result/1`.
    pub schema: String,
    /// The trace that was replayed.
    pub trace: TraceInfo,
    /// Name of the `[[run]]` in a run file or sweep. Only if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_name: Option<String>,
    /// Canonical scheme expression.
    pub scheme: String,
    /// Cache size as given; 0 for `none`.
    pub cache_bytes: u64,
    /// Page frames: floor(cache_bytes / page_bytes), or less if metadata is charged.
    pub cache_pages: u64,
    /// Bytes of the cache that were set aside for metadata: the most that the scheme can need
    /// beside `cache_pages`. Only if metadata is charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_bytes_charged: Option<u64>,
    /// Page size.
    pub page_bytes: u64,
    /// Name of the device, or `none`.
    pub device: String,
    /// Seed of the run.
    pub seed: u64,
    /// Version of destage and its commit.
    pub version: String,
    /// How the figures are to be read.
    pub reading: Conditions,
    /// Counters over the measured part.
    pub counts: CountFields,
    /// Ratios of counters; null without a denominator.
    pub ratios: Ratios,
    /// Response times. Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<Latencies>,
    /// Service times of requests: from their admission to the device, not from their arrival. Only where the
    /// host's side of the device is simulated (command slots, queue depth, link, paced writes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ns: Option<Latencies>,
    /// How the device keeps up with the arrivals. Only with a device, if requests are issued when they arrive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<Backlog>,
    /// Writes that are let in one after the other. Only with `write_pace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_pace: Option<PacedWrites>,
    /// The throughput of a closed loop. Only in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Throughput>,
    /// Time from enqueue to start of the programs of dirty evictions. Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evict_wait_ns: Option<MeanNs>,
    /// The same until the end of the program. Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evict_turnaround_ns: Option<MeanNs>,
    /// Valid pages of the blocks that garbage collection chose. Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub victim_valid_pages_mean: Option<f64>,
    /// Wear at the end of the run. Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erase_counts: Option<EraseCounts>,
    /// What each handle wrote, and what became of it. Only with several handles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handles: Option<Vec<HandleFigures>>,
    /// How long the flash lasts. Only with a device that gives `pe_cycles`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endurance: Option<Endurance>,
    /// Energy in nJ. Only with a device that gives energies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_nj: Option<EnergyNj>,
    /// How busy channels and dies were. Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<Utilisation>,
    /// Pages per eviction.
    pub evict_pages_mean: Option<f64>,
    /// Dirty pages per eviction.
    pub evict_flush_mean: Option<f64>,
    /// Evictions by pages removed: (pages, evictions), ascending.
    pub evict_pages_histogram: Vec<(u64, u64)>,
    /// Dirty pages in the cache when the last request has arrived: still to be written, and in no count
    /// of flash writes. A page whose write-back is in flight is among the flash writes, unless it was
    /// written again since.
    #[serde(default)]
    pub dirty_pages_left: u64,
    /// Pages that were written back after the last request, in no other figure. Only if it was
    /// asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_flush: Option<FinalFlush>,
    /// Spread of the chip queues at dirty evictions. Only with a device, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unbalance: Option<Unbalance>,
    /// Hits by the size of the request that brought the page in. Only if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits_by_size: Option<HitsBySize>,
    /// Mean metadata of the scheme, sampled every 10,000 requests and at the end.
    pub meta_bytes_mean: Option<f64>,
    /// Req-block: pages per list every 10,000 requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_pages: Option<Vec<ListPages>>,
    /// Figures of the scheme's own: counters over the measured part, and how much there is of
    /// something when the last request has arrived.
    pub scheme_stats: serde_json::Map<String, serde_json::Value>,
    /// Effective settings and where each comes from.
    pub config: Vec<ConfigEntry>,
    /// The cost of the execution; not part of determinism.
    pub run: RunInfo,
}

/// How fast a closed loop completed the requests of the measured part.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Throughput {
    /// Requests of all kinds per second of `elapsed_ns`.
    pub requests_per_s: f64,
    /// Bytes that they read and write per second of `elapsed_ns`.
    pub bytes_per_s: f64,
    /// Time from the issue of the first request of the measured part to the last completion.
    #[serde(default)]
    pub elapsed_ns: u64,
    /// Share of that time in which as many requests were outstanding as the queue depth, those of the warm-up
    /// included. The rest is the end, when no request is left to issue; a trace that is shorter than the queue depth
    /// never reaches it. Below 0.5 the rates are more those of a queue that runs empty than of the queue depth.
    #[serde(default)]
    pub depth_held: f64,
}

impl Throughput {
    /// Throughput of requests that took `elapsed_ns`. The queue depth was held for `held_ns`. `None` if they took no time.
    pub fn of(elapsed_ns: u64, held_ns: u64, c: &Counts) -> Option<Throughput> {
        let bytes = ((c.read_sectors + c.write_sectors) * SECTOR_BYTES) as f64;
        let elapsed = elapsed_ns as f64;
        Some(Throughput {
            requests_per_s: ratio(c.requests as f64 * 1e9, elapsed)?,
            bytes_per_s: ratio(bytes * 1e9, elapsed)?,
            elapsed_ns,
            depth_held: ratio(held_ns as f64, elapsed)?,
        })
    }

    /// Was the queue depth held for at least half of the time?
    pub fn is_of_depth(&self) -> bool {
        self.depth_held >= 0.5
    }
}

/// The trace of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct TraceInfo {
    /// File name without extensions; `stdin` for standard input.
    pub name: String,
    /// Decoded requests that were replayed, warm-up included.
    pub requests: u64,
    /// Format it was read as, whether given or detected; `generated` without a file.
    #[serde(default)]
    pub format: String,
    /// Unit that its times were read in: s, ms, us, 100ns or ns. Absent without times, or without a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_unit: Option<String>,
    /// SHA-256 of the file as stored; absent for a generated workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// How the figures of a run are to be read.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
pub struct Conditions {
    /// Does a read miss enter the cache?
    pub read_alloc: bool,
    /// The sectors that a read miss brings in: `page` or `requested`.
    pub read_fill: String,
    /// Does metadata take frames away? Absent if it does not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub charge_metadata: bool,
    /// Where the cache is, if not in DRAM: the region of flash as the device file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_region: Option<String>,
    /// When an evicted page's program counts as done. Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evict_wait: Option<String>,
    /// Requests of the run's own stream before the measured part.
    pub warmup_requests: u64,
    /// Closed-loop replay: requests that are under way at the same time. Absent in open-loop
    /// replay, where requests are issued when the trace says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
    /// Reads of pages that flash does not hold: `counted` or `precondition=trace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmapped_reads: Option<String>,
}

/// A setting, its value and its origin.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
pub struct ConfigEntry {
    /// Name.
    pub key: String,
    /// Effective value.
    pub value: String,
    /// `built-in`, `preset NAME`, `file NAME`, `run file NAME` or `command line`.
    pub origin: String,
}

impl ConfigEntry {
    /// Origin of a value that nobody gave.
    pub const BUILT_IN: &str = "built-in";
    /// Origin of a value from a flag.
    pub const COMMAND_LINE: &str = "command line";
    /// How the origin of a value from a run file begins.
    pub const RUN_FILE: &str = "run file ";

    /// Does the setting come from the command line or a run file?
    pub fn is_given(&self) -> bool {
        self.origin == Self::COMMAND_LINE || self.origin.starts_with(Self::RUN_FILE)
    }
}

/// The cost of an execution. The only part that is not deterministic.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct RunInfo {
    /// Wall-clock seconds of the run. This and the next three fields are not in the merged results of
    /// `destage sweep`, which are the same whoever ran them; its `costs.csv` has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<f64>,
    /// CPU seconds of the run's thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    /// Threads of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// Name of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The key of the run: SHA-256 of program, trace and settings, in hexadecimal; runs with one
    /// key have the same result. Only in a folder of results (`--out`).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
}

/// Ratios of counters; null without a denominator.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Ratios {
    /// Hit pages / accessed pages.
    pub page_hit_ratio: Option<f64>,
    /// The same of reads.
    pub read_page_hit_ratio: Option<f64>,
    /// The same of writes.
    pub write_page_hit_ratio: Option<f64>,
    /// Read requests whose pages all hit / read requests.
    pub read_req_hit_ratio: Option<f64>,
    /// The same of writes.
    pub write_req_hit_ratio: Option<f64>,
    /// Read requests with a hit / read requests.
    pub read_req_hit_ratio_any: Option<f64>,
    /// The same of writes.
    pub write_req_hit_ratio_any: Option<f64>,
    /// Mean over read requests of hit pages / pages.
    pub read_req_hit_ratio_fraction: Option<f64>,
    /// The same of writes.
    pub write_req_hit_ratio_fraction: Option<f64>,
    /// Write requests whose pages all hit / read and write requests.
    pub write_hits_per_request: Option<f64>,
    /// Hit sectors / sectors.
    pub sector_hit_ratio: Option<f64>,
    /// The same of reads.
    pub read_sector_hit_ratio: Option<f64>,
    /// The same of writes.
    pub write_sector_hit_ratio: Option<f64>,
    /// Dirty evictions / evictions.
    pub dirty_evict_prob: Option<f64>,
    /// Mean metadata / cache bytes.
    pub meta_ratio: Option<f64>,
    /// Dirty evictions to a chip in GC / dirty evictions. Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_gc_evict_prob: Option<f64>,
    /// Bytes programmed to flash for any cause / bytes that the host wrote: whole pages over requested
    /// sectors. Where `counts.erases` is 0, nothing was collected, and this is the figure of the cache alone.
    /// Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waf: Option<f64>,
    /// All programs / programs for the host: what garbage collection and summary pages add to the
    /// traffic that the cache lets through. Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waf_flash: Option<f64>,
}

impl Ratios {
    /// The ratios of `c`, whose pages have `page_bytes`; `meta` is mean metadata over cache bytes.
    pub fn new(c: &Counts, page_bytes: u64, meta: Option<f64>, timed: bool) -> Ratios {
        let r = |part: u64, whole: u64| ratio(part as f64, whole as f64);
        let programs = c.flash_programs();
        let data_requests = c.read_requests + c.write_requests;
        Ratios {
            page_hit_ratio: r(c.page_hits, c.page_accesses),
            read_page_hit_ratio: r(c.read_page_hits, c.read_pages),
            write_page_hit_ratio: r(c.write_page_hits, c.write_pages),
            read_req_hit_ratio: r(c.read_request_hits, c.read_requests),
            write_req_hit_ratio: r(c.write_request_hits, c.write_requests),
            read_req_hit_ratio_any: r(c.read_request_hits_any, c.read_requests),
            write_req_hit_ratio_any: r(c.write_request_hits_any, c.write_requests),
            read_req_hit_ratio_fraction: ratio(c.read_hit_fraction_sum, c.read_requests as f64),
            write_req_hit_ratio_fraction: ratio(c.write_hit_fraction_sum, c.write_requests as f64),
            write_hits_per_request: r(c.write_request_hits, data_requests),
            sector_hit_ratio: r(c.sector_hits(), c.sectors()),
            read_sector_hit_ratio: r(c.read_sector_hits, c.read_sectors),
            write_sector_hit_ratio: r(c.write_sector_hits, c.write_sectors),
            dirty_evict_prob: r(c.dirty_evictions, c.evictions),
            meta_ratio: meta,
            dirty_gc_evict_prob: timed
                .then(|| r(c.dirty_gc_evictions, c.dirty_evictions))
                .flatten(),
            waf: timed
                .then(|| r(programs * page_bytes, c.write_sectors * SECTOR_BYTES))
                .flatten(),
            waf_flash: timed.then(|| r(programs, c.flash_writes_host)).flatten(),
        }
    }
}

impl ResultRecord {
    /// Reads a record. Crates that read records through here share one parser, which takes long to build.
    ///
    /// # Errors
    /// The text is no JSON, or a field is missing or of another type.
    pub fn from_json(text: &str) -> serde_json::Result<ResultRecord> {
        serde_json::from_str(text)
    }
}

/// The JSON Schema of [`ResultRecord`], as committed in `docs/result.schema.json`.
pub fn json_schema() -> String {
    let mut schema = schemars::schema_for!(ResultRecord).to_value();
    describe_counters(&mut schema["$defs"]["CountFields"]["properties"]);
    for (name, object) in schema["$defs"].as_object_mut().into_iter().flatten() {
        if let Some(fields) = object.get_mut("properties") {
            bound(name, fields);
        }
    }
    bound("ResultRecord", &mut schema["properties"]);
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is plain JSON");
    text.push('\n');
    text
}

/// Ratios that may be above 1.
const ABOVE_ONE: [&str; 3] = ["meta_ratio", "waf", "waf_flash"];

/// Says of the numbers among the fields of `object` that they are at least 0, and of shares that they are at most 1.
fn bound(object: &str, fields: &mut serde_json::Value) {
    for (name, field) in fields.as_object_mut().into_iter().flatten() {
        let is_ratio = object == "Ratios" && !ABOVE_ONE.contains(&name.as_str());
        let is_share = is_ratio || object == "Utilisation" || name.contains("share");
        let is_share = is_share || name == "depth_held";
        bound_number(field, is_share);
        let Some(items) = field.get_mut("items") else {
            continue;
        };
        bound_number(items, is_share);
        // A distribution: values, and the share up to each.
        let pair = items
            .get_mut("prefixItems")
            .and_then(|pair| pair.as_array_mut());
        for (i, item) in pair.into_iter().flatten().enumerate() {
            bound_number(item, i == 1);
        }
    }
}

fn bound_number(field: &mut serde_json::Value, is_share: bool) {
    if field["format"] != "double" {
        return;
    }
    field["minimum"] = 0.into();
    if is_share {
        field["maximum"] = 1.into();
    }
}

/// Says of each counter what its line in the table says.
fn describe_counters(fields: &mut serde_json::Value) {
    for counter in COUNTERS {
        let text = format!("{} {}", counter.meaning, counter.condition);
        fields[counter.name]["description"] = text.trim_end().into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn every_field_says_what_it_is() {
        let schema: Value = serde_json::from_str(&json_schema()).unwrap();
        let inner = schema["$defs"].as_object().unwrap().values();
        let mut fields = 0;
        for object in inner.chain([&schema]) {
            for (name, field) in object["properties"].as_object().into_iter().flatten() {
                fields += 1;
                assert!(field["description"].is_string(), "{name}");
            }
        }
        assert!(fields > 150, "{fields}");
        let counter = &schema["$defs"]["CountFields"]["properties"]["erases"];
        assert_eq!(counter["description"], "Block erases. Only with a device.");
    }
}
