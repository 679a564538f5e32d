//! Options of `serve`.

use clap::{Args, ValueEnum};
use destage_experiment::options::readers::{OptionWords, PathReader, one_of, read_write};
use destage_experiment::options::{
    FormatOutArgs, LimitArgs, OptionGroup, READ_ALLOC, SeedArgs, TimeScaleArg,
};
use destage_live::server::PowerCutAt;
use destage_live::store::CacheKind;
use destage_scheme::ReadAlloc;
use destage_types::{ByteSize, Nanos, Picos};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Where data are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataArg {
    /// In memory.
    Memory,
    /// Nowhere: each eight bytes that are read contain their own address.
    None,
}

/// `--data`.
const DATA: &OptionWords<DataArg> = &[
    (
        DataArg::Memory,
        "memory",
        "In memory, within the limit of --memory; lost when the server ends",
    ),
    (
        DataArg::None,
        "none",
        "Nowhere: each eight bytes that are read contain their own address",
    ),
];

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

fn power_cut_text(at: PowerCutAt) -> String {
    match at {
        PowerCutAt::Requests(requests) => requests.to_string(),
        PowerCutAt::Time(time) => format!("{time}ns"),
    }
}

destage_experiment::declare_options! {
    /// A simulated SSD: its device, its scheme and its cache.
    ModelArgs in Run {
        /// Device: a preset (see `destage presets`) or a device file
        #[option(value = "PRESET|FILE.toml")]
        device: Option<String>, default "default";
        /// Override one key of the device; repeatable
        #[option(value = "KEY=VALUE")]
        set: Vec<String>;
        /// Cache scheme, such as `lru` or `awb(prober(lru))`
        #[option(value = "EXPR")]
        scheme: Option<String>, word "lru, or drain(lru,low=0.25,high=0.25) on a device with a bounded buffer";
        /// Cache size with a unit, such as 16MiB
        #[option(value = "SIZE")]
        cache: Option<ByteSize> = ByteSize::parse, word "the cache size of the device";
        /// Read allocation: whether a page that missed on a read is inserted into the cache
        #[option(value = "WHEN")]
        read_alloc: Option<ReadAlloc> = one_of(READ_ALLOC), word "scheme, as each scheme declares";
        flatten random: SeedArgs;
    }
}

destage_experiment::declare_options! {
    /// Options of one export.
    ExportArgs in Run {
        /// Name of the export
        #[option(value = "NAME")]
        name: Option<String>, default "",
            shown "empty, which clients ask for by default";
        flatten model: ModelArgs;
        /// Refuse writes
        read_only: bool;
        /// Where the data are stored
        #[option(value = "WHERE")]
        data: Option<DataArg> = one_of(DATA), default "memory";
        /// Store the data in this sparse file, which is created if it is missing and stays when the
        /// server ends
        #[option(value = "FILE", conflicts = &["data"])]
        backing: Option<PathBuf> = PathReader;
        /// Whether the cache keeps its content without power
        #[option(value = "KIND")]
        cache_kind: Option<CacheKind> = one_of(CACHE_KIND), word "as the device says by cache_persistence, else dram";
        /// Cut the power once, after this many requests or at this simulated time: connections break,
        /// and clients that reconnect find only durable data
        #[option(value = "N|TIME")]
        power_cut_after: Option<PowerCutAt> = read_write(power_cut, power_cut_text);
        /// How many times faster than the wall clock simulated time passes
        #[option(value = "X")]
        time_scale: Option<TimeScaleArg>, default "1";
        /// Reply at once: simulated time advances only when a request waits for the device
        #[option(conflicts = &["time_scale"])]
        no_delay: bool;
        /// Record the served requests as a trace (destage-bin), complete when the server ends
        #[option(value = "FILE.bin")]
        record: Option<PathBuf> = PathReader;
    }
}

/// The options of [`ExportArgs`].
fn of_exports() -> impl Iterator<Item = &'static str> {
    ExportArgs::declared().iter().map(|option| option.field)
}

destage_experiment::declare_options! {
    /// Options of the server as a whole.
    ServerArgs in Run {
        /// Listen on a Unix socket at this path
        #[option(value = "PATH")]
        socket: Option<PathBuf> = PathReader;
        /// Listen on this address; port 0 takes a free port. Addresses beyond loopback need --tls
        #[option(value = "ADDRESS:PORT")]
        tcp: Option<SocketAddr>;
        /// Folder with ca-cert.pem, server-cert.pem, and server-key.pem: clients need TLS and a
        /// certificate of that authority
        #[option(value = "DIR")]
        tls: Option<PathBuf> = PathReader;
        /// Accept commands of `destage ctl` on a Unix socket at this path, which only its owner can
        /// use
        #[option(value = "PATH")]
        control: Option<PathBuf> = PathReader;
        /// Serve a live page at /, metrics for Prometheus at /metrics, and JSON at /stats over HTTP;
        /// port 0 takes a free port. Addresses beyond loopback need --ui-public
        #[option(value = "ADDRESS:PORT")]
        ui: Option<SocketAddr>;
        /// Let other machines read what --ui serves: figures only, no data and no commands
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

/// An order to a server.
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
    /// Order for the server
    pub command: CtlWord,
    /// Scheme for `scheme`, file for `snapshot`
    pub argument: Option<String>,
}
