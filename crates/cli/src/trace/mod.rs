//! `destage trace`: looking at traces and converting them.

mod charts;
mod compare;
mod convert;
mod import;
mod info;
mod report;
mod synth;
pub mod twin;

use crate::args::{InputArgs, ToFormat, TraceArgs, TraceCommand};
use crate::failure::Failure;
use crate::memory::MemoryLimit;
use crate::output::{identity, print, print_json};
use crate::progress::Progress;
use crate::report::page::ReportPage;
use crate::terminal::Warnings;
use convert::Writing;
use destage_sim::summary::TraceSummary;
use destage_trace::{LoadOptions, RequestSlice, Source, Stored, TraceMeta, Volumes, open};
use destage_types::RequestBatch;
use info::TraceReport;
use std::path::{Path, PathBuf};

use crate::run::{read, time_warning, trace_warnings};

/// Does what `args` say.
///
/// # Errors
/// Bad input, or an output that cannot be written.
pub fn run(args: &TraceArgs) -> Result<(), Failure> {
    match &args.command {
        TraceCommand::Info {
            traces,
            input,
            memory,
            json,
            report,
        } => info(traces, input, memory.limit(), *json, report.as_deref()),
        TraceCommand::Convert {
            trace,
            input,
            memory,
            output,
            to,
        } => {
            let (to, limit) = (to.unwrap_or(ToFormat::Destage), memory.limit());
            convert::run(trace, input, Writing { output, to, limit })
        }
        TraceCommand::ImportFtrace(args) => import::run(args),
        TraceCommand::Synth(args) => synth::run(args),
        TraceCommand::Fit(args) => twin::fit(args),
        TraceCommand::Compare {
            a,
            b,
            input,
            memory,
            json,
        } => compare::run([a, b], input, memory.limit(), *json),
        TraceCommand::Head {
            trace,
            input,
            requests,
        } => {
            let limit = input.limit.map_or(*requests, |limit| limit.min(*requests));
            let limit = Some(limit);
            let input = InputArgs {
                limit,
                ..input.clone()
            };
            let writing = Writing {
                output: Path::new("-"),
                to: ToFormat::Destage,
                limit: MemoryLimit::new(None),
            };
            convert::run(trace, &input, writing)
        }
    }
}

fn info(
    traces: &[PathBuf],
    input: &InputArgs,
    limit: MemoryLimit,
    json: bool,
    report: Option<&Path>,
) -> Result<(), Failure> {
    if let Some(report) = report {
        identity::refuse(traces.iter().map(PathBuf::as_path), report)?;
        crate::report::check(report)?;
    }
    let mut page = report.map(|_| ReportPage::new("destage trace info"));
    let mut warnings = Warnings::default();
    let options = input.options(true);
    let mut first = true;
    let counting = |name: &str| Counting::new(name, limit, report.is_some());
    let mut show = |(summary, meta): (TraceSummary, TraceMeta)| {
        let figures = TraceReport::of(&summary, meta);
        if let Some((page, profile)) = page.as_mut().zip(summary.profile.as_ref()) {
            charts::section(page, &figures, profile);
        }
        let gap = if first { "" } else { "\n" };
        first = false;
        match json {
            true => print_json(&figures),
            false => print(&format!("{gap}{}", figures.text())),
        }
    };
    for path in traces {
        if !input.split() {
            let counting = counting(&path.display().to_string());
            show(streamed(path, &options, counting, &mut warnings)?)?;
            continue;
        }
        let trace = read(path, &options, limit.of_requests())?;
        trace_warnings(trace.meta(), &mut warnings);
        warnings.extend(time_warning(trace.meta()));
        for volume in trace.split(limit.of_requests())? {
            let volume = volume?;
            let counting = counting(&volume.meta().name);
            show((counting.stored(&volume)?, volume.into_meta()))?;
        }
    }
    match report.zip(page) {
        Some((path, page)) => crate::report::write(path, page),
        None => Ok(()),
    }
}

/// Requests that are kept in memory, in bytes; more go to a temporary file.
const MEMORY: u64 = 8 << 20;

/// Requests between two looks at the memory that the program has.
const LOOK: u64 = 1 << 16;

/// Counts the requests of a trace as long as there is memory for what is remembered of them.
struct Counting {
    name: String,
    summary: TraceSummary,
    requests: u64,
    limit: MemoryLimit,
}

impl Counting {
    fn new(name: &str, limit: MemoryLimit, with_profile: bool) -> Counting {
        Counting {
            name: name.to_owned(),
            summary: match with_profile {
                true => TraceSummary::with_profile(),
                false => TraceSummary::default(),
            },
            requests: 0,
            limit,
        }
    }

    fn block(&mut self, block: RequestSlice<'_>) -> Result<(), Failure> {
        self.summary.add(block);
        let looks = self.requests / LOOK;
        self.requests += block.records.len() as u64;
        if self.requests / LOOK > looks
            && let Some(bytes) = self.limit.exceeded()
        {
            let (name, requests) = (&self.name, self.requests);
            let what = format!("{name}: counting its first {requests} requests");
            return Err(self.limit.refused(&what, bytes));
        }
        Ok(())
    }

    /// Counts a whole trace.
    fn stored(mut self, trace: &Stored) -> Result<TraceSummary, Failure> {
        let mut pass = trace.workload().pass()?;
        while let Some(block) = pass.next(LOOK)? {
            self.block(block)?;
        }
        Ok(self.summary)
    }
}

/// Streams a trace: memory grows with its footprint only.
fn streamed(
    path: &Path,
    options: &LoadOptions,
    mut counting: Counting,
    warnings: &mut Warnings,
) -> Result<(TraceSummary, TraceMeta), Failure> {
    // Where volumes go depends on all their requests, and a pipe is read but once.
    if options.volumes == Volumes::Stack && !path.metadata().is_ok_and(|m| m.is_file()) {
        let stored = read(path, options, MEMORY)?;
        trace_warnings(stored.meta(), warnings);
        warnings.extend(time_warning(stored.meta()));
        counting.name.clone_from(&stored.meta().name);
        return Ok((counting.stored(&stored)?, stored.into_meta()));
    }
    let mut reader = open(Source::from_arg(path), options)?;
    let progress = Progress::bytes(&format!("reading {}", path.display()), reader.progress().1);
    let mut batch = RequestBatch::new();
    while reader.next_batch(&mut batch)? > 0 {
        let records = batch.records();
        counting.block(RequestSlice {
            batch: &batch,
            records,
        })?;
        batch.clear();
        progress.set(reader.progress().0);
    }
    let meta = reader.finish()?;
    drop(progress);
    trace_warnings(&meta, warnings);
    warnings.extend(time_warning(&meta));
    Ok((counting.summary, meta))
}

/// What a trace consists of, as long as there is memory to count it.
///
/// # Errors
/// It cannot be read again, or takes too much memory.
pub fn counted(stored: &Stored, limit: MemoryLimit) -> Result<TraceSummary, Failure> {
    Counting::new(&stored.meta().name, limit, false).stored(stored)
}
