//! Models of drives that can be bought: what was measured on a drive, and the device that answers like it.
//!
//! `probe` has the script that measures a drive. `measurements` reads its results, other fio output and tables into
//! cells: a load, and what a drive did under it.

pub mod measurements;
pub mod probe;
