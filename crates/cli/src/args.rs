//! Options of the command line and of run files. Values are checked one by one here and against
//! each other in `run::plan`; absent options stay absent, so that a setting knows its origin.

mod advise;
mod examples;
mod fit_device;
pub mod lab;
mod mrc;
mod negative;
mod serve;
mod trace;
mod waf;
mod watch;

pub use advise::AdviseArgs;
pub use examples::FIRST_STEPS;
pub use fit_device::FitDeviceArgs;
pub use lab::LabArgs;
pub use mrc::{MrcArgs, PointsOut};
pub use negative::join_negative;
pub use serve::{CtlArgs, CtlWord, DataArg, ExportArgs, ModelArgs, ServeArgs, ServerArgs};
pub use trace::{FitArgs, ImportArgs, SynthArgs, ToFormat, TraceArgs, TraceCommand};
pub use waf::{STREAMS, VICTIM, WafArgs, WafOut};
pub use watch::WatchArgs;

use clap::{Args, Parser, Subcommand};
use destage_experiment::options::{FormatOutArgs, JobsArgs, RunArgs, SeedArgs, SweepArgs};
use destage_repro::ReproArgs;
use std::path::PathBuf;

/// A laboratory for the cache inside a NAND SSD.
#[derive(Parser, Debug)]
#[command(name = "destage", version = destage_console::VERSION, max_term_width = 100,
          after_help = examples::ROOT)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: DestageCommand,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum DestageCommand {
    /// Replay traces through cache schemes and print the results of each.
    #[command(after_help = examples::RUN)]
    Run(Box<RunArgs>),
    /// Run all combinations of traces, schemes, sizes, devices, and settings in batches, on one or
    /// many machines.
    #[command(after_help = examples::SWEEP)]
    Sweep(Box<SweepArgs>),
    /// Compute the hit ratio over the cache size: one curve per scheme, exact or from a sample of the
    /// pages.
    #[command(after_help = examples::MRC)]
    Mrc(Box<MrcArgs>),
    /// Compute the write amplification of a pattern of writes; needs no trace.
    #[command(after_help = examples::WAF)]
    Waf(Box<WafArgs>),
    /// Say which write buffer to build into a drive for a trace, and what it costs.
    ///
    /// Runs `lru` on demand, `drain` with three marks, and `reserve`, each with half the drive's buffer, all of it, and
    /// twice as much. Of the runs within 5 % of the shortest mean response time, those within 20 % of the shortest
    /// 99.9th percentile remain, of these those within 3 % of the fewest bytes to flash. The smallest buffer of these
    /// is the advice.
    #[command(after_help = examples::ADVISE)]
    Advise(Box<AdviseArgs>),
    /// Run a built-in workload through the standard schemes; needs no input.
    #[command(after_help = examples::DEMO)]
    Demo(DemoArgs),
    /// Write the page of charts and tables of runs that were done before.
    #[command(after_help = examples::REPORT)]
    Report(ReportArgs),
    /// Run the experiments of the papers and print their claims beside the measured values.
    #[command(after_help = examples::REPRO)]
    Repro(ReproArgs),
    /// Serve the simulated SSD with real data as a block device over NBD.
    ///
    /// A reply leaves when the simulated device completes the request. SIGINT and SIGTERM flush the
    /// device and print the results of a run; the exit code is then 0.
    #[command(after_help = examples::SERVE)]
    Serve(Box<ServeArgs>),
    /// Control a running server through its control socket.
    ///
    /// Exit code 1: the server refused the command, and the message says why.
    #[command(after_help = examples::CTL)]
    Ctl(CtlArgs),
    /// Run a command on a real file system on the simulated SSD, in simulated time.
    ///
    /// A user-mode kernel takes its clock and its disk from the simulator. No request is late, a slow
    /// device costs no waiting time, and the same load gives the same requests at the same times.
    #[command(after_help = examples::LAB)]
    Lab(Box<LabArgs>),
    /// Open the page that runs the simulator in the browser.
    ///
    /// Only this machine can reach it. The page loads nothing from elsewhere, and no trace leaves it.
    #[command(after_help = examples::PLAYGROUND)]
    Playground(PlaygroundArgs),
    /// Show a window of several runs as a picture that moves: dies, blocks, and the write buffer.
    ///
    /// The runs go through the same requests, and the picture shows them side by side. Only this machine can reach
    /// the page.
    #[command(after_help = examples::WATCH)]
    Watch(Box<WatchArgs>),
    /// List the cache schemes, or explain one.
    #[command(after_help = examples::SCHEMES)]
    Schemes(SchemesArgs),
    /// List the built-in devices, or print one as TOML.
    #[command(after_help = examples::PRESETS)]
    Presets(PresetsArgs),
    /// Print the script and the fio jobs that measure a real drive for a model of it.
    ///
    /// The script destroys all data on the drive. It needs fio 3, root, and a scratch drive, and takes
    /// less than two hours.
    #[command(after_help = examples::PROBE)]
    Probe(ProbeArgs),
    /// Fit a device to measurements of a real drive.
    ///
    /// Simulates the measured loads on a scaled-down drive and searches the values with which it answers as the drive
    /// did. A fit that was interrupted goes on where it was.
    #[command(after_help = examples::FIT_DEVICE)]
    FitDevice(Box<FitDeviceArgs>),
    /// Inspect, convert, and generate traces.
    #[command(after_help = examples::TRACE)]
    Trace(TraceArgs),
    /// Print the completion script of a shell.
    #[command(hide = true, after_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Write the manual pages.
    #[command(hide = true, after_help = examples::MAN)]
    Man(ManArgs),
}

/// Options of `demo`.
#[derive(Args, Debug)]
#[command(mut_arg("seed", |arg| arg.help("Seed of the workload [default: 1]")))]
pub struct DemoArgs {
    #[command(flatten)]
    pub random: SeedArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
    #[command(flatten)]
    pub form: FormatOutArgs,
    /// Write tables and charts as one self-contained HTML page
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
}

/// Options of `report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Files of records (`run --format-out jsonl`), or folders of `run --out` or `sweep --out`
    #[arg(value_name = "results.jsonl|DIR", required = true)]
    pub results: Vec<PathBuf>,
    /// The page
    #[arg(short, long, value_name = "FILE.html")]
    pub output: PathBuf,
}

/// Options of `playground`.
#[derive(Args, Debug)]
pub struct PlaygroundArgs {
    /// Folder with the page, as `cargo xtask site` makes it [default: the copy in the program]
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Port on this machine [default: any that is free]
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Print the address, and open no browser
    #[arg(long)]
    pub no_open: bool,
}

/// Options of `schemes`.
#[derive(Args, Debug)]
pub struct SchemesArgs {
    /// Explain this scheme: parameters, defaults, ranges, source, tie rule
    pub name: Option<String>,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// Options of `probe`.
#[derive(Args, Debug)]
pub struct ProbeArgs {
    /// Write the files to this folder instead of standard output
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Options of `presets`.
#[derive(Args, Debug)]
pub struct PresetsArgs {
    /// Print this preset or device file: every effective value, its origin and its source
    pub name: Option<String>,
    /// Override one key; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "name")]
    pub set: Vec<String>,
}

/// Options of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// Shell that reads the script
    pub shell: clap_complete::Shell,
}

/// Options of `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Folder for the pages: one for the program and one for each command
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}
