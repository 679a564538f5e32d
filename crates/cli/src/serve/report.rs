//! The report of a server when it ends: the record of each device, and how well it kept its time.

use destage_console::failure::Failure;
use destage_console::terminal::say;
use destage_experiment::options::FormatOut;
use destage_experiment::sinks::{self, tell};
use destage_live::server::{ExportReport, Lateness};
use destage_live::shadow::ShadowReport;
use destage_sim::ResultRecord;

/// The parts of the report on one export.
pub struct Reported<'a> {
    pub name: &'a str,
    pub report: &'a ExportReport,
    /// Results of its shadows; `None` of one whose thread failed.
    pub shadows: Vec<Option<ShadowReport>>,
}

/// Shows what exports and their shadows have done.
///
/// # Errors
/// They cannot be written, or a medium failed.
pub fn show(exports: &[Reported<'_>], format: FormatOut) -> Result<(), Failure> {
    let records = exports.iter().flat_map(|export| {
        let records = records(export).into_iter().enumerate();
        records.map(|(i, record)| named(record, export.name, i))
    });
    sinks::show(format, records)?;
    for export in exports {
        let report = export.report;
        let several = exports.len() > 1;
        let mut lines = Vec::from_iter(several.then(|| format!("export `{}`", export.name)));
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
        lines.extend(comparison(export));
        tell(format, &(lines.join("\n") + "\n"))?;
        if report.lateness.behind() > 0 {
            say(&format!(
                "warning: {} of {} replies left more than 1 ms late: clients then measured this \
                 machine, not the device (--time-scale below 1 slows the device down)",
                report.lateness.behind(),
                report.lateness.replies()
            ));
        }
    }
    let failures: Vec<&str> = exports
        .iter()
        .filter_map(|export| export.report.failure.as_deref())
        .collect();
    match failures.is_empty() {
        true => Ok(()),
        false => Err(Failure::Run(format!("the data: {}", failures.join("; ")))),
    }
}

/// The records of an export and of its shadows that have one, the export first.
fn records(export: &Reported<'_>) -> Vec<ResultRecord> {
    let shadows = export.shadows.iter().flatten();
    let shadows = shadows.map(|shadow| shadow.record.clone());
    std::iter::once(export.report.device.record())
        .chain(shadows)
        .collect()
}

/// A record under the name of its export; `i`: number of the shadow, or 0.
fn named(mut record: ResultRecord, export: &str, i: usize) -> ResultRecord {
    // An export without a name is called as ever.
    if !export.is_empty() {
        export.clone_into(&mut record.trace.name);
    }
    if i > 0 {
        record.trace.name += &format!(" shadow {i}");
    }
    record
}

/// The comparison with shadows: which of the devices would have been best, and whose figures are
/// not complete.
fn comparison(export: &Reported<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut devices = vec![("the export".to_owned(), export.report.device.record())];
    for (i, shadow) in export.shadows.iter().enumerate() {
        let name = format!("shadow {}", i + 1);
        match shadow {
            None => lines.push(format!("{name} failed and has no figures")),
            Some(shadow) if shadow.is_complete() => devices.push((name, shadow.record.clone())),
            Some(shadow) => lines.push(match &shadow.failure {
                Some(failure) => format!("{name} is incomplete: {failure}"),
                None => format!(
                    "{name} is incomplete: it fell behind and was not given {} requests",
                    shadow.lost
                ),
            }),
        }
    }
    if export.shadows.is_empty() {
        return lines;
    }
    let hits = devices
        .iter()
        .filter_map(|(name, r)| Some((name, r, r.ratios.page_hit_ratio?)));
    let best = hits.max_by(|a, b| a.2.total_cmp(&b.2).then(std::cmp::Ordering::Greater));
    if let Some((name, record, hit)) = best {
        let (what, scheme) = ("highest page hit ratio", &record.scheme);
        lines.push(format!("{what}: {:.2} % ({name}, {scheme})", hit * 100.0));
    }
    let means = devices
        .iter()
        .filter_map(|(name, r)| Some((name, r, r.latency_ns?.all.mean?)));
    if let Some((name, record, mean)) = means.min_by(|a, b| a.2.total_cmp(&b.2)) {
        let (what, scheme) = ("lowest mean response time", &record.scheme);
        lines.push(format!("{what}: {:.1} us ({name}, {scheme})", mean / 1e3));
    }
    lines
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
