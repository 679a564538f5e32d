//! Puts the commit into the version string: `VERSION+COMMIT`, or plain `VERSION` outside a checkout.

use std::path::Path;
use std::process::Command;

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}

/// The commit, unless the sources lie in somebody else's repository.
fn commit() -> Option<String> {
    let top = git(&["rev-parse", "--show-toplevel"])?;
    let here = Path::new("../..").canonicalize().ok()?;
    if Path::new(&top).canonicalize().ok()? != here {
        return None;
    }
    // Only files that exist: a missing one would make every build run this script again.
    let files = ["HEAD", "logs/HEAD"].map(|file| git(&["rev-parse", "--git-path", file]));
    for path in files.into_iter().flatten() {
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=9", "HEAD"])
}

/// Where everything is that decides on a result.
const SOURCES: [&str; 13] = [
    "../types/src",
    "../trace/src",
    "../twin/src",
    "../fsmodel/src",
    "../scheme/src",
    "../device/src",
    "../record/src",
    "../sim/src",
    "src",
    "../report/src",
    "../experiment/src",
    "../cli/src",
    "../../presets",
];

/// Adds the name and the content of each file below `path` to `hash` (FNV-1a of 64 bits, which is for changes,
/// not for enemies).
fn add(path: &Path, hash: &mut u64) {
    if path.is_dir() {
        let Ok(entries) = std::fs::read_dir(path) else {
            return;
        };
        let mut inside: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        inside.sort();
        inside.iter().for_each(|path| add(path, hash));
    } else if let (Some(name), Ok(content)) = (path.to_str(), std::fs::read(path)) {
        for &byte in name.as_bytes().iter().chain(&content) {
            *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// A hash of the sources: it tells programs of one commit apart, and is the same in all that are built from
/// them.
fn sources() -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for path in SOURCES.into_iter().chain(["../../Cargo.lock"]) {
        println!("cargo::rerun-if-changed={path}");
        add(Path::new(path), &mut hash);
    }
    format!("{hash:016x}")
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = env!("CARGO_PKG_VERSION");
    let full = match commit() {
        Some(commit) => format!("{version}+{commit}"),
        None => version.to_owned(),
    };
    println!("cargo::rustc-env=DESTAGE_VERSION={full}");
    println!("cargo::rustc-env=DESTAGE_SOURCES={}", sources());
}
