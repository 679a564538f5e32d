//! Where data are on drives that map, program and collect in units of their own (docs/DEVICE_MODEL.md, "Units").
//!
//! [`UnitMap`] knows no time; [`crate::nand`] knows when dies and buses work, and `destage_sim::drive` carries decisions
//! from one to the other.

pub mod map;
mod precondition;
mod shape;
mod unit_set;

pub use map::{UnitMap, UnitPlace, UnitStream};
pub use shape::UnitShape;
