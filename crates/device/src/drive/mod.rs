//! Drives that map, program and collect in units of their own (docs/DEVICE_MODEL.md, "Units").
//!
//! [`UnitMap`] knows where data are; [`DriveArray`] knows when dies and buses work. Neither knows the
//! other: `destage_sim::drive` carries decisions from one to the other.

mod activity;
pub mod array;
mod die;
pub mod map;
mod precondition;
mod shape;
mod unit_set;

pub use array::{ArrayRules, DriveArray, Ended, Milestone, NewOp, Retry};
pub use map::{UnitMap, UnitPlace, UnitStream};
pub use shape::UnitShape;
