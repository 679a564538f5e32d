//! Models of drives that can be bought: what was measured on a drive, and the device that answers like it.
//!
//! - `probe`: the files that measure a drive;
//! - `measurements`: tables and fio output as cells: a load, and what a drive did under it;
//! - `patterns`: spare space, choice of victims and prices of writes, from rates under patterns of writes;
//! - `simulate`: the load of a cell on a simulated drive;
//! - `residual`: how far the two are apart;
//! - `model`, `start`, `search`: what of a device is free, where a search begins, and how it goes on;
//! - `outcome`: the fitted device as a file, tables and a chart.

mod error;
pub mod measurements;
pub mod model;
pub mod outcome;
mod parallel;
pub mod patterns;
pub mod probe;
pub mod residual;
pub mod search;
pub mod simulate;
mod start;

pub use error::FitError;
pub use start::{calibrate_programs, dies, likely_structures, start_values};
