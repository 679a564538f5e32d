//! The browser: it has no terminal, pipe or signal, so functions that need one return an error or nothing.

use std::fs::{File, FileType, Metadata};
use std::io;
use std::path::Path;
use tempfile::Builder;

pub(crate) fn columns<T>(_: &T) -> Option<usize> {
    None
}

pub(crate) fn file_number(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

pub(crate) fn is_pipe(_: FileType) -> bool {
    false
}

pub(crate) fn kind_name(_: FileType) -> &'static str {
    "a device"
}

pub(crate) fn link_loop() -> io::Error {
    io::ErrorKind::Unsupported.into()
}

pub(crate) fn readable_by_all(_: &mut Builder<'_, '_>) {}

pub(crate) fn open_pipe(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn for_each_signal(_: impl Fn(i32) + Send + 'static) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
