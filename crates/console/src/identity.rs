//! Files that are read are not written by the same command, and no file is written twice.

use crate::failure::Failure;
use crate::file::behind_links;
use crate::platform::file_number;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Which file it is, however its name is spelled: device and inode, or, where nothing is yet, its folder and
/// name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FileId {
    /// It is there.
    There {
        /// Device.
        device: u64,
        /// Inode.
        inode: u64,
    },
    /// It is not there.
    Named(PathBuf),
}

/// Files that the command reads, and their paths.
static INPUTS: Mutex<BTreeMap<FileId, BTreeSet<PathBuf>>> = Mutex::new(BTreeMap::new());

impl FileId {
    /// The file at `path`; `None` if there cannot be one. Links are followed.
    pub fn of(path: &Path) -> Option<FileId> {
        if let Ok(there) = path.metadata() {
            let (device, inode) = file_number(&there);
            return Some(FileId::There { device, inode });
        }
        resolved(path).map(FileId::Named)
    }

    /// Does the command read it?
    pub fn is_input(&self) -> bool {
        let inputs = INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
        // The inode of an input that was removed may be that of another file by now.
        let is_there = |path: &PathBuf| FileId::of(path).as_ref() == Some(self);
        inputs
            .get(self)
            .is_some_and(|paths| paths.iter().any(is_there))
    }
}

/// The absolute path of a file that may come to be, in folders that may come to be.
fn resolved(path: &Path) -> Option<PathBuf> {
    let target = behind_links(path).ok()?;
    if let Ok(there) = target.canonicalize() {
        return Some(there);
    }
    let mut parts = target.components();
    let last = parts.next_back()?;
    let folder = match parts.as_path() {
        none if none == Path::new("") => Path::new(".").canonicalize().ok()?,
        folder => resolved(folder)?,
    };
    match last {
        Component::Normal(name) => Some(folder.join(name)),
        Component::ParentDir => folder.parent().map(Path::to_owned),
        _ => Some(folder),
    }
}

/// From now on no output file may be `path`. Devices and pipes may be both.
pub fn protect(path: &Path) {
    if path.is_file()
        && let Some(id) = FileId::of(path)
    {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut inputs = INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
        inputs.entry(id).or_default().insert(path);
    }
}

/// A file that a command writes, or may not write.
#[derive(Clone, Copy)]
pub struct Output<'a> {
    /// The option that names it, such as `--report`.
    pub option: &'a str,
    /// Where it is.
    pub path: &'a Path,
}

impl<'a> Output<'a> {
    /// The file that `option` names.
    pub fn of(option: &'a str, path: &'a Path) -> Output<'a> {
        Output { option, path }
    }
}

/// Protects what a command reads from the only file that it writes.
///
/// # Errors
/// They are the same.
pub fn refuse<'a>(read: impl IntoIterator<Item = &'a Path>, written: &Path) -> Result<(), Failure> {
    read.into_iter().for_each(protect);
    Failure::unless_none(faults(&[Output::of("", written)], &[]))
}

/// Makes sure that no output is read, and that each has a file of its own.
///
/// # Errors
/// All that [`faults`] finds.
pub fn check(written: &[Output<'_>]) -> Result<(), Failure> {
    Failure::unless_none(faults(written, &[]))
}

/// A fault for each pair of options that name the same output, and for each output that is read. No output may
/// be one of the files that are `kept` for an option, whether the command writes them or not.
pub fn faults(written: &[Output<'_>], kept: &[Output<'_>]) -> Vec<String> {
    let [ids, of_kept] = [written, kept].map(|outputs| {
        let ids = outputs.iter().map(|output| FileId::of(output.path));
        ids.collect::<Vec<_>>()
    });
    let mut faults = Vec::new();
    for (i, &Output { option, path }) in written.iter().enumerate() {
        let Some(id) = &ids[i] else { continue };
        if id.is_input() {
            let place = path.display();
            faults.push(format!("{place} is read and would be overwritten"));
        }
        let is_same = |other: &Option<FileId>| other.as_ref() == Some(id);
        let before = written[..i].iter().zip(&ids);
        let others = kept.iter().zip(&of_kept);
        let others = others.filter(|(other, _)| other.option != option);
        let same = before.chain(others).find(|(_, other)| is_same(other));
        if let Some((other, _)) = same
            && !is_device(path)
        {
            faults.push(format!(
                "{} and {option} need a file each, and both have {}",
                other.option,
                path.display()
            ));
        }
    }
    faults
}

/// Is it there and neither file nor folder? `/dev/null` takes any number of outputs.
fn is_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir())
}

/// Are both the same file?
pub fn same_file(a: &Path, b: &Path) -> bool {
    let a = FileId::of(a);
    a.is_some() && a == FileId::of(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_that_was_removed_protects_no_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let [input, other] = ["input", "other"].map(|name| folder.path().join(name));
        std::fs::write(&input, "").unwrap();
        // Of the same inode, as a file that comes to be later may be.
        std::fs::hard_link(&input, &other).unwrap();
        protect(&input);
        let is_input = || FileId::of(&other).unwrap().is_input();
        assert!(is_input());
        std::fs::remove_file(&input).unwrap();
        assert!(!is_input());
        protect(&other);
        assert!(is_input());
    }
}
