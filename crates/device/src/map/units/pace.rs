//! How much collection a unit of the host makes due, from the free blocks and the victim (D-6, D-17).

use crate::config::{DeviceConfig, GcMode};
use crate::map::UnitShape;

/// The marks and limits of paced collection.
#[derive(Clone, Copy, Debug)]
pub struct CollectPace {
    /// Is collection paced?
    pub on: bool,
    low: u64,
    high: u64,
    ratio_max: u64,
    credit: u64,
    /// `gc_hold`: places of a burst during which programs of the host wait.
    pub hold: Option<u64>,
}

/// What is still to be read of a victim.
#[derive(Clone, Copy, Debug)]
pub struct ToMove {
    /// Places that have wanted data.
    pub valid: u64,
    /// All places.
    pub places: u64,
}

impl CollectPace {
    /// Those of a device.
    pub fn new(config: &DeviceConfig, shape: &UnitShape) -> CollectPace {
        let places = |given: Option<u32>, usual: u32| u64::from(given.unwrap_or(usual));
        CollectPace {
            on: config.gc_mode == GcMode::Paced,
            low: places(config.gc_low, 0),
            high: places(config.gc_high, 0),
            ratio_max: places(config.gc_ratio_max, 16),
            credit: places(config.gc_credit, 4 * shape.unit()),
            hold: (config.gc_hold == Some(true))
                .then(|| u64::from(config.gc_burst.unwrap_or(shape.unit()))),
        }
    }

    /// Are so few blocks free that collection is due?
    pub fn is_due(&self, free: u64) -> bool {
        free < self.high
    }

    /// Does a collector owe so much that programs of the host wait?
    pub fn exceeds_credit(&self, owed: f64) -> bool {
        owed > self.credit as f64
    }

    /// Places that a unit of the host, of so many places, adds to the debt.
    pub fn owed(&self, unit: u32, free: u64, to_move: ToMove) -> f64 {
        if !self.is_due(free) {
            return 0.0;
        }
        let ToMove { valid, places } = to_move;
        let factor = 2.0 * (self.high - free) as f64 / (self.high - self.low) as f64;
        let most = self.ratio_max as f64;
        let ratio = match places > valid {
            true => (valid as f64 / (places - valid) as f64).min(most),
            false => most,
        };
        f64::from(unit) * ratio * factor
    }

    /// The same for each mapping unit as the price of writes sees it, in units of 2^-16 (D-17). What is left of a victim may be
    /// valid as a whole. It counts as it does for the debt.
    pub fn debt(&self, free: u64, ToMove { valid, places }: ToMove) -> u64 {
        if !self.is_due(free) || valid == 0 {
            return 0;
        }
        let (valid, invalid) = match valid > self.ratio_max * (places - valid) {
            true => (self.ratio_max, 1),
            false => (valid, places - valid),
        };
        ((2 * valid * (self.high - free)) << 16) / (invalid * (self.high - self.low))
    }
}
