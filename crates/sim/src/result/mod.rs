//! How what a run says is collected: logs, time series, and who takes the rest. The data are in
//! `destage_record`.

pub mod log;
pub mod series;
pub mod sinks;
pub(crate) mod timeline;
