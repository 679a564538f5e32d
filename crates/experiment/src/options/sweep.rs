//! Options of `destage sweep`.

use crate::options::RunArgs;
use crate::options::groups::*;
use crate::options::readers::PathReader;
use crate::sweep::{BatchSize, Shard};
use std::path::{Path, PathBuf};

crate::declare_options! {
    /// Options of `sweep`.
    SweepArgs in Command {
        /// Sweep file: a run file (`run --config`) in which an option that takes one value may have a
        /// list of values. The sweep runs all combinations
        #[option(value = "SWEEP.toml", positional = true, required_unless = "merge")]
        sweep: Option<PathBuf> = PathReader;
        /// Folder of the sweep, shared by all workers: its manifest, one file per finished batch, and the
        /// merged results. Finished batches are not repeated
        #[option(value = "DIR", required = true)]
        out: Option<PathBuf> = PathReader;
        /// Run only this share of the batches, such as 3/100, and merge nothing; other commands run the
        /// other shares
        #[option(value = "I/N", conflicts = &["merge", "plan", "fresh"])]
        shard: Option<Shard>;
        /// Only plan: check everything, hash the traces, write the manifest, and print the work that is
        /// left
        #[option(conflicts = &["merge"])]
        plan: bool;
        /// Only merge finished batches: results.jsonl in the order of the sweep, with the same bytes
        /// whichever machine ran which batch, and costs.csv with the time and the machine of each run
        merge: bool;
        /// Remove the sweep in the folder of --out, and start again
        #[option(conflicts = &["merge"])]
        fresh: bool;
        /// Folder of traces and device files
        #[option(value = "DIR")]
        trace_dir: Option<PathBuf> = PathReader, word "the folder of the sweep file";
        /// Folder on this machine into which each trace is copied and decoded once, by its hash, for all
        /// workers
        #[option(value = "DIR")]
        trace_cache: Option<PathBuf> = PathReader, word "traces are read in place";
        /// Size of a batch when the sweep is planned: a number of runs, or their estimated time on one
        /// processor
        #[option(value = "N|TIME")]
        batch: Option<BatchSize>, word "30s, less if that gives fewer than 64 batches";
        flatten limit: LimitArgs;
        flatten memory: MemoryArgs;
        flatten threads: JobsArgs;
        flatten form: FormatOutArgs;
    }
}

impl SweepArgs {
    /// The sweep file; none with `--merge`.
    pub fn file(&self) -> &Path {
        self.sweep.as_deref().unwrap_or(Path::new(""))
    }

    /// The folder of the sweep, which the command line needs.
    pub fn folder(&self) -> &Path {
        self.out.as_deref().unwrap_or(Path::new(""))
    }

    /// Options of the runs about this machine.
    pub fn given(&self) -> RunArgs {
        RunArgs {
            limit: self.limit.clone(),
            memory: self.memory.clone(),
            threads: self.threads.clone(),
            ..RunArgs::default()
        }
    }
}
