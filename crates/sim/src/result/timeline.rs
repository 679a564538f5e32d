//! The rows of a timeline within its window, in bounded memory. Each engine names the purpose of its operations.

use destage_device::nand::OpPhase;
use destage_record::Completion;
use destage_record::timeline::{Timeline, TimelineCollection, TimelineOperation, TimelineWindow};
use destage_types::Nanos;
use std::mem::size_of;

/// Rows that are kept in the warm-up before those that are over are dropped.
const FEW: usize = 1000;

/// The rows of a timeline.
pub(crate) struct TimelineRows {
    /// Not known before the measured part if it begins with that.
    from: Option<Nanos>,
    to: Nanos,
    limit: u64,
    /// When more than that was kept.
    full: Option<Nanos>,
    kept: Timeline,
    /// Phases of the operations that are kept.
    phases: usize,
    /// Rows that were left when those that are over were dropped last.
    left: usize,
}

impl TimelineRows {
    /// None yet, of `window`, in no more than `limit` bytes.
    pub fn new(window: TimelineWindow, limit: u64) -> TimelineRows {
        TimelineRows {
            from: window.from,
            to: window.to,
            limit,
            full: None,
            kept: Timeline::default(),
            phases: 0,
            left: 0,
        }
    }

    /// The limit in bytes and the time at which the rows exceeded it, if they did.
    pub fn excess(&self) -> Option<(u64, Nanos)> {
        Some((self.limit, self.full?))
    }

    /// Is what is queued at `queued` of interest?
    pub fn takes(&self, queued: Nanos) -> bool {
        self.full.is_none() && queued < self.to
    }

    /// Is something of the window that begins at `begin` and ends at `end`? In the warm-up that is
    /// told later.
    fn shows(&self, begin: Nanos, end: Nanos) -> bool {
        begin < self.to && self.from.is_none_or(|from| end >= from)
    }

    /// An operation has ended or was taken back.
    pub fn keep(&mut self, operation: TimelineOperation) {
        if self.shows(operation.queued, operation.activity.end) {
            self.phases += operation.activity.phases.len();
            self.kept.operations.push(operation);
        }
    }

    /// A collection has ended.
    pub fn keep_collection(&mut self, collection: TimelineCollection) {
        if self.shows(collection.queued, collection.end) {
            self.kept.collections.push(collection);
        }
    }

    /// A request is complete.
    pub fn keep_request(&mut self, request: &Completion) {
        if request.timed && self.from.is_some_and(|from| request.complete < from) {
            let before = &mut self.kept.before;
            before.0 += 1;
            before.1 += (request.complete - request.arrival).0;
        }
        if self.full.is_none() && self.shows(request.arrival, request.complete) {
            self.kept.requests.push(*request);
        }
    }

    fn rows(&self) -> usize {
        self.kept.operations.len() + self.kept.requests.len() + self.kept.collections.len()
    }

    /// Drops what was over before `from`.
    fn drop_before(&mut self, from: Nanos) {
        let kept = &mut self.kept;
        kept.operations.retain(|op| op.activity.end >= from);
        kept.requests.retain(|request| request.complete >= from);
        kept.collections.retain(|collection| collection.end >= from);
        let operations = kept.operations.iter();
        self.phases = operations.map(|op| op.activity.phases.len()).sum();
        self.left = self.rows();
    }

    fn bytes(&self) -> u64 {
        let kept = &self.kept;
        let bytes = kept.operations.capacity() * size_of::<TimelineOperation>()
            + self.phases * size_of::<OpPhase>()
            + kept.requests.capacity() * size_of::<Completion>()
            + kept.collections.capacity() * size_of::<TimelineCollection>();
        bytes as u64
    }

    /// Sees to the memory at `now`; so many bytes are taken beside the rows. If that is too much, nothing is
    /// kept any more, and the answer is true.
    pub fn tidy(&mut self, now: Nanos, beside: u64) -> bool {
        if self.from.is_none() && self.rows() > 2 * self.left + FEW {
            self.drop_before(now);
        }
        if self.full.is_none() && self.bytes() + beside > self.limit {
            self.full = Some(now);
            self.kept = Timeline::default();
            self.phases = 0;
            return true;
        }
        false
    }

    /// The measured part begins.
    pub fn measure(&mut self, now: Nanos) {
        if self.from.is_none() {
            self.from = Some(now);
            self.drop_before(now);
        }
    }

    /// The timeline of a device that has so many `channels` and `chips`, whose work ended at `end`.
    pub fn timeline(self, channels: u32, chips: u32, end: Nanos) -> Timeline {
        Timeline {
            from: self.from.unwrap_or_default(),
            to: self.to.min(end),
            channels,
            chips,
            ..self.kept
        }
    }
}
