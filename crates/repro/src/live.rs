//! Runs on a real file system, which a script makes on `destage serve`: read, not repeated.

use crate::judge::LoadOutcome;
use crate::loads::Evidence;
use crate::paper::Paper;
use destage_console::failure::Failure;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A line of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LiveLine {
    /// The experiment that it is of.
    experiment: String,
    /// The file system on the device.
    file_system: String,
    /// Number of the run of this scheme, from 1.
    run: u32,
    /// Device, cache and load are one `part`-th of the paper's.
    part: u32,
    #[serde(flatten)]
    live: LiveTimes,
    /// Record of the served device.
    record: serde_json::Value,
}

/// Figures that a record does not have; claims find them under `live` in it.
#[derive(Deserialize, Serialize)]
struct LiveTimes {
    /// Simulated time of the whole load, s.
    seconds: f64,
}

/// The runs in `file` of experiments of `paper`.
///
/// # Errors
/// It cannot be read, or a line is none of ours.
pub fn outcomes(paper: &Paper, file: &Path) -> Result<Vec<LoadOutcome>, Failure> {
    let name = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("--live {name}: {error}")))?;
    let mut all = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let fault =
            |what: &dyn std::fmt::Display| Failure::usage(format!("{name}:{}: {what}", number + 1));
        let line: LiveLine = serde_json::from_str(line).map_err(|error| fault(&error))?;
        let Some(experiment) = paper.experiment(&line.experiment) else {
            continue;
        };
        if !paper.experiment[experiment].live {
            return Err(fault(&format!(
                "`{}` is run here, not live",
                line.experiment
            )));
        }
        let mut record = line.record;
        if !record["scheme"].is_string() {
            return Err(fault(&"`record` is no record of a run: it has no `scheme`"));
        }
        record["live"] = serde_json::to_value(&line.live).map_err(|error| fault(&error))?;
        all.push(LoadOutcome {
            experiment,
            reading: 0,
            load: format!("{}, run {}", line.file_system, line.run),
            evidence: Evidence::Live,
            host_fs: String::new(),
            cache: paper.experiment[experiment].cache[0].clone(),
            factor: 1.0 / f64::from(line.part),
            record,
        });
    }
    Ok(all)
}
