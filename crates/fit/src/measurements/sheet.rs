//! Figures of a data sheet: a TOML file of named figures.

use super::cell::{
    CellLoad, CellResult, DriveCell, LoadArrivals, LoadPattern, LoadStream, MeasuredPlace,
    PlacePart,
};
use destage_console::failure::Failure;
use destage_device::config::bytes_per_second;
use serde::Deserialize;
use std::path::Path;

/// Bytes of a sequential request of a sheet.
const SEQUENTIAL_BYTES: u64 = 128 << 10;
/// Bytes of a random request.
const RANDOM_BYTES: u64 = 4096;

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SheetFile {
    /// Name of the drive; that of `--drive` if it is left out.
    drive: Option<String>,
    /// `1500MB/s` with 128 KiB at a time.
    sequential_read: Option<String>,
    sequential_write: Option<String>,
    /// Requests of 4 KiB a second.
    random_read: Option<f64>,
    random_write: Option<f64>,
    /// Requests outstanding.
    #[serde(default = "sequential_depth")]
    sequential_depth: u32,
    #[serde(default = "random_depth")]
    random_depth: u32,
}

/// Depths of sheets that do not say them.
const fn sequential_depth() -> u32 {
    128
}

const fn random_depth() -> u32 {
    256
}

/// The figures as closed loops. Sequential writes find an empty drive, reads a full one, and random writes come after three
/// overwrites.
///
/// # Errors
/// A key is unknown, or a value wrong.
pub fn read_cells(file: &Path, text: &str, drive: Option<&str>) -> Result<Vec<DriveCell>, Failure> {
    let path = file.display();
    let sheet: SheetFile = toml::from_str(text)
        .map_err(|error| Failure::usage(format!("{path}: {}", error.to_string().trim_end())))?;
    let refused = |key: &str, value: &dyn std::fmt::Display, allowed: &str| {
        Failure::usage(format!("{path}: `{key}` is `{value}`. Allowed: {allowed}."))
    };
    for (key, depth) in [
        ("sequential_depth", sheet.sequential_depth),
        ("random_depth", sheet.random_depth),
    ] {
        if !(1..=65_536).contains(&depth) {
            return Err(refused(key, &depth, "1 to 65536"));
        }
    }
    let named = sheet.drive.as_deref().or(drive);
    let named = named.ok_or_else(|| {
        Failure::usage(format!(
            "{path}: `drive` is missing. Allowed: the name of the drive."
        ))
    })?;
    let mut cells = Vec::new();
    let mut add = |key: &'static str, reads: bool, sequential: bool, per_s: f64| {
        let (bytes, depth, pattern) = match sequential {
            true => (
                SEQUENTIAL_BYTES,
                sheet.sequential_depth,
                LoadPattern::Sequential,
            ),
            false => (RANDOM_BYTES, sheet.random_depth, LoadPattern::Random),
        };
        cells.push(DriveCell {
            drive: named.to_owned(),
            load: CellLoad {
                streams: vec![LoadStream {
                    threads: 1,
                    reads: if reads { 1.0 } else { 0.0 },
                    bytes,
                    pattern,
                    arrivals: LoadArrivals::Closed,
                    depth,
                    measured: true,
                }],
                fill: if sequential && !reads { 0.0 } else { 1.0 },
                overwrites: if reads || sequential { 0.0 } else { 3.0 },
                seconds: None,
            },
            measured: CellResult {
                writes_per_s: (!reads).then_some(per_s),
                reads_per_s: reads.then_some(per_s),
                ..CellResult::default()
            },
            place: MeasuredPlace {
                file: file.to_owned(),
                part: PlacePart::Key(key),
            },
        });
    };
    for (key, rate, reads) in [
        ("sequential_read", &sheet.sequential_read, true),
        ("sequential_write", &sheet.sequential_write, false),
    ] {
        let Some(text) = rate else { continue };
        let rate = bytes_per_second(text);
        let rate = rate.ok_or_else(|| refused(key, text, "a rate such as \"1500MB/s\""))?;
        add(key, reads, true, rate as f64 / SEQUENTIAL_BYTES as f64);
    }
    for (key, rate, reads) in [
        ("random_read", sheet.random_read, true),
        ("random_write", sheet.random_write, false),
    ] {
        let Some(rate) = rate else { continue };
        if !(1.0..=1e9).contains(&rate) {
            return Err(refused(key, &rate, "1 to 1e9 requests a second"));
        }
        add(key, reads, false, rate);
    }
    if cells.is_empty() {
        return Err(Failure::usage(format!(
            "{path}: the sheet has no figure. Allowed: sequential_read, sequential_write, random_read, random_write."
        )));
    }
    Ok(cells)
}
