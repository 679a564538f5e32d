//! From options to results: what is asked for, plans of runs, their execution, folders of results, sweeps.

pub mod api;
pub mod counting;
pub mod failures;
mod folder_layout;
mod hash;
mod journal;
pub mod memory;
pub mod options;
pub mod output;
pub mod ownership;
pub mod progress;
pub mod run;
pub mod seal;
pub mod sweep;
pub mod twins;
