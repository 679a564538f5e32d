//! Checks of the workspace, the same on a laptop and in CI: `cargo xtask ci`.

mod bench;
mod ci;
mod instructions;
mod records;

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
    Ci {
        /// Run only the steps whose name contains this.
        #[arg(long)]
        only: Option<String>,
        /// Go on after a step that failed.
        #[arg(long)]
        keep_going: bool,
    },
    /// Write the documents that are made from registries and types.
    Docs {
        /// Only say which ones are stale.
        #[arg(long)]
        check: bool,
    },
    /// Compares the instructions of two small benchmarks with the recorded ones, by valgrind.
    Instructions {
        /// Record the present counts; the commit says why they differ.
        #[arg(long)]
        accept: bool,
    },
    /// Shows that no result has moved: compares the outputs of some hundred command lines with the
    /// recorded ones, byte for byte.
    Records(records::Options),
    /// Measures speed and memory, beside libCacheSim, and prints tables.
    Bench(bench::Options),
}

fn main() -> ExitCode {
    let done = match Args::parse().command {
        Command::Ci { only, keep_going } => ci::run(only.as_deref(), keep_going),
        Command::Bench(options) => bench::run(options),
        Command::Records(options) => records::run(&options),
        Command::Instructions { accept } => instructions::run(accept),
        Command::Docs { check } => docs(check),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The text comes from the program itself, so that checking needs no other tool.
fn docs(check: bool) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let run = ["run", "-q", "-p", "destage-cli", "--example", "docs", "--"];
    let mut command = std::process::Command::new(cargo);
    command.args(run);
    if check {
        command.arg("--check");
    }
    let status = command.status().context("cannot start cargo")?;
    ensure!(status.success(), "the documents are not as they should be");
    Ok(())
}
