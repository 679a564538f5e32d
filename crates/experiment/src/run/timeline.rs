//! `--timeline`: the window of a run that is shown, and the hook that writes it.

use destage_console::terminal::say;
use destage_record::TimelineWindow;
use destage_report::perfetto::{draw, emptiness};
use destage_sim::TimelineHook;
use destage_types::{Nanos, Picos};
use std::io::Write;

/// Reads a moment of simulated time.
///
/// # Errors
/// The fault and the allowed values.
pub fn parse_moment(text: &str) -> Result<Nanos, String> {
    let time = Picos::parse(text).map_err(|error| {
        format!("{error}; allowed: a time with its unit, such as 1.5s, from the start of the run")
    })?;
    match time.0 % 1000 {
        0 => Ok(Nanos(time.0 / 1000)),
        _ => Err(format!("`{text}` is finer than 1 ns")),
    }
}

/// The timeline of one run on `out`, in no more than `limit` bytes of memory before that.
pub fn to_file(
    window: TimelineWindow,
    limit: u64,
    mut out: impl Write + Send + 'static,
) -> TimelineHook {
    TimelineHook {
        window,
        limit,
        take: Box::new(move |timeline| {
            if let Some(warning) = emptiness(&timeline) {
                say(&warning);
            }
            draw(&timeline, &mut out)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        for (text, ns) in [("0", 0), ("0s", 0), ("1.5s", 1_500_000_000), ("7ns", 7)] {
            assert_eq!(parse_moment(text), Ok(Nanos(ns)), "{text}");
        }
        for wrong in ["", "5", "-1s", "1x", "0.5ns", "1e400s"] {
            assert!(parse_moment(wrong).is_err(), "{wrong}");
        }
    }
}
