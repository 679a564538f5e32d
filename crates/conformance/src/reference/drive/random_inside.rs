//! Random drives with handles, and with a mapping table on flash.

use super::config::DriveConfig;
use super::random::{choose, random_drive};
use crate::reference::rng::SplitMix64;

/// A random drive with handles or a mapping table on flash, mostly both.
pub fn random_inside_drive(rng: &mut SplitMix64) -> DriveConfig {
    let mut c = with_own_frontiers(rng);
    let handles = if rng.chance(70) { 2 + rng.below(3) } else { 1 };
    let of_collector = frontiers(rng, &mut c, handles);
    let maps = handles == 1 || rng.chance(70);
    if maps {
        mapping(rng, &mut c);
    }
    room(rng, &mut c, of_collector + u64::from(maps), handles);
    c
}

/// A random drive with handles, and all of its mapping table in memory.
pub fn random_handles_drive(rng: &mut SplitMix64) -> DriveConfig {
    let mut c = with_own_frontiers(rng);
    let handles = 2 + rng.below(3);
    let of_collector = frontiers(rng, &mut c, handles);
    room(rng, &mut c, of_collector, handles);
    c
}

/// A drive on which host and collector fill blocks of their own.
fn with_own_frontiers(rng: &mut SplitMix64) -> DriveConfig {
    loop {
        let c = random_drive(rng);
        if c.is("allocation", "dynamic") && c.is("gc_streams", "own") {
            return c;
        }
    }
}

/// Frontiers of the collector.
fn frontiers(rng: &mut SplitMix64, c: &mut DriveConfig, handles: u64) -> u64 {
    match handles > 1 && several_handles(rng, c, handles) {
        true => handles,
        false => 1,
    }
}

/// Handles, and which writes have which. Has the collector a frontier for each?
fn several_handles(rng: &mut SplitMix64, c: &mut DriveConfig, handles: u64) -> bool {
    c.set("handles", handles);
    let isolation = rng.pick(&[None, Some("initial"), Some("persistent")]);
    choose(c, "isolation", isolation);
    let handle = |rng: &mut SplitMix64| rng.below(handles);
    if rng.chance(40) {
        let from = rng.below(100) * 4096;
        let to = from + 512 + rng.below(400) * 4096;
        let (first, second) = (handle(rng), handle(rng));
        let (stream, third) = (rng.below(3), handle(rng));
        let rows = [
            format!("{{stream={stream},handle={first}}}"),
            format!("{{from=\"{from}B\",to=\"{to}B\",handle={second}}}"),
            format!("{{stream={},handle={third}}}", (stream + 1) % 3),
        ];
        let first = rng.below(3) as usize;
        c.set("placement", format!("[{}]", rows[first..].join(",")));
    }
    isolation == Some("persistent")
}

/// Few entries, so that they leave again.
fn mapping(rng: &mut SplitMix64, c: &mut DriveConfig) {
    let table = rng.pick(&["entry", "entry", "page"]);
    c.set("mapping", table);
    let m = c.number("mapping_bytes");
    c.set("mapping_entry_bytes", m / rng.pick(&[16, 64]));
    let slot = if table == "page" { m } else { 8 };
    let bytes = |slots: u64| format!("{}B", slots * slot);
    let slots = rng.pick(&[1, 2, 5, 12, 40, 300]);
    c.set("map_cache", bytes(slots));
    let sram = rng.chance(40).then(|| bytes(rng.below(slots + 2)));
    choose(c, "map_sram", sram);
    choose(
        c,
        "t_hmb",
        rng.pick(&[None, Some("0ns"), Some("700ns"), Some("54us")]),
    );
    choose(
        c,
        "map_evict",
        rng.pick(&[None, Some("one"), Some("batch")]),
    );
    choose(c, "map_evict_depth", rng.pick(&[None, Some(1), Some(3)]));
}

/// Marks, frames and blocks that are enough for all frontiers.
fn room(rng: &mut SplitMix64, c: &mut DriveConfig, of_collector: u64, handles: u64) {
    let apart = c.number("gc_high") - c.number("gc_low");
    let low = of_collector + rng.below(2);
    c.set("gc_low", low);
    c.set("gc_high", low + apart);
    if c.has("slc_reserve") {
        c.set("slc_reserve", low + apart + rng.below(3));
    }
    c.frames = handles * c.unit_places() + rng.below(4 * c.unit_places());
    while c.device().is_err() {
        c.set("blocks_per_plane", c.number("blocks_per_plane") + 1);
    }
    c.set(
        "blocks_per_plane",
        c.number("blocks_per_plane") + rng.below(4),
    );
}
