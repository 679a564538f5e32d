//! Where a worker has the traces of a sweep: where they are, or in a cache of its machine.

use crate::hash::hexadecimal;
use crate::run::host;
use crate::sweep::manifest::SweepTrace;
use destage_console::failure::Failure;
use destage_console::file::{OutputFile, lock_file};
use destage_trace::{is_demo, trace_in};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Where traces are looked for.
#[derive(Clone, Default)]
pub struct TraceSources {
    /// Folder of paths that are not absolute.
    pub folder: PathBuf,
    /// Folder of this machine that traces are copied to once, below their hash.
    pub cache: Option<PathBuf>,
}

/// Is it the address of a trace, which the Python package fetches, instead of a path?
pub fn is_address(path: &str) -> bool {
    let scheme = path.split_once("://").map(|parts| parts.0);
    scheme
        .is_some_and(|s| !s.is_empty() && s.chars().all(|c| c.is_ascii_alphanumeric() || c == '+'))
}

impl TraceSources {
    /// The file of a trace, copied to the cache if there is one.
    ///
    /// # Errors
    /// It is not on this machine, cannot be copied, or is another one than was planned with.
    pub fn file(&self, trace: &SweepTrace) -> Result<PathBuf, Failure> {
        let place = trace_in(&self.folder, &trace.path);
        if is_demo(&place) {
            return Ok(place);
        }
        let Some(cache) = &self.cache else {
            return match place.is_file() {
                true => Ok(place),
                false => Err(absent(trace, &place, None)),
            };
        };
        let folder = cache.join(&trace.sha256);
        let cached = folder.join(file_name(&trace.path));
        if cached.is_file() {
            return Ok(cached);
        }
        if is_address(&trace.path) || !place.is_file() {
            return Err(absent(trace, &place, Some(&cached)));
        }
        let refused = |error: &dyn std::fmt::Display| {
            Failure::Run(format!(
                "cannot copy {} to --trace-cache {}: {error}",
                place.display(),
                cache.display()
            ))
        };
        fs::create_dir_all(&folder).map_err(|error| refused(&error))?;
        let lock = lock_file(&folder.join(".lock")).map_err(|error| refused(&error))?;
        // The second command that comes here finds the copy of the first one.
        match lock.lock() {
            Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(refused(&error)),
            _ if cached.is_file() => Ok(cached),
            _ => {
                let sha256 = copy(&place, &cached, &trace.sha256);
                let sha256 = sha256.map_err(|error| refused(&error))?;
                same(trace, &place, &sha256)?;
                Ok(cached)
            }
        }
    }
}

/// Copies a file that has the hash `expected`; gives the hash that it has, and leaves no copy of another one.
fn copy(from: &Path, to: &Path, expected: &str) -> io::Result<String> {
    let (mut from, mut out) = (File::open(from)?, OutputFile::create(to)?);
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match from.read(&mut buffer)? {
            0 => break,
            n => {
                hash.update(&buffer[..n]);
                out.write_all(&buffer[..n])?;
            }
        }
    }
    let sha256 = hexadecimal(hash);
    if sha256 == expected {
        out.commit()?;
    }
    Ok(sha256)
}

/// Makes sure that the file of a trace is the one that the sweep was planned with.
///
/// # Errors
/// It is another one.
pub fn same(trace: &SweepTrace, file: &Path, sha256: &str) -> Result<(), Failure> {
    match sha256 == trace.sha256 {
        true => Ok(()),
        false => Err(Failure::usage(format!(
            "{}: not the trace that the sweep was planned with: its SHA-256 is {sha256}, not {}",
            file.display(),
            trace.sha256
        ))),
    }
}

/// A worker without the trace.
fn absent(trace: &SweepTrace, place: &Path, cached: Option<&Path>) -> Failure {
    let mut looked = Vec::new();
    if !is_address(&trace.path) {
        looked.push(place.display().to_string());
    }
    looked.extend(cached.map(|path| path.display().to_string()));
    let advice = match is_address(&trace.path) {
        true => "the Python package fetches addresses into the folder of --trace-cache",
        false => "--trace-dir says where traces are",
    };
    let looked = match looked.is_empty() {
        true => "it is an address, and there is no --trace-cache".to_owned(),
        false => format!("there is no {}", looked.join(" and no ")),
    };
    Failure::usage(format!(
        "machine {} has no trace {}: {looked}; {advice}",
        host(),
        trace.path
    ))
}

/// The last part of a path or an address.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
