//! The curves as a page.

use crate::mrc::points::{CurvePoints, CurveValue, SchemeCurve, names, reading};
use destage_report::figures::Better;
use destage_report::formats::read_as;
use destage_report::html::chart::{Chart, ChartAxis, ChartKind, ChartSeries, ChartUnit};
use destage_report::html::page::{HtmlCell, ReportPage, escaped, table};
use destage_report::style::{SeriesLook, is_bound, shown_name};
use destage_sim::curve::Estimate;
use destage_trace::TraceMeta;
use destage_types::ByteSize;

/// The page of the curves over one trace.
pub fn page(trace: &TraceMeta, curves: &[SchemeCurve]) -> ReportPage {
    let mut page = ReportPage::new("destage mrc");
    page.section(
        &trace.name,
        &format!(
            "{} requests, page {}, {} curves",
            trace.requests,
            curves
                .first()
                .map_or(ByteSize(0), |curve| ByteSize(curve.base.page.bytes())),
            curves.len()
        ),
    );
    page.html(&summary(curves));
    page.legend();
    let charts = [
        chart(
            "page hit ratio",
            ChartUnit::Percent,
            curves,
            SchemeCurve::page_hits,
        ),
        chart(
            "read hit ratio",
            ChartUnit::Percent,
            curves,
            SchemeCurve::read_hits,
        ),
        chart(
            "write hit ratio",
            ChartUnit::Percent,
            curves,
            SchemeCurve::write_hits,
        ),
        chart("flash writes", ChartUnit::Count, curves, flash_writes),
    ];
    charts.iter().flatten().for_each(|chart| page.chart(chart));
    for curve in curves {
        let (heads, rows) = curve.rows();
        let row = |row: Vec<String>| row.into_iter().map(HtmlCell::of).collect();
        let rows: Vec<Vec<HtmlCell>> = rows.into_iter().map(row).collect();
        let name = curve.base.expr.to_string();
        let text = table(
            &format!("{}, {}", trace.name, shown_name(&name)),
            &heads,
            &rows,
            1,
        );
        let reading = escaped(&reading(curve));
        page.folded(&shown_name(&name), &format!("{text}<pre>{reading}</pre>"));
    }
    let unit = trace.time_unit.map(|unit| unit.to_string());
    let sha = trace.sha256.as_deref().unwrap_or("-");
    page.html(&format!(
        "<h3>Provenance</h3>\n<pre>trace {}, format {}, SHA-256 {sha}</pre>\n",
        escaped(&trace.name),
        escaped(&read_as(trace.format, unit.as_deref()))
    ));
    page.end_section();
    page
}

fn flash_writes(curve: &SchemeCurve) -> Vec<CurveValue> {
    let CurvePoints::Exact(points) = &curve.points else {
        return Vec::new();
    };
    points
        .iter()
        .map(|p| CurveValue {
            cache: p.cache,
            estimate: Estimate::sure(p.counts.flash_writes_host as f64),
        })
        .collect()
}

/// A chart of the values that `of` gives at each cache size, with the error of a sample as a range.
fn chart(
    title: &str,
    unit: ChartUnit,
    curves: &[SchemeCurve],
    of: impl Fn(&SchemeCurve) -> Vec<CurveValue>,
) -> Option<Chart> {
    let values: Vec<_> = curves.iter().map(of).collect();
    let mut sizes: Vec<u64> = values.iter().flatten().map(|of| of.cache.0).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let looks = SeriesLook::of_all(curves.iter().map(|c| is_bound(&c.base.expr.to_string())));
    let series = names(curves)
        .into_iter()
        .zip(looks)
        .zip(&values)
        .map(|((name, look), points)| {
            let at = |&size: &u64| {
                points
                    .iter()
                    .find(|p| p.cache.0 == size)
                    .map(|p| p.estimate)
            };
            let found: Vec<Option<Estimate>> = sizes.iter().map(at).collect();
            let sampled = found.iter().flatten().any(|e| e.error > 0.0);
            let ranges = found.iter().map(|e| e.map(|e| (e.low, e.high))).collect();
            let value = found.iter().map(|e| e.map(|e| e.value)).collect();
            ChartSeries {
                range: if sampled { ranges } else { Vec::new() },
                ..ChartSeries::new(&name, look, value)
            }
        });
    let labels = sizes
        .iter()
        .map(|&size| ByteSize(size).to_string())
        .collect();
    let x = sizes.iter().map(|&size| size as f64).collect();
    let percent = unit == ChartUnit::Percent;
    let kind = match sizes.len() {
        0 | 1 => ChartKind::Bars,
        _ => ChartKind::Lines,
    };
    let about = match percent {
        true => {
            "Hit pages / accessed pages. What is around a value is the 95 % confidence interval of a sample."
        }
        false => "Pages programmed for the host.",
    };
    let along = ChartAxis::new("cache size", ChartUnit::Bytes);
    let up = ChartAxis::new(title, unit);
    let chart = Chart {
        better: if percent {
            Better::Larger
        } else {
            Better::Smaller
        },
        ..Chart::new(kind, title, about, along, up)
    };
    chart.with_panel(x, labels, series.collect())
}

/// The best hit ratio of each scheme, and how little cache it needs for nine tenths of that.
fn summary(curves: &[SchemeCurve]) -> String {
    let line = |curve: &SchemeCurve| {
        let hits = curve.page_hits();
        if hits.len() < 2 {
            return None;
        }
        let most = hits.iter().map(|hit| hit.estimate.value).reduce(f64::max)?;
        let enough = hits.iter().find(|hit| hit.estimate.value >= 0.9 * most)?;
        let name = shown_name(&curve.base.expr.to_string());
        let text = format!(
            "{name} hits at most {:.2} % of the pages, and nine tenths of that with {} of cache.",
            100.0 * most,
            enough.cache
        );
        Some(format!("<li>{}</li>\n", escaped(&text)))
    };
    let lines: String = curves.iter().filter_map(line).collect();
    format!("<ul class=\"summary\">\n{lines}</ul>\n")
}
