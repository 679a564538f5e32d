//! The crate that authors of schemes copy: `templates/scheme`, built and tested as they would do it.
//!
//! It is no member of the workspace. Alone it would have everything below it built once more, so it is built
//! in a second workspace, whose members are links to those of this one and have the same relative paths. Cargo
//! takes what is built already then.

use crate::programs::{cargo_by_hand, target};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Lines about members in the workspace, and their replacements.
const MEMBERS: [[&str; 2]; 2] = [
    [
        r#"members = ["crates/*", "xtask"]"#,
        r#"members = ["crates/*", "xtask", "templates/*"]"#,
    ],
    [r#"exclude = ["templates"]"#, "exclude = []"],
];

/// Builds and tests the crate.
///
/// # Errors
/// It is not formatted, does not compile, or a test of it fails.
pub fn run() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = root.canonicalize().context("the workspace is not there")?;
    let shared = std::path::absolute(target())?;
    let folder = workspace(&root, &shared)?;
    for arguments in [
        "fmt -p my-destage --check",
        "test --workspace --test my_schemes",
    ] {
        let mut command = cargo_by_hand();
        command.args(arguments.split(' ')).current_dir(&folder);
        let status = command.env("CARGO_TARGET_DIR", &shared).status()?;
        ensure!(status.success(), "templates/scheme: cargo {arguments}");
    }
    Ok(())
}

/// Makes the second workspace and gives its folder.
fn workspace(root: &Path, shared: &Path) -> Result<PathBuf> {
    let folder = shared.join("template");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    for entry in fs::read_dir(root)? {
        let name = entry?.file_name();
        if !["target", ".git", "Cargo.toml", "Cargo.lock"].contains(&&*name.to_string_lossy()) {
            symlink(root.join(&name), folder.join(&name))?;
        }
    }
    let mut manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    for [here, there] in MEMBERS {
        ensure!(manifest.contains(here), "Cargo.toml does not say `{here}`");
        manifest = manifest.replace(here, there);
    }
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(folder)
}
