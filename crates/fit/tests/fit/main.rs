//! Fits of drives that are models themselves, so that their values are known.

use destage_device::config::{DeviceConfig, EffectiveDevice};
use destage_fit::measurements::{
    CellLoad, CellResult, DriveCell, FioContext, LatencyTable, LoadArrivals, LoadPattern,
    LoadStream, MeasuredPlace, Measurements, PlacePart, Quantile, read_measurements,
};
use destage_fit::model::{BaseDevice, DriveFacts, DriveModel, STRUCTURES, Values, WriteFacts};
use destage_fit::outcome::{FileNotes, FitOutcome, FitPlan, chart, device_file, fit};
use destage_fit::search::FitJournal;
use destage_fit::simulate::{CellSimulator, ServiceTimes};
use destage_types::rng::SplitMix64;
use std::path::{Path, PathBuf};

mod dies;
mod pattern_rates;
mod presets;

/// Does `cargo xtask full` run the tests? `cargo xtask ci` tries a part of the cases.
fn is_full() -> bool {
    std::env::var_os("DESTAGE_FULL").is_some()
}

const SHARES: [f64; 7] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];

/// A drive of two dies, so that all is done soon.
fn small() -> Vec<String> {
    ["channels=1", "chips_per_channel=2", "command_cores=4"]
        .map(str::to_owned)
        .to_vec()
}

fn model() -> DriveModel {
    model_with(small())
}

fn model_with(fixed: Vec<String>) -> DriveModel {
    let base = BaseDevice::Preset("enterprise-tlc-1t".to_owned());
    DriveModel::new(base, &STRUCTURES[0], fixed, DriveFacts::default()).unwrap()
}

fn truth() -> Values {
    Values::from([
        ("t_read.fast", 40.0),
        ("t_read.middle", 60.0),
        ("t_read.slow", 90.0),
        ("t_program", 900.0),
        ("t_suspend", 15.0),
        ("t_command", 9.0),
        ("command_slots", 64.0),
        ("write_pace", 9_000.0),
        ("write_pace_burst", 3.0),
        ("cache", 1024.0),
    ])
}

fn load(per_s: f64) -> CellLoad {
    let stream = |threads, reads, per_s, measured| LoadStream {
        threads,
        reads,
        bytes: 4096,
        pattern: LoadPattern::Random,
        arrivals: LoadArrivals::Poisson { per_s },
        depth: 16,
        measured,
    };
    CellLoad {
        streams: vec![stream(2, 0.01, per_s, false), stream(1, 0.5, 1000.0, true)],
        fill: 1.0,
        overwrites: 1.0,
        seconds: None,
    }
}

/// The known drive's measurements at some rates, as a table would have them.
fn measured(rates: &[f64], requests: u64) -> Vec<DriveCell> {
    measured_on(&model().scaled(&truth()).unwrap(), rates, requests)
}

fn measured_on(device: &DeviceConfig, rates: &[f64], requests: u64) -> Vec<DriveCell> {
    let simulator = CellSimulator::new(77).unwrap();
    let table = |times: &ServiceTimes| LatencyTable {
        mean_us: None,
        quantiles: (SHARES.iter())
            .filter_map(|&share| times.at(share).map(|us| Quantile { share, us }))
            .collect(),
    };
    let rows = rates.iter().enumerate().map(|(row, &rate)| {
        let mut cell = DriveCell {
            drive: "known".to_owned(),
            load: load(rate),
            measured: CellResult::default(),
            place: MeasuredPlace {
                file: "known.csv".into(),
                part: PlacePart::Line(row as u64 + 2),
            },
        };
        let done = simulator.run(device, &cell, requests).unwrap();
        cell.measured = CellResult {
            writes_per_s: Some(done.writes_per_s),
            reads_per_s: Some(done.reads_per_s),
            write: table(&done.write),
            read: table(&done.read),
        };
        cell
    });
    rows.collect()
}

fn plan<'a>(
    cells: &[DriveCell],
    free: &[&str],
    evaluations: usize,
    stop: &'a dyn Fn() -> bool,
) -> FitPlan<'a> {
    FitPlan {
        cells: cells.to_vec(),
        patterns: Vec::new(),
        base: BaseDevice::Preset("enterprise-tlc-1t".to_owned()),
        capacity: None,
        fixed: small(),
        free: free.iter().map(|&key| key.to_owned()).collect(),
        evaluations,
        requests: 4_000,
        seed: 1,
        workers: 2,
        stop,
    }
}

fn fitted(plan: &FitPlan<'_>, journal: &mut FitJournal) -> FitOutcome {
    fit(plan, journal, &mut |_| {}).unwrap()
}

fn text(outcome: &FitOutcome) -> String {
    let notes = FileNotes {
        name: "known".to_owned(),
        notes: vec!["Made by a test.".to_owned()],
    };
    device_file(outcome, &notes).unwrap()
}

/// A fit of the drive in which only the times of commands and reads, and the pace of writes, are searched.
fn known_drive(cells: &[DriveCell], seed: u64, journal: &mut FitJournal) -> FitOutcome {
    let never = || false;
    let mut plan = plan(cells, &[], 60, &never);
    plan.seed = seed;
    let known = [
        "t_program=900us",
        "t_suspend=15us",
        "command_slots=64",
        "write_pace_burst=3",
        "cache=4MiB",
        "read_retry=off",
        "read_retry_suspended=off",
    ];
    plan.fixed.extend(known.map(str::to_owned));
    fitted(&plan, journal)
}

/// Whatever load a fit draws, it is near the drive where that shows, and its verdicts are true.
#[test]
fn a_known_drive_gives_its_determined_values_back() {
    let cells = measured(&[2_000.0, 6_000.0, 20_000.0], 48_000);
    let mut verdicts = Vec::new();
    let seeds = if is_full() { 5 } else { 1 };
    for seed in 1..=seeds {
        let outcome = known_drive(&cells, seed, &mut FitJournal::in_memory());
        for s in &outcome.sensitivities {
            let (name, verdict) = (s.parameter.name, s.verdict());
            let ratio = s.value / truth()[name];
            println!("seed {seed}: {name} is {ratio:.3} times that of the drive, {verdict}");
            let is_near = (ratio - 1.0).abs() < 0.1;
            assert!(verdict != "determined" || is_near, "{name}: {ratio}, {s:?}");
            match name {
                "t_command" | "write_pace" => assert_eq!(verdict, "determined", "{s:?}"),
                "t_read.middle" => assert!(is_near, "{name}: {ratio}, {s:?}"),
                _ => {}
            }
            verdicts.push((name, verdict));
        }
    }
    let shows =
        |&&(name, verdict): &&(&str, &str)| name.starts_with("t_read") && verdict != "undetermined";
    let shown = verdicts.iter().filter(shows).count();
    assert!(5 * shown > 7 * seeds as usize, "{verdicts:?}");
}

#[test]
fn a_fit_that_was_interrupted_goes_on_where_it_was() {
    let cells = measured(&[2_000.0], 4_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.journal");
    let open = || FitJournal::open("a fit", &path).unwrap();
    let first = known_drive(&cells, 1, &mut open());
    let file = text(&first);
    assert!(
        file.contains("t_command = ") && file.contains("# fitted: determined"),
        "{file}"
    );
    assert!(chart(&first).unwrap().contains("<svg"));
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() * 2 / 3]).unwrap();
    let mut journal = open();
    assert!(!journal.is_empty());
    assert_eq!(text(&known_drive(&cells, 1, &mut journal)), file);
    assert_eq!(std::fs::read(&path).unwrap(), whole);
}

/// No name, note or drive becomes a key, however it is written.
#[test]
fn names_and_notes_set_nothing() {
    let cells = measured(&[2_000.0], 2_000);
    let never = || false;
    let mut plan = plan(&cells, &["t_command"], 10, &never);
    plan.requests = 500;
    let mut outcome = fitted(&plan, &mut FitJournal::in_memory());
    let device = |file: &str| {
        let device = EffectiveDevice::from_text("known.toml", file, &[]);
        device
            .unwrap_or_else(|e| panic!("{e}:\n{file}"))
            .into_config()
    };
    let mut known = device(&text(&outcome));
    let parts = [
        "op = 0.5", "\n", "\r\n", "\r", "\"", "\"\"\"", "'", "'''", "\\", "\\u{1}", "#", "=", "[",
        "]", "\t", "\0", "\u{7f}", "\u{85}", "\u{2028}", "é", "name", " ", "base = 1",
    ];
    let mut rng = SplitMix64::new(1);
    let mut words = || -> String {
        (0..rng.below(6))
            .map(|_| parts[rng.below(parts.len() as u64) as usize])
            .collect()
    };
    for _ in 0..500 {
        outcome.drive = words();
        let notes = FileNotes {
            name: format!("x{}", words()),
            notes: vec![words(), words()],
        };
        let file = device_file(&outcome, &notes).unwrap();
        known.name = notes.name;
        assert_eq!(device(&file), known, "{file}");
    }
}

#[test]
fn loads_that_cannot_be_are_refused_by_their_place() {
    let mut cells = measured(&[2_000.0], 2_000);
    cells[0].load.streams[0].bytes = 1000;
    let never = || false;
    let error = fit(
        &plan(&cells, &[], 10, &never),
        &mut FitJournal::in_memory(),
        &mut |_| {},
    );
    let error = error.err().unwrap().to_string();
    assert!(
        error.contains("known.csv:2") && error.contains("512"),
        "{error}"
    );
}

#[test]
fn a_structure_with_pauses_that_are_put_off_has_no_pace() {
    let structure = STRUCTURES.iter().find(|s| s.name == "put_off").unwrap();
    let model = model().with_structure(structure);
    let of_pause = [
        ("program_pause.every", 3000.0),
        ("program_pause.time", 9000.0),
    ];
    let device = model.scaled(&Values::from(of_pause)).unwrap();
    let expected = r#"{ every = 3000, time = "9ms", while_writes_wait = "put_off" }"#;
    assert_eq!(device.program_pause.unwrap().to_string(), expected);
    assert!(
        model
            .free()
            .iter()
            .all(|p| !p.name.starts_with("write_pace"))
    );
}

/// Where sequential writes were measured, their price holds in any structure.
#[test]
fn the_price_of_sequential_writes_holds_in_any_structure() {
    let facts = || DriveFacts {
        writes: WriteFacts {
            host: Some(2_000.0),
            ..WriteFacts::default()
        },
        ..DriveFacts::default()
    };
    for structure in STRUCTURES {
        let base = BaseDevice::Preset("enterprise-tlc-1t".to_owned());
        let model = DriveModel::new(base, structure, small(), facts()).unwrap();
        let names: Vec<&str> = model.free().iter().map(|p| p.name).collect();
        let name = structure.name;
        assert!(names.contains(&"write_pace.moved"), "{name}: {names:?}");
        assert!(!names.contains(&"write_pace"), "{name}: {names:?}");
        let values = Values::from([
            ("write_pace.moved", 3_000.0),
            ("program_pause.every", 3_000.0),
            ("program_pause.time", 9_000.0),
        ]);
        let values = values.into_iter().filter(|value| names.contains(&value.0));
        let device = model.scaled(&values.collect()).unwrap();
        let price = device.write_price().map(|price| (price.host, price.moved));
        assert_eq!(price, Some((2_000, 3_000)), "{name}");
    }
}

#[test]
fn a_structure_leaves_nothing_of_another_one_in_the_base() {
    let device = |base: &str, structure: &str| {
        let base = BaseDevice::Preset(base.to_owned());
        let structure = STRUCTURES.iter().find(|s| s.name == structure).unwrap();
        let model = DriveModel::new(base, structure, small(), DriveFacts::default()).unwrap();
        model.scaled(&Values::new()).unwrap()
    };
    assert_eq!(device("micron-7450-pro-960", "fifo").program_pause, None);
    assert_eq!(device("samsung-pm9a3-960", "free").program_pause, None);
    let pause = device("micron-7450-pro-960", "rounds").program_pause;
    assert!(!pause.unwrap().to_string().contains("put_off"));
    assert!(device("samsung-pm9a3-960", "free").write_pace.is_some());
}

#[test]
fn what_is_fixed_to_off_is_off_whatever_the_base_has() {
    let cells = measured(&[2_000.0], 2_000);
    let never = || false;
    let mut plan = plan(&cells, &["t_command"], 10, &never);
    plan.requests = 500;
    plan.base = BaseDevice::Preset("samsung-pm9a3-960".to_owned());
    plan.fixed.push("read_retry_suspended = off".to_owned());
    let outcome = fitted(&plan, &mut FitJournal::in_memory());
    assert!(
        outcome
            .found
            .values
            .keys()
            .all(|name| !name.starts_with("read_retry"))
    );
    let file = text(&outcome);
    let line = file
        .lines()
        .find(|line| line.starts_with("read_retry_suspended = "));
    assert!(
        line.is_some_and(|line| line.ends_with("# fixed by the user")),
        "{file}"
    );
    let device = EffectiveDevice::from_text("known.toml", &file, &[]).unwrap();
    assert_eq!(device.config().read_retry_suspended, None);
}

/// The fitted file names no base then, so it has all values that the file's base gives.
#[test]
fn a_base_file_may_have_a_base_of_its_own() {
    let cells = measured(&[2_000.0], 2_000);
    let never = || false;
    let mut plan = plan(&cells, &["t_command"], 10, &never);
    plan.requests = 500;
    plan.base = BaseDevice::File {
        path: "mine.toml".to_owned(),
        text: "base = \"enterprise-tlc-1t\"\nt_suspend = \"21us\"\n".to_owned(),
    };
    let outcome = fitted(&plan, &mut FitJournal::in_memory());
    let file = text(&outcome);
    let device = EffectiveDevice::from_text("known.toml", &file, &[]).unwrap();
    let settings = outcome.found.model.whole_settings(&outcome.found.values);
    let whole = plan.base.with(&settings).unwrap();
    assert_eq!(device.config().gc_mode, whole.config().gc_mode);
    assert_eq!(device.config().t_suspend, whole.config().t_suspend);
    assert_eq!(device.config().t_erase, whole.config().t_erase);
}

#[test]
fn a_base_without_a_bounded_buffer_is_refused() {
    let base = BaseDevice::Preset("default".to_owned());
    let error = DriveModel::new(base, &STRUCTURES[0], Vec::new(), DriveFacts::default());
    let error = error.err().unwrap().to_string();
    assert!(error.contains("enterprise-tlc-1t"), "{error}");
}

/// The cells of one drive in a table of several.
fn cells_of(folder: &Path, drive: &str) -> Vec<DriveCell> {
    read(&[folder.join("load.csv")], drive).cells
}

fn read(files: &[PathBuf], drive: &str) -> Measurements {
    let context = FioContext {
        drive: Some(drive.to_owned()),
        ..FioContext::default()
    };
    read_measurements(files, &context).unwrap_or_else(|e| panic!("{}", e.text()))
}

/// A whole fit of any cells of a measured drive comes to its end.
#[test]
fn any_cells_of_a_drive_can_be_fitted() {
    let Some(folder) = std::env::var_os("DESTAGE_DRIVES").map(PathBuf::from) else {
        println!("SKIPPED: DESTAGE_DRIVES does not name the folder of measured drives");
        return;
    };
    let drives = ["micron-7450-pro-960", "kioxia-cm7r-3840", "wd-dc-960"];
    let (never, mut rng) = (|| false, SplitMix64::new(1));
    let count = if is_full() { 12 } else { 2 };
    for case in 0..count {
        let mut cells = cells_of(&folder, drives[case % drives.len()]);
        let keep = 2 + rng.below(6);
        cells.retain(|cell| rng.below(8) < keep || cell.measured.writes_per_s < Some(20_000.0));
        let mut plan = plan(&cells, &[], 10, &never);
        plan.requests = 500;
        let outcome = fit(&plan, &mut FitJournal::in_memory(), &mut |_| {});
        assert!(
            outcome.is_ok(),
            "case {case}, {} cells: {:?}",
            cells.len(),
            outcome.err()
        );
    }
}

/// What patterns say of the drives that were measured: rates of those left out are off by at most this.
#[test]
#[ignore = "takes minutes; `cargo xtask full` runs it"]
fn patterns_of_drives_that_are_left_out_are_near() {
    let Some(folder) = std::env::var_os("DESTAGE_DRIVES").map(PathBuf::from) else {
        println!("SKIPPED: DESTAGE_DRIVES does not name the folder of measured drives");
        return;
    };
    for (drive, most, policy, op) in [
        ("micron-7450-pro-960", 0.05, "greedy", 0.173),
        ("kioxia-cm7r-3840", 0.05, "greedy", 0.154),
        ("wd-dc-960", 0.08, "d-choices", 0.120),
        ("samsung-pm9a3-960", 0.12, "greedy", 0.111),
    ] {
        let found = read(&[folder.join("patterns.csv")], drive);
        let never = || false;
        let plan = FitPlan {
            patterns: found.patterns,
            ..plan(&found.cells, &[], 10, &never)
        };
        let outcome = fit(&plan, &mut FitJournal::in_memory(), &mut |_| {}).unwrap();
        let fit = outcome.patterns.as_ref().unwrap();
        let (best, space) = (fit.best(), fit.space.unwrap());
        println!("{drive}: {:.3}, op {:.3}", best.error(), space.op);
        assert!(best.error() <= most, "{drive}: {:.3}", best.error());
        assert_eq!(best.rule.policy.to_string(), policy, "{drive}");
        assert!((space.op - op).abs() < 0.001, "{drive}: {:.4}", space.op);
        let text = text(&outcome);
        assert!(text.contains(&format!("\nop = {op}")), "{text}");
        assert!(text.contains("\nwrite_pace = { host = "), "{text}");
    }
}

/// With a rate of sequential writes, random ones pay for what is moved, and both are found.
#[test]
fn sequential_and_random_writes_have_prices_of_their_own() {
    let mut prices = truth();
    prices.remove("write_pace");
    prices.insert("write_pace.moved", 30_000.0);
    let facts = DriveFacts {
        writes: WriteFacts {
            host: Some(20_000.0),
            ..WriteFacts::default()
        },
        ..DriveFacts::default()
    };
    let base = || BaseDevice::Preset("enterprise-tlc-1t".to_owned());
    let drive = DriveModel::new(base(), &STRUCTURES[0], small(), facts).unwrap();
    let device = drive.scaled(&prices).unwrap();
    let cells = measured_on(&device, &[2_000.0, 6_000.0, 40_000.0], 12_000);
    let mut sequential = cells[0].clone();
    sequential.load = CellLoad {
        streams: vec![LoadStream {
            threads: 1,
            reads: 0.0,
            bytes: 131_072,
            pattern: LoadPattern::Sequential,
            arrivals: LoadArrivals::Closed,
            depth: 32,
            measured: true,
        }],
        fill: 0.0,
        overwrites: 0.0,
        seconds: None,
    };
    sequential.measured = CellResult {
        // 32 mapping units each.
        writes_per_s: Some(1e9 / (32.0 * 20_000.0)),
        ..CellResult::default()
    };
    let cells = [&cells[..], &[sequential]].concat();
    let never = || false;
    let plan = plan(&cells, &["write_pace"], 30, &never);
    let outcome = fit(&plan, &mut FitJournal::in_memory(), &mut |_| {}).unwrap();
    let moved = outcome.found.values["write_pace.moved"] / prices["write_pace.moved"];
    assert!((moved - 1.0).abs() < 0.15, "{moved} times");
    let text = text(&outcome);
    assert!(
        text.contains("\nwrite_pace = { host = \"20us\", moved = "),
        "{text}"
    );
    assert!(text.contains("known.csv: 100 % of the weight"), "{text}");
}

/// Smaller blocks change little that a fit looks at, up to 0.9 of the cliff: blocks of 1/96 of the size beside 1/24. A time
/// that is further off is at most four percentiles away.
#[test]
#[ignore = "takes minutes; `cargo xtask full` runs it"]
fn a_larger_drive_answers_alike() {
    let Some(folder) = std::env::var_os("DESTAGE_DRIVES").map(PathBuf::from) else {
        println!("SKIPPED: DESTAGE_DRIVES does not name the folder of measured drives");
        return;
    };
    let name = "samsung-pm9a3-960";
    let cells: Vec<DriveCell> = cells_of(&folder, name).into_iter().take(6).collect();
    let [small, large] = [1, 4].map(|times| presets::compared(name, &cells, times));
    for (cell, (a, b)) in small
        .cells
        .iter()
        .zip(small.models.iter().zip(&large.models))
    {
        for (a, b) in [(&a.write, &b.write), (&a.read, &b.read)] {
            for (share, most) in [(0.5, 0.05), (0.9, 0.15), (0.99, 0.3)] {
                let (one, other) = (a.at(share).unwrap(), b.at(share).unwrap());
                println!(
                    "{} p{}: {one:.1} and {other:.1} us",
                    cell.place,
                    100.0 * share
                );
                // Where the distribution is steep, the same time is another percentile.
                let [low, high] = [-0.04, 0.04].map(|off| a.at(share + off).unwrap_or(one));
                assert!(
                    (other / one - 1.0).abs() <= most || (low..=high).contains(&other),
                    "p{} is {one} and {other} us",
                    100.0 * share
                );
            }
        }
        assert!((b.writes_per_s / a.writes_per_s - 1.0).abs() < 0.01);
    }
}
