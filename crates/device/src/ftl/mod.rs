//! Translation layers: from logical to physical pages.
//!
//! An FTL decides where a page goes and returns the place; the engine acts. It keeps no clock.

mod blocks;
mod frontier;
mod page_map;
mod precondition;
mod table;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

pub use blocks::BlockState;
pub use page_map::PageMap;

use crate::config::Unit;
use destage_types::{ChannelId, ChipId, Lpn, PlaneId, Ppn};
use thiserror::Error;

/// Where a physical page sits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The physical page.
    pub ppn: Ppn,
    /// Its plane.
    pub plane: PlaneId,
    /// The unit with its own queue that serves it.
    pub chip: ChipId,
    /// The bus of that unit.
    pub channel: ChannelId,
}

/// What one write of a logical page asks of the flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The page to program.
    pub place: Place,
    /// The summary page to program after it, when the write took the last data page of a block.
    pub summary: Option<Place>,
    /// The physical page that held the old data and is invalid now.
    pub old: Option<Ppn>,
}

/// A write found no free page in the unit that it must go to. Nothing was changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error(
    "device full: no free page for logical page {lpn} in its {unit} (plane {plane}, chip {chip}): \
     {unit_pages} pages there, {device_free} of {device_pages} pages free on the device, \
     {device_valid} valid, {logical} logical pages"
)]
pub struct DeviceFull {
    /// The page that was to be written.
    pub lpn: Lpn,
    /// Unit with one write frontier, all of whose pages are written.
    pub unit: Unit,
    /// The plane that allocation or the caller chose.
    pub plane: PlaneId,
    /// Its queue unit.
    pub chip: ChipId,
    /// Pages of the unit.
    pub unit_pages: u64,
    /// Free pages elsewhere on the device.
    pub device_free: u64,
    /// Pages with data that is still wanted.
    pub device_valid: u64,
    /// Pages of the device.
    pub device_pages: u64,
    /// Pages the host can address.
    pub logical: u64,
}
