//! The flash array with one state per operation. Every question scans all operations.

mod planes;
mod queries;
mod settle;
mod suspend;

use destage_device::config::{GcPreempt, QueueOrder};
use destage_device::nand::{
    ArrayConfig, Class, FlashCommand, JobKind, NO_TOKEN, Notice, OpId, OpKind, OpState, OpTimes,
    Suspension, Timing,
};
use destage_types::{ChannelId, ChipId, Nanos};

/// Where an operation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Progress {
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
    /// Gives way to reads, with so much left in the array.
    Suspended {
        left: u64,
    },
    Ended,
    Cancelled,
}

#[derive(Clone, Copy, Debug)]
struct Operation {
    /// Operations submitted before this one.
    number: u64,
    command: FlashCommand,
    /// Its die: chips counted fastest.
    lane: u32,
    /// Operations that must end first; the last one is that before it in its job.
    after: [Option<u64>; 3],
    job: Option<InJob>,
    at: Progress,
    start: u64,
    /// Of the last bus transfer, 0 before it is known.
    last_transfer: u64,
    end: u64,
    /// Since when it has held its die, and for how long before it was suspended.
    since: u64,
    held: u64,
    suspensions: u32,
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

/// The array. Operations are named by their number, in order of submission, and stand in that
/// order.
#[derive(Clone, Debug)]
pub struct Reference {
    channels: u32,
    chips: u32,
    dies: u32,
    timing: Timing,
    read_first: bool,
    watch_idle: bool,
    suspension: Option<Suspension>,
    late_times: bool,
    /// Suspensions by kind of operation.
    pub suspended: [u64; 4],
    /// Is nothing allowed to start?
    held: bool,
    now: u64,
    operations: Vec<Operation>,
    submitted: u64,
    /// So many in front are over.
    gone: usize,
    /// When each die ended an operation last.
    free_since: Vec<u64>,
    was_idle: Vec<bool>,
    /// Transfers of each channel: from when to when.
    transfers: Vec<Vec<[u64; 2]>>,
    /// Notices, in order.
    pub notices: Vec<Notice>,
}

impl Reference {
    /// An array at rest at time 0.
    pub fn new(config: &ArrayConfig) -> Reference {
        Reference {
            channels: config.channels,
            chips: config.channels * config.chips_per_channel,
            dies: config.dies,
            timing: config.timing,
            read_first: config.queue == QueueOrder::ReadFirst,
            watch_idle: config.watch_idle,
            suspension: config.suspension,
            late_times: config.late_times,
            suspended: [0; 4],
            held: false,
            now: 0,
            operations: Vec::new(),
            submitted: 0,
            gone: 0,
            free_since: vec![
                0;
                (config.channels * config.chips_per_channel * config.dies) as usize
            ],
            was_idle: vec![true; config.channels as usize],
            transfers: vec![Vec::new(); config.channels as usize],
            notices: Vec::new(),
        }
    }

    /// Time of the next phase end; later than every event if there is none.
    pub fn next_event_time(&self) -> Nanos {
        let due = |op: &Operation| match op.at {
            Progress::CommandThenArray { bus, .. } if bus > self.now => Some(bus),
            Progress::CommandThenArray { .. } if op.late => None,
            Progress::CommandThenArray { array, .. } => Some(array),
            Progress::DataOut(until) => Some(until),
            _ => None,
        };
        let due = self.operations[self.gone..].iter().filter_map(due);
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
        let number = self.add(command, [after[0], after[1], None], None);
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
                JobKind::Foreground(_) => Class::Gc,
                JobKind::Background => Class::BackgroundGc,
            };
            let before = i.checked_sub(1).map(|before| commands[before].kind);
            let job = InJob {
                kind,
                is_first: i == 0,
                kept: match (before, kind) {
                    (None, _) => false,
                    (_, JobKind::Foreground(GcPreempt::Off)) => true,
                    (before, _) => before == Some(OpKind::Read),
                },
            };
            let after = match before {
                None => [after[0], after[1], None],
                Some(_) => [None, None, Some(self.submitted - 1)],
            };
            self.add(command.class(class), after, Some(job));
        }
        self.settle();
        first
    }

    fn add(&mut self, command: FlashCommand, after: [Option<u64>; 3], job: Option<InJob>) -> u64 {
        let number = self.submitted;
        let waits = self.is_one_pending(after);
        self.submitted += 1;
        self.operations.push(Operation {
            number,
            command,
            lane: command.die * self.chips + command.chip.0,
            after,
            job,
            at: if waits {
                Progress::Blocked
            } else {
                Progress::Queued(self.now)
            },
            start: 0,
            last_transfer: 0,
            end: 0,
            since: 0,
            held: 0,
            suspensions: 0,
            late: false,
            open: false,
        });
        number
    }

    fn is_one_pending(&self, after: [Option<u64>; 3]) -> bool {
        let mut after = after.into_iter().flatten();
        after.any(|other| self.state(other) != OpState::Finished)
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

    /// Takes back a background job of which nothing has started: the operations numbered `job`.
    pub fn cancel_job(&mut self, now: Nanos, job: std::ops::RangeInclusive<u64>) -> bool {
        self.now = now.0;
        let waiting = self.state(*job.start()) == OpState::Waiting;
        if waiting {
            for number in job {
                let i = self.position(number).expect("a waiting operation is kept");
                self.operations[i].at = Progress::Cancelled;
            }
            self.release();
            self.settle();
        }
        waiting
    }
}

/// Length of the command phase, data in included, and of the array phase.
fn phases(t: &Timing, c: &FlashCommand) -> (u64, u64) {
    let planes = u64::from(c.planes);
    let read = c.array.unwrap_or(t.t_read) + t.t_ready;
    let program = c.array.unwrap_or(t.t_program);
    match c.kind {
        OpKind::Read => (planes * t.t_cmd_read.0, read.0),
        OpKind::Program => (planes * t.t_cmd_program.0 + c.transfer.0, program.0),
        OpKind::Erase => (planes * t.t_cmd_erase.0, c.array.unwrap_or(t.t_erase).0),
        OpKind::Copyback => (0, (t.t_read + t.t_ready + program).0),
    }
}

/// Length of the data-out phase.
fn data_out(c: &FlashCommand) -> u64 {
    match c.kind {
        OpKind::Read => c.transfer.0,
        _ => 0,
    }
}

impl Operation {
    /// Class by which it waits.
    fn rank(&self) -> Class {
        match self.job {
            Some(job) if job.is_first && job.kind == JobKind::Foreground(GcPreempt::Off) => {
                Class::Host
            }
            _ => self.command.class,
        }
    }

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

    /// Has its last phase started?
    fn end_known(&self) -> bool {
        match self.at {
            Progress::DataOut(_) | Progress::Ended => true,
            Progress::CommandThenArray { .. } => self.command.kind != OpKind::Read && !self.open,
            _ => false,
        }
    }

    /// In service and not suspended.
    fn holds_die(&self) -> bool {
        self.in_service() && !matches!(self.at, Progress::Suspended { .. })
    }
}
