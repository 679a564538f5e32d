//! Checks of the workspace, the same on a laptop and in CI: `cargo xtask ci`.

mod bench;
mod ci;
mod deny;
mod dist;
mod instructions;
mod programs;
mod python;
mod records;
mod site;
mod template;
mod test;
mod torture;

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Checks and benchmarks of the workspace")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Everything that must pass before a change lands, step by step with times.
    Ci(ci::Options),
    /// The same, and then what is slow or random: before an issue is called resolved.
    Full(ci::Options),
    /// The tests of one scheme: its own, and what the suites have with it in it. Takes seconds.
    Test {
        /// Its name, as `destage schemes` lists it.
        scheme: String,
    },
    /// Builds and tests the crate that authors of schemes copy, `templates/scheme`.
    Template,
    /// Compares presets of real drives with data sheets and measurements, and prints the tables of docs/DRIVES.md.
    Sheets,
    /// Checks the tables of docs/DRAINING.md and docs/BUFFER.md against their sweep; DESTAGE_BLESS=1 writes them.
    Draining,
    /// Write the documents that are made from registries and types.
    Docs {
        /// Only say which ones are stale.
        #[arg(long)]
        check: bool,
    },
    /// Compares the instructions of small benchmarks with the recorded ones, by valgrind, in the programs that
    /// tests build.
    Instructions {
        /// Record the present counts; the commit says why they differ.
        #[arg(long)]
        accept: bool,
    },
    /// The same in optimised programs, and compares compositions of one static type with the same behind
    /// pointers. A release begins with it.
    Optimised {
        /// Record the present counts; the commit says why they differ.
        #[arg(long)]
        accept: bool,
    },
    /// Shows that no result has moved: compares the outputs of some hundred command lines with the
    /// recorded ones, byte for byte.
    Records(records::Options),
    /// Holds laws between results against random traces, schemes, devices and options, and shrinks
    /// what breaks one to a command line.
    Torture(torture::Options),
    /// Licences, sources, and known faults of all packages, by cargo-deny and deny.toml.
    Deny,
    /// Archives for people without a compiler, and of the source with all that it needs: docs/RELEASE.md.
    Dist(dist::Options),
    /// Builds the site with the playground, target/site: docs/PLAYGROUND.md.
    Site(site::Options),
    /// Builds the Python package and tests it as it is installed, or makes what is shipped: docs/PYTHON.md.
    Python(python::Options),
    /// Measures speed and memory, beside libCacheSim, and prints tables.
    Bench(bench::Options),
}

fn main() -> ExitCode {
    let done = match Args::parse().command {
        Command::Ci(options) => ci::run(&options, false),
        Command::Full(options) => ci::run(&options, true),
        Command::Bench(options) => bench::run(options),
        Command::Deny => deny::run(),
        Command::Dist(options) => dist::run(&options),
        Command::Site(options) => site::run(&options),
        Command::Python(options) => python::run(&options),
        Command::Records(options) => records::run(&options),
        Command::Torture(options) => torture::run(&options),
        Command::Instructions { accept } => instructions::run(programs::Build::Tests, accept),
        Command::Optimised { accept } => instructions::optimised(accept),
        Command::Docs { check } => docs(check),
        Command::Template => template::run(),
        Command::Sheets => {
            ci::note_what_is_skipped(&["DESTAGE_DRIVES"]);
            ignored_tests("test --workspace --test drives -- --ignored --nocapture")
        }
        Command::Draining => {
            ci::note_what_is_skipped(&["DESTAGE_TRACES"]);
            ignored_tests("test --workspace --test commands draining -- --ignored --nocapture")
        }
        Command::Test { scheme } => test::run(&scheme),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Tests that are too slow for `ci`.
fn ignored_tests(arguments: &str) -> Result<()> {
    let mut command = programs::cargo_by_hand();
    let status = command.args(arguments.split(' ')).status()?;
    ensure!(status.success(), "cargo {arguments}");
    Ok(())
}

/// The text comes from the program itself, so that checking needs no other tool. The proofs of each
/// scheme are computed first, and are part of the program that is built again then; a test checks that.
fn docs(check: bool) -> Result<()> {
    let build = || programs::build(programs::Build::Tests);
    if !check {
        let run = std::process::Command::new(build()?.join("examples/proven")).status()?;
        ensure!(
            run.success(),
            "what is shown of the schemes cannot be computed"
        );
    }
    let mut run = std::process::Command::new(build()?.join("destage-docgen"));
    run.args(check.then_some("--check"));
    let status = run.status()?;
    ensure!(status.success(), "the documents are not as they should be");
    Ok(())
}

/// Runs cargo with these arguments and variables; did it succeed?
fn cargo(arguments: &[&str], env: &[(&str, &str)]) -> Result<bool> {
    let mut command = programs::cargo_by_hand();
    command.args(arguments).envs(env.iter().copied());
    let status = command.status().context("cannot start cargo")?;
    Ok(status.success())
}
