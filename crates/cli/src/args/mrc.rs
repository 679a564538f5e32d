//! Options of `destage mrc`.

use clap::{Args, ValueEnum};
use destage_experiment::options::groups::*;
use destage_experiment::options::readers::{real, whole};
use std::path::PathBuf;

/// Options of `mrc`.
#[derive(Args, Debug)]
#[command(mut_arg("scheme", |arg| arg.help("Cache schemes, such as `lru,arc`, or `all`: one curve each; repeatable [default: lru]")))]
#[command(mut_arg("cache", |arg| arg.help(
    "Cache sizes with a unit, such as `4MiB,16MiB`, or as a share of the pages that the trace touches, such as \
     10%: one point of each curve each; repeatable [default: two sizes per power of two, \
     from 1/1024 of the pages that the trace touches to all of them]"
)))]
#[command(mut_arg("page", |arg| arg.help("Page size with a unit, 512B to 64KiB [default: 4KiB]")))]
#[command(mut_arg("read_fill", |arg| arg.help(
    "Sectors that a read miss loads into the cache: those of the whole page, or the requested ones [default: page]"
)))]
#[command(mut_arg("seed", |arg| arg.help(
    "Seed of the sample and of schemes that draw random numbers [default: 1]"
)))]
pub struct MrcArgs {
    /// Trace file, plain or compressed (.zst, .gz, .xz); `-` is standard input, `demo` the built-in workload
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
    /// Estimate from a sample of this share of the pages, above 0 and at most 1, such as 0.01; schemes other than
    /// `lru` also run over all pages, at two sizes
    #[arg(long, value_name = "R", value_parser = real(|x| x > 0.0 && x <= 1.0, "above 0 and at most 1"), conflicts_with = "sample_pages")]
    pub sample_rate: Option<f64>,
    /// Estimate from a sample of this many pages; as `--sample-rate`
    #[arg(long, value_name = "N", value_parser = whole(1..=u64::MAX))]
    pub sample_pages: Option<u64>,
    #[command(flatten)]
    pub random: SeedArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    /// Format of the points [default: table]
    #[arg(long, value_name = "FORMAT")]
    pub format_out: Option<PointsOut>,
    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    pub limit: LimitArgs,
    /// Draw the curves as a picture for papers: SVG, or PNG if the name ends in .png
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    pub plot: Option<PathBuf>,
    /// Write tables and charts of the curves as one self-contained HTML page
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
}

/// How the points of curves are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PointsOut {
    /// Text table.
    Table,
    /// One JSON object per point.
    Jsonl,
    /// One line per point.
    Csv,
}
