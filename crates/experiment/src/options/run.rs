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
        /// Run file in TOML: its keys are these options and `trace`. Tables `[[run]]` describe
        /// several runs for one table of results. Options on the command line override the file
        #[arg(long, value_name = "FILE.toml")]
        config: Option<PathBuf> = path();
        /// Folder with the traces of the run file
        #[arg(long, value_name = "DIR", requires = "config")]
        trace_dir: Option<PathBuf> = path(), word "the folder of the run file";
        /// Trace files, plain or compressed (.zst, .gz, .xz); `-` is standard input
        #[arg(value_name = "TRACE")]
        traces: Vec<PathBuf> = path();
        flatten input: InputArgs;
        /// Model of a file system between trace and device: `inplace`, `lfs(KEY=VALUE,...)`, or
        /// `f2fs(...)`, which is `lfs` with the rules of F2FS; repeatable
        #[arg(long, value_name = "FS")]
        host_fs: Vec<HostFsArg> = host_fs, word "none, the device gets the trace unchanged";
        flatten caches: CacheArgs;
        /// Subtract the scheme's worst-case metadata from the cache size, so that fewer pages fit
        #[arg(long)]
        charge_metadata: bool, shown "the metadata is measured only";
        flatten pages: PageArgs;
        /// Device behind the cache: a preset (see `destage presets`), a device file, or `none`.
        /// Without a device, hits and flash traffic are counted, and nothing takes time
        #[arg(long, value_name = "none|PRESET|FILE.toml")]
        device: Option<String> = text(), word "none";
        /// Override one key of the device; repeatable
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String> = text();
        flatten hits: HitArgs;
        /// Multiply all arrival times by this factor
        #[arg(long, value_name = "X")]
        time_scale: Option<TimeScaleArg> = time_scale, default "1";
        /// Queue depth of a closed loop: issue this many requests, then the next at each completion.
        /// The arrival times of the trace are ignored; needs a device
        #[arg(long, value_name = "QD", conflicts_with = "time_scale")]
        closed_loop: Option<NonZeroU32> = whole(NonZeroU32::MIN..=NonZeroU32::MAX),
            word "off", shown "";
        /// How to handle a trace that has addresses beyond the device; needs a device
        #[arg(long, value_name = "HOW")]
        addresses: Option<Addresses> = one_of(ADDRESSES), default "fit";
        /// Same as `--addresses wrap`
        #[arg(long, hide = true, conflicts_with = "addresses")]
        wrap: bool;
        /// Same as `--addresses fit`
        #[arg(long, hide = true, conflicts_with_all = ["addresses", "wrap"])]
        fit: bool;
        flatten memory: MemoryArgs;
        flatten limit: LimitArgs;
        /// Sample the imbalance of the chip queues before every dirty eviction; slows the run, needs
        /// a device
        #[arg(long)]
        unbalance: bool;
        /// Columns of the table: page-hit, read-hit, write-hit, mean, p99, iops, mb-per-s,
        /// flash-writes, dirty-left, waf, evictions, pages-per-eviction, or fields of the record such
        /// as counts.erases
        #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
        columns: Vec<String> = text(), shown "all that fit";
        /// Count pages and hits by the size of the write request that inserted the page; slows the
        /// run
        #[arg(long)]
        hits_by_size: bool;
        /// Write back all dirty pages after the last request; the cost is reported separately
        #[arg(long)]
        flush_at_end: bool;
        flatten random: SeedArgs;
        flatten threads: JobsArgs;
        /// Folder for results.jsonl, to which each run adds a line, and for results.csv or
        /// results.parquet (--format-out). The table goes to standard output. Finished runs in the
        /// folder are not repeated
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf> = path();
        /// Repeat all runs, and replace the results in the folder of --out
        #[arg(long, requires = "out")]
        fresh: bool, shown "";
        flatten form: FormatOutArgs;
        /// Print more figures below the table: request hits, response times, evictions, flash traffic
        /// by cause, and metadata; with a device also wear, energy, and load
        #[arg(long)]
        details: bool;
        /// Write tables and charts of all runs as one self-contained HTML page
        #[arg(long, value_name = "FILE.html")]
        report: Option<PathBuf> = path();
        /// Write one JSON object per eviction; several runs need --out and write one file each
        #[arg(long, value_name = "FILE.jsonl")]
        log_evictions: Option<PathBuf> = path();
        /// Write arrival and completion of every request; needs a device; several runs need --out and
        /// write one file each
        #[arg(long, value_name = "FILE.csv")]
        log_requests: Option<PathBuf> = path();
        /// Write hit ratios, response times, flash traffic, and cache contents per interval, as CSV,
        /// or as Parquet if the name ends in .parquet; several runs need --out and write one file
        /// each
        #[arg(long, value_name = "FILE.csv|FILE.parquet")]
        series: Option<PathBuf> = path();
        /// Length of an interval: a number of requests, not counting a file system's cleaning, or
        /// simulated time such as 1s
        #[arg(long, value_name = "N|TIME", requires = "series")]
        series_every: Option<Every> = parse_every, default "10000";
        /// Write the activity of requests, channel buses, dies, and garbage collection as a trace for
        /// ui.perfetto.dev, which shows why a request waited; needs a device; several runs need --out
        /// and write one file each
        #[arg(long, value_name = "FILE.pftrace")]
        timeline: Option<PathBuf> = path();
        /// Omit activity that ends before this simulated time, such as 1.5s
        #[arg(long, value_name = "TIME", requires = "timeline")]
        timeline_from: Option<Nanos> = parse_moment, word "the start of the measured part";
        /// Omit activity that begins at this simulated time or later
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
