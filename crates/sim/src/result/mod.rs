//! What a run says: its record, logs, time series and timeline.

pub(crate) mod device_report;
pub mod log;
pub mod profile;
pub mod record;
pub mod series;
pub mod timeline;
