//! The programs of the workspace, as steps run them.

use crate::cargo;
use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How they are built: together, where both are wanted. Each alone would have other features of what both
/// need, and the simulator were built once for each.
#[derive(Clone, Copy)]
pub enum Build {
    /// As tests are, `destage-torture` among them.
    Tests,
    /// As `cargo install` does it.
    Release,
    /// The same, `destage-bench` alone.
    ReleaseBench,
    /// As shipped.
    Dist,
}

/// Builds them and gives the folder they are in.
///
/// # Errors
/// They do not build.
pub fn build(how: Build) -> Result<PathBuf> {
    let both = ["-p", "destage-cli", "-p", "destage-bench", "--profile"];
    let (arguments, folder) = match how {
        // With an example the features are those of the tests, for which all of it is built.
        Build::Tests => (
            ["--workspace", "--bin", "destage*", "--example", "proven"].to_vec(),
            "debug",
        ),
        Build::Release => ([&both[..], &["release"]].concat(), "release"),
        Build::ReleaseBench => (["--release", "-p", "destage-bench"].to_vec(), "release"),
        Build::Dist => {
            let full = ["dist", "--features", "destage-cli/full"];
            ([&both[..], &full].concat(), "dist")
        }
    };
    let built = cargo(&[&["build", "--quiet"], &arguments[..]].concat(), &[])?;
    ensure!(built, "the programs do not build");
    Ok(target().join(folder))
}

/// Cargo, as it would be started by hand.
pub fn cargo_by_hand() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    by_hand(Command::new(cargo))
}

/// The same of a program that starts cargo: scripts that build C look at what cargo says of the package that
/// runs, which is this one, and would build all again whenever somebody goes the other way.
pub fn by_hand(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Folder of what cargo builds.
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"),
    }
}
