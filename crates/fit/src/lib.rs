//! Models of drives that can be bought: what was measured on a drive, and the device that answers like it.
//!
//! `measurements` reads tables and fio output into cells: a load, and what a drive did under it. `simulate` puts the
//! load of a cell on a simulated drive.

mod error;
pub mod measurements;
pub mod model;
pub mod outcome;
pub mod residual;
pub mod search;
pub mod simulate;
mod start;

pub use error::FitError;
pub use start::{calibrate_programs, likely_structures, start_values};
