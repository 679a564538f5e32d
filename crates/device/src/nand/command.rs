//! What goes into the engine and what comes out.

use destage_types::{ChannelId, ChipId, Nanos};

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Command, array read, data out.
    Read,
    /// Command and data in, array program.
    Program,
    /// Command, block erase.
    Erase,
}

/// Priority class in the queue of a chip; the smaller one goes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(u8)]
pub enum Class {
    /// Work a host request waits for or caused.
    #[default]
    Host,
    /// Garbage collection that host operations may pass between two of its operations.
    Gc,
    /// Work for idle channels, such as active write-back. Its end is always notified.
    Background,
}

impl Class {
    /// All classes, highest priority first.
    pub const ALL: [Class; 3] = [Class::Host, Class::Gc, Class::Background];
}

/// Order of the host class in the queue of a chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Discipline {
    /// In order of submission.
    #[default]
    Fifo,
    /// Reads ahead of programs and erases, except reads marked [`Command::in_order`].
    ReadFirst,
}

/// Names a submitted operation, for dependencies, cancelling and [`super::Nand::state`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpId {
    pub(super) number: u64,
    pub(super) slot: u32,
    pub(super) chip: u32,
}

impl OpId {
    /// Operation number: submissions before this one.
    pub const fn number(self) -> u64 {
        self.number
    }

    /// Chip the operation was submitted to.
    pub const fn chip(self) -> ChipId {
        ChipId(self.chip)
    }
}

/// How far an operation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpState {
    /// Waits in the queue of its chip, for another operation, or for the bus of its first phase.
    Waiting,
    /// Holds its chip.
    Started,
    /// Has ended, or was cancelled.
    Gone,
}

/// One operation to submit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    /// Where it runs.
    pub chip: ChipId,
    /// What it does.
    pub kind: Kind,
    /// Priority class.
    pub class: Class,
    /// The caller's name for it, given back to the [`Sink`].
    pub token: u32,
    /// Bus time of its data, see [`super::Transfer`]; an erase moves none.
    pub transfer: Nanos,
    /// Array time, where it differs from [`super::Timing`] (page types, SLC regions).
    pub array: Option<Nanos>,
    /// Must end before this operation may start.
    pub after: Option<OpId>,
    /// A read that must not overtake programs submitted to its chip before it.
    pub in_order: bool,
    /// Raise an event at its end and call [`Sink::ended`].
    pub notify_end: bool,
}

impl Command {
    /// A host operation without marks.
    pub const fn new(kind: Kind, chip: ChipId, transfer: Nanos, token: u32) -> Command {
        Command {
            chip,
            kind,
            class: Class::Host,
            token,
            transfer,
            array: None,
            after: None,
            in_order: false,
            notify_end: false,
        }
    }

    /// A host read.
    pub const fn read(chip: ChipId, transfer: Nanos, token: u32) -> Command {
        Command::new(Kind::Read, chip, transfer, token)
    }

    /// A host program.
    pub const fn program(chip: ChipId, transfer: Nanos, token: u32) -> Command {
        Command::new(Kind::Program, chip, transfer, token)
    }

    /// An erase of GC class.
    pub const fn erase(chip: ChipId, token: u32) -> Command {
        Command::new(Kind::Erase, chip, Nanos::ZERO, token).class(Class::Gc)
    }

    /// The same in another class.
    pub const fn class(mut self, class: Class) -> Command {
        self.class = class;
        self
    }

    /// The same, not before `other` has ended.
    pub const fn after(mut self, other: OpId) -> Command {
        self.after = Some(other);
        self
    }

    /// The same, behind all host and GC programs submitted to the chip before.
    pub const fn in_order(mut self) -> Command {
        self.in_order = true;
        self
    }

    /// The same with a call of [`Sink::ended`].
    pub const fn notify_end(mut self) -> Command {
        self.notify_end = true;
        self
    }
}

/// When an operation runs; exact from the moment its last phase starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpTimes {
    /// Start of the first phase (bus granted for the command).
    pub start: Nanos,
    /// End of the last bus transfer.
    pub last_transfer: Nanos,
    /// End of the last phase; the chip is free from here on.
    pub end: Nanos,
}

/// Receives what the engine finds out, in an order that is part of the result.
pub trait Sink {
    /// The last phase of an operation starts now, so all its times are known. For a program and an
    /// erase that is also the start of the operation.
    fn timed(&mut self, token: u32, times: OpTimes);

    /// An operation of background class or with [`Command::notify_end`] ends at `at`.
    fn ended(&mut self, token: u32, at: Nanos) {
        let _ = (token, at);
    }

    /// A channel that was not idle after the previous call or instant is idle once `at` is
    /// settled. Only with [`super::Config::watch_idle`].
    fn idle(&mut self, channel: ChannelId, at: Nanos) {
        let _ = (channel, at);
    }
}
