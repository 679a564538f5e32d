//! Which write buffer to build, from runs of several over one trace on one drive.

use crate::answers::{bytes, flash_pages, time};
use crate::table::{self, or_dash};
use destage_record::ResultRecord;

/// A run whose mean response time is at most so many times the shortest is as fast.
pub const MEAN: f64 = 1.05;
/// The same of the 99.9th percentile, among the runs that are as fast on average.
pub const TAIL: f64 = 1.2;
/// The same of the bytes to flash, among the runs that are as fast by both.
pub const FLASH: f64 = 1.03;

/// A run as advice sees it.
struct Candidate<'a> {
    record: &'a ResultRecord,
    mean: f64,
    tail: f64,
    flash: f64,
    /// Bytes to flash of the bound with as large a buffer.
    bound: Option<f64>,
}

fn flash_bytes(r: &ResultRecord) -> f64 {
    (flash_pages(r) * r.page_bytes) as f64
}

/// The runs that compare, each with the run of `bounds` that has its buffer size. Runs without a request have no times.
fn candidates<'a>(records: &'a [ResultRecord], bounds: &[ResultRecord]) -> Vec<Candidate<'a>> {
    let candidate = |record: &'a ResultRecord| {
        let times = record.latency_ns.as_ref()?.all;
        let bound = bounds.iter().find(|b| b.cache_bytes == record.cache_bytes);
        Some(Candidate {
            record,
            mean: times.mean?,
            tail: times.p999? as f64,
            flash: flash_bytes(record),
            bound: bound.map(flash_bytes),
        })
    };
    records.iter().filter_map(candidate).collect()
}

/// Of the runs that are as fast as the fastest and write as little, the one with the smallest buffer.
fn best<'a, 'b>(all: &'b [Candidate<'a>]) -> Option<&'b Candidate<'a>> {
    let mut left: Vec<&Candidate> = all.iter().collect();
    type Value = fn(&Candidate) -> f64;
    let rules: [(Value, f64); 3] = [(|c| c.mean, MEAN), (|c| c.tail, TAIL), (|c| c.flash, FLASH)];
    for (value, within) in rules {
        let least = left.iter().map(|c| value(c)).fold(f64::INFINITY, f64::min);
        left.retain(|c| value(c) <= within * least);
    }
    let smaller = |a: &&Candidate, b: &&Candidate| {
        let size = a.record.cache_bytes.cmp(&b.record.cache_bytes);
        size.then(a.flash.total_cmp(&b.flash))
    };
    // Of equal ones the last: on demand comes first, and is the slowest as soon as the buffer is full.
    left.into_iter().rev().min_by(smaller)
}

fn above(value: f64, bound: f64) -> String {
    format!("{:+.1} %", 100.0 * (value / bound - 1.0))
}

/// A table of the runs, and the advice with its price. `bounds` are runs of the fewest flash writes by buffer size.
pub fn advice(records: &[ResultRecord], bounds: &[ResultRecord]) -> String {
    let all = candidates(records, bounds);
    let Some(best) = best(&all) else {
        return "No request was answered, so there is nothing to compare.\n".to_owned();
    };
    let header = ["scheme", "buffer", "mean", "p99.9", "flash", "to bound"];
    let mut table = table::plain(&header, 1);
    for c in &all {
        let mark = if std::ptr::eq(c, best) { " <" } else { "" };
        let to_bound = c.bound.map(|bound| above(c.flash, bound));
        table.add_row([
            format!("{}{mark}", c.record.scheme),
            destage_types::ByteSize(c.record.cache_bytes).to_string(),
            time(c.mean),
            time(c.tail),
            bytes(c.flash),
            or_dash(to_bound),
        ]);
    }
    table::lines(&table) + "\n" + &sentence(best)
}

fn sentence(best: &Candidate) -> String {
    let size = destage_types::ByteSize(best.record.cache_bytes);
    let left = (best.record.dirty_pages_left * best.record.page_bytes) as f64;
    let short = match left > best.flash / 2.0 {
        true => {
            " More than half of that is still in the buffer: the trace is too short for a buffer of this size."
        }
        false => "",
    };
    let bound = best.bound.map_or(String::new(), |bound| {
        let (fewest, above) = (bytes(bound), above(best.flash, bound));
        format!(", {above} against the fewest possible ({fewest})")
    });
    format!(
        "Build `{}` with a buffer of {size}: it answers in {} on average, 99.9 % of all requests within {}, and writes \
         {} to flash{bound}.{short}\n",
        best.record.scheme,
        time(best.mean),
        time(best.tail),
        bytes(best.flash)
    )
}
