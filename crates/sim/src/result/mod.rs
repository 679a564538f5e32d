//! What a run says: its record, logs and time series.

pub(crate) mod device_report;
pub mod log;
pub mod profile;
pub mod record;
pub mod series;
