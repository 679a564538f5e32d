//! The picture of curves.

use crate::mrc::points::{CurveValue, SchemeCurve, names};
use destage_console::failure::Failure;
use destage_report::picture;
use destage_report::style::{FONT, Mark, SeriesLook, is_bound};
use destage_sim::curve::Estimate;
use destage_types::ByteSize;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::element::{DashedPathElement, Drawable, PointCollection};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters_backend::{BackendCoord, DrawingErrorKind};
use std::path::Path;

/// Width and height of the axes. In a column of a paper, 3.3 inches wide, a unit is half a point.
const SIZE: (u32, u32) = (480, 320);
/// Height of all text: 8 points in such a column.
const TEXT: u32 = 16;
/// Height of a line of the legend.
const LINE: u32 = 22;
/// Characters of a name up to which the legend has two columns.
const SHORT: usize = 22;

/// Draws the page hit ratios over the cache size, the error of a sample as a band.
///
/// # Errors
/// There is no point, or the file cannot be written.
pub fn draw(path: &Path, curves: &[SchemeCurve]) -> Result<(), Failure> {
    let mut text = String::new();
    let drawn = chart(&mut text, curves);
    drawn.map_err(|e| Failure::Run(format!("cannot draw {}: {e}", path.display())))?;
    picture::write("--plot", path, &text)
}

/// The place of a size on the axis: doublings are equally far apart.
fn place(size: ByteSize) -> f64 {
    libm::log2(size.0 as f64)
}

/// A curve as it is drawn.
struct DrawnCurve {
    /// Its name in the legend.
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

/// The top of the axis in percent.
fn top(curves: &[DrawnCurve]) -> f64 {
    let points = curves.iter().flat_map(|curve| &curve.points);
    let highest = points.map(|p| 100.0 * p.estimate.value).fold(0.0, f64::max);
    // Half a power of ten at a time.
    let step = libm::pow(10.0, libm::floor(libm::log10(highest.max(0.1)))) / 2.0;
    (step * libm::ceil(highest * 1.05 / step)).clamp(0.1, 100.0)
}

fn chart(text: &mut String, curves: &[SchemeCurve]) -> Result<(), String> {
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
    let columns = match drawn
        .iter()
        .all(|curve| curve.name.chars().count() <= SHORT)
    {
        true => 2,
        false => 1,
    };
    let lines = drawn.len().div_ceil(columns) as u32;
    let size = (SIZE.0, SIZE.1 + lines * LINE + LINE / 2);
    let root = SVGBackend::with_string(text, size).into_drawing_area();
    root.fill(&WHITE).map_err(|e| said(&e))?;
    let (above, below) = root.split_vertically(SIZE.1);
    let mut chart = ChartBuilder::on(&above)
        .margin(8)
        .margin_right(24)
        .x_label_area_size(48)
        .y_label_area_size(64)
        .build_cartesian_2d(left..right, 0.0..top(&drawn))
        .map_err(|e| said(&e))?;
    // A size is shown where it is a power of two, which is where the axis has its marks.
    let size = |x: &f64| match libm::round(*x) == *x && (0.0..63.0).contains(x) {
        true => ByteSize(1 << *x as u64).to_string(),
        false => String::new(),
    };
    chart
        .configure_mesh()
        .x_labels(5)
        .y_labels(6)
        .label_style((FONT, TEXT))
        .axis_desc_style((FONT, TEXT))
        .x_label_formatter(&size)
        .y_label_formatter(&|y| format!("{} %", (y * 100.0).round() / 100.0))
        .x_desc("cache size")
        .y_desc(pages_desc(curves))
        .light_line_style(WHITE)
        .draw()
        .map_err(|e| said(&e))?;
    for (curve, &look) in drawn.iter().zip(&looks) {
        draw_curve(&mut chart, curve, look).map_err(|e| said(&e))?;
    }
    let entries = below.split_evenly((lines as usize, columns));
    for ((curve, look), place) in drawn.iter().zip(looks).zip(&entries) {
        draw_entry(place, &curve.name, look).map_err(|e| said(&e))?;
    }
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

/// The entry of a curve in the legend: its line with its mark, and its name.
fn draw_entry<'a>(
    place: &DrawingArea<SVGBackend<'a>, Shift>,
    name: &str,
    look: SeriesLook,
) -> Result<(), Fault<'a>> {
    let (begin, end, middle) = (12, 44, LINE as i32 / 2);
    let (on, off) = look.dashes().unwrap_or((32, 1));
    let line = [(begin, middle), (end, middle)];
    place.draw(&DashedPathElement::new(line, on, off, look.line()))?;
    place.draw(&PointMark::new(((begin + end) / 2, middle), look))?;
    let style = (FONT, TEXT).into_font().color(&BLACK);
    let style = style.pos(Pos::new(HPos::Left, VPos::Center));
    place.draw(&Text::new(name.to_owned(), (end + 8, middle), style))
}

/// The mark of a series at a point.
struct PointMark<C> {
    at: [C; 1],
    look: SeriesLook,
}

impl<C> PointMark<C> {
    fn new(at: C, look: SeriesLook) -> PointMark<C> {
        let at = [at];
        PointMark { at, look }
    }
}

impl<'a, C> PointCollection<'a, C> for &'a PointMark<C> {
    type Point = &'a C;
    type IntoIter = std::slice::Iter<'a, C>;

    fn point_iter(self) -> Self::IntoIter {
        self.at.iter()
    }
}

impl<C, DB: DrawingBackend> Drawable<DB> for PointMark<C> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        mut points: I,
        backend: &mut DB,
        _: (u32, u32),
    ) -> Result<(), DrawingErrorKind<DB::ErrorType>> {
        let (Some((x, y)), style) = (points.next(), self.look.colour().filled()) else {
            return Ok(());
        };
        let corners: &[(i32, i32)] = match self.look.mark() {
            Mark::Circle => return backend.draw_circle((x, y), 5, &style, true),
            Mark::None => return Ok(()),
            Mark::Triangle => &[(0, -6), (6, 5), (-6, 5)],
            Mark::Square => &[(-5, -5), (5, -5), (5, 5), (-5, 5)],
            Mark::Diamond => &[(0, -7), (7, 0), (0, 7), (-7, 0)],
            Mark::Down => &[(-6, -5), (6, -5), (0, 6)],
        };
        let corners = corners.iter().map(|(right, down)| (x + right, y + down));
        backend.fill_polygon(corners, &style)
    }
}

/// A curve with its marks, and its error as a band.
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
    chart.draw_series(points.iter().map(|p| PointMark::new(*p, look)))?;
    match look.dashes() {
        None => chart.draw_series(LineSeries::new(points, style))?,
        Some((on, off)) => chart.draw_series(DashedLineSeries::new(points, on, off, style))?,
    };
    Ok(())
}
