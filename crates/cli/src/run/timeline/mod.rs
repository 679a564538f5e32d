//! `--timeline`: what happened in a window of a run, as a Perfetto trace.

mod draw;
mod proto;
mod slots;
mod writer;

pub use draw::{ARGUMENTS, GROUPS};

use crate::terminal::say;
use destage_sim::{Timeline, TimelineHook, TimelineWindow};
use destage_types::{Nanos, Picos};
use std::io::Write;

/// Reads a moment of simulated time.
///
/// # Errors
/// What is wrong and what is allowed.
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
    out: impl Write + Send + 'static,
) -> TimelineHook {
    TimelineHook {
        window,
        limit,
        take: Box::new(move |timeline| {
            if let Some(warning) = emptiness(&timeline) {
                say(&warning);
            }
            draw::draw(&timeline, out)
        }),
    }
}

/// What is said of a window in which nothing happens.
fn emptiness(timeline: &Timeline) -> Option<String> {
    let (from, to) = (timeline.from, timeline.to);
    let nothing = timeline.requests.is_empty() && timeline.operations.is_empty();
    nothing.then(|| match from > to {
        true => format!(
            "warning: the timeline is empty: it begins at {from} ns, and all work has ended at {to} ns"
        ),
        false => format!("warning: the timeline is empty: nothing happens from {from} to {to} ns"),
    })
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
