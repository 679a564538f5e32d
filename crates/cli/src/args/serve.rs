//! Options of `serve`.

use clap::builder::EnumValueParser;
use clap::{Args, Command, Id, ValueEnum};
use destage_experiment::options::groups::{path, text};
use destage_experiment::options::values::{OptionWords, one_of, time_scale};
use destage_experiment::options::{FormatOutArgs, LimitArgs, READ_ALLOC, SeedArgs, TimeScaleArg};
use destage_live::server::PowerCutAt;
use destage_live::store::CacheKind;
use destage_scheme::ReadAlloc;
use destage_types::{ByteSize, Nanos, Picos};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Where data are kept.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataArg {
    /// In memory, as much as --memory allows; gone with the server
    Memory,
    /// Nowhere: reads give each eight bytes their own address
    None,
}

/// `--cache-kind`.
pub const CACHE_KIND: &OptionWords<CacheKind> = &[
    (
        CacheKind::Dram,
        "dram",
        "No: what was written is durable once it is on flash",
    ),
    (
        CacheKind::Nvm,
        "nvm",
        "Yes: what was written is durable at once",
    ),
];

/// `--power-cut-after`.
fn power_cut(text: &str) -> Result<PowerCutAt, String> {
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return match text.parse() {
            Ok(0) | Err(_) => Err(format!("`{text}` is no number of requests above 0")),
            Ok(requests) => Ok(PowerCutAt::Requests(requests)),
        };
    }
    let time = Picos::parse(text).map_err(|error| {
        format!("{error}; allowed: a number of requests, or a time with its unit, such as 10s")
    })?;
    Ok(PowerCutAt::Time(Nanos(time.0 / 1000)))
}

destage_experiment::declare_options! {
    /// A simulated SSD: its device, its scheme and its cache.
    ModelArgs {
        /// Device, as `destage presets` lists them
        #[arg(long, value_name = "PRESET|FILE.toml")]
        device: Option<String> = text(), default "default";
        /// Override one key of the device; repeatable
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String> = text();
        /// Cache scheme, such as `lru` or `awb(prober(lru))`
        #[arg(long, value_name = "EXPR")]
        scheme: Option<String> = text(), default "lru";
        /// Cache size with its unit, such as 16MiB
        #[arg(long, value_name = "SIZE")]
        cache: Option<ByteSize> = ByteSize::parse, word "that of the device";
        /// Do pages that a read missed enter the cache?
        #[arg(long, value_name = "WHEN")]
        read_alloc: Option<ReadAlloc> = one_of(READ_ALLOC), word "scheme, as each scheme says";
        flatten random: SeedArgs;
    }
}

destage_experiment::declare_options! {
    /// Options of one export.
    ExportArgs {
        /// Name of the export
        #[arg(long, value_name = "NAME")]
        name: Option<String> = text(), default "",
            shown "empty, which clients ask for unless they are told";
        flatten model: ModelArgs;
        /// Refuse writes
        #[arg(long)]
        read_only: bool;
        /// Where data are kept
        #[arg(long, value_name = "WHERE")]
        data: Option<DataArg> = EnumValueParser::<DataArg>::new(), default "memory";
        /// Keep data in this sparse file, which is made if it is not there; it outlasts the server
        #[arg(long, value_name = "FILE", conflicts_with = "data")]
        backing: Option<PathBuf> = path();
        /// Does the cache keep its content without power?
        #[arg(long, value_name = "KIND")]
        cache_kind: Option<CacheKind> = one_of(CACHE_KIND), default "dram";
        /// Cut the power once, after that many requests or at that simulated time: connections break, and
        /// only what is durable is there when clients come again
        #[arg(long, value_name = "N|TIME")]
        power_cut_after: Option<PowerCutAt> = power_cut;
        /// How much faster than the wall clock simulated time goes by
        #[arg(long, value_name = "X")]
        time_scale: Option<TimeScaleArg> = time_scale, default "1";
        /// Reply at once: simulated time goes on only when the device is waited for
        #[arg(long, conflicts_with = "time_scale")]
        no_delay: bool;
        /// Write the requests that are served as a trace (destage-bin), complete when the server ends
        #[arg(long, value_name = "FILE.bin")]
        record: Option<PathBuf> = path();
    }
}

/// The options of [`ExportArgs`].
fn of_exports() -> Vec<Id> {
    let command = ExportArgs::augment_args(Command::new("export"));
    let options = command.get_arguments();
    options.map(|option| option.get_id().clone()).collect()
}

destage_experiment::declare_options! {
    /// Options of the server as a whole.
    ServerArgs {
        /// Listen at a Unix socket of this path
        #[arg(long, value_name = "PATH")]
        socket: Option<PathBuf> = path();
        /// Listen at this address; port 0 takes a free one. Beyond loopback only with --tls
        #[arg(long, value_name = "ADDRESS:PORT")]
        tcp: Option<SocketAddr> = str::parse::<SocketAddr>;
        /// Folder with ca-cert.pem, server-cert.pem and server-key.pem: clients need TLS and a certificate of
        /// that authority
        #[arg(long, value_name = "DIR")]
        tls: Option<PathBuf> = path();
        /// Take orders of `destage ctl` at a Unix socket of this path, which is its owner's alone
        #[arg(long, value_name = "PATH")]
        control: Option<PathBuf> = path();
        /// Serve a live page at /, figures for Prometheus at /metrics and JSON at /stats over HTTP; port 0 takes
        /// a free one. Beyond loopback only with --ui-public
        #[arg(long, value_name = "ADDRESS:PORT")]
        ui: Option<SocketAddr> = str::parse::<SocketAddr>;
        /// Let other machines see what --ui serves: figures, neither data nor orders
        #[arg(long)]
        ui_public: bool;
        flatten limit: LimitArgs;
        flatten form: FormatOutArgs;
    }
}

/// Options of `serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Serve what this file says: TOML whose keys are these options, with a table `[[export]]` for each
    /// export and `[[export.shadow]]` for each of its shadows
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = of_exports())]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub export: ExportArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// What a server is told.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum CtlWord {
    /// Print the figures so far as JSON: the result record of each export, and how late replies left
    Stats,
    /// Flush, and go on with an empty cache under the scheme ARGUMENT, or with --cache of that size, and
    /// with new statistics
    Scheme,
    /// Begin new statistics
    Reset,
    /// Cut the power of the export, and give it back
    PowerCut,
    /// Write the durable data to the file ARGUMENT, which is sparse; requests wait meanwhile
    Snapshot,
    /// Flush all devices, report and end, as on SIGTERM
    Shutdown,
}

/// Options of `ctl`.
#[derive(Args, Debug)]
pub struct CtlArgs {
    /// The control socket, as `destage serve --control` made it
    #[arg(long, value_name = "PATH")]
    pub control: PathBuf,
    /// The export that is meant; needed if there are several, but for `stats` and `shutdown`
    #[arg(long, value_name = "NAME")]
    pub export: Option<String>,
    /// With `scheme`: cache size with its unit, such as 16MiB
    #[arg(long, value_name = "SIZE", value_parser = ByteSize::parse)]
    pub cache: Option<ByteSize>,
    /// What to do
    pub command: CtlWord,
    /// Scheme of `scheme`, file of `snapshot`
    pub argument: Option<String>,
}
