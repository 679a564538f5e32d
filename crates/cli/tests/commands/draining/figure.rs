//! `docs/buffer.svg`: response times over flash bytes, geometric means, with the fewest bytes possible as a line.

use super::buffer::{SCHEMES, is_collecting, point};
use super::geometric_mean;
use serde_json::Value;
use std::fmt::Write as _;

/// Left and width of a panel; both have the same height.
const PANELS: [(&str, f64); 2] = [("mean response time", 70.0), ("99.9th percentile", 510.0)];
const WIDTH: f64 = 360.0;
const TOP: f64 = 50.0;
const HEIGHT: f64 = 300.0;
/// Ranges of both axes, which are logarithmic.
const BYTES: [f64; 2] = [0.7, 2.5];
const TIMES: [f64; 2] = [0.5, 200.0];

fn share(value: f64, [low, high]: [f64; 2]) -> f64 {
    ((value / low).ln() / (high / low).ln()).clamp(0.0, 1.0)
}

fn y(value: f64) -> f64 {
    TOP + HEIGHT * (1.0 - share(value, TIMES))
}

pub fn svg(records: &[Value]) -> String {
    let mut text = String::from(concat!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 470" font-family="sans-serif" font-size="12" fill="#222">"##,
        "\n",
        r##"<rect width="900" height="470" fill="#fff"/>"##,
        "\n"
    ));
    for (at, (title, left)) in PANELS.into_iter().enumerate() {
        panel(&mut text, title, left);
        let bound = draw(&mut text, records, at, left, false);
        let x = left + WIDTH * share(bound, BYTES);
        let _ = writeln!(
            text,
            r##"<path d="M{x:.1} {TOP}v{HEIGHT}" stroke="#c22" stroke-dasharray="6 3"/>"##
        );
        draw(&mut text, records, at, left, true);
    }
    text += r#"<text x="70" y="445">Filled: no collection. Hollow: collecting. Dashed line: the fewest bytes that any scheme can write, without collection.</text>"#;
    text += "\n</svg>\n";
    text
}

fn panel(text: &mut String, title: &str, left: f64) {
    let bottom = TOP + HEIGHT;
    let _ = writeln!(
        text,
        r#"<text x="{left}" y="30" font-size="15">{title} / drain(lru)</text>"#
    );
    let _ = writeln!(
        text,
        r##"<path d="M{left} {TOP}V{bottom}H{}" fill="none" stroke="#222"/>"##,
        left + WIDTH
    );
    for bytes in [0.8, 1.0, 1.25, 1.5, 2.0] {
        let x = left + WIDTH * share(bytes, BYTES);
        let _ = writeln!(
            text,
            r##"<path d="M{x:.1} {TOP}V{bottom}" stroke="#ddd"/>"##
        );
        let _ = writeln!(
            text,
            r#"<text x="{x:.1}" y="{}" text-anchor="middle">{bytes}</text>"#,
            bottom + 18.0
        );
    }
    for time in [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0] {
        let _ = writeln!(
            text,
            r#"<text x="{}" y="{:.1}" text-anchor="end">{time}</text>"#,
            left - 8.0,
            y(time) + 4.0
        );
    }
    let _ = writeln!(
        text,
        r#"<text x="{left}" y="{}">flash bytes / lru on demand</text>"#,
        bottom + 38.0
    );
}

/// The points of all schemes; answers where the bound is.
fn draw(text: &mut String, records: &[Value], panel: usize, left: f64, collects: bool) -> f64 {
    let mut bounds = Vec::new();
    for (at, scheme) in SCHEMES.into_iter().enumerate() {
        let own = records.iter().filter(|r| {
            let is_here = r["run_name"] == "drives" || is_collecting(r);
            is_here && r["scheme"] == scheme && is_collecting(r) == collects
        });
        let points: Vec<_> = own.map(|r| point(records, r)).collect();
        let mean = |value: &dyn Fn(&super::buffer::Point) -> f64| {
            geometric_mean(&points.iter().map(value).collect::<Vec<f64>>())
        };
        let bytes = mean(&|p| p.bytes);
        bounds.push(bytes / mean(&|p| p.to_bound));
        let time = if panel == 0 {
            mean(&|p| p.mean)
        } else {
            mean(&|p| p.tail)
        };
        let (x, y) = (left + WIDTH * share(bytes, BYTES), y(time));
        let fill = if collects { "#fff" } else { "#36c" };
        let _ = writeln!(
            text,
            r##"<circle cx="{x:.1}" cy="{y:.1}" r="5" fill="{fill}" stroke="#36c"/>"##
        );
        if !collects {
            let label = y - 18.0 - 14.0 * (at as f64);
            let _ = writeln!(
                text,
                r##"<path d="M{x:.1} {y:.1}V{:.1}" stroke="#99b"/>"##,
                label + 4.0
            );
            let _ = writeln!(
                text,
                r#"<text x="{x:.1}" y="{label:.1}" font-size="11">{scheme}</text>"#
            );
        }
    }
    bounds[0]
}
