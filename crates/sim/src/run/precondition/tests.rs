//! Where data lie before the first request (D-18), on random devices with and without units.

use super::*;
use destage_device::config::EffectiveDevice;
use destage_trace::Trace;
use destage_types::rng::SplitMix64;
use destage_types::{HostRequest, Nanos, RequestBatch};
use std::collections::BTreeSet;

/// Pages of a region that the trace either reads or writes.
const REGION: u64 = 8;

fn pick<'a>(rng: &mut SplitMix64, of: &[&'a str]) -> &'a str {
    of[rng.below(of.len() as u64) as usize]
}

/// A device of pages or of units whose preconditioning depends on the trace.
fn random_device(rng: &mut SplitMix64) -> DeviceConfig {
    let mut keys: Vec<String> = [("channels", 2), ("chips_per_channel", 2)]
        .map(|(key, most)| format!("{key}={}", 1 + rng.below(most)))
        .into();
    let planes = 1 + rng.below(2);
    keys.push(format!(
        "dies_per_chip={} planes_per_die={planes}",
        1 + rng.below(2)
    ));
    let blocks = 30 + rng.below(30);
    keys.push(format!(
        "blocks_per_plane={blocks} pages_per_block=12 op=0.4"
    ));
    keys.push(format!("allocation={}", pick(rng, &["static", "dynamic"])));
    let fill = pick(rng, &["0", "0.2", "0.7"]);
    let overwrite = pick(rng, &["0", "0", "0.5"]);
    keys.push(format!(
        "precondition={{trace=true,fill={fill},overwrite={overwrite}}}"
    ));
    keys.push("queue_per=die frontier=die gc_unit=die page_bytes=16384".to_owned());
    if rng.below(2) == 0 {
        keys.push("gc_mode=paced gc_streams=own gc_low=1 gc_high=3".to_owned());
        keys.push(format!(
            "mapping_bytes={}",
            pick(rng, &["4096", "8192", "16384"])
        ));
        keys.push(format!("program_pages={}", 1 + rng.below(3)));
        keys.push(format!("program_planes={}", pick(rng, &["one", "all"])));
    }
    let keys: Vec<String> = keys.join(" ").split(' ').map(str::to_owned).collect();
    let device = EffectiveDevice::from_preset("default", &keys);
    device
        .unwrap_or_else(|e| panic!("{e}: {keys:?}"))
        .into_config()
}

/// Reads and writes of random length. A region is read or written, so that what is read before it is written does not
/// depend on their order.
fn random_requests(rng: &mut SplitMix64, config: &DeviceConfig) -> Vec<HostRequest> {
    let region = REGION * u64::from(config.mapping().sectors());
    let regions = address_space(config) / region;
    let requests = (0..1 + rng.below(400)).map(|_| {
        let at = rng.below(regions);
        let op = if at.is_multiple_of(3) {
            Op::Write
        } else {
            Op::Read
        };
        let first = rng.below(region);
        let sectors = 1 + rng.below(region - first);
        HostRequest::new(Nanos(0), op, at * region + first, sectors as u32)
    });
    requests.collect()
}

fn trace_of(requests: &[HostRequest]) -> Trace {
    let mut batch = RequestBatch::new();
    requests.iter().for_each(|request| batch.push(*request));
    Trace::generated("random", batch)
}

/// The place of each page.
fn places(map: &DeviceMap, config: &DeviceConfig) -> Vec<Option<u64>> {
    let place = |lpn| match map {
        DeviceMap::Pages(map) => map.read(Lpn(lpn)).map(|place| u64::from(place.ppn.0)),
        DeviceMap::Units(map) => map.place(Lpn(lpn)),
    };
    (0..config.logical_pages()).map(place).collect()
}

fn prepared(config: &DeviceConfig, requests: &[HostRequest]) -> DeviceMap {
    let trace = trace_of(requests);
    let map = prepared_map(config, (&trace).into(), false, 1, &mut |_| {});
    map.unwrap_or_else(|e| panic!("{e}"))
}

/// What a fill and the pages that are read, in ascending order, leave.
fn in_ascending_order(config: &DeviceConfig, requests: &[HostRequest]) -> DeviceMap {
    let (page, wanted) = (config.mapping(), &config.precondition);
    let reads = requests.iter().filter(|request| request.op == Op::Read);
    let pages = reads.flat_map(|read| {
        let last = read.start_sector + u64::from(read.sectors) - 1;
        page.page_of(read.start_sector).0..=page.page_of(last).0
    });
    let pages: BTreeSet<u64> = pages.collect();
    let mut map = DeviceMap::new(config, 1);
    map.fill(wanted.fill, &mut |_| {}).expect("it fits");
    map.map_trace(&mut pages.into_iter().map(Lpn))
        .expect("it fits");
    let written = map.overwrite(wanted.fill, wanted.overwrite, 1, &mut |_| {});
    written.expect("it fits");
    map
}

#[test]
fn the_order_of_a_trace_does_not_change_where_data_lie() {
    for seed in 0..300 {
        let mut rng = SplitMix64::new(seed);
        let config = random_device(&mut rng);
        let mut requests = random_requests(&mut rng, &config);
        let expected = places(&in_ascending_order(&config, &requests), &config);
        for turn in 0..3 {
            let found = places(&prepared(&config, &requests), &config);
            assert!(found == expected, "seed {seed}, order {turn}");
            for last in (1..requests.len()).rev() {
                requests.swap(last, rng.below(last as u64 + 1) as usize);
            }
        }
    }
}
