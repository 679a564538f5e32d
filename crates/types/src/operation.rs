//! Operations of a flash array: what they are, and what one did and when.

use crate::{ChannelId, ChipId, Nanos};

/// The kind of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum OpKind {
    /// Command, array read, data out.
    #[default]
    Read,
    /// Command and data in, array program.
    Program,
    /// Command, block erase.
    Erase,
    /// Array read and program inside a plane, no data on the bus.
    Copyback,
}

impl OpKind {
    /// All kinds.
    pub const ALL: [OpKind; 4] = [
        OpKind::Read,
        OpKind::Program,
        OpKind::Erase,
        OpKind::Copyback,
    ];

    /// Does it write pages?
    #[inline]
    pub const fn programs(self) -> bool {
        matches!(self, OpKind::Program | OpKind::Copyback)
    }
}

/// Priority class in the queue of a chip; the smaller one goes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(u8)]
pub enum Class {
    /// Work a host request waits for or caused.
    #[default]
    Host,
    /// Foreground garbage collection. Where a job of it stands, the kind of the job says.
    Gc,
    /// Work for idle channels, such as active write-back. Its end is always notified.
    Background,
    /// Background garbage collection, below everything else.
    BackgroundGc,
}

impl Class {
    /// All classes, highest priority first.
    pub const ALL: [Class; 4] = [
        Class::Host,
        Class::Gc,
        Class::Background,
        Class::BackgroundGc,
    ];

    /// Is it garbage collection, in the foreground or in the background?
    #[inline]
    pub const fn collects(self) -> bool {
        matches!(self, Class::Gc | Class::BackgroundGc)
    }

    /// May a waiting operation of this class be taken back?
    #[inline]
    pub const fn is_background(self) -> bool {
        matches!(self, Class::Background | Class::BackgroundGc)
    }
}

/// The kind of a phase of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PhaseKind {
    /// Commands or data on the bus of its channel.
    Bus,
    /// Work in the array.
    Array,
    /// Its data wait for the bus.
    Stalled,
}

/// A part of an operation. Parts that take no time are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpPhase {
    /// Its kind.
    pub kind: PhaseKind,
    /// From when on.
    pub from: Nanos,
    /// Until when.
    pub to: Nanos,
}

/// An operation that ran, with its times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpActivity {
    /// Operation number, counted from the first submission.
    pub number: u64,
    /// Chip.
    pub chip: ChipId,
    /// Channel.
    pub channel: ChannelId,
    /// Its kind.
    pub kind: OpKind,
    /// Its priority.
    pub class: Class,
    /// Start of its first phase.
    pub start: Nanos,
    /// End of its last phase.
    pub end: Nanos,
    /// Its phases, one right after the other, but for the times in which it was suspended.
    pub phases: Vec<OpPhase>,
}

impl OpActivity {
    /// The operation went on with `kind` from `from` to `to`, in ns.
    pub fn add(&mut self, kind: PhaseKind, from: u64, to: u64) {
        let (from, to) = (Nanos(from), Nanos(to));
        if from < to {
            self.phases.push(OpPhase { kind, from, to });
        }
        self.end = to;
    }
}
