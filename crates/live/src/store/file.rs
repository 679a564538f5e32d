//! Data in a sparse file, for capacities beyond memory and for content that outlasts the server.

use super::Medium;
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes in a file of the length of the capacity.
#[derive(Debug)]
pub struct FileMedium {
    file: File,
}

/// Zeros that are written at once where the file system cannot make holes.
const ZEROS: usize = 64 << 10;

impl FileMedium {
    /// Opens or makes the file. It is locked, so that no two servers use it.
    ///
    /// # Errors
    /// It cannot be opened, another server has it, or it has another length than `bytes`.
    pub fn open(path: &Path, bytes: u64) -> io::Result<FileMedium> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false);
        let file = file.open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other("another program has it locked"));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let length = file.metadata()?.len();
        if length == 0 {
            file.set_len(bytes)?;
        } else if length != bytes {
            return Err(io::Error::other(format!(
                "it has {length} bytes and the device has {bytes}: it is that of another device"
            )));
        }
        Ok(FileMedium { file })
    }
}

impl Medium for FileMedium {
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }

    fn discard(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&self.file, hole, offset, bytes) {
            Ok(()) => return Ok(()),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
        let zeros = vec![0; ZEROS];
        let end = offset + bytes;
        for start in (offset..end).step_by(ZEROS) {
            let n = (end - start).min(ZEROS as u64) as usize;
            self.file.write_all_at(&zeros[..n], start)?;
        }
        Ok(())
    }

    fn allocation(&self, offset: u64, bytes: u64) -> io::Result<(bool, u64)> {
        let end = offset + bytes;
        let data = match seek(&self.file, SeekFrom::Data(offset)) {
            Ok(start) => start.min(end),
            // No data up to the end of the file.
            Err(Errno::NXIO) => end,
            Err(error) => return Err(error.into()),
        };
        if data > offset {
            return Ok((false, data - offset));
        }
        let hole = seek(&self.file, SeekFrom::Hole(offset))?.min(end);
        Ok((true, hole - offset))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }
}
