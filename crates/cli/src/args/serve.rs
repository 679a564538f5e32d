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
    /// In memory, within the limit of --memory; lost when the server ends
    Memory,
    /// Nowhere: each eight bytes that are read contain their own address
    None,
}

/// `--cache-kind`.
pub const CACHE_KIND: &OptionWords<CacheKind> = &[
    (
        CacheKind::Dram,
        "dram",
        "No: written data are durable once they are on flash",
    ),
    (
        CacheKind::Nvm,
        "nvm",
        "Yes: written data are durable at once",
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
        /// Device: a preset (see `destage presets`) or a device file
        #[arg(long, value_name = "PRESET|FILE.toml")]
        device: Option<String> = text(), default "default";
        /// Override one key of the device; repeatable
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String> = text();
        /// Cache scheme, such as `lru` or `awb(prober(lru))`
        #[arg(long, value_name = "EXPR")]
        scheme: Option<String> = text(), default "lru";
        /// Cache size with a unit, such as 16MiB
        #[arg(long, value_name = "SIZE")]
        cache: Option<ByteSize> = ByteSize::parse, word "the cache size of the device";
        /// Read allocation: whether a page that missed on a read is inserted into the cache
        #[arg(long, value_name = "WHEN")]
        read_alloc: Option<ReadAlloc> = one_of(READ_ALLOC), word "scheme, as each scheme declares";
        flatten random: SeedArgs;
    }
}

destage_experiment::declare_options! {
    /// Options of one export.
    ExportArgs {
        /// Name of the export
        #[arg(long, value_name = "NAME")]
        name: Option<String> = text(), default "",
            shown "empty, which clients ask for by default";
        flatten model: ModelArgs;
        /// Refuse writes
        #[arg(long)]
        read_only: bool;
        /// Where the data are stored
        #[arg(long, value_name = "WHERE")]
        data: Option<DataArg> = EnumValueParser::<DataArg>::new(), default "memory";
        /// Store the data in this sparse file, which is created if it is missing and stays when the
        /// server ends
        #[arg(long, value_name = "FILE", conflicts_with = "data")]
        backing: Option<PathBuf> = path();
        /// Whether the cache keeps its content without power
        #[arg(long, value_name = "KIND")]
        cache_kind: Option<CacheKind> = one_of(CACHE_KIND), default "dram";
        /// Cut the power once, after this many requests or at this simulated time: connections break,
        /// and clients that reconnect find only durable data
        #[arg(long, value_name = "N|TIME")]
        power_cut_after: Option<PowerCutAt> = power_cut;
        /// How many times faster than the wall clock simulated time passes
        #[arg(long, value_name = "X")]
        time_scale: Option<TimeScaleArg> = time_scale, default "1";
        /// Reply at once: simulated time advances only when a request waits for the device
        #[arg(long, conflicts_with = "time_scale")]
        no_delay: bool;
        /// Record the served requests as a trace (destage-bin), complete when the server ends
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
        /// Listen on a Unix socket at this path
        #[arg(long, value_name = "PATH")]
        socket: Option<PathBuf> = path();
        /// Listen on this address; port 0 takes a free port. Addresses beyond loopback need --tls
        #[arg(long, value_name = "ADDRESS:PORT")]
        tcp: Option<SocketAddr> = str::parse::<SocketAddr>;
        /// Folder with ca-cert.pem, server-cert.pem, and server-key.pem: clients need TLS and a
        /// certificate of that authority
        #[arg(long, value_name = "DIR")]
        tls: Option<PathBuf> = path();
        /// Accept commands of `destage ctl` on a Unix socket at this path, which only its owner can
        /// use
        #[arg(long, value_name = "PATH")]
        control: Option<PathBuf> = path();
        /// Serve a live page at /, metrics for Prometheus at /metrics, and JSON at /stats over HTTP;
        /// port 0 takes a free port. Addresses beyond loopback need --ui-public
        #[arg(long, value_name = "ADDRESS:PORT")]
        ui: Option<SocketAddr> = str::parse::<SocketAddr>;
        /// Let other machines read what --ui serves: figures only, no data and no commands
        #[arg(long)]
        ui_public: bool;
        flatten limit: LimitArgs;
        flatten form: FormatOutArgs;
    }
}

/// Options of `serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Configuration file in TOML: its keys are these options. It has a table `[[export]]` for each
    /// export and `[[export.shadow]]` for each shadow of an export
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
    /// Print the current figures as JSON: the result record of each export, and how late replies left
    Stats,
    /// Flush, then continue with an empty cache under the scheme ARGUMENT, or with the size of
    /// --cache; statistics start again
    Scheme,
    /// Start new statistics
    Reset,
    /// Cut the power of the export, and restore it
    PowerCut,
    /// Write the durable data to the sparse file ARGUMENT; requests wait meanwhile
    Snapshot,
    /// Flush all devices, report, and end, as on SIGTERM
    Shutdown,
}

/// Options of `ctl`.
#[derive(Args, Debug)]
pub struct CtlArgs {
    /// Control socket of the server, as `destage serve --control` created it
    #[arg(long, value_name = "PATH")]
    pub control: PathBuf,
    /// Export to control; needed if there are several, except for `stats` and `shutdown`
    #[arg(long, value_name = "NAME")]
    pub export: Option<String>,
    /// With `scheme`: cache size with a unit, such as 16MiB
    #[arg(long, value_name = "SIZE", value_parser = ByteSize::parse)]
    pub cache: Option<ByteSize>,
    /// What to do
    pub command: CtlWord,
    /// Scheme for `scheme`, file for `snapshot`
    pub argument: Option<String>,
}
