//! Which operation is next on a die. (DEVICE_MODEL.md, "Dies and buses", and of drives Paced collection)

use super::*;

/// Conditions that hold operations of a drive back.
#[derive(Clone, Default, Debug)]
pub struct Gates {
    /// By GC unit: host programs may not start.
    pub held: Vec<bool>,
    /// By die: the collector has had its burst.
    pub burst_over: Vec<bool>,
}

impl SlowArray {
    pub(super) fn on_lane(&self, lane: u32) -> impl Iterator<Item = (usize, &Operation)> {
        self.pending().filter(move |(_, op)| op.lane == lane)
    }

    /// The phase that a die would begin if all buses were free. The values are the earliest time of its start, and the
    /// operation.
    pub(super) fn next_phase(&self, lane: u32) -> Option<(u64, usize)> {
        if let Some((i, op)) = self.on_lane(lane).find(|(_, op)| op.holds_die()) {
            return match op.at {
                Progress::Asks(since) => Some((since, i)),
                _ => None,
            };
        }
        // While an operation is suspended its job has to wait, and nothing but reads starts.
        let suspended = self.on_lane(lane).any(|(_, op)| op.is_suspended());
        let next = self.next_in_queue(lane, !suspended)?;
        (!suspended || self.operations[next.1].is_host_read()).then_some(next)
    }

    /// The operation that goes first in the queue of a die, and since when it could; that of the job
    /// that keeps the die only if wanted.
    pub(super) fn next_in_queue(&self, lane: u32, kept: bool) -> Option<(u64, usize)> {
        let queued = self.on_lane(lane);
        let queued = queued.filter(|(_, op)| matches!(op.at, Progress::Queued(_)));
        let (keeping, mut line): (Vec<_>, Vec<_>) = queued.partition(|(_, op)| op.is_kept());
        let first = keeping.first().filter(|_| kept).copied();
        line.retain(|&(i, _)| first.is_none() && !self.must_wait(i));
        if let Some(gates) = &self.gates {
            self.hold_back(gates, lane, &mut line);
        }
        let key = |&(i, op): &(usize, &Operation)| (self.rank(op), !self.goes_ahead(op), i);
        let (i, op) = first.or_else(|| line.into_iter().min_by_key(key))?;
        match op.at {
            Progress::Queued(since) => Some((since.max(self.free_since[lane as usize]), i)),
            _ => None,
        }
    }

    /// Programs of the host start in order on their die, as pages of a block must be programmed so, and wait for their
    /// gate. The collector waits for reads of the host, and after its burst for programs too.
    fn hold_back(&self, gates: &Gates, lane: u32, line: &mut Vec<(usize, &Operation)>) {
        let mut waiting = self.on_lane(lane);
        let first = waiting.find(|(_, op)| op.gate.is_some() && op.waits());
        let first = first.map(|(i, _)| i);
        line.retain(|&(i, op)| {
            op.gate
                .is_none_or(|unit| !gates.held[unit] && Some(i) == first)
        });
        let reads = line.iter().any(|(_, op)| op.is_host_read());
        let programs = line.iter().any(|(_, op)| op.gate.is_some());
        if reads || programs && gates.burst_over[lane as usize] {
            line.retain(|(_, op)| op.command.class == Class::Host);
        }
    }

    /// Class by which an operation waits.
    pub(super) fn rank(&self, op: &Operation) -> Class {
        match op.job {
            Some(job) if job.is_first && job.kind == JobKind::Foreground => Class::Host,
            _ if self.gates.is_some() => Class::Host,
            _ => op.command.class,
        }
    }

    pub(super) fn goes_ahead(&self, op: &Operation) -> bool {
        self.read_first && op.is_host_read() && !op.command.in_order
    }

    /// Is operation `i` a read with the in-order mark, or the first of a job, behind a waiting
    /// program?
    fn must_wait(&self, i: usize) -> bool {
        let op = &self.operations[i];
        let marked = op.command.kind == OpKind::Read && op.command.in_order;
        (marked || op.job.is_some_and(|job| job.is_first))
            && self.operations[self.gone..i].iter().any(|before| {
                before.lane == op.lane
                    && matches!(before.command.kind, OpKind::Program | OpKind::Copyback)
                    && before.command.class == Class::Host
                    && before.waits()
            })
    }

    /// A queued program waits in its place until it is let go: for something that is no operation.
    pub fn hold_one(&mut self, number: u64) {
        self.waits_outside.push(number);
        self.operation(number).at = Progress::Blocked;
    }

    /// It waits for another operation too.
    pub fn add_wait(&mut self, number: u64, other: u64) {
        self.operation(number).after.push(other);
    }

    /// It waits for other operations alone.
    pub fn let_go(&mut self, number: u64) {
        self.waits_outside.retain(|&other| other != number);
        self.release();
    }

    /// Programs of the host that wait for the gate of a GC unit and for nothing else.
    pub fn waiting_programs(&self, gc_unit: usize) -> Vec<u64> {
        let queued = |op: &Operation| matches!(op.at, Progress::Queued(_));
        let mine = self.pending().map(|(_, op)| op);
        let mine = mine.filter(|op| op.gate == Some(gc_unit) && queued(op));
        mine.map(|op| op.number).collect()
    }
}
