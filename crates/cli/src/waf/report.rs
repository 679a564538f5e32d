//! The points as a page.

use crate::waf::grid::{GridAxis, Setting};
use crate::waf::points::Points;
use destage_report::figures::Better;
use destage_report::html::chart::{Chart, ChartAxis, ChartKind, ChartSeries, ChartUnit};
use destage_report::html::page::{HtmlCell, ReportPage, escaped, table};
use destage_report::style::SeriesLook;
use destage_sim::waf::WafPoint;

/// A figure of a point.
type Figure = (&'static str, fn(&WafPoint) -> Option<f64>);

const FIGURES: [Figure; 3] = [
    ("measured", |p| Some(p.write_amplification())),
    ("analytic", |p| p.analytic),
    ("optimum", |p| p.optimum),
];

/// The page of the points.
pub fn page(points: &Points<'_>) -> ReportPage {
    let mut page = ReportPage::new("destage waf");
    let about = format!("{} points", points.found.len());
    page.section("Write amplification", &about);
    page.legend();
    charts(points).iter().for_each(|chart| page.chart(chart));
    let (heads, rows) = points.rows();
    let row = |row: Vec<String>| row.into_iter().map(HtmlCell::of).collect();
    let rows: Vec<Vec<HtmlCell>> = rows.into_iter().map(row).collect();
    page.html(&table("write amplification", &heads, &rows, 0));
    page.html(&format!("<pre>{}</pre>\n", escaped(&points.reading())));
    page.end_section();
    page
}

/// One chart of all figures, or one chart for each figure if there is a second axis.
fn charts(points: &Points<'_>) -> Vec<Chart> {
    let axes = &points.grid.axes;
    let Some(along) = axes.iter().find(|a| is_numeric(a)).or_else(|| axes.first()) else {
        return Vec::new();
    };
    let other = axes.iter().find(|axis| axis.option != along.option);
    let found = match other {
        None => vec![chart(points, along, "write amplification", &of_figures())],
        Some(other) => FIGURES
            .iter()
            .map(|figure| {
                let title = format!("write amplification, {}", figure.0);
                chart(points, along, &title, &of_values(figure, other))
            })
            .collect(),
    };
    found.into_iter().flatten().collect()
}

fn is_numeric(axis: &GridAxis) -> bool {
    axis.values.iter().all(|value| value.number().is_some())
}

/// A line of a chart.
struct Line {
    name: String,
    look: SeriesLook,
    figure: fn(&WafPoint) -> Option<f64>,
    /// The value of the other axis that its points have.
    only: Option<Setting>,
}

fn of_figures() -> Vec<Line> {
    let looks = SeriesLook::of_all([false, false, true]);
    let line = |(figure, look): (&Figure, SeriesLook)| Line {
        name: figure.0.to_owned(),
        look,
        figure: figure.1,
        only: None,
    };
    FIGURES.iter().zip(looks).map(line).collect()
}

fn of_values(figure: &Figure, axis: &GridAxis) -> Vec<Line> {
    let looks = SeriesLook::of_all(axis.values.iter().map(|_| false));
    let line = |(value, look): (&Setting, SeriesLook)| Line {
        name: format!("{} {}", axis.option, value.text()),
        look,
        figure: figure.1,
        only: Some(value.clone()),
    };
    axis.values.iter().zip(looks).map(line).collect()
}

fn chart(points: &Points<'_>, along: &GridAxis, title: &str, lines: &[Line]) -> Option<Chart> {
    let mut values: Vec<&Setting> = along.values.iter().collect();
    let numeric = is_numeric(along);
    values.sort_by(|a, b| f64::total_cmp(&place(a), &place(b)));
    let series = lines.iter().map(|line| {
        let y = values.iter().map(|value| {
            let wanted = |settings: &[Setting]| {
                let other = line
                    .only
                    .as_ref()
                    .is_none_or(|only| settings.contains(only));
                settings.contains(value) && other
            };
            let all = points.grid.points.iter().zip(&points.found);
            let mut found = all.filter(|(point, _)| wanted(&point.settings));
            found.next().and_then(|(_, found)| (line.figure)(found))
        });
        ChartSeries::new(&line.name, line.look, y.collect())
    });
    let labels = values.iter().map(|value| value.text()).collect();
    let x = match numeric {
        true => values.iter().filter_map(|value| value.number()).collect(),
        false => Vec::new(),
    };
    let kind = match numeric {
        true => ChartKind::Lines,
        false => ChartKind::Bars,
    };
    let about = "Pages programmed / pages that the host wrote.";
    let chart = Chart {
        better: Better::Smaller,
        ..Chart::new(
            kind,
            title,
            about,
            ChartAxis::new(along.option, ChartUnit::Ratio),
            ChartAxis::new("write amplification", ChartUnit::Ratio),
        )
    };
    chart.with_panel(x, labels, series.collect())
}

/// Where a value stands; words stay in their order.
fn place(value: &Setting) -> f64 {
    value.number().unwrap_or(0.0)
}
