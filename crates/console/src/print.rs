//! Standard output: text for people, JSON for programs.

use crate::failure::Failure;
use crate::terminal::harmless;
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The file at `path` could not be written.
pub fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::Run(format!("cannot write {}: {error}", path.display()))
}

/// Writes text for people to standard output.
///
/// # Errors
/// It cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    print_exactly(&harmless(text))
}

/// Writes text for programs to standard output.
///
/// # Errors
/// It cannot be written.
pub fn print_exactly(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    done.map_err(Failure::stdout)
}

/// JSON for people, in lines.
///
/// # Errors
/// `value` has no JSON form.
pub fn pretty_json(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    let text = text.map_err(|error| Failure::Run(format!("cannot write JSON: {error}")))?;
    Ok(text + "\n")
}

/// Prints a line of JSON as it is made: it may be long.
///
/// # Errors
/// It cannot be written.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let done = serde_json::to_writer(&mut out, value).map_err(io::Error::from);
    let done = done.and_then(|()| writeln!(out)).and_then(|()| out.flush());
    done.map_err(Failure::stdout)
}
