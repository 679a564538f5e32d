//! What a server says when it ends: the record of each device, and how well it kept its time.

use crate::args::FormatOut;
use crate::failure::Failure;
use crate::output::{Output, print};
use crate::terminal::say;
use destage_live::device::SimulatedSsd;
use destage_live::server::{ExportReport, Lateness};

/// Shows `reports` of the exports of these names.
///
/// # Errors
/// They cannot be written, or a medium failed.
pub fn show(
    names: &[String],
    reports: &[ExportReport<SimulatedSsd>],
    format: FormatOut,
) -> Result<(), Failure> {
    let mut output = Output::stdout(format)?;
    for (name, report) in names.iter().zip(reports) {
        let mut record = report.device.record();
        // One without a name stands as it always did.
        if !name.is_empty() {
            record.trace.name.clone_from(name);
        }
        output.add(record, None)?;
    }
    output.finish(true)?;
    for (name, report) in names.iter().zip(reports) {
        let several = names.len() > 1;
        let mut lines = Vec::from_iter(several.then(|| format!("export `{name}`")));
        lines.extend([
            format!(
                "requests to the device: {}, in {} of simulated time",
                report.requests,
                seconds(report.end.0)
            ),
            lateness(&report.lateness),
        ]);
        lines.extend(report.power_cuts.iter().map(|cut| {
            format!(
                "power cut: {} pages lost their last version, {} requests had no reply",
                cut.pages, cut.requests
            )
        }));
        let text = lines.join("\n") + "\n";
        match format {
            FormatOut::Table => print(&text)?,
            _ => say(text.trim_end()),
        }
        if report.lateness.behind() > 0 {
            say(&format!(
                "warning: {} of {} replies left more than 1 ms late: what clients measured then is this \
                 machine, not the device (--time-scale below 1 slows the device down)",
                report.lateness.behind(),
                report.lateness.replies()
            ));
        }
    }
    let failures: Vec<&str> = reports
        .iter()
        .filter_map(|report| report.failure.as_deref())
        .collect();
    match failures.is_empty() {
        true => Ok(()),
        false => Err(Failure::Run(format!("the data: {}", failures.join("; ")))),
    }
}

fn seconds(ns: u64) -> String {
    format!("{:.3} s", ns as f64 / 1e9)
}

fn lateness(late: &Lateness) -> String {
    if late.replies() == 0 {
        return "replies: none with a time of their own".to_owned();
    }
    let us = |ns: u64| format!("{:.0} us", ns as f64 / 1e3);
    format!(
        "replies left after their simulated time by: median {}, 99 % within {}, 99.9 % within {}, at most {}",
        us(late.quantile(0.5)),
        us(late.quantile(0.99)),
        us(late.quantile(0.999)),
        us(late.max())
    )
}
