//! What a live device tells, in order of time: ends are known before they come.

use crate::engine::{DurablePart, DurableVersion};
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
    /// A program took the data of a page: the version of the write `ticket`. What is written to the page
    /// from then on is another version. Told as soon as it is known, before what has a time.
    Captured {
        /// The page.
        lpn: Lpn,
        /// The write that made the version.
        ticket: Ticket,
    },
    /// A version of a page is on flash: that of the write `ticket`, the last one of the page before
    /// its program took the data. Versions of a page come in their order, each once or more often;
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
            LiveEvent::Captured { .. } => None,
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

/// A FUA write that is not complete.
struct WaitingWrite {
    ticket: Ticket,
    /// Its pages that are not on flash.
    pages: Vec<Lpn>,
    /// Latest time known: of the request itself, or of its pages.
    at: Nanos,
    /// Is the request itself complete?
    served: bool,
}

/// Events that are known and to come.
#[derive(Default)]
pub(super) struct PendingEvents {
    due: BinaryHeap<Reverse<Due>>,
    writes: Vec<WaitingWrite>,
}

impl PendingEvents {
    /// Request `ticket` completes no earlier than `pages` are on flash.
    pub fn wait(&mut self, ticket: Ticket, pages: Vec<Lpn>) {
        self.writes.push(WaitingWrite {
            ticket,
            pages,
            at: Nanos::ZERO,
            served: false,
        });
    }

    pub fn completed(&mut self, done: Completion) {
        let ticket = Ticket(done.index);
        match self.writes.iter_mut().find(|w| w.ticket == ticket) {
            Some(write) => {
                write.served = true;
                write.at = write.at.max(done.complete);
            }
            None => self.complete(ticket, done.complete),
        }
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
        for write in &mut self.writes {
            let later = version.part == DurablePart::Page && write.ticket < ticket;
            if (later || write.ticket == ticket)
                && let Some(at) = write.pages.iter().position(|&lpn| lpn == version.lpn)
            {
                write.pages.swap_remove(at);
                write.at = write.at.max(version.at);
            }
        }
    }

    /// Pages that `covers` hold no data any more from `now` on: what was to become durable of them
    /// after that does not.
    pub fn trimmed(&mut self, now: Nanos, covers: impl Fn(Lpn) -> bool) {
        self.due
            .retain(|Reverse(due)| due.completes || due.at <= now || !covers(due.lpn));
        for write in &mut self.writes {
            write.pages.retain(|&lpn| !covers(lpn));
        }
    }

    /// Completes the writes that wait for nothing any more.
    pub fn release(&mut self) {
        let mut i = 0;
        while i < self.writes.len() {
            let write = &self.writes[i];
            if write.served && write.pages.is_empty() {
                let (ticket, at) = (write.ticket, write.at);
                self.writes.remove(i);
                self.complete(ticket, at);
            } else {
                i += 1;
            }
        }
    }

    fn complete(&mut self, ticket: Ticket, at: Nanos) {
        self.due.push(Reverse(Due {
            at,
            completes: true,
            ticket,
            lpn: Lpn(0),
            own_sectors: false,
        }));
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
