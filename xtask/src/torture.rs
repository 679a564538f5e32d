//! `cargo xtask torture`: builds the program and lets `destage-torture` loose on it, which is a
//! program of its own, so that no other step waits for the suites that it draws from.

use crate::{bench, instructions};
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;

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
}

/// Runs the campaign.
///
/// # Errors
/// A law is broken, or something cannot be built or started.
pub fn run(options: &Options) -> Result<()> {
    let program = match &options.program {
        Some(program) => program.clone(),
        None => instructions::build("destage-cli", "destage")?,
    };
    let program = std::path::absolute(program)?;
    let findings = bench::target().join("torture");
    let mut arguments: Vec<String> = ["run", "--quiet", "-p", "destage-torture", "--"]
        .map(str::to_owned)
        .to_vec();
    let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    for (name, path) in [("--program", &program), ("--findings", &findings)] {
        add(
            name,
            path.to_str().context("a path that is no text")?.to_owned(),
        );
    }
    add("--minutes", options.minutes.clone());
    let numbers = [("--seed", options.seed), ("--case", options.case)];
    for (name, number) in numbers {
        number.into_iter().for_each(|n| add(name, n.to_string()));
    }
    options
        .only
        .iter()
        .for_each(|text| add("--only", text.clone()));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    ensure!(crate::cargo(&arguments, &[])?, "the torture has findings");
    Ok(())
}
