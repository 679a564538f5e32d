//! One waiting operation.

use destage_types::Nanos;

use super::{Class, FlashCommand, OpId, OpKind, Timing};
use crate::config::QueueOrder;

pub(super) const NONE: u32 = u32::MAX;
/// Lists of a lane, each by number, in the order in which its candidate is looked for. `HELD` has at
/// most one entry: the next operation of the job that keeps the lane. Then come reads that go first,
/// and for every class a list of its operations ([`list_of`]) and right behind that one of those that
/// are marked in-order ([`marked`]). The last two hold the operations that wait for another one to
/// end: those that hold marked ones back, and others. Later operations of a job are in no list; they
/// come there when the one before them starts.
pub(super) const HELD: u8 = 0;
pub(super) const FIRST: u8 = 1;
pub(super) const BLOCKED_HOLDING: u8 = 10;
pub(super) const BLOCKED: u8 = 11;
pub(super) const LISTS: usize = 12;

/// The list of operations of `class` that may start, if they are not marked in-order.
#[inline]
pub(super) const fn list_of(class: Class) -> u8 {
    2 + 2 * class as u8
}

/// The list of operations that are marked in-order, of the class whose others are in `list`.
#[inline]
pub(super) const fn marked(list: u8) -> u8 {
    list + 1
}

/// Operations marked in-order that wait for no other one's end: their lists as bits.
pub(super) const ALL_MARKED: u16 = 1 << marked(list_of(Class::Host))
    | 1 << marked(list_of(Class::Gc))
    | 1 << marked(list_of(Class::Background))
    | 1 << marked(list_of(Class::BackgroundGc));

/// Durations that all operations share, by [`OpKind`], looked up without a branch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Durations {
    /// Command on the bus.
    command: [u64; 4],
    /// Whole time in the array.
    array: [u64; 4],
    /// The part of it that [`FlashCommand::array`] does not replace.
    beside: [u64; 4],
    pub read_first: bool,
}

impl Durations {
    pub fn new(timing: &Timing, queue: QueueOrder) -> Durations {
        let t = timing;
        let copied = t.t_read + t.t_ready;
        // In the order of [`OpKind::ALL`].
        let command = [t.t_cmd_read, t.t_cmd_program, t.t_cmd_erase, Nanos::ZERO];
        let replaced = [t.t_read, t.t_program, t.t_erase, t.t_program];
        let beside = [t.t_ready, Nanos::ZERO, Nanos::ZERO, copied];
        Durations {
            command: command.map(|time| time.0),
            array: std::array::from_fn(|kind| (replaced[kind] + beside[kind]).0),
            beside: beside.map(|time| time.0),
            read_first: queue == QueueOrder::ReadFirst,
        }
    }

    /// Is every operation for some time in the array?
    pub fn takes_time(&self) -> bool {
        self.array.iter().all(|&time| time > 0)
    }

    /// Command phase of an operation on one plane.
    #[inline]
    pub fn command_of(&self, kind: OpKind) -> u64 {
        self.command[kind as usize]
    }

    /// Bus time of the first phase: a command for every plane, and the data of a program.
    #[inline]
    pub fn first_bus(&self, command: &FlashCommand) -> u64 {
        let data = if command.kind == OpKind::Program {
            command.transfer.0
        } else {
            0
        };
        u64::from(command.planes) * self.command[command.kind as usize] + data
    }

    /// Time in the array, including `t_ready` of every array read.
    #[inline]
    pub fn array(&self, command: &FlashCommand) -> u64 {
        self.array_of(command.kind, command.array)
    }

    /// The same of any command of a kind with its own array time or none.
    #[inline]
    pub fn array_of(&self, kind: OpKind, array: Option<Nanos>) -> u64 {
        match array {
            None => self.array[kind as usize],
            Some(array) => self.beside[kind as usize] + array.0,
        }
    }
}

/// An operation that a lane runs or has suspended.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunningOp {
    pub number: u64,
    pub token: u32,
    /// Bytes that it moves.
    pub bytes: u32,
    /// Operations that wait for it.
    pub dependents: u32,
    pub kind: OpKind,
    pub class: Class,
    pub notify: bool,
    /// It is the last of a job.
    pub ends_job: bool,
}

/// An operation that starts, with its times.
#[derive(Clone, Copy)]
pub(super) struct OpStart {
    pub op: RunningOp,
    pub first_bus: u64,
    pub array: u64,
    pub last_bus: u64,
}

/// A waiting operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingOp {
    pub number: u64,
    /// Since when it may start, as far as it is concerned.
    pub ready: u64,
    pub first_bus: u64,
    pub array: u64,
    /// Bus time of the last phase of a read, else 0.
    pub last_bus: u64,
    pub token: u32,
    pub lane: u32,
    pub planes: u32,
    pub bytes: u32,
    /// What an operation of a drive has beside (`engine/drive.rs`).
    pub of_drive: u32,
    /// The operation after this one in its job, if it is in the pool.
    pub job_next: u32,
    /// Else the run that the operation after this one is in.
    pub run: u32,
    /// Operations that wait for this one: head of a list linked by `sibling`.
    pub dependents: u32,
    pub sibling: u32,
    pub after: Option<OpId>,
    /// Looked at when `after` has ended.
    pub and_after: Option<OpId>,
    pub kind: OpKind,
    pub class: Class,
    /// List it belongs to when it may start.
    pub home: u8,
    /// Operations marked in-order behind it wait until it has started: a program of host class.
    pub holds: bool,
    pub notify: bool,
    /// It is the last of a job.
    pub ends_job: bool,
    /// On one plane, in no job, and with a bus phase: nothing rare about it.
    pub plain: bool,
    /// The list it is in, and its neighbours there.
    pub list: u8,
    pub next: u32,
    pub prev: u32,
    /// If it waits for another one: the tail of its home list when it was submitted.
    pub behind: u32,
}

impl WaitingOp {
    /// All phases, one right after the other.
    #[inline]
    pub fn duration(&self) -> u64 {
        self.first_bus + self.array + self.last_bus
    }

    /// Does it need the bus to start?
    #[inline]
    pub fn on_bus(&self) -> bool {
        self.kind != OpKind::Copyback && !self.takes_lane_first()
    }

    /// Has it the lane from the moment it asks for its first grant: a program of a drive with a grant for
    /// each page (D-2/1)?
    #[inline]
    pub fn takes_lane_first(&self) -> bool {
        self.of_drive != NONE && self.planes > 1 && self.kind == OpKind::Program
    }

    /// Does it go behind the programs of host class submitted before: a marked read, or the first
    /// operation of a job?
    #[inline]
    pub fn in_order(&self) -> bool {
        ALL_MARKED & 1 << self.home != 0
    }

    #[inline]
    pub fn start(&self) -> OpStart {
        OpStart {
            op: RunningOp {
                number: self.number,
                token: self.token,
                bytes: self.bytes,
                dependents: self.dependents,
                kind: self.kind,
                class: self.class,
                notify: self.notify,
                ends_job: self.ends_job,
            },
            first_bus: self.first_bus,
            array: self.array,
            last_bus: self.last_bus,
        }
    }

    pub fn in_job(&self) -> bool {
        self.job_next != NONE || self.run != NONE || self.ends_job
    }

    /// The entry of `command` on its own, in no list.
    #[inline]
    pub fn new(number: u64, now: u64, command: &FlashCommand, shared: &Durations) -> WaitingOp {
        let (kind, class) = (command.kind, command.class);
        let read = kind == OpKind::Read;
        let in_order = read & command.in_order;
        WaitingOp {
            number,
            ready: now,
            first_bus: shared.first_bus(command),
            array: shared.array(command),
            last_bus: if read { command.transfer.0 } else { 0 },
            token: command.token,
            lane: command.chip.0,
            planes: command.planes,
            bytes: command.bytes,
            of_drive: NONE,
            job_next: NONE,
            run: NONE,
            dependents: NONE,
            sibling: NONE,
            after: None,
            and_after: None,
            kind,
            class,
            home: match (in_order, class) {
                (true, _) => marked(list_of(class)),
                (false, Class::Host) if shared.read_first & read => FIRST,
                (false, _) => list_of(class),
            },
            holds: kind.programs() & (class == Class::Host),
            notify: command.notify_end | (class == Class::Background),
            ends_job: false,
            plain: (command.planes == 1) & (kind != OpKind::Copyback),
            list: 0,
            next: NONE,
            prev: NONE,
            behind: NONE,
        }
    }
}
