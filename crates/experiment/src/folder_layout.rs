//! The files in a folder of results (`--out`), of `run` and of `sweep`.

use crate::options::FormatOut;
use destage_report::rows::Form;
use std::path::{Path, PathBuf};

/// Records: of `run` in the order in which they were done, which is its journal; of `sweep` in the order of the
/// sweep, without what they cost (SW-3).
pub const RESULTS: &str = "results.jsonl";
/// What each run of a sweep cost, and where it ran.
pub const COSTS: &str = "costs.csv";
/// What a sweep is, and its batches.
pub const MANIFEST: &str = "manifest.jsonl";
/// Files of batches, in folders by the first two digits of their keys: so no folder becomes long, which is
/// looked through whenever a file is made.
pub const BATCHES: &str = "batches";
/// Held by a command that writes to the folder: alone, or by commands with shards together.
pub const LOCK: &str = ".destage.lock";

/// The files of results that `--out` may write.
pub fn results_files(folder: &Path, format: FormatOut) -> Vec<PathBuf> {
    let other = form(format).filter(|form| *form != Form::Jsonl);
    let other = other.map(|form| format!("results.{}", form.extension()));
    let names = [RESULTS.to_owned()].into_iter().chain(other);
    names.map(|name| folder.join(name)).collect()
}

/// All files that the format of such a folder knows: no other output of the command may be one of them.
pub fn folder_files(folder: &Path) -> Vec<PathBuf> {
    let forms = [Form::Jsonl, Form::Csv, Form::Parquet];
    let results = forms.map(|form| format!("results.{}", form.extension()));
    let others = [LOCK, MANIFEST, COSTS, BATCHES];
    let names = results.iter().map(String::as_str).chain(others);
    names.map(|name| folder.join(name)).collect()
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
