//! What can be said on the command line. Values are checked one by one here and against each
//! other in `run::plan`; absent options stay absent, so that a setting knows its origin.

mod trace;
mod values;

pub use trace::{FsArg, ImportArgs, StreamArg, SynthArgs, ToFormat, TraceArgs, TraceCommand};
pub use values::command_line;

use crate::run::parse_every;
use clap::{Args, Parser, Subcommand, ValueEnum};
use destage_fsmodel::host_fs::HostFs;
use destage_scheme::ReadAlloc;
use destage_sim::spec::TimeScale;
use destage_sim::{Every, ReadFill, Warmup};
use destage_trace::{BlkEvent, LoadOptions, TagSet, Volumes};
use destage_types::{ByteSize, PageSize};
use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;
use values::{page_size, sample_rate, time_scale, whole};

/// A laboratory for the cache inside a NAND SSD.
#[derive(Parser, Debug)]
#[command(name = "destage", version = crate::VERSION, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Replay traces through caches and print what each scheme achieves.
    Run(Box<RunArgs>),
    /// Hit ratio against cache size: a curve per scheme, exact or from a sample of the pages.
    Mrc(Box<MrcArgs>),
    /// Run a built-in workload through the standard schemes; needs no input.
    Demo(DemoArgs),
    /// List the cache schemes, or explain one.
    Schemes(SchemesArgs),
    /// List the devices that come with the program, or print one as TOML.
    Presets(PresetsArgs),
    /// Look at traces and convert them.
    Trace(TraceArgs),
}

/// Options of `run`.
#[derive(Args, Debug, Clone)]
pub struct RunArgs {
    /// Run file: TOML whose keys are these options (and `trace`), tables `[[run]]` for several
    /// runs in one table of results; what the command line says goes before it
    #[arg(long, value_name = "FILE.toml")]
    pub config: Option<PathBuf>,
    /// Folder of the traces of a run file [default: that of the file]
    #[arg(long, value_name = "DIR", requires = "config")]
    pub trace_dir: Option<PathBuf>,
    /// Trace files, plain or compressed (.zst, .gz, .xz); `-` is standard input
    #[arg(value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    #[command(flatten)]
    pub input: InputArgs,
    /// File system between the trace and the device: `inplace`, `lfs(KEY=VALUE,...)` or
    /// `f2fs(...)`, which is `lfs` with the rules of F2FS; repeatable [default: none, the trace is
    /// what the device gets]
    #[arg(long = "host-fs", value_name = "FS", value_parser = host_fs)]
    pub host_fs: Vec<HostFsArg>,
    /// Cache scheme, such as `lru` or `cac(prober(lirs))`; repeatable [default: lru]
    #[arg(long = "scheme", value_name = "EXPR")]
    pub schemes: Vec<String>,
    /// Cache size with its unit, such as 16MiB; repeatable [default: that of the device, or 16MiB
    /// without one]
    #[arg(long = "cache", value_name = "SIZE", value_parser = ByteSize::parse)]
    pub caches: Vec<ByteSize>,
    /// Take the metadata of the scheme, as much as it can come to need, out of the cache size:
    /// fewer pages fit [default: it is only measured]
    #[arg(long)]
    pub charge_metadata: bool,
    /// Page size with its unit, 512B to 64KiB [default: that of the device, or 4KiB without one]
    #[arg(long, value_name = "SIZE", value_parser = page_size)]
    pub page: Option<PageSize>,
    /// Device behind the cache, as `destage presets` lists them, or `none`: hits and flash traffic
    /// are counted without time [default: none]
    #[arg(long, value_name = "none|PRESET|FILE.toml")]
    pub device: Option<String>,
    /// Override one key of the device; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Do pages that a read missed enter the cache? [default: scheme, as each scheme says]
    #[arg(long, value_name = "WHEN")]
    pub read_alloc: Option<ReadAllocArg>,
    /// What a read miss brings in: the whole page, or the requested sectors [default: as the device
    /// says, or page without one]
    #[arg(long, value_name = "WHAT")]
    pub read_fill: Option<ReadFillArg>,
    /// Part before the measured one: requests, percent (`10%`) or whole passes (`passes=1`)
    #[arg(long, value_name = "N|N%|passes=K", value_parser = Warmup::parse)]
    pub warmup: Option<Warmup>,
    /// Factor on all arrival times; needs a device [default: 1]
    #[arg(long, value_name = "X", value_parser = time_scale)]
    pub time_scale: Option<TimeScaleArg>,
    /// Ignore the arrivals of the trace: issue that many requests, then the next one whenever one
    /// completes; needs a device
    #[arg(long, value_name = "QD", conflicts_with = "time_scale",
          value_parser = whole(NonZeroU32::MIN..=NonZeroU32::MAX))]
    pub closed_loop: Option<NonZeroU32>,
    /// Take addresses beyond the device modulo its size, and count such requests, instead of
    /// refusing them
    #[arg(long)]
    pub wrap: bool,
    /// If the trace has addresses beyond the device, move the parts of 1 MiB that it touches
    /// together, in their order, instead of refusing it
    #[arg(long, conflicts_with = "wrap")]
    pub fit: bool,
    /// Memory for the requests of one trace; a larger trace is decoded into a temporary file,
    /// which every run streams [default: 4GiB]
    #[arg(long, value_name = "SIZE", value_parser = ByteSize::parse)]
    pub trace_memory: Option<ByteSize>,
    /// Sample how unevenly the chip queues are filled before every dirty eviction, which takes
    /// time; needs a device
    #[arg(long)]
    pub unbalance: bool,
    /// Write all dirty pages back after the last request; what that takes is reported apart
    #[arg(long)]
    pub flush_at_end: bool,
    /// Seed of schemes that draw random numbers [default: 1]
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX))]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub jobs: JobsArgs,
    /// Folder for results.jsonl, .csv or .parquet; the table then goes to standard output
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// How results are written [default: table]
    #[arg(long, value_name = "FORMAT")]
    pub format_out: Option<FormatOut>,
    /// Show what else was measured below the table: hits of requests, response times, evictions,
    /// flash traffic by cause, metadata, and with a device wear, energy and load
    #[arg(long)]
    pub details: bool,
    /// Write tables and charts of all runs as one HTML page that needs nothing else
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write one JSON object per eviction; several runs need --out and give a file each
    #[arg(long, value_name = "FILE.jsonl")]
    pub log_evictions: Option<PathBuf>,
    /// Write arrival and completion of every request; needs a device, several runs need --out
    #[arg(long, value_name = "FILE.csv")]
    pub log_requests: Option<PathBuf>,
    /// Write hit ratios, response times, flash traffic and what the cache holds per interval, as
    /// CSV, or as Parquet if the name ends so; several runs need --out and give a file each
    #[arg(long, value_name = "FILE.csv|FILE.parquet")]
    pub series: Option<PathBuf>,
    /// Length of an interval: requests, or simulated time such as 1s [default: 10000]
    #[arg(long, value_name = "N|TIME", value_parser = parse_every, requires = "series")]
    pub series_every: Option<Every>,
}

/// A file system with the text that was given.
#[derive(Clone, Debug)]
pub struct HostFsArg {
    /// The file system.
    pub fs: HostFs,
    /// As given.
    pub text: String,
}

fn host_fs(text: &str) -> Result<HostFsArg, String> {
    let fs = text.parse()?;
    let text = text.to_owned();
    Ok(HostFsArg { fs, text })
}

/// `--time-scale` with the text that was given.
#[derive(Clone, Debug)]
pub struct TimeScaleArg {
    /// The factor.
    pub scale: TimeScale,
    /// As given.
    pub text: String,
}

/// How traces are read.
#[derive(Args, Debug, Clone)]
pub struct InputArgs {
    /// Trace format; told by the content if absent
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Stop after that many requests of each trace
    #[arg(long, value_name = "N", value_parser = whole(1..=u64::MAX))]
    pub limit: Option<u64>,
    /// Count bad lines and go on, instead of stopping at the first one
    #[arg(long)]
    pub skip_bad_lines: bool,
    /// Keep requests of these kinds only, joined by commas: reads and writes by their tag (data,
    /// node, meta, gc, none), discard, flush
    #[arg(long, value_name = "KINDS")]
    pub tags: Option<TagSet>,
    /// Volumes of a trace that has several: one behind the other, one of them, each a trace of its
    /// own, or all at the same addresses [default: stack]
    #[arg(long, value_name = "stack|only=VOLUME|split|overlay")]
    pub volumes: Option<VolumesArg>,
    /// Event of a blkparse trace that counts as a request: Q (queued), G (allocated), I
    /// (inserted), D (issued) or C (completed) [default: Q]
    #[arg(long, value_name = "Q|G|I|D|C")]
    pub event: Option<BlkEvent>,
}

impl InputArgs {
    /// The options of the reader; `hash`: is the hash of the file wanted?
    pub fn options(&self, hash: bool) -> LoadOptions {
        LoadOptions {
            format: self.format.clone(),
            limit: self.limit,
            skip_bad_lines: self.skip_bad_lines,
            hash,
            volumes: match &self.volumes {
                Some(VolumesArg::Read(volumes)) => volumes.clone(),
                // Placed by the split.
                None | Some(VolumesArg::Split) => Volumes::Stack,
            },
            event: self.event.unwrap_or_default(),
            tags: self.tags,
        }
    }

    /// Does every volume become a trace of its own?
    pub fn split(&self) -> bool {
        self.volumes == Some(VolumesArg::Split)
    }
}

/// `--volumes`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VolumesArg {
    /// What the reader does with them.
    Read(Volumes),
    /// Each is a trace of its own.
    Split,
}

impl FromStr for VolumesArg {
    type Err = String;

    fn from_str(text: &str) -> Result<VolumesArg, String> {
        match text {
            "split" => Ok(VolumesArg::Split),
            _ => text
                .parse()
                .map(VolumesArg::Read)
                .map_err(|_| format!("`{text}` is none of stack, only=VOLUME, split, overlay")),
        }
    }
}

impl fmt::Display for VolumesArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VolumesArg::Read(volumes) => volumes.fmt(f),
            VolumesArg::Split => f.write_str("split"),
        }
    }
}

/// How many threads.
#[derive(Args, Debug, Clone)]
pub struct JobsArgs {
    /// Runs at the same time [default: all processors]
    #[arg(long, value_name = "N", value_parser = whole(1..=u16::MAX))]
    pub jobs: Option<u16>,
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
pub struct MrcArgs {
    /// Trace file, plain or compressed (.zst, .gz, .xz); `-` is standard input
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    #[command(flatten)]
    pub input: InputArgs,
    /// Cache scheme; repeatable, a curve each [default: lru]
    #[arg(long = "scheme", value_name = "EXPR")]
    pub schemes: Vec<String>,
    /// Cache size with its unit, a point of the curves; repeatable [default: two sizes to each
    /// power of two, from a 1024th of the pages that the trace touches to all of them]
    #[arg(long = "cache", value_name = "SIZE", value_parser = ByteSize::parse)]
    pub caches: Vec<ByteSize>,
    /// Page size with its unit, 512B to 64KiB [default: 4KiB]
    #[arg(long, value_name = "SIZE", value_parser = page_size)]
    pub page: Option<PageSize>,
    /// Do pages that a read missed enter the cache? [default: scheme, as each scheme says]
    #[arg(long, value_name = "WHEN")]
    pub read_alloc: Option<ReadAllocArg>,
    /// What a read miss brings in: the whole page, or the requested sectors [default: page]
    #[arg(long, value_name = "WHAT")]
    pub read_fill: Option<ReadFillArg>,
    /// Part before the measured one: requests, percent (`10%`) or whole passes (`passes=1`)
    #[arg(long, value_name = "N|N%|passes=K", value_parser = Warmup::parse)]
    pub warmup: Option<Warmup>,
    /// Estimate from a sample of that share of the pages, above 0 and at most 1, such as 0.01
    #[arg(long, value_name = "R", value_parser = sample_rate, conflicts_with = "sample_pages")]
    pub sample_rate: Option<f64>,
    /// Estimate from a sample of that many pages
    #[arg(long, value_name = "N", value_parser = whole(1..=u64::MAX))]
    pub sample_pages: Option<u64>,
    /// Seed of the sample, and of schemes that draw random numbers [default: 1]
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX))]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub jobs: JobsArgs,
    /// How the points are written [default: table]
    #[arg(long, value_name = "FORMAT")]
    pub format_out: Option<PointsOut>,
    /// Memory for the requests of one trace; a larger trace is decoded into a temporary file,
    /// which every run streams [default: 4GiB]
    #[arg(long, value_name = "SIZE", value_parser = ByteSize::parse)]
    pub trace_memory: Option<ByteSize>,
    /// Draw the curves as a picture
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
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
pub struct DemoArgs {
    /// Seed of the workload [default: 1]
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX))]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub jobs: JobsArgs,
    /// How results are written [default: table]
    #[arg(long, value_name = "FORMAT")]
    pub format_out: Option<FormatOut>,
    /// Write tables and charts as one HTML page that needs nothing else
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
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

/// `--read-alloc`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ReadAllocArg {
    /// Always; refused if a scheme cannot.
    On,
    /// Never.
    Off,
    /// As each scheme declares.
    Scheme,
}

impl From<ReadAllocArg> for ReadAlloc {
    fn from(arg: ReadAllocArg) -> ReadAlloc {
        match arg {
            ReadAllocArg::On => ReadAlloc::On,
            ReadAllocArg::Off => ReadAlloc::Off,
            ReadAllocArg::Scheme => ReadAlloc::Scheme,
        }
    }
}

/// `--read-fill`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ReadFillArg {
    /// The whole page.
    Page,
    /// The requested sectors.
    Requested,
}

impl From<ReadFillArg> for ReadFill {
    fn from(arg: ReadFillArg) -> ReadFill {
        match arg {
            ReadFillArg::Page => ReadFill::Page,
            ReadFillArg::Requested => ReadFill::Requested,
        }
    }
}
