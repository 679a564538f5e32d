//! A cached mapping (S-2) and handles (S-3): a read of one place takes 54,196 ns, a unit of one page 616,484 ns. The cases are
//! those of the specification.

use super::*;
use destage_device::nand::OpKind;
use destage_types::rng::SplitMix64;

fn mapped(frames: u32, sets: &[&str], requests: &[(u64, Op, u64, u32)]) -> Run {
    let base = [&ROOM[..], &["precondition.fill=1"]].concat();
    run("drain(fifo)", frames, &[&base[..], sets].concat(), requests)
}

/// Blocks for one open block more.
const ROOM: [&str; 4] = ["blocks_per_plane=32", "op=0.5", "gc_low=2", "gc_high=4"];
const EIGHT: [&str; 3] = ["mapping=entry", "mapping_entry_bytes=64", "map_cache=64B"];
const FOUR: [&str; 3] = ["mapping=entry", "mapping_entry_bytes=64", "map_cache=32B"];
const PAGE: [&str; 3] = ["mapping=page", "mapping_entry_bytes=64", "map_cache=4KiB"];

fn counts(run: &Run) -> [u64; 6] {
    let c = run.cache.flash().traffic();
    [
        c.map_hits,
        c.map_misses,
        c.map_joined,
        c.map_loads,
        c.map_evict_reads,
        c.map_evict_places,
    ]
}

#[test]
fn i11_load_hit_and_another_entry() {
    let reads = [
        (0, Read, 100, 1),
        (1_000_000, Read, 100, 1),
        (2_000_000, Read, 101, 1),
    ];
    let run = mapped(4, &EIGHT, &reads);
    assert_eq!(run.done, [108_392, 1_054_196, 2_108_392]);
    assert_eq!(counts(&run), [1, 2, 0, 2, 0, 0]);
    let run = mapped(4, &PAGE, &reads);
    assert_eq!(run.done, [108_392, 1_054_196, 2_054_196]);
    assert_eq!(counts(&run), [2, 1, 0, 1, 0, 0]);
}

#[test]
fn i12_units_of_a_request_share_the_load() {
    let run = mapped(4, &EIGHT, &[(0, Read, 100, 4)]);
    assert_eq!(run.done, [120_680]);
    assert_eq!(counts(&run), [0, 4, 3, 1, 0, 0]);
}

#[test]
fn i14_a_second_request_joins() {
    let run = mapped(4, &EIGHT, &[(0, Read, 100, 1), (10_000, Read, 101, 1)]);
    assert_eq!(run.done, [108_392, 162_588]);
    assert_eq!(counts(&run), [0, 2, 1, 1, 0, 0]);
}

#[test]
fn i15_the_unit_of_a_write_that_misses_waits() {
    let writes = [(0, Write, 0, 4), (10_000, Write, 4, 1)];
    let run = mapped(4, &EIGHT, &writes);
    assert_eq!(run.done, [1_000, 671_680]);
    assert_eq!(counts(&run)[3], 2);
    assert_eq!(mapped(4, &[], &writes).done, [1_000, 617_484]);
}

#[test]
fn i16_a_write_that_hits() {
    let requests = [
        (0, Read, 0, 4),
        (1_000_000, Write, 0, 4),
        (1_010_000, Write, 4, 1),
    ];
    let run = mapped(4, &EIGHT, &requests);
    assert_eq!(run.done, [120_680, 1_001_000, 1_617_484]);
    assert_eq!(counts(&run)[0], 4);
}

#[test]
fn i17_a_dirty_entry_leaves() {
    let requests = [
        (0, Write, 0, 4),
        (2_000_000, Read, 100, 1),
        (3_000_000, Read, 101, 1),
    ];
    let run = mapped(4, &[&FOUR[..], &["map_evict=one"]].concat(), &requests);
    assert_eq!(run.done, [1_000, 2_162_588, 3_109_392]);
    assert_eq!(counts(&run)[3..], [3, 1, 2]);
    let run = mapped(4, &[&FOUR[..], &["map_evict=batch"]].concat(), &requests);
    assert_eq!(run.done, [1_000, 2_162_588, 3_108_392]);
    assert_eq!(counts(&run)[4..], [1, 1]);
}

#[test]
fn i19_a_full_unit_of_translation_pages_is_queued_before_the_load() {
    let requests = [
        (0, Write, 0, 4),
        (2_000_000, Write, 64, 4),
        (4_000_000, Write, 128, 4),
        (6_000_000, Write, 192, 4),
        (10_000_000, Read, 300, 1),
    ];
    let run = mapped(4, &PAGE, &requests);
    assert_eq!(
        run.done,
        [1_000, 2_001_000, 4_001_000, 6_001_000, 10_724_876]
    );
    assert_eq!(counts(&run)[5], 4);
}

/// Mapping units from 100 on have handle 1.
const APART: [&str; 2] = [
    "handles=2",
    "placement=[{ from=\"400KiB\", to=\"1MiB\", handle=1 }]",
];

#[test]
fn i21_each_handle_has_its_own_open_unit() {
    let writes = [
        (0, Write, 0, 3),
        (0, Write, 100, 1),
        (10_000, Write, 3, 1),
        (20_000, Write, 4, 1),
    ];
    let sets = [&APART[..], &ROOM].concat();
    assert_eq!(done(5, &sets, &writes), [1_000, 1_000, 11_000, 627_484]);
    assert_eq!(done(5, &[], &writes), [1_000, 1_000, 11_000, 617_484]);
}

#[test]
fn i25_an_slc_unit_waits_for_its_translation() {
    let sets = [
        &slc::TLC[..],
        &EIGHT,
        &["slc_dynamic=8", "precondition.fill=0.5"],
    ]
    .concat();
    let run = mapped(4, &sets, &[(0, Write, 0, 4), (10_000, Write, 4, 4)]);
    assert_eq!(run.done, [1_000, 171_680]);
}

#[test]
fn i26_each_handle_opens_its_own_slc_block() {
    let sets = [&slc::TLC[..], &APART, &["slc_dynamic=1", "slc_idle=off"]].concat();
    let writes = [(0, Write, 0, 4), (0, Write, 100, 4), (10_000, Write, 4, 1)];
    let run = run("drain(fifo)", 8, &sets, &writes);
    assert_eq!(run.done, [1_000, 1_000, 117_484]);
    let c = run.cache.flash().traffic();
    assert_eq!((c.slc_programs, c.slc_host_places), (1, 5));
}

#[test]
fn i24_parity_follows_a_stripe() {
    let writes: Vec<_> = (0..5)
        .map(|i| (0, Write, 4 * i, if i < 4 { 4 } else { 1 }))
        .collect();
    let run = run("drain(fifo)", 4, &["parity=3"], &writes);
    assert_eq!(run.done, [1_000, 617_484, 1_233_968, 1_850_452, 3_083_420]);
    assert_eq!(run.cache.flash().traffic().parity_places, 4);
    let off = done(4, &["parity=0"], &writes);
    assert_eq!(off, [1_000, 617_484, 1_233_968, 1_850_452, 2_466_936]);
}

#[test]
fn a_power_cut_leaves_no_unit_that_waits_for_a_translation() {
    let sets = [&ROOM[..], &FOUR, &["precondition.fill=1"]].concat();
    let writes: Vec<_> = (0..40)
        .map(|i| (i * 1_000, Write, i * 70 % 390, 4))
        .collect();
    let mut run = run_until("drain(fifo)", 16, &sets, &writes, false);
    let drive = run.cache.flash_mut();
    let untranslated = drive.units.rows().any(|(_, unit)| unit.untranslated > 0);
    assert!(untranslated, "the cut comes while units wait");
    drive.power_ends();
    while drive.next_event() != Nanos::NEVER {
        drive.step(drive.next_event());
    }
    assert_eq!(drive.units.rows().count(), 0);
}

#[test]
fn handles_that_write_in_circles_leave_nothing_to_move() {
    let base = [
        "blocks_per_plane=40",
        "op=0.3",
        "gc_low=2",
        "gc_high=4",
        "precondition.fill=1",
    ];
    let apart = [
        "handles=2",
        "placement=[{ from=\"1792KiB\", to=\"1GiB\", handle=1 }]",
    ];
    // Two circles of 448 mapping units, one three times as fast as the other.
    let write = |i: u64| match i % 4 {
        3 => 448 + i % 448 / 4 * 4,
        at => (i / 4 * 3 + at) * 4 % 448,
    };
    let writes: Vec<_> = (0..1_500)
        .map(|i| (i * 3_000_000, Write, write(i), 4))
        .collect();
    let moved = |sets: &[&str]| {
        let run = run("drain(fifo)", 16, &[&base[..], sets].concat(), &writes);
        run.cache.flash().traffic().flash_writes_gc
    };
    assert_eq!(moved(&apart), 0);
    assert!(moved(&[]) > 100, "{}", moved(&[]));
}

/// Overwrites and reads that come faster than the drive serves them: so many requests of up to six mapping units.
fn overload(seed: u64, units: u64, requests: u64) -> Vec<(u64, Op, u64, u32)> {
    let mut rng = SplitMix64::new(seed);
    let mut request = |at| {
        let op = match rng.below(10) {
            0..=5 => Write,
            6..=8 => Read,
            _ => Trim,
        };
        (
            at * 50_000,
            op,
            rng.below(units - 6),
            1 + rng.below(6) as u32,
        )
    };
    (0..requests).map(&mut request).collect()
}

#[test]
fn every_request_is_served_and_every_program_has_a_cause() {
    let mappings: [&[&str]; 4] = [&[], &EIGHT, &FOUR, &PAGE];
    let handles: [&[&str]; 4] = [
        &["parity=5"],
        &["gc_low=2"],
        &[
            "handles=2",
            "placement=[{ from=\"400KiB\", to=\"1MiB\", handle=1 }]",
        ],
        &[
            "handles=3",
            "isolation=persistent",
            "placement=[{ from=\"0B\", to=\"100KiB\", handle=2 }]",
        ],
    ];
    for (seed, (mapping, handles)) in (0..).zip(
        mappings
            .iter()
            .flat_map(|mapping| handles.iter().map(move |handles| (mapping, handles))),
    ) {
        let base = [
            "blocks_per_plane=40",
            "op=0.6",
            "gc_low=4",
            "gc_high=7",
            "precondition.fill=1",
            "precondition.overwrite=1",
            "dies_per_chip=2",
        ];
        let sets = [&base[..], mapping, handles, &["gc_low=4"]].concat();
        let requests = overload(seed, 800, 3_000);
        let run = run("drain(lru)", 16, &sets, &requests);
        assert_eq!(run.done.len(), 3_000, "{sets:?}");
        let c = run.cache.counts();
        let programs = run.cache.flash().core.nand.issued();
        let places: u64 = programs
            .iter()
            .map(|chip| chip.of(OpKind::Program))
            .sum::<u64>()
            * 4;
        let open = 4 * 6;
        assert!(
            places <= c.flash_programs() && places + open > c.flash_programs(),
            "{places} {}",
            c.flash_programs()
        );
    }
}
