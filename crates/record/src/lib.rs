//! Results of a run, as plain data: the result record, rows of a time series, a timeline, and data
//! of charts. Nothing here computes a simulation, so reports and tools need no simulator.

mod backlog;
pub mod counts;
mod device_report;
mod endurance;
mod latency;
mod measures;
mod paced_writes;
pub mod profile;
pub mod result;
pub mod scene;
pub mod series;
pub mod timeline;

pub use backlog::Backlog;
pub use counts::{COUNTERS, CountFields, Counter, Counts};
pub use device_report::{EnergyNj, EraseCounts, HandleFigures, Utilisation};
pub use endurance::{Endurance, LifeUsed, RatedFlash};
pub use latency::{Latencies, Latency, MeanNs};
pub use measures::{FinalFlush, HitsBySize, ListPages, SizeClass, Unbalance};
pub use paced_writes::PacedWrites;
pub use profile::{RunCharts, RunProfile};
pub use result::{Conditions, ConfigEntry, ResultRecord, RunInfo, Throughput, TraceInfo};
pub use scene::{Scene, SceneEvent};
pub use series::{Every, SeriesRow};
pub use timeline::{Completion, Timeline, TimelineWindow};
