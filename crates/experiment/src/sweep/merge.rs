//! The results of a whole sweep from those of its batches: the same bytes whoever did what, and when.

use crate::folder::{COSTS, RESULTS, ResultsFolder, RowsFile, forms};
use crate::options::FormatOut;
use crate::ownership::COSTS_HEADER;
use crate::sweep::line::BatchLine;
use crate::sweep::manifest::{Manifest, SweepBatch};
use crate::sweep::planning::batch_key;
use destage_console::failure::Failure;
use destage_console::file::{OutputFile, complete, require_regular};
use destage_report::rows::csv_cell;
use destage_sim::ResultRecord;
use destage_sim::record::RunInfo;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// Records for a table; more are not looked at by people.
const SHOWN: usize = 100;

/// Result of merging.
pub struct MergedSweep {
    /// The file of records.
    pub results: PathBuf,
    /// The records, if a table may show them.
    pub shown: Option<Vec<ResultRecord>>,
    /// Number of all records.
    pub records: u64,
    /// Runs that cannot run, a line each.
    pub refused: Vec<String>,
}

/// Files that are written together: all of them, or none.
struct MergedFiles {
    rows: Vec<RowsFile>,
    costs: BufWriter<OutputFile>,
}

/// Merges the batches of a sweep, all of which are done; `format` may ask for `results.csv` or
/// `results.parquet`, too.
///
/// # Errors
/// A file of a batch is not what the batch gives, or nothing can be written.
pub fn merge(
    folder: &ResultsFolder,
    manifest: &Manifest,
    format: FormatOut,
) -> Result<MergedSweep, Failure> {
    let unwritten = |error: io::Error| {
        Failure::Run(format!(
            "cannot write the results to {}: {error}",
            folder.path().display()
        ))
    };
    folder.require_own_results(manifest, format)?;
    let mut files = MergedFiles::create(folder, format).map_err(unwritten)?;
    let mut shown = (manifest.head.runs <= SHOWN as u64).then(Vec::new);
    let mut records = 0;
    let mut refused = manifest.head.refused.clone();
    for (number, batch) in manifest.batches.iter().enumerate() {
        for line in read(folder, number, batch)? {
            let mut record = match line {
                BatchLine::Record(record) => *record,
                BatchLine::Refused(line) => {
                    // All runs over a trace that suits none say the same.
                    if refused.last() != Some(&line.refused) {
                        refused.push(line.refused);
                    }
                    continue;
                }
            };
            records += 1;
            let run = std::mem::take(&mut record.run);
            files.add_cost(&record, &run).map_err(unwritten)?;
            record.run.key = run.key;
            files.add(&record).map_err(unwritten)?;
            if let Some(shown) = &mut shown {
                shown.push(record);
            }
        }
    }
    files.commit().map_err(unwritten)?;
    let results = folder.path().join(RESULTS);
    Ok(MergedSweep {
        results,
        shown,
        records,
        refused,
    })
}

/// The lines of a batch.
fn read(
    folder: &ResultsFolder,
    number: usize,
    batch: &SweepBatch,
) -> Result<Vec<BatchLine>, Failure> {
    let path = folder.file_of(batch);
    let refused = |line: &str, why: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "{}{line}: {why}; remove the file, and run the sweep again, which repeats only batch {number}",
            path.display()
        ))
    };
    require_regular(&path).map_err(|error| refused("", &error))?;
    let text = fs::read(&path).map_err(|error| refused("", &error))?;
    let mut lines = Vec::new();
    for (i, line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
        lines.push(BatchLine::parse(line).map_err(|why| refused(&format!(":{}", i + 1), &why))?);
    }
    let keys = lines.iter().map(BatchLine::key);
    match lines.len() == batch.len() && batch_key(keys) == batch.key {
        true => Ok(lines),
        false => Err(refused(
            "",
            &format!("not the {} records of batch {number}", batch.len()),
        )),
    }
}

impl MergedFiles {
    fn create(folder: &ResultsFolder, format: FormatOut) -> io::Result<MergedFiles> {
        let rows = forms(format).map(|form| folder.rows(form));
        let rows = rows.collect::<io::Result<_>>()?;
        let mut costs = BufWriter::new(OutputFile::create(&folder.path().join(COSTS))?);
        writeln!(costs, "{COSTS_HEADER}")?;
        Ok(MergedFiles { rows, costs })
    }

    fn add(&mut self, record: &ResultRecord) -> io::Result<()> {
        self.rows.iter_mut().try_for_each(|rows| rows.write(record))
    }

    fn add_cost(&mut self, record: &ResultRecord, run: &RunInfo) -> io::Result<()> {
        let text = |text: &str| csv_cell(&text.into());
        let number = |number: Option<f64>| number.map_or_else(String::new, |n| n.to_string());
        writeln!(
            self.costs,
            "{},{},{},{},{},{},{},{}",
            run.key,
            text(&record.trace.name),
            text(&record.scheme),
            record.cache_bytes,
            number(run.wall_s),
            number(run.cpu_s),
            run.threads.map_or_else(String::new, |n| n.to_string()),
            text(run.host.as_deref().unwrap_or_default()),
        )
    }

    /// The records come last: where they are, all is there.
    fn commit(self) -> io::Result<()> {
        complete(self.costs)?;
        for rows in self.rows.into_iter().rev() {
            complete(rows.finish()?)?;
        }
        Ok(())
    }
}
