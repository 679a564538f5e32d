//! Records of runs that were done before.

use crate::folder::RESULTS;
use crate::seal::unseal;
use destage_console::failure::Failure;
use destage_record::ResultRecord;
use std::path::{Path, PathBuf};

/// The records in a file of lines of JSON, or in the results of a folder of `run` or `sweep`.
///
/// # Errors
/// There are none, or a line is no record.
pub fn read_records(path: &Path) -> Result<Vec<ResultRecord>, Failure> {
    let file = match path.is_dir() {
        true => results_of(path)?,
        false => path.to_owned(),
    };
    let place = file.display();
    let text = std::fs::read(&file)
        .map_err(|error| Failure::usage(format!("{place}: cannot read it: {error}")))?;
    let lines = text.split(|&byte| byte == b'\n').enumerate();
    let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    let read = lines.map(|(i, line)| match unseal(line) {
        Ok(line) => Ok(line.record),
        Err(why) => Err(Failure::usage(format!(
            "{place}:{}: {why}; a line for each run is expected, as `destage run --format-out jsonl` writes it",
            i + 1
        ))),
    });
    let records = read.collect::<Result<Vec<_>, _>>()?;
    match records.is_empty() {
        true => Err(Failure::usage(format!("{place}: there is no record in it"))),
        false => Ok(records),
    }
}

/// The file of records of a folder.
fn results_of(folder: &Path) -> Result<PathBuf, Failure> {
    let file = folder.join(RESULTS);
    match file.is_file() {
        true => Ok(file),
        false => Err(Failure::usage(format!(
            "{}: it has no {RESULTS}; `destage run --out DIR` writes it, and for a sweep `destage sweep --out DIR \
             --merge`",
            folder.display()
        ))),
    }
}
