//! From options to results: what is asked for, plans of runs, their execution, folders of results, sweeps.

pub mod api;
pub mod bounds;
pub mod counting;
mod decoded;
pub mod failures;
pub mod folder;
pub mod hash;
pub mod journal;
pub mod memory;
pub mod options;
pub mod ownership;
pub mod progress;
pub mod records;
pub mod run;
pub mod seal;
pub mod sinks;
mod stopwatch;
pub mod stories;
pub mod sweep;
pub mod twins;
