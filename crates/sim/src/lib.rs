//! The simulator: cache, device engine, statistics and runs.
//!
//! Reading order: [`cache`] (one host request from arrival to the last eviction), [`flash`] (what it
//! asks of the device), [`engine`] (how a device answers), [`run`] (a trace from its first request to
//! the record), [`live`] (the same fed by hand), [`result`] (what comes out). Beside them: [`summary`] (what a trace consists of).

pub mod cache;
pub mod curve;
pub mod engine;
mod error;
pub mod flash;
pub mod live;
pub mod result;
pub mod run;
pub mod summary;

pub use cache::counts::Counts;
pub use cache::observe::{self, Event, Observer};
pub use cache::{Cache, CacheOptions, ReadFill};
pub use error::RunError;
pub use flash::{BackgroundProgram, CacheOnly, Cause, Flash, FlashReport, Program};
pub use result::log;
pub use result::profile::{self, RunProfile};
pub use result::record::{self, ResultRecord};
pub use result::series::{self, Every, Series, SeriesRow};
pub use result::timeline::{self, Timeline, TimelineHook, TimelineWindow};
pub use run::devices::PreparedDevices;
pub use run::runner::{self, Logs, MemoryExcess, Meter, Sweep, SweepProgress, Unmetered};
pub use run::spec::{self, Replay, RunSpec, TimeScale, Warmup};
pub use run::touched::{Touched, of_live};
pub use run::{Hooks, execute, precondition, run_with};
