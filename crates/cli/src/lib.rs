//! The `destage` command line.
//!
//! Reading order: [`main`], `args` (what can be said), `run::plan` (what it means), `run` (doing
//! it), `output` (telling). Nothing but results goes to standard output.

mod advise;
mod args;
mod ctl;
mod demo;
#[cfg_attr(not(feature = "fit"), path = "no_fit.rs")]
mod fit;
#[cfg_attr(not(feature = "lab"), path = "no_lab.rs")]
mod lab;
mod manual;
mod mrc;
mod playground;
mod presets;
mod report;
mod schemes;
mod serve;
mod trace;
mod waf;
mod watch;

use args::DestageCommand;
use clap::Parser;
use destage_console::failure::Failure;
use destage_console::{extended_by, interrupt, terminal};
use destage_scheme::{SchemeInfo, registry};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::process::ExitCode;

pub use args::Cli;

/// Parses the command line, does what it says, and tells the exit code: 0, 1 for a run that
/// failed, 2 for bad usage or input, 130 and 143 after SIGINT and SIGTERM.
pub fn main(stdout_is_closed: bool) -> ExitCode {
    ExitCode::from(command(std::env::args_os(), stdout_is_closed))
}

/// The same, in a program with schemes of its own: they stand beside the others wherever a scheme is named. Runs of
/// another build of the program are never taken for its own, since the scheme may be another one.
pub fn main_with(own: &[&'static SchemeInfo]) -> ExitCode {
    let ready = registry::add(own).and_then(|()| own_digest());
    match ready {
        Ok(digest) => extended_by(&digest),
        Err(message) => return ExitCode::from(Failure::Run(message).report()),
    }
    main(false)
}

/// SHA-256 of the program file.
fn own_digest() -> Result<String, String> {
    let program = std::env::current_exe().and_then(std::fs::read);
    let digest = |program: Vec<u8>| -> String {
        let hash = Sha256::digest(&program);
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let unread = |error| format!("the file of this program cannot be read: {error}");
    program.map(digest).map_err(unread)
}

/// The same for these words, the first of which is the name of the program, in a process that is not that
/// program alone.
pub fn command(words: impl Iterator<Item = OsString>, stdout_is_closed: bool) -> u8 {
    if stdout_is_closed {
        let message = "standard output is closed: there is no place for results";
        return Failure::Run(message.to_owned()).report();
    }
    let words: Vec<OsString> = words.collect();
    if words.len() <= 1 {
        terminal::say(args::FIRST_STEPS);
        return 2;
    }
    let cli = match Cli::try_parse_from(args::join_negative(words.into_iter())) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; a closed pipe is nothing to complain about.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    if let Err(error) = interrupt::watch() {
        terminal::say(&format!("warning: signals cannot be watched: {error}"));
    }
    let done = match cli.command {
        DestageCommand::Run(args) => destage_experiment::run::run(*args),
        DestageCommand::Sweep(args) => destage_experiment::sweep::run(&args),
        DestageCommand::Mrc(args) => mrc::run(&args),
        DestageCommand::Waf(args) => waf::run(&args),
        DestageCommand::Advise(args) => advise::run(&args),
        DestageCommand::Demo(args) => demo::run(&args),
        DestageCommand::Report(args) => report::run(&args),
        DestageCommand::Repro(args) => destage_repro::run(&args),
        DestageCommand::Serve(args) => serve::run(*args),
        DestageCommand::Ctl(args) => ctl::run(&args),
        DestageCommand::Lab(args) => lab::run(&args),
        DestageCommand::Playground(args) => playground::run(&args),
        DestageCommand::Watch(args) => watch::run(&args),
        DestageCommand::Schemes(args) => schemes::run(&args),
        DestageCommand::Presets(args) => presets::run(&args),
        DestageCommand::Probe(args) => fit::probe::run(&args),
        DestageCommand::FitDevice(args) => fit::fit_device::run(&args),
        DestageCommand::Trace(args) => trace::run(&args),
        DestageCommand::Completions(args) => manual::completions(&args),
        DestageCommand::Man(args) => manual::man(&args),
    };
    match done {
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}
