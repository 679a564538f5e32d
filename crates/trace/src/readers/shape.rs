//! Telling tables whose columns have their places by the fields of their first lines.

use super::columns::Holds;
use super::{FormatInfo, Sample, is_header, opening};

/// What tells a table from others whose columns are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Only {
    /// Some time has a fraction.
    Fraction,
    /// No time has one.
    Whole,
    /// A blank stands behind every comma.
    Spaced,
    /// Nearly all addresses and lengths are multiples of 512: they may be bytes.
    Multiples,
}

impl Only {
    pub(super) fn holds(self, info: &FormatInfo, sample: &Sample<'_>) -> bool {
        let fraction = |line: &&[u8]| {
            let mut fields = info.separator.split(line);
            fields.next().is_some_and(|time| time.contains(&b'.'))
        };
        match self {
            Only::Fraction => sample.lines.iter().any(fraction),
            Only::Whole => !sample.lines.iter().any(fraction),
            Only::Spaced => {
                let spaced = |line: &&[u8]| {
                    let mut fields = line.split(|b| *b == b',').skip(1);
                    fields.all(|field| field.starts_with(b" "))
                };
                sample.lines.iter().all(spaced)
            }
            Only::Multiples => {
                let lines = || sample.lines.iter().filter(|line| fits(info, line));
                let multiple = |line: &&&[u8]| {
                    let mut numbers = info.separator.split(line).skip(2).take(2);
                    numbers.all(is_multiple_of_512)
                };
                let multiples = lines().filter(multiple).count();
                lines().next().is_none() || opening::most(multiples, lines().count())
            }
        }
    }
}

/// Of a number that looks like an integer, whatever its length.
fn is_multiple_of_512(digits: &[u8]) -> bool {
    let digits = digits.iter().filter(|b| b.is_ascii_digit());
    digits.fold(0u32, |n, d| (10 * n + u32::from(d - b'0')) % 512) == 0
}

/// Has a line the columns of `info`, and no others unless they are allowed?
pub(super) fn fits(info: &FormatInfo, line: &[u8]) -> bool {
    let mut fields = info.separator.split(line);
    let fit = info.columns.iter().all(|column| match fields.next() {
        Some(field) => column.fits(field),
        None => matches!(column.holds, Holds::Optional(..)),
    });
    fit && (info.open_end || fields.next().is_none())
}

/// Do most of the first lines have the columns?
pub(super) fn detect(info: &FormatInfo, sample: &Sample<'_>) -> bool {
    let rest = sample.lines.get(1..).unwrap_or(&[]);
    let most =
        |lines: &[&[u8]]| 2 * lines.iter().filter(|line| fits(info, line)).count() > lines.len();
    let named = || is_header(info, sample.first()) && (rest.is_empty() || most(rest));
    (most(&sample.lines) || named()) && info.only.is_none_or(|only| only.holds(info, sample))
}
