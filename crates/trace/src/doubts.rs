//! What speaks for another reading of a trace.

/// A sentence each.
#[derive(Clone, Default, Debug)]
pub struct Doubts {
    /// For another format, other columns, or other units of addresses and sizes.
    pub format: Option<String>,
    /// For another unit of the times.
    pub time: Option<String>,
}

impl Doubts {
    /// Adds `more` to a doubt.
    pub(crate) fn add(doubt: &mut Option<String>, more: impl IntoIterator<Item = String>) {
        for more in more {
            let first = doubt.take().map_or(String::new(), |first| first + "; ");
            *doubt = Some(first + &more);
        }
    }
}
