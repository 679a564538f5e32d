//! Pictures: bars of schemes over loads as the papers draw them, and published numbers beside ours.

use crate::Reproduction;
use crate::judge::{LedgerRow, LoadOutcome};
use crate::loads::Evidence;
use crate::measure::{measure, shown};
use crate::paper::PaperFigure;
use destage_console::failure::Failure;
use destage_report::distinct;
use destage_report::html::chart::{Chart, ChartAxis, ChartKind, ChartSeries, ChartUnit};
use destage_report::style::{FONT, SeriesLook, is_bound, shown_name};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde_json::Value;

/// The pictures of a paper with the names of their figures.
///
/// # Errors
/// One cannot be drawn.
pub fn all(of: &Reproduction) -> Result<Vec<(String, String)>, Failure> {
    let mut pictures = Vec::new();
    for figure in &of.paper.figure {
        let bars = groups(of, figure);
        if !bars.is_empty() {
            let svg = drawn(|svg| grouped(svg, figure, &bars))?;
            pictures.push((figure.id.clone(), svg));
        }
    }
    for (id, rows) in published(of) {
        let svg = drawn(|svg| beside(svg, id, &rows))?;
        pictures.push((format!("{id}-claims"), svg));
    }
    Ok(pictures)
}

/// The claims of each figure with a published number and one of ours.
fn published(of: &Reproduction) -> Vec<(&str, Vec<&LedgerRow>)> {
    let mut ids: Vec<&str> = of.rows.iter().map(|row| row.id.as_str()).collect();
    ids.dedup();
    let both = |row: &&LedgerRow| row.value.is_some() && !row.readings.is_empty();
    let of_id = |id| of.rows.iter().filter(move |row| row.id == id);
    let rows = ids
        .into_iter()
        .map(|id| (id, of_id(id).filter(both).collect()));
    rows.filter(|(_, rows): &(_, Vec<_>)| !rows.is_empty())
        .collect()
}

const PUBLISHED: SeriesLook = SeriesLook::Number(1);
const HERE: SeriesLook = SeriesLook::Number(0);

fn looks(figure: &PaperFigure) -> Vec<SeriesLook> {
    SeriesLook::of_all(figure.scheme.iter().map(|scheme| is_bound(scheme)))
}

/// The same for a page.
pub fn charts(of: &Reproduction) -> Vec<Chart> {
    let figures = of
        .paper
        .figure
        .iter()
        .filter_map(|figure| bar_chart(of, figure));
    let claims = published(of)
        .into_iter()
        .filter_map(|(id, rows)| claim_chart(id, &rows));
    figures.chain(claims).collect()
}

/// Beside it stand charts of other series.
fn chart(kind: ChartKind, title: &str, about: &str, along: &str, up: &str) -> Chart {
    let [x, y] = [along, up].map(|name| ChartAxis::new(name, ChartUnit::Ratio));
    Chart {
        own_legend: true,
        ..Chart::new(kind, title, about, x, y)
    }
}

fn bar_chart(of: &Reproduction, figure: &PaperFigure) -> Option<Chart> {
    let groups = groups(of, figure);
    let labels = groups.iter().map(|group| group.label.clone()).collect();
    let scheme = |(i, (scheme, look)): (usize, (&String, SeriesLook))| {
        let values = groups.iter().map(|group| group.values[i]).collect();
        ChartSeries::new(&shown_name(scheme), look, values)
    };
    let series = figure
        .scheme
        .iter()
        .zip(looks(figure))
        .enumerate()
        .map(scheme);
    let relative = figure.relative_to.as_ref();
    let title = format!("{}: {}", figure.id, figure.title);
    let about = relative.map_or(String::new(), |scheme| format!("Relative to {scheme}."));
    let up = relative.map_or(figure.field.as_str(), |_| "ratio");
    let chart = Chart {
        baseline: relative.map(|_| 1.0),
        ..chart(ChartKind::Bars, &title, &about, "load", up)
    };
    chart.with_panel(Vec::new(), labels, series.collect())
}

fn claim_chart(id: &str, rows: &[&LedgerRow]) -> Option<Chart> {
    let labels = rows.iter().map(|row| row.what.clone()).collect();
    let first = |row: &&LedgerRow| row.readings.first().map(|r| (r.median, r.range));
    let values = |row: &&LedgerRow| Some(first(row)?.0);
    let range = |row: &&LedgerRow| Some(first(row)?.1);
    let here = ChartSeries {
        range: rows.iter().map(range).collect(),
        ..ChartSeries::new(
            "here (median; line: range)",
            HERE,
            rows.iter().map(values).collect(),
        )
    };
    let printed = rows.iter().map(|row| row.value).collect();
    let title = format!("{id}: published and here");
    let about = "The published number, and the median over the points here.";
    let up = "value, or change in %";
    let chart = chart(ChartKind::Beside, &title, about, "claim", up);
    let series = vec![ChartSeries::new("published", PUBLISHED, printed), here];
    chart.with_panel(Vec::new(), labels, series)
}

type Fault<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

fn drawn(draw: impl FnOnce(&mut String) -> Result<(), String>) -> Result<String, Failure> {
    let mut svg = String::new();
    draw(&mut svg).map_err(|error| Failure::Run(format!("cannot draw a figure: {error}")))?;
    Ok(svg)
}

fn text(fault: Fault<'_>) -> String {
    fault.to_string()
}

/// Bars of one load and cache size: a value for each scheme of the figure.
struct BarGroup {
    label: String,
    values: Vec<Option<f64>>,
}

fn groups(of: &Reproduction, figure: &PaperFigure) -> Vec<BarGroup> {
    let number = of.paper.experiment(&figure.experiment);
    let runs: Vec<&LoadOutcome> = of
        .outcomes
        .iter()
        .filter(|o| Some(o.experiment) == number && o.reading == 0)
        .filter(|o| o.evidence != Evidence::Twin)
        .collect();
    let places = runs.iter();
    let places = distinct(places.map(|o| (o.load.as_str(), o.cache.as_str(), o.host_fs.as_str())));
    let value = |scheme: &str, place: (&str, &str, &str)| {
        let run = runs.iter().find(|o| {
            (o.load.as_str(), o.cache.as_str(), o.host_fs.as_str()) == place
                && o.record["scheme"] == Value::String(scheme.to_owned())
        })?;
        measure(&run.record, &figure.field)
    };
    let group = |place: (&str, &str, &str)| {
        let base = match &figure.relative_to {
            Some(scheme) => value(scheme, place).filter(|base| *base != 0.0)?,
            None => 1.0,
        };
        let values = figure.scheme.iter().map(|scheme| {
            let value = value(scheme, place)?;
            Some(match figure.relative_to {
                Some(_) => value / base,
                None => shown(&figure.field, value),
            })
        });
        let fs = if place.2.is_empty() { "" } else { ", " };
        Some(BarGroup {
            label: format!("{}{fs}{}, {}", place.0, place.2, place.1),
            values: values.collect(),
        })
    };
    places.into_iter().filter_map(group).collect()
}

/// Left of the bars, for their labels; width of a picture; height of a bar with its gap, in pixels.
const LABELS: i32 = 330;
const WIDTH: i32 = 860;
const BAR: i32 = 11;

/// Horizontal bars, so that names of loads can be read.
fn grouped(svg: &mut String, figure: &PaperFigure, groups: &[BarGroup]) -> Result<(), String> {
    let each = BAR * figure.scheme.len() as i32 + 8;
    let top = 46 + 18 * ((figure.scheme.len() as i32 + 3) / 4);
    let height = top + each * groups.len() as i32 + 30;
    let area = SVGBackend::with_string(svg, (WIDTH as u32, height as u32)).into_drawing_area();
    area.fill(&WHITE).map_err(text)?;
    let relative = figure.relative_to.as_ref();
    let unit = relative.map_or(String::new(), |scheme| format!(", relative to {scheme}"));
    let title = format!("{}: {}{unit}", figure.id, figure.title);
    put(&area, &title, (10, 16), 17, HPos::Left)?;
    let looks = looks(figure);
    for (i, scheme) in figure.scheme.iter().enumerate() {
        let at = (10 + 210 * (i as i32 % 4), 40 + 18 * (i as i32 / 4));
        let key = [(at.0, at.1 - 6), (at.0 + 12, at.1 + 6)];
        area.draw(&Rectangle::new(key, looks[i].colour().filled()))
            .map_err(text)?;
        put(
            &area,
            &shown_name(scheme),
            (at.0 + 18, at.1),
            13,
            HPos::Left,
        )?;
    }
    let values = groups.iter().flat_map(|g| g.values.iter().flatten());
    let most = values.fold(0.0f64, |most, v| most.max(*v));
    let scale = f64::from(WIDTH - LABELS - 80) / if most > 0.0 { most } else { 1.0 };
    for (g, group) in groups.iter().enumerate() {
        let y = top + each * g as i32;
        put(
            &area,
            &group.label,
            (LABELS - 8, y + each / 2 - 4),
            12,
            HPos::Right,
        )?;
        for (i, value) in group.values.iter().enumerate() {
            let Some(value) = value else { continue };
            let y = y + BAR * i as i32;
            let end = LABELS + (value * scale) as i32;
            let bar = Rectangle::new(
                [(LABELS, y), (end, y + BAR - 2)],
                looks[i].colour().filled(),
            );
            area.draw(&bar).map_err(text)?;
            put(
                &area,
                &format!("{value:.2}"),
                (end + 4, y + BAR / 2 - 1),
                10,
                HPos::Left,
            )?;
        }
    }
    if relative.is_some() {
        let x = LABELS + scale as i32;
        let line = PathElement::new(vec![(x, top - 4), (x, height - 26)], BLACK.mix(0.5));
        area.draw(&line).map_err(text)?;
    }
    area.present().map_err(text)
}

/// Published numbers beside ours, whose range over the points is a line.
fn beside(svg: &mut String, id: &str, rows: &[&LedgerRow]) -> Result<(), String> {
    let each = 3 * BAR + 10;
    let height = 60 + each * rows.len() as i32 + 14;
    let area = SVGBackend::with_string(svg, (WIDTH as u32, height as u32)).into_drawing_area();
    area.fill(&WHITE).map_err(text)?;
    put(
        &area,
        &format!("{id}: published (upper) and median here (lower; line: range)"),
        (10, 16),
        17,
        HPos::Left,
    )?;
    let mut ends = vec![0.0f64];
    for row in rows {
        ends.extend(row.value);
        ends.extend(row.readings.first().map(|r| r.median));
        // One outlier is not to hide all bars.
        let range = row.readings.first().map(|r| r.range);
        let limit = 4.0 * row.value.map_or(25.0, f64::abs).max(25.0);
        ends.extend(
            range
                .into_iter()
                .flat_map(|r| [r.0, r.1])
                .filter(|e| e.abs() < limit),
        );
    }
    let least = ends.iter().copied().fold(0.0, f64::min);
    let most = ends.iter().copied().fold(0.0, f64::max);
    let width = f64::from(WIDTH - LABELS - 110);
    let span = if most > least { most - least } else { 1.0 };
    let at = |v: f64| LABELS + 40 + ((v.clamp(least, most) - least) / span * width) as i32;
    for (i, row) in rows.iter().enumerate() {
        let y = 40 + each * i as i32;
        put(&area, &row.what, (LABELS - 8, y + BAR), 12, HPos::Right)?;
        let bars = [
            (row.value, PUBLISHED.colour()),
            (row.readings.first().map(|r| r.median), HERE.colour()),
        ];
        for (b, (value, colour)) in bars.into_iter().enumerate() {
            let Some(value) = value else { continue };
            let y = y + (BAR + 2) * b as i32;
            let (from, to) = (at(value.min(0.0)), at(value.max(0.0)));
            let bar = Rectangle::new([(from, y), (to, y + BAR)], colour.filled());
            area.draw(&bar).map_err(text)?;
            let beyond = if value < 0.0 {
                (from - 4, HPos::Right)
            } else {
                (to + 4, HPos::Left)
            };
            put(
                &area,
                &format!("{value:.1}"),
                (beyond.0, y + BAR / 2),
                10,
                beyond.1,
            )?;
        }
        if let Some(reading) = row.readings.first().filter(|r| r.points.len() > 1) {
            let y = y + 2 * BAR + 7;
            let (from, to) = (at(reading.range.0), at(reading.range.1));
            let line = PathElement::new(vec![(from, y), (to, y)], HERE.line());
            area.draw(&line).map_err(text)?;
        }
    }
    let zero = PathElement::new(vec![(at(0.0), 34), (at(0.0), height - 10)], BLACK.mix(0.5));
    area.draw(&zero).map_err(text)?;
    area.present().map_err(text)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn put(area: &Area<'_>, what: &str, at: (i32, i32), size: i32, side: HPos) -> Result<(), String> {
    let style = TextStyle::from((FONT, size)).pos(Pos::new(side, VPos::Center));
    let label = matches!(side, HPos::Right) && what.chars().count() > 64;
    let shortened = match label {
        true => what.chars().take(62).collect::<String>() + "...",
        false => what.to_owned(),
    };
    area.draw(&Text::new(shortened, at, style)).map_err(text)
}
