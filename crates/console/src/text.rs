//! How progress is written: a bar between a label and figures, in the columns there are.

use std::borrow::Cow;
use std::time::Duration;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of a bar: with fewer there is none.
const BAR: std::ops::RangeInclusive<usize> = 8..=40;

/// `text` in at most `columns`: what is too long ends in `…`.
pub fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if text.width() <= columns {
        return Cow::Borrowed(text);
    }
    let Some(room) = columns.checked_sub(1) else {
        return Cow::Borrowed("");
    };
    let (mut kept, mut used) = (String::new(), 0);
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        kept.push(c);
    }
    Cow::Owned(kept + "…")
}

/// `label`, a bar of which `share` is full, and `figures`, in less than `columns` so that no terminal
/// wraps it. Figures are cut last.
pub fn line(label: &str, share: Option<f64>, figures: &str, columns: usize) -> String {
    let columns = columns.saturating_sub(1);
    let room = columns.saturating_sub(figures.width() + 1);
    if room == 0 {
        return cut(figures, columns).into_owned();
    }
    let label = cut(label, room);
    let bar_room = room.saturating_sub(label.width() + 1).min(*BAR.end());
    match share {
        Some(share) if bar_room >= *BAR.start() => {
            format!("{label} {} {figures}", bar(share, bar_room))
        }
        _ => format!("{label} {figures}"),
    }
}

fn bar(share: f64, columns: usize) -> String {
    let full = (share.clamp(0.0, 1.0) * columns as f64) as usize;
    "█".repeat(full) + &"░".repeat(columns - full)
}

/// How long something takes, in the unit that people would use.
pub fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    match seconds {
        0..=90 => format!("{seconds} s"),
        91..=5400 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A number with three digits or four.
pub fn short(number: u64) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    match units.into_iter().find(|(unit, _)| number >= 10 * unit) {
        Some((unit, name)) if number >= 100 * unit => format!("{}{name}", number / unit),
        Some((unit, name)) => format!("{:.1}{name}", (number / (unit / 10)) as f64 / 10.0),
        None => number.to_string(),
    }
}

/// Bytes in MiB.
pub fn mib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

/// A part of a whole that is not empty.
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64).min(1.0))
}

/// Time that what is left takes if all goes on as `done` of `of` in `spent`; unknown before anything is done.
pub fn left(spent: Duration, done: u64, of: u64) -> Option<Duration> {
    let open = of.saturating_sub(done);
    match (done, open) {
        (_, 0) => Some(Duration::ZERO),
        (0, _) => None,
        _ => Some(spent.mul_f64(open as f64 / done as f64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_wide_is_cut_by_columns() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("longer", 5), "long…");
        // Two columns each.
        assert_eq!(cut("木木木", 6), "木木木");
        assert_eq!(cut("木木木", 5), "木木…");
        assert_eq!(cut("木木木", 4), "木…");
        assert_eq!((cut("ab", 1), cut("ab", 0)), ("…".into(), "".into()));
        assert_eq!(cut("e\u{301}e\u{301}", 2), "e\u{301}e\u{301}");
    }

    #[test]
    fn no_line_is_as_wide_as_the_terminal() {
        let long = "a long name of a trace ".repeat(9);
        let all = ["", "12 of 60 runs, 1.2M of 4.5M requests, 3 min left"];
        for columns in 1..200 {
            for label in ["", "hm_0", "木の痕跡", &long] {
                for figures in all {
                    for share in [None, Some(0.0), Some(0.5), Some(2.0)] {
                        let text = line(label, share, figures, columns);
                        assert!(text.width() < columns, "{columns}: {text}");
                        let fits = columns > figures.width();
                        assert!(!fits || text.contains(figures), "{columns}: {text}");
                    }
                }
            }
        }
        assert_eq!(line("t", Some(0.5), "50 %", 16), "t ████░░░░ 50 %");
        let narrow = line("t", Some(0.5), "50 %", 15);
        assert_eq!(narrow, "t 50 %", "no room for a bar");
        assert_eq!(line("trace", None, "50 %", 9), "tr… 50 %");
    }

    #[test]
    fn times_and_numbers_are_short() {
        let seconds = |s| time(Duration::from_secs(s));
        let shown = [0, 90, 91, 5400, 5401].map(seconds);
        assert_eq!(shown, ["0 s", "90 s", "2 min", "90 min", "1 h 30 min"]);
        assert_eq!(time(Duration::from_millis(1200)), "2 s");
        let numbers = [9_999, 10_000, 99_999, 123_456, 12_345_678, 45_000_000_000];
        let shown = numbers.map(short);
        assert_eq!(shown, ["9999", "10.0k", "99.9k", "123k", "12.3M", "45.0G"]);
    }
}
