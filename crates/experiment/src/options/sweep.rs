//! Options of `destage sweep`.

use crate::options::groups::*;
use crate::options::{RunArgs, none};
use crate::sweep::{BatchSize, Shard, parse_batch};
use clap::Args;
use std::path::PathBuf;

/// Options of `sweep`.
#[derive(Args, Debug)]
pub struct SweepArgs {
    /// Sweep file: a run file (`run --config`) in which an option that takes one value may have a
    /// list of values. The sweep runs all combinations
    #[arg(value_name = "SWEEP.toml", required_unless_present = "merge")]
    pub sweep: Option<PathBuf>,
    /// Folder of the sweep, shared by all workers: its manifest, one file per finished batch, and the
    /// merged results. Finished batches are not repeated
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Run only this share of the batches, such as 3/100, and merge nothing; other commands run the
    /// other shares
    #[arg(long, value_name = "I/N", value_parser = parse_shard, conflicts_with_all = ["merge", "plan", "fresh"])]
    pub shard: Option<Shard>,
    /// Only plan: check everything, hash the traces, write the manifest, and print the work that is
    /// left
    #[arg(long, conflicts_with = "merge")]
    pub plan: bool,
    /// Only merge finished batches: results.jsonl in the order of the sweep, with the same bytes
    /// whichever machine ran which batch, and costs.csv with the time and the machine of each run
    #[arg(long)]
    pub merge: bool,
    /// Remove the sweep in the folder of --out, and start again
    #[arg(long, conflicts_with = "merge")]
    pub fresh: bool,
    /// Folder of traces and device files [default: the folder of the sweep file]
    #[arg(long, value_name = "DIR")]
    pub trace_dir: Option<PathBuf>,
    /// Folder on this machine into which each trace is copied once, by its hash [default: traces are
    /// read in place]
    #[arg(long, value_name = "DIR")]
    pub trace_cache: Option<PathBuf>,
    /// Size of a batch when the sweep is planned: a number of runs, or their estimated time on one
    /// processor [default: 30s, less if that gives fewer than 64 batches]
    #[arg(long, value_name = "N|TIME", value_parser = parse_batch)]
    pub batch: Option<BatchSize>,
    /// Memory of the program.
    #[command(flatten)]
    pub limit: LimitArgs,
    /// Memory of a trace.
    #[command(flatten)]
    pub memory: MemoryArgs,
    /// Threads.
    #[command(flatten)]
    pub threads: JobsArgs,
    /// Results beside results.jsonl: csv or parquet
    #[command(flatten)]
    pub form: FormatOutArgs,
}

impl SweepArgs {
    /// What the runs are given of this machine.
    pub fn given(&self) -> RunArgs {
        RunArgs {
            limit: self.limit.clone(),
            memory: self.memory.clone(),
            threads: self.threads.clone(),
            ..none()
        }
    }
}

/// A share such as `3/100`.
fn parse_shard(text: &str) -> Result<Shard, String> {
    let parts = text.split_once('/');
    let parts = parts.and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((number, of)) if 1 <= number && number <= of => Ok(Shard { number, of }),
        _ => Err("allowed: I/N with I from 1 to N, such as 3/100".to_owned()),
    }
}
