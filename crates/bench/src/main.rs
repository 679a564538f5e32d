//! One measurement a process: `cargo xtask bench` starts this program and reads one JSON object
//! from its standard output. What is generated is generated before the clock starts.

mod cost;
mod minimal;
mod reader;
mod stream;
mod workload;
mod zipf;

use clap::{Parser, Subcommand};
use cost::{counted, measure};
use destage_scheme::{Expr, ReadAlloc};
use destage_sim::spec::TimeScale;
use destage_sim::{Hooks, ReadFill, Replay, RunSpec, Warmup, execute};
use destage_types::{ByteSize, PageSize};
use serde_json::{Value, json};
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use stream::Shape;

#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Names of the schemes that can be built.
    Schemes,
    /// A whole run over a decoded stream in memory, as `destage run` does it after decoding.
    Cache {
        /// Scheme expression.
        #[arg(long)]
        scheme: String,
        /// Cache size in pages.
        #[arg(long)]
        pages: u32,
        #[command(flatten)]
        shape: Shape,
    },
    /// The same stream through the least an LRU can do.
    Minimal {
        /// Cache size in pages.
        #[arg(long)]
        pages: u32,
        #[command(flatten)]
        shape: Shape,
    },
    /// Writes the stream for libCacheSim.
    Oracle {
        /// File to write.
        #[arg(long)]
        out: PathBuf,
        #[command(flatten)]
        shape: Shape,
    },
    /// Decodes MSR lines from memory.
    Reader {
        /// Lines.
        #[arg(long)]
        lines: u64,
    },
    /// Writes the common workload of the device benches.
    Workload {
        /// File to write.
        #[arg(long)]
        out: PathBuf,
        /// Requests.
        #[arg(long)]
        requests: u64,
        /// Mean gap between two arrivals in nanoseconds.
        #[arg(long)]
        gap_ns: u64,
    },
}

fn main() -> anyhow::Result<()> {
    let value = match Args::parse().command {
        Command::Schemes => json!(destage_scheme::registry::NAMES),
        Command::Cache {
            scheme,
            pages,
            shape,
        } => cache(&scheme, pages, &shape)?,
        Command::Minimal { pages, shape } => {
            let stream: Vec<u32> = shape.pages().collect();
            measure(|| {
                let hits = minimal::lru_hits(&stream, shape.universe, pages);
                Ok(counted(shape.accesses, Some(hits)))
            })?
        }
        Command::Oracle { out, shape } => {
            shape.oracle_general(BufWriter::new(File::create(out)?))?;
            Value::Null
        }
        Command::Reader { lines } => {
            let lines = reader::Lines::new(lines);
            measure(|| Ok(counted(lines.read()?, None)))?
        }
        Command::Workload {
            out,
            requests,
            gap_ns,
        } => {
            workload::write(requests, gap_ns, BufWriter::new(File::create(out)?))?;
            Value::Null
        }
    };
    println!("{value}");
    Ok(())
}

fn cache(scheme: &str, pages: u32, shape: &Shape) -> anyhow::Result<Value> {
    let trace = shape.trace();
    // Reads alone need it; with writes each scheme keeps its own default.
    let read_alloc = match shape.writes {
        0 => ReadAlloc::On,
        _ => ReadAlloc::Scheme,
    };
    let spec = RunSpec {
        expr: Expr::parse(scheme)?,
        cache: ByteSize(u64::from(pages) * PageSize::KIB4.bytes()),
        page: PageSize::KIB4,
        read_alloc,
        read_fill: ReadFill::Page,
        rmw: true,
        warmup: Warmup::None,
        seed: 1,
        boxed: false,
        device: None,
        time_scale: TimeScale::ONE,
        wrap: false,
        replay: Replay::Open,
        settings: Vec::new(),
    };
    measure(|| {
        let record = execute(&spec, &trace, Hooks::default())?;
        let c = record.counts;
        anyhow::ensure!(c.page_accesses == shape.accesses, "every access is counted");
        Ok(counted(shape.accesses, Some(c.page_hits)))
    })
}
