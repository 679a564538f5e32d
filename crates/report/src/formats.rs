//! Which format traces were read as, and in which unit their times were.

use crate::distinct;
use destage_record::ResultRecord;

/// A format and the unit of its times, if it has any.
pub fn read_as(format: &str, time_unit: Option<&str>) -> String {
    match time_unit {
        Some(unit) => format!("{format}, times in {unit}"),
        None => format.to_owned(),
    }
}

/// How the traces of `records` were read: a line for each format and unit, with the names of its traces if
/// there are several.
pub fn format_lines(records: &[ResultRecord]) -> Vec<String> {
    let of = |r: &ResultRecord| read_as(&r.trace.format, r.trace.time_unit.as_deref());
    let all = distinct(records.iter().map(of));
    let line = |read: &String| {
        let traces = records.iter().filter(|&r| of(r) == *read);
        let names = distinct(traces.map(|r| r.trace.name.as_str()));
        match all.len() {
            1 => format!("format: {read}"),
            _ => format!("format: {read}: {}", names.join(", ")),
        }
    };
    all.iter().map(line).collect()
}
