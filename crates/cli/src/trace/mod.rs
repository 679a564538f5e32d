//! `destage trace`: looking at traces and converting them.

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
use crate::output::{print, print_json};
use crate::progress::Progress;
use crate::terminal::Warnings;
use convert::Writing;
use destage_sim::summary::TraceSummary;
use destage_trace::{LoadOptions, RequestSlice, Source, Stored, Volumes, open};
use destage_types::RequestBatch;
use info::TraceReport;
use std::path::{Path, PathBuf};

use crate::run::{read, trace_warnings};

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
        } => info(traces, input, memory.limit(), *json),
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
) -> Result<(), Failure> {
    let mut warnings = Warnings::default();
    let options = input.options(true);
    let mut first = true;
    let mut show = |report: &TraceReport| {
        let gap = if first { "" } else { "\n" };
        first = false;
        if !json {
            return print(&format!("{gap}{}", report.text()));
        }
        print_json(report)
    };
    for path in traces {
        if !input.split() {
            show(&streamed(path, &options, limit, &mut warnings)?)?;
            continue;
        }
        let trace = read(path, &options, limit.of_requests())?;
        trace_warnings(trace.meta(), &mut warnings);
        for volume in trace.split(limit.of_requests())? {
            show(&of_stored(volume?, limit)?)?;
        }
    }
    Ok(())
}

/// Requests of a pipe that are kept in memory, in bytes; more go to a temporary file.
const MEMORY: u64 = 8 << 20;

/// Requests between two looks at the memory that the program has.
const LOOK: u64 = 1 << 16;

/// Counts requests as long as there is memory for what is remembered of them.
struct Counting {
    summary: TraceSummary,
    requests: u64,
    limit: MemoryLimit,
}

impl Counting {
    fn new(limit: MemoryLimit) -> Counting {
        Counting {
            summary: TraceSummary::default(),
            requests: 0,
            limit,
        }
    }

    fn block(&mut self, name: &str, block: RequestSlice<'_>) -> Result<(), Failure> {
        self.summary.add(block);
        let looks = self.requests / LOOK;
        self.requests += block.records.len() as u64;
        if self.requests / LOOK > looks
            && let Some(bytes) = self.limit.exceeded()
        {
            let what = format!("{name}: counting its first {} requests", self.requests);
            return Err(self.limit.refused(&what, bytes));
        }
        Ok(())
    }
}

/// Streams a trace: memory grows with its footprint only.
fn streamed(
    path: &Path,
    options: &LoadOptions,
    limit: MemoryLimit,
    warnings: &mut Warnings,
) -> Result<TraceReport, Failure> {
    // Where volumes go depends on all their requests, and a pipe is read but once.
    if options.volumes == Volumes::Stack && !path.metadata().is_ok_and(|m| m.is_file()) {
        return piped(path, options, limit, warnings);
    }
    let mut reader = open(Source::from_arg(path), options)?;
    let progress = Progress::bytes(&format!("reading {}", path.display()), reader.progress().1);
    let mut counting = Counting::new(limit);
    let mut batch = RequestBatch::new();
    let name = path.display().to_string();
    while reader.next_batch(&mut batch)? > 0 {
        let records = batch.records();
        let block = RequestSlice {
            batch: &batch,
            records,
        };
        counting.block(&name, block)?;
        batch.clear();
        progress.set(reader.progress().0);
    }
    let meta = reader.finish()?;
    drop(progress);
    trace_warnings(&meta, warnings);
    Ok(TraceReport::of(&counting.summary, meta))
}

fn piped(
    path: &Path,
    options: &LoadOptions,
    limit: MemoryLimit,
    warnings: &mut Warnings,
) -> Result<TraceReport, Failure> {
    let stored = read(path, options, MEMORY)?;
    trace_warnings(stored.meta(), warnings);
    of_stored(stored, limit)
}

fn of_stored(stored: Stored, limit: MemoryLimit) -> Result<TraceReport, Failure> {
    let summary = counted(&stored, limit)?;
    Ok(TraceReport::of(&summary, stored.into_meta()))
}

/// What a trace consists of, as long as there is memory to count it.
///
/// # Errors
/// It cannot be read again, or takes too much memory.
pub fn counted(stored: &Stored, limit: MemoryLimit) -> Result<TraceSummary, Failure> {
    let mut counting = Counting::new(limit);
    let name = &stored.meta().name;
    let mut pass = stored.workload().pass()?;
    while let Some(block) = pass.next(LOOK)? {
        counting.block(name, block)?;
    }
    Ok(counting.summary)
}
