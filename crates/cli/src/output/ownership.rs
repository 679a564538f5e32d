//! Files in a folder of results that destage did not write. They are never replaced and never removed.

use super::file::require_regular;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// How a line of results begins, in every version.
const RECORD: &str = "{\"schema\":\"destage.result/";
/// How `results.csv` begins, in every version.
const CSV: &str = "schema,trace.name,";
/// The first line of the costs of a sweep.
pub const COSTS_HEADER: &str = "key,trace,scheme,cache_bytes,wall_s,cpu_s,threads,host";

/// Makes sure that files of `folder` with these `names` are absent, or results that destage wrote.
///
/// # Errors
/// A sentence that names all other files.
pub fn require_own(folder: &Path, names: &[&str]) -> Result<(), String> {
    let mut foreign = Vec::new();
    for name in names {
        let path = folder.join(name);
        require_regular(&path).map_err(|error| format!("{name}: {error}"))?;
        match is_own(&path, name) {
            Ok(true) => {}
            Ok(false) => foreign.push(*name),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("{name}: {error}")),
        }
    }
    refuse_foreign(&foreign, "destage did not write")
}

/// Refuses to write over the files called `names`, which somebody else wrote, in the words of `why`.
///
/// # Errors
/// There are such files.
pub fn refuse_foreign(names: &[&str], why: &str) -> Result<(), String> {
    let (there, them) = match names {
        [] => return Ok(()),
        [one] => (format!("is a file {one}"), "it"),
        all => (format!("are files {}", all.join(", ")), "them"),
    };
    Err(format!(
        "there {there} that {why}; move {them} away, or name another folder"
    ))
}

/// Whether the content has the form of the results that are called `name`. An empty file has nothing to lose.
fn is_own(path: &Path, name: &str) -> io::Result<bool> {
    let file = File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    match name {
        "results.jsonl" => has_record(file),
        "results.csv" => begins_with(file, CSV),
        "costs.csv" => begins_with(file, COSTS_HEADER),
        "results.parquet" => Ok(SerializedFileReader::new(file).is_ok_and(|reader| {
            let writer = reader.metadata().file_metadata().created_by();
            writer.is_some_and(|writer| writer.starts_with("destage "))
        })),
        _ => Ok(false),
    }
}

fn begins_with(file: File, text: &str) -> io::Result<bool> {
    let mut start = Vec::new();
    file.take(text.len() as u64).read_to_end(&mut start)?;
    Ok(start == text.as_bytes())
}

/// Whether a line is a record, be others damaged.
fn has_record(file: File) -> io::Result<bool> {
    for line in BufReader::new(file).split(b'\n') {
        if line?.starts_with(RECORD.as_bytes()) {
            return Ok(true);
        }
    }
    Ok(false)
}
