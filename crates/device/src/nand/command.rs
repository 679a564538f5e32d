//! Input and output of the engine: commands and notices.

use std::num::NonZeroU64;

use destage_types::{ChannelId, ChipId, Nanos};
pub use destage_types::{Class, OpKind};

/// Names a submitted operation, for dependencies, cancelling and [`super::Nand::state`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpId {
    /// Operation number + 1, so that an `Option<OpId>` is no larger.
    key: NonZeroU64,
    pub(super) slot: u32,
    pub(super) lane: u32,
}

impl OpId {
    pub(super) fn new(number: u64, slot: u32, lane: u32) -> OpId {
        let key = NonZeroU64::MIN.saturating_add(number);
        OpId { key, slot, lane }
    }

    /// Operation number: submissions before this one.
    #[inline]
    pub const fn number(self) -> u64 {
        self.key.get() - 1
    }
}

/// Names a submitted job, see [`super::Nand::submit_job`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JobId {
    pub(super) first: OpId,
    pub(super) last: OpId,
}

impl JobId {
    /// The first operation: the job has started when that has.
    pub const fn first(self) -> OpId {
        self.first
    }

    /// The last operation, usually the erase. A command after it ([`FlashCommand::after`]) waits
    /// for the whole job.
    pub const fn last(self) -> OpId {
        self.last
    }
}

/// The kind of a job, which decides where it stands in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobKind {
    /// Operations of [`Class::Gc`]. The job takes its turn by number among the host operations, ahead
    /// of everything submitted after it, but reads that go first pass it until it starts. From its
    /// first start to its end it has the chip for itself. What must not pass it is submitted with
    /// [`FlashCommand::after`] its last operation.
    Foreground,
    /// Operations of [`Class::BackgroundGc`]: each of its pages (reads and the program after them, a
    /// copyback, or the erase) starts when nothing else on the chip may. A started operation is
    /// completed. A job can be taken back until its first operation starts.
    Background,
}

impl JobKind {
    pub(super) const fn class(self) -> Class {
        match self {
            JobKind::Foreground => Class::Gc,
            JobKind::Background => Class::BackgroundGc,
        }
    }

    /// Does the chip stay with the job after an operation of this kind?
    pub(super) fn keeps_after(self, kind: OpKind) -> bool {
        self == JobKind::Foreground || kind == OpKind::Read
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
    Finished,
}

/// One operation to submit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlashCommand {
    /// Where it runs.
    pub chip: ChipId,
    /// The kind of operation.
    pub kind: OpKind,
    /// Priority class. A job sets that of its operations.
    pub class: Class,
    /// The caller's name for it, given back in a [`Notice`].
    pub token: u32,
    /// Planes it works on, at least 1: several make it a multi-plane operation, with one command
    /// for each and the array times of one.
    pub planes: u32,
    /// Bus time of its data, of all planes together; an erase and a copyback move none.
    pub transfer: Nanos,
    /// Bytes of that data, for the counters only.
    pub bytes: u32,
    /// Array time, where it differs from [`super::Timing`] (page types, SLC regions); of a
    /// copyback that of its program.
    pub array: Option<Nanos>,
    /// Must end before this operation may start.
    pub after: Option<OpId>,
    /// Must end too; without `after` it has no effect.
    pub and_after: Option<OpId>,
    /// A read that must not overtake programs submitted to its chip before it.
    pub in_order: bool,
    /// Raise an event at its end and give [`Notice::Ended`].
    pub notify_end: bool,
}

impl FlashCommand {
    /// A host operation on one plane without marks.
    pub const fn new(kind: OpKind, chip: ChipId, transfer: Nanos, token: u32) -> FlashCommand {
        FlashCommand {
            chip,
            kind,
            class: Class::Host,
            token,
            planes: 1,
            transfer,
            bytes: 0,
            array: None,
            after: None,
            and_after: None,
            in_order: false,
            notify_end: false,
        }
    }

    /// A host read.
    pub const fn read(chip: ChipId, transfer: Nanos, token: u32) -> FlashCommand {
        FlashCommand::new(OpKind::Read, chip, transfer, token)
    }

    /// A host program.
    pub const fn program(chip: ChipId, transfer: Nanos, token: u32) -> FlashCommand {
        FlashCommand::new(OpKind::Program, chip, transfer, token)
    }

    /// An erase of GC class.
    pub const fn erase(chip: ChipId, token: u32) -> FlashCommand {
        FlashCommand::new(OpKind::Erase, chip, Nanos::ZERO, token).class(Class::Gc)
    }

    /// A copyback of GC class. Source and target lie in one plane, which the caller sees to.
    pub const fn copyback(chip: ChipId, token: u32) -> FlashCommand {
        FlashCommand::new(OpKind::Copyback, chip, Nanos::ZERO, token).class(Class::Gc)
    }

    /// The same in another class.
    pub const fn class(mut self, class: Class) -> FlashCommand {
        self.class = class;
        self
    }

    /// The same on several planes at once; `transfer` is that of all of them.
    pub const fn planes(mut self, planes: u32) -> FlashCommand {
        self.planes = planes;
        self
    }

    /// The same with a number of bytes to count.
    pub const fn bytes(mut self, bytes: u32) -> FlashCommand {
        self.bytes = bytes;
        self
    }

    /// The same, not before `other` has ended. A second call adds a second one.
    ///
    /// # Panics
    /// At the third call.
    pub const fn after(mut self, other: OpId) -> FlashCommand {
        if self.after.is_none() {
            self.after = Some(other);
        } else {
            assert!(
                self.and_after.is_none(),
                "an operation waits for two others"
            );
            self.and_after = Some(other);
        }
        self
    }

    /// The same, behind all host programs submitted to the chip before.
    pub const fn in_order(mut self) -> FlashCommand {
        self.in_order = true;
        self
    }

    /// The same with [`Notice::Ended`].
    pub const fn notify_end(mut self) -> FlashCommand {
        self.notify_end = true;
        self
    }
}

/// When an operation runs; exact from the moment its last phase starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpTimes {
    /// Start of the first phase (bus granted for the command).
    pub start: Nanos,
    /// End of the last bus transfer; of a copyback its start.
    pub last_transfer: Nanos,
    /// End of the last phase; the chip is free from here on.
    pub end: Nanos,
}

/// An event that the engine reports. Notices are kept in the order in which that happens, which is
/// a part of the result, until [`super::Nand::drain_notices`] takes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice {
    /// The last phase of an operation starts, so all its times are known. For all but reads that is
    /// also the start of the operation. Operations with [`NO_TOKEN`] go unnoticed.
    Timed {
        /// Its name.
        token: u32,
        /// When it runs.
        times: OpTimes,
    },
    /// An operation starts whose end is not known, as it may be suspended or gets its array time later.
    /// [`Notice::Timed`] follows when it has ended.
    Started {
        /// Its name.
        token: u32,
        /// When.
        start: Nanos,
        /// End of its last bus transfer; [`Nanos::NEVER`] if others may come between its transfers.
        last_transfer: Nanos,
    },
    /// The data of a program of a drive are in the chip, and its array phase begins.
    Moved {
        /// Its name.
        token: u32,
    },
    /// An operation of [`Class::Background`] or with [`FlashCommand::notify_end`] has ended.
    Ended {
        /// Its name.
        token: u32,
        /// When.
        at: Nanos,
    },
    /// A channel that was not idle after the previous call or instant is idle once `at` is
    /// settled. Only with [`super::ArrayConfig::watch_idle`].
    Idle {
        /// The channel.
        channel: ChannelId,
        /// Since when.
        at: Nanos,
    },
}

/// Token of operations without [`Notice::Timed`].
pub const NO_TOKEN: u32 = u32::MAX;
