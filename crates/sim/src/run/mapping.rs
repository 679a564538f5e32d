//! The translation layer of a device, of pages or of units.

use destage_device::config::{DeviceConfig, Overwrite, Ratio};
use destage_device::map::{DeviceFull, FlashMap, PageMap, Preconditioning, UnitMap};
use destage_types::Lpn;

/// Where the data of a device are.
#[derive(Clone)]
pub enum DeviceMap {
    /// A page is mapped, programmed and collected.
    Pages(Box<PageMap>),
    /// The device has units of its own.
    Units(Box<UnitMap>),
}

/// Calls a method that both have.
macro_rules! either {
    ($mapping:expr, $map:ident => $call:expr) => {
        match $mapping {
            DeviceMap::Pages($map) => $call,
            DeviceMap::Units($map) => $call,
        }
    };
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

    /// Makes copies cheap: they share what they do not change.
    pub fn freeze(&mut self) {
        either!(self, map => map.freeze());
    }

    /// Takes back what copies shared, if there are none any more.
    pub fn thaw(&mut self) {
        either!(self, map => map.thaw());
    }

    /// Bytes of memory taken so far.
    pub fn memory_bytes(&self) -> u64 {
        either!(self, map => map.memory_bytes())
    }

    /// Maps what is not mapped yet, in this order.
    ///
    /// # Errors
    /// No room can be made.
    pub fn map_trace(
        &mut self,
        lpns: impl IntoIterator<Item = Lpn>,
    ) -> Result<(), Box<DeviceFull>> {
        either!(self, map => map.map_trace(lpns).map(|_| ()))
    }

    /// Maps the first `share` of the logical space in ascending order.
    ///
    /// # Errors
    /// No room can be made.
    pub fn fill(&mut self, share: Ratio, tell: &mut dyn FnMut(u64)) -> Result<(), Box<DeviceFull>> {
        either!(self, map => map.fill(share, tell).map(|_| ()))
    }

    /// Overwrites what was filled at random, and ends preconditioning.
    ///
    /// # Errors
    /// No room can be made.
    pub fn overwrite(
        &mut self,
        share: Ratio,
        amount: Overwrite,
        seed: u64,
        tell: &mut dyn FnMut(u64),
    ) -> Result<(), Box<DeviceFull>> {
        match self {
            DeviceMap::Pages(map) => map.overwrite(share, amount, seed, tell).map(|_| ()),
            DeviceMap::Units(map) => {
                map.overwrite(share, amount, seed, tell)?;
                map.end_preconditioning();
                Ok(())
            }
        }
    }
}
