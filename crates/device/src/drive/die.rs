//! One die: what waits, what runs, what is suspended.

use super::array::{ArrayRules, DieOp, Ops};
use crate::config::QueueOrder;
use destage_types::OpKind;
use std::collections::VecDeque;

/// The state of a die. Times are in ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DiePhase {
    /// Nothing, or it waits for the bus to start what is next.
    Idle,
    /// A command or a transfer on the bus, up to this time.
    Bus(u64),
    /// Its operation waits for the bus since then.
    AwaitBus(u64),
    /// The array works up to this time.
    Array(u64),
    /// The array stops what it does; a read may start at this time (`t_suspend`).
    Suspending(u64),
}

/// An operation that gave way to reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspended {
    pub op: u32,
    /// Rest of its array time.
    pub left: u64,
}

/// Counters of a die.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DieStats {
    /// Time in which it ran an operation.
    pub busy: u64,
    /// Time in which its operation waited for the bus.
    pub stalled: u64,
    /// Pages read and programmed and blocks erased, by [`OpKind`].
    pub done: [u64; 4],
    /// Bytes moved from the die and to the die.
    pub bytes: [u64; 2],
    /// Suspensions by [`OpKind`] of what was suspended.
    pub suspensions: [u64; 4],
}

/// A die. Operations wait in the order of their numbers, apart by who asked for them.
#[derive(Clone, Debug)]
pub(super) struct Die {
    pub bus: u32,
    pub phase: DiePhase,
    /// Operation that runs, if the phase is not idle.
    pub running: u32,
    pub suspended: Option<Suspended>,
    /// Since when it may start something.
    pub free_at: u64,
    /// Since when it runs something.
    pub busy_from: u64,
    pub reads: VecDeque<u32>,
    pub programs: VecDeque<u32>,
    pub collector: VecDeque<u32>,
    /// Places that the collector has read here since a program of the host started.
    pub burst: u64,
    /// Tells events of this phase from those of phases that were cut short.
    pub turn: u32,
    pub stats: DieStats,
}

impl Die {
    pub fn new(bus: u32) -> Die {
        Die {
            bus,
            phase: DiePhase::Idle,
            running: u32::MAX,
            suspended: None,
            free_at: 0,
            busy_from: 0,
            reads: VecDeque::new(),
            programs: VecDeque::new(),
            collector: VecDeque::new(),
            burst: 0,
            turn: 0,
            stats: DieStats::default(),
        }
    }

    /// Does it run nothing, and does nothing wait?
    pub fn is_at_rest(&self) -> bool {
        self.phase == DiePhase::Idle
            && self.suspended.is_none()
            && self.reads.is_empty()
            && self.programs.is_empty()
            && self.collector.is_empty()
    }

    /// The operation that starts next, if the die runs nothing. A die that has suspended an operation starts
    /// nothing but reads of the host.
    pub fn candidate(
        &self,
        ops: &Ops,
        rules: &ArrayRules,
        is_open: impl Fn(&DieOp) -> bool,
    ) -> Option<u32> {
        let next = self.next(ops, rules, is_open);
        match self.suspended {
            None => next,
            Some(_) => next.filter(|&op| ops[op].kind == OpKind::Read && !ops[op].collects),
        }
    }

    /// Reads of the host go first; in a FIFO they keep their place among programs of the host. While none waits,
    /// programs of the host and operations of the collector start in the order of their numbers, but after
    /// `gc_burst` places that were collected here a program of the host goes first (D-11).
    fn next(&self, ops: &Ops, rules: &ArrayRules, is_open: impl Fn(&DieOp) -> bool) -> Option<u32> {
        let older = |one: u32, other: u32| ops[one].number < ops[other].number;
        // Programs of a block start in turn: one that waits holds those behind it.
        let program = self
            .programs
            .front()
            .copied()
            .filter(|&op| is_open(&ops[op]));
        // In a FIFO a read of data whose program has not ended stands behind that program.
        let is_ready = |op: &&u32| ops[**op].waits == 0;
        let read = match rules.queue {
            QueueOrder::Fifo => self.reads.front().filter(is_ready),
            QueueOrder::ReadFirst => self.reads.iter().find(is_ready),
        };
        if let Some(&read) = read {
            let first = |&program: &u32| rules.queue == QueueOrder::Fifo && older(program, read);
            return program.filter(first).or(Some(read));
        }
        match (program, self.collector.front().copied()) {
            (Some(program), Some(collector)) => {
                let first = older(program, collector) || self.burst >= rules.gc_burst;
                Some(if first { program } else { collector })
            }
            (program, collector) => program.or(collector),
        }
    }

    /// Takes an operation that starts from the queue it waits in.
    pub fn leave(&mut self, slot: u32, op: &DieOp) {
        let queue = match (op.collects, op.kind) {
            (true, _) => &mut self.collector,
            (false, OpKind::Read) => &mut self.reads,
            (false, _) => &mut self.programs,
        };
        let at = queue.iter().position(|&waits| waits == slot);
        queue.remove(at.expect("an operation waits until it starts"));
        if !op.collects && op.kind == OpKind::Program {
            self.burst = 0;
        }
    }
}
