//! Requests of file systems, and the old addresses of their blocks.
//!
//! [`ftrace`] imports what a real file system did, from the events of its kernel; [`host_fs`]
//! models what one would do with the requests of a trace.

pub mod ftrace;
pub mod host_fs;
