//! The folder of `--out`: one line a run in `results.jsonl`, each whole as soon as its run is done, so that
//! the same command goes on where an earlier one ended.

use crate::folder::{LOCK, MANIFEST, RESULTS, ResultsFolder};
use crate::seal::{seal, unseal};
use destage_console::failure::Failure;
use destage_console::file::{self, OutputFile, require_regular};
use destage_console::interrupt;
use destage_sim::ResultRecord;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;

/// A folder of results. No other command writes to it while this one does.
pub struct Journal {
    folder: ResultsFolder,
    _lock: File,
    /// Records of runs that are done, by key.
    finished: BTreeMap<String, ResultRecord>,
    /// Bytes of the journal that are whole lines.
    whole: u64,
    /// The journal, from the first new line on.
    file: Option<File>,
}

impl Journal {
    /// Locks the folder, which is made if it is not there, and reads what earlier commands left there, unless
    /// all is to be done `fresh`.
    ///
    /// # Errors
    /// Another command writes there, the journal is none, or nothing can be written.
    pub fn open(folder: &Path, fresh: bool) -> Result<Journal, Failure> {
        let folder = ResultsFolder::open(folder)?;
        let lock = folder.lock_file(LOCK)?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => {
                return Err(folder.refused(
                    &"another destage writes there; wait for it, or name another folder",
                ));
            }
            // Without locks, the journal of another command could be replaced while it writes.
            Err(TryLockError::Error(error)) => return Err(folder.unwritable(&error)),
            Ok(()) => {}
        }
        if folder.path().join(MANIFEST).exists() {
            return Err(
                folder.refused(&"the results of `destage sweep` are there; name another folder")
            );
        }
        folder.require_own(&[RESULTS])?;
        // Proves that the journal can be replaced, and removes what killed commands left of it.
        folder.writable(RESULTS, file::check(&folder.path().join(RESULTS)))?;
        let mut journal = Journal {
            folder,
            _lock: lock,
            finished: BTreeMap::new(),
            whole: 0,
            file: None,
        };
        if !fresh {
            let read = journal.read();
            read.map_err(|why| journal.folder.refused(&format!("{RESULTS}{why}")))?;
        }
        Ok(journal)
    }

    /// Reads the whole lines; one that was cut is left out, and the next one takes its place.
    fn read(&mut self) -> Result<(), String> {
        let text = match std::fs::read(self.folder.path().join(RESULTS)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            read => read.map_err(|error| format!(": {error}"))?,
        };
        let lines = text.split_inclusive(|&b| b == b'\n');
        for (i, line) in lines.filter(|line| line.ends_with(b"\n")).enumerate() {
            let line_read = unseal(line).map_err(|why| {
                format!(
                    ":{}: {why}; remove that line, and the same command repeats its run (--fresh repeats all \
                     runs, and drops the results that are there)",
                    i + 1
                )
            })?;
            self.whole += line.len() as u64;
            // Records of older versions stay in the file, and are never taken for a run.
            let record = line_read.record;
            if line_read.is_sealed && !record.run.key.is_empty() {
                self.finished.insert(record.run.key.clone(), record);
            }
        }
        Ok(())
    }

    /// The record of a run that an earlier command finished.
    pub fn finished(&self, key: &str) -> Option<&ResultRecord> {
        self.finished.get(key)
    }

    /// Takes the next record.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, record: &ResultRecord) -> io::Result<()> {
        self.folder.advise();
        let line = seal(record)?;
        match &mut self.file {
            Some(file) => interrupt::uninterrupted(|| file.write_all(&line))?,
            None => self.file = Some(self.begin(&line)?),
        }
        // The same run may be asked for again by the same command.
        self.finished.insert(record.run.key.clone(), record.clone());
        Ok(())
    }

    /// Writes the first new line: behind the whole ones, or in a new journal.
    fn begin(&self, line: &[u8]) -> io::Result<File> {
        let path = self.folder.path().join(RESULTS);
        require_regular(&path)?;
        if self.whole == 0 {
            let mut file = OutputFile::create(&path)?;
            file.write_all(line)?;
            return file.commit_open();
        }
        let mut file = OpenOptions::new().append(true).open(path)?;
        file.set_len(self.whole)?;
        interrupt::uninterrupted(|| file.write_all(line))?;
        Ok(file)
    }

    /// Brings the journal to the disk.
    ///
    /// # Errors
    /// It cannot be.
    pub fn finish(self) -> io::Result<()> {
        self.file.map_or(Ok(()), |file| file.sync_all())
    }
}
