//! The models of measured drives beside their drives: the figures of docs/CALIBRATION.md.

use super::{cells_of, read};
use destage_device::config::{EffectiveDevice, presets};
use destage_fit::measurements::{
    CellLoad, CellResult, DriveCell, LoadArrivals, LoadPattern, LoadStream, MeasuredPlace,
    PlacePart,
};
use destage_fit::model::{BaseDevice, DriveFacts, DriveGeometry, DriveModel, STRUCTURES};
use destage_fit::outcome::{Check, Comparison, LoadKind, check, checked, compare, summary};
use destage_fit::residual::FitFigures;
use destage_fit::simulate::{CellSimulator, SimulatedCell};
use std::path::{Path, PathBuf};

/// Requests of a cell in a search, as the command has them.
const REQUESTS: u64 = 40_000;

/// A preset beside its drive, scaled down, with blocks that are so many times larger than those of a fit.
pub fn compared(name: &str, cells: &[DriveCell], times: u32) -> Comparison {
    let sets = geometry(name).enlarged(times).scaled_settings();
    let scaled = EffectiveDevice::from_preset(name, &sets).unwrap();
    compare(scaled.config(), cells, REQUESTS, 1, 2).unwrap()
}

fn geometry(name: &str) -> DriveGeometry {
    let base = BaseDevice::Preset(name.to_owned());
    let model = DriveModel::new(base, &STRUCTURES[0], Vec::new(), DriveFacts::default()).unwrap();
    model.geometry().clone()
}

fn scaled(name: &str) -> Vec<String> {
    geometry(name).scaled_settings()
}

/// The row of a drive in the table of figures of docs/CALIBRATION.md.
fn figures(name: &str, figures: &FitFigures) -> String {
    let factor = |value: Option<f64>| value.map_or("-".to_owned(), |f| format!("{f:.2}"));
    let percent =
        |value: Option<f64>| value.map_or("-".to_owned(), |e| format!("{:+.1} %", 100.0 * e));
    let cells = [
        (figures.write_p50_error).map_or("-".to_owned(), |e| format!("{:.1} %", 100.0 * e)),
        factor(figures.write_p99),
        factor(figures.write_p999),
        factor(figures.read_p50),
        factor(figures.read_p99),
        percent(figures.cliff_error),
    ];
    let (near, counted) = (figures.near, figures.counted);
    format!("| `{name}` | {} | {near} of {counted} |", cells.join(" | "))
}

/// The row of a drive in the table of kinds of load.
fn kinds(
    name: &str,
    check: &Check,
    has_sheet: bool,
    is_checked: bool,
    idle: &SimulatedCell,
) -> String {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let of = |kind: LoadKind, is_fitted: bool| match check.error(kind) {
        None if kind > LoadKind::Uniform && !is_checked => "not checked".to_owned(),
        None => "not known".to_owned(),
        Some((error, _)) if is_fitted => format!("fitted, {}", percent(error)),
        Some((mean, largest)) if percent(mean) == percent(largest) => {
            format!("predicted, {}", percent(mean))
        }
        Some((mean, largest)) => {
            format!("predicted, {}, at most {}", percent(mean), percent(largest))
        }
    };
    let cliff = check.comparison.figures.cliff_error.unwrap_or(0.0);
    let us = |share: f64| {
        idle.read
            .at(share)
            .map_or("-".to_owned(), |us| format!("{us:.0}"))
    };
    let cells = [
        format!("fitted, {}", percent(cliff.abs())),
        of(LoadKind::SequentialWrites, has_sheet),
        of(LoadKind::SequentialReads, has_sheet),
        of(LoadKind::RandomReads, has_sheet),
        of(LoadKind::Mixed, false),
        of(LoadKind::Skewed, false),
        of(LoadKind::ReadOnly, false),
        of(LoadKind::Fill, false),
        format!("{} and {} us, not measured", us(0.5), us(0.99)),
    ];
    format!("| `{name}` | {} |", cells.join(" | "))
}

/// Reads of a full drive, one at a time, with nothing beside them.
fn idle_reads() -> DriveCell {
    let stream = LoadStream {
        threads: 1,
        reads: 1.0,
        bytes: 4096,
        pattern: LoadPattern::Random,
        arrivals: LoadArrivals::Closed,
        depth: 1,
        measured: true,
    };
    DriveCell {
        drive: "idle".to_owned(),
        load: CellLoad {
            streams: vec![stream],
            fill: 1.0,
            overwrites: 0.0,
            seconds: None,
        },
        measured: CellResult::default(),
        place: MeasuredPlace {
            file: "idle.csv".into(),
            part: PlacePart::Line(2),
        },
    }
}

/// The tables of docs/CALIBRATION.md, made again from the presets, the measurements, and the sheets in docs/calibration.
/// `DESTAGE_BLESS=1` writes them.
#[test]
#[ignore = "takes minutes; `cargo xtask full` runs it"]
fn fitted_presets_say_how_far_they_are_from_their_drives() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = docs.join("CALIBRATION.md");
    let calibration = std::fs::read_to_string(&page).unwrap();
    let Some(folder) = std::env::var_os("DESTAGE_DRIVES").map(PathBuf::from) else {
        println!("SKIPPED: DESTAGE_DRIVES does not name the folder of measured drives");
        return;
    };
    let (mut stale, mut fitted, mut made) = (Vec::new(), 0, calibration.clone());
    let mut put = |row: String| {
        let (name, columns) = (row.split(" | ").next().unwrap(), row.matches('|').count());
        let is_of = |line: &&str| line.starts_with(name) && line.matches('|').count() == columns;
        let old = calibration
            .lines()
            .find(is_of)
            .unwrap_or_else(|| panic!("{row} has no place"));
        made = made.replace(old, &row);
    };
    for preset in presets() {
        let Some(text) = preset.text.strip_prefix("# Fitted to measurements of ") else {
            continue;
        };
        let (drive, _) = text
            .split_once(": ")
            .expect("a drive, and how far the model is");
        fitted += 1;
        let loads = compared(preset.name, &cells_of(&folder, drive), 1);
        let summary = summary(&loads.figures);
        println!("{}: {summary}", preset.name);
        if !preset.text.contains(&summary) {
            stale.push((preset.name, summary));
        }
        put(figures(preset.name, &loads.figures));
        let mut all = read(&[folder.join("load.csv")], drive);
        let sheet = read(&[docs.join(format!("calibration/{drive}.toml"))], drive);
        all.cells.extend(sheet.cells);
        // The patterns of a drive of 4 TB take a quarter of an hour.
        let is_checked = !(has_patterns(&folder, drive) && drive.ends_with("-3840"));
        if is_checked && has_patterns(&folder, drive) {
            all.patterns = read(&[folder.join("patterns.csv")], drive).patterns;
        }
        let base = BaseDevice::Preset(preset.name.to_owned());
        let check = check(&base, &all, REQUESTS / 8, 1, 2).unwrap();
        println!("{}", checked(&check));
        let device = EffectiveDevice::from_preset(preset.name, &scaled(preset.name)).unwrap();
        let simulator = CellSimulator::new(1).unwrap();
        let idle = simulator
            .run(device.config(), &idle_reads(), REQUESTS)
            .unwrap();
        let has_sheet = preset.text.contains(&format!("\n# {drive}.toml: "));
        put(kinds(preset.name, &check, has_sheet, is_checked, &idle));
    }
    assert_eq!(fitted, 5);
    if std::env::var_os("DESTAGE_BLESS").is_some() {
        std::fs::write(page, made).unwrap();
        for (name, summary) in stale {
            head_preset(
                &docs.join(format!("../presets/drives/{name}.toml")),
                &summary,
            );
        }
    } else {
        assert!(stale.is_empty(), "{stale:#?}");
        assert!(
            made == calibration,
            "CALIBRATION.md is stale: DESTAGE_BLESS=1 writes it\n{made}"
        );
    }
}

/// Puts a summary in its line at the head of a preset.
fn head_preset(path: &Path, summary: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    let is_old = |line: &&str| line.starts_with("# Fitted to") && line.contains(": median write");
    let old = text.lines().find(is_old).unwrap();
    let (head, _) = old.split_once(": median write").unwrap();
    std::fs::write(path, text.replace(old, &format!("{head}: {summary}."))).unwrap();
}

fn has_patterns(folder: &Path, drive: &str) -> bool {
    let text = std::fs::read_to_string(folder.join("patterns.csv")).unwrap();
    text.lines().any(|line| line.starts_with(drive))
}
