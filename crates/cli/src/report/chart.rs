//! Charts of the report, as SVG text.

use crate::series_style::{FONT, colour, line as line_of, round};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, DefaultFormatting, KeyPointHint, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

/// Width and height of a chart in pixels; the page scales it.
const SIZE: (u32, u32) = (560, 340);

/// A series of points: cache size in bytes and value.
pub struct ChartLine {
    /// Number of the scheme, which gives the colour.
    pub number: usize,
    /// Points in ascending order of the cache size.
    pub points: Vec<(u64, f64)>,
}

/// Text of a tick.
pub type Tick<'a> = &'a dyn Fn(f64) -> String;

/// A chart of `lines` over the cache size; with one size only, one bar per line. `None` without a
/// point.
pub fn over_cache_size(title: &str, lines: &[ChartLine], tick: Tick<'_>) -> Option<String> {
    let mut sizes: Vec<u64> = lines
        .iter()
        .flat_map(|l| l.points.iter().map(|p| p.0))
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let values = lines.iter().flat_map(|l| l.points.iter().map(|p| p.1));
    let room = if sizes.len() == 1 { 1.1 } else { 1.05 };
    let top = values.fold(0.0, f64::max) * room;
    let top = if top > 0.0 { top } else { 1.0 };
    let mut svg = String::new();
    let drawn = {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        match sizes.len() {
            0 => return None,
            1 => bars(&area, title, lines, top, tick),
            _ => curves(&area, title, (lines, &sizes), top, tick),
        }
        .and_then(|()| area.present())
    };
    // Drawing into a string has no way to fail.
    drawn.is_ok().then_some(svg)
}

/// The horizontal axis: logarithms of the cache sizes, a tick at each.
struct Sizes {
    keys: Vec<f64>,
    range: Range<f64>,
}

impl Ranged for Sizes {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.range.start) / (self.range.end - self.range.start);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<H: KeyPointHint>(&self, _: H) -> Vec<f64> {
        self.keys.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Fault<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;
type Drawn<'a> = Result<(), Fault<'a>>;
type Chart<'a, 'b, X> = ChartContext<'b, SVGBackend<'a>, Cartesian2d<X, RangedCoordf64>>;

fn context<'a, 'b, X>(
    area: &'b Area<'a>,
    title: &str,
    x: X,
    top: f64,
) -> Result<Chart<'a, 'b, X::CoordDescType>, Fault<'a>>
where
    X: AsRangedCoord,
{
    ChartBuilder::on(area)
        .caption(title, (FONT, 17))
        .margin(10)
        .margin_right(24)
        .x_label_area_size(42)
        .y_label_area_size(64)
        .build_cartesian_2d(x, 0.0..top)
}

fn curves<'a>(
    area: &Area<'a>,
    title: &str,
    (lines, sizes): (&[ChartLine], &[u64]),
    top: f64,
    tick: Tick<'_>,
) -> Drawn<'a> {
    let at = |size: u64| libm::log2(size as f64);
    let (first, last) = (at(sizes[0]), at(sizes[sizes.len() - 1]));
    let pad = (last - first) * 0.04;
    let keys = sizes.iter().map(|&s| at(s)).collect();
    let range = first - pad..last + pad;
    let x = Sizes { keys, range };
    let mut chart = context(area, title, x, top)?;
    let size = |x: &f64| {
        let near = sizes.iter().min_by(|a, b| {
            let far = |s: u64| (at(s) - x).abs();
            far(**a).total_cmp(&far(**b))
        });
        near.map_or_else(String::new, |s| destage_types::ByteSize(*s).to_string())
    };
    mesh(&mut chart, "cache size", tick, &size, sizes.len())?;
    for line in lines {
        let style = line_of(line.number);
        let points = || line.points.iter().map(|&(s, v)| (at(s), v));
        chart.draw_series(LineSeries::new(points(), style))?;
        let fill = colour(line.number).filled();
        match round(line.number) {
            0 => chart.draw_series(points().map(|p| Circle::new(p, 4, fill)))?,
            1 => chart.draw_series(points().map(|p| TriangleMarker::new(p, 6, fill)))?,
            _ => chart.draw_series(points().map(|p| Cross::new(p, 4, style)))?,
        };
    }
    Ok(())
}

fn bars<'a>(
    area: &Area<'a>,
    title: &str,
    lines: &[ChartLine],
    top: f64,
    tick: Tick<'_>,
) -> Drawn<'a> {
    let mut chart = context(area, title, 0.0..lines.len() as f64, top)?;
    mesh(
        &mut chart,
        "scheme, as in the legend",
        tick,
        &|_| String::new(),
        0,
    )?;
    for (i, line) in lines.iter().enumerate() {
        let fill = colour(line.number).filled();
        let bar = |&(_, value): &(u64, f64)| {
            Rectangle::new([(i as f64 + 0.15, 0.0), (i as f64 + 0.85, value)], fill)
        };
        chart.draw_series(line.points.iter().map(bar))?;
        let anchor = Pos::new(HPos::Center, VPos::Bottom);
        let style = TextStyle::from((FONT, 13)).pos(anchor);
        let value = |&(_, value): &(u64, f64)| {
            Text::new(tick(value), (i as f64 + 0.5, value), style.clone())
        };
        chart.draw_series(line.points.iter().map(value))?;
    }
    Ok(())
}

fn mesh<'a, X>(
    chart: &mut Chart<'a, '_, X>,
    below: &str,
    tick: Tick<'_>,
    size: &dyn Fn(&f64) -> String,
    labels: usize,
) -> Drawn<'a>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(225, 225, 225))
        .axis_style(RGBColor(90, 90, 90))
        .label_style((FONT, 13))
        .axis_desc_style((FONT, 14))
        .x_desc(below)
        .x_labels(labels)
        .x_label_formatter(size)
        .y_labels(6)
        .y_label_formatter(&|y| tick(*y))
        .draw()
}
