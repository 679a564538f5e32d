//! `--timeline`: what happened in a window of a run, as a Perfetto trace.

mod draw;
mod proto;
mod slots;
mod writer;

pub use draw::{ARGUMENTS, GROUPS, draw};

use destage_record::Timeline;

/// What is said of a window in which nothing happens.
pub fn emptiness(timeline: &Timeline) -> Option<String> {
    let (from, to) = (timeline.from, timeline.to);
    let nothing = timeline.requests.is_empty() && timeline.operations.is_empty();
    nothing.then(|| match from > to {
        true => format!(
            "warning: the timeline is empty: it begins at {from} ns, and all work has ended at {to} ns"
        ),
        false => format!("warning: the timeline is empty: nothing happens from {from} to {to} ns"),
    })
}
