//! Checks of the workspace, the same on a laptop and in CI: `cargo xtask ci`.

mod ci;

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
}

fn main() -> ExitCode {
    let done = match Args::parse().command {
        Command::Ci { only, keep_going } => ci::run(only.as_deref(), keep_going),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
