//! `cargo xtask bench`: how fast destage is, and how fast its peer is on the same machine in the
//! same run. Figures are ratios to read beside each other, not a timed test.

mod cache;
mod device;
mod peer;
mod program;
mod ratios;
mod reader;
mod table;

use crate::programs::Build;
use anyhow::{Context, Result, bail};
use program::Program;
pub use program::output;
use std::path::PathBuf;
use table::Table;
use tempfile::TempDir;

/// Options of the benches.
#[derive(clap::Args)]
pub struct Options {
    /// The same code on tiny inputs, without the peer: keeps the benches from rotting.
    #[arg(long)]
    small: bool,
    /// Run only the parts whose name contains this: cache, composed, reader, ratios, device.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Run only the schemes whose expression contains this.
    #[arg(long, value_name = "TEXT")]
    scheme: Option<String>,
    /// Python that makes the environment of libCacheSim.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// Leave libCacheSim out.
    #[arg(long)]
    no_peer: bool,
    /// Measure what `cargo install` builds, in place of what is shipped: it builds sooner.
    #[arg(long, conflicts_with = "small")]
    release: bool,
    /// Measurements of which the median is taken.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Print tables in Markdown.
    #[arg(long)]
    markdown: bool,
}

/// Sizes of the inputs.
struct Sizes {
    accesses: u64,
    universe: u64,
    cache_pages: &'static [u64],
    lines: u64,
    device_requests: u64,
    runs: u32,
}

const FULL: Sizes = Sizes {
    accesses: 20_000_000,
    universe: 2_000_000,
    cache_pages: &[4_096, 16_384, 65_536],
    lines: 20_000_000,
    device_requests: 1_000_000,
    runs: 3,
};

const SMALL: Sizes = Sizes {
    accesses: 20_000,
    universe: 2_000,
    cache_pages: &[64, 256],
    lines: 2_000,
    device_requests: 500,
    runs: 1,
};

/// State that all parts share.
struct Bench {
    options: Options,
    sizes: Sizes,
    program: Program,
    temp: TempDir,
}

impl Bench {
    /// The expressions of a list that are asked for.
    fn wanted<'a>(&self, expressions: &[&'a str]) -> Vec<&'a str> {
        let text = self.options.scheme.as_deref().unwrap_or("");
        let asked = expressions.iter().copied();
        asked.filter(|e| e.contains(text)).collect()
    }
}

type Part = fn(&Bench) -> Result<Vec<Table>>;

const PARTS: &[(&str, Part)] = &[
    ("cache", cache::policies),
    ("composed", cache::compositions),
    ("reader", reader::lines),
    ("ratios", ratios::beside_one_run),
    ("device", device::common_workload),
];

/// Runs the parts and prints their tables.
///
/// # Errors
/// Something cannot be built or started, a measurement fails, or no part is called like that.
pub fn run(options: Options) -> Result<()> {
    let only = options.only.clone().unwrap_or_default();
    let parts: Vec<_> = PARTS.iter().filter(|p| p.0.contains(&only)).collect();
    if parts.is_empty() {
        let names: Vec<&str> = PARTS.iter().map(|p| p.0).collect();
        bail!("no part is called like that; parts: {}", names.join(", "));
    }
    let sizes = if options.small {
        SMALL
    } else {
        Sizes {
            runs: options.runs,
            ..FULL
        }
    };
    let program = Program::build(match (options.small, options.release) {
        (true, _) => Build::Tests,
        (_, true) => Build::Release,
        _ => Build::Dist,
    })?;
    let bench = Bench {
        options,
        sizes,
        program,
        temp: tempfile::tempdir().context("cannot make a temporary folder")?,
    };
    println!("{}", machine());
    for (name, part) in parts {
        eprintln!("== {name}");
        for table in part(&bench)? {
            println!("\n{}", table.text(bench.options.markdown));
        }
    }
    Ok(())
}

/// Commit and machine, for the reader of the tables.
fn machine() -> String {
    let output = |program: &str, args: &[&str]| {
        let output = std::process::Command::new(program)
            .args(args)
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        Some(text.trim().to_owned()).filter(|t| !t.is_empty())
    };
    let commit = output("git", &["describe", "--always", "--dirty", "--abbrev=12"]);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|l| l.strip_prefix("model name"));
    let model = model.and_then(|l| l.split_once(": ")).map(|l| l.1);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let compiler = output("rustc", &["--version"]);
    format!(
        "Commit {}, {} with {cores} cores, {}.",
        commit.as_deref().unwrap_or("unknown"),
        model.unwrap_or("unknown processor"),
        compiler.as_deref().unwrap_or("unknown compiler"),
    )
}
