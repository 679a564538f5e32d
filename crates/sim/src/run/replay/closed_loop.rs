//! A closed loop: which completion lets the next request go, and how long its queue depth was held.

use destage_record::Completion;
use destage_types::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;

/// The requests of a closed loop.
pub(super) struct ClosedLoop {
    depth: u64,
    issued: u64,
    /// Completions, known or to come, that have let no request go.
    ends: BinaryHeap<Reverse<Nanos>>,
    now: Nanos,
    /// First issue and last completion of the measured part.
    measured: Option<(Nanos, Nanos)>,
}

/// Times of the measured part of a closed loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopTimes {
    first_issue: Nanos,
    last_completion: Nanos,
    /// Until then as many requests were outstanding as the queue depth.
    held_until: Nanos,
}

impl LoopTimes {
    /// From the first issue to the last completion.
    pub fn elapsed(&self) -> Nanos {
        self.last_completion - self.first_issue
    }

    /// The part of it in which the queue depth was held.
    pub fn held(&self) -> Nanos {
        let end = self.held_until.min(self.last_completion);
        end.since(self.first_issue)
    }
}

impl ClosedLoop {
    pub fn new(depth: NonZeroU32, requests: u64) -> ClosedLoop {
        ClosedLoop {
            depth: u64::from(depth.get()),
            issued: 0,
            // No more can be on their way than there are.
            ends: BinaryHeap::with_capacity((depth.get() as usize).min(requests as usize) + 1),
            now: Nanos::ZERO,
            measured: None,
        }
    }

    /// Issues the next request, and says when; `None` if that is after `until` or not known.
    pub fn issue(&mut self, until: Nanos) -> Option<Nanos> {
        if self.issued >= self.depth {
            let &Reverse(end) = self.ends.peek().filter(|end| end.0 <= until)?;
            self.ends.pop();
            self.now = self.now.max(end);
        }
        self.issued += 1;
        Some(self.now)
    }

    /// A request is complete, or its completion to come is known.
    pub fn complete(&mut self, done: &Completion) {
        self.ends.push(Reverse(done.complete));
        if done.measured {
            let (first, last) = self.measured.unwrap_or((done.arrival, done.complete));
            self.measured = Some((first.min(done.arrival), last.max(done.complete)));
        }
    }

    /// The times when all requests are complete; `None` if none was measured.
    ///
    /// The loop begins with as many requests as its depth, and each completion lets one go while there are some. So the
    /// depth is held until the first completion that finds none, and never in a loop of fewer requests.
    pub fn times(&self) -> Option<LoopTimes> {
        let (first_issue, last_completion) = self.measured?;
        let never = self.issued < self.depth;
        let end = self.ends.peek().filter(|_| !never);
        Some(LoopTimes {
            first_issue,
            last_completion,
            held_until: end.map_or(Nanos::ZERO, |end| end.0),
        })
    }
}
