//! The decoded copy of a trace, which the processes of a machine share: the first one decodes the trace and writes
//! its requests beside the copy of the trace, and the others read them from there.

use crate::decoded;
use crate::hash::of_parts;
use crate::run::{load, trace_warnings};
use crate::sweep::manifest::SweepTrace;
use crate::sweep::traces::{TraceSources, file_name, same};
use destage_console::failure::Failure;
use destage_console::file::{OutputFile, complete, lock_file};
use destage_console::program;
use destage_console::terminal::Warnings;
use destage_trace::{LoadOptions, Stored, is_demo};
use std::fmt::Display;
use std::fs::{File, TryLockError};
use std::io::{self, BufWriter};
use std::path::Path;

impl TraceSources {
    /// Reads a trace as `options` say: from the decoded copy of this machine if there is a cache, which is made
    /// if it is not there. At most `memory` bytes of requests are kept in memory.
    ///
    /// # Errors
    /// The trace is not here, is another one than was planned with, or cannot be read.
    pub fn load(
        &self,
        trace: &SweepTrace,
        options: &LoadOptions,
        memory: u64,
        warnings: &mut Warnings,
    ) -> Result<Stored, Failure> {
        let file = self.file(trace)?;
        let decode = |warnings: &mut Warnings| {
            let stored = load(&file, options, memory, warnings)?;
            let sha256 = stored.meta().sha256.as_deref();
            same(trace, &file, sha256.unwrap_or_default())?;
            Ok(stored)
        };
        let Some(cache) = self.cache.as_ref().filter(|_| !is_demo(&file)) else {
            return decode(warnings);
        };
        let name = format!("{}.decoded", copy_key(trace, options));
        let copy = cache.join(&trace.sha256).join(name);
        let find = |warnings: &mut Warnings| {
            let found = read_copy(&copy, memory).unwrap_or_else(|damage| {
                warnings.warn(format!("the decoded copy is made again: {damage}"));
                None
            })?;
            trace_warnings(found.meta(), warnings);
            Some(found)
        };
        if let Some(found) = find(warnings) {
            return Ok(found);
        }
        let unwritten = |error: &dyn Display, warnings: &mut Warnings| {
            let (path, cache) = (&trace.path, cache.display());
            warnings.warn(format!(
                "{path}: cannot write its decoded copy to --trace-cache {cache}, so this process decodes it for \
                 itself: {error}"
            ));
        };
        let lock = match lock_file(&copy.with_extension("lock")) {
            Ok(lock) => lock,
            Err(error) => {
                unwritten(&error, warnings);
                return decode(warnings);
            }
        };
        // Where a file system has no locks, several processes write the same file.
        let is_taken = matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
        let waited = is_taken && lock.lock().is_ok();
        if let Some(found) = find(warnings) {
            return Ok(found);
        }
        if waited {
            // The other process could not write it, and those behind this one need not wait for another try.
            drop(lock);
            return decode(warnings);
        }
        let stored = decode(warnings)?;
        if let Err(error) = write_copy(&copy, &stored) {
            unwritten(&error, warnings);
        }
        Ok(stored)
    }
}

/// Tells decoded copies of one trace apart: by what decodes it, its name, which warnings have, and how it is read.
fn copy_key(trace: &SweepTrace, options: &LoadOptions) -> String {
    let options = format!("{options:?}");
    let mut key = of_parts([program(), file_name(&trace.path), &options]);
    key.truncate(32);
    key
}

/// Writes a copy, whole or not at all.
fn write_copy(path: &Path, stored: &Stored) -> io::Result<()> {
    let out = BufWriter::new(OutputFile::create(path)?);
    complete(decoded::write(stored, out)?)
}

/// Reads a copy; `None` if there is none.
///
/// # Errors
/// Why it is none.
fn read_copy(path: &Path, memory: u64) -> Result<Option<Stored>, String> {
    let name = path.display().to_string();
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{name}: {error}")),
        Ok(file) => decoded::read(file, &name, memory).map(Some),
    }
}
