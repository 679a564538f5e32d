//! Options of `destage run`.

use crate::options::declare::OptionGroup;
use crate::options::groups::*;
use crate::options::readers::{PathReader, one_of, read_write, whole};
use crate::options::values::{ADDRESSES, Addresses, HostFsArg, TimeScaleArg};
use crate::run::{every_text, parse_every, parse_moment};
use destage_sim::{Every, TimelineWindow};
use destage_types::Nanos;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

crate::declare_options! {
    /// Options of `run`.
    RunArgs in Run {
        /// Run file in TOML: its keys are these options and `trace`. Tables `[[run]]` describe
        /// several runs for one table of results. Options on the command line override the file
        #[option(value = "FILE.toml", scope = OptionScope::Command, heading = "Input")]
        config: Option<PathBuf> = PathReader;
        /// Folder with the traces of the run file
        #[option(value = "DIR", scope = OptionScope::Command, requires = "config")]
        trace_dir: Option<PathBuf> = PathReader, word "the folder of the run file";
        /// Trace files, plain or compressed (.zst, .gz, .xz); `-` is standard input, `demo` the built-in workload
        #[option(value = "TRACE", scope = OptionScope::Stream, positional = true)]
        traces: Vec<PathBuf> = PathReader;
        /// Model of a file system between trace and device: `inplace`, `lfs(KEY=VALUE,...)`, or
        /// `f2fs(...)`, which is `lfs` with the rules of F2FS; repeatable
        #[option(value = "FS", scope = OptionScope::Stream, each = true)]
        host_fs: Vec<HostFsArg>, word "none, the device gets the trace unchanged";
        flatten input: InputArgs;
        flatten caches: CacheArgs, under "Schemes and cache";
        /// Subtract the scheme's worst-case metadata from the cache size, so that fewer pages fit
        charge_metadata: bool, shown "the metadata is measured only";
        flatten pages: PageArgs;
        flatten hits: HitArgs;
        flatten random: SeedArgs;
        /// Device behind the cache: a preset (see `destage presets`), a device file, or `none`.
        /// Without a device, hits and flash traffic are counted, and nothing takes time
        #[option(value = "none|PRESET|FILE.toml", scope = OptionScope::Device, heading = "Device")]
        device: Option<String>, word "none";
        /// Override one key of the device; repeatable
        #[option(value = "KEY=VALUE")]
        set: Vec<String>;
        /// How to handle a trace that has addresses beyond the device; needs a device
        #[option(value = "HOW", scope = OptionScope::Stream)]
        addresses: Option<Addresses> = one_of(ADDRESSES), default "fit";
        /// Same as `--addresses wrap`
        #[option(hidden = true, conflicts = &["addresses"])]
        wrap: bool;
        /// Same as `--addresses fit`
        #[option(hidden = true, conflicts = &["addresses", "wrap"])]
        fit: bool;
        /// Sample the imbalance of the chip queues before every dirty eviction; slows the run, needs
        /// a device
        unbalance: bool;
        /// Multiply all arrival times by this factor
        #[option(value = "X", heading = "Time")]
        time_scale: Option<TimeScaleArg>, default "1";
        /// Queue depth of a closed loop: issue this many requests, then the next at each completion.
        /// The arrival times of the trace are ignored; needs a device
        #[option(value = "QD", conflicts = &["time_scale"])]
        closed_loop: Option<NonZeroU32> = whole(NonZeroU32::MIN..=NonZeroU32::MAX),
            word "off", shown "";
        /// Requests of each stream that may be in the device at the same time; later ones wait outside. The
        /// record has response times from arrival and service times from admission; needs a device
        #[option(value = "N", conflicts = &["closed_loop"])]
        queue_depth: Option<NonZeroU32> = whole(NonZeroU32::MIN..=NonZeroU32::MAX),
            word "unlimited", shown "";
        /// Write back all dirty pages after the last request; the cost is reported separately
        flush_at_end: bool;
        /// Columns of the table: page-hit, iops, mb-per-s, mean, p99, flash-writes, waf, read-hit,
        /// write-hit, dirty-left, evictions, pages-per-eviction, or fields of the record such as
        /// counts.erases
        #[option(value = "NAME,...", scope = OptionScope::Results, commas = true, heading = "Output")]
        columns: Vec<String>, shown "all that fit";
        /// Sort the rows of the table by this column, the best first. Where no value is better, the largest
        /// comes first
        #[option(value = "NAME", scope = OptionScope::Results)]
        sort: Option<String>, word "in the order of traces, schemes and sizes";
        /// Print more figures below the table: request hits, response times, evictions, flash traffic
        /// by cause, and metadata; with a device also wear, energy, and load
        #[option(scope = OptionScope::Results)]
        details: bool;
        /// Count pages and hits by the size of the write request that inserted the page; slows the
        /// run
        hits_by_size: bool;
        flatten form: FormatOutArgs;
        /// Folder for results.jsonl, to which each run adds a line, and for results.csv or
        /// results.parquet (--format-out). The table goes to standard output. Finished runs in the
        /// folder are not repeated
        #[option(value = "DIR", scope = OptionScope::Results)]
        out: Option<PathBuf> = PathReader;
        /// Repeat all runs, and replace the results in the folder of --out
        #[option(scope = OptionScope::Results, requires = "out")]
        fresh: bool, shown "";
        /// Write tables and charts of all runs as one self-contained HTML page
        #[option(value = "FILE.html", scope = OptionScope::Results)]
        report: Option<PathBuf> = PathReader;
        /// Write one JSON object per eviction; several runs need --out and write one file each
        #[option(value = "FILE.jsonl", scope = OptionScope::Logs, heading = "Logs of a run")]
        log_evictions: Option<PathBuf> = PathReader;
        /// Write arrival and completion of every request; needs a device; several runs need --out and
        /// write one file each
        #[option(value = "FILE.csv", scope = OptionScope::Logs)]
        log_requests: Option<PathBuf> = PathReader;
        /// Write hit ratios, response times, flash traffic, and cache contents per interval, as CSV,
        /// or as Parquet if the name ends in .parquet; several runs need --out and write one file
        /// each
        #[option(value = "FILE.csv|FILE.parquet", scope = OptionScope::Logs)]
        series: Option<PathBuf> = PathReader;
        /// Length of an interval: a number of requests, not counting a file system's cleaning, or
        /// simulated time such as 1s
        #[option(value = "N|TIME", scope = OptionScope::Logs, requires = "series")]
        series_every: Option<Every> = read_write(parse_every, every_text), default "10000";
        /// Write the activity of requests, channel buses, dies, and garbage collection as a trace for
        /// ui.perfetto.dev, which shows why a request waited; needs a device; several runs need --out
        /// and write one file each
        #[option(value = "FILE.pftrace", scope = OptionScope::Logs)]
        timeline: Option<PathBuf> = PathReader;
        /// Omit activity that ends before this simulated time, such as 1.5s
        #[option(value = "TIME", scope = OptionScope::Logs, requires = "timeline")]
        timeline_from: Option<Nanos> = parse_moment, word "the start of the measured part";
        /// Omit activity that begins at this simulated time or later
        #[option(value = "TIME", scope = OptionScope::Logs, requires = "timeline")]
        timeline_to: Option<Nanos> = parse_moment, word "the end of the run";
        flatten memory: MemoryArgs, under "Limits";
        flatten limit: LimitArgs;
        flatten threads: JobsArgs;
    }
}

/// The default that a record of `run` shows for an option that was not given.
pub fn default_of(field: &str) -> &'static str {
    let found = RunArgs::declared().iter().find(|o| o.field == field);
    // A flag is off.
    found.and_then(|option| option.unset).unwrap_or("false")
}

impl RunArgs {
    /// Is there one stream of requests only, as far as that is known before the traces are read?
    pub fn is_one_stream(&self) -> bool {
        self.traces.len() * self.host_fs.len().max(1) <= 1 && !self.input.split()
    }

    /// The treatment of addresses beyond the device that was asked for, if any was.
    pub fn given_addresses(&self) -> Option<Addresses> {
        match (self.wrap, self.fit) {
            (true, _) => Some(Addresses::Wrap),
            (_, true) => Some(Addresses::Fit),
            _ => self.addresses,
        }
    }

    /// The treatment of addresses beyond the device.
    pub fn resolved_addresses(&self) -> Addresses {
        self.given_addresses().unwrap_or_else(|| self.addresses())
    }

    /// The options that name the logs of one run, and the files given.
    pub fn logs(&self) -> [(&'static str, Option<&Path>); 4] {
        [
            ("log-evictions", self.log_evictions.as_deref()),
            ("log-requests", self.log_requests.as_deref()),
            ("series", self.series.as_deref()),
            ("timeline", self.timeline.as_deref()),
        ]
    }

    /// The window of a timeline.
    pub fn timeline_window(&self) -> TimelineWindow {
        TimelineWindow {
            from: self.timeline_from,
            to: self.timeline_to.unwrap_or(Nanos::NEVER),
        }
    }
}
