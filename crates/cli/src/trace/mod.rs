//! `destage trace`: looking at traces and converting them.

mod import;
mod info;

use crate::args::{InputArgs, TraceArgs, TraceCommand};
use crate::failure::Failure;
use crate::output::print;
use crate::terminal::{Progress, Warnings};
use destage_trace::{LoadOptions, Source, Trace, load, open, write_csv};
use destage_types::RequestBatch;
use info::Info;
use std::fs::File;
use std::io::{self, BufWriter};
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
        } => info(traces, &options(input, true), *json),
        TraceCommand::Convert {
            trace,
            input,
            output,
        } => convert(trace, &options(input, false), output),
        TraceCommand::ImportFtrace(args) => import::run(args),
        TraceCommand::Head {
            trace,
            format,
            skip_bad_lines,
            requests,
        } => {
            let input = InputArgs {
                format: format.clone(),
                limit: Some(*requests),
                skip_bad_lines: *skip_bad_lines,
                tags: None,
            };
            convert(trace, &options(&input, false), Path::new("-"))
        }
    }
}

fn options(input: &InputArgs, hash: bool) -> LoadOptions {
    LoadOptions {
        format: input.format.clone(),
        limit: input.limit,
        skip_bad_lines: input.skip_bad_lines,
        tags: input.tags,
        hash,
        ..LoadOptions::default()
    }
}

/// Streams each trace: memory grows with its footprint only.
fn info(traces: &[PathBuf], options: &LoadOptions, json: bool) -> Result<(), Failure> {
    let mut warnings = Warnings::default();
    for (i, path) in traces.iter().enumerate() {
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
        trace_warnings(&meta, &mut warnings);
        let report = info.report(&meta);
        match json {
            true => {
                let line = serde_json::to_string(&report);
                let line = line.map_err(|e| Failure::Run(format!("cannot write JSON: {e}")))?;
                print(&(line + "\n"))?;
            }
            false => {
                let gap = if i > 0 { "\n" } else { "" };
                print(&format!("{gap}{}", report.text()))?;
            }
        }
    }
    Ok(())
}

fn convert(path: &Path, options: &LoadOptions, output: &Path) -> Result<(), Failure> {
    // The columns depend on all requests, so the trace is read whole before a line is written.
    let Trace { requests, meta } = load(Source::from_arg(path), options)?;
    trace_warnings(&meta, &mut Warnings::default());
    write(&requests, output)
}

fn write(requests: &RequestBatch, output: &Path) -> Result<(), Failure> {
    if output == Path::new("-") {
        return match write_csv(requests, io::stdout().lock()) {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::stdout(error)),
        };
    }
    let place = output.display();
    let file = File::create(output)
        .map_err(|error| Failure::usage(format!("--output {place}: cannot create it: {error}")))?;
    match write_csv(requests, BufWriter::new(file)) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::Run(format!("cannot write {place}: {error}"))),
    }
}
