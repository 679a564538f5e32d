//! What file systems make of requests, and where the old copies of blocks were.
//!
//! [`ftrace`] imports what a real file system did, from the events of its kernel; [`host_fs`]
//! models what one would do with the requests of a trace.

pub mod ftrace;
pub mod host_fs;
