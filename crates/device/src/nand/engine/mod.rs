//! The event engine itself: its state, and how work comes in. `run` lets time pass.

mod activity;
mod drive;
mod jobs;
mod lanes;
mod run;
mod submit;
mod suspend;
mod waiting;

use activity::Activities;
pub use activity::{OpActivity, OpPhase, PhaseKind};
use drive::DriveQueues;
pub use drive::{DriveOp, DriveRules, Retry};
use lanes::Waiter;
pub(super) use lanes::{Channel, Lane, OpenJobs, Phase};
pub use suspend::Suspension;
pub(super) use suspend::{OpenEnds, SuspendedOp};

use crate::config::QueueOrder;
use destage_types::{ChannelId, ChipId, Geometry, Nanos, QueuePer};

use super::bit_set::BitSet;
use super::event_queue::{EventHeap, NEVER};
use super::job_queue::JobQueue;
use super::operation::{
    Durations, FIRST, HELD, NONE, OpStart, RunningOp, WaitingOp, list_of, marked,
};
use super::pool::OpPool;
use super::{Class, FlashCommand, JobId, JobKind, NO_TOKEN, Notice, OpId, OpKind, OpTimes, Timing};

/// Size and rules of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrayConfig {
    /// Buses, at least 1.
    pub channels: u32,
    /// Queue units on one bus, at least 1.
    pub chips_per_channel: u32,
    /// Durations.
    pub timing: Timing,
    /// Order of the host class in every queue.
    pub queue: QueueOrder,
    /// Report the instants at which a channel becomes idle ([`Notice::Idle`]).
    pub watch_idle: bool,
    /// May reads of the host suspend programs and erases?
    pub suspension: Option<Suspension>,
    /// Do programs of [`Class::Background`] get their array time only when they have started
    /// ([`Nand::set_array_time`])? So it is where it depends on a page that is chosen then.
    pub late_times: bool,
}

impl ArrayConfig {
    /// FIFO queues per `queue_per` of `geometry`.
    pub fn new(geometry: &Geometry, queue_per: QueuePer, timing: Timing) -> ArrayConfig {
        ArrayConfig {
            channels: geometry.channels,
            chips_per_channel: geometry.queues_per_channel(queue_per),
            timing,
            queue: QueueOrder::Fifo,
            watch_idle: false,
            suspension: None,
            late_times: false,
        }
    }
}

/// The flash array. See the module for the rules.
///
/// # Panics
/// Methods that take a time panic if it is before [`Nand::now`], and those that take a chip or a
/// channel if it does not exist.
#[derive(Clone, Debug)]
pub struct Nand {
    events: EventHeap,
    /// One for each chip.
    pub(super) lanes: Vec<Lane>,
    pub(super) channels: Vec<Channel>,
    pub(super) pool: OpPool,
    /// Operations of jobs before they come to the pool.
    pub(super) job_queue: JobQueue,
    pub(super) clock: u64,
    pub(super) jobs: OpenJobs,
    next_number: u64,
    shared: Durations,
    /// By lane: until when host reads and programs keep it busy, waiting or in service; [`NEVER`]
    /// while that is not known.
    pub(super) host_until: Vec<u64>,
    /// Does all work wait for [`Nand::resume`]?
    held: bool,
    /// See [`Nand::grant_early`].
    early_grants: bool,
    /// If there are operations whose end is not known when they start.
    pub(super) open: Option<Box<OpenEnds>>,
    /// If it is that of a drive.
    drive: Option<Box<DriveQueues>>,
    watch: bool,
    /// Channels to grant in this round.
    touched: BitSet,
    /// Lanes whose candidate may start without the bus.
    startable: Vec<u32>,
    /// Channels that may have become idle or busy in this instant.
    changed: BitSet,
    notices: Vec<Notice>,
    /// Activities of operations, if they are kept.
    activities: Option<Box<Activities>>,
}

impl Nand {
    /// An array at rest at time 0.
    ///
    /// # Panics
    /// If a count of `config` is 0 or there are 2^31 chips or more.
    pub fn new(config: &ArrayConfig) -> Nand {
        let (n, per) = (config.channels, config.chips_per_channel);
        let lanes = n.checked_mul(per).filter(|&l| l > 0 && l < 1 << 31);
        let lanes = lanes.expect("an array has 1 to 2^31 - 1 queue units");
        Nand {
            events: EventHeap::new(lanes as usize + 2 * n as usize),
            lanes: (0..lanes).map(|i| Lane::new(i % n)).collect(),
            channels: (0..n).map(|_| Channel::new(per as usize)).collect(),
            pool: OpPool::new(),
            job_queue: JobQueue::new(),
            clock: 0,
            jobs: OpenJobs::default(),
            next_number: 0,
            shared: Durations::new(&config.timing, config.queue),
            host_until: vec![0; lanes as usize],
            held: false,
            early_grants: false,
            open: OpenEnds::wanted(config, lanes as usize),
            drive: None,
            watch: config.watch_idle,
            touched: BitSet::new(n),
            startable: Vec::new(),
            changed: BitSet::new(n),
            notices: Vec::new(),
            activities: None,
        }
    }

    /// From now on a busy bus is granted ahead of time where it is known already who will have it:
    /// it goes to who has waited longest, so to the first operation that comes to a bus for which
    /// nothing waits, unless another one could take its place in its own queue. Operations run at
    /// the same times, but are told of earlier ([`Notice::Timed`]), and count in the times of
    /// [`ChipStats`](super::ChipStats) and [`Nand::bus_time`] earlier. All else about chips is as it
    /// would be. It saves most events of a bus.
    ///
    /// That holds only if every transfer takes time, which is left to the caller: with what ends as
    /// it starts an older operation may come to a bus after it was granted at the same instant. The
    /// first job ends it: jobs have states that others look at.
    ///
    /// # Panics
    /// If reads go first, as they take each other's place, or idle channels are watched, or an
    /// operation takes no time in the array, or its end may not be known when it starts.
    pub fn grant_early(&mut self) {
        assert!(
            !self.shared.read_first
                && !self.watch
                && self.shared.takes_time()
                && self.open.is_none(),
            "a bus is granted ahead of time in plain queues only"
        );
        self.early_grants = true;
    }

    /// Is there something to take from [`Nand::drain_notices`]?
    #[inline]
    pub fn has_notices(&self) -> bool {
        !self.notices.is_empty()
    }

    /// How many notices there are to take.
    #[inline]
    pub fn notice_count(&self) -> usize {
        self.notices.len()
    }

    /// One of them, by its place in their order.
    #[inline]
    pub fn notice(&self, at: usize) -> Notice {
        self.notices[at]
    }

    /// Takes what was found out since the last call, in order.
    #[inline]
    pub fn drain_notices(&mut self) -> std::vec::Drain<'_, Notice> {
        self.notices.drain(..)
    }

    /// Time of the next instant at which something happens, [`Nanos::NEVER`] if nothing will.
    /// Ends of operations for which no other one waits do not count.
    #[inline]
    pub fn next_event_time(&self) -> Nanos {
        Nanos(self.events.peek())
    }

    /// Settles the next instant if it is not after `until` and returns its time; `None` leaves
    /// everything as it is. Callers that issue work at completions go instant by instant.
    #[inline]
    pub fn step(&mut self, until: Nanos) -> Option<Nanos> {
        let now = self.events.peek();
        if now > until.0 || now == NEVER {
            return None;
        }
        self.clock = now;
        self.settle(now);
        Some(Nanos(now))
    }

    /// Settles every instant up to and including `until`, which becomes the clock.
    #[inline]
    pub fn advance(&mut self, until: Nanos) {
        assert!(until.0 >= self.clock, "time runs backwards");
        while self.step(until).is_some() {}
        self.clock = until.0;
    }

    /// Submits an operation at `now`.
    ///
    /// # Panics
    /// If something is due at or before `now`: [`Nand::advance`] first.
    #[inline]
    pub fn submit(&mut self, now: Nanos, command: FlashCommand) -> OpId {
        if self.held {
            return self.submit_held(now, command);
        }
        let now = now.0;
        self.enter(now);
        if let Some(id) = self.start_at_once(now, &command) {
            return id;
        }
        self.submit_entry::<false>(now, &command, NONE)
    }

    /// [`Nand::submit`] of a program right after [`Nand::program_at_once`] did not start it at the
    /// same `now`, which is not tried again.
    #[inline]
    pub fn submit_refused(&mut self, now: Nanos, command: FlashCommand) -> OpId {
        if self.held {
            return self.submit_held(now, command);
        }
        self.submit_entry::<false>(now.0, &command, NONE)
    }

    /// Takes a waiting background operation back at `now`; false if it has started or is gone.
    /// Operations that depend on it are released as if it had ended; cancel those first that
    /// must not run.
    ///
    /// # Panics
    /// If something is due at or before `now`, or the operation is waiting and not of a background
    /// class, or belongs to a job, or a bus may be granted ahead of time.
    pub fn cancel(&mut self, now: Nanos, id: OpId) -> bool {
        let now = now.0;
        self.enter(now);
        // It may release an older one for a bus that was granted at the same instant.
        assert!(
            !self.early_grants,
            "nothing is taken back from a bus granted ahead of time"
        );
        if !self.pool.holds(id) {
            return false;
        }
        let entry = &self.pool[id.slot];
        assert!(
            entry.class.is_background(),
            "only background work is taken back"
        );
        assert!(!entry.in_job(), "a job is taken back as a whole");
        let class = entry.class;
        if let Some(parent) = entry.after {
            self.let_go(parent, id.slot);
        }
        let l = id.lane as usize;
        let entry = self.lanes[l].queue.leave(&mut self.pool, id.slot);
        self.taken_back(l, class, 1);
        if self.lanes[l].is_free(now) {
            self.refresh(l);
        }
        self.release_all(entry.dependents, now);
        self.settle_unheld(now);
        true
    }

    /// Operations were cancelled.
    fn taken_back(&mut self, l: usize, class: Class, operations: u32) {
        let ch = self.lanes[l].channel as usize;
        if class == Class::Background {
            self.channels[ch].background_waiting -= operations;
        } else {
            self.channels[ch].pending -= operations;
            self.note_change(ch);
        }
    }

    #[inline]
    fn enter(&mut self, now: u64) {
        assert!(now >= self.clock, "time runs backwards");
        assert!(
            self.events.peek() > now,
            "advance to the time of submission first"
        );
        self.clock = now;
    }

    #[inline]
    fn entry(&mut self, now: u64, command: &FlashCommand) -> WaitingOp {
        let number = self.next_number;
        self.next_number += 1;
        WaitingOp::new(number, now, command, &self.shared)
    }

    #[inline]
    fn is_pending(&self, id: OpId) -> bool {
        self.pool.holds(id) || self.runs(id)
    }

    #[inline]
    pub(super) fn runs(&self, id: OpId) -> bool {
        let lane = &self.lanes[id.lane as usize];
        (lane.op.number == id.number() && !lane.is_free(self.clock)) || self.is_suspended(id)
    }
}
