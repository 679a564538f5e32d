//! A device without room for a write.

use crate::config::FlashUnit;
use destage_types::{ChipId, Lpn, PlaneId};
use thiserror::Error;

/// A write found no room in the unit that it must go to, and none could be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error(
    "device full: {} for logical page {lpn} in its {unit} (plane {plane}, chip {chip}): \
     {unit_free} of {unit_pages} pages free there, {device_free} of {device_pages} pages free on \
     the device, {device_valid} valid, {logical} logical pages",
    self.why()
)]
pub struct DeviceFull {
    /// The page that was to be written.
    pub lpn: Lpn,
    /// Size of a unit with one write frontier.
    pub unit: FlashUnit,
    /// The plane that allocation or the caller chose.
    pub plane: PlaneId,
    /// Its queue unit.
    pub chip: ChipId,
    /// Pages of the unit.
    pub unit_pages: u64,
    /// Free pages of the unit; with GC those that its copies need.
    pub unit_free: u64,
    /// Is there garbage collection?
    pub collects: bool,
    /// Free pages of the device.
    pub device_free: u64,
    /// Pages with data that is still wanted.
    pub device_valid: u64,
    /// Pages of the device.
    pub device_pages: u64,
    /// Pages the host can address.
    pub logical: u64,
}

impl DeviceFull {
    fn why(&self) -> &'static str {
        if self.collects {
            "garbage collection finds no block with invalid pages to make room"
        } else {
            "no free page"
        }
    }
}
