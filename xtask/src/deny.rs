//! `cargo xtask deny`: licences, sources, and security advisories of all packages, by cargo-deny and `deny.toml`.

use crate::programs::cargo_by_hand;
use anyhow::{Context, Result, ensure};
use std::process::{Command, Output};

const INSTALL: &str = "`cargo install cargo-deny --locked` installs it";

/// Holds all packages against `deny.toml`. What cannot be looked at here is said.
///
/// # Errors
/// A package is against the rules, or cargo knows not all packages.
pub fn run() -> Result<()> {
    if !deny(&["--version"]).output()?.status.success() {
        println!(
            "SKIPPED: cargo-deny is not installed, so nobody looked at licences, sources, and advisories of packages; {INSTALL}"
        );
        return Ok(());
    }
    check(&["bans", "licenses", "sources"])?;
    let fetched = deny(&["fetch", "db"]).output()?;
    if !fetched.status.success() {
        println!(
            "SKIPPED: the database of advisories cannot be had, so nobody looked for packages with known faults: {}",
            last_line(&fetched)
        );
        return Ok(());
    }
    check(&["advisories"])
}

fn check(what: &[&str]) -> Result<()> {
    let status = deny(&[&["check", "--hide-inclusion-graph"], what].concat()).status();
    let passed = status.context("cargo-deny cannot be started")?.success();
    ensure!(
        passed,
        "cargo deny check {}: a package is against deny.toml; change the package, or write an exception with its reason there",
        what.join(" ")
    );
    Ok(())
}

fn deny(arguments: &[&str]) -> Command {
    let mut command = cargo_by_hand();
    command.arg("deny").args(arguments);
    command
}

fn last_line(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().rfind(|line| !line.trim().is_empty());
    line.unwrap_or("it says nothing").trim().to_owned()
}
