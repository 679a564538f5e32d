//! The simulator: cache, device engine, statistics and runs.
//!
//! Reading order: [`cache`] (one host request from arrival to the last eviction), [`flash`] (what it
//! asks of the device), [`engine`] (how a device answers), [`run`] (a trace from its first request to
//! the record), [`live`] (the same fed by hand), [`result`] (what comes out). Beside them: [`summary`]
//! (what a trace consists of), [`waf`] (write amplification without a trace).

pub mod cache;
pub mod curve;
pub mod device;
pub mod drive;
pub mod engine;
mod error;
pub mod flash;
pub mod live;
pub mod result;
pub mod run;
pub mod summary;
pub mod waf;
pub mod watch;

pub use cache::observe::{self, Event, Observer};
pub use cache::{Cache, CacheGeometry, CacheOptions, ReadFill};
pub use destage_record as record;
pub use destage_record::{
    Counts, Every, ResultRecord, RunProfile, SeriesRow, Timeline, TimelineWindow, profile, timeline,
};
pub use error::RunError;
pub use flash::{CacheOnly, Cause, Flash, Program};
pub use result::log;
pub use result::series::{self, Series};
pub use result::sinks::{ProfileSink, TimelineHook, TimelineSink};
pub use run::devices::PreparedDevices;
pub use run::meter::{MemoryExcess, Meter, SweepProgress, Unmetered};
pub use run::runner::{self, Logs, Sweep};
pub use run::spec::{self, Replay, RunSpec, TimeScale, Warmup};
pub use run::touched::{Touched, TouchedCount, of_live};
pub use run::{Hooks, execute, precondition, run_with};
pub use watch::{SceneSink, WatchAsk, WatchFrom, WatchHook, WatchWindow};
