//! Closed forms of paced collection and of suspension on the small device.

use super::*;

/// Twelve full blocks, the first half of the first one overwritten: three blocks are free, the
/// victim has 16 of 32 valid places, and debt grows by as many places as the host writes.
fn half_a_block() -> DriveConfig {
    let mut c = DriveConfig::small(8);
    c.set("gc_high", 5);
    c
}

/// Writes before the run, without collection.
fn written(model: &mut DriveModel, lpns: impl Iterator<Item = usize>) {
    for lpn in lpns {
        model.ftl.write_at_once(lpn, 0).expect("it fits");
    }
    model.ftl.start_counting();
}

fn run_full(config: DriveConfig, lines: &[&str]) -> DriveOutcome {
    let mut model = DriveModel::new(config).expect("legal keys");
    written(&mut model, (0..384).chain(0..16));
    model.run(&trace(lines)).expect("it fits")
}

const PROGRAM: u64 = 616_484;
/// One page with four valid places.
const COLLECTED: u64 = 66_484;

#[test]
fn the_collector_pays_the_debt_behind_the_program_that_made_it() {
    let o = run_full(half_a_block(), &["0 W 0 4"]);
    let ends: Vec<u64> = o.program_ends.iter().map(|e| e.0).collect();
    assert_eq!(ends, [PROGRAM, PROGRAM + COLLECTED + PROGRAM]);
    assert_eq!((o.host_units, o.moved, o.array_reads), (4, 4, 1));
}

#[test]
fn a_program_waits_while_the_debt_is_above_the_credit() {
    let mut config = half_a_block();
    config.set("gc_credit", 3);
    let o = run_full(config, &["0 W 0 4"]);
    let ends: Vec<u64> = o.program_ends.iter().map(|e| e.0).collect();
    assert_eq!(ends, [COLLECTED + PROGRAM, COLLECTED + 2 * PROGRAM]);
}

#[test]
fn the_erase_waits_for_the_programs_of_what_was_valid() {
    let mut config = half_a_block();
    config.frames = 16;
    let (low, high) = (0.0, 0.0);
    config.drain = Some(Drain {
        low,
        high,
        depth: Some(4),
    });
    // Four host units owe 16 places, the whole victim, and were queued before.
    let o = run_full(config, &["0 W 0 16"]);
    assert_eq!((o.moved, o.erases[0]), (16, 1));
    assert_eq!(o.end, 8 * PROGRAM + 4 * COLLECTED + 100 + 3_000_000);
}

/// D-17, example 2.
#[test]
fn the_price_of_writes_follows_the_debt() {
    let mut config = half_a_block();
    config.set("write_pace", "{host=\"2us\",moved=\"0ns\",window=1}");
    let mut model = DriveModel::new(config).expect("legal keys");
    model.debt.units = 2;
    let rows = [(16, 3), (16, 3), (16, 3), (24, 4), (31, 1), (0, 2)];
    let charged = rows.map(|(v, free)| {
        let q = model.quotient(v, 32, free);
        model.debt.add(q);
        (q, model.debt.mean())
    });
    let expected = [
        (65_536, 32_768),
        (65_536, 49_152),
        (65_536, 57_344),
        (98_304, 77_824),
        (2_097_152, 1_087_488),
        (0, 543_744),
    ];
    assert_eq!(charged, expected);
}

#[test]
fn a_victim_without_valid_places_is_erased_at_once() {
    let mut model = DriveModel::new(half_a_block()).expect("legal keys");
    written(&mut model, (0..384).chain(0..32));
    let o = model.run(&trace(&["0 W 32 4"])).expect("it fits");
    // The host's program was queued first.
    assert_eq!(
        (o.moved, o.erases[0], o.end),
        (0, 1, PROGRAM + 100 + 3_000_000)
    );
}

#[test]
fn without_a_victim_there_is_no_debt() {
    let mut model = DriveModel::new(half_a_block()).expect("legal keys");
    model.precondition(0..384, &[]).expect("it fits");
    model.collectors[0].owed = 7.0;
    model.charge(0, 4);
    assert_eq!(model.collectors[0].owed, 0.0);
}

#[test]
fn the_debt_looks_at_what_is_still_to_be_read_of_a_victim() {
    let mut model = DriveModel::new(half_a_block()).expect("legal keys");
    written(&mut model, (0..384).chain(0..16));
    model.charge(0, 4);
    assert_eq!(model.collectors[0].owed, 4.0);
    // The first 16 places are passed and a page is being read: all 12 places left are valid.
    model.step_collectors();
    model.charge(0, 4);
    assert_eq!(model.collectors[0].owed, 4.0 + 4.0 * 16.0);
}

#[test]
fn a_read_suspends_a_program() {
    let mut config = half_a_block();
    config.set("suspend", "program+erase");
    config.set("t_suspend", "5us");
    config.set("t_resume", "7us");
    config.set("gc_high", 2);
    let o = run_full(config.clone(), &["0 W 0 4", "100000 R 100 1"]);
    let read = 105_000 + 50_100 + 4_096;
    assert_eq!(done(&o), [1_000, read]);
    assert_eq!(o.program_ends[0].0, read + 7_000 + (PROGRAM - 100_000));
    assert_eq!(o.suspensions, 1);
    // A read that comes during the transfer waits for the array to start.
    let o = run_full(config, &["0 W 0 4", "10000 R 100 1"]);
    assert_eq!(done(&o), [1_000, 16_484 + 5_000 + 50_100 + 4_096]);
}

#[test]
fn a_read_may_take_longer_by_its_page_and_by_retries() {
    let mut config = half_a_block();
    config.set("t_read", "40us,90us");
    // LPN 100 is on page 1 of its block, LPN 104 on page 2.
    let o = run_full(config.clone(), &["0 R 100 1", "1000000 R 104 1"]);
    assert_eq!(done(&o), [94_196, 1_044_196]);
    config.set("t_read", "50us");
    let steps = "[{share=1,time=\"20us\"},{share=0,time=\"30us\"}]";
    config.set("read_retry", steps);
    let o = run_full(config, &["0 R 100 1"]);
    assert_eq!(done(&o), [74_196]);
}

#[test]
fn reads_beside_a_suspended_program_have_retries_of_their_own() {
    let mut config = half_a_block();
    config.set("suspend", "program+erase");
    config.set("t_suspend", "5us");
    config.set("t_resume", "7us");
    config.set("gc_high", 2);
    config.set("read_retry_suspended", "[{share=1,time=\"20us\"}]");
    let requests = ["0 W 0 4", "100000 R 100 1", "5000000 R 200 1"];
    let o = run_full(config.clone(), &requests);
    let beside = 105_000 + 50_100 + 4_096;
    let alone = 5_000_000 + 50_100 + 4_096;
    assert_eq!(done(&o), [1_000, beside + 20_000, alone]);
    // Without steps of their own they have those of all reads.
    config.set("read_retry", "[{share=1,time=\"30us\"}]");
    let o = run_full(config.clone(), &requests);
    assert_eq!(done(&o), [1_000, beside + 20_000, alone + 30_000]);
    config.set("read_retry_suspended", "off");
    let o = run_full(config, &requests);
    assert_eq!(done(&o), [1_000, beside + 30_000, alone + 30_000]);
}

#[test]
fn programs_take_their_time_by_page() {
    let mut config = DriveConfig::small(4);
    config.set("t_program", "300us,900us");
    let o = run(config, &["0 W 0 4", "5000000 W 4 4"]);
    let ends: Vec<u64> = o.program_ends.iter().map(|e| e.0).collect();
    assert_eq!(ends, [316_484, 5_916_484]);
}
