//! `destage trace`: looking at traces and converting them.

mod convert;
mod import;
mod info;
mod pages;
mod report;
mod synth;

use crate::args::{InputArgs, ToFormat, TraceArgs, TraceCommand};
use crate::failure::Failure;
use crate::output::{print, print_exactly};
use crate::terminal::{Progress, Warnings};
use destage_trace::{LoadOptions, Source, TraceError, Volumes, load, load_bounded, open, split};
use destage_types::RequestBatch;
use info::{Info, TraceReport};
use std::path::{Path, PathBuf};

use crate::run::trace_warnings;

/// Does what `args` say.
///
/// # Errors
/// Bad input, or an output that cannot be written.
pub fn run(args: &TraceArgs) -> Result<(), Failure> {
    match &args.command {
        TraceCommand::Info {
            traces,
            input,
            json,
        } => info(traces, input, *json),
        TraceCommand::Convert {
            trace,
            input,
            output,
            to,
        } => convert::run(trace, input, output, to.unwrap_or(ToFormat::Destage)),
        TraceCommand::ImportFtrace(args) => import::run(args),
        TraceCommand::Synth(args) => synth::run(args),
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
            convert::run(trace, &input, Path::new("-"), ToFormat::Destage)
        }
    }
}

fn info(traces: &[PathBuf], input: &InputArgs, json: bool) -> Result<(), Failure> {
    let mut warnings = Warnings::default();
    let options = input.options(true);
    let mut first = true;
    let mut show = |report: &TraceReport| {
        let gap = if first { "" } else { "\n" };
        first = false;
        if !json {
            return print(&format!("{gap}{}", report.text()));
        }
        let line = serde_json::to_string(report);
        let line = line.map_err(|e| Failure::Run(format!("cannot write JSON: {e}")))?;
        print_exactly(&(line + "\n"))
    };
    for path in traces {
        if !input.split() {
            show(&streamed(path, &options, &mut warnings)?)?;
            continue;
        }
        let trace = load(Source::from_arg(path), &options)?;
        trace_warnings(&trace.meta, &mut warnings);
        for volume in split(&trace) {
            let mut info = Info::default();
            info.add(&volume.requests);
            show(&TraceReport::of(&info, &volume.meta))?;
        }
    }
    Ok(())
}

/// Requests of a pipe that are kept in memory, in bytes; more go to a temporary file.
const MEMORY: u64 = 8 << 20;

/// Streams a trace: memory grows with its footprint only.
fn streamed(
    path: &Path,
    options: &LoadOptions,
    warnings: &mut Warnings,
) -> Result<TraceReport, Failure> {
    // Where volumes go depends on all their requests, and a pipe is read but once.
    if options.volumes == Volumes::Stack && !path.metadata().is_ok_and(|m| m.is_file()) {
        return piped(path, options, warnings);
    }
    let mut reader = open(Source::from_arg(path), options)?;
    let progress = Progress::bytes(&format!("reading {}", path.display()), reader.progress().1);
    let mut info = Info::default();
    let mut batch = RequestBatch::new();
    while reader.next_batch(&mut batch)? > 0 {
        info.add(&batch);
        batch.clear();
        progress.set(reader.progress().0);
    }
    let meta = reader.finish()?;
    drop(progress);
    trace_warnings(&meta, warnings);
    Ok(TraceReport::of(&info, &meta))
}

fn piped(
    path: &Path,
    options: &LoadOptions,
    warnings: &mut Warnings,
) -> Result<TraceReport, Failure> {
    let mut progress = None;
    let label = format!("reading {}", path.display());
    let stored = load_bounded(Source::from_arg(path), options, MEMORY, |reader| {
        let (read, total) = reader.progress();
        let progress = progress.get_or_insert_with(|| Progress::bytes(&label, total));
        progress.set(read);
    })?;
    drop(progress);
    let mut info = Info::default();
    stored.workload().try_each(|_, request| {
        info.request(request);
        Ok::<(), TraceError>(())
    })?;
    trace_warnings(stored.meta(), warnings);
    Ok(TraceReport::of(&info, stored.meta()))
}
