//! The length of a cell's run, and its warm-up.

use crate::measurements::DriveCell;
use crate::residual::{falls_behind, offered_writes};
use destage_device::config::DeviceConfig;

/// Share of a run that is warm-up, at least.
const WARM_UP: f64 = 0.4;
/// Blocks that the host fills on each die during the warm-up, at least. Presets were fitted while preconditioning left fewer
/// free blocks than the steady state has: 5.2 blocks are 3.5 time constants of that with marks three blocks apart. It
/// leaves as many now, so a new fit of the presets may do with less.
const SETTLING_BLOCKS: f64 = 5.2;
/// The same where all that limits the rate is what collection costs: 5.2 blocks left it 6 % too low then.
const SETTLING_PRICE: f64 = 14.0;

/// Requests of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CellLength {
    /// All of them, about.
    pub requests: u64,
    /// Share of the run that is not measured.
    pub warm_up: f64,
}

impl CellLength {
    /// A run of `requests`, or a longer one if its warm-up would be too short for the dies of `device`.
    pub fn new(device: &DeviceConfig, cell: &DriveCell, requests: u64) -> CellLength {
        let requests = requests as f64 / weight(cell);
        let settling = settling_requests(device, cell).max(WARM_UP * requests);
        let all = (1.0 - WARM_UP) * requests + settling;
        let most = most_requests(device, cell);
        match all > most {
            // The measured drive had no longer warm-up.
            true => CellLength {
                requests: (most as u64).max(1),
                warm_up: WARM_UP,
            },
            false => CellLength {
                requests: libm::round(all) as u64,
                warm_up: settling / all,
            },
        }
    }
}

/// Bytes up to which requests count alike.
const ALIKE: u64 = 16 << 10;

/// How many requests one of the largest requests of the cell stands for: time goes by with the bytes that are moved.
fn weight(cell: &DriveCell) -> f64 {
    let largest = cell.load.streams.iter().map(|s| s.bytes).max();
    (largest.unwrap_or(0) as f64 / ALIKE as f64).max(1.0)
}

/// Requests that fill [`SETTLING_BLOCKS`] on each die.
fn settling_requests(device: &DeviceConfig, cell: &DriveCell) -> f64 {
    let shape = &device.geometry;
    let pages = f64::from(shape.planes()) * f64::from(shape.pages_per_block);
    let places = pages * f64::from(device.mapping_units_per_page());
    let least = cell.load.streams.iter().map(|s| s.bytes).min();
    let unit = device.mapping().bytes();
    let units = least.unwrap_or(unit).div_ceil(unit).max(1);
    let is_priced = device.write_price().is_some_and(|price| price.moved > 0);
    let blocks = match is_priced && is_saturated(cell) {
        true => SETTLING_PRICE,
        false => SETTLING_BLOCKS,
    };
    blocks * places / units as f64
}

/// Are writes sent as fast as the drive takes them?
fn is_saturated(cell: &DriveCell) -> bool {
    let writes = cell.load.streams.iter().any(|stream| stream.reads < 1.0);
    falls_behind(cell) || (writes && offered_writes(cell).is_none())
}

/// Requests that the load may have. More of them than the drive did would show another state,
/// and a fill that goes round would overwrite.
fn most_requests(device: &DeviceConfig, cell: &DriveCell) -> f64 {
    let bytes = device.logical_pages() * device.mapping().bytes();
    let result = &cell.measured;
    let rates = [result.writes_per_s, result.reads_per_s];
    let rate: f64 = rates.into_iter().flatten().sum();
    let done = cell.load.seconds.map(|seconds| seconds * rate);
    let done = done.filter(|&done| done > 0.0);
    let largest = cell.load.streams.iter().map(|s| s.bytes).max();
    let room = (1.0 - cell.load.fill) * bytes as f64 / largest.unwrap_or(1).max(1) as f64;
    let room = if cell.load.fill < 1.0 {
        room
    } else {
        f64::INFINITY
    };
    done.unwrap_or(f64::INFINITY).min(room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurements::LoadArrivals;
    use crate::measurements::examples::random_writes;
    use destage_device::config::EffectiveDevice;

    fn device(chips_per_channel: u32) -> DeviceConfig {
        let sets = [
            format!("chips_per_channel={chips_per_channel}"),
            "pages_per_block=12".to_owned(),
        ];
        let device = EffectiveDevice::from_preset("enterprise-tlc-1t", &sets);
        device.unwrap().into_config()
    }

    fn cell(bytes: u64, seconds: Option<f64>) -> DriveCell {
        let mut cell = random_writes(LoadArrivals::Closed, 1000.0, &[]);
        cell.load.streams[0].bytes = bytes;
        cell.load.seconds = seconds;
        cell
    }

    #[test]
    fn a_warm_up_grows_with_the_dies() {
        let length = |chips, bytes| CellLength::new(&device(chips), &cell(bytes, None), 40_000);
        // 32 dies with blocks of 96 mapping units: 5.2 blocks of each are less than 16,000.
        let CellLength { requests, warm_up } = length(4, 4096);
        assert_eq!((requests, warm_up), (40_000, 0.4));
        // 128 dies.
        let CellLength { requests, warm_up } = length(16, 4096);
        assert_eq!(requests, 24_000 + 63_898);
        assert!((warm_up - 63_898.0 / 87_898.0).abs() < 1e-5);
        // Large requests write a block sooner, and fewer of them show as much.
        assert_eq!(length(16, 65_536).requests, 10_000);
    }

    #[test]
    fn a_price_settles_later() {
        let price = "write_pace={ host = \"2us\", moved = \"3us\" }";
        let sets = ["pages_per_block=12", price].map(str::to_owned);
        let priced = EffectiveDevice::from_preset("enterprise-tlc-1t", &sets).unwrap();
        let priced = priced.into_config();
        let saturated = CellLength::new(&priced, &cell(4096, None), 40_000);
        // 14 blocks of 96 mapping units on each of 32 dies.
        assert_eq!(saturated.requests, 24_000 + 43_008);
        let mut slow = cell(4096, None);
        slow.load.streams[0].arrivals = LoadArrivals::Poisson { per_s: 900.0 };
        assert_eq!(CellLength::new(&priced, &slow, 40_000).requests, 40_000);
        let mut reads = cell(4096, None);
        reads.load.streams[0].reads = 1.0;
        assert_eq!(CellLength::new(&priced, &reads, 40_000).requests, 40_000);
    }

    #[test]
    fn a_run_has_no_more_requests_than_the_drive_did() {
        let length = CellLength::new(&device(16), &cell(4096, Some(50.0)), 40_000);
        assert_eq!((length.requests, length.warm_up), (50_000, WARM_UP));
    }
}
