//! The length of a cell's run, and its warm-up.

use crate::measurements::DriveCell;
use destage_device::config::DeviceConfig;

/// Share of a run that is warm-up, at least.
const WARM_UP: f64 = 0.4;

/// Requests of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CellLength {
    /// All of them, about.
    pub requests: u64,
    /// Share of the run that is not measured.
    pub warm_up: f64,
}

impl CellLength {
    /// A run of `requests`, or a longer one if its warm-up could not fill the buffer of `device`.
    pub fn new(device: &DeviceConfig, cell: &DriveCell, requests: u64) -> CellLength {
        let requests = requests as f64 / weight(cell);
        let settling = filling_requests(device, cell).max(WARM_UP * requests);
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

/// Requests that fill the buffer if nothing leaves it: until then, a drive that cannot follow does not show it.
fn filling_requests(device: &DeviceConfig, cell: &DriveCell) -> f64 {
    let least = cell.load.streams.iter().map(|s| s.bytes).min();
    device.cache.0 as f64 / least.unwrap_or(0).max(device.mapping().bytes()) as f64
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

    fn device(cache: &str) -> DeviceConfig {
        let cache = format!("cache={cache}");
        let device = EffectiveDevice::from_preset("enterprise-tlc-1t", &[cache]);
        device.unwrap().into_config()
    }

    fn cell(bytes: u64, seconds: Option<f64>) -> DriveCell {
        let mut cell = random_writes(LoadArrivals::Closed, 1000.0, &[]);
        cell.load.streams[0].bytes = bytes;
        cell.load.seconds = seconds;
        cell
    }

    #[test]
    fn a_warm_up_fills_the_buffer() {
        let length = |cache, bytes| CellLength::new(&device(cache), &cell(bytes, None), 40_000);
        let CellLength { requests, warm_up } = length("16MiB", 4096);
        assert_eq!((requests, warm_up), (40_000, 0.4));
        // 32,768 frames.
        let CellLength { requests, warm_up } = length("128MiB", 4096);
        assert_eq!(requests, 24_000 + 32_768);
        assert!((warm_up - 32_768.0 / 56_768.0).abs() < 1e-9);
        // Large requests fill it sooner, and fewer of them show as much.
        assert_eq!(length("128MiB", 65_536).requests, 10_000);
    }

    #[test]
    fn a_run_has_no_more_requests_than_the_drive_did() {
        let length = CellLength::new(&device("1GiB"), &cell(4096, Some(50.0)), 40_000);
        assert_eq!((length.requests, length.warm_up), (50_000, WARM_UP));
    }
}
