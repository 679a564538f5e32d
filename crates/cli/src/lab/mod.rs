//! `destage lab`: a command on a real file system, in simulated time. See docs/LIVE.md.

mod guest;

use crate::args::LabArgs;
use crate::args::lab::GuestArgs;
use crate::serve::memory::{DeviceMemory, ServerMemory};
use crate::serve::persistence::{self, cache_kind};
use crate::serve::{TraceRecording, spec_of};
use destage_console::failure::Failure;
use destage_console::identity::{self, Output};
use destage_console::interrupt;
use destage_console::terminal::Warnings;
use destage_experiment::failures::run_failure;
use destage_experiment::sinks::{self, tell};
use destage_lab::{Lab, LabDevice};
use destage_live::device::{DataDevice, RequestWatcher, SimulatedSsd};
use destage_live::store::{MemoryMedium, Store};
use destage_sim::{ResultRecord, RunSpec};
use destage_types::Nanos;
use guest::{CALENDAR, DISK, Guest};
use rustix::process::{Pid, Signal, kill_process_group};
use std::path::Path;
use tempfile::TempDir;

/// Figures between the signs of the guest.
#[derive(Default)]
struct Observed {
    begin: Nanos,
    command_end: Nanos,
    sync_end: Nanos,
    record: Option<ResultRecord>,
}

impl Observed {
    /// The guest gives a sign before the command, behind it, and when all data are on the device.
    fn sign(&mut self, device: &mut LabDevice, now: Nanos, before: u64) {
        match before {
            0 => {
                self.begin = now;
                device.device().reset_statistics();
            }
            1 => self.command_end = now,
            2 => {
                self.sync_end = now;
                self.record = Some(device.device().record());
            }
            _ => {}
        }
    }
}

/// Boots the guest, lets time pass until it ends, and reports.
///
/// # Errors
/// Bad usage, a guest that does not get as far as the command, or a command that failed.
pub fn run(args: &LabArgs) -> Result<(), Failure> {
    let guest_args = &args.guest;
    let (spec, warnings) = spec_of(&guest_args.model)?;
    let mut said = Warnings::default();
    said.extend(warnings);
    check_files(args)?;
    let (device, bytes, recording) = device(guest_args, &spec)?;

    let failed = |error| Failure::Run(format!("cannot prepare the guest: {error}"));
    let folder = TempDir::with_prefix("destage-lab.").map_err(failed)?;
    let path = folder.path().to_owned();
    interrupt::before_end(move || {
        // Only a temporary folder can be left.
        let _ = std::fs::remove_dir_all(path);
    });
    let guest = Guest::new(folder.path(), guest_args, &args.command)?;
    let [calendar, disk] = [CALENDAR, DISK].map(|name| folder.path().join(name));
    let lab = Lab::open(&calendar, &disk, device, bytes).map_err(failed)?;
    let mut kernel = guest.boot(&args.kernel, guest_args)?;
    let pid = Pid::from_child(&kernel);
    interrupt::before_end(move || end_kernel(pid));
    let mut observed = Observed::default();
    let ended = lab.run(
        &mut || matches!(kernel.try_wait(), Ok(None)),
        &mut |device, now, before| observed.sign(device, now, before),
    );
    if ended.is_err() {
        // It waits for an answer that will not come.
        end_kernel(pid);
    }
    let _ = kernel.wait();
    let ended = ended.map_err(|error| guest.failure(error))?;
    let lost = |error| Failure::Run(format!("the data: {error}"));
    ended.data.map_err(lost)?;
    let code = guest.code()?;
    recording.map_or(Ok(()), TraceRecording::finish)?;
    report(guest_args, observed)?;
    match code {
        0 => Ok(()),
        code => Err(Failure::Run(format!(
            "the command ended with exit code {code}"
        ))),
    }
}

/// The simulated SSD with its data, its bytes, and what records its requests.
fn device(
    args: &GuestArgs,
    spec: &RunSpec,
) -> Result<(LabDevice, u64, Option<TraceRecording>), Failure> {
    persistence::check(args.cache_kind, spec)?;
    let memory = ServerMemory::without_clients(args.limit.limit());
    memory.hold("the device of the guest", DeviceMemory::of(spec, true))?;
    let ssd = SimulatedSsd::new(spec, destage_console::VERSION).map_err(run_failure)?;
    let bytes = ssd.capacity();
    let recording = args.record.as_deref();
    let recording = recording.map(TraceRecording::create).transpose()?;
    let watchers: Vec<Box<dyn RequestWatcher>> =
        recording.iter().map(TraceRecording::watcher).collect();
    let medium = MemoryMedium::new(memory.budget);
    let page = spec.page.bytes() as u32;
    let store = Store::new(Box::new(medium), cache_kind(args.cache_kind, spec), page);
    Ok((DataDevice::new(ssd, store, watchers), bytes, recording))
}

/// Ends the kernel with all its processes.
fn end_kernel(kernel: Pid) {
    // It may have ended.
    let _ = kill_process_group(kernel, Signal::KILL);
}

/// Refuses files that cannot be read, or would be written over.
fn check_files(args: &LabArgs) -> Result<(), Failure> {
    if let Err(error) = std::fs::File::open(&args.kernel) {
        return Err(Failure::usage(format!(
            "--kernel {}: {error}",
            args.kernel.display()
        )));
    }
    identity::protect(&args.kernel);
    identity::protect(Path::new(&args.guest.model.device()));
    let record = args.guest.record.as_deref();
    let written = Vec::from_iter(record.map(|path| Output::of("--record", path)));
    identity::check(&written)
}

fn report(args: &GuestArgs, observed: Observed) -> Result<(), Failure> {
    let none =
        || Failure::Run("the guest gave no sign; a command read /sys/block/vda/serial".into());
    let mut record = observed.record.ok_or_else(none)?;
    "lab".clone_into(&mut record.trace.name);
    let requests = record.counts.requests;
    let format = args.form.format_out();
    sinks::show(format, [record])?;
    let since = |end: Nanos| format!("{:.9} s", (end.0 - observed.begin.0) as f64 / 1e9);
    let text = format!(
        "the command took {} of simulated time, {} with what sync wrote behind it; {requests} requests to \
         the device\nthe file system was checked: clean\n",
        since(observed.command_end),
        since(observed.sync_end),
    );
    tell(format, &text)
}
