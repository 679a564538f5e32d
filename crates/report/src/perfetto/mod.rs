//! `--timeline`: what happened in a window of a run, as a Perfetto trace.

mod draw;
mod proto;
mod slots;
mod writer;

pub use draw::{ARGUMENTS, GROUPS, draw};

use destage_record::Timeline;

/// The warning about a window in which nothing happens.
pub fn emptiness(timeline: &Timeline) -> Option<String> {
    let (from, to) = (timeline.from, timeline.to);
    let nothing = timeline.requests.is_empty() && timeline.operations.is_empty();
    let why = if from > to {
        format!("it begins at {from} ns, and all work has ended at {to} ns")
    } else {
        format!("nothing happens from {from} to {to} ns")
    };
    nothing.then(|| format!("warning: the timeline is empty: {why}"))
}
