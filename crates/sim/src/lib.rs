//! The simulator: cache, device engine, statistics and runner.
//!
//! Reading order: [`cache`] (one host request from arrival to the last eviction), [`flash`] (what it
//! asks of the device), [`engine`] (how a device answers), [`counts`].

pub mod cache;
pub mod counts;
pub mod curve;
pub mod device;
mod device_report;
pub mod engine;
mod error;
mod final_flush;
pub mod flash;
mod footprint;
mod future;
pub mod log;
mod metadata_budget;
pub mod observe;
pub mod record;
mod replay;
pub mod run;
pub mod runner;
pub mod sample;
pub mod series;
pub mod spec;

pub use cache::{Cache, CacheOptions, ReadFill};
pub use counts::Counts;
pub use error::RunError;
pub use flash::{BackgroundProgram, CacheOnly, Cause, Flash, Program};
pub use observe::{Event, Observer};
pub use record::ResultRecord;
pub use run::{Hooks, execute, run_with};
pub use runner::{Logs, Meter, Sweep};
pub use series::{Every, Series, SeriesRow};
pub use spec::{Replay, RunSpec, TimeScale, Warmup};
