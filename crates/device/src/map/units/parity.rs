//! Stripes with parity (S-6): after so many units of a writer a unit of parity follows, whose places are dead from the start.

use crate::config::DeviceConfig;

/// The stripe that a writer fills.
#[derive(Clone, Debug, Default)]
pub(super) struct Stripe {
    /// Dies of its units so far.
    pub dies: Vec<u32>,
    /// Those of the stripe before, whose unit of parity has found no room.
    pub due: Option<Vec<u32>>,
}

/// Stripes of all writers.
#[derive(Clone, Debug)]
pub(super) struct Parity {
    /// Units of data in a stripe.
    pub units: usize,
    pub stripes: Vec<Stripe>,
}

impl Parity {
    /// That of a drive, if it has any.
    pub fn new(config: &DeviceConfig, writers: usize) -> Option<Parity> {
        let units = config.parity.filter(|&units| units > 0)? as usize;
        let stripes = vec![Stripe::default(); writers];
        Some(Parity { units, stripes })
    }
}
