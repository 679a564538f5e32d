//! Drives with a bounded buffer drain it by default, whatever the drive and the load.

use crate::common::{Bench, is_full, setting};
use destage_scheme::rng::SplitMix64;
use serde_json::Value;
use std::fmt::Write;

const WARNING: &str = "without drain a bounded buffer programs one unit at a time";

/// A random drive with a bounded buffer and at least two dies, and how many it has.
struct RandomDrive {
    options: String,
    dies: u64,
    /// Pages of the buffer: some units for each die.
    frames: u64,
    /// Pages that the host can use without filling the drive.
    pages: u64,
}

fn draw(rng: &mut SplitMix64) -> RandomDrive {
    let mut pick = |values: &[u64]| values[rng.below(values.len() as u64) as usize];
    let [channels, chips, planes] = [&[1, 2, 4], &[1, 2, 3], &[1, 2, 4]].map(|values| pick(values));
    let dies_per_chip = if channels * chips == 1 {
        2
    } else {
        pick(&[1, 2])
    };
    let dies = channels * chips * dies_per_chip;
    let (per_page, program) = (pick(&[1, 2, 4]), pick(&[1, 2, 3]));
    let (joins, dynamic, fill) = (pick(&[0, 1]), pick(&[0, 1]), pick(&[0, 1]));
    let low = pick(&[2, 3]);
    let unit = per_page * program * if joins == 1 { planes } else { 1 };
    let pages_per_block = 16 * program;
    let frontier = if joins == 1 {
        "die"
    } else {
        ["die", "plane"][pick(&[0, 1]) as usize]
    };
    // A frontier is a unit that fills; of a half of the buffer all dies get some.
    let frames = 8 * unit * dies * planes;
    let flash = dies * planes * 64 * pages_per_block * per_page;
    let mut options = format!("--device default --cache {}KiB", 4 * frames);
    for set in [
        format!("channels={channels}"),
        format!("chips_per_channel={chips}"),
        format!("dies_per_chip={dies_per_chip}"),
        format!("planes_per_die={planes}"),
        "blocks_per_plane=64".to_owned(),
        format!("pages_per_block={pages_per_block}"),
        format!("page_bytes={}", 4096 * per_page),
        "mapping_bytes=4096".to_owned(),
        format!("program_pages={program}"),
        format!("program_planes={}", ["one", "all"][joins as usize]),
        format!("frontier={frontier}"),
        format!("gc_unit={frontier}"),
        "op=0.5".to_owned(),
        "queue_per=die".to_owned(),
        "gc_mode=paced".to_owned(),
        format!("gc_low={low}"),
        format!("gc_high={}", low + 2),
        "buffer=bounded".to_owned(),
        format!("allocation={}", ["static", "dynamic"][dynamic as usize]),
        format!("precondition.fill={fill}"),
    ] {
        let _ = write!(options, " --set {set}");
    }
    RandomDrive {
        options,
        dies,
        frames,
        pages: flash / 2,
    }
}

/// Writes all over the drive, several times what the buffer holds: single pages or runs of them, in any order or ascending.
fn writes(rng: &mut SplitMix64, drive: &RandomDrive) -> String {
    let pages = 1 + rng.below(4);
    let count = (4 * drive.frames / pages).max(200);
    let (space, random) = (drive.pages / pages, rng.below(2) == 0);
    let mut trace = String::new();
    for i in 0..count {
        let at = if random { rng.below(space) } else { i % space };
        let _ = writeln!(
            trace,
            "{i},h,0,Write,{},{},0",
            at * pages * 4096,
            pages * 4096
        );
    }
    trace
}

/// How many dies are busy at the same time, on average.
fn busy_dies(record: &Value, dies: u64) -> f64 {
    record["utilisation"]["die_mean"].as_f64().unwrap() * dies as f64
}

#[test]
fn no_default_run_leaves_all_but_one_die_idle() {
    for seed in 0..if is_full() { 200 } else { 12 } {
        let mut rng = SplitMix64::new(seed);
        let drive = draw(&mut rng);
        let bench = Bench::new();
        bench.file("t.csv", writes(&mut rng, &drive));
        let depth = drive.dies * (1 + rng.below(8));
        let line = format!(
            "run t.csv --format msr {} --closed-loop {depth}",
            drive.options
        );
        let record = bench.record(&line);
        assert_eq!(
            record["scheme"], "drain(lru,high=0.25,low=0.25)",
            "seed {seed}: {line}"
        );
        assert_eq!(
            setting(&record, "scheme"),
            ("drain(lru,high=0.25,low=0.25)", "built-in")
        );
        let busy = busy_dies(&record, drive.dies);
        assert!(
            busy > 1.4,
            "seed {seed}: {busy:.2} of {} dies are busy: {line}",
            drive.dies
        );
        let done = bench.destage(&line).ok();
        assert!(
            !done.stderr.contains(WARNING),
            "seed {seed}: {}",
            done.stderr
        );
    }
}

/// The same drives under schemes that do not drain: each is named once, in one warning.
#[test]
fn what_does_not_drain_is_warned_of() {
    let mut rng = SplitMix64::new(5);
    let drive = draw(&mut rng);
    let bench = Bench::new();
    bench.file("t.csv", writes(&mut rng, &drive));
    let options = &drive.options;
    let run = format!("run t.csv --format msr {options} --read-alloc off --scheme");
    let done = bench
        .destage(format!("{run} lru,req-block,drain(lru),cac(lru)"))
        .ok();
    done.says(format!("warning: lru, req-block, cac(lru): {WARNING}"));
    assert_eq!(done.stderr.matches(WARNING).count(), 1, "{}", done.stderr);
    let done = bench
        .destage(format!("{run} lru --cache 50% --report r.html"))
        .ok();
    done.says(format!("warning: lru: {WARNING}"));
    let report = bench.read("r.html");
    assert!(
        report.contains("Not drained: lru.") && report.contains("drain(lru,high=0.25,low=0.25)")
    );
    let unbounded = bench
        .destage("run t.csv --format msr --device default --scheme lru")
        .ok();
    assert!(!unbounded.stderr.contains(WARNING), "{}", unbounded.stderr);
}
