//! The event engine itself: its state, and how work comes in. `run` lets time pass.

mod depend;
mod run;

use destage_types::{ChannelId, Geometry, Nanos, QueuePer};

use super::events::NEVER;
use super::queue::{Entry, NONE, Pool, Queue};
use super::{Class, Command, Discipline, Events, Heap, Kind, OpId, OpTimes, Sink, Stats, Timing};

/// What an array looks like to the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Buses, at least 1.
    pub channels: u32,
    /// Queue units on one bus, at least 1.
    pub chips_per_channel: u32,
    /// Durations.
    pub timing: Timing,
    /// Order of the host class in every queue.
    pub discipline: Discipline,
    /// Report the instants at which a channel becomes idle ([`Sink::idle`]).
    pub watch_idle: bool,
}

impl Config {
    /// FIFO queues per `queue_per` of `geometry`.
    pub fn new(geometry: &Geometry, queue_per: QueuePer, timing: Timing) -> Config {
        Config {
            channels: geometry.channels,
            chips_per_channel: geometry.queues_per_channel(queue_per),
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
    /// First bus phase or array of a read; ends at `until`.
    Array,
    /// A read that waits for the bus to move its data.
    WaitData,
    /// Last phase; ends at `until`. Without an event (`armed`) it ends unseen.
    Last,
}

#[derive(Clone, Debug)]
pub(super) struct Chip {
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
    /// Operation that waits for the bus to start.
    pub candidate: u32,
    /// Position among the waiters of the channel.
    pub waiter: u32,
    pub phase: Phase,
    pub armed: bool,
    pub notify: bool,
    pub kind: Kind,
    pub class: Class,
    pub queue: Queue,
    pub busy: u64,
    pub stalled: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    ready: u64,
    number: u64,
    chip: u32,
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
    touched: bool,
    watch_armed: bool,
    changed: bool,
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
    pub(super) chips: Vec<Chip>,
    pub(super) channels: Vec<Channel>,
    pub(super) pool: Pool,
    pub(super) clock: u64,
    pub(super) stats: Stats,
    next_number: u64,
    timing: Timing,
    read_first: bool,
    watch: bool,
    /// Channels to grant in this round.
    touched: Vec<u32>,
    /// Channels that may have become idle or busy in this instant.
    changed: Vec<u32>,
}

impl Nand<Heap> {
    /// An array at rest at time 0.
    ///
    /// # Panics
    /// If a count of `config` is 0 or there are 2^31 queue units or more.
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
        let chips = n.checked_mul(per).filter(|&c| c > 0 && c < 1 << 31);
        let chips = chips.expect("an array has 1 to 2^31 - 1 queue units");
        let chip = |i| Chip {
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
            kind: Kind::Read,
            class: Class::Host,
            queue: Queue::new(),
            busy: 0,
            stalled: 0,
        };
        let channel = |_| Channel {
            free_at: 0,
            pending: 0,
            host_end: 0,
            background_waiting: 0,
            background_started: 0,
            busy: 0,
            waiters: Vec::with_capacity(per as usize),
            armed: false,
            touched: false,
            watch_armed: false,
            changed: false,
            was_idle: true,
        };
        Nand {
            events: E::new(chips as usize + 2 * n as usize),
            chips: (0..chips).map(chip).collect(),
            channels: (0..n).map(channel).collect(),
            pool: Pool::new(),
            clock: 0,
            stats: Stats::default(),
            next_number: 0,
            timing: config.timing,
            read_first: config.discipline == Discipline::ReadFirst,
            watch: config.watch_idle,
            touched: Vec::with_capacity(n as usize),
            changed: Vec::with_capacity(n as usize),
        }
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
        let now = now.0;
        self.enter(now);
        let c = command.chip.index();
        let entry = self.entry(now, &command);
        let number = entry.number;
        let ch = self.chips[c].channel as usize;
        match entry.class {
            Class::Background => self.channels[ch].background_waiting += 1,
            _ => self.channels[ch].pending += 1,
        }
        let parent = command.after.filter(|&id| self.is_pending(id));
        let mut slot = NONE;
        let chip = &self.chips[c];
        if parent.is_none()
            && chip.is_free(now)
            && self.channels[ch].free_at <= now
            && !chip.queue.has_ready()
            && !(entry.in_order && chip.queue.holds_marked())
        {
            self.begin(c, entry, now, sink);
        } else {
            slot = self.pool.add(entry);
            self.chips[c]
                .queue
                .join(&mut self.pool, slot, parent.is_some());
            match parent {
                Some(id) => self.hang_on(id, slot),
                None => self.made_ready(c, now),
            }
        }
        self.note_change(ch);
        self.settle_rest(now, sink);
        OpId {
            number,
            slot,
            chip: command.chip.0,
        }
    }

    /// Takes a waiting background operation back at `now`; false if it has started or is gone.
    /// Operations that depend on it are released as if it had ended; cancel those first that
    /// must not run.
    ///
    /// # Panics
    /// If something is due at or before `now`, or the operation is waiting and not of background
    /// class.
    pub fn cancel<S: Sink>(&mut self, now: Nanos, id: OpId, sink: &mut S) -> bool {
        let now = now.0;
        self.enter(now);
        if !self.pool.holds(id) {
            return false;
        }
        let class = self.pool[id.slot].class;
        assert!(
            class == Class::Background,
            "only background work is taken back"
        );
        if let Some(parent) = self.pool[id.slot].after {
            self.let_go(parent, id.slot);
        }
        let c = id.chip as usize;
        let entry = self.chips[c].queue.leave(&mut self.pool, id.slot);
        let ch = self.chips[c].channel as usize;
        self.channels[ch].background_waiting -= 1;
        self.stats.cancelled += 1;
        if self.chips[c].is_free(now) {
            self.refresh(c);
        }
        self.release_all(entry.dependents, now);
        self.settle_rest(now, sink);
        true
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
        let mut entry = Entry::blank(self.next_number, command.chip.0);
        self.next_number += 1;
        entry.ready = now;
        entry.first_bus = self.timing.first_bus(command).0;
        entry.array = self.timing.array(command).0;
        let read = command.kind == Kind::Read;
        if read {
            entry.last_bus = command.transfer.0;
        }
        entry.token = command.token;
        entry.kind = command.kind;
        entry.class = command.class;
        entry.in_order = read && command.in_order;
        entry.notify = command.notify_end || command.class == Class::Background;
        entry.ahead = self.read_first && read && !command.in_order && command.class == Class::Host;
        entry
    }

    #[inline]
    fn is_pending(&self, id: OpId) -> bool {
        self.pool.holds(id) || self.runs(id)
    }

    #[inline]
    pub(super) fn runs(&self, id: OpId) -> bool {
        let chip = &self.chips[id.chip as usize];
        chip.number == id.number && !chip.is_free(self.clock)
    }

    /// An operation became ready in the queue of chip `c`.
    #[inline]
    fn made_ready(&mut self, c: usize, now: u64) {
        if self.chips[c].is_free(now) {
            self.refresh(c);
        } else {
            self.arm_end(c);
        }
    }

    #[inline]
    fn arm_end(&mut self, c: usize) {
        let chip = &mut self.chips[c];
        if chip.phase == Phase::Last && !chip.armed {
            chip.armed = true;
            self.events.set(c, chip.until);
        }
    }

    /// Chooses the candidate of a free chip again, after its queue changed.
    #[inline]
    fn refresh(&mut self, c: usize) {
        let chip = &mut self.chips[c];
        chip.phase = Phase::Free;
        let slot = chip.queue.candidate(&self.pool);
        if slot == chip.candidate {
            return;
        }
        let had_one = chip.candidate != NONE;
        chip.candidate = slot;
        let (at, ch) = (chip.waiter, chip.channel as usize);
        if slot == NONE {
            return self.withdraw(ch, at as usize);
        }
        let waiter = Waiter {
            ready: self.pool[slot].ready.max(chip.until),
            number: self.pool[slot].number,
            chip: c as u32,
        };
        if had_one {
            self.channels[ch].waiters[at as usize] = waiter;
        } else {
            self.queue_for_bus(ch, waiter);
        }
    }

    #[inline]
    fn queue_for_bus(&mut self, ch: usize, waiter: Waiter) {
        let channel = &mut self.channels[ch];
        self.chips[waiter.chip as usize].waiter = channel.waiters.len() as u32;
        channel.waiters.push(waiter);
        if !channel.touched {
            channel.touched = true;
            self.touched.push(ch as u32);
        }
    }

    #[inline]
    fn withdraw(&mut self, ch: usize, at: usize) {
        let waiters = &mut self.channels[ch].waiters;
        waiters.swap_remove(at);
        if let Some(moved) = waiters.get(at) {
            self.chips[moved.chip as usize].waiter = at as u32;
        }
    }
}
