//! Options of `destage watch`.

use clap::Args;
use destage_experiment::options::command_line::words;
use destage_experiment::options::groups::*;
use destage_experiment::options::readers::whole;
use destage_experiment::options::values::{ADDRESSES, Addresses, HostFsArg};
use destage_experiment::run::parse_moment;
use destage_types::Nanos;
use std::path::PathBuf;

/// Options of `watch`.
#[derive(Args, Debug)]
#[command(mut_arg("scheme", |arg| arg.help(
    "Cache scheme, such as `cac(prober(lirs))`, or two of them; repeatable [default: lru,idle-clean(lru)]"
)))]
#[command(mut_arg("cache", |arg| arg.help(
    "Cache size with a unit, such as 4MiB, or as a share of the pages that the trace touches, such as 10% \
     [default: that of the device]"
)))]
#[command(mut_arg("volumes", |arg| arg.help(
    "How to read a trace with several volumes: `stack` places one after the other, `only=VOLUME` reads one, \
     `overlay` places all at the same addresses [default: stack]"
)))]
pub struct WatchArgs {
    /// Trace file, plain or compressed (.zst, .gz, .xz); `-` is standard input, `demo` the built-in workload
    #[arg(value_name = "TRACE")]
    pub trace: Option<PathBuf>,
    /// Watch this built-in story in place of a trace; docs/WATCH.md lists them
    #[arg(long, value_name = "NAME", conflicts_with_all = [
        "trace", "from", "to", "request", "scheme", "cache", "device", "set", "host_fs", "addresses",
    ])]
    pub story: Option<String>,
    /// Begin of the window in simulated time, such as 1.5s
    #[arg(long, value_name = "TIME", value_parser = parse_moment, conflicts_with = "request")]
    pub from: Option<Nanos>,
    /// End of the window in simulated time [default: when 500 requests have arrived]
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub to: Option<Nanos>,
    /// The window begins when this request of the trace arrives, from 0 [default: 0]
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX))]
    pub request: Option<u64>,
    /// Write the scenes to this file and end: JSON, or one page that needs no network if the name ends in .html
    #[arg(long, value_name = "FILE.json|FILE.html")]
    pub export: Option<PathBuf>,
    /// Device: a preset (see `destage presets`), or a device file [default: default]
    #[arg(long, value_name = "PRESET|FILE.toml")]
    pub device: Option<String>,
    /// Override one key of the device; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// How to handle a trace that has addresses beyond the device [default: fit]
    #[arg(long, value_name = "HOW", value_parser = words(ADDRESSES))]
    pub addresses: Option<Addresses>,
    /// Model of a file system between trace and device: `inplace`, `lfs(KEY=VALUE,...)`, or `f2fs(...)`
    #[arg(long, value_name = "FS")]
    pub host_fs: Option<HostFsArg>,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub caches: CacheArgs,
    #[command(flatten)]
    pub hits: HitArgs,
    #[command(flatten)]
    pub random: SeedArgs,
    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    pub limit: LimitArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    /// Port on this machine [default: any that is free]
    #[arg(long, value_name = "PORT", conflicts_with = "export")]
    pub port: Option<u16>,
    /// Print the address, and open no browser
    #[arg(long, conflicts_with = "export")]
    pub no_open: bool,
}
