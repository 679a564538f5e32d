//! Random small drives under random loads.

use super::*;
use crate::reference::rng::SplitMix64;

/// A drive whose data fit.
pub fn config(rng: &mut SplitMix64) -> DriveConfig {
    let mut c = DriveConfig::small(0);
    (c.channels, c.chips_per_channel) = (1 + rng.below(2), 1 + rng.below(2));
    c.planes_per_die = 1 + rng.below(2);
    c.mapping_bytes = rng.pick(&[4096, 8192, 16_384]);
    c.program_pages = 1 + rng.below(3);
    c.pages_per_block = c.program_pages * (2 + rng.below(4));
    c.program_planes = rng.pick(&[ProgramPlanes::One, ProgramPlanes::All]);
    let spans = [Span::Die, Span::Die, Span::Plane, Span::Drive];
    c.gc_unit = rng.pick(&spans);
    if c.program_planes == ProgramPlanes::All && c.gc_unit == Span::Plane {
        c.gc_unit = Span::Die;
    }
    c.frontier = c.gc_unit;
    c.allocation_static = c.gc_unit != Span::Drive && rng.chance(30);
    c.gc_streams = rng.pick(&[GcStreams::Own, GcStreams::Shared]);
    c.gc_hold = rng.chance(20);
    c.gc_low = 1 + rng.below(2);
    c.gc_high = c.gc_low + if c.gc_hold { 4 } else { 1 + rng.below(3) };
    c.op = 300_000 + 50_000 * rng.below(5);
    // Reserve, two open blocks, and one block of garbage beside the exported places.
    let spare = c.gc_high + 5;
    c.blocks_per_plane = (spare * 1_000_000).div_ceil(c.op) + rng.below(4);
    c.queue_depth = rng.pick(&[None, Some(1), Some(4)]);
    c.command_slots = rng.pick(&[None, Some(2), Some(16)]);
    c.command_fifo = rng.chance(30);
    c.suspend = rng.pick(&[Suspend::Off, Suspend::Erase, Suspend::ProgramErase]);
    (c.t_suspend, c.t_resume) = (rng.below(2) * 5_000, rng.below(2) * 7_000);
    c.read_first = rng.chance(50);
    c.t_command = rng.below(2) * 1_500;
    c.link_write = rng.pick(&[None, Some(1_500_000_000)]);
    c.link_read = rng.pick(&[None, Some(3_000_000_000)]);
    let rate = WritePrice::of_rate(30_000, rng.below(8));
    c.write_pace = rng.pick(&[None, Some(rate)]);
    c.unit_hold = rng.pick(&[None, Some(400_000)]);
    buffer(rng, &mut c);
    c
}

fn buffer(rng: &mut SplitMix64, c: &mut DriveConfig) {
    let open = if c.allocation_static {
        c.dies() * c.planes_per_die
    } else {
        1
    };
    c.frames = open * c.unit_places() + rng.below(4 * c.unit_places());
    c.scheme = rng
        .pick(&["fifo", "lru", "wow(group=4)", "cscan(group=3)"])
        .to_owned();
    let marks = rng.pick(&[(0.0, 0.0), (0.25, 0.75), (0.5, 0.5)]);
    let depth = rng.pick(&[None, Some(1), Some(2)]);
    let (low, high) = marks;
    c.drain = rng.chance(80).then_some(Drain { low, high, depth });
    c.rewrite_in_place = rng.chance(30);
    c.release_at_transfer_end = rng.chance(30);
    c.read_allocation = rng.chance(50);
    c.nvm = rng.chance(30);
    c.flush_at_end = rng.chance(50);
    c.seed = rng.next_u64();
}

/// Requests over a drive: mostly writes of few units, some partial, with FUA, FLUSH or TRIM.
pub fn load(rng: &mut SplitMix64, c: &DriveConfig, exported: u64, count: u64) -> Vec<DriveRequest> {
    let sectors = exported * c.mapping_bytes / 512;
    let spread = rng.pick(&[2_000, 60_000, 300_000]);
    let region = rng.pick(&[sectors, sectors.div_ceil(4)]);
    let mut at = 0;
    let mut requests = Vec::new();
    for _ in 0..count {
        at += rng.below(spread);
        let op = match rng.below(100) {
            0..25 => DriveOp::Read,
            25..28 => DriveOp::Flush,
            28..32 => DriveOp::WriteFua,
            32..35 => DriveOp::Trim,
            _ => DriveOp::Write,
        };
        let unit = c.mapping_bytes / 512;
        let (grain, most) = if rng.chance(80) {
            (unit, 4)
        } else {
            (1, 3 * unit)
        };
        let first = rng.below(region) / grain * grain;
        let length = (grain * (1 + rng.below(most))).min(sectors - first);
        requests.push(DriveRequest {
            at,
            op,
            offset: first * 512,
            bytes: length * 512,
            stream: rng.below(3) as usize,
            preflush: matches!(op, DriveOp::Write | DriveOp::WriteFua) && rng.chance(4),
        });
    }
    requests
}

/// All runs of a seed; the configuration stands in the message of a failure.
fn check(seed: u64) {
    let mut rng = SplitMix64::new(seed);
    let config = config(&mut rng);
    let mut model = DriveModel::new(config.clone()).expect("legal keys");
    let exported = model.exported() as u64;
    let filled = rng.chance(60);
    if filled {
        let filled = model.precondition(0..exported as usize);
        filled.unwrap_or_else(|e| panic!("seed {seed}: {e}: {config:#?}"));
    }
    let requests = load(&mut rng, &config, exported, 600);
    let mut again = DriveModel::new(config.clone()).expect("legal keys");
    if filled {
        again.precondition(0..exported as usize).expect("it fits");
    }
    let outcome = model.run(&requests);
    let outcome = outcome.unwrap_or_else(|e| panic!("seed {seed}: {e}: {config:#?}"));
    assert_eq!(again.run(&requests).as_ref(), Ok(&outcome), "seed {seed}");
    super::laws::hold(&config, &outcome, seed);
}

#[test]
fn random_drives_keep_the_laws_and_never_stop() {
    for seed in 0..400 {
        check(seed);
    }
}

#[test]
#[ignore = "minutes: cargo test --release -p destage-conformance --lib drive -- --ignored many"]
fn many_random_drives_keep_the_laws() {
    for seed in 1_000..4_000 {
        check(seed);
    }
}
