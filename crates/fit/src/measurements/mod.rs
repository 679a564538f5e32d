//! Measurements of drives: readers of tables and of fio output.
//!
//! - `cell`: what every reader gives;
//! - `load_table`, `cell_table`, `pattern_table`: CSV tables, published ones and destage's own;
//! - `sheet`: figures of a data sheet;
//! - `fio`: output of fio, of which only what agrees with itself is used.

mod cell;
mod cell_table;
mod fio;
mod load_table;
mod pattern_table;
mod sheet;
mod table;

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) mod examples;

pub use cell::{
    CellLoad, CellResult, DriveCell, LatencyTable, LoadArrivals, LoadPattern, LoadStream,
    MeasuredPlace, Measurements, PlacePart, Quantile,
};
pub use fio::FioContext;
pub use load_table::load_at;
pub use pattern_table::{PARTS, PatternRun, SMALL_WRITE};

use destage_console::failure::Failure;
use destage_console::file::require_regular;
use fio::WrittenBytes;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use table::CsvTable;

/// Reads files and folders of measurements of one drive. Of a folder, the files `*.json`, `*.csv` and `*.toml` are read in the
/// order of their names. `context` has the name of the drive, which selects rows of tables.
///
/// # Errors
/// A file cannot be read, has a wrong value, or has several drives and none is chosen. Nothing can be used.
pub fn read_measurements(paths: &[PathBuf], context: &FioContext) -> Result<Measurements, Failure> {
    let mut files = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => files.extend(files_of_folder(path)?),
            false => files.push(path.clone()),
        }
    }
    let (mut found, mut written) = (Measurements::default(), WrittenBytes::default());
    for file in &files {
        read_file(file, context, &mut written, &mut found)?;
    }
    let mut seen = BTreeSet::new();
    found.doubts.retain(|doubt| seen.insert(doubt.clone()));
    select_drive(&mut found, context)?;
    if found.cells.is_empty() && found.patterns.is_empty() {
        let mut faults = vec!["no measurement can be used".to_owned()];
        faults.extend(found.doubts);
        return Err(Failure::Usage(faults));
    }
    Ok(found)
}

fn files_of_folder(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let refused = |error: std::io::Error| Failure::usage(format!("{}: {error}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(refused)?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(refused)?.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if matches!(extension, Some("json" | "csv" | "toml")) {
            files.push(path);
        }
    }
    files.sort();
    // A pipe would be waited for.
    for file in &files {
        let regular = require_regular(file);
        regular.map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
    }
    if files.is_empty() {
        let folder = folder.display();
        let fault = format!("{folder}: the folder has no file *.json, *.csv or *.toml");
        return Err(Failure::usage(fault));
    }
    Ok(files)
}

fn read_file(
    file: &Path,
    context: &FioContext,
    written: &mut WrittenBytes,
    found: &mut Measurements,
) -> Result<(), Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
    if fio::is_fio_output(&text) {
        return fio::read_file(file, &text, context, written, found);
    }
    if file
        .extension()
        .is_some_and(|extension| extension == "toml")
    {
        let drive = context.drive.as_deref();
        found.cells.extend(sheet::read_cells(file, &text, drive)?);
        return Ok(());
    }
    let table = CsvTable::parse(file, &text)?;
    if pattern_table::is_pattern_table(&table) {
        let table = pattern_table::read_runs(file, &table)?;
        found.patterns.extend(table.runs);
        found.cells.extend(table.fills);
        found.doubts.extend(table.doubts);
        return Ok(());
    }
    let cells = match load_table::is_load_table(&table) {
        true => load_table::read_cells(file, &table)?,
        false => cell_table::read_cells(file, &table)?,
    };
    found.cells.extend(cells);
    Ok(())
}

/// Keeps the cells of one drive.
fn select_drive(found: &mut Measurements, context: &FioContext) -> Result<(), Failure> {
    let of_patterns = found.patterns.iter().map(|run| &run.drive);
    let drives = found
        .cells
        .iter()
        .map(|cell| &cell.drive)
        .chain(of_patterns);
    let drives: BTreeSet<String> = drives.cloned().collect();
    let all = drives.iter().cloned().collect::<Vec<_>>().join(", ");
    match &context.drive {
        Some(drive) if drives.contains(drive) => {
            found.cells.retain(|cell| cell.drive == *drive);
            found.patterns.retain(|run| run.drive == *drive);
        }
        Some(drive) if !drives.is_empty() => {
            let fault = format!("--drive is `{drive}`. Allowed: {all}.");
            return Err(Failure::usage(fault));
        }
        None if drives.len() > 1 => {
            let count = drives.len();
            let fault =
                format!("the measurements are of {count} drives. Choose one with --drive: {all}.");
            return Err(Failure::usage(fault));
        }
        _ => {}
    }
    Ok(())
}
