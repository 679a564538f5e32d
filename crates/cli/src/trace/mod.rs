//! `destage trace`: looking at traces and converting them.

mod charts;
mod compare;
mod convert;
mod import;
mod info;
mod report;
mod synth;
pub mod twin;

use crate::args::{ToFormat, TraceArgs, TraceCommand};
use convert::Writing;
use destage_console::failure::Failure;
use destage_console::identity;
use destage_console::print::{print, print_json};
use destage_console::terminal::Warnings;
use destage_experiment::failures::trace_failure;
use destage_experiment::memory::MemoryLimit;
use destage_experiment::options::InputArgs;
use destage_report::html::page::ReportPage;
use destage_sim::summary::TraceSummary;
use destage_trace::TraceMeta;
use info::TraceReport;
use std::path::{Path, PathBuf};

use destage_experiment::counting::{Counting, streamed};
use destage_experiment::run::{read, time_warning, trace_warnings};

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
        destage_report::html::check("--report", report)?;
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
        let trace = read(path, &options, limit.of_requests()).map_err(trace_failure)?;
        trace_warnings(trace.meta(), &mut warnings);
        warnings.extend(time_warning(trace.meta()));
        for volume in trace.split(limit.of_requests()).map_err(trace_failure)? {
            let volume = volume.map_err(trace_failure)?;
            let counting = counting(&volume.meta().name);
            show((counting.stored(&volume)?, volume.into_meta()))?;
        }
    }
    match report.zip(page) {
        Some((path, page)) => destage_report::html::write(path, page),
        None => Ok(()),
    }
}
