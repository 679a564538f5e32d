//! Options of `destage run`.

use crate::options::declare::OptionGroup;
use crate::options::groups::*;
use crate::options::values::{Addresses, host_fs, one_of, time_scale, whole};
use crate::options::{ADDRESSES, HostFsArg, TimeScaleArg};
use crate::run::parse_every;
use crate::run::parse_moment;
use clap::{Args, Command, FromArgMatches};
use destage_sim::{Every, TimelineWindow};
use destage_types::Nanos;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

crate::declare_options! {
    /// Options of `run`.
    RunArgs {
        /// Run file: TOML whose keys are these options (and `trace`), tables `[[run]]` for several
        /// runs in one table of results; what the command line says goes before it
        #[arg(long, value_name = "FILE.toml")]
        config: Option<PathBuf> = path();
        /// Folder of the traces of a run file
        #[arg(long, value_name = "DIR", requires = "config")]
        trace_dir: Option<PathBuf> = path(), word "that of the file";
        /// Trace files, plain or compressed (.zst, .gz, .xz); `-` is standard input
        #[arg(value_name = "TRACE")]
        traces: Vec<PathBuf> = path();
        flatten input: InputArgs;
        /// File system between the trace and the device: `inplace`, `lfs(KEY=VALUE,...)` or
        /// `f2fs(...)`, which is `lfs` with the rules of F2FS; repeatable
        #[arg(long, value_name = "FS")]
        host_fs: Vec<HostFsArg> = host_fs, word "none, the trace is what the device gets";
        flatten caches: CacheArgs;
        /// Take the metadata of the scheme, as much as it can come to need, out of the cache size:
        /// fewer pages fit
        #[arg(long)]
        charge_metadata: bool, shown "it is only measured";
        flatten pages: PageArgs;
        /// Device behind the cache, as `destage presets` lists them, or `none`: hits and flash
        /// traffic are counted without time
        #[arg(long, value_name = "none|PRESET|FILE.toml")]
        device: Option<String> = text(), word "none";
        /// Override one key of the device; repeatable
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String> = text();
        flatten hits: HitArgs;
        /// Factor on all arrival times
        #[arg(long, value_name = "X")]
        time_scale: Option<TimeScaleArg> = time_scale, default "1";
        /// Ignore the arrivals of the trace: issue that many requests, then the next one whenever one
        /// completes; needs a device
        #[arg(long, value_name = "QD", conflicts_with = "time_scale")]
        closed_loop: Option<NonZeroU32> = whole(NonZeroU32::MIN..=NonZeroU32::MAX),
            word "off", shown "";
        /// What to do with a trace that has addresses beyond the device; needs a device
        #[arg(long, value_name = "HOW")]
        addresses: Option<Addresses> = one_of(ADDRESSES), default "fit";
        /// The same as `--addresses wrap`
        #[arg(long, hide = true, conflicts_with = "addresses")]
        wrap: bool;
        /// The same as `--addresses fit`
        #[arg(long, hide = true, conflicts_with_all = ["addresses", "wrap"])]
        fit: bool;
        flatten memory: MemoryArgs;
        flatten limit: LimitArgs;
        /// Sample how unevenly the chip queues are filled before every dirty eviction, which takes
        /// time; needs a device
        #[arg(long)]
        unbalance: bool;
        /// Columns of the table, instead of all that fit: page-hit, read-hit, write-hit, mean, p99, iops,
        /// mb-per-s, flash-writes, dirty-left, waf, evictions, pages-per-eviction, or fields of the record
        /// such as counts.erases
        #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
        columns: Vec<String> = text();
        /// Count pages and hits by the size of the write request that brought the page in, which takes
        /// time
        #[arg(long)]
        hits_by_size: bool;
        /// Write all dirty pages back after the last request; what that takes is reported apart
        #[arg(long)]
        flush_at_end: bool;
        flatten random: SeedArgs;
        flatten threads: JobsArgs;
        /// Folder for results.jsonl, to which each run adds a line, and results.csv or .parquet if asked
        /// for; the table then goes to standard output. Runs that are done there already are not repeated
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf> = path();
        /// Do all runs anew and replace the results that are in the folder of --out
        #[arg(long, requires = "out")]
        fresh: bool, shown "";
        flatten form: FormatOutArgs;
        /// Show what else was measured below the table: hits of requests, response times, evictions,
        /// flash traffic by cause, metadata, and with a device wear, energy and load
        #[arg(long)]
        details: bool;
        /// Write tables and charts of all runs as one HTML page that needs nothing else
        #[arg(long, value_name = "FILE.html")]
        report: Option<PathBuf> = path();
        /// Write one JSON object per eviction; several runs need --out and give a file each
        #[arg(long, value_name = "FILE.jsonl")]
        log_evictions: Option<PathBuf> = path();
        /// Write arrival and completion of every request; needs a device, several runs need --out
        #[arg(long, value_name = "FILE.csv")]
        log_requests: Option<PathBuf> = path();
        /// Write hit ratios, response times, flash traffic and what the cache holds per interval, as
        /// CSV, or as Parquet if the name ends so; several runs need --out and give a file each
        #[arg(long, value_name = "FILE.csv|FILE.parquet")]
        series: Option<PathBuf> = path();
        /// Length of an interval: requests without those of a file system's cleaning, or simulated time such as 1s
        #[arg(long, value_name = "N|TIME", requires = "series")]
        series_every: Option<Every> = parse_every, default "10000";
        /// Write what requests, channel buses, dies and garbage collection do, as a trace for
        /// ui.perfetto.dev, which shows why a request waited; needs a device, several runs
        /// need --out and give a file each
        #[arg(long, value_name = "FILE.pftrace")]
        timeline: Option<PathBuf> = path();
        /// Leave out of the timeline what is over before this simulated time, such as 1.5s
        #[arg(long, value_name = "TIME", requires = "timeline")]
        timeline_from: Option<Nanos> = parse_moment, word "the begin of the measured part";
        /// Leave out of the timeline what begins at this simulated time or later
        #[arg(long, value_name = "TIME", requires = "timeline")]
        timeline_to: Option<Nanos> = parse_moment, word "the end of the run";
    }
}

/// What a record of `run` says of an option that nobody gave.
pub fn default_of(field: &str) -> &'static str {
    let groups = [
        InputArgs::DEFAULTS,
        CacheArgs::DEFAULTS,
        PageArgs::DEFAULTS,
        HitArgs::DEFAULTS,
        MemoryArgs::DEFAULTS,
        LimitArgs::DEFAULTS,
        SeedArgs::DEFAULTS,
        JobsArgs::DEFAULTS,
        FormatOutArgs::DEFAULTS,
        RunArgs::DEFAULTS,
    ];
    let found = groups.iter().flat_map(|g| g.iter()).find(|d| d.0 == field);
    // A flag.
    found.map_or("false", |default| default.1)
}

impl RunArgs {
    /// The command that has these options, for what they say of values.
    pub fn command() -> Command {
        let mut command = RunArgs::augment_args(Command::new("run"));
        command.build();
        command
    }

    /// What `run` is told by these words.
    pub fn of_command(words: &[&str]) -> RunArgs {
        let command = RunArgs::augment_args(Command::new("run").no_binary_name(true));
        let given = command.get_matches_from(words);
        RunArgs::from_arg_matches(&given).expect("the words were read by these options")
    }

    /// Is there one stream of requests only, as far as that is known before the traces are read?
    pub fn is_one_stream(&self) -> bool {
        self.traces.len() * self.host_fs.len().max(1) <= 1 && !self.input.split()
    }

    /// What is given for addresses beyond the device, if anything is.
    pub fn given_addresses(&self) -> Option<Addresses> {
        match (self.wrap, self.fit) {
            (true, _) => Some(Addresses::Wrap),
            (_, true) => Some(Addresses::Fit),
            _ => self.addresses,
        }
    }

    /// What is done with addresses beyond the device.
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

    /// What a timeline shows.
    pub fn timeline_window(&self) -> TimelineWindow {
        TimelineWindow {
            from: self.timeline_from,
            to: self.timeline_to.unwrap_or(Nanos::NEVER),
        }
    }
}
