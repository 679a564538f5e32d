//! Closed forms of the host's side.

use super::*;

#[test]
fn writes_are_let_in_at_the_pace_after_a_burst() {
    let mut config = DriveConfig::small(16);
    config.set("write_pace", 1_000_000);
    config.set("write_pace_burst", 2);
    let lines = ["0 W 0 1", "0 W 1 1", "0 W 2 1", "0 W 3 1", "0 W 4 1"];
    assert_eq!(
        done(&run(config, &lines)),
        [1_000, 1_000, 1_000, 2_000, 3_000]
    );
}

/// D-17, examples 1 and 3.
#[test]
fn writes_are_let_in_at_the_price_of_what_is_moved() {
    let admitted = |model: DriveModel, lines: &[&str]| -> Vec<u64> {
        let o = model.run(&trace(lines)).expect("it fits");
        done(&o).into_iter().map(|at| at - 1_000).collect()
    };
    let model = |most: &str| {
        let mut config = DriveConfig::small(64);
        let price = "host=\"2us\",moved=\"3us\",window=2";
        config.set("write_pace", format!("{{{price},most=\"{most}\"}}"));
        DriveModel::new(config).expect("legal keys")
    };
    let seven = ["0 W 0 1"; 7];
    let at = admitted(model("off"), &seven);
    assert_eq!(at, [0, 0, 0, 0, 0, 2_000, 4_000]);
    for (most, expected) in [("off", [131_500, 279_500]), ("4us", [134_000, 262_000])] {
        let mut model = model(most);
        model.host.paid = 150_000;
        model.debt.sum = 57_344 * model.debt.units;
        // Nothing is queued before the second write is paced.
        model.config.drain = None;
        let at = admitted(model, &["100000 W 0 32", "100000 W 32 1"]);
        assert_eq!(at, expected);
    }
}

#[test]
fn a_fifo_holds_what_stands_behind_a_write_without_a_frame() {
    let lines = ["0 W 0 4", "1 W 4 1", "2 R 200 1"];
    let free = run(DriveConfig::small(4), &lines);
    assert_eq!(done(&free), [1_000, 617_484, 1_002]);
    let mut config = DriveConfig::small(4);
    config.set("command_order", "fifo");
    assert_eq!(done(&run(config, &lines)), [1_000, 617_484, 617_484]);
}

#[test]
fn slots_go_round_the_streams() {
    let mut config = DriveConfig::small(8);
    config.set("command_slots", 1);
    let mut requests = trace(&["0 W 0 1", "0 W 1 1", "0 W 2 1"]);
    requests[2].stream = 1;
    let model = DriveModel::new(config).expect("legal keys");
    let o = model.run(&requests).expect("it fits");
    assert_eq!(done(&o), [1_000, 3_000, 2_000]);
    assert!(o.times.iter().all(|t| t.admitted == 0));
}

#[test]
fn the_queue_depth_of_a_stream_lets_requests_in() {
    let mut config = DriveConfig::small(8);
    config.queue_depth = Some(2);
    let o = run(config, &["0 W 0 1", "0 W 1 1", "0 W 2 1"]);
    let admitted: Vec<u64> = o.times.iter().map(|t| t.admitted).collect();
    assert_eq!(admitted, [0, 0, 1_000]);
    assert_eq!(done(&o), [1_000, 1_000, 2_000]);
}

#[test]
fn each_direction_of_the_link_serves_one_after_the_other() {
    let mut config = DriveConfig::small(8);
    let link = "{write=\"4096000000B/s\",read=\"2048000000B/s\"}";
    config.set("host_link", link);
    let lines = ["0 W 0 1", "0 W 1 2", "10000 R 0 1", "10000 R 1 1"];
    assert_eq!(done(&run(config, &lines)), [2_000, 4_000, 13_000, 15_000]);
}

#[test]
fn frames_may_come_back_once_data_are_in_the_chip() {
    let mut config = DriveConfig::small(4);
    config.set("frame_release", "transfer_end");
    let o = run(config, &["0 W 0 4", "10000 W 4 1"]);
    assert_eq!(done(&o), [1_000, 17_484]);
}

#[test]
fn a_write_with_fua_is_done_when_its_unit_is() {
    let o = run(
        DriveConfig::small(8),
        &["0 W 0 1", "5000 F 1 1", "10000 W 2 1"],
    );
    assert_eq!(done(&o), [1_000, 5_000 + 616_484, 11_000]);
    // The last page waits for that program, then opens a unit.
    assert_eq!((o.padded_places, o.dirty_left, o.host_open), (2, 0, 1));
}

#[test]
fn drain_keeps_the_low_mark_and_grows_to_its_depth() {
    let mut config = DriveConfig::small(16);
    config.set("channels", 4);
    let (low, high) = (0.25, 0.75);
    config.drain = Some(Drain {
        low,
        high,
        depth: Some(2),
    });
    // Of 16 pages 4 may stay dirty; two units are handed over while 12 or more are dirty.
    let o = run(config.clone(), &["0 W 0 16"]);
    assert_eq!((o.host_units, o.dirty_left, o.host_open), (12, 4, 0));
    // With 8 dirty pages one unit is allowed.
    let o = run(config, &["0 W 0 8"]);
    assert_eq!((o.host_units, o.dirty_left), (4, 4));
}

#[test]
fn drain_takes_pages_in_the_order_of_the_pointer() {
    let mut config = DriveConfig::small(16);
    config.scheme = "cscan(group=4)".to_owned();
    let (low, high) = (0.25, 0.25);
    config.drain = Some(Drain {
        low,
        high,
        depth: Some(1),
    });
    // Page 40 comes first; the fifth page starts the drain with it, and 0 to 2 follow the end.
    let o = run(config, &["0 W 40 1", "0 W 0 3", "0 W 44 4"]);
    let written: Vec<usize> = (0..64).filter(|&lpn| o.mapping[lpn].is_some()).collect();
    assert_eq!(written, [40, 44, 45, 46]);
    assert_eq!(o.dirty_left, 4);
}

#[test]
fn keys_that_make_no_sense_together_are_refused() {
    let refused = |change: fn(&mut DriveConfig), key: &str| {
        let mut config = DriveConfig::small(4);
        change(&mut config);
        let error = DriveModel::new(config).err().expect("it is refused");
        assert!(error.contains(key), "{error}");
    };
    refused(|c| c.set("mapping_bytes", 32_768), "mapping_bytes");
    refused(|c| c.set("program_pages", 3), "pages_per_block");
    refused(|c| c.set("gc_high", 1), "gc_high");
    refused(|c| c.set("gc_low", 0), "gc_low");
    refused(|c| c.set("unit_hold", 0), "unit_hold");
    refused(|c| c.frames = 3, "buffer");
    refused(|c| c.set("gc_hold", true), "gc_hold");
    refused(
        |c| {
            c.set("program_planes", "all");
            c.set("frontier", "plane");
            c.set("gc_unit", "plane");
        },
        "program_planes",
    );
}
