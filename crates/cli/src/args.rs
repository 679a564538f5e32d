//! What can be said on the command line and in run files. Values are checked one by one here and
//! against each other in `run::plan`; absent options stay absent, so that a setting knows its origin.

mod examples;
mod options;
mod serve;
mod trace;
mod values;

pub use options::{FileEntry, FromFile, texts};
pub use serve::{CtlArgs, CtlWord, DataArg, ExportArgs, ModelArgs, ServeArgs, ServerArgs};
pub use trace::{
    FitArgs, FsArg, ImportArgs, StreamArg, SynthArgs, ToFormat, TraceArgs, TraceCommand,
};
pub use values::{
    HostFsArg, READ_ALLOC, READ_FILL, TimeScaleArg, VolumesArg, command_line, word_of,
};

use crate::memory::MemoryLimit;
use crate::repro::Scale;
use crate::run::{parse_every, parse_moment};
use clap::builder::{EnumValueParser, PathBufValueParser, StringValueParser};
use clap::{Args, FromArgMatches, Parser, Subcommand, ValueEnum};
use destage_scheme::ReadAlloc;
use destage_sim::{Every, ReadFill, TimelineWindow, Warmup};
use destage_trace::{BlkEvent, LoadOptions, TagSet, TimeUnit, Volumes};
use destage_types::{ByteSize, Nanos, PageSize};
use options::options;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use values::{host_fs, one_of, page_size, sample_rate, time_scale, whole};

/// A laboratory for the cache inside a NAND SSD.
#[derive(Parser, Debug)]
#[command(name = "destage", version = crate::VERSION, max_term_width = 100,
          after_help = examples::ROOT)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: DestageCommand,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum DestageCommand {
    /// Replay traces through caches and print what each scheme achieves.
    #[command(after_help = examples::RUN)]
    Run(Box<RunArgs>),
    /// Hit ratio against cache size: a curve per scheme, exact or from a sample of the pages.
    #[command(after_help = examples::MRC)]
    Mrc(Box<MrcArgs>),
    /// Run a built-in workload through the standard schemes; needs no input.
    #[command(after_help = examples::DEMO)]
    Demo(DemoArgs),
    /// Run what the papers measured, and print what they say beside what comes out.
    #[command(after_help = examples::REPRO)]
    Repro(ReproArgs),
    /// Serve the simulated SSD with real data as a block device, over NBD.
    ///
    /// Replies leave when the simulated device is done. SIGINT and SIGTERM flush the device and print
    /// what a run prints; then the exit code is 0.
    #[command(after_help = examples::SERVE)]
    Serve(Box<ServeArgs>),
    /// Tell a server that runs what to do, by its control socket.
    ///
    /// Exit code 1: the server refused, and says why.
    #[command(after_help = examples::CTL)]
    Ctl(CtlArgs),
    /// List the cache schemes, or explain one.
    #[command(after_help = examples::SCHEMES)]
    Schemes(SchemesArgs),
    /// List the devices that come with the program, or print one as TOML.
    #[command(after_help = examples::PRESETS)]
    Presets(PresetsArgs),
    /// Look at traces and convert them.
    #[command(after_help = examples::TRACE)]
    Trace(TraceArgs),
    /// Print the completion script of a shell.
    #[command(hide = true, after_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Write the manual pages.
    #[command(hide = true, after_help = examples::MAN)]
    Man(ManArgs),
}

fn path() -> PathBufValueParser {
    PathBufValueParser::new()
}

fn text() -> StringValueParser {
    StringValueParser::new()
}

options! {
    /// How traces are read.
    InputArgs {
        /// Trace format; told by the content if absent
        #[arg(long, value_name = "NAME")]
        format: Option<String> = text(), word "detected", shown "";
        /// Stop after that many requests of each trace. `--volumes only=NAME` counts those of the volume,
        /// `--volumes split` those of the whole file
        #[arg(long, value_name = "N")]
        limit: Option<u64> = whole(1..=u64::MAX), word "none", shown "";
        /// Count bad lines and go on, instead of stopping at the first one
        #[arg(long)]
        skip_bad_lines: bool;
        /// Keep requests of these kinds only, joined by commas: reads and writes by their tag (data,
        /// node, meta, gc, none), discard, flush
        #[arg(long, value_name = "KINDS")]
        tags: Option<TagSet> = str::parse::<TagSet>, word "all", shown "";
        /// Volumes of a trace that has several: one behind the other, one of them, each a trace of
        /// its own, or all at the same addresses
        #[arg(long, value_name = "stack|only=VOLUME|split|overlay")]
        volumes: Option<VolumesArg> = str::parse::<VolumesArg>, default "stack";
        /// Event of a blkparse trace that counts as a request: Q (queued), G (allocated), I
        /// (inserted), D (issued) or C (completed)
        #[arg(long, value_name = "Q|G|I|D|C")]
        event: Option<BlkEvent> = str::parse::<BlkEvent>, default "Q";
        /// Unit of the trace's times, for files that do not keep to that of their format, such as
        /// SSDsim's in us
        #[arg(long, value_name = "s|ms|us|ns")]
        time_unit: Option<TimeUnit> = str::parse::<TimeUnit>, word "as the format says", shown "";
    }
}

options! {
    /// Which caches.
    CacheArgs {
        /// Cache scheme, such as `lru` or `cac(prober(lirs))`; repeatable
        #[arg(long, value_name = "EXPR")]
        scheme: Vec<String> = text(), default "lru";
        /// Cache size with its unit, such as 16MiB; repeatable
        #[arg(long, value_name = "SIZE")]
        cache: Vec<ByteSize> = ByteSize::parse, default "16MiB",
            shown "that of the device, or 16MiB without one";
    }
}

options! {
    /// Which pages.
    PageArgs {
        /// Page size with its unit, 512B to 64KiB
        #[arg(long, value_name = "SIZE")]
        page: Option<PageSize> = page_size, default "4KiB",
            shown "that of the device, or 4KiB without one";
    }
}

options! {
    /// How hits are counted.
    HitArgs {
        /// Do pages that a read missed enter the cache?
        #[arg(long, value_name = "WHEN")]
        read_alloc: Option<ReadAlloc> = one_of(READ_ALLOC), default "scheme",
            shown "scheme, as each scheme says";
        /// What a read miss brings in: the whole page, or the requested sectors
        #[arg(long, value_name = "WHAT")]
        read_fill: Option<ReadFill> = one_of(READ_FILL), default "page",
            shown "as the device says, or page without one";
        /// Part before the measured one: requests, percent (`10%`) or whole passes (`passes=1`)
        #[arg(long, value_name = "N|N%|passes=K")]
        warmup: Option<Warmup> = Warmup::parse, word "none", shown "";
    }
}

options! {
    /// How much memory.
    LimitArgs {
        /// Memory that the program may take; what would need more is refused
        #[arg(long, value_name = "SIZE")]
        memory: Option<ByteSize> = ByteSize::parse,
            word "70 % of what the machine, its cgroup or its address space has";
    }
}

options! {
    /// How much memory for traces.
    MemoryArgs {
        /// Memory for the requests of one trace; a larger trace is decoded into a temporary file,
        /// which every run streams
        #[arg(long, value_name = "SIZE")]
        trace_memory: Option<ByteSize> = ByteSize::parse, word "a quarter of --memory, at most 1GiB";
    }
}

options! {
    /// What random numbers begin with.
    SeedArgs {
        /// Seed of schemes that draw random numbers
        #[arg(long, value_name = "N")]
        seed: Option<u64> = whole(0..=u64::MAX), default "1";
    }
}

options! {
    /// How many threads.
    JobsArgs {
        /// Runs at the same time
        #[arg(long, value_name = "N")]
        jobs: Option<u16> = whole(1..=u16::MAX), word "all processors";
    }
}

options! {
    /// How results are written.
    FormatOutArgs {
        /// How results are written
        #[arg(long, value_name = "FORMAT")]
        format_out: Option<FormatOut> = EnumValueParser::<FormatOut>::new(), default "table";
    }
}

options! {
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
        /// Take addresses beyond the device modulo its size, and count such requests, instead of
        /// refusing them
        #[arg(long)]
        wrap: bool;
        /// If the trace has addresses beyond the device, move the parts of 1 MiB that it touches
        /// together, in their order, instead of refusing it; where these take more than the device,
        /// in smaller parts, down to a page
        #[arg(long, conflicts_with = "wrap")]
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
        /// https://ui.perfetto.dev, which shows why a request waited; needs a device, several runs
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

impl RunArgs {
    /// What nobody says anything of.
    pub fn none() -> RunArgs {
        let command = RunArgs::augment_args(clap::Command::new("run"));
        let given = command.get_matches_from(["run"]);
        RunArgs::from_arg_matches(&given).expect("no option of `run` is required")
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

impl InputArgs {
    /// The options of the reader; `hash`: is the hash of the file wanted?
    pub fn options(&self, hash: bool) -> LoadOptions {
        LoadOptions {
            format: self.format.clone(),
            limit: self.limit,
            skip_bad_lines: self.skip_bad_lines,
            hash,
            volumes: match self.volumes() {
                VolumesArg::Read(volumes) => volumes,
                // Placed by the split.
                VolumesArg::Split => Volumes::Stack,
            },
            event: self.event(),
            tags: self.tags,
            time_unit: self.time_unit,
        }
    }

    /// Does every volume become a trace of its own?
    pub fn split(&self) -> bool {
        self.volumes == Some(VolumesArg::Split)
    }
}

impl RunArgs {
    /// What `run` is told by these words.
    pub fn of_command(words: &[&str]) -> RunArgs {
        let words = ["destage", "run"].iter().chain(words);
        match Cli::parse_from(words).command {
            DestageCommand::Run(args) => *args,
            _ => unreachable!("the command is `run`"),
        }
    }

    /// Is there one stream of requests only, as far as that is known before the traces are read?
    pub fn is_one_stream(&self) -> bool {
        self.traces.len() * self.host_fs.len().max(1) <= 1 && !self.input.split()
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

impl LimitArgs {
    /// What the program may take.
    pub fn limit(&self) -> MemoryLimit {
        MemoryLimit::new(self.memory)
    }
}

impl MemoryArgs {
    /// What the requests of one trace may take.
    pub fn of_requests(&self, limit: MemoryLimit) -> u64 {
        let given = self.trace_memory.map(|given| given.0);
        given.unwrap_or_else(|| limit.of_requests())
    }
}

impl JobsArgs {
    /// Threads to use.
    pub fn resolve(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.map_or_else(all, usize::from)
    }
}

/// Options of `mrc`.
#[derive(Args, Debug)]
#[command(mut_arg("scheme", |arg| arg.help("Cache scheme; repeatable, a curve each [default: lru]")))]
#[command(mut_arg("cache", |arg| arg.help(
    "Cache size with its unit, a point of the curves; repeatable [default: two sizes to each power of \
     two, from a 1024th of the pages that the trace touches to all of them]"
)))]
#[command(mut_arg("page", |arg| arg.help("Page size with its unit, 512B to 64KiB [default: 4KiB]")))]
#[command(mut_arg("read_fill", |arg| arg.help(
    "What a read miss brings in: the whole page, or the requested sectors [default: page]"
)))]
#[command(mut_arg("seed", |arg| arg.help(
    "Seed of the sample, and of schemes that draw random numbers [default: 1]"
)))]
pub struct MrcArgs {
    /// Trace file, plain or compressed (.zst, .gz, .xz); `-` is standard input
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub caches: CacheArgs,
    #[command(flatten)]
    pub pages: PageArgs,
    #[command(flatten)]
    pub hits: HitArgs,
    /// Estimate from a sample of that share of the pages, above 0 and at most 1, such as 0.01
    #[arg(long, value_name = "R", value_parser = sample_rate, conflicts_with = "sample_pages")]
    pub sample_rate: Option<f64>,
    /// Estimate from a sample of that many pages
    #[arg(long, value_name = "N", value_parser = whole(1..=u64::MAX))]
    pub sample_pages: Option<u64>,
    #[command(flatten)]
    pub random: SeedArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    /// How the points are written [default: table]
    #[arg(long, value_name = "FORMAT")]
    pub format_out: Option<PointsOut>,
    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    pub limit: LimitArgs,
    /// Draw the curves as a picture
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Write tables and charts of the curves as one HTML page that needs nothing else
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
}

/// How the points of curves are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PointsOut {
    /// A table for people.
    Table,
    /// One JSON object per point.
    Jsonl,
    /// One line per point.
    Csv,
}

/// Options of `demo`.
#[derive(Args, Debug)]
#[command(mut_arg("seed", |arg| arg.help("Seed of the workload [default: 1]")))]
pub struct DemoArgs {
    #[command(flatten)]
    pub random: SeedArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub form: FormatOutArgs,
    /// Write tables and charts as one HTML page that needs nothing else
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
}

/// Options of `repro`.
#[derive(Args, Debug)]
pub struct ReproArgs {
    /// Paper: req-block, prober, cac, ecr, procache, or all of them
    #[arg(default_value = "all")]
    pub paper: String,
    /// Only this figure, table or section, as the ledger names it
    pub figure: Option<String>,
    /// How much of the traces is run
    #[arg(long, value_enum, default_value = "small")]
    pub scale: Scale,
    /// Folder of real traces; those with the published names are the originals, all others are tried
    /// with the cache scaled to what they write [default: $DESTAGE_TRACES]
    #[arg(long, value_name = "DIR")]
    pub traces: Option<PathBuf>,
    /// Run twins of the papers' traces, too: generated likenesses, which have rows of their own and
    /// decide nothing
    #[arg(long)]
    pub twins: bool,
    /// Folder of ledgers, figures and results; what is done there is not repeated
    #[arg(long, value_name = "DIR", default_value = "repro")]
    pub out: PathBuf,
    /// Page of charts and claims, which needs nothing else [default: report.html in the folder of --out]
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Repeat what is done
    #[arg(long)]
    pub fresh: bool,
    #[command(flatten)]
    pub limit: LimitArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
}

/// Options of `schemes`.
#[derive(Args, Debug)]
pub struct SchemesArgs {
    /// Explain this scheme: parameters, defaults, ranges, source, tie rule
    pub name: Option<String>,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// Options of `presets`.
#[derive(Args, Debug)]
pub struct PresetsArgs {
    /// Print this preset or device file: every effective value, its origin and its source
    pub name: Option<String>,
    /// Override one key; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "name")]
    pub set: Vec<String>,
}

/// Options of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// Shell that reads the script
    pub shell: clap_complete::Shell,
}

/// Options of `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Folder for the pages, one for the program and one for each command
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// How results are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum FormatOut {
    /// A table for people, when all runs are done.
    Table,
    /// One result record per line, as soon as it is known.
    Jsonl,
    /// One line per run with the scalars of the record, as soon as it is known.
    Csv,
    /// Typed columns for all fields of the record, when all runs are done; for --out or a pipe.
    Parquet,
}
