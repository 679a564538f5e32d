//! The folder of a sweep, which many commands on many machines may share: the manifest, a file for each batch
//! that is done, locks, and the merged results.

use crate::folder::{BATCHES, LOCK, ResultsFolder};
use crate::sweep::line::BatchLine;
use crate::sweep::manifest::{Manifest, SweepBatch};
use destage_console::failure::Failure;
use destage_console::file::{OutputFile, complete, require_regular};
use destage_console::print::unwritten;
use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::str::FromStr;

/// FolderLock by who plans, while others wait.
const PLAN_LOCK: &str = ".destage-plan.lock";

/// A lock, as long as it is kept. Where a file system has none, nothing is held: outputs are whole
/// nevertheless, and work may be done twice.
pub struct FolderLock {
    file: File,
    /// The process that holds it: one that is forked from it has the file, too, and neither keeps nor ends the
    /// lock.
    process: u32,
}

impl FolderLock {
    fn new(file: File) -> FolderLock {
        let process = std::process::id();
        FolderLock { file, process }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        if std::process::id() == self.process {
            // Where it was none there is nothing to end.
            let _ = self.file.unlock();
        }
    }
}

/// The share of a sweep's batches that a command does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// From 1.
    pub number: u32,
    /// Of so many.
    pub of: u32,
}

impl Shard {
    /// All of it.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// The batches of this share of `batches`: every n-th, so that shares take about as long wherever the long
    /// ones are (SW-2).
    pub fn of(self, batches: usize) -> impl Iterator<Item = usize> {
        (self.number as usize - 1..batches).step_by(self.of as usize)
    }
}

impl FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Shard, &'static str> {
        let parts = text.split_once('/');
        let parts = parts.and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((number, of)) if 1 <= number && number <= of => Ok(Shard { number, of }),
            _ => Err("allowed: I/N with I from 1 to N, such as 3/100"),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl ResultsFolder {
    /// Its manifest, if it has one.
    ///
    /// # Errors
    /// The file is no manifest.
    pub(super) fn manifest(&self) -> Result<Option<Manifest>, Failure> {
        Manifest::read(self.path()).map_err(|why| self.refused(&why))
    }

    /// Waits until nobody else plans. `waits` is called if that takes time.
    ///
    /// # Errors
    /// Nothing can be written.
    pub(super) fn lock_plan(&self, waits: impl FnOnce()) -> Result<FolderLock, Failure> {
        let file = self.lock_file(PLAN_LOCK)?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            waits();
            file.lock().map_err(|error| self.unwritable(&error))?;
        }
        Ok(FolderLock::new(file))
    }

    /// Nobody else works in the folder.
    ///
    /// # Errors
    /// Somebody does.
    pub(super) fn lock_alone(&self) -> Result<FolderLock, Failure> {
        let file = self.lock_file(LOCK)?;
        let locked = file.try_lock();
        let busy = "another destage works there; wait for it, or name another folder";
        self.acquired(file, locked, busy)
    }

    /// The lock of a share, which others may work beside.
    ///
    /// # Errors
    /// Somebody works on all of it or on the same share.
    pub(super) fn lock_shard(&self, shard: Shard) -> Result<[FolderLock; 2], Failure> {
        let file = self.lock_file(LOCK)?;
        let locked = file.try_lock_shared();
        let busy = "another destage works on all of it there; wait for it, or name another folder";
        let all = self.acquired(file, locked, busy)?;
        let Shard { number, of } = shard;
        let file = self.lock_file(&format!(".destage-shard-{number}-of-{of}.lock"))?;
        let locked = file.try_lock();
        let busy = format!("another destage works on shard {shard} there; wait for it");
        Ok([all, self.acquired(file, locked, &busy)?])
    }

    fn acquired(
        &self,
        file: File,
        locked: Result<(), TryLockError>,
        busy: &str,
    ) -> Result<FolderLock, Failure> {
        match locked {
            Err(TryLockError::WouldBlock) => Err(self.refused(&busy)),
            Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => {
                Err(self.unwritable(&error))
            }
            _ => Ok(FolderLock::new(file)),
        }
    }

    /// Where the records of a batch go.
    pub(super) fn file_of(&self, batch: &SweepBatch) -> PathBuf {
        let name = format!("{}.jsonl", batch.key);
        self.path()
            .join(BATCHES)
            .join(batch_folder(&batch.key))
            .join(name)
    }

    /// The finished batches among `wanted`: a batch is finished when its file exists.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) fn finished_batches(
        &self,
        all: &[SweepBatch],
        wanted: &[usize],
    ) -> Result<BTreeSet<usize>, Failure> {
        // A share asks for its files by name; who wants many lists all of them.
        if wanted.len() * 4 < all.len() {
            let there = |batch: &&usize| self.file_of(&all[**batch]).exists();
            return Ok(wanted.iter().filter(there).copied().collect());
        }
        let found = self.contents(all)?;
        let there = |batch: &&usize| found.done.contains(all[**batch].key.as_str());
        Ok(wanted.iter().filter(there).copied().collect())
    }

    /// Writes the lines of a batch, whole or not at all.
    ///
    /// # Errors
    /// They cannot be written.
    pub(super) fn save(&self, batch: &SweepBatch, lines: &[BatchLine]) -> Result<(), Failure> {
        let path = self.file_of(batch);
        let save = || {
            fs::create_dir_all(path.parent().expect("it is in the folder"))?;
            require_regular(&path)?;
            let mut out = BufWriter::new(OutputFile::create(&path)?);
            for line in lines {
                out.write_all(&line.to_bytes()?)?;
            }
            complete(out)
        };
        save().map_err(|error| unwritten(&path, &error))
    }
}

/// The folder of a batch's file.
pub(super) fn batch_folder(key: &str) -> &str {
    key.get(..2).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_all_of_it_once() {
        for of in 1..6 {
            let mut all: Vec<usize> = (1..=of)
                .flat_map(|number| Shard { number, of }.of(13))
                .collect();
            all.sort_unstable();
            assert_eq!(all, (0..13).collect::<Vec<_>>(), "{of}");
        }
    }
}
