//! The price of writes at saturation (D-17): a mapping unit takes host + moved x (W - 1) if nothing else limits. The dies of
//! this drive alone take 20 us.

use destage_conformance::reference::rng::SplitMix64;
use destage_device::config::EffectiveDevice;
use destage_scheme::{Expr, ReadAlloc};
use destage_sim::{Hooks, Replay, RunSpec, Warmup, execute};
use destage_trace::Trace;
use destage_types::{HostRequest, Nanos, Op, RequestBatch};
use std::num::NonZeroU32;
use std::sync::Arc;

const REQUESTS: u64 = 60_000;

/// Draws prices, sizes, depth, scheme, the written part of the drive, and how full it is.
#[test]
fn saturated_writes_pay_for_what_is_moved() {
    let mut moving = 0;
    for seed in 0..8 {
        let rng = &mut SplitMix64::new(seed);
        let (host, moved) = (
            rng.pick(&[25_000, 40_000, 60_000]),
            rng.pick(&[0, 5_000, 12_000]),
        );
        let (fill, window) = (rng.pick(&["0.7", "1"]), rng.pick(&[1, 8]));
        let keys = [
            "blocks_per_plane=104".to_owned(),
            "pages_per_block=24".to_owned(),
            format!("precondition={{fill={fill},overwrite=2}}"),
            format!("write_pace={{host=\"{host}ns\",moved=\"{moved}ns\",window={window}}}"),
        ];
        let device = EffectiveDevice::from_preset("enterprise-tlc-1t", &keys);
        let device = Arc::new(device.expect("a legal device").into_config());
        let filled = if fill == "1" { 1.0 } else { 0.7 };
        let part = rng.pick(&[1.0, 0.6]);
        let units = (device.logical_pages() as f64 * filled * part) as u64 - 8;
        let most = rng.pick(&[1, 4]);
        let mut batch = RequestBatch::new();
        for _ in 0..REQUESTS {
            let (at, count) = (rng.below(units), 1 + rng.below(most));
            batch.push(HostRequest::new(
                Nanos(0),
                Op::Write,
                8 * at,
                8 * count as u32,
            ));
        }
        let depth = rng.pick(&[64, 256]);
        let scheme = rng.pick(&["drain(fifo)", "drain(lru,low=0.5,high=0.5)"]);
        let spec = RunSpec {
            page: device.mapping(),
            read_alloc: ReadAlloc::Off,
            replay: Replay::Closed {
                depth: NonZeroU32::new(depth).expect("at least 1"),
            },
            warmup: Warmup::Requests(REQUESTS / 3),
            device: Some(Arc::clone(&device)),
            ..RunSpec::cache_only(Expr::parse(scheme).expect("legal"), device.cache)
        };
        let copies = check(&spec, batch, host, moved, &keys);
        moving += u64::from(moved > 0 && copies > 0.5);
    }
    assert!(moving > 2, "{moving}");
}

/// The time of a mapping unit is that of the prices; gives the copies of collection for each unit of the host.
fn check(spec: &RunSpec, batch: RequestBatch, host: u64, moved: u64, keys: &[String]) -> f64 {
    let record = execute(spec, &Trace::generated("load", batch), Hooks::default());
    let record = record.unwrap_or_else(|error| panic!("{error}"));
    let counts = &record.counts;
    let copies = counts.flash_writes_gc.expect("a device") as f64;
    let copies = copies / counts.flash_writes_host as f64;
    let time = record.throughput.expect("a loop").elapsed_ns as f64;
    let of_unit = time / counts.write_pages as f64;
    let expected = host as f64 + moved as f64 * copies;
    println!("{of_unit:.0} ns for {expected:.0}, {copies:.2} copies, {keys:?}");
    assert!(
        (of_unit / expected - 1.0).abs() < 0.02,
        "{of_unit} for {expected}: {keys:?}"
    );
    copies
}

/// The same where most data of a block are never written again, so that its last pages may all be valid when collection
/// comes to them.
#[test]
fn saturated_writes_pay_for_what_is_moved_whatever_is_hot() {
    let keys = [
        "channels=2",
        "chips_per_channel=2",
        "blocks_per_plane=104",
        "pages_per_block=12",
        "t_program=200us",
        "t_erase=200us",
        "precondition={fill=1,overwrite=0}",
        "write_pace={host=\"25us\",moved=\"25us\"}",
    ]
    .map(str::to_owned);
    let device = EffectiveDevice::from_preset("enterprise-tlc-1t", &keys);
    let device = Arc::new(device.expect("a legal device").into_config());
    let units = device.logical_pages();
    for (hot, writes) in [(1.0, 1.0), (0.2, 1.0), (0.05, 0.95), (0.5, 0.9)] {
        let rng = &mut SplitMix64::new(3);
        let mut shuffled: Vec<u64> = (0..units).collect();
        for last in (1..shuffled.len()).rev() {
            shuffled.swap(last, rng.below(last as u64 + 1) as usize);
        }
        let (hot, cold) = shuffled.split_at((units as f64 * hot) as usize);
        let mut batch = RequestBatch::new();
        for _ in 0..4 * units {
            let is_hot = cold.is_empty() || (rng.below(1000) as f64) < 1000.0 * writes;
            let lpn = rng.pick(if is_hot { hot } else { cold });
            batch.push(HostRequest::new(Nanos(0), Op::Write, 8 * lpn, 8));
        }
        let spec = RunSpec {
            page: device.mapping(),
            read_alloc: ReadAlloc::Off,
            replay: Replay::Closed {
                depth: NonZeroU32::new(256).expect("at least 1"),
            },
            warmup: Warmup::Requests(2 * units),
            device: Some(Arc::clone(&device)),
            ..RunSpec::cache_only(Expr::parse("drain(fifo)").expect("legal"), device.cache)
        };
        let copies = check(&spec, batch, 25_000, 25_000, &keys);
        assert!(copies > 0.5, "{copies}");
    }
}
