//! The flash array with one state per operation. Every question scans all operations.

use destage_device::nand::{
    Class, Command, Config, Discipline, Kind, OpId, OpState, OpTimes, Sink, Timing,
};
use destage_types::{ChannelId, ChipId, Nanos};

/// Where an operation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum At {
    /// Waits for another operation to end.
    Blocked,
    /// May start as far as it is concerned, since this time.
    Queued(u64),
    /// Command on the bus; then the array until the second time.
    CommandThenArray {
        bus: u64,
        array: u64,
    },
    /// Read done, data wait for the bus since this time.
    WaitsForBus(u64),
    /// Data of a read on the bus until this time.
    DataOut(u64),
    Ended,
    Cancelled,
}

#[derive(Clone, Copy, Debug)]
struct Operation {
    /// Operations submitted before this one.
    number: u64,
    command: Command,
    /// Operation that must end first.
    after: Option<u64>,
    at: At,
    start: u64,
    /// Of the last bus transfer, 0 before it is known.
    last_transfer: u64,
    end: u64,
}

/// The array. Operations are named by their number, in order of submission, and stand in that
/// order.
#[derive(Clone, Debug)]
pub struct Reference {
    channels: u32,
    chips: u32,
    timing: Timing,
    read_first: bool,
    watch_idle: bool,
    now: u64,
    operations: Vec<Operation>,
    submitted: u64,
    /// When each chip ended an operation last.
    free_since: Vec<u64>,
    was_idle: Vec<bool>,
    bus_time: Vec<u64>,
}

impl Reference {
    /// An array at rest at time 0.
    pub fn new(config: &Config) -> Reference {
        Reference {
            channels: config.channels,
            chips: config.channels * config.chips_per_channel,
            timing: config.timing,
            read_first: config.discipline == Discipline::ReadFirst,
            watch_idle: config.watch_idle,
            now: 0,
            operations: Vec::new(),
            submitted: 0,
            free_since: vec![0; (config.channels * config.chips_per_channel) as usize],
            was_idle: vec![true; config.channels as usize],
            bus_time: vec![0; config.channels as usize],
        }
    }

    /// Time of the next phase end; later than every event if there is none.
    pub fn next_event_time(&self) -> Nanos {
        let due = |op: &Operation| match op.at {
            At::CommandThenArray { bus, .. } if bus > self.now => Some(bus),
            At::CommandThenArray { array, .. } => Some(array),
            At::DataOut(until) => Some(until),
            _ => None,
        };
        Nanos(
            self.operations
                .iter()
                .filter_map(due)
                .min()
                .unwrap_or(u64::MAX),
        )
    }

    /// Settles every instant up to and including `until`.
    pub fn advance<S: Sink>(&mut self, until: Nanos, sink: &mut S) {
        loop {
            let next = self.next_event_time();
            if next > until || next == Nanos::NEVER {
                break;
            }
            self.now = next.0;
            self.settle(sink);
        }
        self.now = until.0;
    }

    /// Submits an operation at `now` and returns its number.
    pub fn submit<S: Sink>(&mut self, now: Nanos, command: Command, sink: &mut S) -> u64 {
        let after = command.after.map(OpId::number);
        self.submit_after(now, command, after, sink)
    }

    /// Submits an operation that waits for operation number `after`.
    pub fn submit_after<S: Sink>(
        &mut self,
        now: Nanos,
        command: Command,
        after: Option<u64>,
        sink: &mut S,
    ) -> u64 {
        self.now = now.0;
        let number = self.submitted;
        let waits = after.is_some_and(|other| self.state(other) != OpState::Gone);
        self.submitted += 1;
        self.operations.push(Operation {
            number,
            command,
            after,
            at: if waits {
                At::Blocked
            } else {
                At::Queued(now.0)
            },
            start: 0,
            last_transfer: 0,
            end: 0,
        });
        self.settle(sink);
        number
    }

    /// Forgets operations that are gone, for long runs; [`Reference::chip_time`] counts the others
    /// alone from then on.
    pub fn forget_gone(&mut self) {
        let gone = |op: &Operation| matches!(op.at, At::Ended | At::Cancelled);
        self.operations.retain(|op| !gone(op));
    }

    /// Takes back a waiting background operation.
    pub fn cancel<S: Sink>(&mut self, now: Nanos, number: u64, sink: &mut S) -> bool {
        self.now = now.0;
        let waiting = self.state(number) == OpState::Waiting;
        if waiting {
            let i = self.position(number).expect("a waiting operation is kept");
            self.operations[i].at = At::Cancelled;
            self.release(number);
            self.settle(sink);
        }
        waiting
    }

    fn settle<S: Sink>(&mut self, sink: &mut S) {
        loop {
            let changed = self.state_changes(sink);
            let granted = self.grant_buses(sink);
            if !changed && !granted {
                break;
            }
        }
        for channel in 0..self.channels {
            let idle = self.is_channel_idle(ChannelId(channel));
            let was = std::mem::replace(&mut self.was_idle[channel as usize], idle);
            if self.watch_idle && idle && !was {
                sink.idle(ChannelId(channel), Nanos(self.now));
            }
        }
    }

    /// All state changes that are due when the round begins.
    fn state_changes<S: Sink>(&mut self, sink: &mut S) -> bool {
        let mut due = Vec::new();
        for chip in 0..self.chips {
            for (i, op) in self.operations.iter().enumerate() {
                let array_done = matches!(op.at, At::CommandThenArray { array, .. }
                    if array == self.now);
                if op.command.chip.0 == chip && (array_done || op.at == At::DataOut(self.now)) {
                    due.push(i);
                }
            }
        }
        for &i in &due {
            let op = self.operations[i];
            let array_done = matches!(op.at, At::CommandThenArray { .. });
            if array_done && op.command.kind == Kind::Read {
                self.operations[i].at = At::WaitsForBus(self.now);
                continue;
            }
            self.operations[i].at = At::Ended;
            let free_since = &mut self.free_since[op.command.chip.index()];
            *free_since = op.end.max(*free_since);
            if op.command.notify_end || op.command.class == Class::Background {
                sink.ended(op.command.token, Nanos(self.now));
            }
            self.release(op.number);
        }
        !due.is_empty()
    }

    fn release(&mut self, number: u64) {
        for op in &mut self.operations {
            if op.at == At::Blocked && op.after == Some(number) {
                op.at = At::Queued(self.now);
            }
        }
    }

    /// One grant for every free bus that somebody waits for.
    fn grant_buses<S: Sink>(&mut self, sink: &mut S) -> bool {
        let mut granted = false;
        for channel in 0..self.channels {
            if !self.bus_is_free(channel) {
                continue;
            }
            let mut best: Option<(u64, usize)> = None;
            for chip in (channel..self.chips).step_by(self.channels as usize) {
                let Some(request) = self.bus_request(chip) else {
                    continue;
                };
                if best.is_none_or(|b| request < b) {
                    best = Some(request);
                }
            }
            if let Some((_, i)) = best {
                self.grant(i, sink);
                granted = true;
            }
        }
        granted
    }

    fn grant<S: Sink>(&mut self, i: usize, sink: &mut S) {
        let (timing, now) = (self.timing, self.now);
        let op = &mut self.operations[i];
        let c = op.command;
        let bus;
        if let At::WaitsForBus(_) = op.at {
            bus = c.transfer.0;
            op.at = At::DataOut(now + bus);
            (op.last_transfer, op.end) = (now + bus, now + bus);
        } else {
            let (first, array) = match c.kind {
                Kind::Read => (
                    timing.t_cmd_read,
                    c.array.unwrap_or(timing.t_read) + timing.t_ready,
                ),
                Kind::Program => (
                    timing.t_cmd_program + c.transfer,
                    c.array.unwrap_or(timing.t_program),
                ),
                Kind::Erase => (timing.t_cmd_erase, c.array.unwrap_or(timing.t_erase)),
            };
            bus = first.0;
            op.start = now;
            op.at = At::CommandThenArray {
                bus: now + first.0,
                array: now + first.0 + array.0,
            };
            if c.kind != Kind::Read {
                (op.last_transfer, op.end) = (now + first.0, now + first.0 + array.0);
            }
        }
        self.bus_time[(c.chip.0 % self.channels) as usize] += bus;
        let op = &self.operations[i];
        if op.end_known() {
            let times = OpTimes {
                start: Nanos(op.start),
                last_transfer: Nanos(op.last_transfer),
                end: Nanos(op.end),
            };
            sink.timed(c.token, times);
        }
    }

    fn bus_is_free(&self, channel: u32) -> bool {
        !self.operations.iter().any(|op| {
            let on_bus = match op.at {
                At::CommandThenArray { bus, .. } => bus > self.now,
                At::DataOut(until) => until > self.now,
                _ => false,
            };
            on_bus && op.command.chip.0 % self.channels == channel
        })
    }

    /// What a chip wants the bus for: ready time and operation.
    fn bus_request(&self, chip: u32) -> Option<(u64, usize)> {
        let mine = || {
            let ops = self.operations.iter().enumerate();
            ops.filter(move |(_, op)| op.command.chip.0 == chip)
        };
        if let Some((i, op)) = mine().find(|(_, op)| op.in_service()) {
            return match op.at {
                At::WaitsForBus(since) => Some((since, i)),
                _ => None,
            };
        }
        let free_since = self.free_since[chip as usize];
        let (i, op) = mine()
            .filter(|(i, op)| matches!(op.at, At::Queued(_)) && !self.must_wait(*i))
            .min_by_key(|(i, op)| (op.command.class, !self.goes_ahead(&op.command), *i))?;
        match op.at {
            At::Queued(since) => Some((since.max(free_since), i)),
            _ => None,
        }
    }

    fn goes_ahead(&self, command: &Command) -> bool {
        let host_read = command.kind == Kind::Read && command.class == Class::Host;
        self.read_first && host_read && !command.in_order
    }

    /// Is operation `i` a read with the in-order mark behind a waiting program?
    fn must_wait(&self, i: usize) -> bool {
        let command = self.operations[i].command;
        command.kind == Kind::Read
            && command.in_order
            && self.operations[..i].iter().any(|op| {
                op.command.chip == command.chip
                    && op.command.kind == Kind::Program
                    && op.command.class != Class::Background
                    && op.waits()
            })
    }

    fn on_chip(&self, chip: ChipId) -> impl Iterator<Item = &Operation> {
        let ops = self.operations.iter();
        ops.filter(move |op| op.command.chip == chip)
    }

    fn on_channel(&self, channel: ChannelId) -> impl Iterator<Item = &Operation> {
        let ops = self.operations.iter();
        ops.filter(move |op| op.command.chip.0 % self.channels == channel.0)
    }

    /// How far an operation is.
    pub fn state(&self, number: u64) -> OpState {
        assert!(number < self.submitted, "operation {number} comes later");
        let Some(i) = self.position(number) else {
            return OpState::Gone;
        };
        let op = &self.operations[i];
        if op.waits() {
            OpState::Waiting
        } else if op.in_service() {
            OpState::Started
        } else {
            OpState::Gone
        }
    }

    fn position(&self, number: u64) -> Option<usize> {
        self.operations
            .binary_search_by_key(&number, |op| op.number)
            .ok()
    }

    /// What was submitted as operation `number`.
    ///
    /// # Panics
    /// It is forgotten.
    pub fn command(&self, number: u64) -> &Command {
        let i = self.position(number).expect("the operation is kept");
        &self.operations[i].command
    }

    /// Host operations of one kind on a chip, waiting or in service.
    pub fn host_count(&self, chip: ChipId, kind: Kind) -> u32 {
        let of_kind = |op: &&Operation| {
            op.command.class == Class::Host
                && op.command.kind == kind
                && (op.waits() || op.in_service())
        };
        self.on_chip(chip).filter(of_kind).count() as u32
    }

    /// Kind and class of the operation a chip runs.
    pub fn in_service(&self, chip: ChipId) -> Option<(Kind, Class)> {
        let op = self.on_chip(chip).find(|op| op.in_service())?;
        Some((op.command.kind, op.command.class))
    }

    /// Rest of the operation in service if its bus waits are over.
    pub fn residual(&self, chip: ChipId) -> Nanos {
        let Some(op) = self.on_chip(chip).find(|op| op.in_service()) else {
            return Nanos::ZERO;
        };
        let data = match op.command.kind {
            Kind::Read => op.command.transfer.0,
            _ => 0,
        };
        Nanos(match op.at {
            At::CommandThenArray { array, .. } => array - self.now + data,
            At::WaitsForBus(_) => data,
            At::DataOut(until) => until - self.now,
            _ => 0,
        })
    }

    /// Residual time and all waiting operations of `lowest` class or above, without waits.
    pub fn drain_time(&self, chip: ChipId, lowest: Class) -> Nanos {
        let alone = |op: &Operation| {
            let (c, t) = (&op.command, &self.timing);
            match c.kind {
                Kind::Read => t.t_cmd_read + c.array.unwrap_or(t.t_read) + t.t_ready + c.transfer,
                Kind::Program => t.t_cmd_program + c.transfer + c.array.unwrap_or(t.t_program),
                Kind::Erase => t.t_cmd_erase + c.array.unwrap_or(t.t_erase),
            }
        };
        self.on_chip(chip)
            .filter(|op| op.waits() && op.command.class <= lowest)
            .fold(self.residual(chip), |sum, op| sum + alone(op))
    }

    /// No host or GC operation on the channel, and its bus free.
    pub fn is_channel_idle(&self, channel: ChannelId) -> bool {
        self.bus_is_free(channel.0)
            && !self
                .on_channel(channel)
                .any(|op| op.command.class != Class::Background && (op.waits() || op.in_service()))
    }

    /// Background operations of a channel: (waiting, started and not ended).
    pub fn background(&self, channel: ChannelId) -> (u32, u32) {
        let count = |test: fn(&Operation) -> bool| {
            self.on_channel(channel)
                .filter(|op| op.command.class == Class::Background && test(op))
                .count() as u32
        };
        (count(Operation::waits), count(Operation::in_service))
    }

    /// Time a chip was held by the operations whose last phase has started, and how much of it
    /// reads waited for the bus.
    pub fn chip_time(&self, chip: ChipId) -> (Nanos, Nanos) {
        let known = || self.on_chip(chip).filter(|op| op.end_known());
        let held = known().map(|op| op.end - op.start).sum();
        let stalled = |op: &Operation| match op.command.kind {
            Kind::Read => {
                let t = &self.timing;
                let array = op.command.array.unwrap_or(t.t_read) + t.t_ready;
                op.end - op.start - (t.t_cmd_read + array + op.command.transfer).0
            }
            _ => 0,
        };
        (Nanos(held), Nanos(known().map(stalled).sum()))
    }

    /// Time the bus of a channel was granted for.
    pub fn bus_time(&self, channel: ChannelId) -> Nanos {
        Nanos(self.bus_time[channel.index()])
    }
}

impl Operation {
    fn waits(&self) -> bool {
        matches!(self.at, At::Blocked | At::Queued(_))
    }

    fn in_service(&self) -> bool {
        !self.waits() && !matches!(self.at, At::Ended | At::Cancelled)
    }

    /// Has its last phase started?
    fn end_known(&self) -> bool {
        match self.at {
            At::DataOut(_) | At::Ended => true,
            At::CommandThenArray { .. } => self.command.kind != Kind::Read,
            _ => false,
        }
    }
}
