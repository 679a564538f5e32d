//! Reads of what was on a drive before the run: as fast when the trace placed it as on a full drive (D-18).

use super::sheets::scaled;
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::suites::is_full;
use destage_device::config::{DeviceConfig, EffectiveDevice};
use destage_scheme::{Expr, ReadAlloc};
use destage_sim::{Hooks, Replay, RunSpec, execute};
use destage_trace::Trace;
use destage_types::{HostRequest, Nanos, Op, RequestBatch};
use std::num::NonZeroU32;
use std::sync::Arc;

const PRESETS: [&str; 9] = [
    "enterprise-tlc-1t",
    "consumer-tlc-1t",
    "sata-tlc-500g",
    "qlc-2t",
    "samsung-pm9a3-960",
    "micron-7450-pro-960",
    "solidigm-p5520-1920",
    "kioxia-cm7r-3840",
    "wd-dc-960",
];
/// Most that two rates differ.
const TOLERANCE: f64 = 0.1;

/// Reads a second of random mapping units in a closed loop.
fn rate(device: DeviceConfig, depth: u32, count: u64, seed: u64) -> f64 {
    let sectors = device.mapping().sectors();
    let mut rng = SplitMix64::new(seed);
    let mut batch = RequestBatch::new();
    for _ in 0..count {
        let first = rng.below(device.logical_pages()) * u64::from(sectors);
        batch.push(HostRequest::new(Nanos(0), Op::Read, first, sectors));
    }
    let spec = RunSpec {
        page: device.mapping(),
        read_alloc: ReadAlloc::Off,
        replay: Replay::Closed {
            depth: NonZeroU32::new(depth).expect("at least 1"),
        },
        device: Some(Arc::new(device.clone())),
        ..RunSpec::cache_only(Expr::parse("lru").expect("legal"), device.cache)
    };
    let trace = Trace::generated("reads", batch);
    let record = execute(&spec, &trace, Hooks::default()).unwrap_or_else(|e| panic!("{e}"));
    record.throughput.expect("a device").requests_per_s
}

#[test]
fn reads_are_as_fast_where_the_trace_placed_them_as_on_a_full_drive() {
    let whole = |preset: &str, before: &str| {
        let key = format!("precondition={before}");
        let device = EffectiveDevice::from_preset(preset, &[key]);
        device.expect("a legal device").into_config()
    };
    let device: fn(&str, &str) -> DeviceConfig = if is_full() {
        whole
    } else {
        |preset, before| scaled(preset, before, &[])
    };
    for (number, preset) in (0..).zip(PRESETS) {
        for power in 0..=8u32 {
            // A third of the depths, other ones for each preset.
            if !is_full() && !(power + number).is_multiple_of(3) {
                continue;
            }
            let depth = 1 << power;
            let count = 2_000 + 100 * u64::from(depth);
            let rates = ["{trace=true,fill=0}", "{fill=1}"]
                .map(|before| rate(device(preset, before), depth, count, u64::from(number)));
            let off = rates[0] / rates[1] - 1.0;
            assert!(off.abs() <= TOLERANCE, "{preset} depth {depth}: {rates:?}");
        }
    }
}
