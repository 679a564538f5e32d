//! What can be said on the command line and in run files. Values are checked one by one here and
//! against each other in `run::plan`; absent options stay absent, so that a setting knows its origin.

mod examples;
mod groups;
mod lab;
mod mrc;
mod options;
mod places;
mod run;
mod serve;
mod sweep;
mod trace;
mod values;

pub use groups::{FormatOut, FormatOutArgs, InputArgs, JobsArgs, LimitArgs, SeedArgs};
pub use lab::{GuestArgs, GuestFs, LabArgs};
pub use mrc::{MrcArgs, PointsOut};
pub use options::{FileEntry, FromFile, OptionGroup, none, option_of, texts};
pub use places::{FilePart, KeyPlaces};
pub use run::{RunArgs, default_of};
pub use serve::{CtlArgs, CtlWord, DataArg, ExportArgs, ModelArgs, ServeArgs, ServerArgs};
pub use sweep::SweepArgs;
pub use trace::{FitArgs, ImportArgs, SynthArgs, ToFormat, TraceArgs, TraceCommand};
pub use values::{
    ADDRESSES, Addresses, CacheSizeArg, FootprintShare, HostFsArg, READ_ALLOC, READ_FILL,
    TimeScaleArg, VolumesArg, join_negative, value_name, word_of,
};

use crate::repro::Scale;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// A laboratory for the cache inside a NAND SSD.
#[derive(Parser, Debug)]
#[command(name = "destage", version = crate::VERSION, max_term_width = 100,
          after_help = examples::ROOT)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: DestageCommand,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum DestageCommand {
    /// Replay traces through caches and print what each scheme achieves.
    #[command(after_help = examples::RUN)]
    Run(Box<RunArgs>),
    /// Run traces x schemes x sizes x devices x settings in batches, on one machine or on many.
    #[command(after_help = examples::SWEEP)]
    Sweep(Box<SweepArgs>),
    /// Hit ratio against cache size: a curve per scheme, exact or from a sample of the pages.
    #[command(after_help = examples::MRC)]
    Mrc(Box<MrcArgs>),
    /// Run a built-in workload through the standard schemes; needs no input.
    #[command(after_help = examples::DEMO)]
    Demo(DemoArgs),
    /// Run what the papers measured, and print what they say beside what comes out.
    #[command(after_help = examples::REPRO)]
    Repro(ReproArgs),
    /// Serve the simulated SSD with real data as a block device, over NBD.
    ///
    /// Replies leave when the simulated device is done. SIGINT and SIGTERM flush the device and print
    /// what a run prints; then the exit code is 0.
    #[command(after_help = examples::SERVE)]
    Serve(Box<ServeArgs>),
    /// Tell a server that runs what to do, by its control socket.
    ///
    /// Exit code 1: the server refused, and says why.
    #[command(after_help = examples::CTL)]
    Ctl(CtlArgs),
    /// Run a command on a real file system on the simulated SSD, in simulated time.
    ///
    /// A user-mode kernel takes its clock and its disk from here: nothing is late, a slow device takes no
    /// longer to wait for, and the same load gives the same requests at the same times.
    #[command(after_help = examples::LAB)]
    Lab(Box<LabArgs>),
    /// List the cache schemes, or explain one.
    #[command(after_help = examples::SCHEMES)]
    Schemes(SchemesArgs),
    /// List the devices that come with the program, or print one as TOML.
    #[command(after_help = examples::PRESETS)]
    Presets(PresetsArgs),
    /// Look at traces and convert them.
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
    /// Write tables and charts as one HTML page that needs nothing else
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
}

/// Options of `repro`.
#[derive(Args, Debug)]
pub struct ReproArgs {
    /// Paper: req-block, prober, cac, ecr, procache, or all of them
    #[arg(default_value = "all")]
    pub paper: String,
    /// Only this figure, table or section, as the ledger names it
    pub figure: Option<String>,
    /// How much of the traces is run
    #[arg(long, value_enum, default_value = "small")]
    pub scale: Scale,
    /// Folder of real traces; those with the published names are the originals, all others are tried
    /// with the cache scaled to what they write [default: $DESTAGE_TRACES]
    #[arg(long, value_name = "DIR")]
    pub traces: Option<PathBuf>,
    /// Run twins of the papers' traces, too: generated likenesses, which have rows of their own and
    /// decide nothing
    #[arg(long)]
    pub twins: bool,
    /// Results of runs on a real file system, as fs-lab/algorithm2.sh writes them
    #[arg(long, value_name = "FILE")]
    pub live: Option<PathBuf>,
    /// Folder of ledgers, figures and results; what is done there is not repeated
    #[arg(long, value_name = "DIR", default_value = "repro")]
    pub out: PathBuf,
    /// Page of charts and claims, which needs nothing else [default: report.html in the folder of --out]
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Repeat what is done
    #[arg(long)]
    pub fresh: bool,
    #[command(flatten)]
    pub limit: LimitArgs,
    #[command(flatten)]
    pub threads: JobsArgs,
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
    /// Folder for the pages, one for the program and one for each command
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}
