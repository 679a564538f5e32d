//! Tables of a fit: the model beside the drive, values with their sensitivity, and what it all comes to.

use super::{Comparison, FitOutcome};
use crate::residual::{
    Compared, Entry, FitFigures, NEAR, NEAR_KNEE, falls_behind, offered_writes, residual,
};
use crate::search::CHANGED_BY;
use crate::simulate::ServiceTimes;
use destage_report::table::{self, TextTable};
use destage_types::Op;
use std::path::Path;

/// Quantiles of the table of cells: of writes, of reads.
const SHOWN: [(Op, f64); 7] = [
    (Op::Write, 0.5),
    (Op::Write, 0.9),
    (Op::Write, 0.99),
    (Op::Write, 0.999),
    (Op::Read, 0.5),
    (Op::Read, 0.99),
    (Op::Read, 0.999),
];

/// How far a model is from its drive, in one line without full stops.
#[must_use]
pub fn summary(figures: &FitFigures) -> String {
    let factor =
        |name: &str, value: Option<f64>| value.map(|f| format!("{name} by a factor of {f:.2}"));
    let parts = [
        figures
            .write_p50_error
            .map(|e| format!("median write off by {:.0} %", 100.0 * e)),
        factor("its p99", figures.write_p99),
        factor("its p99.9", figures.write_p999),
        factor("median read", figures.read_p50),
        factor("its p99", figures.read_p99),
        figures
            .cliff_error
            .map(|e| format!("cliff by {:+.1} %", 100.0 * e)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!(
        "{}; {} of {} values are near",
        parts.join(", "),
        figures.near,
        figures.counted
    )
}

/// The weight of each table in the residual and its own residual, a line each.
#[must_use]
pub fn tables(outcome: &Comparison) -> Vec<String> {
    let file = |entry: &Entry| outcome.cells[entry.cell].place.file.as_path();
    let weight = |entries: &[Entry]| entries.iter().map(|e| e.weight).sum::<f64>();
    let mut files: Vec<&Path> = outcome.entries.iter().map(file).collect();
    files.sort();
    files.dedup();
    let all = weight(&outcome.entries).max(f64::MIN_POSITIVE);
    let line = |of: &&Path| {
        let own: Vec<Entry> = (outcome.entries.iter())
            .filter(|entry| file(entry) == *of)
            .cloned()
            .collect();
        let name = of.file_name().unwrap_or_default().to_string_lossy();
        format!(
            "{name}: {:.0} % of the weight, residual {:.4}",
            100.0 * weight(&own) / all,
            residual(&own)
        )
    };
    files.iter().map(line).collect()
}

/// The model beside the drive: a row for each rate.
#[must_use]
pub fn cells(outcome: &Comparison) -> String {
    let mut header = ["asked for", "writes/s", "reads/s"]
        .map(str::to_owned)
        .to_vec();
    let name = |op: Op| if op == Op::Write { "write" } else { "read" };
    header.extend(
        SHOWN
            .iter()
            .map(|&(op, share)| format!("{} p{}", name(op), 100.0 * share)),
    );
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = table::plain(&header, 0);
    for (cell, model) in outcome.cells.iter().zip(&outcome.models) {
        let asked = offered_writes(cell).map_or("closed".to_owned(), |rate| format!("{rate:.0}"));
        let mark = if falls_behind(cell) { " (behind)" } else { "" };
        let done = [
            pair(cell.measured.writes_per_s, Some(model.writes_per_s)),
            pair(cell.measured.reads_per_s, Some(model.reads_per_s)),
        ];
        let times = SHOWN.iter().map(|&(op, share)| {
            let (measured, times): (_, &ServiceTimes) = match op {
                Op::Write => (&cell.measured.write, &model.write),
                _ => (&cell.measured.read, &model.read),
            };
            pair(measured.at(share), times.at(share))
        });
        let asked = [format!("{asked}{mark}")];
        let row: Vec<String> = asked.into_iter().chain(done).chain(times).collect();
        table.add_row(row);
    }
    format!("Drive / model, times in us:\n{}", lines(&table))
}

fn lines(table: &TextTable) -> String {
    table::lines(table)
}

fn pair(drive: Option<f64>, model: Option<f64>) -> String {
    let text = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.0}"));
    format!("{} / {}", text(drive), text(model))
}

/// The rates at which medians and tails rise.
#[must_use]
pub fn knees(outcome: &Comparison) -> String {
    let mut table = table::plain(
        &["rises", "drive writes/s", "model writes/s", "difference"],
        0,
    );
    let mut any = false;
    for entry in &outcome.entries {
        let Compared::Knee(op, share) = entry.of else {
            continue;
        };
        if !SHOWN.contains(&(op, share)) {
            continue;
        }
        any = true;
        let name = if op == Op::Write { "write" } else { "read" };
        table.add_row([
            format!("{name} p{}", 100.0 * share),
            format!("{:.0}", entry.measured),
            format!("{:.0}", entry.model),
            format!("{:+.0} %", 100.0 * (entry.model / entry.measured - 1.0)),
        ]);
    }
    if any {
        format!(
            "Rates at which percentiles rise by more than three times:\n{}",
            lines(&table)
        )
    } else {
        String::new()
    }
}

/// The fitted values.
#[must_use]
pub fn values(outcome: &FitOutcome) -> String {
    let changed = [
        format!("residual at /{CHANGED_BY}"),
        format!("at x{CHANGED_BY}"),
    ];
    let header = [
        "parameter",
        "value",
        "unit",
        "bounds",
        &changed[0],
        &changed[1],
        "with other values",
        "verdict",
        "shows in",
    ];
    let mut table = table::plain(&header, header.len());
    let rise = |rise: Option<f64>| rise.map_or("-".to_owned(), |r| format!("{:+.1} %", 100.0 * r));
    for s in &outcome.sensitivities {
        let (low, high) = s.parameter.bounds;
        table.add_row([
            s.parameter.name.to_owned(),
            format!("{}", s.value),
            s.parameter.unit.to_owned(),
            format!("{low} to {high}"),
            rise(s.rises[0]),
            rise(s.rises[1]),
            rise(Some(s.together)),
            s.verdict().to_owned(),
            s.parameter.shows_in.to_owned(),
        ]);
    }
    lines(&table)
}

/// The figures of a fit, a line each.
#[must_use]
pub fn figures(figures: &FitFigures) -> String {
    let share = 100.0 * figures.near as f64 / figures.counted.max(1) as f64;
    let mut table = table::plain(&["over the cells up to the cliff", "figure"], 1);
    let mut add = |name: &str, value: Option<String>| {
        table.add_row([name.to_owned(), value.unwrap_or_else(|| "-".to_owned())]);
    };
    let factor = |value: Option<f64>| value.map(|f| format!("{f:.2}"));
    let percent = |value: Option<f64>| value.map(|e| format!("{:+.1} %", 100.0 * e));
    add(
        "median error of the median write",
        percent(figures.write_p50_error),
    );
    add("median factor of p99 of writes", factor(figures.write_p99));
    add(
        "median factor of p99.9 of writes",
        factor(figures.write_p999),
    );
    add("median factor of the median read", factor(figures.read_p50));
    add("median factor of p99 of reads", factor(figures.read_p99));
    add("cliff: model / drive - 1", percent(figures.cliff_error));
    let near = format!("{} of {} ({share:.0} %)", figures.near, figures.counted);
    add(
        &format!(
            "within a factor of {NEAR}; beside a rise, or its rate within {:.0} %",
            100.0 * NEAR_KNEE
        ),
        Some(near),
    );
    lines(&table)
}
