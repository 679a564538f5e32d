//! Trace formats: reading, writing, and what their likenesses keep. One program, which is linked once.

mod binary_formats;
mod cases;
mod common;
mod containers;
mod ends;
mod foreign;
mod form;
mod formats;
mod fs_capture;
mod lines;
mod mapping;
mod neighbours;
mod parquet;
mod plausible;
mod published;
mod random_tables;
mod real_traces;
mod restarts;
mod roundtrip;
mod tables;
mod volumes;
mod writers;
