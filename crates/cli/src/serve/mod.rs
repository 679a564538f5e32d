//! `destage serve`: the simulated SSD as a block device. See docs/LIVE.md.

mod recording;
mod report;

use crate::args::{DataArg, FormatOut, RunArgs, ServeArgs};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{identity, print};
use crate::run::without_trace;
use crate::terminal::{Warnings, say};
use destage_live::device::{DataDevice, SimulatedSsd};
use destage_live::protocol::negotiation::ExportInfo;
use destage_live::protocol::{BlockSizes, MAX_REQUEST_BYTES};
use destage_live::server::{Export, ListenAt, Pace, Server, ServerTls};
use destage_live::store::{AddressPattern, FileMedium, Medium, MemoryMedium, Store};
use destage_sim::RunSpec;
use destage_types::SECTOR_BYTES;
use recording::TraceRecording;
use std::path::Path;

/// Serves until SIGINT or SIGTERM, then flushes the device and reports.
///
/// # Errors
/// Bad usage, a place to listen at or a file that cannot be had, or a device or medium that failed.
pub fn run(args: ServeArgs) -> Result<(), Failure> {
    let (spec, warnings) = without_trace(&run_args(&args))?;
    let mut said = Warnings::default();
    warnings.into_iter().for_each(|warning| said.warn(warning));
    let tls = args.tls.as_deref().map(ServerTls::from_folder).transpose();
    let tls = tls.map_err(|error| Failure::usage(format!("--tls: {error}")))?;
    let mut written: Vec<(&str, &Path)> = Vec::new();
    written.extend(args.backing.as_deref().map(|path| ("--backing", path)));
    written.extend(args.record.as_deref().map(|path| ("--record", path)));
    identity::protect(Path::new(&args.device));
    let faults = identity::faults(&written);
    if !faults.is_empty() {
        return Err(Failure::Usage(faults));
    }
    let ssd = SimulatedSsd::new(&spec, crate::VERSION)?;
    let medium = medium(&args, ssd.capacity())?;
    let recording = args
        .record
        .as_deref()
        .map(TraceRecording::create)
        .transpose()?;
    let recorder = recording.as_ref().map(TraceRecording::recorder);

    // From here on the first signal ends the server, not the process.
    let ended = interrupt::ends_itself();
    let (kind, page) = (args.cache_kind.kind(), page_bytes(&spec));
    let info = info(&args, &spec, ssd.capacity());
    let export = Export::start(
        info,
        move || DataDevice::new(ssd, Store::new(medium, kind, page), recorder),
        pace(&args),
        args.power_cut_after,
    );
    let export = export.map_err(|error| Failure::Run(format!("cannot start: {error}")))?;
    let server = Server::start(vec![export], &places(&args), tls)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let addresses: Vec<String> = server.addresses().map(|at| url(at, &args.name)).collect();
    ready(&args, &addresses.join(" "))?;
    // Signals are watched as long as the process lives.
    let _ = ended.recv();
    let reports = server.stop().map_err(Failure::Run)?;
    let recorded = recording.map_or(Ok(()), TraceRecording::finish);
    report::show(&reports, args.form.format_out())?;
    recorded
}

/// The address, when clients can come. It goes where results go only if these are for people.
fn ready(args: &ServeArgs, addresses: &str) -> Result<(), Failure> {
    match args.form.format_out() {
        FormatOut::Table => print(&format!("{addresses}\n")),
        _ => {
            say(addresses);
            Ok(())
        }
    }
}

/// The options of `run` that say the same.
fn run_args(args: &ServeArgs) -> RunArgs {
    let mut run = RunArgs::none();
    run.device = Some(args.device.clone());
    run.set.clone_from(&args.set);
    run.caches.scheme = vec![args.scheme.clone()];
    run.caches.cache.extend(args.cache);
    run.hits.read_alloc = args.read_alloc;
    run.random = args.random.clone();
    run
}

fn pace(args: &ServeArgs) -> Pace {
    let scale = args.time_scale.as_ref().map_or(1.0, |t| t.scale.ratio());
    match args.no_delay {
        true => Pace::Unpaced,
        false => Pace::Wall { scale },
    }
}

fn places(args: &ServeArgs) -> Vec<ListenAt> {
    let unix = args.socket.clone().map(ListenAt::Unix);
    unix.into_iter()
        .chain(args.tcp.map(ListenAt::Tcp))
        .collect()
}

/// What clients are given to come here.
fn url(at: &ListenAt, name: &str) -> String {
    match at {
        ListenAt::Unix(path) => format!("nbd+unix:///{name}?socket={}", path.display()),
        ListenAt::Tcp(address) if name.is_empty() => format!("nbd://{address}"),
        ListenAt::Tcp(address) => format!("nbd://{address}/{name}"),
    }
}

/// Where data are kept that outlive the cache.
///
/// # Errors
/// The file cannot be had.
fn medium(args: &ServeArgs, bytes: u64) -> Result<Box<dyn Medium>, Failure> {
    if let Some(path) = &args.backing {
        let file = FileMedium::open(path, bytes)
            .map_err(|error| Failure::usage(format!("--backing {}: {error}", path.display())))?;
        return Ok(Box::new(file));
    }
    Ok(match args.data {
        DataArg::Memory => Box::new(MemoryMedium::new(args.limit.limit().bytes())),
        DataArg::None => Box::new(AddressPattern),
    })
}

fn info(args: &ServeArgs, spec: &RunSpec, bytes: u64) -> ExportInfo {
    let device = spec.device.as_ref();
    let device = device.map_or("", |device| device.name.as_str());
    ExportInfo {
        name: args.name.clone(),
        description: format!("{device}, {} with {}", spec.expr, spec.cache),
        bytes,
        read_only: args.read_only,
        blocks: BlockSizes {
            minimum: SECTOR_BYTES as u32,
            preferred: page_bytes(spec),
            maximum: MAX_REQUEST_BYTES,
        },
    }
}

/// Bytes of a page; 64 KiB at most.
fn page_bytes(spec: &RunSpec) -> u32 {
    spec.page.bytes() as u32
}
