//! `destage serve`: simulated SSDs as block devices. See docs/LIVE.md.

mod config;
mod control;
mod exports;
pub mod memory;
pub mod persistence;
mod recording;
mod report;
mod ui;

use crate::args::{ServeArgs, ServerArgs};
use config::{ExportSetup, ServerSetup};
use control::Controller;
use destage_console::failure::Failure;
use destage_console::identity::{self, Output};
use destage_console::interrupt;
use destage_console::terminal::{Warnings, say};
use destage_experiment::options::FilePart;
use destage_experiment::sinks::tell;
use destage_live::control::ControlSocket;
use destage_live::server::{ExportReport, ListenAt, Server, ServerTls};
use exports::{PreparedExport, ServedExport, files};
use report::Reported;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;

pub use exports::spec_of;
use memory::ServerMemory;
pub use recording::TraceRecording;

/// Serves until SIGINT, SIGTERM or `destage ctl shutdown`, then flushes the devices and reports.
///
/// # Errors
/// Bad usage, a place to listen at or a file that cannot be had, or a device or medium that failed.
pub fn run(args: ServeArgs) -> Result<(), Failure> {
    let ServerSetup {
        server: args,
        exports,
    } = config::plan(args)?;
    let names: Vec<String> = exports.iter().map(|e| e.args.name()).collect();
    let tls = args.tls.as_deref().map(ServerTls::from_folder).transpose();
    let tls = tls.map_err(|error| Failure::usage(format!("--tls: {error}")))?;
    let own_files = own_files(&exports);
    let made = MadeFiles::of(&exports);
    let memory = ServerMemory::new(args.limit.limit());
    let prepared = prepare(exports, &memory)?;

    // From here on the first signal ends the server, not the process.
    let (end, ended) = interrupt::ends_itself();
    let (mut started, mut served, mut recordings) = (Vec::new(), Vec::new(), Vec::new());
    for export in prepared {
        let (export, handle, recording) = export.start()?;
        started.push(export);
        served.push(handle);
        recordings.extend(recording);
    }
    let encrypted = tls.is_some();
    let server = Server::start(started, &places(&args), tls, memory.limits)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let served = Arc::new(served);
    let control = open_control(&args, Arc::clone(&served), own_files, end)?;
    let ui = ui::open(&args, &served)?;
    let urls = |at| names.iter().map(move |name| url(at, name, encrypted));
    let addresses: Vec<String> = server.addresses().flat_map(urls).collect();
    if let Some(ui) = &ui {
        say(&format!("live page: {}", ui::url(ui)));
    }
    made.keep();
    // Clients can come.
    tell(args.form.format_out(), &(addresses.join(" ") + "\n"))?;
    // Signals are watched as long as the process lives.
    let _ = ended.recv();
    drop((control, ui));
    let reports = server.stop().map_err(Failure::Run)?;
    let recorded: Result<(), Failure> = recordings.into_iter().try_for_each(TraceRecording::finish);
    report::show(&reported(&names, &reports, &served), args.form.format_out())?;
    recorded
}

/// Each export with its name, its report, and those of its shadows up to the same time.
fn reported<'a>(
    names: &'a [String],
    reports: &'a [ExportReport],
    served: &[ServedExport],
) -> Vec<Reported<'a>> {
    let all = names.iter().zip(reports).zip(served);
    all.map(|((name, report), export)| Reported {
        name,
        report,
        shadows: export
            .shadows
            .iter()
            .map(|s| s.report(report.end).wait())
            .collect(),
    })
    .collect()
}

/// Backing files that are not there before the server starts: one that does not start leaves none behind.
struct MadeFiles(Vec<PathBuf>);

impl MadeFiles {
    fn of(exports: &[ExportSetup]) -> MadeFiles {
        let backing = exports.iter().filter_map(|e| e.args.backing.clone());
        MadeFiles(backing.filter(|path| !path.exists()).collect())
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeFiles {
    fn drop(&mut self) {
        for path in &self.0 {
            // It may not have come to be made, or by another server.
            if File::open(path).is_ok_and(|file| file.try_lock().is_ok()) {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// The files that exports use; a snapshot must not replace them.
fn own_files(exports: &[ExportSetup]) -> Vec<PathBuf> {
    let all = exports.iter().flat_map(|export| files(&export.args));
    all.map(|output| output.path.to_owned()).collect()
}

/// Checks what can be checked before anything is made, then makes the devices.
fn prepare(
    exports: Vec<ExportSetup>,
    memory: &ServerMemory,
) -> Result<Vec<PreparedExport>, Failure> {
    let mut said = Warnings::default();
    let mut specs = Vec::new();
    for export in &exports {
        let mut of_export = Vec::new();
        let shadows = export.shadows.iter();
        let shadows = shadows.map(|shadow| (&shadow.model, Some(&shadow.part)));
        let own = (&export.args.model, export.part.as_ref());
        for (model, part) in std::iter::once(own).chain(shadows) {
            let (spec, warnings) = spec_of(model).map_err(|failure| placed(failure, part))?;
            said.extend(warnings);
            identity::protect(Path::new(&model.device()));
            of_export.push(spec);
        }
        specs.push((of_export.remove(0), of_export));
    }
    let written: Vec<Output<'_>> = exports
        .iter()
        .flat_map(|export| files(&export.args))
        .collect();
    identity::check(&written)?;
    let both = exports.into_iter().zip(specs);
    both.map(|(plan, (spec, shadows))| {
        let part = plan.part.clone();
        let prepared = PreparedExport::new(plan, spec, &shadows, memory);
        prepared.map_err(|failure| placed(failure, part.as_ref()))
    })
    .collect()
}

/// A failure of what a part of a file says, with its place.
fn placed(failure: Failure, part: Option<&FilePart>) -> Failure {
    match part {
        Some(part) => failure.map_faults(|fault| part.placed(fault)),
        None => failure,
    }
}

fn open_control(
    args: &ServerArgs,
    exports: Arc<Vec<ServedExport>>,
    files: Vec<PathBuf>,
    end: Sender<()>,
) -> Result<Option<ControlSocket>, Failure> {
    let Some(path) = &args.control else {
        return Ok(None);
    };
    let controller = Controller {
        exports,
        files,
        end,
    };
    let socket = ControlSocket::open(path, move |request| controller.answer(request));
    let socket =
        socket.map_err(|error| Failure::usage(format!("--control {}: {error}", path.display())))?;
    Ok(Some(socket))
}

fn places(args: &ServerArgs) -> Vec<ListenAt> {
    let unix = args.socket.clone().map(ListenAt::Unix);
    unix.into_iter()
        .chain(args.tcp.map(ListenAt::Tcp))
        .collect()
}

/// The address for clients.
fn url(at: &ListenAt, name: &str, encrypted: bool) -> String {
    let scheme = if encrypted { "nbds" } else { "nbd" };
    match at {
        ListenAt::Unix(path) => format!("{scheme}+unix:///{name}?socket={}", path.display()),
        ListenAt::Tcp(address) if name.is_empty() => format!("{scheme}://{address}"),
        ListenAt::Tcp(address) => format!("{scheme}://{address}/{name}"),
    }
}
