//! How series look in the pictures of `destage mrc` and of reports, so that a scheme listed at the
//! same place looks the same in both.

use plotters::style::{Color, RGBColor, ShapeStyle};

/// Font of everything written into a picture.
pub const FONT: &str = "sans-serif";

/// The first six are told apart with every kind of colour vision (Okabe and Ito 2008), all of them
/// in print.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(64, 64, 64),
    RGBColor(148, 103, 189),
];

/// Colour of series number `i`.
pub fn colour(i: usize) -> RGBColor {
    COLOURS[i % COLOURS.len()]
}

/// Line of series number `i`.
pub fn line(i: usize) -> ShapeStyle {
    colour(i).stroke_width(2)
}

/// How often the colours were used up before series number `i`; another mark tells it from those.
pub fn round(i: usize) -> usize {
    i / COLOURS.len()
}
