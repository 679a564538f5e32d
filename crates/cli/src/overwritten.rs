//! Files that are read must not be written by the same command.

use crate::failure::Failure;
use std::path::Path;

/// A fault for each of `read` that is one of `written`.
pub fn faults<'a>(
    read: impl IntoIterator<Item = &'a Path>,
    written: &[impl AsRef<Path>],
) -> Vec<String> {
    let hit = |file: &&Path| written.iter().any(|out| same_file(file, out.as_ref()));
    let fault = |file: &Path| format!("{} is read and would be overwritten", file.display());
    read.into_iter().filter(hit).map(fault).collect()
}

/// [`faults`] of a command without others.
///
/// # Errors
/// There is one.
pub fn refuse<'a>(
    read: impl IntoIterator<Item = &'a Path>,
    written: impl AsRef<Path>,
) -> Result<(), Failure> {
    let faults = faults(read, &[written]);
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Failure::Usage(faults)),
    }
}

/// Are both the same file?
pub fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
