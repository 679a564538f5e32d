//! Operations of the array: as they are submitted, while they wait or run, and what is told of them.

use destage_types::{Nanos, OpKind};

/// An operation to submit.
#[derive(Clone, Debug)]
pub struct NewOp<'a> {
    /// Where it runs.
    pub die: u32,
    /// Read, program or erase.
    pub kind: OpKind,
    /// Is it the collector's?
    pub collects: bool,
    /// GC unit whose debt may hold it back, of programs of the host.
    pub gate: Option<u32>,
    /// The caller's name for it.
    pub token: u32,
    /// Bus time of the command alone (reads and erases), or of a command with its page (programs).
    pub command: u64,
    /// Grants of that length: pages of a program, else 1.
    pub commands: u32,
    /// Array time.
    pub array: u64,
    /// Transfers after the array, in ns each: one for each page of a read.
    pub data: &'a [u64],
    /// Bytes that it moves.
    pub bytes: u64,
    /// Operations that must have ended before: see [`super::DriveArray::dependency_ended`].
    pub waits: u32,
}

/// An operation that waits or runs.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct DieOp {
    pub number: u64,
    pub ready: u64,
    pub die: u32,
    pub kind: OpKind,
    pub collects: bool,
    pub gate: u32,
    pub token: u32,
    pub command: u64,
    /// Grants before the array that are to come.
    pub commands: u32,
    pub array: u64,
    pub array_done: bool,
    pub data: Vec<u64>,
    /// Transfers done.
    pub moved: usize,
    pub waits: u32,
    pub suspensions: u32,
    pub start: u64,
    /// Has it had its first grant?
    pub granted: bool,
}

impl DieOp {
    /// All its phases one after the other, before it starts.
    pub fn whole_time(&self) -> u64 {
        u64::from(self.commands) * self.command + self.array + self.data.iter().sum::<u64>()
    }
}

/// Operations by slot; slots are used again.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct Ops {
    pub ops: Vec<DieOp>,
    pub free: Vec<u32>,
}

impl std::ops::Index<u32> for Ops {
    type Output = DieOp;
    fn index(&self, slot: u32) -> &DieOp {
        &self.ops[slot as usize]
    }
}

impl std::ops::IndexMut<u32> for Ops {
    fn index_mut(&mut self, slot: u32) -> &mut DieOp {
        &mut self.ops[slot as usize]
    }
}

/// A milestone of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The caller's name for the operation.
    pub token: u32,
    /// Its first grant.
    pub start: Nanos,
    /// When.
    pub at: Nanos,
    /// Which milestone.
    pub what: Milestone,
}

/// The milestones of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Milestone {
    /// A program of the host has its first grant ([`super::ArrayRules::tells_starts`]).
    Started,
    /// The data of a program are in the chip, and its array phase begins.
    Moved,
    /// It has ended.
    Done,
}
