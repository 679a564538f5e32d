//! Options of `destage waf`.

use clap::{Args, ValueEnum};
use destage_device::config::{GcPolicy, GcStreams};
use destage_experiment::options::command_line::words;
use destage_experiment::options::groups::{JobsArgs, LimitArgs, SeedArgs};
use destage_experiment::options::readers::{OptionWords, real, share, whole};
use destage_sim::waf::WafZone;
use std::path::PathBuf;
use std::str::FromStr;

/// Options of `waf`.
#[derive(Args, Debug)]
#[command(mut_arg("seed", |arg| arg.help("Seed of all random numbers [default: 1]")))]
#[command(mut_arg("jobs", |arg| arg.help("Points at the same time [default: all processors]")))]
pub struct WafArgs {
    /// Zipf exponents, 0 to 10, separated by commas. The page of rank r is written with weight
    /// r^-THETA; ranks are shuffled over the pages [default: uniform writes]
    #[arg(long, value_name = "THETA,...", value_delimiter = ',', value_parser = real(|x| (0.0..=10.0).contains(&x), "from 0 to 10"),
          conflicts_with = "zones")]
    pub zipf: Vec<f64>,
    /// Pages of the drive that those of --zipf stand for, if it is scaled down; no fewer than logical
    /// pages [default: those of the point]
    #[arg(long, value_name = "PAGES", requires = "zipf", value_parser = whole(1..=1u64 << 40))]
    pub zipf_pages: Option<u64>,
    /// Hot and cold zones: the share of the space and of the writes of each, such as
    /// 0.2:0.8+0.8:0.2. Zones are shuffled over the pages
    #[arg(long, value_name = "SPACE:WRITES+...,...", value_delimiter = ',',
          value_parser = str::parse::<ZonesArg>)]
    pub zones: Vec<ZonesArg>,
    /// Shares of the writes, 0 to 1, that go through all pages in order [default: 0]
    #[arg(long, value_name = "SHARE,...", value_delimiter = ',', value_parser = share)]
    pub sequential: Vec<f64>,
    /// Fill factors: logical / physical pages, above 0 and below 1 [default: 0.875]
    #[arg(long, value_name = "SHARE,...", value_delimiter = ',', value_parser = real(|x| x > 0.0 && x < 1.0, "above 0 and below 1"))]
    pub fill: Vec<f64>,
    /// Numbers of blocks, 2 to 1048576 [default: 2048]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = whole(2..=1u32 << 20))]
    pub blocks: Vec<u32>,
    /// Pages of a block, 1 to 65535 [default: 512]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = whole(1..=65_535u32))]
    pub pages_per_block: Vec<u32>,
    /// How collection chooses its victim [default: greedy]
    #[arg(long, value_name = "POLICY,...", value_delimiter = ',', value_parser = words(VICTIM))]
    pub victim: Vec<GcPolicy>,
    /// Blocks that d-choices draws, 1 to 1024 [default: 10]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = whole(1..=1024u32))]
    pub choices: Vec<u32>,
    /// Which block takes the copies of collection, and what it keeps free [default: shared]
    #[arg(long, value_name = "RULE,...", value_delimiter = ',', value_parser = words(STREAMS))]
    pub streams: Vec<GcStreams>,
    /// Pages of an LRU write buffer in front of the flash, fewer than logical pages. A hit counts as a
    /// host write and costs nothing [default: 0]
    #[arg(long, value_name = "PAGES,...", value_delimiter = ',', value_parser = whole(0..=u32::MAX))]
    pub buffer: Vec<u32>,
    /// Warm-up after a sequential fill, in physical capacities that reach the flash, 0 to 1000. It ends
    /// after 20 times as many host writes, if the buffer takes them [default: 1]
    #[arg(long, value_name = "N", value_parser = whole(0..=1000u32))]
    pub warmup: Option<u32>,
    /// Measured part, in overwrites of the logical pages, 1 to 1000 [default: 10]
    #[arg(long, value_name = "N", value_parser = whole(1..=1000u32))]
    pub overwrites: Option<u32>,
    /// What the first write meets [default: sequential]
    #[arg(long, value_name = "STATE")]
    pub start: Option<WafStart>,
    /// Show the write amplification of each tenth of the measured part
    #[arg(long)]
    pub tenths: bool,
    #[command(flatten)]
    pub random: SeedArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub limit: LimitArgs,
    /// Format of the points [default: table]
    #[arg(long, value_name = "FORMAT")]
    pub format_out: Option<WafOut>,
    /// Write tables and charts as one self-contained HTML page
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
}

/// `--victim`.
pub const VICTIM: &OptionWords<GcPolicy> = &[
    (
        GcPolicy::Greedy,
        "greedy",
        "The block with the fewest valid pages",
    ),
    (
        GcPolicy::CostBenefit,
        "cost-benefit",
        "The block with the best ratio of free space times age to cost",
    ),
    (
        GcPolicy::DChoices,
        "d-choices",
        "The best of --choices blocks drawn at random",
    ),
    (GcPolicy::Random, "random", "A block drawn at random"),
];

/// `--streams`.
pub const STREAMS: &OptionWords<GcStreams> = &[
    (
        GcStreams::Shared,
        "shared",
        "The host's block; one block stays free for the copies",
    ),
    (
        GcStreams::Own,
        "own",
        "A block of its own; one block stays free for the collector",
    ),
    (
        GcStreams::TwoRegion,
        "two-region",
        "Blocks of a cold region (2R), packed from several victims; nothing is kept free",
    ),
    (
        GcStreams::InPlace,
        "in-place",
        "The victim itself, after its erase; nothing is kept free",
    ),
];

/// `--start`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum WafStart {
    /// All logical pages were written once, in ascending order.
    Sequential,
}

/// How points are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum WafOut {
    /// Text table.
    Table,
    /// One JSON array of all points.
    Json,
    /// One JSON object per point.
    Jsonl,
    /// One line per point.
    Csv,
}

/// The zones of a pattern.
#[derive(Clone, PartialEq, Debug)]
pub struct ZonesArg(pub Vec<WafZone>);

impl FromStr for ZonesArg {
    type Err = String;

    fn from_str(text: &str) -> Result<ZonesArg, String> {
        let zone = |text: &str| {
            let shares = text.split_once(':');
            let shares = shares.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
            let (space, writes) = shares.ok_or_else(|| {
                format!("`{text}` is not SPACE:WRITES; allowed: zones such as 0.2:0.8+0.8:0.2")
            })?;
            Ok(WafZone { space, writes })
        };
        let zones: Result<_, String> = text.split('+').map(zone).collect();
        zones.map(ZonesArg)
    }
}
