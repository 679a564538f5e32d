//! Options of `destage advise`.

use clap::Args;
use destage_experiment::options::groups::{InputArgs, JobsArgs, LimitArgs, MemoryArgs, SeedArgs};
use std::path::PathBuf;

/// Options of `advise`.
#[derive(Args, Debug)]
#[command(mut_arg("volumes", |arg| arg.help(
    "How to read a trace with several volumes: `stack` places one after the other, `only=VOLUME` reads one, \
     `overlay` places all at the same addresses [default: stack]"
)))]
pub struct AdviseArgs {
    /// Trace file, plain or compressed (.zst, .gz, .xz); `-` is standard input, `demo` the built-in workload
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Drive with a bounded buffer: a preset (see `destage presets`), or a device file
    #[arg(long, value_name = "PRESET|FILE.toml")]
    pub device: String,
    /// Override one key of the drive, such as `cache=64MiB`; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub random: SeedArgs,
    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    pub limit: LimitArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
}
