//! Models of drives that can be bought: what was measured on a drive, and the device that answers like it.
//!
//! `measurements` reads tables and fio output into cells: a load, and what a drive did under it. `simulate` puts the
//! load of a cell on a simulated drive.

mod error;
pub mod measurements;
pub mod simulate;

pub use error::FitError;
