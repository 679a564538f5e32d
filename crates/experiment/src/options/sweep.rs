//! Options of `destage sweep`.

use crate::options::groups::*;
use crate::options::{RunArgs, none};
use crate::sweep::{BatchSize, Shard, parse_batch};
use clap::Args;
use std::path::PathBuf;

/// Options of `sweep`.
#[derive(Args, Debug)]
pub struct SweepArgs {
    /// Sweep file: a run file (`run --config`) in which an option that takes one value may have a list
    /// of them, which are tried one by one, in all combinations
    #[arg(value_name = "SWEEP.toml", required_unless_present = "merge")]
    pub sweep: Option<PathBuf>,
    /// Folder of the sweep, which all workers share: its manifest, a file for each batch that is done,
    /// and the merged results. What is done there is not repeated
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Do this share of the batches only, such as 3/100, beside others; nothing is merged
    #[arg(long, value_name = "I/N", value_parser = parse_shard, conflicts_with_all = ["merge", "plan", "fresh"])]
    pub shard: Option<Shard>,
    /// Only plan: check everything, hash the traces, write the manifest, and say what there is to do
    #[arg(long, conflicts_with = "merge")]
    pub plan: bool,
    /// Only merge what is done: results.jsonl in the order of the sweep, the same whoever did what, and
    /// costs.csv, which says what each run took and where
    #[arg(long)]
    pub merge: bool,
    /// Remove the sweep that is in the folder of --out, and begin anew
    #[arg(long, conflicts_with = "merge")]
    pub fresh: bool,
    /// Folder of traces and device files [default: that of the sweep file]
    #[arg(long, value_name = "DIR")]
    pub trace_dir: Option<PathBuf>,
    /// Folder of this machine to which traces are copied, once, by their hash [default: traces are read
    /// where they are]
    #[arg(long, value_name = "DIR")]
    pub trace_cache: Option<PathBuf>,
    /// What a batch has when the sweep is planned: runs, or their time on one processor by estimate
    /// [default: 30s, less where that would be fewer than 64 batches]
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
