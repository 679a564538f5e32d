//! `trace info --report`: a trace as a page of charts.

use crate::trace::info::TraceReport;
use destage_report::html::chart::{Chart, ChartAxis, ChartKind, ChartSeries, ChartUnit};
use destage_report::html::page::{HtmlCell, ReportPage, table};
use destage_report::style::SeriesLook;
use destage_sim::summary::{DOUBLINGS, TraceMoment, TraceProfile};
use destage_types::ByteSize;

/// Bytes of a page of the footprint.
const PAGE_BYTES: f64 = 4096.0;

/// Adds a section on one trace.
pub fn section(page: &mut ReportPage, report: &TraceReport, profile: &TraceProfile) {
    page.section(&report.trace, &format!("{} requests", report.requests));
    let gaps = doublings(&profile.gaps, duration);
    let gaps = if report.timed { gaps } else { Vec::new() };
    let mut reuse = vec![CountedClass {
        name: "first access".to_owned(),
        count: profile.first,
    }];
    reuse.extend(doublings(&profile.reuse, |n| format!("< {n}")));
    let moments = profile.moments();
    let charts = [
        sizes(report),
        counted(
            "time between two requests",
            "Requests by the time since the one before: less than so much, and at least half of it.",
            "requests",
            &gaps,
        ),
        counted(
            "reuse",
            "Page accesses by how many requests ago the page of 4 KiB was accessed before.",
            "page accesses",
            &reuse,
        ),
        over_requests(
            "footprint",
            "Different pages of 4 KiB that were accessed by then, and those of them that were written.",
            &moments,
            [
                MomentLine::new("accessed", &|m| m.touched as f64 * PAGE_BYTES),
                MomentLine::new("written", &|m| m.written as f64 * PAGE_BYTES),
            ],
        ),
        over_requests(
            "data moved",
            "All bytes read and written by then.",
            &moments,
            [
                MomentLine::new("read", &|m| m.read_bytes as f64),
                MomentLine::new("written", &|m| m.write_bytes as f64),
            ],
        ),
    ];
    charts.iter().flatten().for_each(|chart| page.chart(chart));
    let rows = report.rows().into_iter();
    let rows: Vec<Vec<HtmlCell>> = rows
        .map(|(name, value)| vec![HtmlCell::of(name), HtmlCell::of(value)])
        .collect();
    page.html(&table("Figures", &["figure", "value"], &rows, 2));
    page.end_section();
}

/// How much is in a class.
#[derive(PartialEq, Debug)]
struct CountedClass {
    name: String,
    count: u64,
}

/// The classes from the first to the last that have anything, each named by its end.
fn doublings(classes: &[u64; DOUBLINGS], name: impl Fn(u128) -> String) -> Vec<CountedClass> {
    let some = |n: &u64| *n > 0;
    let Some(first) = classes.iter().position(some) else {
        return Vec::new();
    };
    let last = classes.iter().rposition(some).unwrap_or(first);
    let named = |class: usize| CountedClass {
        name: name(1 << class),
        count: classes[class],
    };
    (first..=last).map(named).collect()
}

/// Nanoseconds in the unit that suits, with three digits.
fn duration(ns: u128) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    let ns = ns as f64;
    let found = units.iter().find(|(unit, _)| ns >= *unit);
    let (unit, name) = found.copied().unwrap_or((1.0, "ns"));
    let value = ns / unit;
    match value {
        v if v < 10.0 && unit > 1.0 => format!("{v:.2} {name}"),
        v if v < 100.0 && unit > 1.0 => format!("{v:.1} {name}"),
        v => format!("{v:.0} {name}"),
    }
}

/// Its series are its own: each chart here is about something else.
fn chart(kind: ChartKind, title: &str, about: &str, x: ChartAxis, y: ChartAxis) -> Chart {
    Chart {
        own_legend: true,
        ..Chart::new(kind, title, about, x, y)
    }
}

fn look(number: usize) -> SeriesLook {
    SeriesLook::Number(number)
}

fn sizes(report: &TraceReport) -> Option<Chart> {
    let labels = report.sizes.iter().map(|size| ByteSize(size.0).to_string());
    let reads = report.sizes.iter().map(|size| Some(size.1 as f64));
    let writes = report.sizes.iter().map(|size| Some(size.2 as f64));
    let series = vec![
        ChartSeries::new("reads", look(0), reads.collect()),
        ChartSeries::new("writes", look(1), writes.collect()),
    ];
    let about = "Requests of up to so many bytes and more than half of that.";
    let [x, y] = ["size", "requests"].map(|name| ChartAxis::new(name, ChartUnit::Count));
    chart(ChartKind::Bars, "request sizes", about, x, y).with_panel(
        Vec::new(),
        labels.collect(),
        series,
    )
}

/// A bar for each class.
fn counted(title: &str, about: &str, of: &str, classes: &[CountedClass]) -> Option<Chart> {
    let labels = classes.iter().map(|class| class.name.clone());
    let values = classes.iter().map(|class| Some(class.count as f64));
    let series = vec![ChartSeries::new(of, look(0), values.collect())];
    let [x, y] = [title, of].map(|name| ChartAxis::new(name, ChartUnit::Count));
    chart(ChartKind::Bars, title, about, x, y).with_panel(Vec::new(), labels.collect(), series)
}

/// A line of a chart over the requests of a trace.
struct MomentLine<'a> {
    name: &'a str,
    /// The value that it shows of a moment.
    of: &'a dyn Fn(&TraceMoment) -> f64,
}

impl<'a> MomentLine<'a> {
    fn new(name: &'a str, of: &'a dyn Fn(&TraceMoment) -> f64) -> MomentLine<'a> {
        MomentLine { name, of }
    }
}

fn over_requests(
    title: &str,
    about: &str,
    moments: &[TraceMoment],
    lines: [MomentLine<'_>; 2],
) -> Option<Chart> {
    let x = moments.iter().map(|m| m.requests as f64).collect();
    let series = lines.iter().enumerate().map(|(i, line)| {
        let values = moments.iter().map(|m| Some((line.of)(m)));
        ChartSeries::new(line.name, look(i), values.collect())
    });
    let along = ChartAxis::new("requests", ChartUnit::Count);
    let up = ChartAxis::new(title, ChartUnit::Bytes);
    chart(ChartKind::Lines, title, about, along, up).with_panel(x, Vec::new(), series.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_named_by_their_ends() {
        let mut classes = [0; DOUBLINGS];
        (classes[2], classes[4]) = (5, 7);
        let named = doublings(&classes, |end| end.to_string());
        let expected = [("4", 5), ("8", 0), ("16", 7)].map(|(name, count)| CountedClass {
            name: name.to_owned(),
            count,
        });
        assert_eq!(named, expected);
        assert_eq!(doublings(&[0; DOUBLINGS], |end| end.to_string()), []);
        for (ns, text) in [
            (1, "1 ns"),
            (512, "512 ns"),
            (1024, "1.02 us"),
            (65_536, "65.5 us"),
            (1 << 30, "1.07 s"),
            (1 << 64, "18446744074 s"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }
}
