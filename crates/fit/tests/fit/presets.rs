//! The models of measured drives beside their drives: the figures of docs/CALIBRATION.md.

use super::cells_of;
use destage_device::config::{EffectiveDevice, presets};
use destage_fit::measurements::DriveCell;
use destage_fit::model::{BaseDevice, DriveFacts, DriveModel, STRUCTURES};
use destage_fit::outcome::{Comparison, compare, summary};
use destage_fit::residual::FitFigures;
use std::path::PathBuf;

/// Requests of a cell in a search, as the command has them.
const REQUESTS: u64 = 40_000;

/// A preset beside its drive, scaled down, with blocks that are so many times larger than those of a fit.
pub fn compared(name: &str, cells: &[DriveCell], times: u32) -> Comparison {
    let base = BaseDevice::Preset(name.to_owned());
    let model = DriveModel::new(base, &STRUCTURES[0], Vec::new(), DriveFacts::default()).unwrap();
    let sets = model.geometry().enlarged(times).scaled_settings();
    let scaled = EffectiveDevice::from_preset(name, &sets).unwrap();
    compare(scaled.config(), cells, REQUESTS, 1, 2).unwrap()
}

/// The row of a drive in docs/CALIBRATION.md.
fn row(name: &str, figures: &FitFigures) -> String {
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

#[test]
#[ignore = "takes minutes; `cargo xtask full` runs it"]
fn fitted_presets_say_how_far_they_are_from_their_drives() {
    let calibration = include_str!("../../../../docs/CALIBRATION.md");
    let Some(folder) = std::env::var_os("DESTAGE_DRIVES").map(PathBuf::from) else {
        println!("SKIPPED: DESTAGE_DRIVES does not name the folder of measured drives");
        return;
    };
    let (mut stale, mut fitted) = (Vec::new(), 0);
    for preset in presets() {
        let Some(text) = preset.text.strip_prefix("# Fitted to measurements of ") else {
            continue;
        };
        let (drive, _) = text
            .split_once(": ")
            .expect("a drive, and how far the model is");
        fitted += 1;
        let found = compared(preset.name, &cells_of(&folder, drive), 1);
        let summary = summary(&found.figures);
        println!("{}: {summary}", preset.name);
        if !preset.text.contains(&summary) {
            stale.push(format!("{}: {summary}", preset.name));
        }
        let row = row(preset.name, &found.figures);
        if !calibration.contains(&row) {
            stale.push(row);
        }
    }
    assert_eq!(fitted, 5);
    assert!(stale.is_empty(), "{stale:#?}");
}
