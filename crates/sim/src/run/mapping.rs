//! The translation layer of a device, of pages or of units.

use destage_device::config::DeviceConfig;
use destage_device::map::{PageMap, Preconditioning, UnitMap};
use std::ops::{Deref, DerefMut};

/// Where the data of a device are.
#[derive(Clone)]
pub enum DeviceMap {
    /// A page is mapped, programmed and collected.
    Pages(Box<PageMap>),
    /// The device has units of its own.
    Units(Box<UnitMap>),
}

impl DeviceMap {
    /// An empty device. Random choices start from `seed`.
    pub fn new(config: &DeviceConfig, seed: u64) -> DeviceMap {
        if config.has_units() {
            DeviceMap::Units(Box::new(UnitMap::new(config, seed)))
        } else {
            DeviceMap::Pages(Box::new(PageMap::new(config, seed)))
        }
    }
}

impl Deref for DeviceMap {
    type Target = dyn Preconditioning + Send;

    fn deref(&self) -> &Self::Target {
        match self {
            DeviceMap::Pages(map) => &**map,
            DeviceMap::Units(map) => &**map,
        }
    }
}

impl DerefMut for DeviceMap {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            DeviceMap::Pages(map) => &mut **map,
            DeviceMap::Units(map) => &mut **map,
        }
    }
}
