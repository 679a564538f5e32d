//! The picture of a fit: percentiles of the model beside those of the drive, by rate.

use super::FitOutcome;
use crate::FitError;
use crate::measurements::{DriveCell, LatencyTable};
use crate::residual::offered_writes;
use crate::simulate::{ServiceTimes, SimulatedCell};
use destage_report::style::{FONT, SeriesLook};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Width and height of the axes.
const SIZE: (u32, u32) = (960, 400);
/// Height of the legend, which stands below the axes: within them it would cover points.
const LEGEND: u32 = 30;
/// Height of the text of the legend.
const TEXT: u32 = 13;
/// Radius of a point.
const RADIUS: i32 = 3;
/// Percentiles that are drawn.
const DRAWN: [(f64, &str); 3] = [(0.5, "p50"), (0.99, "p99"), (0.999, "p99.9")];

/// Writes or reads of a chart.
struct Panel<'a> {
    title: &'a str,
    table: fn(&DriveCell) -> &LatencyTable,
    times: fn(&SimulatedCell) -> &ServiceTimes,
}

/// An SVG of two panels: writes and reads. The drive has points, the model has lines.
///
/// # Errors
/// No cell has a rate and a percentile.
pub fn chart(outcome: &FitOutcome) -> Result<String, FitError> {
    let mut text = String::new();
    draw(&mut text, outcome).map_err(FitError::Chart)?;
    Ok(text)
}

fn draw(text: &mut String, outcome: &FitOutcome) -> Result<(), String> {
    let said = |e: &dyn std::fmt::Display| e.to_string();
    let size = (SIZE.0, SIZE.1 + LEGEND);
    let root = SVGBackend::with_string(text, size).into_drawing_area();
    root.fill(&WHITE).map_err(|e| said(&e))?;
    let (above, below) = root.split_vertically(SIZE.1);
    let (left, right) = above.split_horizontally(SIZE.0 / 2);
    let writes = Panel {
        title: "writes",
        table: |cell| &cell.measured.write,
        times: |model| &model.write,
    };
    let reads = Panel {
        title: "reads",
        table: |cell| &cell.measured.read,
        times: |model| &model.read,
    };
    for (area, panel) in [(left, writes), (right, reads)] {
        draw_panel(&area, outcome, &panel)?;
    }
    draw_legend(&below)?;
    root.present().map_err(|e| said(&e))
}

fn draw_panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    outcome: &FitOutcome,
    panel: &Panel<'_>,
) -> Result<(), String> {
    let said = |e: &dyn std::fmt::Display| e.to_string();
    let curves = curves(outcome, panel);
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let least = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(0.0, f64::max);
    let (x0, x1, y0, y1) = (least(|p| p.0), most(|p| p.0), least(|p| p.1), most(|p| p.1));
    if x0 > x1 {
        return Err("no cell has a rate and a percentile".to_owned());
    }
    let mut chart = ChartBuilder::on(area)
        .caption(format!("{}: {}", outcome.drive, panel.title), (FONT, 16))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(52)
        .build_cartesian_2d(0.9 * x0..1.05 * x1, (0.8 * y0..1.3 * y1).log_scale())
        .map_err(|e| said(&e))?;
    chart
        .configure_mesh()
        .x_labels(6)
        .x_label_formatter(&|x| format!("{:.0}k", x / 1e3))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .x_desc("writes a second asked for")
        .y_desc("us")
        .light_line_style(WHITE)
        .draw()
        .map_err(|e| said(&e))?;
    for curve in curves {
        let colour = curve.look.colour();
        let points = curve.points;
        if curve.is_model {
            let line = LineSeries::new(points, curve.look.line());
            chart.draw_series(line).map_err(|e| said(&e))?;
        } else {
            let marks = points
                .into_iter()
                .map(|point| Circle::new(point, RADIUS, colour.filled()));
            chart.draw_series(marks).map_err(|e| said(&e))?;
        }
    }
    Ok(())
}

/// Draws the legend of colours, points, and lines in one row for both panels.
fn draw_legend(area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), String> {
    let said = |e: &dyn std::fmt::Display| e.to_string();
    let style = (FONT, TEXT).into_font().color(&BLACK);
    let style = style.pos(Pos::new(HPos::Left, VPos::Center));
    let places = area.split_evenly((1, 2 * DRAWN.len()));
    for (place, entry) in places.iter().zip(0..) {
        let (number, is_model) = (entry / 2, entry % 2 == 1);
        let look = SeriesLook::Number(number);
        let middle = LEGEND as i32 / 2;
        let drawn = match is_model {
            true => place.draw(&PathElement::new([(24, middle), (48, middle)], look.line())),
            false => place.draw(&Circle::new((36, middle), RADIUS, look.colour().filled())),
        };
        drawn.map_err(|e| said(&e))?;
        let of = if is_model { "model" } else { "drive" };
        let text = format!("{} {of}", DRAWN[number].1);
        let text = Text::new(text, (56, middle), style.clone());
        place.draw(&text).map_err(|e| said(&e))?;
    }
    Ok(())
}

/// One percentile of the drive or of the model.
struct DrawnCurve {
    is_model: bool,
    look: SeriesLook,
    points: Vec<(f64, f64)>,
}

fn curves(outcome: &FitOutcome, panel: &Panel<'_>) -> Vec<DrawnCurve> {
    let mut all = Vec::new();
    for (number, &(share, _)) in DRAWN.iter().enumerate() {
        for is_model in [false, true] {
            let value = |cell: &DriveCell, model: &SimulatedCell| match is_model {
                true => (panel.times)(model).at(share),
                false => (panel.table)(cell).at(share),
            };
            let rows = outcome
                .comparison
                .cells
                .iter()
                .zip(&outcome.comparison.models);
            let points = rows.filter_map(|(cell, model)| {
                Some((
                    offered_writes(cell)?,
                    value(cell, model).filter(|&us| us > 0.0)?,
                ))
            });
            let points: Vec<(f64, f64)> = points.collect();
            if !points.is_empty() {
                all.push(DrawnCurve {
                    is_model,
                    look: SeriesLook::Number(number),
                    points,
                });
            }
        }
    }
    all
}
