//! A drive that was overwritten before the run collects from the first write on as it does later: its first blocks cost as
//! many copies as those after them, so as many blocks are free (D-11/14).

use destage_conformance::reference::rng::SplitMix64;
use destage_device::config::{DeviceConfig, EffectiveDevice};
use destage_scheme::{Expr, ReadAlloc};
use destage_sim::{Hooks, Replay, RunSpec, Warmup, execute};
use destage_trace::Trace;
use destage_types::{HostRequest, Nanos, Op, RequestBatch};
use std::num::NonZeroU32;
use std::sync::Arc;

/// Blocks of each GC unit that the host fills at first, and later: from one number to another.
const EARLY: (u64, u64) = (0, 4);
const LATE: (u64, u64) = (8, 16);
/// Most that a window of one drive, and the mean of all drives, differ.
const ONE: f64 = 0.1;
const ALL: f64 = 0.03;

/// A drive whose marks, blocks, frontiers and overwrites are drawn.
fn drive(rng: &mut SplitMix64) -> (DeviceConfig, Vec<String>) {
    let (unit, allocation) = rng.pick(&[
        ("die", "dynamic"),
        ("die", "dynamic"),
        ("die", "static"),
        ("drive", "dynamic"),
    ]);
    let low = 1 + rng.below(3);
    // Between marks one apart a collector stands still or moves twice as much. That of a whole drive has no others beside it
    // with which that would even out.
    let apart = rng.pick(&[1, 2, 3, 6]);
    let high = low + if unit == "drive" { apart.max(2) } else { apart };
    let overwrite = rng.pick(&[1.5, 2.0, 2.75]);
    let fill = rng.pick(&["0.9", "1"]);
    let keys = vec![
        format!("channels={}", rng.pick(&[1, 2])),
        "chips_per_channel=2".to_owned(),
        format!("blocks_per_plane={}", rng.pick(&[160, 220])),
        format!("pages_per_block={}", rng.pick(&[24, 48, 96])),
        format!("program_pages={}", rng.pick(&[1, 3])),
        format!("op={}", rng.pick(&[0.11, 0.15, 0.2])),
        format!("gc_low={low}"),
        format!("gc_high={high}"),
        format!("gc_streams={}", rng.pick(&["own", "own", "shared"])),
        format!("gc_unit={unit}"),
        format!("allocation={allocation}"),
        "cache=2MiB".to_owned(),
        "write_pace=off".to_owned(),
        format!("precondition={{fill={fill},overwrite={overwrite}}}"),
    ];
    let device = EffectiveDevice::from_preset("enterprise-tlc-1t", &keys);
    (device.expect("a legal device").into_config(), keys)
}

/// Writes to what was filled, uniform or skewed.
fn writes(rng: &mut SplitMix64, device: &DeviceConfig, count: u64) -> RequestBatch {
    let units = device.precondition.fill.of(device.logical_pages());
    let skewed = rng.chance(30);
    let mut batch = RequestBatch::new();
    for _ in 0..count {
        let u = rng.real();
        let at = (units as f64 * if skewed { u.powf(1.5) } else { u }) as u64;
        batch.push(HostRequest::new(Nanos(0), Op::Write, 8 * at, 8));
    }
    batch
}

/// Copies for each write of the host, while it fills its blocks from one number to another.
fn copies(spec: &RunSpec, batch: &RequestBatch, block: u64, (from, to): (u64, u64)) -> f64 {
    let requests = batch.iter().take((to * block) as usize);
    let mut part = RequestBatch::new();
    requests.for_each(|request| part.push(*request.head));
    let spec = RunSpec {
        warmup: Warmup::Requests(from * block),
        ..spec.clone()
    };
    let record = execute(&spec, &Trace::generated("load", part), Hooks::default());
    let counts = record.unwrap_or_else(|error| panic!("{error}")).counts;
    counts.flash_writes_gc.expect("a device") as f64 / counts.flash_writes_host as f64
}

#[test]
fn the_first_blocks_of_a_run_are_collected_as_later_ones() {
    let seeds = 24;
    let mut sum = 0.0;
    for seed in 0..seeds {
        let rng = &mut SplitMix64::new(seed);
        let (device, keys) = drive(rng);
        let dies = device.geometry.planes() / device.geometry.planes_per_die;
        let block = u64::from(dies * device.shape().part_places());
        let batch = writes(rng, &device, LATE.1 * block);
        let spec = RunSpec {
            page: device.mapping(),
            read_alloc: ReadAlloc::Off,
            replay: Replay::Closed {
                depth: NonZeroU32::new(rng.pick(&[1, 64])).expect("at least 1"),
            },
            seed,
            device: Some(Arc::new(device.clone())),
            ..RunSpec::cache_only(Expr::parse("drain(fifo)").expect("legal"), device.cache)
        };
        let [early, late] = [EARLY, LATE].map(|window| copies(&spec, &batch, block, window));
        let off = (1.0 + early) / (1.0 + late) - 1.0;
        println!(
            "seed {seed}: {early:.2} then {late:.2}, {:+.1} %, {keys:?}",
            100.0 * off
        );
        assert!(late > 0.2, "seed {seed} collects nothing: {keys:?}");
        assert!(
            off.abs() < ONE,
            "seed {seed}: {early} then {late}, {keys:?}"
        );
        sum += off;
    }
    let mean = sum / seeds as f64;
    assert!(mean.abs() < ALL, "{mean}");
}
