//! Laws that hold for every run.

use super::*;

/// Programs account for everything, frames are given in the measure they come back, and places hold
/// one logical unit each.
pub fn hold(config: &DriveConfig, o: &DriveOutcome, seed: u64) {
    let native = o.programs - o.slc_programs;
    let places = native * config.unit_places() + o.slc_programs * config.slc_unit_places();
    let m = config.number("mapping_bytes");
    let map = o.map_places + o.map.moved;
    let handed = o.host_units + o.moved + o.folded + map + o.padded_places;
    assert_eq!(
        places,
        handed - o.open_places,
        "seed {seed}: places programmed"
    );
    assert_eq!(o.programmed_bytes, places * m, "seed {seed}");
    for (i, t) in o.times.iter().enumerate() {
        assert!(t.admitted <= t.completed, "seed {seed}: request {i}");
    }
    let mut used: Vec<DrivePlace> = o.mapping.iter().copied().flatten().collect();
    let count = used.len();
    used.sort_unstable();
    used.dedup();
    assert_eq!(
        used.len(),
        count,
        "seed {seed}: a place holds one logical unit"
    );
    frames_come_back(config.frames, o, seed);
    if config.flush_at_end && !config.is("cache_persistence", "nvm") {
        assert_eq!(
            (o.dirty_left, o.host_open),
            (0, 0),
            "seed {seed}: all is in flash"
        );
    }
}

/// D-8: frames granted in any interval are at most those of the buffer and those that came back.
fn frames_come_back(frames: u64, o: &DriveOutcome, seed: u64) {
    let mut events: Vec<(u64, i64)> = o.granted.iter().map(|&t| (t, 1)).collect();
    events.extend(o.released.iter().map(|&(t, n)| (t, -(n as i64))));
    events.sort_unstable();
    let (mut sum, mut lowest, mut i) = (0, 0, 0);
    while i < events.len() {
        let now = events[i].0;
        // An interval that begins now sees everything of this instant.
        lowest = lowest.min(sum);
        while i < events.len() && events[i].0 == now {
            sum += events[i].1;
            i += 1;
        }
        assert!(
            sum - lowest <= frames as i64,
            "seed {seed}: too many frames by {now}"
        );
    }
}

#[test]
fn a_closed_loop_of_depth_1_goes_on() {
    let mut config = DriveConfig::small(5);
    config.drain = None;
    config.queue_depth = Some(1);
    let requests: Vec<String> = (0..60).map(|i| format!("0 W {} 1", i * 7 % 200)).collect();
    let lines: Vec<&str> = requests.iter().map(String::as_str).collect();
    let o = run(config, &lines);
    // The sixth write finds no frame, and four pages make a unit.
    assert_eq!(o.times[5].completed, 5_000 + 616_484 + 1_000);
    assert_eq!(o.padded_places, 0);
}

#[test]
fn progress_closes_a_unit_with_padding() {
    let o = run(
        DriveConfig::small(4),
        &["0 W 0 1", "10 W 0 1", "20 W 0 1", "30 W 0 1", "40 W 0 1"],
    );
    // Each version takes a frame, and four of them fill the unit.
    assert_eq!(o.times[4].completed, 30 + 616_484 + 1_000);
    let mut config = DriveConfig::small(4);
    config.set("rewrite", "in_place");
    let o = run(
        config,
        &["0 W 0 1", "10 W 0 1", "20 W 0 1", "30 W 0 1", "40 W 0 1"],
    );
    assert_eq!((o.times[4].completed, o.write_hits), (1_040, 4));
}

#[test]
fn two_static_frontiers_fill_units_of_their_own() {
    let mut config = DriveConfig::small(8);
    config.set("channels", 2);
    config.set("allocation", "static");
    // Pages of four units alternate between the two dies.
    let o = run(config.clone(), &["0 W 0 8", "10000 W 8 1"]);
    assert_eq!(done(&o), [1_000, 617_484]);
    // Both units belong to the first die, so the second waits for the first.
    let o = run(config.clone(), &["0 W 0 4", "0 W 8 4", "10000 W 16 8"]);
    assert_eq!(done(&o), [1_000, 1_000, 2 * 616_484 + 1_000]);
    // A FLUSH pads the open unit of each frontier.
    let o = run(config, &["0 W 0 1", "0 W 4 1", "10000 FLUSH"]);
    assert_eq!((o.times[2].completed, o.padded_places), (626_484, 6));
}

#[test]
fn data_of_a_running_unit_are_read_from_the_buffer() {
    let o = run(
        DriveConfig::small(4),
        &["0 W 0 4", "20000 R 2 1", "700000 R 2 1"],
    );
    assert_eq!(done(&o), [1_000, 21_000, 701_000]);
    assert_eq!((o.read_hits, o.array_reads), (2, 0));
}

#[test]
fn a_partial_write_reads_the_old_unit_before_its_program() {
    let mut config = DriveConfig::small(4);
    config.set("unit_hold", "1us");
    let mut model = DriveModel::new(config).expect("legal keys");
    model
        .precondition(0..model.exported(), &[])
        .expect("it fits");
    let part = DriveRequest {
        at: 0,
        op: DriveOp::Write,
        offset: 512,
        bytes: 512,
        stream: 0,
        preflush: false,
        prev: [None; 4],
        atomic: false,
    };
    let o = model.run(&[part]).expect("it fits");
    // 54,196 for the read, then the program; the host waits for neither.
    assert_eq!((o.times[0].completed, o.end), (1_000, 54_196 + 616_484));
    assert_eq!(o.write_amplification(), 32.0);
}
