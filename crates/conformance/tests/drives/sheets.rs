//! Presets of real drives compared with the data sheets of those drives.
//!
//! `cargo xtask sheets` prints the table, which stands in docs/DRIVES.md.

use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::timed::runs::with_series;
use destage_device::config::{DeviceConfig, EffectiveDevice, SlcDynamic};
use destage_scheme::{Expr, ReadAlloc};
use destage_sim::series::{Every, SeriesRow};
use destage_sim::{Hooks, Replay, ResultRecord, RunSpec, Warmup, execute};
use destage_trace::Trace;
use destage_types::{HostRequest, Nanos, Op, RequestBatch};
use std::num::NonZeroU32;
use std::sync::Arc;

/// Figures of a drive's data sheet. MB are 10^6 bytes.
struct Sheet {
    preset: &'static str,
    drive: &'static str,
    /// 128 KiB, reads and writes, in MB/s.
    sequential: [f64; 2],
    /// Sequential requests: those of an SLC cache go into it. The rate counts the time in which the queue fills and empties, so
    /// there are many more requests than places in it.
    requests: u64,
    /// 4 KiB at `depth`, reads and writes, in requests a second.
    random: [f64; 2],
    depth: u32,
    /// Are the random writes those of a drive that was overwritten? Else it is empty before them.
    steady: bool,
    /// 4 KiB at depth 1, reads and writes, in requests a second.
    alone: Option<[f64; 2]>,
}

const SHEETS: [Sheet; 6] = [
    Sheet {
        preset: "enterprise-tlc-1t",
        drive: "Samsung PM9A3 960 GB",
        sequential: [6500.0, 1500.0],
        requests: 20_000,
        random: [580_000.0, 70_000.0],
        depth: 256,
        steady: true,
        alone: None,
    },
    Sheet {
        preset: "consumer-tlc-1t",
        drive: "Samsung 970 EVO Plus 1 TB, behind its SLC cache",
        sequential: [3500.0, 1700.0],
        requests: 20_000,
        random: [600_000.0, 400_000.0],
        depth: 128,
        steady: false,
        alone: Some([19_000.0, 60_000.0]),
    },
    Sheet {
        preset: "consumer-tlc-1t-slc",
        drive: "the same, into its SLC cache",
        sequential: [3500.0, 3300.0],
        requests: 4_000,
        random: [600_000.0, 550_000.0],
        depth: 128,
        steady: false,
        alone: None,
    },
    Sheet {
        preset: "dramless-tlc-500g",
        drive: "Samsung 980 500 GB",
        sequential: [3100.0, 2600.0],
        requests: 4_000,
        random: [400_000.0, 470_000.0],
        depth: 128,
        steady: false,
        alone: Some([17_000.0, 54_000.0]),
    },
    Sheet {
        preset: "sata-tlc-500g",
        drive: "Micron 5100 ECO 480 GB",
        sequential: [540.0, 380.0],
        requests: 20_000,
        random: [93_000.0, 31_000.0],
        depth: 32,
        steady: true,
        alone: None,
    },
    Sheet {
        preset: "qlc-2t",
        drive: "Micron 5210 ION 1.92 TB",
        sequential: [540.0, 260.0],
        requests: 20_000,
        random: [70_000.0, 13_000.0],
        depth: 32,
        steady: true,
        alone: None,
    },
];

/// Depth of sequential loads.
const SEQUENTIAL_DEPTH: u32 = 128;
/// Most that a model is beside its sheet.
const TOLERANCE: f64 = 0.15;

/// The drive scaled down: all dies, times and rates, 400 blocks a die, smaller blocks, erases in proportion. An SLC cache has
/// the same share of the blocks.
pub fn scaled(preset: &str, precondition: &str, more: &[String]) -> DeviceConfig {
    let whole = EffectiveDevice::from_preset(preset, &[]).expect("a preset");
    let geometry = &whole.config().geometry;
    let pages = if whole.config().has_slc() || !more.is_empty() {
        36
    } else {
        24
    };
    let erase = whole.config().t_erase.0 / u64::from(geometry.pages_per_block) * pages;
    let blocks = geometry.blocks_per_plane;
    let share = |key: &str, of: Option<u32>| of.map(|of| format!("{key}={}", of * 400 / blocks));
    let mut keys = vec![
        "blocks_per_plane=400".to_owned(),
        format!("pages_per_block={pages}"),
        format!("t_erase={erase}ps"),
        format!("precondition={precondition}"),
    ];
    keys.extend(share("slc_blocks", whole.config().slc_blocks));
    keys.extend(match whole.config().slc_dynamic {
        Some(SlcDynamic::Blocks(of)) => share("slc_dynamic", Some(of)),
        _ => None,
    });
    keys.extend_from_slice(more);
    let device = EffectiveDevice::from_preset(preset, &keys).expect("a legal device");
    device.config().clone()
}

/// `count` requests of `sectors` sectors, one behind the other or at random units of the drive.
pub fn load(device: &DeviceConfig, op: Op, count: u64, sectors: u64, random: bool) -> Trace {
    let places = device.logical_pages() * device.mapping().bytes() / 512 / sectors;
    let mut rng = SplitMix64::new(1);
    let mut batch = RequestBatch::new();
    for i in 0..count {
        let at = if random {
            rng.below(places)
        } else {
            i % places
        };
        let first = at * sectors;
        batch.push(HostRequest::new(Nanos(0), op, first, sectors as u32));
    }
    Trace::generated("load", batch)
}

/// Runs a load in a closed loop behind a draining buffer.
fn run(device: DeviceConfig, trace: &Trace, depth: u32, warmup: Warmup) -> ResultRecord {
    let spec = spec(device, depth, warmup);
    execute(&spec, trace, Hooks::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Bytes a second that sequential writes come to, of each `every` requests.
pub fn rates(device: DeviceConfig, trace: &Trace, every: u64) -> Vec<f64> {
    let page = device.mapping().bytes() as f64;
    let spec = spec(device, SEQUENTIAL_DEPTH, Warmup::None);
    let (_, rows) = with_series(&spec, trace, Every::Requests(every));
    let mut before = 0;
    let rate = |row: &SeriesRow| {
        let time = row.time_ns - std::mem::replace(&mut before, row.time_ns);
        row.write_pages as f64 * page * 1e9 / time.max(1) as f64
    };
    rows.iter().map(rate).collect()
}

fn spec(device: DeviceConfig, depth: u32, warmup: Warmup) -> RunSpec {
    let cache = device.cache;
    let device = Arc::new(device);
    RunSpec {
        page: device.mapping(),
        read_alloc: ReadAlloc::Off,
        replay: Replay::Closed {
            depth: NonZeroU32::new(depth).expect("at least 1"),
        },
        warmup,
        device: Some(device),
        ..RunSpec::cache_only(Expr::parse("drain(fifo)").expect("legal"), cache)
    }
}

pub const EMPTY: &str = "{fill=0}";
const FILLED: &str = "{fill=1}";
pub const OVERWRITTEN: &str = "{fill=1,overwrite=3}";

/// Sequential megabytes a second.
fn sequential(preset: &str, op: Op, requests: u64) -> f64 {
    let before = if op == Op::Read { FILLED } else { EMPTY };
    let device = scaled(preset, before, &[]);
    let trace = load(&device, op, requests, 256, false);
    let record = run(device, &trace, SEQUENTIAL_DEPTH, Warmup::Requests(1_000));
    record.throughput.expect("a device").bytes_per_s / 1e6
}

/// Random requests a second.
fn random(preset: &str, op: Op, depth: u32, before: &str) -> f64 {
    let device = scaled(preset, before, &[]);
    let count = if before == OVERWRITTEN {
        300_000
    } else {
        100_000
    };
    let trace = load(&device, op, count, 8, true);
    let record = run(device, &trace, depth, Warmup::Requests(count / 3));
    record.throughput.expect("a device").requests_per_s
}

/// A row of the table: name, model, sheet.
fn rows(sheet: &Sheet) -> Vec<(String, f64, f64)> {
    let ops = [(Op::Read, "reads"), (Op::Write, "writes")];
    let mut rows = Vec::new();
    for ((op, name), says) in ops.iter().zip(sheet.sequential) {
        let model = sequential(sheet.preset, *op, sheet.requests);
        rows.push((format!("sequential {name}, MB/s"), model, says));
    }
    for ((op, name), says) in ops.iter().zip(sheet.random) {
        let before = match (op, sheet.steady) {
            (Op::Read, _) => FILLED,
            (_, true) => OVERWRITTEN,
            (_, false) => EMPTY,
        };
        let model = random(sheet.preset, *op, sheet.depth, before);
        let depth = sheet.depth;
        rows.push((
            format!("random {name} a second, depth {depth}"),
            model,
            says,
        ));
    }
    for ((op, name), says) in ops.iter().zip(sheet.alone.into_iter().flatten()) {
        let before = if *op == Op::Read { FILLED } else { EMPTY };
        let model = random(sheet.preset, *op, 1, before);
        rows.push((format!("random {name} a second, depth 1"), model, says));
    }
    rows
}

#[test]
fn a_closed_loop_issues_a_request_as_another_ends() {
    let device = scaled("enterprise-tlc-1t", EMPTY, &[]);
    let trace = load(&device, Op::Write, 100, 8, true);
    let record = run(device, &trace, 1, Warmup::None);
    // 7 us of command processing, 4096 bytes at 1.5 GB/s, 1 us of DRAM.
    let alone = 7_000 + 2_731 + 1_000;
    let latency = record.latency_ns.expect("a device");
    assert_eq!(latency.write.max, Some(alone));
    assert_eq!(record.service_ns.expect("a front").write.max, Some(alone));
    let rate = record.throughput.expect("a device").requests_per_s;
    assert!((rate - 1e9 / alone as f64).abs() < 1.0, "{rate}");
}

#[test]
#[ignore = "takes a minute; `cargo xtask sheets` and `cargo xtask full` run it"]
fn presets_meet_their_data_sheets() {
    let page = include_str!("../../../../docs/DRIVES.md");
    let mut stale = Vec::new();
    for sheet in &SHEETS {
        for (what, model, says) in rows(sheet) {
            let off = model / says - 1.0;
            let line = format!(
                "| `{}` | {} | {what} | {model:.0} | {says:.0} | {:+.0} % |",
                sheet.preset,
                sheet.drive,
                off * 100.0
            );
            println!("{line}");
            assert!(off.abs() <= TOLERANCE, "{line}");
            if !page.contains(&line) {
                stale.push(line);
            }
        }
    }
    assert!(stale.is_empty(), "docs/DRIVES.md lacks {stale:#?}");
}
