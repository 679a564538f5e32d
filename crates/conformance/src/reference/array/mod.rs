//! The array: dies and buses in time, of every device. An operation is a list of phases, and every question scans all
//! operations. (DEVICE_MODEL.md, "Dies and buses")
//!
//! A device of pages submits operations and jobs, and the array settles by itself. A drive queues operations, sets the
//! gates, and goes through the rounds itself, as its collectors act between the steps of a round.

mod queries;
mod queue;
mod rounds;
mod suspend;

use destage_device::config::QueueOrder;
use destage_device::nand::{
    ArrayConfig, Class, FlashCommand, JobKind, NO_TOKEN, Notice, OpId, OpKind, OpState, OpTimes,
    Suspension, Timing,
};
use destage_types::{ChannelId, Nanos};

use super::rng::SplitMix64;
pub use queue::Gates;

/// A phase of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Holds the bus of the channel.
    Bus(u64),
    /// Holds the die alone.
    Array(u64),
}

impl Phase {
    fn time(&self) -> u64 {
        match self {
            Phase::Bus(time) | Phase::Array(time) => *time,
        }
    }

    fn is_bus(&self) -> bool {
        matches!(self, Phase::Bus(_))
    }
}

/// Where an operation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Progress {
    /// Waits for another operation to end.
    Blocked,
    /// May start as far as it is concerned, since this time.
    Queued(u64),
    /// Holds its die, and asks for the bus since this time.
    Asks(u64),
    /// In its phase until this time.
    Runs(u64),
    /// Gives way to reads, with so much left in the array.
    Suspended(u64),
    Ended,
    Cancelled,
}

#[derive(Clone, Debug)]
struct Operation {
    /// Operations submitted before this one.
    number: u64,
    command: FlashCommand,
    /// The chip that it runs on.
    lane: u32,
    /// Operations that must end first.
    after: Vec<u64>,
    job: Option<InJob>,
    /// A program of the host on a drive: the GC unit whose gate it passes.
    gate: Option<usize>,
    /// A read that takes as long as it says (D-15).
    steady: bool,
    phases: Vec<Phase>,
    /// Place of its phase among them.
    phase: usize,
    at: Progress,
    start: Option<u64>,
    /// Of the last bus transfer, 0 before it is known.
    last_transfer: u64,
    end: u64,
    /// Since when it has held its die, and for how long before it was suspended.
    since: u64,
    held: u64,
    /// Its array time has not been told.
    late: bool,
    /// Its end was not known when it started.
    open: bool,
}

/// The place of an operation in its job.
#[derive(Clone, Copy, Debug)]
struct InJob {
    kind: JobKind,
    is_first: bool,
    /// Nothing else may run between the operation before and this one.
    kept: bool,
}

/// Something that happened to an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happened {
    /// It was granted its first phase.
    Started,
    /// All data of a program are in the chip.
    Transferred,
    /// All done.
    Ended,
}

/// The array. Operations are named by their number, in order of submission, and stand in that order.
#[derive(Clone, Debug)]
pub struct SlowArray {
    channels: u32,
    chips: u32,
    timing: Timing,
    read_first: bool,
    watch_idle: bool,
    suspension: Option<Suspension>,
    late_times: bool,
    /// Suspensions by kind of operation.
    pub suspended: [u64; 4],
    /// Of a drive: what holds programs of the host and operations of the collector back.
    pub gates: Option<Gates>,
    /// Of a drive: share and time of each step of a retry, and its draws.
    pub retry: Vec<(f64, u64)>,
    /// The same of reads on a die that has suspended an operation.
    pub retry_suspended: Vec<(f64, u64)>,
    /// Draws of retries.
    pub draws: SplitMix64,
    /// Programs of a drive that something holds which is no operation.
    waits_outside: Vec<u64>,
    /// Is nothing allowed to start?
    held: bool,
    /// The time.
    pub now: u64,
    operations: Vec<Operation>,
    submitted: u64,
    /// So many in front are over.
    gone: usize,
    /// When each die ended an operation last, or when it can start the read that suspends one.
    free_since: Vec<u64>,
    was_idle: Vec<bool>,
    /// Transfers of each channel: from when to when.
    transfers: Vec<Vec<[u64; 2]>>,
    /// Notices, in order.
    pub notices: Vec<Notice>,
    /// What happened to which operation, in order.
    pub happened: Vec<(Happened, u64)>,
}

impl SlowArray {
    /// An array at rest at time 0.
    pub fn new(config: &ArrayConfig) -> SlowArray {
        let chips = config.channels * config.chips_per_channel;
        SlowArray {
            channels: config.channels,
            chips,
            timing: config.timing,
            read_first: config.queue == QueueOrder::ReadFirst,
            watch_idle: config.watch_idle,
            suspension: config.suspension,
            late_times: config.late_times,
            suspended: [0; 4],
            gates: None,
            retry: Vec::new(),
            retry_suspended: Vec::new(),
            draws: SplitMix64::new(0),
            waits_outside: Vec::new(),
            held: false,
            now: 0,
            operations: Vec::new(),
            submitted: 0,
            gone: 0,
            free_since: vec![0; chips as usize],
            was_idle: vec![true; config.channels as usize],
            transfers: vec![Vec::new(); config.channels as usize],
            notices: Vec::new(),
            happened: Vec::new(),
        }
    }

    /// Time of the next phase end; later than every event if there is none.
    pub fn next_event_time(&self) -> Nanos {
        let due = self.pending().filter_map(|(_, op)| match op.at {
            Progress::Runs(_) if op.waits_for_its_time() => None,
            Progress::Runs(until) => Some(until),
            // The read that suspends it can start then.
            Progress::Suspended(_) => Some(self.free_since[op.lane as usize]),
            _ => None,
        });
        let due = due.filter(|&time| time > self.now);
        Nanos(due.min().unwrap_or(u64::MAX))
    }

    /// Settles every instant up to and including `until`.
    pub fn advance(&mut self, until: Nanos) {
        loop {
            let next = self.next_event_time();
            if next > until || next == Nanos::NEVER {
                break;
            }
            self.now = next.0;
            self.settle();
        }
        self.now = until.0;
    }

    /// Submits an operation at `now` and returns its number.
    pub fn submit(&mut self, now: Nanos, command: FlashCommand) -> u64 {
        let after = [command.after, command.and_after].map(|id| id.map(OpId::number));
        self.submit_after(now, command, after)
    }

    /// Submits an operation that waits for operations by number.
    pub fn submit_after(
        &mut self,
        now: Nanos,
        command: FlashCommand,
        after: [Option<u64>; 2],
    ) -> u64 {
        self.now = now.0;
        let number = self.add(command, after.into_iter().flatten().collect(), None);
        self.settle();
        number
    }

    /// Submits a job whose first operation waits for `after`; the number of that operation. The
    /// others follow in number.
    pub fn submit_job(
        &mut self,
        now: Nanos,
        kind: JobKind,
        commands: &[FlashCommand],
        after: [Option<u64>; 2],
    ) -> u64 {
        self.now = now.0;
        let first = self.submitted;
        for (i, &command) in commands.iter().enumerate() {
            let class = match kind {
                JobKind::Foreground => Class::Gc,
                JobKind::Background => Class::BackgroundGc,
            };
            let before = i.checked_sub(1).map(|before| commands[before].kind);
            let job = InJob {
                kind,
                is_first: i == 0,
                kept: match (before, kind) {
                    (None, _) => false,
                    (_, JobKind::Foreground) => true,
                    (before, _) => before == Some(OpKind::Read),
                },
            };
            let after = match before {
                None => after.into_iter().flatten().collect(),
                Some(_) => vec![self.submitted - 1],
            };
            self.add(command.class(class), after, Some(job));
        }
        self.settle();
        first
    }

    /// Queues an operation of a drive, which goes through the rounds itself.
    pub fn queue(
        &mut self,
        command: FlashCommand,
        phases: Vec<Phase>,
        after: Vec<u64>,
        gate: Option<usize>,
    ) -> u64 {
        let number = self.add(command, after, None);
        let op = self.operations.last_mut().expect("it was added");
        (op.phases, op.gate) = (phases, gate);
        number
    }

    /// A queued read draws no retries.
    pub fn never_retries(&mut self, number: u64) {
        self.operation(number).steady = true;
    }

    fn add(&mut self, command: FlashCommand, after: Vec<u64>, job: Option<InJob>) -> u64 {
        let number = self.submitted;
        let waits = self.is_one_pending(&after);
        self.submitted += 1;
        self.operations.push(Operation {
            number,
            command,
            lane: command.chip.0,
            after,
            job,
            gate: None,
            steady: false,
            phases: phases(&self.timing, &command),
            phase: 0,
            at: match waits {
                true => Progress::Blocked,
                false => Progress::Queued(self.now),
            },
            start: None,
            last_transfer: 0,
            end: 0,
            since: 0,
            held: 0,
            late: false,
            open: false,
        });
        number
    }

    fn is_one_pending(&self, after: &[u64]) -> bool {
        let mut after = after.iter();
        after.any(|&other| self.state(other) != OpState::Finished)
    }

    /// Forgets operations that are gone, for long runs; sums over operations count the others alone
    /// from then on.
    pub fn forget_finished(&mut self) {
        let gone = |op: &Operation| matches!(op.at, Progress::Ended | Progress::Cancelled);
        self.operations.retain(|op| !gone(op));
        self.gone = 0;
    }

    /// Takes back a waiting background operation.
    pub fn cancel(&mut self, now: Nanos, number: u64) -> bool {
        self.cancel_job(now, number..=number)
    }

    /// Takes back the operations numbered `job`, a background job that has not started.
    pub fn cancel_job(&mut self, now: Nanos, job: std::ops::RangeInclusive<u64>) -> bool {
        self.now = now.0;
        let waiting = self.state(*job.start()) == OpState::Waiting;
        if waiting {
            for number in job {
                self.operation(number).at = Progress::Cancelled;
            }
            self.release();
            self.settle();
        }
        waiting
    }

    fn operation(&mut self, number: u64) -> &mut Operation {
        let i = self.position(number).expect("the operation is kept");
        &mut self.operations[i]
    }

    /// Nothing starts until [`SlowArray::resume`].
    pub fn hold(&mut self) {
        self.held = true;
    }

    /// Operations that may start at `now` do.
    pub fn resume(&mut self, now: Nanos) {
        self.now = now.0;
        self.held = false;
        self.settle();
    }

    /// A page on one more plane joins a waiting operation. (DEVICE_MODEL.md, "Multi-plane commands")
    pub fn join(&mut self, number: u64, transfer: Nanos, bytes: u32, array: Option<Nanos>) {
        let timing = self.timing;
        let op = self.operation(number);
        assert!(op.waits() && op.job.is_none());
        op.command.planes += 1;
        op.command.transfer += transfer;
        op.command.bytes += bytes;
        if let Some(time) = array {
            let usual = match op.command.kind {
                OpKind::Read => timing.t_read,
                _ => timing.t_program,
            };
            let longest = op.command.array.unwrap_or(usual).max(time);
            op.command.array = Some(longest);
        }
        op.phases = phases(&timing, &op.command);
    }
}

/// The phases of a command: a read moves its data out, and a program moves them in with its command. Copyback uses no
/// bus.
fn phases(t: &Timing, c: &FlashCommand) -> Vec<Phase> {
    let command = |time: Nanos| Phase::Bus(u64::from(c.planes) * time.0);
    let read = c.array.unwrap_or(t.t_read) + t.t_ready;
    let program = c.array.unwrap_or(t.t_program);
    match c.kind {
        OpKind::Read => vec![
            command(t.t_cmd_read),
            Phase::Array(read.0),
            Phase::Bus(c.transfer.0),
        ],
        OpKind::Program => {
            let command = command(t.t_cmd_program).time();
            vec![Phase::Bus(command + c.transfer.0), Phase::Array(program.0)]
        }
        OpKind::Erase => vec![
            command(t.t_cmd_erase),
            Phase::Array(c.array.unwrap_or(t.t_erase).0),
        ],
        OpKind::Copyback => vec![Phase::Array((t.t_read + t.t_ready + program).0)],
    }
}

impl Operation {
    fn waits(&self) -> bool {
        matches!(self.at, Progress::Blocked | Progress::Queued(_))
    }

    /// Not gone.
    fn is_pending(&self) -> bool {
        self.waits() || self.in_service()
    }

    fn in_service(&self) -> bool {
        !self.waits() && !matches!(self.at, Progress::Ended | Progress::Cancelled)
    }

    fn is_suspended(&self) -> bool {
        matches!(self.at, Progress::Suspended(_))
    }

    /// In service and not suspended.
    fn holds_die(&self) -> bool {
        self.in_service() && !self.is_suspended()
    }

    /// In the array with a time that has not been told?
    fn waits_for_its_time(&self) -> bool {
        self.late && !self.phases[self.phase].is_bus()
    }

    /// In the array now?
    fn is_in_array(&self) -> bool {
        matches!(self.at, Progress::Runs(_)) && !self.phases[self.phase].is_bus()
    }

    /// Does no transfer come after this phase?
    fn is_past_transfers(&self) -> bool {
        !self.phases[self.phase + 1..].iter().any(Phase::is_bus)
    }

    /// Has its last transfer started, and is its end known?
    fn end_known(&self) -> bool {
        let runs = matches!(self.at, Progress::Runs(_));
        self.at == Progress::Ended || runs && !self.open && self.is_past_transfers()
    }

    fn is_host_read(&self) -> bool {
        (self.command.kind, self.command.class) == (OpKind::Read, Class::Host)
    }

    fn is_kept(&self) -> bool {
        self.job.is_some_and(|job| job.kept)
    }

    /// The phases after the present one.
    fn later(&self) -> u64 {
        let later = self.phases.iter().skip(self.phase + 1);
        later.map(Phase::time).sum()
    }
}
