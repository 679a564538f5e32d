//! One cell of the jobs of a group.

use super::description::Description;
use super::latency::{LatencyClock, disbelief, joined_quantiles, mean_us, outstanding};
use super::options::{FioOptions, UnusedJob};
use super::output::{FioDirection, FioEntry};
use super::{FioContext, WrittenBytes};
use crate::measurements::cell::{
    CellLoad, CellResult, DriveCell, LatencyTable, LoadArrivals, LoadStream, MeasuredPlace,
    PlacePart,
};
use destage_console::failure::Failure;
use std::collections::BTreeMap;
use std::path::Path;

/// A group of jobs that ran at the same time.
pub struct ReadGroup<'a> {
    /// The file.
    pub file: &'a Path,
    /// Options of `[global]`.
    pub global: &'a BTreeMap<String, String>,
    /// Its entries; at least one.
    pub entries: &'a [&'a FioEntry],
    /// The description of a probe in the first entry.
    pub description: &'a Option<Description>,
}

/// Entries with one name: threads of one job, or all threads in one entry.
struct JobThreads<'a> {
    entries: Vec<&'a FioEntry>,
    stream: LoadStream,
}

/// The cell of a group; `None` if it is a preparation, or if nothing of it can be used. `doubts` then says why.
///
/// # Errors
/// An option of a job is wrong.
pub fn read_group(
    group: &ReadGroup<'_>,
    context: &FioContext,
    written: &WrittenBytes,
    doubts: &mut Vec<String>,
) -> Result<Option<DriveCell>, Failure> {
    if group.description.as_ref().is_some_and(|d| !d.cell) {
        return Ok(None);
    }
    let place = group.place();
    let Some(jobs) = group.jobs(doubts)? else {
        return Ok(None);
    };
    let checked = jobs.iter().try_for_each(check_results);
    let checked = checked.and_then(|()| check_length(&jobs));
    if let Err(what) = checked {
        doubts.push(format!("{place}: {what}. Nothing of it is used."));
        return Ok(None);
    }
    let (fill, overwrites) = group.written_before(context, written, doubts);
    let all: Vec<&FioEntry> = group.entries.to_vec();
    let rate = |of: fn(&FioEntry) -> &FioDirection| {
        let rate: f64 = all.iter().map(|entry| of(entry).iops).sum();
        (rate > 0.0).then_some(rate)
    };
    let measured = MeasuredLatencies::judge(&jobs, &place, doubts);
    let seconds = all.iter().map(|entry| entry.job_runtime).max();
    let result = CellResult {
        writes_per_s: rate(|entry| &entry.write),
        reads_per_s: rate(|entry| &entry.read),
        write: measured.table(|entry| &entry.write, "write", &place, doubts),
        read: measured.table(|entry| &entry.read, "read", &place, doubts),
    };
    let mut cell = DriveCell {
        drive: group.drive(context),
        load: CellLoad {
            streams: jobs.into_iter().map(|job| job.stream).collect(),
            fill,
            overwrites,
            seconds: seconds.filter(|ms| *ms > 0).map(|ms| ms as f64 / 1e3),
        },
        measured: result,
        place,
    };
    if let Some(description) = group.description {
        cell.quicken(description.slower);
    }
    Ok(Some(cell))
}

impl<'a> ReadGroup<'a> {
    fn place(&self) -> MeasuredPlace {
        let mut names: Vec<String> = Vec::new();
        for entry in self.entries {
            if !names.contains(&entry.jobname) {
                names.push(entry.jobname.clone());
            }
        }
        MeasuredPlace {
            file: self.file.to_owned(),
            part: PlacePart::Jobs(names),
        }
    }

    fn drive(&self, context: &FioContext) -> String {
        let described = self.description.as_ref().and_then(|d| d.drive.clone());
        let options = FioOptions::new(self.global, &self.entries[0].options);
        let named = options.text(&["filename", "uri"]);
        let named = named.map(str::to_owned).or_else(|| {
            let stem = self.file.file_stem();
            stem.map(|stem| stem.to_string_lossy().into_owned())
        });
        let drive = context.drive.clone().or(described).or(named);
        drive.unwrap_or_default()
    }

    /// Share of the drive that was filled before, and capacities that were overwritten.
    fn written_before(
        &self,
        context: &FioContext,
        written: &WrittenBytes,
        doubts: &mut Vec<String>,
    ) -> (f64, f64) {
        let capacity = self.description.as_ref().and_then(|d| d.capacity);
        let counted =
            capacity.map(|capacity| (written.fill(capacity), written.overwrites(capacity)));
        if counted.is_none() && context.fill.is_none() && context.overwrites.is_none() {
            doubts.push(format!(
                "{}: fio does not say what was written to the drive before. One sequential fill and no overwrites \
                 are assumed. --fill and --overwrites say otherwise.",
                self.file.display()
            ));
        }
        let (fill, overwrites) = counted.unwrap_or((1.0, 0.0));
        (
            context.fill.unwrap_or(fill),
            context.overwrites.unwrap_or(overwrites),
        )
    }

    /// The jobs with their streams; `None` if one of them cannot be used.
    fn jobs(&self, doubts: &mut Vec<String>) -> Result<Option<Vec<JobThreads<'a>>>, Failure> {
        let mut by_name: Vec<Vec<&'a FioEntry>> = Vec::new();
        for entry in self.entries {
            match by_name
                .iter_mut()
                .find(|job| job[0].jobname == entry.jobname)
            {
                Some(job) => job.push(entry),
                None => by_name.push(vec![entry]),
            }
        }
        let mut jobs = Vec::new();
        for entries in by_name {
            let place = format!("{}: job {}", self.file.display(), entries[0].jobname);
            match self.job(&entries) {
                Ok(stream) => jobs.push(JobThreads { entries, stream }),
                Err(UnusedJob::Wrong(what)) => {
                    return Err(Failure::usage(format!("{place}: {what}")));
                }
                Err(UnusedJob::NotACell(what)) => {
                    doubts.push(format!("{place} {what}. Nothing of its group is used."));
                    return Ok(None);
                }
            }
        }
        Ok(Some(jobs))
    }

    fn job(&self, entries: &[&FioEntry]) -> Result<LoadStream, UnusedJob> {
        let first = entries[0];
        let description = Description::parse(&first.desc).map_err(UnusedJob::Wrong)?;
        let options = FioOptions::new(self.global, &first.options);
        let stream = options.stream(description.is_none_or(|d| d.measured))?;
        let (threads, count) = (stream.threads, entries.len());
        if count != 1 && count != threads as usize {
            return Err(UnusedJob::NotACell(format!(
                "has numjobs={threads} and {count} entries. Give jobs of one group different names"
            )));
        }
        Ok(stream)
    }

    /// Counts what the group wrote, for the cells of later files.
    pub fn count_writes(&self, written: &mut WrittenBytes) {
        for entry in self.entries {
            let options = FioOptions::new(self.global, &entry.options);
            let word = options.text(&["rw", "readwrite"]).unwrap_or("read");
            let bytes = entry.write.io_bytes as f64;
            match word.starts_with("rand") {
                true => written.random += bytes,
                false => written.sequential += bytes,
            }
        }
    }
}

/// Requests of a closed loop for each place in its queue, at least.
const LEAST_TURNS: f64 = 4.0;

/// Closed loops need more requests than those with which they start and end.
fn check_length(jobs: &[JobThreads<'_>]) -> Result<(), String> {
    let is_closed = |job: &JobThreads<'_>| job.stream.arrivals == LoadArrivals::Closed;
    let entries = jobs.iter().flat_map(|job| &job.entries);
    let requests: u64 = entries.map(|e| e.read.total_ios + e.write.total_ios).sum();
    let depths = jobs.iter().map(|job| job.stream.depth * job.stream.threads);
    let depth = f64::from(depths.sum::<u32>());
    if jobs.iter().all(is_closed) && (requests as f64) < LEAST_TURNS * depth {
        return Err(format!(
            "{requests} requests are too few for a queue depth of {depth}: a closed loop of less than {LEAST_TURNS} times \
             its depth mostly starts and ends"
        ));
    }
    Ok(())
}

/// Checks the results of a job against its options.
fn check_results(job: &JobThreads<'_>) -> Result<(), String> {
    let stream = &job.stream;
    for entry in &job.entries {
        let name = &entry.jobname;
        if entry.error != 0 {
            return Err(format!("job {name} failed with error {}", entry.error));
        }
        let kinds = [
            ("read", &entry.read, stream.reads > 0.0),
            ("write", &entry.write, stream.reads < 1.0),
        ];
        if kinds
            .iter()
            .all(|(_, direction, _)| direction.total_ios == 0)
        {
            return Err(format!("job {name} completed no request"));
        }
        for (kind, direction, is_wanted) in kinds {
            if !is_wanted && direction.total_ios > 0 {
                return Err(format!(
                    "job {name} has {kind}s that its options do not ask for. With group_reporting, fio gives the \
                     options of one job for all jobs of a group"
                ));
            }
            check_direction(name, kind, direction, stream)?;
        }
    }
    Ok(())
}

/// Bytes, requests and rate of one direction must agree.
fn check_direction(
    name: &str,
    kind: &str,
    direction: &FioDirection,
    stream: &LoadStream,
) -> Result<(), String> {
    let (requests, seconds) = (direction.total_ios as f64, direction.runtime as f64 / 1e3);
    if requests == 0.0 {
        return Ok(());
    }
    // After a ramp, fio counts the bytes of requests that were outstanding then, and not the requests.
    let outstanding = f64::from(stream.depth) * f64::from(stream.threads);
    let (least, most) = (0.98 * requests - outstanding, 1.02 * requests + outstanding);
    let by_bytes = direction.io_bytes as f64 / stream.bytes as f64;
    if by_bytes < least || by_bytes > most {
        let bytes = direction.io_bytes as f64 / requests;
        return Err(format!(
            "job {name} moved {bytes:.0} bytes a {kind}, and its options say {}",
            stream.bytes
        ));
    }
    let rate = requests / seconds;
    if seconds > 0.5 && (direction.iops / rate - 1.0).abs() > 0.1 {
        return Err(format!(
            "job {name} had {requests} {kind}s in {seconds} s, and `iops` is {:.0}",
            direction.iops
        ));
    }
    Ok(())
}

/// Jobs whose latencies are wanted, and the clocks that are believed.
struct MeasuredLatencies<'a> {
    entries: Vec<&'a FioEntry>,
    believed: Vec<LatencyClock>,
}

impl<'a> MeasuredLatencies<'a> {
    fn judge(
        jobs: &[JobThreads<'a>],
        place: &MeasuredPlace,
        doubts: &mut Vec<String>,
    ) -> MeasuredLatencies<'a> {
        let measured = || jobs.iter().filter(|job| job.stream.measured);
        let entries: Vec<&FioEntry> = measured().flat_map(|job| job.entries.clone()).collect();
        let mut believed = Vec::new();
        for clock in [LatencyClock::Lat, LatencyClock::Clat] {
            let has = |entry: &&FioEntry| {
                clock.of(&entry.read).is_some() || clock.of(&entry.write).is_some()
            };
            if !entries.iter().all(has) {
                continue;
            }
            match measured().find_map(|job| disbelief_of_job(job, clock)) {
                None => believed.push(clock),
                Some(why) => {
                    let clock = clock.name();
                    doubts.push(format!(
                        "{place}: `{clock}` cannot be believed: {why}. It is not used."
                    ));
                }
            }
        }
        MeasuredLatencies { entries, believed }
    }

    /// Mean and quantiles of one direction.
    fn table(
        &self,
        of: fn(&FioEntry) -> &FioDirection,
        kind: &str,
        place: &MeasuredPlace,
        doubts: &mut Vec<String>,
    ) -> LatencyTable {
        let directions: Vec<&FioDirection> = self.entries.iter().map(|entry| of(entry)).collect();
        if directions.iter().all(|direction| direction.total_ios == 0) {
            return LatencyTable::default();
        }
        let clocks = || self.believed.iter().copied();
        let mean_us = clocks().find_map(|clock| mean_us(&directions, clock));
        let joined = clocks().map(|clock| joined_quantiles(&directions, clock));
        let joined: Vec<_> = joined.collect();
        let known = joined
            .iter()
            .flatten()
            .find(|quantiles| !quantiles.is_empty());
        let quantiles = known.cloned().unwrap_or_default();
        if quantiles.is_empty() {
            let why = match joined.iter().any(Option::is_none) {
                true => {
                    "those of several jobs cannot be joined. Use --output-format=json+ or group_reporting"
                }
                false => "no clock that can be believed has any",
            };
            doubts.push(format!(
                "{place}: percentiles of {kind}s are missing: {why}."
            ));
        }
        LatencyTable { mean_us, quantiles }
    }
}

/// A job with fewer requests than so many for each place in its queue mostly starts and ends.
const ENDS: f64 = 20.0;

/// Why a clock is not believed for a job.
fn disbelief_of_job(job: &JobThreads<'_>, clock: LatencyClock) -> Option<String> {
    let stream = &job.stream;
    let threads = stream.threads as usize / job.entries.len().max(1);
    let depth = f64::from(stream.depth) * threads as f64;
    job.entries.iter().find_map(|entry| {
        let directions = [&entry.read, &entry.write];
        let found = outstanding(&directions, clock);
        let is_closed = stream.arrivals == LoadArrivals::Closed;
        let requests = (entry.read.total_ios + entry.write.total_ios) as f64;
        let is_long = requests >= depth * ENDS;
        if clock == LatencyClock::Lat && is_closed && is_long && found < depth / 2.0 {
            return Some(format!(
                "mean times rate is {found:.1} requests outstanding, and the job asked for {depth} at all times"
            ));
        }
        disbelief(&directions, clock, depth)
    })
}
