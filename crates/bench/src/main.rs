//! One measurement a process: `cargo xtask bench` starts this program and reads one JSON object
//! from its standard output. Inputs are generated before the clock starts.

mod cost;
mod intervals;
mod minimal;
mod reader;
mod stream;
mod workload;

use clap::{Parser, Subcommand};
use cost::{counted, measure};
use destage_device::config::{DEFAULT_PRESET, EffectiveDevice};
use destage_scheme::registry::STATIC;
use destage_scheme::{Expr, ReadAlloc};
use destage_sim::{Hooks, RunSpec, execute};
use destage_trace::{LoadOptions, Source, Trace, load};
use destage_types::{ByteSize, PageSize};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, Cursor};
use std::path::PathBuf;
use std::sync::Arc;
use stream::Shape;

#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// A whole run over a decoded stream in memory, as `destage run` does it after decoding.
    Cache {
        /// Scheme expression.
        #[arg(long)]
        scheme: String,
        /// Cache size in pages.
        #[arg(long)]
        pages: u32,
        /// How often the run is done; the last one is reported.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        times: u32,
        #[command(flatten)]
        shape: Shape,
    },
    /// Runs over the common workload on a device, decoded in memory.
    Device {
        /// Preset of the device.
        #[arg(long, default_value = DEFAULT_PRESET)]
        preset: String,
        /// Scheme expression.
        #[arg(long)]
        scheme: String,
        /// Requests.
        #[arg(long)]
        requests: u64,
        /// Mean gap between two arrivals in nanoseconds.
        #[arg(long, default_value_t = GAP_NS)]
        gap_ns: u64,
        /// Key of the device.
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
        /// How often the run is done; the last one is reported.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        times: u32,
    },
    /// The same stream through the least an LRU can do.
    Minimal {
        /// Cache size in pages.
        #[arg(long)]
        pages: u32,
        #[command(flatten)]
        shape: Shape,
    },
    /// Compares the records of every composition that has a static type with those of the same one
    /// behind pointers, without a device and with one.
    StaticTypes,
    /// Writes the stream for libCacheSim.
    Oracle {
        /// File to write.
        #[arg(long)]
        out: PathBuf,
        #[command(flatten)]
        shape: Shape,
    },
    /// Decodes lines from memory.
    Reader {
        /// Their format.
        #[arg(long, default_value = "msr")]
        format: String,
        /// Their format is told by the first lines.
        #[arg(long)]
        detect: bool,
        /// How often they are decoded; the last time is reported.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        times: u32,
        /// Lines.
        #[arg(long)]
        lines: u64,
    },
    /// How many 95 % intervals of sampled curves contain the exact hit ratio, and how wide they are, as a Markdown
    /// table.
    Intervals {
        /// Folder of traces.
        #[arg(long)]
        traces: PathBuf,
        /// Schemes; all of single pages if left out.
        #[arg(long)]
        scheme: Vec<String>,
        /// Samples of each trace and rate.
        #[arg(long, default_value_t = 1)]
        seeds: u64,
        /// Requests of each trace, at most.
        #[arg(long)]
        limit: Option<u64>,
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
        Command::Cache {
            scheme,
            pages,
            times,
            shape,
        } => cache(&scheme, pages, times, &shape)?,
        Command::Device {
            preset,
            scheme,
            requests,
            gap_ns,
            set,
            times,
        } => repeat(
            &on_device(&preset, &scheme, &set)?,
            &common_workload(requests, gap_ns)?,
            times,
        )?,
        Command::StaticTypes => static_types()?,
        Command::Intervals {
            traces,
            scheme,
            seeds,
            limit,
        } => {
            println!("{}", intervals::intervals(&traces, &scheme, seeds, limit)?);
            Value::Null
        }
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
        Command::Reader {
            format,
            detect,
            times,
            lines,
        } => {
            let lines = reader::Lines::new(&format, lines, detect)?;
            for _ in 1..times {
                lines.read()?;
            }
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
    if !value.is_null() {
        println!("{value}");
    }
    Ok(())
}

fn cache(scheme: &str, pages: u32, times: u32, shape: &Shape) -> anyhow::Result<Value> {
    let trace = shape.trace();
    // Reads alone need it; with writes each scheme keeps its own default.
    let read_alloc = match shape.writes {
        0 => ReadAlloc::On,
        _ => ReadAlloc::Scheme,
    };
    let cache = ByteSize(u64::from(pages) * PageSize::KIB4.bytes());
    let spec = RunSpec {
        read_alloc,
        ..plain(scheme, cache)?
    };
    // One whole page a request, so requests are accesses.
    repeat(&spec, &trace, times)
}

/// Gap of the common workload on the small device: most dies are idle, some queue.
const GAP_NS: u64 = 200_000;
const DEVICE_CACHE: ByteSize = ByteSize(4 << 20);

fn common_workload(requests: u64, gap_ns: u64) -> anyhow::Result<Trace> {
    let mut text = Vec::new();
    workload::write(requests, gap_ns, &mut text)?;
    let source = Source::Stream("common".to_owned(), Box::new(Cursor::new(text)));
    Ok(load(source, &LoadOptions::default())?)
}

fn on_device(preset: &str, scheme: &str, set: &[String]) -> anyhow::Result<RunSpec> {
    let device = EffectiveDevice::from_preset(preset, set)?.into_config();
    Ok(RunSpec {
        page: device.mapping(),
        device: Some(Arc::new(device)),
        ..plain(scheme, DEVICE_CACHE)?
    })
}

fn static_types() -> anyhow::Result<Value> {
    anyhow::ensure!(!STATIC.is_empty(), "an optimised build has static types");
    let shape = Shape {
        accesses: 60_000,
        universe: 8_000,
        writes: 70,
    };
    let (stream, workload) = (shape.trace(), common_workload(4_000, GAP_NS)?);
    for scheme in STATIC {
        let cache_only = plain(scheme, ByteSize(1_000 * PageSize::KIB4.bytes()))?;
        for (spec, trace) in [
            (cache_only, &stream),
            (on_device(DEFAULT_PRESET, scheme, &[])?, &workload),
        ] {
            let record = |boxed| -> anyhow::Result<Value> {
                let spec = RunSpec {
                    boxed,
                    ..spec.clone()
                };
                let mut record = json!(execute(&spec, trace, Hooks::default())?);
                record["run"].take();
                Ok(record)
            };
            let equal = record(false)? == record(true)?;
            anyhow::ensure!(
                equal,
                "{scheme}: not the results of the same behind pointers"
            );
        }
    }
    Ok(json!({ "equal": STATIC }))
}

fn plain(scheme: &str, cache: ByteSize) -> anyhow::Result<RunSpec> {
    Ok(RunSpec::cache_only(Expr::parse(scheme)?, cache))
}

fn repeat(spec: &RunSpec, trace: &Trace, times: u32) -> anyhow::Result<Value> {
    for _ in 1..times {
        execute(spec, trace, Hooks::default())?;
    }
    measure(|| {
        let counts = execute(spec, trace, Hooks::default())?.counts;
        anyhow::ensure!(counts.requests == trace.meta.requests, "all are counted");
        Ok(counted(counts.requests, Some(counts.page_hits)))
    })
}
