//! The state of an array, for the cache, schemes, and records.

use super::{DieOp, DriveArray};
use crate::drive::die::{Die, DiePhase, DieStats};
use destage_types::{Op as Request, OpKind};

impl DriveArray {
    /// Counters of a die since the start; its times up to the last end of an operation.
    pub fn stats(&self, die: u32) -> DieStats {
        self.dies[die as usize].stats
    }

    /// Time up to `now` in which a bus carried commands and data.
    pub fn bus_time_so_far(&self, bus: u32, now: u64) -> u64 {
        let (free_at, busy) = self.buses[bus as usize];
        busy - free_at.saturating_sub(now)
    }

    /// Buses.
    pub fn buses(&self) -> u32 {
        self.buses.len() as u32
    }

    /// Time up to `now` in which a die ran operations.
    pub fn busy_so_far(&self, die: u32, now: u64) -> u64 {
        let at = &self.dies[die as usize];
        let runs = if at.phase == DiePhase::Idle {
            0
        } else {
            now - at.busy_from
        };
        at.stats.busy + runs
    }

    /// Does a die run nothing, and does nothing wait for it?
    pub fn is_die_idle(&self, die: u32) -> bool {
        self.dies[die as usize].is_at_rest()
    }

    /// Is a bus free, with no work on any of its dies?
    pub fn is_bus_idle(&self, bus: u32, now: u64) -> bool {
        let mut dies = (bus..self.dies.len() as u32).step_by(self.buses.len());
        self.buses[bus as usize].0 <= now && dies.all(|die| self.is_die_idle(die))
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

    fn running(&self, at: &Die) -> Option<&DieOp> {
        let op = self.ops.ops.get(at.running as usize);
        op.filter(|_| at.phase != DiePhase::Idle)
    }

    /// The operation of the host that a die runs, and what is left of it at `now` if it gets the bus at once.
    pub fn host_service(&self, die: u32, now: u64) -> Option<(Request, u64)> {
        let at = &self.dies[die as usize];
        let op = self.running(at).filter(|op| !op.collects)?;
        let request = match op.kind {
            OpKind::Read => Request::Read,
            _ => Request::Write,
        };
        Some((request, left(at, op, now)))
    }

    /// Time from `now` until a die has done all that it runs and that waits for it, each phase right after the one
    /// before.
    pub fn drain_time(&self, die: u32, now: u64) -> u64 {
        let suspends = match self.dies[die as usize].phase {
            DiePhase::Suspending(until) => until - now,
            _ => 0,
        };
        suspends + self.time_left(die, now, |_| true)
    }

    /// The time of the collector's operations alone.
    pub fn collector_time(&self, die: u32, now: u64) -> u64 {
        self.time_left(die, now, |op| op.collects)
    }

    fn time_left(&self, die: u32, now: u64, counts: impl Fn(&DieOp) -> bool) -> u64 {
        let at = &self.dies[die as usize];
        let waiting = at.reads.iter().chain(&at.programs).chain(&at.collector);
        let waiting = waiting.map(|&slot| &self.ops[slot]).filter(|op| counts(op));
        let waiting: u64 = waiting.map(DieOp::whole_time).sum();
        let suspended = (at.suspended).filter(|suspended| counts(&self.ops[suspended.op]));
        let suspended = suspended.map_or(0, |s| s.left + self.rules.t_resume);
        let running = self.running(at).filter(|op| counts(op));
        running.map_or(0, |op| left(at, op, now)) + suspended + waiting
    }

    /// Does nothing run, and does nothing wait?
    pub fn is_at_rest(&self) -> bool {
        self.dies.iter().all(Die::is_at_rest)
    }
}

/// Time until the operation that a die runs ends, if it gets the bus at once.
fn left(at: &Die, op: &DieOp, now: u64) -> u64 {
    let phase = match at.phase {
        DiePhase::Bus(until) | DiePhase::Array(until) => until - now,
        DiePhase::Idle | DiePhase::Suspending(_) | DiePhase::AwaitBus(_) => 0,
    };
    let array = match op.array_done || matches!(at.phase, DiePhase::Array(_)) {
        true => 0,
        false => op.array,
    };
    let data: u64 = op.data[op.moved..].iter().sum();
    phase + u64::from(op.commands) * op.command + array + data
}
