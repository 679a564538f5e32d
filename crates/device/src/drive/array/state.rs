//! What the cache, schemes, and records ask of an array.

use super::DriveArray;
use crate::drive::die::{Die, DiePhase, DieStats};
use destage_types::{Op as Request, OpKind};

impl DriveArray {
    /// Counters of a die since the start; its times up to the last end of an operation.
    pub fn stats(&self, die: u32) -> DieStats {
        self.dies[die as usize].stats
    }

    /// Time that a bus carried commands and data, the present transfer in full.
    pub fn bus_time(&self, bus: u32) -> u64 {
        self.buses[bus as usize].1
    }

    /// The same up to now.
    pub fn bus_time_so_far(&self, bus: u32) -> u64 {
        let (free_at, busy) = self.buses[bus as usize];
        busy - free_at.saturating_sub(self.now)
    }

    /// Buses.
    pub fn buses(&self) -> u32 {
        self.buses.len() as u32
    }

    /// Time up to now in which a die ran operations.
    pub fn busy_so_far(&self, die: u32) -> u64 {
        let at = &self.dies[die as usize];
        let runs = if at.phase == DiePhase::Idle {
            0
        } else {
            self.now - at.busy_from
        };
        at.stats.busy + runs
    }

    /// Does a die run nothing, and does nothing wait for it?
    pub fn is_die_idle(&self, die: u32) -> bool {
        self.dies[die as usize].is_at_rest()
    }

    /// Is a bus free, with no work on any of its dies?
    pub fn is_bus_idle(&self, bus: u32) -> bool {
        let mut dies = (bus..self.dies.len() as u32).step_by(self.buses.len());
        self.buses[bus as usize].0 <= self.now && dies.all(|die| self.is_die_idle(die))
    }

    /// Reads of the host that wait for a die or run on it.
    pub fn host_reads(&self, die: u32) -> u64 {
        let at = &self.dies[die as usize];
        at.reads.len() as u64 + u64::from(self.runs(at, OpKind::Read))
    }

    /// The same of programs of the host.
    pub fn host_programs(&self, die: u32) -> u64 {
        let at = &self.dies[die as usize];
        let suspended = at.suspended.is_some_and(|suspended| {
            let op = &self.ops[suspended.op];
            op.kind == OpKind::Program && !op.collects
        });
        at.programs.len() as u64 + u64::from(self.runs(at, OpKind::Program)) + u64::from(suspended)
    }

    fn runs(&self, die: &Die, kind: OpKind) -> bool {
        die.phase != DiePhase::Idle
            && self
                .ops
                .ops
                .get(die.running as usize)
                .is_some_and(|op| op.kind == kind && !op.collects)
    }

    /// The operation of the host that a die runs, and what is left of it if it gets the bus at once.
    pub fn host_service(&self, die: u32) -> Option<(Request, u64)> {
        let at = &self.dies[die as usize];
        let op = self
            .ops
            .ops
            .get(at.running as usize)
            .filter(|op| !op.collects)?;
        (at.phase != DiePhase::Idle).then(|| {
            let op_kind = if op.kind == OpKind::Read {
                Request::Read
            } else {
                Request::Write
            };
            (op_kind, self.left(at))
        })
    }

    /// What is left of the operation that a die runs, if it gets the bus at once.
    fn left(&self, at: &Die) -> u64 {
        let phase = match at.phase {
            DiePhase::Bus(until) | DiePhase::Array(until) | DiePhase::Suspending(until) => {
                until - self.now
            }
            DiePhase::Idle | DiePhase::AwaitBus(_) => 0,
        };
        let Some(op) = self.ops.ops.get(at.running as usize) else {
            return phase;
        };
        let array = if op.array_done || matches!(at.phase, DiePhase::Array(_)) {
            0
        } else {
            op.array
        };
        phase
            + u64::from(op.commands) * op.command
            + array
            + op.data[op.moved..].iter().sum::<u64>()
    }

    /// Time until a die has done all that it runs and that waits for it, each phase right after the one before.
    pub fn drain_time(&self, die: u32) -> u64 {
        let at = &self.dies[die as usize];
        let waiting = at.reads.iter().chain(&at.programs).chain(&at.collector);
        let whole = |&slot: &u32| {
            let op = &self.ops[slot];
            u64::from(op.commands) * op.command + op.array + op.data.iter().sum::<u64>()
        };
        let suspended = at
            .suspended
            .map_or(0, |suspended| suspended.left + self.rules.t_resume);
        self.left(at) + suspended + waiting.map(whole).sum::<u64>()
    }

    /// Does nothing run, and does nothing wait?
    pub fn is_at_rest(&self) -> bool {
        self.dies.iter().all(Die::is_at_rest)
    }
}
