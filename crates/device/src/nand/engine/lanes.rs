//! Lanes, which run one operation at a time, and channels, which move one transfer at a time.

use super::super::operation::{NONE, RunningOp};
use super::super::queue::LaneQueue;
use super::super::{Class, OpKind};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::nand) enum Phase {
    /// Runs nothing.
    Free,
    /// Last phase; ends at `until`. Without an event (`armed`) it ends unseen.
    Last,
    /// First bus phase or array of a read; ends at `until`. Of an operation whose end is open its
    /// first bus phase, `last_bus` being its array time.
    Array,
    /// A read that waits for the bus to move its data.
    WaitData,
    /// An operation whose end is open has its data and not its array time, which is `last_bus` so far.
    WaitTime,
    /// Array phase of an operation whose end is open; ends at `until` unless it is suspended.
    OpenArray,
    /// Moves a page of a read over the bus until `until`; further pages of the read follow.
    Moving,
    /// The array stops what it does; a read may start at `until`.
    Suspending,
}

/// A chip: runs one operation at a time.
#[derive(Clone, Debug)]
pub(in crate::nand) struct Lane {
    /// End of the phase it is in; when it became free.
    pub until: u64,
    /// Operation it runs or ran last.
    pub op: RunningOp,
    pub start: u64,
    pub last_bus: u64,
    pub channel: u32,
    /// Operation that may start next, once the bus is granted to it if it needs the bus.
    pub candidate: u32,
    /// Position among the waiters of the channel, `NONE` without one.
    pub waiter: u32,
    pub phase: Phase,
    pub armed: bool,
    /// It has suspended an operation.
    pub suspended: bool,
    pub queue: LaneQueue,
    pub jobs: OpenJobs,
    pub busy: u64,
    pub stalled: u64,
    /// Started operations by [`OpKind`].
    pub started: [u64; 4],
    /// Planes of multi-plane operations beyond the first, by [`OpKind`].
    pub more_planes: [u64; 4],
    /// Bytes read and programmed.
    pub bytes: [u64; 2],
}

/// Collections, in the foreground and in the background.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::nand) struct OpenJobs {
    /// Jobs whose last operation is not in its last phase.
    pub open: u32,
    /// Latest end of the others.
    pub until: u64,
}

impl OpenJobs {
    #[inline]
    pub fn is_busy(&self, now: u64) -> bool {
        self.open > 0 || self.until > now
    }

    pub fn close(&mut self, end: u64) {
        self.open -= 1;
        self.until = self.until.max(end);
    }
}

#[derive(Clone, Copy, Debug)]
pub(in crate::nand) struct Waiter {
    pub ready: u64,
    pub number: u64,
    pub lane: u32,
}

impl Waiter {
    /// The bus is granted to the lowest: (ready, number) as one number, compared without a branch.
    #[inline]
    pub fn key(&self) -> u128 {
        u128::from(self.ready) << u64::BITS | u128::from(self.number)
    }
}

#[derive(Clone, Debug)]
pub(in crate::nand) struct Channel {
    pub free_at: u64,
    /// Host and GC operations whose last phase has not started.
    pub pending: u32,
    /// Latest end of a host or GC operation whose last phase has started.
    pub host_end: u64,
    pub background_waiting: u32,
    pub background_started: u32,
    pub busy: u64,
    pub waiters: Vec<Waiter>,
    pub armed: bool,
    pub watch_armed: bool,
    pub was_idle: bool,
}

impl Lane {
    /// A lane at rest on a channel.
    pub fn new(channel: u32) -> Lane {
        Lane {
            until: 0,
            op: RunningOp {
                number: u64::MAX,
                token: 0,
                bytes: 0,
                dependents: NONE,
                kind: OpKind::Read,
                class: Class::Host,
                notify: false,
                ends_job: false,
            },
            start: 0,
            last_bus: 0,
            channel,
            candidate: NONE,
            waiter: NONE,
            phase: Phase::Free,
            armed: false,
            suspended: false,
            queue: LaneQueue::new(),
            jobs: OpenJobs::default(),
            busy: 0,
            stalled: 0,
            started: [0; 4],
            more_planes: [0; 4],
            bytes: [0; 2],
        }
    }
}

impl Channel {
    /// A bus at rest for so many lanes.
    pub fn new(lanes: usize) -> Channel {
        Channel {
            free_at: 0,
            pending: 0,
            host_end: 0,
            background_waiting: 0,
            background_started: 0,
            busy: 0,
            waiters: Vec::with_capacity(lanes),
            armed: false,
            watch_armed: false,
            was_idle: true,
        }
    }
}
