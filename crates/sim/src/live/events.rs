//! Events of a live device, in order of time: ends are known before they come.

use crate::device::durability::{DurablePart, DurableVersion};
use destage_record::Completion;
use destage_types::{Lpn, Nanos};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of a request of a live device, ascending in the order in which they were submitted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

/// Something that happened to a live device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LiveEvent {
    /// A request is complete.
    Completed {
        /// Which one.
        ticket: Ticket,
        /// When.
        at: Nanos,
    },
    /// A write takes effect on a page: from now on the newest version of the page is that of the write `ticket`. Told
    /// with [`LiveEvent::Captured`] and [`LiveEvent::Trimmed`] in the order in which that happens, before what has a time.
    Written {
        /// The page.
        lpn: Lpn,
        /// The write that made the version.
        ticket: Ticket,
    },
    /// A TRIM takes effect: the pages that it covers hold no data any more.
    Trimmed {
        /// The TRIM.
        ticket: Ticket,
    },
    /// A program took the data of a page: the version of the write `ticket`, the newest one. A
    /// later write to the page makes another version.
    Captured {
        /// The page.
        lpn: Lpn,
        /// The write that made the version.
        ticket: Ticket,
    },
    /// A version of a page is on flash: that of the write `ticket`, the last one of the page before
    /// its program took the data. Versions of a page come in the order in which they were written, each once or more often;
    /// one that was overwritten in the cache never comes, nor does one that was trimmed since.
    /// Copies that garbage collection makes are not told.
    Durable {
        /// The page.
        lpn: Lpn,
        /// The write that made the version.
        ticket: Ticket,
        /// How much of the page.
        part: DurablePart,
        /// Since when.
        at: Nanos,
    },
}

impl LiveEvent {
    /// When it happened; `None` if that is as soon as it is told.
    pub fn at(&self) -> Option<Nanos> {
        match *self {
            LiveEvent::Completed { at, .. } | LiveEvent::Durable { at, .. } => Some(at),
            LiveEvent::Written { .. } | LiveEvent::Trimmed { .. } | LiveEvent::Captured { .. } => {
                None
            }
        }
    }
}

/// An event to come. At one instant versions are durable first, then requests complete; both in the
/// order of their requests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Nanos,
    completes: bool,
    ticket: Ticket,
    lpn: Lpn,
    own_sectors: bool,
}

/// Events that are known and to come.
#[derive(Default)]
pub(super) struct PendingEvents {
    due: BinaryHeap<Reverse<Due>>,
}

impl PendingEvents {
    pub fn completed(&mut self, done: Completion) {
        self.due.push(Reverse(Due {
            at: done.complete,
            completes: true,
            ticket: Ticket(done.index),
            lpn: Lpn(0),
            own_sectors: false,
        }));
    }

    pub fn durable(&mut self, version: DurableVersion) {
        let ticket = Ticket(version.request);
        self.due.push(Reverse(Due {
            at: version.at,
            completes: false,
            ticket,
            lpn: version.lpn,
            own_sectors: version.part == DurablePart::OwnSectors,
        }));
    }

    /// Pages that `covers` hold no data any more from `now` on: what was to become durable of them
    /// after that does not.
    pub fn trimmed(&mut self, now: Nanos, covers: impl Fn(Lpn) -> bool) {
        self.due
            .retain(|Reverse(due)| due.completes || due.at <= now || !covers(due.lpn));
    }

    /// When the first of them comes.
    pub fn next(&self) -> Option<Nanos> {
        self.due.peek().map(|Reverse(due)| due.at)
    }

    /// Moves those up to and including `to` to `out`.
    pub fn take_until(&mut self, to: Nanos, out: &mut Vec<LiveEvent>) {
        while self.next().is_some_and(|at| at <= to)
            && let Some(Reverse(due)) = self.due.pop()
        {
            let Due { at, ticket, .. } = due;
            out.push(if due.completes {
                LiveEvent::Completed { ticket, at }
            } else {
                LiveEvent::Durable {
                    lpn: due.lpn,
                    ticket,
                    part: if due.own_sectors {
                        DurablePart::OwnSectors
                    } else {
                        DurablePart::Page
                    },
                    at,
                }
            });
        }
    }
}
