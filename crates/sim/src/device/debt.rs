//! How much collection moved lately for each write of the host. The price of a write depends on it (D-17).

use destage_device::config::DeviceConfig;

/// Mapping units that collection moves for each of the host, averaged over the last host units; in units of 2^-16.
#[derive(Clone, Debug)]
pub(crate) struct CollectionDebt {
    /// Host units of the average: N.
    window: u64,
    /// A.
    sum: u64,
    /// Mapping units moved since the last host unit.
    moved: u64,
}

impl CollectionDebt {
    /// Of `device`, if writes pay for what is moved. It begins with the average `before` the run.
    pub fn new(device: &DeviceConfig, before: u64) -> Option<CollectionDebt> {
        let price = device.write_price().filter(|price| price.moved > 0)?;
        let shape = device.shape();
        let gc_units = device.geometry.planes() / device.planes_per(device.gc_unit);
        let host_units = match device.has_units() {
            true => shape.places / shape.unit(),
            false => device.data_pages_per_block(),
        };
        let window = u64::from(price.window) * u64::from(gc_units) * u64::from(host_units);
        Some(CollectionDebt {
            window,
            sum: window * before,
            moved: 0,
        })
    }

    /// A unit of the host is queued while collection owes so much for each of its mapping units.
    pub fn charge(&mut self, debt: u64) {
        self.sum = self.sum - self.sum / self.window + debt;
    }

    /// Mapping units are moved, where collection keeps no account of what it owes.
    pub fn moved(&mut self, units: u64) {
        self.moved += units;
    }

    /// A unit of the host, of so many mapping units, is queued there.
    pub fn charge_moved(&mut self, units: u64) {
        let moved = std::mem::take(&mut self.moved);
        self.charge((moved << 16) / units);
    }

    /// The average: s.
    pub fn mean(&self) -> u64 {
        self.sum / self.window
    }
}

#[cfg(test)]
mod tests {
    use super::CollectionDebt;

    /// D-17, example 2.
    #[test]
    fn the_debt_is_an_average_that_forgets() {
        let mut debt = CollectionDebt {
            window: 2,
            sum: 0,
            moved: 0,
        };
        let charged = [65_536, 65_536, 65_536, 98_304, 2_097_152, 0];
        let means = charged.map(|charge| {
            debt.charge(charge);
            debt.mean()
        });
        assert_eq!(means, [32_768, 49_152, 57_344, 77_824, 1_087_488, 543_744]);
    }

    #[test]
    fn what_is_moved_is_charged_once() {
        let mut debt = CollectionDebt {
            window: 4,
            sum: 0,
            moved: 0,
        };
        debt.moved(3);
        debt.charge_moved(2);
        assert_eq!(debt.mean(), (3 << 16) / 2 / 4);
        debt.charge_moved(2);
        assert_eq!(debt.sum, (3 << 16) / 2 - (3 << 16) / 2 / 4);
    }
}
