//! Unix.

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs::{File, FileType, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::Builder;

/// A pipe without a reader is waited for that long.
const READER: Duration = Duration::from_secs(5);

/// Columns of a terminal that says how many.
pub(crate) fn columns(terminal: &impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// Device and inode of a file.
pub(crate) fn file_number(there: &Metadata) -> (u64, u64) {
    (there.dev(), there.ino())
}

/// Is it a named pipe?
pub(crate) fn is_pipe(kind: FileType) -> bool {
    kind.is_fifo()
}

/// The name of a kind that is neither file nor folder.
pub(crate) fn kind_name(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

/// Links that lead back to themselves.
pub(crate) fn link_loop() -> io::Error {
    Errno::LOOP.into()
}

/// A temporary file gets the permissions that other files get.
pub(crate) fn readable_by_all(builder: &mut Builder<'_, '_>) {
    builder.permissions(Permissions::from_mode(0o666));
}

/// A pipe, once somebody reads it.
pub(crate) fn open_pipe(path: &Path) -> io::Result<File> {
    let end = Instant::now() + READER;
    let nonblocking = OFlags::NONBLOCK.bits() as i32;
    loop {
        let opened = OpenOptions::new()
            .write(true)
            .custom_flags(nonblocking)
            .open(path);
        match opened {
            Ok(file) => {
                fcntl_setfl(&file, OFlags::empty())?;
                return Ok(file);
            }
            Err(error) if error.raw_os_error() != Some(Errno::NXIO.raw_os_error()) => {
                return Err(error);
            }
            Err(_) if Instant::now() < end => std::thread::sleep(READER / 100),
            Err(_) => {
                return Err(io::Error::other(
                    "nothing opened this pipe for reading within 5 s",
                ));
            }
        }
    }
}

/// Calls `take` on a thread of its own with each SIGINT and SIGTERM.
///
/// # Errors
/// Signals cannot be caught.
pub(crate) fn for_each_signal(take: impl Fn(i32) + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::spawn(move || signals.forever().for_each(take));
    Ok(())
}
