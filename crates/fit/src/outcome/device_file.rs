//! The fitted device as a file.

use super::FitOutcome;
use crate::FitError;
use crate::model::{BaseDevice, PARAMETERS};
use crate::search::{CHANGED_BY, Sensitivity};
use destage_device::config::{Origin, toml_comment, toml_string};
use std::collections::BTreeSet;

/// Notes at the head of a device file, besides the values.
#[derive(Clone, Debug, Default)]
pub struct FileNotes {
    /// Name of the device.
    pub name: String,
    /// Where the measurements come from, when the fit was made, what it leaves out: one comment each.
    pub notes: Vec<String>,
}

/// The whole device as a file for `--device`. The comment behind each value says where it comes from.
///
/// # Errors
/// The fitted values make no whole device.
pub fn device_file(outcome: &FitOutcome, notes: &FileNotes) -> Result<String, FitError> {
    let model = &outcome.found.model;
    let settings = model.whole_settings(&outcome.found.values);
    let device = model.base().with(&settings);
    let device = device.map_err(|e| FitError::Device(e.to_string()))?;
    let mut text = head(outcome, notes);
    let mut line = |key: &str, value: &str, source: &str| {
        let assignment = format!("{key} = {value}");
        text.push_str(&format!("{assignment:<62} # {}\n", toml_comment(source)));
    };
    line(
        "name",
        &toml_string(&notes.name),
        "names the device in results",
    );
    let names_base = matches!(model.base(), BaseDevice::Preset(_));
    if let BaseDevice::Preset(name) = model.base() {
        line(
            "base",
            &toml_string(name),
            "gives all values that are not fitted",
        );
    }
    for value in device.settings() {
        let is_own = value.origin == Origin::Set;
        let is_listed = match value.origin {
            Origin::BuiltIn => false,
            // A file may itself have a base, which this one does not name.
            Origin::Preset(_) => !names_base,
            Origin::File(_) | Origin::Set => true,
        };
        if is_listed && value.key != "name" {
            let source = if is_own {
                source(outcome, value.key)
            } else {
                "the base".to_owned()
            };
            line(value.key, &value.value, &source);
        }
    }
    // A key that is off has no value, but the base may have one.
    let has_value = |key: &str| device.settings().iter().any(|value| value.key == key);
    let off: BTreeSet<&str> = model.set_keys().filter(|key| !has_value(key)).collect();
    let base = model.base().with(&[]);
    let base = base.map_err(|e| FitError::Device(e.to_string()))?;
    for value in base.settings() {
        if off.contains(value.key) {
            line(value.key, "\"off\"", &source(outcome, value.key));
        }
    }
    Ok(text)
}

fn head(outcome: &FitOutcome, notes: &FileNotes) -> String {
    let scaled = outcome.found.model.geometry().scaled_settings();
    let mut lines = Vec::new();
    if let Some(patterns) = &outcome.patterns {
        let summary = super::pattern_summary(patterns);
        lines.push(format!(
            "Fitted to measurements of {}: {summary}.",
            outcome.drive
        ));
    }
    if outcome.found.evaluations > 0 {
        lines.push(format!(
            "Fitted to measurements of {}: {}.",
            outcome.drive,
            super::tables::summary(&outcome.comparison.figures)
        ));
        lines.extend(super::tables(&outcome.comparison));
    }
    lines.extend(
        notes
            .notes
            .iter()
            .flat_map(|note| note.lines())
            .map(str::to_owned),
    );
    if outcome.found.evaluations == 0 {
        lines.push(
            "Fitted by `destage fit-device` to patterns alone: all times but the price of writes are those of the base."
                .to_owned(),
        );
    } else {
        lines.push(format!(
        "Fitted by `destage fit-device`, residual {:.4}, {} evaluations, seed {}; docs/CALIBRATION.md says what these mean.",
        outcome.comparison.residual, outcome.found.evaluations, outcome.seed
    ));
    }
    let structure = outcome.found.model.structure();
    lines.push(format!(
        "Structure `{}`: {}.",
        structure.name, structure.meaning
    ));
    let sets: Vec<String> = scaled.iter().map(|set| format!("--set {set}")).collect();
    lines.push(format!(
        "The same drive in seconds, scaled down: {}",
        sets.join(" ")
    ));
    lines
        .iter()
        .map(|line| format!("# {}\n", toml_comment(line)))
        .collect::<String>()
        + "\n"
}

/// Where the value of a key comes from.
fn source(outcome: &FitOutcome, key: &str) -> String {
    let model = &outcome.found.model;
    if model.fixes(key) {
        return "fixed by the user".to_owned();
    }
    if let Some(source) = model.source_of(key) {
        return source.to_owned();
    }
    let of: Vec<String> = (outcome.sensitivities.iter())
        .filter(|s| s.parameter.key() == key)
        .map(of_parameter)
        .collect();
    if !of.is_empty() {
        return format!("fitted: {}", of.join("; "));
    }
    let structure = model.structure();
    if structure.sets(key) {
        return format!("fitted: structure {}", structure.name);
    }
    if PARAMETERS.iter().any(|p| p.key() == key) {
        return "start value of the fit".to_owned();
    }
    match key {
        "channels" | "chips_per_channel" | "blocks_per_plane" | "pages_per_block" => {
            "dies and blocks in proportion to the capacity, and dies enough for the measured reads"
                .to_owned()
        }
        "host_link" => {
            "assumed: sequential reads fill it, if they were measured; else fast enough for what was measured".to_owned()
        }
        "t_byte" => "assumed: fast enough for what was measured".to_owned(),
        _ => "set by the fit".to_owned(),
    }
}

fn of_parameter(s: &Sensitivity) -> String {
    let part = s
        .parameter
        .name
        .strip_prefix(s.parameter.key())
        .unwrap_or_default();
    let part = part.trim_start_matches('.');
    let name = if part.is_empty() {
        String::new()
    } else {
        format!("{part} ")
    };
    let rise = |rise: Option<f64>| rise.map_or("-".to_owned(), |r| format!("{:+.0} %", 100.0 * r));
    let (low, high) = s.parameter.bounds;
    format!(
        "{name}{} (residual {} at /{CHANGED_BY}, {} at x{CHANGED_BY}, {} with other values; {low} to {high} {})",
        s.verdict(),
        rise(s.rises[0]),
        rise(s.rises[1]),
        rise(Some(s.together)),
        s.parameter.unit
    )
}
