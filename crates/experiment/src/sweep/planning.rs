//! From a sweep file to its manifest: every fault that needs no run is found here, and runs are put together
//! to batches.

use crate::failures::explained;
use crate::hash::of_parts;
use crate::options::{Addresses, FootprintShare};
use crate::run::Plan;
use crate::run::key::{identity, run_key};
use crate::run::parse_moment;
use crate::sweep::grid::{Grid, GridTrace, SweepDescription};
use crate::sweep::manifest::{Manifest, SweepBatch, SweepTrace};
use crate::sweep::traces::{TraceSources, file_name, is_address};
use destage_console::failure::Failure;
use destage_console::terminal::Warnings;
use destage_sim::RunSpec;
use destage_sim::precondition::address_space;
use destage_trace::{LoadOptions, Source, open, trace_in};
use destage_types::RequestBatch;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

/// Requests of a trace that are decoded to estimate the others.
const SAMPLE: usize = 200_000;
/// Seconds of a page access without a device and with one, and of a run without any: what common schemes take.
const ACCESS: f64 = 80e-9;
const TIMED_ACCESS: f64 = 400e-9;
const RUN: f64 = 1e-3;
/// Estimated time of a batch in seconds; so most are between 10 and 60 s where estimates are wrong
/// by a factor of two (SW-1).
const SECONDS: f64 = 30.0;
/// There are at least so many batches, as long as they take a second: else some workers of a small sweep would
/// wait for the last ones for long (SW-1).
const AT_LEAST: f64 = 64.0;

/// How much a batch has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum BatchSize {
    /// So many runs.
    Runs(usize),
    /// As many runs as take that long on one processor, by estimate.
    Time(Duration),
}

impl FromStr for BatchSize {
    type Err = String;

    fn from_str(text: &str) -> Result<BatchSize, String> {
        if let Ok(runs @ 1..) = text.parse::<usize>() {
            return Ok(BatchSize::Runs(runs));
        }
        let time = parse_moment(text).ok().filter(|time| time.0 > 0);
        let time = time.ok_or_else(|| {
            format!("`{text}` is neither a number of runs nor a time such as 30s")
        })?;
        Ok(BatchSize::Time(Duration::from_nanos(time.0)))
    }
}

impl fmt::Display for BatchSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BatchSize::Runs(runs) => runs.fmt(f),
            BatchSize::Time(time) => write!(f, "{}ns", time.as_nanos()),
        }
    }
}

/// Properties of a plan's runs that planning needs.
struct PlannedRuns {
    /// Runs over one decoded trace have the same.
    context: String,
    limit: Option<u64>,
    host_fs: Option<String>,
    runs: Vec<PlannedRun>,
}

struct PlannedRun {
    /// Hash of what it is.
    identity: String,
    passes: f64,
    /// Seconds of a page access.
    access: f64,
}

/// Size of a trace, estimated from a sample.
struct SampledTrace {
    trace: SweepTrace,
    requests: f64,
    /// Pages of 4 KiB of a request.
    pages: f64,
}

/// The context that runs over one decoded copy of a trace share: how it is read, the file system,
/// the moved addresses; and the page, as `run` has one for all runs over a trace.
pub fn context(plan: &Plan) -> String {
    let fs = plan.host_fs.first().map(|fs| fs.text.as_str());
    let page = plan.runs.first().map(|run| run.page);
    let fits = plan.addresses == Addresses::Fit;
    let first = plan.runs.first().filter(|_| fits);
    let space = first.and_then(|run| Some(address_space(run.device.as_ref()?)));
    format!("{:?} {fs:?} {page:?} {space:?}", plan.load)
}

/// The name of a run's trace in records: with the file system that is between it and the device.
pub fn recorded_name(trace: &SweepTrace, host_fs: Option<&str>) -> String {
    host_fs.map_or(trace.name.clone(), |fs| format!("{}+{fs}", trace.name))
}

/// The key of a batch of runs with `keys`, in 32 digits.
pub fn batch_key<'a>(keys: impl IntoIterator<Item = &'a str>) -> String {
    let mut key = of_parts(keys);
    key.truncate(32);
    key
}

/// Plans a sweep; `grid` is what it says.
///
/// # Errors
/// All faults of the plans, then all of the traces.
pub fn plan(
    sweep: &SweepDescription,
    grid: &Grid,
    sources: &TraceSources,
    size: Option<BatchSize>,
    warnings: &mut Warnings,
) -> Result<Manifest, Failure> {
    let (mut planned, mut loads) = (Vec::new(), BTreeMap::new());
    let (mut faults, mut refused): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for number in 0..grid.plans() {
        match grid.plan(number) {
            Ok(plan) => {
                let new = plan.refusals().filter(|line| !refused.contains(line));
                refused.extend(new.collect::<Vec<_>>());
                warnings.extend(plan.warnings.iter().cloned());
                planned.push(runs_of(&plan));
                loads.insert(number, plan.load);
            }
            Err(Failure::Usage(found)) => {
                let new = found.into_iter().filter(|fault| !faults.contains(fault));
                faults.extend(new.collect::<Vec<_>>());
            }
            Err(other) => return Err(other),
        }
    }
    Failure::unless_none(faults)?;
    if planned.iter().all(|plan| plan.runs.is_empty()) {
        return Err(Failure::Usage(refused));
    }
    let (mut traces, mut faults) = (Vec::new(), Vec::new());
    for (number, trace) in grid.traces.iter().enumerate() {
        match sampled(
            trace,
            sweep.text.sha256.get(&trace.path),
            sources,
            &loads[&grid.first_plan(number)],
        ) {
            Ok(trace) => traces.push(trace),
            Err(Failure::Usage(found)) => {
                let found = found.into_iter();
                faults.extend(found.map(|fault| grid.trace_fault(number, &fault)));
            }
            Err(other) => return Err(other),
        }
    }
    Failure::unless_none(faults)?;
    let batches = batches(grid, &planned, &traces, size);
    let traces = traces.into_iter().map(|sampled| sampled.trace).collect();
    let folder = &sources.folder;
    Ok(Manifest::new(sweep, folder, traces, batches, refused))
}

fn runs_of(plan: &Plan) -> PlannedRuns {
    let run = |(run, share): (&RunSpec, &Option<FootprintShare>)| PlannedRun {
        identity: identity(plan, run, *share),
        passes: run.warmup.resolve(u64::MAX).map_or(1.0, |r| r.1 as f64),
        access: match run.device {
            Some(_) => TIMED_ACCESS,
            None => ACCESS,
        },
    };
    PlannedRuns {
        context: context(plan),
        limit: plan.load.limit,
        host_fs: plan.host_fs.first().map(|fs| fs.text.clone()),
        runs: plan.runs.iter().zip(&plan.shares).map(run).collect(),
    }
}

/// Reads a trace: its hash, and from its beginning how long it is.
fn sampled(
    trace: &GridTrace,
    expected: Option<&String>,
    sources: &TraceSources,
    options: &LoadOptions,
) -> Result<SampledTrace, Failure> {
    let path = trace.path.as_str();
    let mut place = trace_in(&sources.folder, path);
    if let (Some(cache), Some(sha256)) = (&sources.cache, expected)
        && is_address(path)
    {
        place = cache.join(sha256).join(file_name(path));
    }
    if is_address(path) && !place.is_file() {
        return Err(Failure::usage(format!(
            "{path} is an address: the Python package fetches it, or put the file into \
             TRACE-CACHE/SHA256/{} and say the hash in [sha256]",
            file_name(path)
        )));
    }
    let options = LoadOptions {
        hash: true,
        limit: None,
        ..options.clone()
    };
    let refused = |error| Failure::usage(explained(&error));
    let mut reader = open(Source::from_arg(&place), &options).map_err(refused)?;
    let (mut batch, mut requests, mut pages) = (RequestBatch::new(), 0, 0);
    let mut whole = false;
    while requests < SAMPLE && !whole {
        batch.clear();
        let read = reader.next_batch(&mut batch).map_err(refused)?;
        whole = read == 0;
        requests += read;
        let sectors = batch
            .records()
            .iter()
            .map(|r| u64::from(r.sectors.div_ceil(8)));
        pages += sectors.sum::<u64>();
    }
    let (read, bytes) = reader.progress();
    let factor = match (whole, bytes) {
        (false, Some(bytes)) => bytes as f64 / read.max(1) as f64,
        _ => 1.0,
    };
    let meta = reader.finish().map_err(refused)?;
    let bytes = place.metadata().map_or(0, |there| there.len());
    let trace = SweepTrace {
        path: path.to_owned(),
        name: trace.name.clone(),
        sha256: meta.sha256.unwrap_or_default(),
        bytes,
    };
    if let Some(expected) = expected
        && !trace.sha256.eq_ignore_ascii_case(expected)
    {
        return Err(Failure::usage(format!(
            "{}: its SHA-256 is {}, and [sha256] says {expected}",
            place.display(),
            trace.sha256
        )));
    }
    Ok(SampledTrace {
        trace,
        requests: requests as f64 * factor.max(1.0),
        pages: pages as f64 / requests.max(1) as f64,
    })
}

/// Puts runs together that follow each other and have one trace and one context.
fn batches(
    grid: &Grid,
    planned: &[PlannedRuns],
    traces: &[SampledTrace],
    size: Option<BatchSize>,
) -> Vec<SweepBatch> {
    let seconds = |trace: usize, plan: usize, run: usize| {
        let (trace, plan) = (&traces[trace], &planned[plan]);
        let limit = plan.limit.map_or(f64::INFINITY, |limit| limit as f64);
        let run = &plan.runs[run];
        RUN + trace.requests.min(limit) * trace.pages * run.passes * run.access
    };
    let all = || {
        grid.parts().flat_map(|(of, plans)| {
            of.iter().flat_map(move |&trace| {
                let runs = move |plan: usize| (0..planned[plan].runs.len()).map(move |r| (plan, r));
                plans
                    .clone()
                    .flat_map(runs)
                    .map(move |(p, r)| (trace, p, r))
            })
        })
    };
    let total = || {
        all()
            .map(|(trace, plan, run)| seconds(trace, plan, run))
            .sum()
    };
    let (most, longest) = bounds(size, total);
    let mut batches: Vec<SweepBatch> = Vec::new();
    let mut keys: Vec<String> = Vec::new();
    let mut last: Option<(usize, &str)> = None;
    let close = |batches: &mut Vec<SweepBatch>, keys: &mut Vec<String>| {
        if let Some(batch) = batches.last_mut() {
            batch.key = batch_key(keys.iter().map(String::as_str));
            // Milliseconds are enough of an estimate.
            batch.seconds = (batch.seconds * 1e3).round() / 1e3;
        }
        keys.clear();
    };
    for (trace, plan, run) in all() {
        let (now, cost) = ((trace, &*planned[plan].context), seconds(trace, plan, run));
        let joins = last == Some(now)
            && keys.len() < most
            && batches.last().is_some_and(|b| b.seconds + cost <= longest);
        if !joins {
            close(&mut batches, &mut keys);
            batches.push(SweepBatch {
                key: String::new(),
                trace,
                seconds: 0.0,
                runs: Vec::new(),
            });
        }
        last = Some(now);
        let (known, of_plan) = (&traces[trace].trace, &planned[plan]);
        let name = recorded_name(known, of_plan.host_fs.as_deref());
        keys.push(run_key(&name, &known.sha256, &of_plan.runs[run].identity));
        let batch = batches.last_mut().expect("one was begun");
        batch.seconds += cost;
        match batch.runs.last_mut() {
            Some(part) if part.0 == plan && part.1 + part.2 == run => part.2 += 1,
            _ => batch.runs.push((plan, run, 1)),
        }
    }
    close(&mut batches, &mut keys);
    batches
}

/// The most runs of a batch, and the most seconds; `total` is what all take.
fn bounds(size: Option<BatchSize>, total: impl FnOnce() -> f64) -> (usize, f64) {
    match size {
        Some(BatchSize::Runs(runs)) => (runs, f64::INFINITY),
        Some(BatchSize::Time(time)) => (usize::MAX, time.as_secs_f64()),
        None => (usize::MAX, (total() / AT_LEAST).clamp(1.0, SECONDS)),
    }
}

/// The folder of a sweep file.
pub fn folder_of(file: &Path) -> &Path {
    let parent = file.parent().filter(|folder| *folder != Path::new(""));
    parent.unwrap_or(Path::new("."))
}
