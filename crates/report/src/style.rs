//! How series look, in the pictures of `--plot` and `repro` and in reports: a scheme listed at the same
//! place looks the same in all of them.

#[cfg(not(target_family = "wasm"))]
use plotters::style::{RGBColor, ShapeStyle};
use serde_json::{Value, json};

/// Font of everything written into a picture.
pub const FONT: &str = "sans-serif";

/// Each on white, and on the dark background of a page. A test holds them apart for every kind of colour
/// vision, and from their background.
const COLOURS: [(u32, u32); 8] = [
    (0x0c95ff, 0x4351ff),
    (0xa93106, 0xed8601),
    (0x0f6a72, 0x18be9b),
    (0x880dcb, 0xbf8cff),
    (0xfb5f2b, 0xc92710),
    (0x16287b, 0x66efff),
    (0xa78a9c, 0x9c5d9b),
    (0x5c1b22, 0xd8df6e),
];

/// Drawn and left out, in pixels, where the colours are used up so often: the first series have whole lines.
const DASHES: [(u32, u32); 4] = [(1, 0), (9, 4), (3, 3), (14, 3)];

/// Marks of points in the words of the page. One more or less than there are colours, so that
/// series of one colour differ in them too.
const MARKS: [(Mark, &str); 5] = [
    (Mark::Circle, "circle"),
    (Mark::Triangle, "triangle"),
    (Mark::Square, "square"),
    (Mark::Diamond, "diamond"),
    (Mark::Down, "down"),
];

/// The mark of the points of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Mark {
    Circle,
    Triangle,
    Square,
    Diamond,
    /// A triangle that stands on its point.
    Down,
    /// Bounds have none.
    None,
}

/// A bound is no contestant: dashed, in the colour of the text.
const BOUND: (u32, u32) = (0x404040, 0xd0d0d0);
const BOUND_DASHES: (u32, u32) = (6, 5);

/// The look of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeriesLook {
    /// The so-manieth scheme.
    Number(usize),
    /// A scheme that knows the future.
    Bound,
}

impl SeriesLook {
    /// Looks of schemes in their order, given which of them are bounds.
    pub fn of_all(bounds: impl IntoIterator<Item = bool>) -> Vec<SeriesLook> {
        let mut next = 0;
        let look = |bound: bool| {
            if bound {
                SeriesLook::Bound
            } else {
                next += 1;
                SeriesLook::Number(next - 1)
            }
        };
        bounds.into_iter().map(look).collect()
    }

    /// The colour on white.
    #[cfg(not(target_family = "wasm"))]
    pub fn colour(self) -> RGBColor {
        rgb(match self {
            SeriesLook::Number(i) => COLOURS[i % COLOURS.len()].0,
            SeriesLook::Bound => BOUND.0,
        })
    }

    /// The line on white.
    #[cfg(not(target_family = "wasm"))]
    pub fn line(self) -> ShapeStyle {
        use plotters::style::Color;
        self.colour().stroke_width(2)
    }

    /// The mark of its points.
    pub fn mark(self) -> Mark {
        match self {
            SeriesLook::Number(i) => MARKS[i % MARKS.len()].0,
            SeriesLook::Bound => Mark::None,
        }
    }

    /// Pixels drawn and left out in turn; `None` for a whole line.
    pub fn dashes(self) -> Option<(u32, u32)> {
        let dashes = match self {
            SeriesLook::Number(i) => DASHES[i / COLOURS.len() % DASHES.len()],
            SeriesLook::Bound => BOUND_DASHES,
        };
        Some(dashes).filter(|dashes| dashes.1 > 0)
    }
}

/// Is the scheme a bound, which knows the future?
pub fn is_bound(expr: &str) -> bool {
    use destage_scheme::{Expr, Role};
    Expr::parse(expr).is_ok_and(|expr| expr.scheme().role == Role::Offline)
}

/// The name of a scheme in a legend.
pub fn shown_name(expr: &str) -> String {
    if is_bound(expr) {
        format!("{expr} (bound)")
    } else {
        expr.to_owned()
    }
}

/// The note on read allocation in names, where the same scheme is there with and without (`both`):
/// hit ratios are not alike then.
pub fn alloc_note(both: bool, on: bool) -> &'static str {
    match (both, on) {
        (false, _) => "",
        (true, true) => ", read allocation on",
        (true, false) => ", read allocation off",
    }
}

/// The same rules for the page.
pub fn for_page() -> Value {
    let hex = |colour: u32| format!("#{colour:06x}");
    json!({
        "light": COLOURS.map(|c| hex(c.0)),
        "dark": COLOURS.map(|c| hex(c.1)),
        "dashes": DASHES.map(|d| [d.0, d.1]),
        "marks": MARKS.map(|mark| mark.1),
        "bound": { "light": hex(BOUND.0), "dark": hex(BOUND.1), "dashes": [BOUND_DASHES.0, BOUND_DASHES.1] },
    })
}

#[cfg(not(target_family = "wasm"))]
fn rgb(colour: u32) -> RGBColor {
    let [_, r, g, b] = colour.to_be_bytes();
    RGBColor(r, g, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Linear = [f64; 3];

    fn linear(colour: u32) -> Linear {
        let RGBColor(r, g, b) = rgb(colour);
        [r, g, b].map(|c| match f64::from(c) / 255.0 {
            c if c <= 0.04045 => c / 12.92,
            c => libm::pow((c + 0.055) / 1.055, 2.4),
        })
    }

    /// Colours that people see, by Machado, Oliveira and Fernandes 2009: all cones, and without
    /// each kind.
    const SIGHTS: [[Linear; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
    ];

    fn times(matrix: &[Linear; 3], v: Linear) -> Linear {
        matrix.map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum())
    }

    /// Oklab, in which distances are as large as they look.
    fn lab(linear: Linear) -> Linear {
        let lms = times(
            &[
                [0.4122214708, 0.5363325363, 0.0514459929],
                [0.2119034982, 0.6806995451, 0.1073969566],
                [0.0883024619, 0.2817188376, 0.6299787005],
            ],
            linear.map(|c| c.clamp(0.0, 1.0)),
        );
        times(
            &[
                [0.2104542553, 0.7936177850, -0.0040720468],
                [1.9779984951, -2.4285922050, 0.4505937099],
                [0.0259040371, 0.7827717662, -0.8086757660],
            ],
            lms.map(libm::cbrt),
        )
    }

    fn contrast(a: u32, b: u32) -> f64 {
        let bright = |c: u32| {
            let [r, g, b] = linear(c);
            0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05
        };
        let (a, b) = (bright(a), bright(b));
        a.max(b) / a.min(b)
    }

    #[test]
    fn colours_are_told_apart_with_every_kind_of_colour_vision() {
        let pages = [
            (COLOURS.map(|c| c.0), 0xffffff),
            (COLOURS.map(|c| c.1), 0x16181d),
        ];
        for (colours, background) in pages {
            for (i, &a) in colours.iter().enumerate() {
                let seen = contrast(a, background);
                assert!(seen >= 3.0, "{a:06x} on {background:06x}: {seen}");
                for &b in &colours[..i] {
                    for sight in &SIGHTS {
                        let [a, b] = [a, b].map(|c| lab(times(sight, linear(c))));
                        let apart = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
                        assert!(apart.sqrt() > 0.12, "{a:?} {b:?}: {}", apart.sqrt());
                    }
                }
            }
        }
    }

    #[test]
    fn looks_of_thirty_two_schemes_differ() {
        let looks = SeriesLook::of_all([false, true, false]);
        assert_eq!(
            looks,
            [
                SeriesLook::Number(0),
                SeriesLook::Bound,
                SeriesLook::Number(1)
            ]
        );
        let mut seen = Vec::new();
        for look in (0..32).map(SeriesLook::Number) {
            let looks = (look.colour(), look.dashes());
            assert!(!seen.contains(&looks), "{look:?}");
            seen.push(looks);
        }
    }

    #[test]
    fn schemes_that_know_the_future_are_bounds() {
        assert!(is_bound("belady") && is_bound("belady(bypass=false)") && !is_bound("lru"));
        assert_eq!(shown_name("belady"), "belady (bound)");
    }
}
