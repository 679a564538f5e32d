//! Models of drives that can be bought: what was measured on a drive, and the device that answers like it.
//!
//! `probe` has the script that measures a drive. `measurements` reads its results, other fio output and tables into
//! cells: a load, and what a drive did under it. `simulate` puts the load of a cell on a simulated drive.

mod error;
pub mod measurements;
pub mod model;
pub mod probe;
pub mod residual;
pub mod search;
pub mod simulate;
mod start;

pub use error::FitError;
pub use start::{calibrate_programs, start_values};
