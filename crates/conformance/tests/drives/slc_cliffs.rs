//! The SLC cache beside drives that reviewers filled: how long the first step of the bandwidth is, and what follows.
//!
//! `cargo xtask sheets` prints the table, which stands in docs/SLC.md.

use crate::sheets::{EMPTY, load, rates, scaled};
use destage_device::config::EffectiveDevice;
use destage_types::Op;

/// A drive that was filled with sequential writes. Capacity and first step are in GB.
struct Filled {
    drive: &'static str,
    capacity: f64,
    first: f64,
    /// Bandwidth of its steps in MB/s.
    steps: &'static [f64],
    qlc: bool,
    /// Are all free blocks its SLC cache?
    all: bool,
}

const fn tlc(drive: &'static str, capacity: f64, first: f64, steps: &'static [f64]) -> Filled {
    Filled {
        drive,
        capacity,
        first,
        steps,
        qlc: false,
        all: false,
    }
}

const fn qlc(drive: &'static str, capacity: f64, first: f64, steps: &'static [f64]) -> Filled {
    Filled {
        qlc: true,
        ..tlc(drive, capacity, first, steps)
    }
}

/// From reviews by TechPowerUp, PC Perspective, and KitGuru. The capacity of the Intel 600p was not given.
const DRIVES: [Filled; 14] = [
    tlc("Samsung 980 PRO", 1000.0, 113.0, &[4000.0, 1500.0]),
    tlc("Samsung 980", 1000.0, 160.0, &[2500.0, 500.0]),
    tlc("Samsung 970 EVO", 500.0, 22.0, &[2000.0, 600.0]),
    Filled {
        all: true,
        ..tlc("WD Blue SN580", 1000.0, 341.0, &[4000.0, 450.0])
    },
    tlc("Lexar NM800 PRO", 2000.0, 592.0, &[3500.0, 2200.0, 1000.0]),
    tlc("ADATA XPG Atom 50", 1000.0, 280.0, &[4500.0, 2000.0, 500.0]),
    tlc(
        "MSI Spatium M480 Play",
        2000.0,
        200.0,
        &[5000.0, 3500.0, 1500.0],
    ),
    Filled {
        all: true,
        ..tlc("Crucial T500", 2000.0, 700.0, &[4000.0, 500.0])
    },
    tlc("Kingston NV2", 1000.0, 88.0, &[2800.0, 600.0, 400.0]),
    tlc("Kingston KC2000", 1000.0, 150.0, &[2000.0, 1400.0]),
    qlc("Crucial P1", 1000.0, 140.0, &[1600.0, 150.0]),
    qlc("HP FX700", 2000.0, 54.0, &[5000.0, 3500.0, 130.0]),
    qlc("Samsung 870 QVO", 4000.0, 78.0, &[487.0, 169.0]),
    tlc("Intel 600p", 512.0, 16.0, &[]),
];

/// Presets that have an SLC cache, and their capacities in GB.
const PRESETS: [(&str, f64); 3] = [
    ("consumer-tlc-1t-slc", 1000.0),
    ("consumer-tlc-1t-all-slc", 1000.0),
    ("consumer-qlc-1t", 1000.0),
];

/// Blocks of a plane of the scaled drive.
const BLOCKS: f64 = 400.0;
/// Intervals of a fill.
const PARTS: u64 = 400;
/// A step ends where the bandwidth falls below this share of it.
const STEP: f64 = 0.85;

/// Steps of the bandwidth: where each ends, as a share of all intervals, and its bandwidth.
fn steps_of(rates: &[f64]) -> Vec<(f64, f64)> {
    let mut steps = Vec::new();
    let mut at = 0;
    while at < rates.len() && steps.len() < 3 {
        // The first intervals of a step may have a part of the one before.
        let head = &rates[(at + 1).min(rates.len() - 1)..rates.len().min(at + 6)];
        let rate = head.iter().sum::<f64>() / head.len() as f64;
        let lasts = rates[at..]
            .iter()
            .take_while(|&&r| r >= STEP * rate)
            .count();
        at += lasts.max(1);
        steps.push((at as f64 / rates.len() as f64, rate));
    }
    steps
}

/// The steps of the model of a drive.
fn modelled(drive: &Filled) -> Vec<(f64, f64)> {
    let (preset, bits) = match drive.qlc {
        true => ("consumer-qlc-1t", 4.0),
        false => ("consumer-tlc-1t", 3.0),
    };
    let share = drive.first / drive.capacity;
    let blocks = match drive.all {
        true => "all".to_owned(),
        // A share of the exported space, in blocks that have fewer places.
        false => format!("{:.0}", share * BLOCKS * (1.0 - 0.0905) * bits),
    };
    filled(preset, &[format!("slc_dynamic={blocks}")])
}

/// The steps of a preset that is filled, scaled down and with more keys.
fn filled(preset: &str, keys: &[String]) -> Vec<(f64, f64)> {
    let mut keys = keys.to_vec();
    keys.push("slc_idle=off".to_owned());
    let device = scaled(preset, EMPTY, &keys);
    let bytes = device.logical_pages() * device.mapping().bytes();
    let requests = bytes / (128 << 10);
    let trace = load(&device, Op::Write, requests, 256, false);
    steps_of(&rates(device, &trace, requests / PARTS))
}

#[test]
#[ignore = "takes a minute; `cargo xtask sheets` and `cargo xtask full` run it"]
fn the_first_step_is_as_long_as_that_of_real_drives() {
    let page = include_str!("../../../../docs/SLC.md");
    let mut stale = Vec::new();
    for (preset, capacity) in PRESETS {
        let steps = filled(preset, &[]);
        let cells = steps
            .iter()
            .map(|(end, rate)| format!("{:.0} to {:.0} GB", rate / 1e6, end * capacity));
        let line = format!("| `{preset}` | {} |", cells.collect::<Vec<_>>().join(", "));
        println!("{line}");
        if !page.contains(&line) {
            stale.push(line);
        }
    }
    for drive in &DRIVES {
        let steps = modelled(drive);
        let first = steps[0].0 * drive.capacity;
        let off = first / drive.first - 1.0;
        let ratios = |rates: &[f64]| -> Vec<String> {
            let pairs = rates.windows(2);
            pairs
                .map(|pair| format!("{:.2}", pair[1] / pair[0]))
                .collect()
        };
        let rates: Vec<f64> = steps.iter().map(|step| step.1).collect();
        let line = format!(
            "| {} | {:.0} | {first:.0} | {} | {} |",
            drive.drive,
            drive.first,
            ratios(drive.steps).join(", "),
            ratios(&rates).join(", ")
        );
        println!("{line}");
        assert!(off.abs() <= 0.1, "{line}");
        if !page.contains(&line) {
            stale.push(line);
        }
    }
    assert!(stale.is_empty(), "docs/SLC.md lacks {stale:#?}");
}

/// S-1, closed forms: 16 dies, which no link, bus, or buffer limits.
#[test]
fn rates_are_those_of_the_formulas() {
    let keys = [
        "channels=16",
        "chips_per_channel=1",
        "dies_per_chip=1",
        "planes_per_die=1",
        "blocks_per_plane=64",
        "pages_per_block=36",
        "page_bytes=16384",
        "mapping_bytes=4096",
        "program_pages=3",
        "op=0.3",
        "t_program=600us",
        "t_erase=3ms",
        "t_program_slc=100us",
        "t_read_slc=20us",
        "t_cmd=100ns",
        "t_byte=1ns",
        "host_link=unlimited",
        "precondition={fill=0}",
        "slc_dynamic=16",
        "slc_idle=off",
        "cache=2MiB",
    ]
    .map(str::to_owned);
    let device = EffectiveDevice::from_preset("consumer-tlc-1t", &keys).expect("legal keys");
    let device = device.into_config();
    let bytes = device.logical_pages() * 4096;
    let requests = bytes / (128 << 10);
    let trace = load(&device, Op::Write, requests, 256, false);
    let rates = rates(device, &trace, requests / 100);
    let (page, dies) = (16_384_u64, 16.0 * 1e9);
    let slc = dies * page as f64 / (page + 100 + 100_000) as f64;
    let direct = dies * 3.0 * page as f64 / (3 * (page + 100) + 600_000) as f64;
    // 16 blocks of a die with 48 places each. The queue and the buffer take four intervals more.
    let first = (100 * 16 * 16 * 48 * 4096 / bytes) as usize;
    let is = |rates: &[f64], formula: f64| {
        let off = rates.iter().map(|rate| (rate / formula - 1.0).abs());
        off.fold(0.0, f64::max) < 0.001
    };
    assert!(is(&rates[6..first], slc), "{slc} {rates:?}");
    assert!(is(&rates[first + 6..99], direct), "{direct} {rates:?}");
}
