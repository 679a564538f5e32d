use super::*;
use crate::measurements::examples::random_writes;
use destage_device::config::EffectiveDevice;

fn sequential(bytes: u64, depth: u32, megabytes: f64) -> DriveCell {
    let mut cell = random_writes(LoadArrivals::Closed, megabytes * 1e6 / bytes as f64, &[]);
    let stream = &mut cell.load.streams[0];
    (stream.bytes, stream.depth, stream.pattern) = (bytes, depth, LoadPattern::Sequential);
    cell
}

fn rate(cells: &[DriveCell]) -> Option<f64> {
    sequential_rate(cells).map(|rate| libm::round(rate / 1e6))
}

#[test]
fn the_rate_of_sequential_writes_is_that_of_deep_loops_behind_an_slc_cache() {
    let by_depth = [(1, 90.0), (8, 600.0), (64, 1400.0), (256, 1450.0)];
    let by_depth = by_depth.map(|(depth, rate)| sequential(4096, depth, rate));
    assert_eq!(rate(&by_depth), Some(1450.0));
    // A fill in segments: the first two go to an SLC cache.
    let fill = [3300.0, 3290.0, 500.0, 510.0, 505.0, 495.0];
    let fill = fill.map(|rate| sequential(131_072, 32, rate));
    assert_eq!(rate(&fill), Some(505.0));
    assert_eq!(rate(&[&by_depth[..], &fill].concat()), Some(505.0));
    let mut bursts = sequential(131_072, 32, 9000.0);
    bursts.load.streams[0].arrivals = LoadArrivals::Bursts {
        requests: 8,
        idle_s: 1.0,
    };
    let mut mixed = sequential(131_072, 32, 9000.0);
    mixed.load.streams[0].reads = 0.5;
    let random = random_writes(LoadArrivals::Closed, 1e6, &[]);
    assert_eq!(rate(&[bursts, mixed, random]), None);
}

#[test]
fn parts_of_mapping_units_cost_whole_ones() {
    for (mapping, units) in [(16_384, 1.0), (4096, 1.0), (2048, 2.0), (1024, 4.0)] {
        let set = [format!("mapping_bytes={mapping}")];
        let device = EffectiveDevice::from_preset("enterprise-tlc-1t", &set).unwrap();
        assert_eq!(units_of_small_write(device.config()), units, "{mapping}");
    }
}
