//! Reads of the host suspend programs and erases (D-2).

use super::DriveArray;
use super::op::DieOp;
use crate::config::Suspend;
use crate::drive::die::{DiePhase, Suspended};
use destage_types::OpKind;

impl DriveArray {
    fn may_suspend(&self, op: &DieOp) -> bool {
        let kind = match self.rules.suspend {
            Suspend::Off => false,
            Suspend::Erase => op.kind == OpKind::Erase,
            Suspend::ProgramErase => op.kind != OpKind::Read,
        };
        kind && op.suspensions < self.rules.max_suspends
    }

    /// Suspends what a die runs, or resumes what it has suspended, as its queue asks for.
    pub(super) fn review_die(&mut self, number: u32) {
        let die = &self.dies[number as usize];
        let reads_next = || {
            let next = self.candidate(die);
            next.is_some_and(|op| self.ops[op].kind == OpKind::Read && !self.ops[op].collects)
        };
        match die.phase {
            DiePhase::Array(until)
                if until > self.now
                    && die.suspended.is_none()
                    && self.may_suspend(&self.ops[die.running])
                    && reads_next() =>
            {
                self.suspend(number, until);
            }
            DiePhase::Idle if die.suspended.is_some() && !reads_next() => self.resume(number),
            _ => {}
        }
    }

    fn suspend(&mut self, number: u32, until: u64) {
        let (now, t_suspend) = (self.now, self.rules.t_suspend);
        let at = &mut self.dies[number as usize];
        if let Some(kept) = &mut self.activities {
            kept.array_stops(at.running, now);
        }
        let op = &mut self.ops[at.running];
        op.suspensions += 1;
        at.stats.suspensions[op.kind as usize] += 1;
        at.suspended = Some(Suspended {
            op: at.running,
            left: until - now,
        });
        at.running = u32::MAX;
        at.free_at = now + t_suspend;
        at.turn = at.turn.wrapping_add(1);
        at.phase = DiePhase::Idle;
        if t_suspend > 0 {
            return self.enter(number, DiePhase::Suspending(now + t_suspend));
        }
        at.stats.busy += now - at.busy_from;
        self.look_at(number);
    }

    fn resume(&mut self, number: u32) {
        let at = &mut self.dies[number as usize];
        let Some(suspended) = at.suspended.take() else {
            return;
        };
        if let Some(kept) = &mut self.activities {
            kept.array_begins(suspended.op, self.now);
        }
        at.running = suspended.op;
        at.busy_from = self.now;
        let until = self.now + suspended.left + self.rules.t_resume;
        self.enter(number, DiePhase::Array(until));
    }
}
