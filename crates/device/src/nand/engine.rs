//! The event engine itself: its state, and how work comes in. `run` lets time pass.

mod candidate;
mod depend;
mod jobs;
mod planes;
mod run;
mod submit;

pub(super) use jobs::job_index;

use destage_types::{ChannelId, Geometry, Nanos, QueuePer};

use super::entry::{Entry, HELD, HOST, NONE, Shared, Start};
use super::events::NEVER;
use super::marks::Marks;
use super::queue::{Pool, Queue};
use super::runs::Runs;
use super::{
    Class, Command, Discipline, Events, Heap, JobId, JobKind, Kind, OpId, OpTimes, Preempt, Sink,
    Timing,
};

/// What an array looks like to the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Buses, at least 1.
    pub channels: u32,
    /// Queue units on one bus, at least 1.
    pub chips_per_channel: u32,
    /// Dies of a queue unit that work at the same time, at least 1: with more than one, dies of a
    /// chip interleave.
    pub dies: u32,
    /// Durations.
    pub timing: Timing,
    /// Order of the host class in every queue.
    pub discipline: Discipline,
    /// Report the instants at which a channel becomes idle ([`Sink::idle`]).
    pub watch_idle: bool,
}

impl Config {
    /// FIFO queues per `queue_per` of `geometry`, dies of a queue unit do not interleave.
    pub fn new(geometry: &Geometry, queue_per: QueuePer, timing: Timing) -> Config {
        Config {
            channels: geometry.channels,
            chips_per_channel: geometry.queues_per_channel(queue_per),
            dies: 1,
            timing,
            discipline: Discipline::Fifo,
            watch_idle: false,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Runs nothing.
    Free,
    /// Last phase; ends at `until`. Without an event (`armed`) it ends unseen.
    Last,
    /// First bus phase or array of a read; ends at `until`.
    Array,
    /// A read that waits for the bus to move its data.
    WaitData,
}

/// What runs one operation at a time: a chip, or a die of it if its dies interleave.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    /// End of the phase it is in; when it became free.
    pub until: u64,
    /// Operation it runs or ran last.
    pub number: u64,
    pub start: u64,
    pub last_bus: u64,
    pub token: u32,
    pub channel: u32,
    /// Operations that wait for the one it runs.
    pub dependents: u32,
    /// Operation that may start next, once the bus is granted to it if it needs the bus.
    pub candidate: u32,
    /// Position among the waiters of the channel, `NONE` without one.
    pub waiter: u32,
    pub phase: Phase,
    pub armed: bool,
    pub notify: bool,
    /// The operation is the last of a job.
    pub ends_job: bool,
    pub kind: Kind,
    pub class: Class,
    /// Bytes that the operation moves.
    pub moves: u32,
    pub queue: Queue,
    pub jobs: JobBook,
    pub busy: u64,
    pub stalled: u64,
    /// Started operations by [`Kind`] and [`Class`].
    pub started: [[u64; 4]; 4],
    /// Planes of multi-plane operations beyond the first, by [`Kind`].
    pub more_planes: [u64; 4],
    /// Bytes read and programmed.
    pub bytes: [u64; 2],
}

/// Collections by kind of job: foreground, background.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JobBook {
    /// Jobs whose last operation is not in its last phase.
    pub open: [u32; 2],
    /// Latest end of the others.
    pub until: [u64; 2],
}

impl JobBook {
    #[inline]
    pub fn is_busy(&self, kind: usize, now: u64) -> bool {
        self.open[kind] > 0 || self.until[kind] > now
    }

    fn close(&mut self, kind: usize, end: u64) {
        self.open[kind] -= 1;
        self.until[kind] = self.until[kind].max(end);
    }
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    ready: u64,
    number: u64,
    lane: u32,
}

impl Waiter {
    /// The bus is granted to the lowest: (ready, number) as one number, compared without a branch.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.ready) << u64::BITS | u128::from(self.number)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Channel {
    pub free_at: u64,
    /// Host and GC operations whose last phase has not started.
    pub pending: u32,
    /// Latest end of a host or GC operation whose last phase has started.
    pub host_end: u64,
    pub background_waiting: u32,
    pub background_started: u32,
    pub busy: u64,
    waiters: Vec<Waiter>,
    armed: bool,
    watch_armed: bool,
    was_idle: bool,
}

/// The flash array. See the module for the rules.
///
/// # Panics
/// Methods that take a time panic if it is before [`Nand::now`], and those that take a chip or a
/// channel if it does not exist.
#[derive(Clone, Debug)]
pub struct Nand<E: Events = Heap> {
    events: E,
    /// Chip `c` has lanes `c`, `c + chips`, and so on, one for each interleaving die.
    pub(super) lanes: Vec<Lane>,
    pub(super) chips: u32,
    pub(super) dies: u32,
    pub(super) channels: Vec<Channel>,
    pub(super) pool: Pool,
    /// Operations of jobs before they come to the pool.
    pub(super) ahead: Runs,
    pub(super) clock: u64,
    pub(super) cancelled: u64,
    pub(super) jobs: JobBook,
    next_number: u64,
    shared: Shared,
    /// By lane: until when host reads and programs keep it busy, waiting or in service; [`NEVER`]
    /// while that is not known.
    pub(super) host_until: Vec<u64>,
    /// Does all work wait for [`Nand::resume`]?
    held: bool,
    /// See [`Nand::grant_ahead`].
    ahead_of_time: bool,
    watch: bool,
    /// Channels to grant in this round.
    touched: Marks,
    /// Lanes whose candidate may start without the bus.
    startable: Vec<u32>,
    /// Channels that may have become idle or busy in this instant.
    changed: Marks,
}

impl Nand<Heap> {
    /// An array at rest at time 0.
    ///
    /// # Panics
    /// If a count of `config` is 0 or there are 2^31 dies or more.
    pub fn new(config: &Config) -> Nand {
        Nand::with_events(config)
    }
}

impl<E: Events> Nand<E> {
    /// [`Nand::new`] with another event container; results are the same.
    ///
    /// # Panics
    /// As [`Nand::new`].
    pub fn with_events(config: &Config) -> Nand<E> {
        let (n, per) = (config.channels, config.chips_per_channel);
        let lanes = n.checked_mul(per).and_then(|c| c.checked_mul(config.dies));
        let lanes = lanes.filter(|&l| l > 0 && l < 1 << 31);
        let lanes = lanes.expect("an array has 1 to 2^31 - 1 queue units");
        let lane = |i| Lane {
            until: 0,
            number: u64::MAX,
            start: 0,
            last_bus: 0,
            token: 0,
            channel: i % n,
            dependents: NONE,
            candidate: NONE,
            waiter: NONE,
            phase: Phase::Free,
            armed: false,
            notify: false,
            ends_job: false,
            kind: Kind::Read,
            class: Class::Host,
            moves: 0,
            queue: Queue::new(),
            jobs: JobBook::default(),
            busy: 0,
            stalled: 0,
            started: [[0; 4]; 4],
            more_planes: [0; 4],
            bytes: [0; 2],
        };
        let channel = |_| Channel {
            free_at: 0,
            pending: 0,
            host_end: 0,
            background_waiting: 0,
            background_started: 0,
            busy: 0,
            waiters: Vec::with_capacity((per * config.dies) as usize),
            armed: false,
            watch_armed: false,
            was_idle: true,
        };
        Nand {
            events: E::new(lanes as usize + 2 * n as usize),
            lanes: (0..lanes).map(lane).collect(),
            chips: n * per,
            dies: config.dies,
            channels: (0..n).map(channel).collect(),
            pool: Pool::new(),
            ahead: Runs::new(),
            clock: 0,
            cancelled: 0,
            jobs: JobBook::default(),
            next_number: 0,
            shared: Shared::new(&config.timing, config.discipline),
            host_until: vec![0; lanes as usize],
            held: false,
            ahead_of_time: false,
            watch: config.watch_idle,
            touched: Marks::new(n),
            startable: Vec::new(),
            changed: Marks::new(n),
        }
    }

    /// From now on a busy bus is granted ahead of time where it is known already who will have it:
    /// it goes to who has waited longest, so to the first operation that comes to a bus for which
    /// nothing waits, unless another one could take its place in its own queue. Operations run at
    /// the same times, but are told of earlier ([`Sink::timed`]), and count in the times of
    /// [`ChipStats`](super::ChipStats) and [`Nand::bus_time`] earlier. All else about chips is as it
    /// would be. It saves most events of a bus.
    ///
    /// That holds only if every transfer takes time, which is left to the caller: with what ends as
    /// it starts an older operation may come to a bus after it was granted at the same instant. The
    /// first job ends it: jobs have states that others look at.
    ///
    /// # Panics
    /// If reads go first, as they take each other's place, or idle channels are watched, or an
    /// operation takes no time in the array.
    pub fn grant_ahead(&mut self) {
        assert!(
            !self.shared.read_first && !self.watch && self.shared.takes_time(),
            "a bus is granted ahead of time in plain queues only"
        );
        self.ahead_of_time = true;
    }

    /// Time of the next instant at which something happens, [`Nanos::NEVER`] if nothing will.
    /// Ends that nobody waits for do not count.
    #[inline]
    pub fn next_event_time(&self) -> Nanos {
        Nanos(self.events.peek())
    }

    /// Settles the next instant if it is not after `until` and returns its time; `None` leaves
    /// everything as it is. Callers that issue work at completions go instant by instant.
    #[inline]
    pub fn step<S: Sink>(&mut self, until: Nanos, sink: &mut S) -> Option<Nanos> {
        let now = self.events.peek();
        if now > until.0 || now == NEVER {
            return None;
        }
        self.clock = now;
        self.settle(now, sink);
        Some(Nanos(now))
    }

    /// Settles every instant up to and including `until`, which becomes the clock.
    #[inline]
    pub fn advance<S: Sink>(&mut self, until: Nanos, sink: &mut S) {
        assert!(until.0 >= self.clock, "time runs backwards");
        while self.step(until, sink).is_some() {}
        self.clock = until.0;
    }

    /// Submits an operation at `now`.
    ///
    /// # Panics
    /// If something is due at or before `now`: [`Nand::advance`] first.
    #[inline]
    pub fn submit<S: Sink>(&mut self, now: Nanos, command: Command, sink: &mut S) -> OpId {
        if self.held {
            return self.submit_held(now, command, sink);
        }
        let now = now.0;
        self.enter(now);
        if let Some(id) = self.start_at_once(now, &command, sink) {
            return id;
        }
        self.submit_entry::<S, false>(now, &command, sink)
    }

    /// [`Nand::submit`] of a program right after [`Nand::program_at_once`] did not start it at the
    /// same `now`, which is not tried again.
    #[inline]
    pub fn submit_refused<S: Sink>(&mut self, now: Nanos, command: Command, sink: &mut S) -> OpId {
        if self.held {
            return self.submit_held(now, command, sink);
        }
        self.submit_entry::<S, false>(now.0, &command, sink)
    }

    /// Takes a waiting background operation back at `now`; false if it has started or is gone.
    /// Operations that depend on it are released as if it had ended; cancel those first that
    /// must not run.
    ///
    /// # Panics
    /// If something is due at or before `now`, or the operation is waiting and not of a background
    /// class, or belongs to a job, or a bus may be granted ahead of time.
    pub fn cancel<S: Sink>(&mut self, now: Nanos, id: OpId, sink: &mut S) -> bool {
        let now = now.0;
        self.enter(now);
        // It may release an older one for a bus that was granted at the same instant.
        assert!(
            !self.ahead_of_time,
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
        self.settle_unheld(now, sink);
        true
    }

    /// Counts operations that were cancelled.
    fn taken_back(&mut self, l: usize, class: Class, operations: u32) {
        let ch = self.lanes[l].channel as usize;
        if class == Class::Background {
            self.channels[ch].background_waiting -= operations;
        } else {
            self.channels[ch].pending -= operations;
            self.note_change(ch);
        }
        self.cancelled += u64::from(operations);
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
    fn entry(&mut self, now: u64, command: &Command) -> Entry {
        assert!(command.chip.0 < self.chips, "a chip that exists");
        let lane = command.chip.0 + command.die * self.chips;
        let number = self.next_number;
        self.next_number += 1;
        Entry::new(number, lane, now, command, &self.shared)
    }

    #[inline]
    fn is_pending(&self, id: OpId) -> bool {
        self.pool.holds(id) || self.runs(id)
    }

    #[inline]
    pub(super) fn runs(&self, id: OpId) -> bool {
        let lane = &self.lanes[id.lane as usize];
        lane.number == id.number() && !lane.is_free(self.clock)
    }
}
