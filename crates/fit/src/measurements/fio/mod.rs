//! JSON and JSON+ output of fio 3: one cell for each group of jobs that ran at the same time.
//!
//! fio's own figures are checked before they are used. Little's law says how many requests were outstanding; a job
//! cannot have had more than its depth. With polled completions fio 3.32 writes a `clat_ns` of many seconds beside
//! a correct `lat_ns`, and the law tells them apart.

mod description;
mod group;
mod latency;
mod options;
mod output;

#[cfg(test)]
mod tests;

use super::cell::Measurements;
use description::Description;
use destage_console::failure::Failure;
use group::{ReadGroup, read_group};
use output::{FioEntry, FioOutput};
use std::path::Path;

/// Facts for the reader of fio output that the output does not contain.
#[derive(Clone, Debug, Default)]
pub struct FioContext {
    /// Name of the drive.
    pub drive: Option<String>,
    /// Share of the drive that was written sequentially before.
    pub fill: Option<f64>,
    /// Capacities that were overwritten at random after that.
    pub overwrites: Option<f64>,
}

/// Bytes that a probe has written to its drive so far, by its own files.
#[derive(Clone, Debug, Default)]
pub struct WrittenBytes {
    sequential: f64,
    random: f64,
}

impl WrittenBytes {
    /// Share of the drive that was written sequentially, in whole quarters: cells that begin on the same state share
    /// it in a simulation, and it may not have been written where a segment of the fill begins.
    fn fill(&self, capacity: f64) -> f64 {
        // A last segment ends below the capacity where that is no multiple of a request.
        let share = self.sequential / capacity + 0.001;
        ((share * 4.0).floor() / 4.0).min(1.0)
    }

    /// Capacities that were overwritten at random, in halves and three at most. A drive is in its steady state then,
    /// and cells that begin on the same state share it in a simulation.
    fn overwrites(&self, capacity: f64) -> f64 {
        ((self.random / capacity * 2.0).round() / 2.0).min(3.0)
    }
}

/// Is this output of fio? fio may write messages before the JSON.
pub fn is_fio_output(text: &str) -> bool {
    json_of(text).is_some()
}

fn json_of(text: &str) -> Option<&str> {
    if text.trim_start().starts_with('{') {
        return Some(text.trim_start());
    }
    let start = text.find("\n{")?;
    Some(&text[start + 1..])
}

/// Adds the cells of one file to `found`.
///
/// # Errors
/// The file is no output of fio 3, or an option of a job is wrong.
pub fn read_file(
    file: &Path,
    text: &str,
    context: &FioContext,
    written: &mut WrittenBytes,
    found: &mut Measurements,
) -> Result<(), Failure> {
    let name = file.display();
    let json = json_of(text).unwrap_or_default();
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<FioOutput>();
    let output = match values.next() {
        Some(Ok(output)) => output,
        Some(Err(error)) => {
            let what = "this is no JSON or JSON+ output of fio 3";
            return Err(Failure::usage(format!("{name}: {what}: {error}")));
        }
        None => return Err(Failure::usage(format!("{name}: the file is empty"))),
    };
    if output.jobs.is_empty() {
        return Err(Failure::usage(format!(
            "{name}: `jobs` is empty: no job ended"
        )));
    }
    let groups = groups(&output.jobs);
    if let Some(doubt) = overlap(&groups) {
        found.doubts.push(format!("{name}: {doubt}"));
        return Ok(());
    }
    for entries in groups {
        let description = Description::parse(&entries[0].desc).map_err(|what| {
            Failure::usage(format!("{name}: job {}: {what}", entries[0].jobname))
        })?;
        let group = ReadGroup {
            file,
            global: &output.global,
            entries: &entries,
            description: &description,
        };
        let cell = read_group(&group, context, written, &mut found.doubts)?;
        found.cells.extend(cell);
        if description.as_ref().is_some_and(|d| d.capacity.is_some()) {
            group.count_writes(written);
        }
    }
    Ok(())
}

/// Entries by group, in the order of the output.
fn groups(jobs: &[FioEntry]) -> Vec<Vec<&FioEntry>> {
    let mut groups: Vec<Vec<&FioEntry>> = Vec::new();
    for job in jobs {
        match groups
            .iter_mut()
            .find(|group| group[0].groupid == job.groupid)
        {
            Some(group) => group.push(job),
            None => groups.push(vec![job]),
        }
    }
    groups
}

/// Groups that cannot have run one after another: with `new_group` they run at the same time, and fio does not say
/// which of them did.
fn overlap(groups: &[Vec<&FioEntry>]) -> Option<String> {
    let longest = |group: &Vec<&FioEntry>| group.iter().map(|job| job.job_runtime).max();
    let seconds = groups.iter().filter_map(longest).sum::<u64>() as f64 / 1e3;
    let elapsed = groups.first()?.first()?.elapsed;
    let is_too_long = elapsed > 0.0 && seconds > elapsed * 1.02 + 2.0;
    is_too_long.then(|| {
        format!(
            "its groups took {seconds:.0} s together, and fio ran for {elapsed:.0} s. Groups ran at the same time \
             (new_group), and fio does not say which. Separate them by stonewall, or use one group"
        )
    })
}
