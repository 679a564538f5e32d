//! Captures and models of host file systems. One program, which is linked once.

mod ftrace;
mod ftrace_captures;
mod host_fs;
