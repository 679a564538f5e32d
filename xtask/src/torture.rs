//! `cargo xtask torture`: builds the program and lets `destage-torture` loose on it, which is a
//! program of its own, so that no other step waits for the suites that it draws from.

use crate::programs::{Build, build, target};
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;
use std::process::Command;

/// How long, and of what.
#[derive(clap::Args)]
pub struct Options {
    /// How long.
    #[arg(long, value_name = "N", default_value = "2")]
    minutes: String,
    /// Decides every case; a seed gives the same cases again [default: from the clock].
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Hold only laws whose name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Only the case of this number.
    #[arg(long, value_name = "I", requires = "seed")]
    case: Option<u64>,
    /// Program that is tortured [default: built from this checkout, optimised].
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Torture the program of the tests: it is slower, and checks itself as it runs.
    #[arg(long, conflicts_with = "program")]
    checked: bool,
}

/// Runs the campaign.
///
/// # Errors
/// A law is broken, or something cannot be built or started.
pub fn run(options: &Options) -> Result<()> {
    let of_tests = build(Build::Tests)?;
    let program = match &options.program {
        Some(program) => program.clone(),
        None if options.checked => of_tests.join("destage"),
        None => build(Build::Release)?.join("destage"),
    };
    let program = std::path::absolute(program)?;
    let mut torture = Command::new(of_tests.join("destage-torture"));
    torture.arg("--program").arg(&program);
    torture.arg("--findings").arg(target().join("torture"));
    torture.args(["--minutes", &options.minutes]);
    for (name, number) in [("--seed", options.seed), ("--case", options.case)] {
        number.iter().for_each(|n| {
            torture.args([name, &n.to_string()]);
        });
    }
    if let Some(text) = &options.only {
        torture.args(["--only", text]);
    }
    let status = torture.status().context("cannot start the torture")?;
    ensure!(status.success(), "the torture has findings");
    Ok(())
}
