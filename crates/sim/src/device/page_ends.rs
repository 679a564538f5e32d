//! Ends of programs that are known before they come.

use destage_types::{Lpn, Nanos};
use std::collections::BTreeMap;

/// Pages that are kept before those are looked for whose programs are over.
const LEAST: usize = 1024;

/// Latest known ends of the programs of each page. Those that are over are forgotten now and then.
#[derive(Clone, Debug, Default)]
pub(super) struct PageEnds {
    ends: BTreeMap<Lpn, Nanos>,
    now: Nanos,
    forget_at: usize,
}

impl PageEnds {
    /// Time has come to `now`.
    pub fn advance(&mut self, now: Nanos) {
        self.now = now;
    }

    /// A program of `lpn` ends at `end`.
    pub fn note(&mut self, lpn: Lpn, end: Nanos) {
        let latest = self.ends.entry(lpn).or_default();
        *latest = end.max(*latest);
        if self.ends.len() > self.forget_at {
            let now = self.now;
            self.ends.retain(|_, end| *end > now);
            self.forget_at = LEAST.max(2 * self.ends.len());
        }
    }

    /// When the last of the programs of `pages` ends.
    pub fn latest(&self, pages: &[Lpn]) -> Nanos {
        let ends = pages.iter().filter_map(|lpn| self.ends.get(lpn));
        ends.copied().max().unwrap_or_default()
    }
}
