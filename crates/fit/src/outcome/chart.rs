//! The picture of a fit: percentiles of the model beside those of the drive, by rate.

use super::FitOutcome;
use crate::FitError;
use crate::measurements::{DriveCell, LatencyTable};
use crate::residual::offered_writes;
use crate::simulate::{ServiceTimes, SimulatedCell};
use destage_report::style::{FONT, SeriesLook};
use plotters::prelude::*;

const SIZE: (u32, u32) = (960, 400);
/// Percentiles that are drawn.
const DRAWN: [(f64, &str); 3] = [(0.5, "p50"), (0.99, "p99"), (0.999, "p99.9")];

/// Writes or reads of a chart.
struct Panel<'a> {
    title: &'a str,
    table: fn(&DriveCell) -> &LatencyTable,
    times: fn(&SimulatedCell) -> &ServiceTimes,
}

/// An SVG of two panels: writes and reads. The drive is dashed, the model is whole.
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
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(|e| said(&e))?;
    let (left, right) = root.split_horizontally(SIZE.0 / 2);
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
    root.present().map_err(|e| said(&e))
}

fn draw_panel(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
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
        let style = curve.look.line();
        let colour = curve.look.colour();
        if curve.is_model {
            let line = LineSeries::new(curve.points, style);
            let drawn = chart.draw_series(line).map_err(|e| said(&e))?;
            drawn
                .label(format!("{} model", curve.name))
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        } else {
            let marks = curve
                .points
                .iter()
                .map(|&point| Circle::new(point, 3, colour.filled()));
            let drawn = chart.draw_series(marks).map_err(|e| said(&e))?;
            drawn
                .label(format!("{} drive", curve.name))
                .legend(move |(x, y)| Circle::new((x + 9, y), 3, colour.filled()));
        }
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .label_font((FONT, 11))
        .draw()
        .map_err(|e| said(&e))
}

/// One percentile of the drive or of the model.
struct DrawnCurve {
    name: &'static str,
    is_model: bool,
    look: SeriesLook,
    points: Vec<(f64, f64)>,
}

fn curves(outcome: &FitOutcome, panel: &Panel<'_>) -> Vec<DrawnCurve> {
    let mut all = Vec::new();
    for (number, &(share, name)) in DRAWN.iter().enumerate() {
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
                    name,
                    is_model,
                    look: SeriesLook::Number(number),
                    points,
                });
            }
        }
    }
    all
}
