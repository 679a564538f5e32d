//! Random small drives whose data fit, and random loads.

use super::config::{Drain, DriveConfig};
use super::outcome::{DriveOp, DriveRequest};
use crate::reference::rng::SplitMix64;

/// A random drive under a simple scheme.
pub fn random_drive(rng: &mut SplitMix64) -> DriveConfig {
    let mut c = DriveConfig::small(0);
    c.unchecked_op = None;
    for key in ["channels", "chips_per_channel"] {
        c.set(key, 1 + rng.below(2));
    }
    for key in ["dies_per_chip", "planes_per_die"] {
        c.set(key, 1 + rng.below(2));
    }
    let mut order = ["channel", "chip", "die", "plane"];
    for last in (1..4).rev() {
        order.swap(last, rng.below(last as u64 + 1) as usize);
    }
    c.set("allocation_order", order.join(","));
    c.set("mapping_bytes", rng.pick(&[4096, 8192, 16_384]));
    let pages = 1 + rng.below(3);
    c.set("program_pages", pages);
    c.set("pages_per_block", pages * (2 + rng.below(4)));
    blocks(rng, &mut c);
    c.set("suspend", rng.pick(&["off", "erase", "program+erase"]));
    c.set("t_suspend", format!("{}us", rng.below(2) * 5));
    c.set("t_resume", format!("{}us", rng.below(2) * 7));
    c.set("queue", if rng.chance(50) { "read-first" } else { "fifo" });
    c.frames = c.unit_places() + rng.below(4 * c.unit_places());
    let schemes = ["fifo", "lru", "wow(group=4)", "cscan(group=3)"];
    c.scheme = rng.pick(&schemes).to_owned();
    let (low, high) = rng.pick(&[(0.0, 0.0), (0.25, 0.75), (0.5, 0.5)]);
    let depth = rng.pick(&[None, Some(1), Some(2)]);
    c.drain = rng.chance(80).then_some(Drain { low, high, depth });
    if rng.chance(30) {
        c.set("frame_release", "transfer_end");
    }
    host_side(rng, &mut c);
    buffer(rng, &mut c);
    reads(rng, &mut c);
    // Draws of their own, so that loads stay as they are.
    let mut rng = SplitMix64::new(!c.seed);
    if may_have_slc(&c) && rng.chance(40) {
        slc(&mut rng, &mut c);
    }
    c
}

/// A random drive with an SLC cache.
pub fn random_slc_drive(rng: &mut SplitMix64) -> DriveConfig {
    loop {
        let mut c = random_drive(rng);
        if !may_have_slc(&c) {
            continue;
        }
        if !c.has("slc_blocks") {
            slc(&mut SplitMix64::new(!c.seed), &mut c);
        }
        return c;
    }
}

/// Bits of a native cell with which a block in SLC mode has whole units.
fn cell_bits(c: &DriveConfig) -> Vec<u64> {
    let (units, w) = (c.number("pages_per_block"), c.number("program_pages"));
    let bits = if w > 1 { w..=w } else { 2..=5 };
    bits.filter(|b| units.is_multiple_of(w * b)).collect()
}

fn may_have_slc(c: &DriveConfig) -> bool {
    let greedy = c.is("gc_policy", "greedy") && c.is("gc_streams", "own");
    greedy && c.is("allocation", "dynamic") && !cell_bits(c).is_empty()
}

/// The keys of an SLC cache, and blocks for it.
fn slc(rng: &mut SplitMix64, c: &mut DriveConfig) {
    let bits = rng.pick(&cell_bits(c));
    let of_native = c.number("program_pages") > 1 && rng.chance(50);
    choose(c, "cell_bits", (!of_native).then_some(bits));
    let planes = c.number("planes_per_die");
    // Static blocks are as many in each plane of a GC unit.
    let pools = match c.is("gc_unit", "die") && c.is("program_planes", "one") {
        true => planes,
        false => 1,
    };
    let fixed = pools * rng.below(4).div_ceil(pools);
    let dynamic = rng.pick(&["0", "1", "2", "3", "4", "all"]);
    let dynamic = if fixed == 0 && dynamic == "0" {
        "all"
    } else {
        dynamic
    };
    c.set("slc_blocks", fixed);
    c.set("slc_dynamic", dynamic);
    let high = c.number("gc_high");
    choose(
        c,
        "slc_reserve",
        rng.pick(&[None, Some(high), Some(high + 1), Some(high + 3)]),
    );
    choose(
        c,
        "slc_full",
        rng.pick(&[None, Some("direct"), Some("fold"), Some("fold")]),
    );
    let idle = rng.pick(&["off", "100us", "300us", "1ms", "5ms"]);
    c.set("slc_idle", idle);
    choose(c, "slc_keep", rng.pick(&[None, Some(0), Some(1), Some(2)]));
    choose(
        c,
        "t_program_slc",
        rng.pick(&[None, Some("100us"), Some("333ns")]),
    );
    choose(
        c,
        "t_read_slc",
        rng.pick(&[None, Some("20us"), Some("7001ns")]),
    );
    choose(
        c,
        "t_erase_slc",
        rng.pick(&[None, Some("1ms"), Some("5ms")]),
    );
    let more = rng.below(8);
    let blocks = c.number("blocks_per_plane") + fixed / pools + more;
    c.set("blocks_per_plane", blocks);
}

/// Gives a key a value, or none.
pub(super) fn choose<T: std::fmt::Display>(
    c: &mut DriveConfig,
    key: &'static str,
    value: Option<T>,
) {
    if let Some(value) = value {
        c.set(key, value);
    }
}

/// Frontiers, collection, and as many blocks as they need.
fn blocks(rng: &mut SplitMix64, c: &mut DriveConfig) {
    let all = rng.pick(&["one", "all"]);
    c.set("program_planes", all);
    let drawn = rng.pick(&["die", "plane"]);
    let mut frontier = if all == "all" { "die" } else { drawn };
    let mut unit = frontier;
    if rng.chance(30) {
        unit = "drive";
        frontier = if all == "all" { "die" } else { "plane" };
    }
    c.set("gc_unit", unit);
    c.set("frontier", frontier);
    c.set("gc_streams", rng.pick(&["own", "shared"]));
    c.set("gc_policy", rng.pick(&["greedy", "greedy", "cost-benefit"]));
    let low = 1 + rng.below(2);
    let mut high = low + 1 + rng.below(3);
    c.set("gc_low", low);
    c.set("gc_ratio_max", rng.pick(&[1, 16]));
    choose(c, "gc_credit", rng.pick(&[None, Some(1), Some(30)]));
    choose(c, "gc_burst", rng.pick(&[None, Some(1), Some(100)]));
    let op = 300_000 + 50_000 * rng.below(5);
    c.set("op", op as f64 / 1e6);
    let hold = rng.chance(30);
    high += if hold { 3 } else { 0 };
    c.set("gc_hold", hold);
    c.set("gc_high", high);
    // The reserve, two open blocks, and one block of garbage beside the exported places.
    let spare = high + 5;
    let blocks = (spare * 1_000_000).div_ceil(op) + rng.below(4);
    c.set("blocks_per_plane", blocks);
}

fn buffer(rng: &mut SplitMix64, c: &mut DriveConfig) {
    if !c.is("gc_unit", "drive") && rng.chance(40) {
        c.set("allocation", "static");
        let planes = match c.is("frontier", "plane") {
            true => c.number("planes_per_die"),
            false => 1,
        };
        c.frames += (c.dies() * planes - 1) * c.unit_places();
    }
    c.read_allocation = rng.chance(50);
    choose(
        c,
        "unit_hold",
        rng.pick(&[None, Some("50us"), Some("400us")]),
    );
    choose(c, "rewrite", rng.chance(50).then_some("in_place"));
    choose(c, "cache_persistence", rng.chance(20).then_some("nvm"));
}

/// Times of array reads, and pauses.
fn reads(rng: &mut SplitMix64, c: &mut DriveConfig) {
    if rng.chance(50) {
        c.set("t_read", rng.pick(&["46us,70us", "46us,70us,115us"]));
    }
    let step = |share, time| format!("{{share={share},time=\"{time}us\"}}");
    if rng.chance(40) {
        let mut steps = vec![step(0.5, 30), step(0.25, 40), step(0.8, 100)];
        steps.truncate(1 + rng.below(3) as usize);
        c.set("read_retry", format!("[{}]", steps.join(",")));
    }
    // Draws of its own: tests count on what the others give for a seed.
    if SplitMix64::new(rng.clone().next_u64()).chance(30) {
        let steps = format!("[{},{}]", step(0.6, 25), step(0.4, 60));
        c.set("read_retry_suspended", steps);
    }
    if rng.chance(30) {
        let every = 1 + rng.below(6 * c.unit_places());
        let time = rng.pick(&["1us", "80us", "1500us"]);
        let waits = if rng.chance(50) { "put_off" } else { "begin" };
        let pause = format!("every={every},time=\"{time}\",while_writes_wait=\"{waits}\"");
        c.set("program_pause", format!("{{{pause}}}"));
    }
    if rng.chance(15) {
        // Phases of no length: an instant takes several rounds.
        c.set("t_cmd", "0ns");
        c.set("t_byte", rng.pick(&["0ps", "1ps"]));
    }
    c.seed = rng.next_u64();
}

fn host_side(rng: &mut SplitMix64, c: &mut DriveConfig) {
    c.queue_depth = rng.pick(&[None, Some(1), Some(4)]);
    choose(c, "command_slots", rng.pick(&[None, Some(2), Some(16)]));
    choose(c, "command_order", rng.chance(30).then_some("fifo"));
    choose(c, "t_command", (rng.below(2) > 0).then_some("1500ns"));
    c.set("command_cores", 1 + rng.below(2));
    let write = rng.pick(&["", "write=\"1500MB/s\","]);
    let read = rng.pick(&["", "read=\"3GB/s\""]);
    let link = format!("{{{}}}", format!("{write}{read}").trim_end_matches(','));
    choose(c, "host_link", (link != "{}").then_some(link));
    let moved = rng.pick(&[0, 500, 40_000]);
    let host = rng.pick(&[0, 2_000, 33_334]);
    let most = rng.chance(40).then(|| format!("{}ns", host + 20_000));
    let most = most.unwrap_or("off".to_owned());
    let host = if moved == 0 { host.max(1) } else { host };
    let window = 1 + rng.below(3);
    let burst = 1 + rng.below(8);
    if rng.chance(60) {
        let price = format!("host=\"{host}ns\",moved=\"{moved}ns\",most=\"{most}\"");
        c.set("write_pace", format!("{{{price},window={window}}}"));
        c.set("write_pace_burst", burst);
    }
}

/// Requests over a drive: mostly writes of few units, some partial, some with FUA or a preflush, and some FLUSH and TRIM.
pub fn random_load(
    rng: &mut SplitMix64,
    c: &DriveConfig,
    exported: u64,
    count: u64,
) -> Vec<DriveRequest> {
    let unit = c.number("mapping_bytes") / 512;
    let sectors = exported * unit;
    let spread = rng.pick(&[2_000, 60_000, 300_000]);
    let region = rng.pick(&[sectors, sectors.div_ceil(4)]);
    let mut at = 0;
    let mut requests = Vec::new();
    for _ in 0..count {
        at += rng.below(spread);
        let op = match rng.below(100) {
            0..25 => DriveOp::Read,
            25..28 => DriveOp::Flush,
            28..31 => DriveOp::Trim,
            31..36 => DriveOp::WriteFua,
            _ => DriveOp::Write,
        };
        let (grain, most) = if rng.chance(80) {
            (unit, 4)
        } else {
            (1, 3 * unit)
        };
        let first = rng.below(region) / grain * grain;
        let length = (grain * (1 + rng.below(most))).min(sectors - first);
        let mut prev = [None; 4];
        if c.cac.is_some() && matches!(op, DriveOp::Write | DriveOp::WriteFua) && rng.chance(60) {
            // Mostly what was written lately.
            let recent = requests.iter().rev().take(40);
            let written = recent.filter(|r: &&DriveRequest| r.is_write());
            let written: Vec<u64> = written.map(|r| r.offset / 512 / unit).collect();
            prev = prev.map(|_| match rng.below(10) {
                0..3 => None,
                3 => Some(rng.below(exported)),
                _ if written.is_empty() => None,
                _ => Some((rng.pick(&written) + rng.below(3)).min(exported - 1)),
            });
        }
        requests.push(DriveRequest {
            at,
            op,
            offset: first * 512,
            bytes: length * 512,
            stream: rng.below(3) as usize,
            preflush: matches!(op, DriveOp::Write | DriveOp::WriteFua) && rng.chance(4),
            prev,
            atomic: c.cac.is_some() && rng.chance(30),
        });
    }
    requests
}
