//! The picture of curves.

use crate::mrc::points::{CurveValue, SchemeCurve, names};
use destage_console::failure::Failure;
use destage_console::file::write_file;
use destage_report::style::{FONT, SeriesLook, is_bound};
use destage_sim::curve::Estimate;
use destage_types::ByteSize;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use std::io;
use std::path::Path;

const SIZE: (u32, u32) = (900, 560);

/// The file cannot be written.
pub fn refused(path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!(
        "--plot {}: cannot write it: {error}",
        path.display()
    ))
}

/// Draws the page hit ratios over the cache size, the error of a sample as a band.
///
/// # Errors
/// There is no point, or the file cannot be written.
pub fn draw(path: &Path, trace: &str, curves: &[SchemeCurve]) -> Result<(), Failure> {
    let mut text = String::new();
    let drawn = chart(&mut text, trace, curves);
    drawn.map_err(|e| Failure::Run(format!("cannot draw {}: {e}", path.display())))?;
    write_file(path, &text).map_err(|e| refused(path, &e))
}

/// The place of a size on the axis: doublings are equally far apart.
fn place(size: ByteSize) -> f64 {
    libm::log2(size.0 as f64)
}

/// A curve as it is drawn.
struct DrawnCurve {
    /// What the legend says of it.
    name: String,
    points: Vec<CurveValue>,
}

fn drawn(curves: &[SchemeCurve]) -> Vec<DrawnCurve> {
    let named = names(curves).into_iter().zip(curves);
    let drawn = named.map(|(name, curve)| DrawnCurve {
        name,
        points: curve.page_hits(),
    });
    drawn.collect()
}

/// The top of the axis in percent, and where no curve should be in the way of the legend: curves
/// rise from left to right.
fn heights(curves: &[DrawnCurve], middle: f64) -> (f64, SeriesLabelPosition) {
    let highest = |keep: &dyn Fn(f64) -> bool| {
        let points = curves.iter().flat_map(|curve| &curve.points);
        let kept = points.filter(|p| keep(place(p.cache)));
        kept.map(|p| 100.0 * p.estimate.value).fold(0.0, f64::max)
    };
    let top = (10.0 * libm::ceil(highest(&|_| true) * 1.05 / 10.0)).clamp(10.0, 100.0);
    match highest(&|place| place < middle) < 0.6 * top {
        true => (top, SeriesLabelPosition::UpperLeft),
        false => (top, SeriesLabelPosition::LowerRight),
    }
}

fn chart(text: &mut String, trace: &str, curves: &[SchemeCurve]) -> Result<(), String> {
    let said = |e: &dyn std::fmt::Display| e.to_string();
    let looks = SeriesLook::of_all(curves.iter().map(|c| is_bound(&c.base.expr.to_string())));
    let drawn = drawn(curves);
    let points = || drawn.iter().flat_map(|curve| &curve.points);
    let places = || points().map(|p| place(p.cache));
    let (left, right) = (
        places().fold(f64::INFINITY, f64::min),
        places().fold(0.0, f64::max),
    );
    if left > right {
        return Err("no point has a page access".to_owned());
    }
    let (left, right) = if left == right {
        (left - 1.0, right + 1.0)
    } else {
        (left, right)
    };
    let (top, legend) = heights(&drawn, (left + right) / 2.0);
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(|e| said(&e))?;
    let mut chart = ChartBuilder::on(&root)
        .caption(format!("{trace}: page hit ratio"), (FONT, 20))
        .margin(16)
        .margin_right(40)
        .x_label_area_size(48)
        .y_label_area_size(64)
        .build_cartesian_2d(left..right, 0.0..top)
        .map_err(|e| said(&e))?;
    // A size is shown where it is a power of two, which is where the axis has its marks.
    let size = |x: &f64| match libm::round(*x) == *x && (0.0..63.0).contains(x) {
        true => ByteSize(1 << *x as u64).to_string(),
        false => String::new(),
    };
    chart
        .configure_mesh()
        .x_labels(12)
        .x_label_formatter(&size)
        .y_label_formatter(&|y| format!("{y:.0} %"))
        .x_desc("cache size")
        .y_desc(pages_desc(curves))
        .light_line_style(WHITE)
        .draw()
        .map_err(|e| said(&e))?;
    for (curve, look) in drawn.iter().zip(looks) {
        draw_curve(&mut chart, curve, look).map_err(|e| said(&e))?;
    }
    chart
        .configure_series_labels()
        .position(legend)
        .background_style(WHITE.mix(0.8))
        .border_style(RGBColor(160, 160, 160))
        .label_font((FONT, 14))
        .draw()
        .map_err(|e| said(&e))?;
    root.present().map_err(|e| said(&e))
}

/// The vertical axis: what is a hit depends on the page size, which is the same for all curves.
fn pages_desc(curves: &[SchemeCurve]) -> String {
    let page = curves
        .first()
        .map(|curve| ByteSize(curve.base.page.bytes()));
    let page = page.map_or_else(String::new, |page| format!(", pages of {page}"));
    format!("page hits / page accesses{page}")
}

type Axes<'a, 'b> = ChartContext<'b, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Fault<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// A curve with its marks, its place in the legend, and its error as a band.
fn draw_curve<'a>(
    chart: &mut Axes<'a, '_>,
    curve: &DrawnCurve,
    look: SeriesLook,
) -> Result<(), Fault<'a>> {
    let style = look.line();
    let points = &curve.points;
    let at = |of: fn(&Estimate) -> f64| {
        move |hit: &CurveValue| (place(hit.cache), 100.0 * of(&hit.estimate))
    };
    if points.iter().any(|p| p.estimate.error > 0.0) {
        let above = points.iter().map(at(|e| e.high));
        let below = points.iter().rev().map(at(|e| e.low));
        let band: Vec<(f64, f64)> = above.chain(below).collect();
        let band = Polygon::new(band, look.colour().mix(0.2));
        chart.draw_series(std::iter::once(band))?;
    }
    let points: Vec<(f64, f64)> = points.iter().map(at(|e| e.value)).collect();
    chart.draw_series(points.iter().map(|p| Circle::new(*p, 3, style)))?;
    let drawn = match look.dashes() {
        None => chart.draw_series(LineSeries::new(points, style))?,
        Some((on, off)) => chart.draw_series(DashedLineSeries::new(points, on, off, style))?,
    };
    let (on, off) = look.dashes().unwrap_or((20, 1));
    let key = move |(x, y): (i32, i32)| {
        plotters::element::DashedPathElement::new([(x, y), (x + 20, y)], on, off, style)
    };
    drawn.label(&curve.name).legend(key);
    Ok(())
}
