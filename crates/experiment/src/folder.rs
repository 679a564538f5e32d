//! Folders of results (`--out`), of `run`, `repro` and `sweep`: their files, and what is said of them.

use crate::options::FormatOut;
use destage_console::failure::Failure;
use destage_console::file::{OutputFile, lock_file};
use destage_console::interrupt;
use destage_report::rows::{Form, Rows};
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Records: of `run` in the order in which they were done, which is its journal; of `sweep` in the order of the
/// sweep, without what they cost (SW-3).
pub const RESULTS: &str = "results.jsonl";
/// The cost of each run of a sweep, and the machine that ran it.
pub const COSTS: &str = "costs.csv";
/// The sweep and its batches.
pub const MANIFEST: &str = "manifest.jsonl";
/// Files of batches, in folders by the first two digits of their keys: so no folder becomes long, which is
/// looked through whenever a file is made.
pub const BATCHES: &str = "batches";
/// Held by a command that writes to the folder: alone, or by commands with shards together.
pub const LOCK: &str = ".destage.lock";

/// A file of records, which is there once it is complete.
pub type RowsFile = Rows<BufWriter<OutputFile>>;

/// A folder of results.
pub struct ResultsFolder {
    path: PathBuf,
}

impl ResultsFolder {
    /// The folder at `path`, which is made if it is not there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(path: &Path) -> Result<ResultsFolder, Failure> {
        let folder = ResultsFolder::existing(path);
        fs::create_dir_all(path).map_err(|error| folder.unwritable(&error))?;
        Ok(folder)
    }

    /// The folder at `path`, which is there, or has nothing in it yet.
    pub fn existing(path: &Path) -> ResultsFolder {
        let path = path.to_owned();
        ResultsFolder { path }
    }

    /// Its place.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A fault of the folder.
    pub(crate) fn refused(&self, why: &dyn Display) -> Failure {
        Failure::usage(format!("--out {}: {why}", self.path.display()))
    }

    /// Nothing can be written there.
    pub(crate) fn unwritable(&self, why: &dyn Display) -> Failure {
        self.refused(&format!("cannot write there: {why}"))
    }

    /// The file called `name` that was `opened`.
    pub(crate) fn writable<T>(&self, name: &str, opened: io::Result<T>) -> Result<T, Failure> {
        opened.map_err(|error| self.unwritable(&format!("{name}: {error}")))
    }

    /// The file called `name`, to be locked.
    pub(crate) fn lock_file(&self, name: &str) -> Result<File, Failure> {
        self.writable(name, lock_file(&self.path.join(name)))
    }

    /// The file of results in `form`, to be written.
    pub(crate) fn rows(&self, form: Form) -> io::Result<RowsFile> {
        let file = OutputFile::create(&self.path.join(results_name(form)))?;
        Rows::new(BufWriter::new(file), form)
    }

    /// Sets the advice that an interrupted command prints. Called before the first result, as the
    /// interruption may come right after it.
    pub(crate) fn advise(&self) {
        interrupt::advise(format!(
            "the results so far are in {}; the same command continues from there",
            self.path.display()
        ));
    }
}

/// The name of a file of results.
pub fn results_name(form: Form) -> String {
    format!("results.{}", form.extension())
}

/// The forms of results that `format` asks for in a folder: lines of JSON, which are always there, and another.
pub fn forms(format: FormatOut) -> impl Iterator<Item = Form> {
    let other = form(format).filter(|form| *form != Form::Jsonl);
    [Form::Jsonl].into_iter().chain(other)
}

/// The files of results that `--out` may write.
pub fn results_files(folder: &Path, format: FormatOut) -> impl Iterator<Item = PathBuf> {
    forms(format).map(|form| folder.join(results_name(form)))
}

/// All files that the format of such a folder knows: no other output of the command may be one of them.
pub fn folder_files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let results = [Form::Jsonl, Form::Csv, Form::Parquet].map(results_name);
    let others = [LOCK, MANIFEST, COSTS, BATCHES].map(str::to_owned);
    let names = results.into_iter().chain(others);
    names.map(|name| folder.join(name))
}

/// The form of rows that is asked for, if it is one.
pub fn form(format: FormatOut) -> Option<Form> {
    match format {
        FormatOut::Table => None,
        FormatOut::Jsonl => Some(Form::Jsonl),
        FormatOut::Csv => Some(Form::Csv),
        FormatOut::Parquet => Some(Form::Parquet),
    }
}
