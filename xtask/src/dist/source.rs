//! The source of the last commit in a folder of its own, and what it needs to be built anywhere.

use super::does;
use crate::bench::output;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Writes the last commit of `root` into the folder `to`, which is made anew.
///
/// # Errors
/// git or tar is missing or fails.
pub fn check_out(root: &Path, to: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to)?;
    let tar = to.with_extension("tar");
    let mut git = Command::new("git");
    git.current_dir(root)
        .args(["archive", "--output"])
        .arg(&tar)
        .arg("HEAD");
    does(&mut git)?;
    let mut unpack = Command::new("tar");
    does(unpack.arg("-xf").arg(&tar).arg("-C").arg(to))?;
    Ok(fs::remove_file(&tar)?)
}

/// Puts all packages that the workspace `folder` needs into it, and the settings that make cargo take them.
///
/// # Errors
/// A package is not there and cannot be had.
pub fn vendor(folder: &Path) -> Result<()> {
    let mut cargo = Command::new("cargo");
    // With --quiet the settings would not be printed.
    let arguments = ["vendor", "--locked", "--versioned-dirs", "vendor"];
    let settings = output(cargo.current_dir(folder).args(arguments))?;
    ensure!(
        settings.contains("[source."),
        "cargo vendor says no settings"
    );
    let config = folder.join(".cargo/config.toml");
    let before = fs::read_to_string(&config)?;
    Ok(fs::write(&config, format!("{before}\n{settings}"))?)
}

/// Flags of the compiler by which no path of this machine is in what is built of `source`.
///
/// # Errors
/// Nobody says where cargo keeps packages.
pub fn without_paths(source: &Path) -> Result<String> {
    let cargo = match std::env::var("CARGO_HOME") {
        Ok(folder) => folder,
        Err(_) => format!("{}/.cargo", std::env::var("HOME").context("no HOME")?),
    };
    let source = source.display();
    Ok(format!(
        "--remap-path-prefix={source}=/destage --remap-path-prefix={cargo}=/cargo"
    ))
}
