//! Worked examples of the specification on one small device.

use super::super::collect::debt;
use super::super::config::Marks;
use super::*;

#[test]
fn p1_one_unit_on_one_die() {
    let lines = ["0 W 0 1", "0 W 1 1", "0 W 2 1", "0 W 3 1", "10000 W 4 1"];
    let four = run(DriveConfig::small(4), &lines);
    assert_eq!(done(&four), [1000, 1000, 1000, 1000, 617_484]);
    let five = run(DriveConfig::small(5), &lines);
    assert_eq!(done(&five), [1000, 1000, 1000, 1000, 11_000]);
}

#[test]
fn p2_three_pages_are_programmed_at_once() {
    let mut config = DriveConfig::small(12);
    config.set("program_pages", 3);
    config.set("pages_per_block", 9);
    let outcome = run(config, &["0 W 0 12", "10000 W 12 1"]);
    assert_eq!(done(&outcome), [1000, 3 * 16_484 + 600_000 + 1000]);
}

#[test]
fn p3_two_planes_are_programmed_at_once() {
    let mut config = DriveConfig::small(8);
    config.set("planes_per_die", 2);
    config.set("program_planes", "all");
    let outcome = run(config, &["0 W 0 8", "10000 W 8 1"]);
    assert_eq!(done(&outcome), [1000, 2 * 16_484 + 600_000 + 1000]);
    // Place 5 is slot 1 of the second page, which is in the second plane.
    let place = outcome.mapping[5].expect("it was written");
    assert_eq!(
        (place.plane, place.block, place.page, place.slot),
        (1, 0, 0, 1)
    );
}

#[test]
fn p4_frames_are_given_in_order_of_arrival() {
    let outcome = run(DriveConfig::small(4), &["0 W 0 4", "0 W 4 4", "0 W 8 4"]);
    assert_eq!(done(&outcome), [1000, 617_484, 1_233_968]);
}

#[test]
fn p5_a_request_may_be_larger_than_the_buffer() {
    let outcome = run(DriveConfig::small(4), &["0 W 0 6"]);
    assert_eq!(done(&outcome), [617_484]);
}

#[test]
fn p6_units_of_a_page_share_an_array_read() {
    let lines = ["0 R 100 1", "1000000 R 100 4", "2000000 R 100 2"];
    for (unit, first) in [(None, 54_196), (Some(40_000), 44_196)] {
        let mut model = DriveModel::new(DriveConfig::small(4)).expect("legal keys");
        model.t_read_unit = unit;
        model
            .precondition(0..model.exported(), &[])
            .expect("it fits");
        let outcome = model.run(&trace(&lines)).expect("it fits");
        assert_eq!(done(&outcome), [first, 1_066_484, 2_058_292]);
        assert_eq!(outcome.array_reads, 3);
    }
}

#[test]
fn p7_a_flush_pads_unless_the_buffer_keeps_its_data() {
    let lines = ["0 W 0 1", "10000 FLUSH"];
    let volatile = run(DriveConfig::small(8), &lines);
    assert_eq!(done(&volatile), [1000, 626_484]);
    assert_eq!(
        (volatile.padded_places, volatile.programmed_bytes),
        (3, 16_384)
    );
    assert_eq!(volatile.write_amplification(), 4.0);
    let mut config = DriveConfig::small(8);
    config.set("cache_persistence", "nvm");
    let nvm = run(config, &lines);
    assert_eq!(done(&nvm), [1000, 11_000]);
    assert_eq!((nvm.padded_places, nvm.programmed_bytes), (0, 0));
}

#[test]
fn p8_a_unit_is_held_for_so_long() {
    let mut config = DriveConfig::small(4);
    config.set("unit_hold", "200us");
    let lines = ["0 W 0 1", "50000 W 1 1", "60000 W 2 1", "210000 W 3 3"];
    let outcome = run(config, &lines);
    assert_eq!(done(&outcome), [1000, 51_000, 61_000, 817_484]);
    assert_eq!(outcome.program_ends[0].0, 816_484);
    assert_eq!(outcome.released[0], (816_484, 3));
}

#[test]
fn p9_commands_take_their_time_on_cores() {
    let lines = ["0 W 0 1", "0 W 1 1", "0 W 2 1", "0 W 3 1"];
    let mut config = DriveConfig::small(8);
    config.set("t_command", "2us");
    assert_eq!(done(&run(config.clone(), &lines)), [3000, 5000, 7000, 9000]);
    config.set("command_cores", 2);
    assert_eq!(done(&run(config, &lines)), [3000, 3000, 5000, 5000]);
}

#[test]
fn p10_the_debt_grows_with_the_ratio_and_with_the_want_of_blocks() {
    let rows = [
        (16, 5, 0.0),
        (16, 4, 2.0),
        (16, 3, 4.0),
        (16, 2, 6.0),
        (16, 1, 8.0),
        (16, 0, 10.0),
        (24, 3, 12.0),
        (31, 3, 64.0),
        (0, 3, 0.0),
    ];
    let mut config = DriveConfig::small(4);
    config.set("gc_high", 5);
    let marks = Marks::new(&config.device().expect("legal keys"), 4);
    for (valid, free, owed) in rows {
        assert_eq!(debt(4, valid, 32, free, &marks), owed, "{valid},{free}");
    }
}
