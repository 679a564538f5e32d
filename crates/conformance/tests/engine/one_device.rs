//! The net under the merge of the two engines: a device without units runs through the engine of drives, too, and both
//! give the same record and the same completions, to the nanosecond.
//!
//! Two rules are set for that on the engine of drives ([`DriveReads`]). What is left to be merged:
//!
//! - [`lacking`]: features of a device that it refuses, collection at once and in the background among them;
//! - `allocation = dynamic`: it goes to the chip whose queue drains first, or to the die with the fewest programs;
//! - `placement = single-block`: groups are in the plane of their number, or spread page by page (DR-11);
//! - Equations 2 to 4 of ECR: free pages and thresholds count pages, or mapping units in free blocks (DR-10);
//! - write-backs: they wait below all other work and can be taken back, or go to a unit at once (DR-7); `depth` of
//!   `drain` counts its own programs, or all of the host's;
//! - [`UNLIKE`]: fields of a record.
//!
//! The test `drives` covers what only drives have: units, paced collection, and a bounded buffer.

use crate::random_device::{Features, random_device};
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::reference::{Profile, SlowRequest};
use destage_conformance::timed::runs::logged;
use destage_conformance::timed::{timed_swarm, trace_of};
use destage_device::config::{
    Allocation, DeviceConfig, EffectiveDevice, FlashUnit, GcMode, Overwrite, Ratio, preset_names,
};
use destage_scheme::Expr;
use destage_sim::drive::DriveReads;
use destage_sim::{ReadFill, Replay, RunSpec, Warmup};
use destage_types::{ByteSize, Energy, PageSize, Picos, QueuePer};
use serde_json::Value;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Schemes that do not ask how full the chips are, and whose pages go where their address says.
const SCHEMES: [&str; 25] = [
    "none",
    "lru",
    "fifo",
    "clock",
    "cflru(x=2)",
    "arc",
    "2q",
    "sieve",
    "lirs",
    "bplru(block-pages=1,protect_current=true,placement=stripe)",
    "bplru(block-pages=3,read_touch=true,placement=stripe)",
    "bplru(block-pages=2,compensation=half,placement=stripe)",
    "req-block(delta=2)",
    "vbbms",
    "procache(lru,p=0.5,c=16p)",
    "procache(lru,p=0.6,c=16p,hit_rule=page)",
    "procache(fifo,p=0.5,c=16p,hit_rule=any)",
    "prober(lru,ssp=16k,rip=6)",
    "best-of(lru,arc,lirs,fifo,epoch=12,margin=0)",
    "cac(lru)",
    "ecr(lru,cqct=oracle)",
    "ecr(arc,cqct=oracle)",
    "cflru-eps",
    "gcar(lru)",
    "gcar(ecr(lru,cqct=oracle))",
];

/// Fields of a record that the engine of drives does not fill in the same way.
const UNLIKE: [&str; 4] = [
    // The settings, which tell the engine.
    "config",
    // Only with units.
    "counts/padded_places",
    // The waiting time of programs is not measured.
    "evict_wait_ns",
    "evict_turnaround_ns",
];

/// A change that takes a feature from a device, and the key that asks for it.
type Feature = (&'static str, fn(&mut DeviceConfig));

/// The features that the engine of drives does not have.
fn lacking() -> Vec<Feature> {
    vec![
        ("gc_mode=foreground", |d| d.gc_mode = GcMode::Off),
        ("gc_mode=background", |d| d.gc_mode = GcMode::Off),
        ("queue_per=chip", |d| {
            d.queue_per = QueuePer::Die;
            if d.frontier == FlashUnit::Chip {
                (d.frontier, d.gc_unit) = (FlashUnit::Die, FlashUnit::Die);
            }
        }),
        ("multi_plane=true", |d| d.multi_plane = false),
        ("copyback=true", |d| d.copyback = false),
        ("summary_page=true", |d| d.summary_page = false),
        (
            "cache_region={size=\"1GiB\",t_read=\"1us\",t_program=\"1us\",evict_read=true}",
            |d| d.cache_region = None,
        ),
    ]
}

/// A device without the features that one engine lacks, and the same device for the engine of drives.
fn twins(mut device: DeviceConfig) -> [DeviceConfig; 2] {
    for (_, take) in lacking() {
        take(&mut device);
    }
    // Without collection nothing makes room; and large devices are filled in longer than the runs take.
    device.precondition.overwrite = Overwrite::Times(Ratio::ZERO);
    if device.geometry.pages() > 100_000 {
        device.precondition.fill = Ratio::ZERO;
    }
    device.allocation = Allocation::Static;
    (device.e_read, device.e_program, device.e_byte) = (Energy(7), Energy(40), Energy(1));
    assert!(!device.has_units());
    let drive = DeviceConfig {
        // Nothing is suspended, or it takes no time.
        t_suspend: Some(Picos(0)),
        ..device.clone()
    };
    assert!(drive.has_units());
    [device, drive]
}

/// Where two records differ, by the names of their fields.
fn differences(at: &str, one: &Value, other: &Value, out: &mut Vec<String>) {
    if UNLIKE.contains(&at) || one == other {
        return;
    }
    let (Value::Object(fields), Value::Object(others)) = (one, other) else {
        return out.push(format!("{at}: {one} and {other}"));
    };
    let mut names: Vec<&String> = fields.keys().chain(others.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let path = match at {
            "" => name.clone(),
            at => format!("{at}/{name}"),
        };
        let [one, other] = [fields, others].map(|fields| fields.get(name).unwrap_or(&Value::Null));
        differences(&path, one, other, out);
    }
}

/// How a run reads and what it caches.
#[derive(Clone, Debug)]
struct Settings {
    expr: &'static str,
    frames: u64,
    rmw: bool,
    read_fill: ReadFill,
    replay: Replay,
    warmup: Warmup,
    flush_at_end: bool,
    seed: u64,
}

impl Settings {
    fn draw(rng: &mut SplitMix64, expr: &'static str) -> Settings {
        let depth = rng.pick(&[1, 2, 7]);
        let depth = NonZeroU32::new(depth).expect("at least 1");
        Settings {
            expr,
            frames: 5 + rng.below(40),
            rmw: rng.chance(80),
            read_fill: rng.pick(&[ReadFill::Page, ReadFill::Page, ReadFill::Requested]),
            replay: match rng.below(4) {
                0 => Replay::Closed { depth },
                1 => Replay::Limited { depth },
                _ => Replay::Open,
            },
            warmup: rng.pick(&[Warmup::None, Warmup::Requests(30), Warmup::Passes(1)]),
            flush_at_end: rng.chance(30),
            seed: rng.next_u64(),
        }
    }

    fn spec(&self, device: DeviceConfig, reads: DriveReads) -> RunSpec {
        let page = device.geometry.page;
        RunSpec {
            page,
            rmw: self.rmw,
            read_fill: self.read_fill,
            replay: self.replay,
            warmup: self.warmup,
            flush_at_end: self.flush_at_end,
            seed: self.seed,
            device: Some(Arc::new(device)),
            reads,
            ..RunSpec::cache_only(
                Expr::parse(self.expr).expect("a legal expression"),
                ByteSize(self.frames * page.bytes()),
            )
        }
    }
}

/// As devices of pages read.
const AS_PAGES: DriveReads = DriveReads {
    at_once: true,
    after_program: true,
};

/// The first difference between the engines over a stream, if there is one.
fn difference(
    device: &DeviceConfig,
    settings: &Settings,
    reads: DriveReads,
    stream: &[SlowRequest],
) -> Result<(), String> {
    let trace = trace_of(stream);
    let specs = twins(device.clone()).map(|device| settings.spec(device, reads));
    let [one, other] = specs.map(|spec| {
        logged(&spec, &trace).unwrap_or_else(|e| panic!("{e}: {settings:?} on {:#?}", spec.device))
    });
    if one.1 != other.1 {
        let mut rows = one.1.lines().zip(other.1.lines());
        let row = rows.find(|(one, other)| one != other);
        return Err(format!("requests: {row:?}"));
    }
    let json = |record| serde_json::to_value(record).expect("plain JSON");
    let mut found = Vec::new();
    differences("", &json(&one.0), &json(&other.0), &mut found);
    match found.is_empty() {
        true => Ok(()),
        false => Err(found.join("\n")),
    }
}

fn stream(rng: &mut SplitMix64, spp: u32, program: u64, prev: bool) -> Vec<SlowRequest> {
    let mut profile = Profile::new(rng.pick(&[80, 200, 400]), spp)
        .pages(rng.pick(&[24, 64, 200]))
        .with_forced();
    profile.prev = prev;
    profile.partial = rng.chance(70);
    profile.trim = rng.chance(60);
    profile.flush = rng.chance(60);
    timed_swarm(rng.next_u64(), profile, program)
}

#[test]
fn every_preset_of_pages_runs_alike_through_both_engines() {
    for (number, name) in preset_names().enumerate() {
        let preset = EffectiveDevice::from_preset(name, &[]).expect("a preset");
        if preset.config().has_units() {
            continue;
        }
        for (i, expr) in SCHEMES.into_iter().enumerate() {
            let rng = &mut SplitMix64::new((number * SCHEMES.len() + i) as u64);
            let mut device = preset.config().clone();
            // The tables of whole devices take longer than the runs.
            device.geometry.blocks_per_plane = 64;
            if expr.starts_with("cac") && device.geometry.page != PageSize::KIB4 {
                continue;
            }
            let settings = Settings::draw(rng, expr);
            let (spp, program) = (device.geometry.page.sectors(), device.t_program.mean().0);
            let stream = stream(rng, spp, program, expr.starts_with("cac"));
            if let Err(why) = difference(&device, &settings, AS_PAGES, &stream) {
                panic!("{name}, {settings:?}: {why}");
            }
        }
    }
}

/// A random device that both have, random settings and a stream.
fn draw(seed: u64) -> (DeviceConfig, Settings, Vec<SlowRequest>) {
    let rng = &mut SplitMix64::new(seed * 7919 + 5);
    let spp = rng.pick(&[4, 8, 32]);
    let features = Features {
        joins: None,
        in_flash: None,
        array: SplitMix64::new(seed ^ 0x77e1),
        suspends: 40,
    };
    let expr = rng.pick(&SCHEMES);
    let spp = if expr.starts_with("cac") { 8 } else { spp };
    let by_address = !(expr.contains("ecr") || expr.contains("lcr"));
    let (device, program) = random_device(rng, spp, by_address, false, false, features);
    let settings = Settings::draw(rng, expr);
    let stream = stream(rng, spp, program, expr.starts_with("cac"));
    (device, settings, stream)
}

#[test]
fn random_devices_run_alike_through_both_engines() {
    for seed in 0..400 {
        let (device, settings, stream) = draw(seed);
        if let Err(why) = difference(&device, &settings, AS_PAGES, &stream) {
            panic!("seed {seed}: {why}\n{settings:?} on {device:#?}");
        }
    }
}

/// With one of the rules as drives have it, some runs differ: the net has no hole there.
#[test]
fn each_of_the_two_rules_is_seen() {
    for at_once in [true, false] {
        let reads = DriveReads {
            at_once,
            after_program: !at_once,
        };
        let differ = (0..100).filter(|&seed| {
            let (device, settings, stream) = draw(seed);
            difference(&device, &settings, reads, &stream).is_err()
        });
        let differ = differ.count();
        assert!(differ > 10, "{reads:?}: {differ} runs differ");
    }
}

/// The list says exactly what is refused, so it shrinks when the engine of drives learns a feature.
#[test]
fn the_engine_of_drives_lacks_what_the_list_says() {
    for (key, take) in lacking() {
        let device = |more: &[&str]| {
            let sets = [&[key, "frontier=plane"], more].concat();
            let sets: Vec<String> = sets.into_iter().map(str::to_owned).collect();
            EffectiveDevice::from_preset("default", &sets)
        };
        let mut pages = device(&[]).expect("a device of pages").config().clone();
        assert!(device(&["t_suspend=0ns"]).is_err(), "{key} is there");
        let before = pages.clone();
        take(&mut pages);
        assert_ne!(pages, before, "{key}");
    }
}
