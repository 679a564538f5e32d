//! The SLC cache: worked examples of the specification, and laws on random drives.

use super::*;
use crate::reference::rng::SplitMix64;

/// The small device with three bits a cell. A block in SLC mode holds three units of four places.
pub(super) fn cached(frames: u64, keys: &[(&'static str, &str)]) -> DriveConfig {
    let mut config = DriveConfig::small(frames);
    config.set("program_pages", 3);
    config.set("pages_per_block", 9);
    config.set("t_program_slc", "100us");
    config.set("t_read_slc", "20us");
    config.set("t_erase_slc", "3ms");
    for (key, value) in keys {
        config.set(key, value);
    }
    config
}

/// Programs in SLC and in native blocks.
fn programs(o: &DriveOutcome) -> (u64, u64) {
    (o.slc_programs, o.programs - o.slc_programs)
}

/// Erases of SLC and of native blocks.
fn erases(o: &DriveOutcome) -> (u64, u64) {
    (o.slc_erases, o.erases.iter().sum::<u64>() - o.slc_erases)
}

#[test]
fn i1_an_slc_unit_is_one_page() {
    let config = cached(4, &[("cell_bits", "3"), ("slc_dynamic", "8")]);
    let o = run(config, &["0 W 0 4", "10000 W 4 4"]);
    assert_eq!(done(&o), [1000, 117_484]);
    assert_eq!((programs(&o), o.programmed_bytes), ((2, 0), 32_768));
}

#[test]
fn i3_a_full_cache_is_written_past() {
    let keys = [
        ("slc_dynamic", "1"),
        ("slc_full", "direct"),
        ("slc_idle", "off"),
    ];
    let o = run(
        cached(12, &keys),
        &["0 W 0 12", "10000 W 12 12", "20000 W 24 1"],
    );
    assert_eq!(done(&o), [1000, 350_452, 999_904]);
    assert_eq!((programs(&o), o.slc_host_places), ((3, 1), 12));
}

#[test]
fn i4_an_idle_drive_folds() {
    let lines = ["0 W 0 12", "5000000 W 12 4", "5010000 W 16 12"];
    for (idle, last) in [("1ms", 5_117_484), ("off", 5_660_452)] {
        let o = run(
            cached(12, &[("slc_dynamic", "1"), ("slc_idle", idle)]),
            &lines,
        );
        assert_eq!(done(&o), [1000, 5_001_000, last]);
    }
}

#[test]
fn i5_one_fold_is_three_reads_and_a_program() {
    let o = run(
        cached(12, &[("slc_dynamic", "1"), ("slc_idle", "1ms")]),
        &["0 W 0 12"],
    );
    assert_eq!(done(&o), [1000]);
    assert_eq!((o.folded, o.moved, o.array_reads), (12, 0, 3));
    assert_eq!((programs(&o), erases(&o)), ((3, 1), (1, 0)));
    assert_eq!(o.end, 4_760_004);
}

#[test]
fn i7_trimmed_data_cost_no_read() {
    let o = run(
        cached(12, &[("slc_dynamic", "1"), ("slc_idle", "1ms")]),
        &["0 W 0 12", "500000 T 0 12"],
    );
    assert_eq!(done(&o), [1000, 501_000]);
    assert_eq!((o.folded, o.array_reads, erases(&o)), (0, 0, (1, 0)));
    assert_eq!(o.end, 4_501_100);
}

#[test]
fn i8_overwritten_data_are_not_folded() {
    let o = run(
        cached(12, &[("slc_dynamic", "2"), ("slc_idle", "1ms")]),
        &["0 W 0 12", "500000 W 0 4"],
    );
    assert_eq!(done(&o), [1000, 501_000]);
    assert_eq!((o.folded, o.array_reads), (8, 2));
    assert_eq!((programs(&o), erases(&o)), ((4, 0), (0, 0)));
}

#[test]
fn i10_the_cache_leaves_its_reserve_alone() {
    let keys = [
        ("slc_dynamic", "8"),
        ("slc_reserve", "15"),
        ("slc_idle", "off"),
    ];
    let o = run(
        cached(12, &keys),
        &["0 W 0 12", "10000 W 12 12", "20000 W 24 1"],
    );
    assert_eq!(done(&o), [1000, 350_452, 999_904]);
    assert_eq!(programs(&o), (3, 1));
}

const SLC: u64 = 116_484;
const NATIVE: u64 = 649_452;
/// One page of four places, and an erase.
const FOLDED: u64 = 36_484;
const ERASED: u64 = 3_000_100;

#[test]
fn reads_take_the_time_of_the_mode_and_draw_no_retries() {
    let mut config = cached(12, &[("slc_blocks", "1"), ("slc_idle", "off")]);
    config.set("read_retry", "[{share=1,time=\"30us\"}]");
    let mut model = DriveModel::new(config).expect("legal keys");
    model.precondition(100..136, &[]).expect("it fits");
    // Other data take the frames.
    let lines = [
        "0 W 0 12",
        "1000000 W 24 12",
        "2000000 R 4 1",
        "3000000 R 100 1",
    ];
    let o = model.run(&trace(&lines)).expect("it fits");
    assert_eq!(done(&o), [1000, 1_001_000, 2_024_196, 3_084_196]);
}

/// The host has one static block, and waits for it.
fn waiting(keys: &[(&'static str, &str)]) -> DriveConfig {
    let always = [
        ("slc_blocks", "1"),
        ("slc_full", "fold"),
        ("slc_idle", "off"),
    ];
    cached(12, &[&always[..], keys].concat())
}

#[test]
fn the_host_waits_for_folding() {
    let o = run(waiting(&[]), &["0 W 0 12", "0 W 12 4", "0 W 16 1"]);
    // The native unit is full, and the erase follows its program.
    let erased = 3 * SLC + 3 * FOLDED + NATIVE + ERASED;
    assert_eq!(done(&o), [1000, SLC + 1000, 2 * SLC + 1000]);
    assert_eq!((o.folded, erases(&o), o.end), (12, (1, 0), erased + SLC));
}

#[test]
fn the_last_folded_block_does_not_wait_for_a_full_unit() {
    let lines = ["0 W 0 12", "400000 T 0 4", "500000 W 12 4"];
    let o = run(waiting(&[]), &lines);
    let erased = 500_000 + 2 * FOLDED + NATIVE + ERASED;
    assert_eq!((o.folded, o.padded_places), (8, 4));
    assert_eq!((programs(&o), erases(&o)), ((4, 1), (1, 0)));
    assert_eq!(o.end, erased + SLC);
}

#[test]
fn without_data_that_wait_nothing_is_folded() {
    let o = run(waiting(&[]), &["0 W 0 12"]);
    assert_eq!((o.folded, o.end), (0, 3 * SLC));
}

#[test]
fn so_many_closed_blocks_are_kept() {
    let keys = [("slc_dynamic", "all"), ("slc_idle", "1ms")];
    for (keep, folded) in [("0", 24), ("1", 12), ("2", 0)] {
        let mut config = cached(36, &keys);
        config.set("slc_keep", keep);
        let o = run(config, &["0 W 0 28"]);
        assert_eq!((o.folded, o.slc_host_places), (folded, 28), "{keep}");
    }
}

#[test]
fn a_command_stops_folding_after_a_read() {
    let config = cached(12, &[("slc_dynamic", "1"), ("slc_idle", "1ms")]);
    // Idle at 1,001,000; the read comes during the first of three, and 1 ms after its end the others follow.
    let o = run(config, &["0 W 0 12", "1010000 R 0 1"]);
    let hit = 1_011_000;
    assert_eq!(done(&o), [1000, hit]);
    assert_eq!(o.end, hit + 1_000_000 + 2 * FOLDED + NATIVE + ERASED);
}

#[test]
fn static_blocks_are_no_native_ones() {
    let mut config = cached(12, &[("slc_blocks", "2")]);
    config.unchecked_op = Some(0.5);
    let model = DriveModel::new(config).expect("legal keys");
    // 14 blocks of 36 places.
    assert_eq!((model.exported(), model.ftl.free_blocks(0)), (252, 14));
}

#[test]
fn what_is_folded_out_of_static_blocks_makes_a_debt() {
    // Eleven full blocks and one half of them dead: three of 15 native blocks are free, gc_high is 5.
    let keys = [("slc_blocks", "1"), ("slc_idle", "1ms"), ("gc_high", "5")];
    let mut model = DriveModel::new(cached(12, &keys)).expect("legal keys");
    for lpn in (0..396).chain(0..18) {
        model.ftl.write_at_once(lpn, 0).expect("it fits");
    }
    model.ftl.start_counting();
    assert_eq!(model.ftl.free_blocks(0), 3);
    // 18 of 36 places of the victim are valid; of 4 blocks between the marks 2 are missing: a place for a place.
    model.owe(0, 1);
    assert_eq!(model.collectors[0].owed, 1.0);
}

/// A static block under way is passed over by collection, and a victim in SLC mode is as large as its share.
#[test]
fn the_debt_looks_at_the_victim_of_collection() {
    let keys = [
        ("slc_blocks", "1"),
        ("slc_dynamic", "1"),
        ("slc_idle", "off"),
    ];
    let mut model = DriveModel::new(cached(12, &keys)).expect("legal keys");
    model.ftl.slc_open = true;
    for lpn in 0..24 {
        model.ftl.write_at_once(lpn, 0).expect("it fits");
    }
    let (fixed, dynamic) = (15, 0);
    assert_eq!(model.ftl.victim_with_slc(0, true), Some(fixed));
    assert_eq!(model.ftl.victim(0), Some(dynamic));
    let first = |block: usize, turn: usize| (block, block * 36 + turn);
    let to_read = |victims: &[(usize, usize)]| model.ftl.to_read(0, victims);
    assert_eq!(to_read(&[]), Some((12, 36)));
    assert_eq!(to_read(&[first(fixed, 4)]), Some((12, 36)));
    assert_eq!(
        to_read(&[first(fixed, 4), first(dynamic, 4)]),
        Some((8, 24))
    );
}

/// Drives with an SLC cache alone.
fn check(seed: u64) -> DriveOutcome {
    let mut rng = SplitMix64::new(seed);
    let mut config = random_slc_drive(&mut rng);
    config.flush_at_end = rng.chance(50);
    let mut model = DriveModel::new(config.clone()).expect("legal keys");
    let exported = model.exported() as u64;
    let device = config.device().expect("legal keys");
    assert_eq!(exported, device.logical_pages(), "seed {seed}");
    let filled = if rng.chance(50) { exported as usize } else { 0 };
    let overwrites: Vec<usize> = (0..exported * rng.below(2))
        .map(|_| rng.below(exported) as usize)
        .collect();
    let requests = random_load(&mut rng, &config, exported, 600);
    let written = model.precondition(0..filled, &overwrites);
    written.unwrap_or_else(|e| panic!("seed {seed}: {e}: {config:#?}"));
    let outcome = model.run(&requests);
    let outcome = outcome.unwrap_or_else(|e| panic!("seed {seed}: {e}: {config:#?}"));
    super::laws::hold(&config, &outcome, seed);
    outcome
}

#[test]
fn random_drives_with_a_cache_keep_the_laws_and_never_stop() {
    let (mut programs, mut folded, mut moved, mut erases) = (0, 0, 0, 0);
    for seed in 0..200 {
        let o = check(seed);
        programs += u64::from(o.slc_programs > 0);
        folded += u64::from(o.folded > 0);
        moved += u64::from(o.folded > 0 && o.moved > 0);
        erases += u64::from(o.slc_erases > 0);
    }
    let all = [programs, folded, moved, erases];
    assert!(all.iter().all(|&runs| runs > 50), "{all:?}");
}

#[test]
#[ignore = "minutes: cargo test --release -p destage-conformance --lib drive -- --ignored many"]
fn many_random_drives_with_a_cache_keep_the_laws() {
    for seed in 1_000..4_000 {
        check(seed);
    }
}
