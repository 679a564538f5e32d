//! Files that are there whole or not at all: written beside their place, synced, then renamed.

use crate::identity::FileId;
use crate::interrupt;
use crate::platform::{is_pipe, kind_name, link_loop, open_pipe, readable_by_all};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, IntoInnerError, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// Ends the names of files that are not complete. They begin with a dot and the name of the file that
/// they will be, and are locked while somebody writes them.
const SUFFIX: &str = ".destage-tmp";

/// An output file. The earlier file stays until [`OutputFile::commit`]; without that, nothing has
/// happened. Pipes and devices, which cannot be replaced, are written as they are.
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    /// The temporary file and the one that it replaces.
    replaces: Option<(TempPath, PathBuf)>,
}

impl OutputFile {
    /// Makes sure that `path` can be written and is no input of the command, and removes what killed
    /// commands left of it.
    ///
    /// # Errors
    /// It cannot be written, or is an input.
    pub fn create(path: &Path) -> io::Result<OutputFile> {
        if FileId::of(path).is_some_and(|id| id.is_input()) {
            return Err(io::Error::other("it is read and would be overwritten"));
        }
        let target = behind_links(path)?;
        let before = match fs::metadata(&target) {
            Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(there) if there.is_file() => {
                // Replacing needs no right to write the file itself; that is asked for here.
                let file = OpenOptions::new().write(true).open(&target)?;
                refuse_locked(&file)?;
                Some(there.permissions())
            }
            Ok(there) => {
                let file = if is_pipe(there.file_type()) {
                    open_pipe(&target)?
                } else {
                    OpenOptions::new().write(true).open(&target)?
                };
                let replaces = None;
                return Ok(OutputFile { file, replaces });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let (folder, name) = parts(&target)?;
        remove_orphans(folder, &name)?;
        let (file, temporary) = locked(folder, &name)?;
        if let Some(permissions) = before {
            file.set_permissions(permissions)?;
        }
        let replaces = Some((temporary, target));
        Ok(OutputFile { file, replaces })
    }

    /// The same for a file that takes long to write, which no other command may write meanwhile.
    ///
    /// # Errors
    /// Those of [`OutputFile::create`]; another command writes it.
    pub fn create_alone(path: &Path) -> io::Result<OutputFile> {
        let made = OutputFile::create(path)?;
        if let Some((temporary, target)) = &made.replaces {
            // After it was made: of two that begin at once none overlooks the other.
            refuse_written(target, temporary)?;
        }
        Ok(made)
    }

    /// The file is complete: it takes the place of what was there.
    ///
    /// # Errors
    /// It cannot be brought to the disk, or renamed; another program has come to use what was there.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.flush()?;
        let Some((temporary, target)) = self.replaces.take() else {
            return Ok(());
        };
        if let Ok(there) = File::open(&target) {
            refuse_locked(&there)?;
        }
        self.file.sync_all()?;
        let name = temporary.to_path_buf();
        interrupt::uninterrupted(|| temporary.persist(&target))?;
        interrupt::forget(&name);
        sync_folder(&target)
    }

    /// Makes it `bytes` long; what was not written is a hole of zeros.
    ///
    /// # Errors
    /// It is no file, or cannot be so long.
    pub fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    /// A file that goes on being written where it is from now on.
    ///
    /// # Errors
    /// As [`OutputFile::commit`].
    pub fn commit_open(self) -> io::Result<File> {
        let file = self.file.try_clone()?;
        self.commit()?;
        Ok(file)
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some((temporary, _)) = self.replaces.take() {
            let name = temporary.to_path_buf();
            // Until it is gone, an interruption has to remove it.
            drop(temporary);
            interrupt::forget(&name);
        }
    }
}

impl Seek for OutputFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Makes sure, before hours of runs, that `path` can be written. A pipe is left alone: opening it would
/// already tell its reader something.
///
/// # Errors
/// As [`OutputFile::create`].
pub fn check(path: &Path) -> io::Result<()> {
    match path.metadata() {
        Ok(there) if is_pipe(there.file_type()) => Ok(()),
        _ => OutputFile::create(path).map(drop),
    }
}

/// Writes `content` to `path`, whole or not at all.
///
/// # Errors
/// It cannot be written.
pub fn write_file(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = OutputFile::create(path)?;
    file.write_all(content.as_ref())?;
    file.commit()
}

/// The file that `out` fills is complete.
///
/// # Errors
/// As [`OutputFile::commit`].
pub fn complete(out: BufWriter<OutputFile>) -> io::Result<()> {
    out.into_inner()
        .map_err(IntoInnerError::into_error)?
        .commit()
}

/// Makes sure that `path` is a regular file, if it is there: opening a pipe waits for its other end.
///
/// # Errors
/// It is something else.
pub fn require_regular(path: &Path) -> io::Result<()> {
    let kind = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        there => there?.file_type(),
    };
    let kind = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a folder",
        kind => kind_name(kind),
    };
    Err(io::Error::other(format!(
        "it is {kind}, and a regular file is needed; remove it, or name another folder"
    )))
}

/// Opens the file at `path`, which is made if it is not there and never changed, to be locked.
///
/// # Errors
/// It cannot be made.
pub fn lock_file(path: &Path) -> io::Result<File> {
    require_regular(path)?;
    OpenOptions::new().create(true).append(true).open(path)
}

/// The file that is meant, if `path` is a link, whether there is one or not.
pub fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    // As many as Linux follows.
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(link_loop())
}

/// Folder and name of a file.
fn parts(path: &Path) -> io::Result<(&Path, String)> {
    let none = || io::Error::new(io::ErrorKind::InvalidInput, "it names no file");
    let name = path.file_name().ok_or_else(none)?.to_string_lossy();
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    Ok((folder.unwrap_or(Path::new(".")), name.into_owned()))
}

/// A temporary file for `name`, with a lock on it that ends with this process.
fn locked(folder: &Path, name: &str) -> io::Result<(File, TempPath)> {
    loop {
        let temporary = interrupt::make_incomplete(|| {
            let prefix = prefix(name);
            let mut builder = tempfile::Builder::new();
            builder.prefix(&prefix).suffix(SUFFIX);
            readable_by_all(&mut builder);
            builder.tempfile_in(folder)
        });
        // The name of the temporary file would only confuse.
        let (file, path) = temporary
            .map_err(|e| io::Error::from(e.kind()))?
            .into_parts();
        match file.try_lock() {
            Err(fs::TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => {
                return Err(error);
            }
            // Another command took it for one that a killed command left, before the lock.
            Err(fs::TryLockError::WouldBlock) => {}
            _ if !path.exists() => {}
            _ => return Ok((file, path)),
        }
    }
}

/// How names of temporary files for `name` begin. Names may have 255 bytes.
fn prefix(name: &str) -> String {
    let cut = (0..=name.len().min(200))
        .rev()
        .find(|&i| name.is_char_boundary(i));
    format!(".{}.", &name[..cut.unwrap_or(0)])
}

/// The name of the file that a temporary one called `temporary` would have become.
pub fn incomplete_name(temporary: &str) -> Option<&str> {
    let name = temporary.strip_prefix('.')?.strip_suffix(SUFFIX)?;
    Some(name.rsplit_once('.')?.0)
}

/// Removes what killed commands left of `name`: nobody has a lock on it.
fn remove_orphans(folder: &Path, name: &str) -> io::Result<()> {
    let prefix = prefix(name);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let file = entry.file_name();
        let file = file.to_string_lossy();
        if !(file.starts_with(&prefix) && file.ends_with(SUFFIX)) {
            continue;
        }
        // Another command may remove it, too.
        if let Ok(left) = File::open(entry.path())
            && left.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Refuses a file that another program has locked, as a server has its `--backing`.
fn refuse_locked(file: &File) -> io::Result<()> {
    match file.try_lock_shared() {
        Err(fs::TryLockError::WouldBlock) => Err(io::Error::other(
            "another program uses it and has it locked",
        )),
        // Not every file system has locks.
        _ => Ok(()),
    }
}

/// Makes sure that no other command is writing `path`.
///
/// # Errors
/// One is.
pub fn refuse_being_written(path: &Path) -> io::Result<()> {
    refuse_written(&behind_links(path)?, Path::new(""))
}

/// As [`refuse_being_written`], but for the temporary file `own`.
fn refuse_written(target: &Path, own: &Path) -> io::Result<()> {
    let (folder, name) = parts(target)?;
    let prefix = prefix(&name);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let file = entry.file_name();
        let file = file.to_string_lossy();
        let middle = file.strip_prefix(&prefix);
        let random = middle.and_then(|rest| rest.strip_suffix(SUFFIX));
        // Names may hold dots: `.a.b.XXXXXX` belongs to `a.b`, not to `a`.
        let is_of_target = random.is_some_and(|random| !random.contains('.'));
        let is_own = own.file_name() == Some(entry.file_name().as_os_str());
        if is_of_target
            && !is_own
            && let Ok(other) = File::open(entry.path())
            && matches!(other.try_lock_shared(), Err(fs::TryLockError::WouldBlock))
        {
            return Err(io::Error::other("another command is writing it"));
        }
    }
    Ok(())
}

/// A renamed file survives a power cut once its folder is on the disk.
fn sync_folder(file: &Path) -> io::Result<()> {
    let (folder, _) = parts(file)?;
    match File::open(folder)?.sync_all() {
        // Not every file system can.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let name = |e: io::Result<fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        fs::write(&path, "old").unwrap();
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        drop(file);
        assert_eq!(names(folder.path()), ["a.csv"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        write_file(&path, "new").unwrap();
        assert_eq!(names(folder.path()), ["a.csv"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_link_stays_and_the_rights_of_a_file_do_too() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a"), folder.path().join("link"));
        std::os::unix::fs::symlink("a", &link).unwrap();
        write_file(&link, "through a link to nothing").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write_file(&link, "again").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "again");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn what_killed_commands_left_is_removed_and_what_is_written_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let orphan = folder.path().join(format!(".a.x{SUFFIX}"));
        let other = folder.path().join(format!(".b.x{SUFFIX}"));
        fs::write(&orphan, "half").unwrap();
        fs::write(&other, "half of another file").unwrap();
        let first = OutputFile::create(&path).unwrap();
        assert!(!orphan.exists() && other.exists());
        let second = OutputFile::create(&path).unwrap();
        assert_eq!(names(folder.path()).len(), 3);
        second.commit().unwrap();
        first.commit().unwrap();
        assert_eq!(names(folder.path()).len(), 2);
    }

    #[test]
    fn a_file_that_another_program_uses_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let recording = OutputFile::create_alone(&path).unwrap();
        let refused = OutputFile::create_alone(&path).unwrap_err();
        assert!(refused.to_string().contains("writing"), "{refused}");
        assert!(refuse_being_written(&path).is_err());
        let longer = folder.path().join("a.b");
        OutputFile::create_alone(&longer).unwrap();
        let _longer = OutputFile::create_alone(&longer).unwrap();
        drop(recording);
        refuse_being_written(&path).unwrap();
        fs::write(&path, "data").unwrap();
        let late = OutputFile::create_alone(&path).unwrap();
        let used = File::open(&path).unwrap();
        used.lock().unwrap();
        let refused = OutputFile::create(&path).unwrap_err();
        assert!(refused.to_string().contains("locked"), "{refused}");
        assert!(late.commit().is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "data");
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |path: &Path| OutputFile::create(path).unwrap_err().kind();
        assert_eq!(refused(folder.path()), io::ErrorKind::IsADirectory);
        assert_eq!(
            refused(&folder.path().join("no/a")),
            io::ErrorKind::NotFound
        );
        assert_eq!(refused(Path::new("")), io::ErrorKind::InvalidInput);
        let ring = folder.path().join("ring");
        std::os::unix::fs::symlink("ring", &ring).unwrap();
        assert!(OutputFile::create(&ring).is_err());
    }
}
