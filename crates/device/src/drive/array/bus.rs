//! Buses: whose command or transfer is next, and what follows it (D-2).

use super::DriveArray;
use super::op::{Ended, Milestone};
use crate::drive::die::DiePhase;
use destage_types::{Nanos, OpKind};

impl DriveArray {
    /// Grants a bus once if it is free: to the smallest (ready time, operation number). If it is free again at the
    /// same instant, it is granted in the next round.
    pub(super) fn grant_bus(&mut self, bus: u32) {
        if self.buses[bus as usize].0 > self.now {
            return;
        }
        let dies = (bus..self.dies.len() as u32).step_by(self.rules.channels as usize);
        let asks = dies.filter_map(|die| Some((self.asks(die)?, die)));
        if let Some(((_, _, slot), die)) = asks.min() {
            self.hold_bus(bus, die, slot);
        }
    }

    /// The request of a die for its bus: since when, the operation's number, and its slot.
    fn asks(&self, die: u32) -> Option<(u64, u64, u32)> {
        let at = &self.dies[die as usize];
        match at.phase {
            DiePhase::AwaitBus(since) => Some((since, self.ops[at.running].number, at.running)),
            DiePhase::Idle => {
                let slot = self.candidate(at)?;
                Some((self.ready(at, slot), self.ops[slot].number, slot))
            }
            _ => None,
        }
    }

    /// The next command or transfer of an operation, which starts if it has not.
    fn hold_bus(&mut self, bus: u32, die: u32, slot: u32) {
        let (now, mut since) = (self.now, self.now);
        match self.dies[die as usize].phase {
            DiePhase::AwaitBus(from) => {
                self.dies[die as usize].stats.stalled += now - from;
                since = from.max(self.ops[slot].start);
            }
            _ => self.start(die, slot),
        }
        let op = &mut self.ops[slot];
        let first = !std::mem::replace(&mut op.granted, true);
        if first && self.rules.tells_starts && op.kind == OpKind::Program && !op.collects {
            self.ended.push(Ended {
                token: op.token,
                start: Nanos(op.start),
                at: Nanos(now),
                what: Milestone::Started,
            });
        }
        let takes = if op.commands > 0 {
            op.commands -= 1;
            op.command
        } else {
            op.moved += 1;
            op.data[op.moved - 1]
        };
        if let Some(kept) = &mut self.activities {
            kept.bus(slot, since, now, now + takes);
        }
        let row = &mut self.buses[bus as usize];
        *row = (now + takes, row.1 + takes);
        self.enter(die, DiePhase::Bus(now + takes));
    }

    pub(super) fn bus_phase_ended(&mut self, die: u32, slot: u32) {
        let op = &mut self.ops[slot];
        if op.commands > 0 || (op.array_done && op.moved < op.data.len()) {
            return self.await_bus(die);
        }
        if op.array_done {
            return self.end(die, slot);
        }
        let array = op.array;
        if op.kind == OpKind::Program {
            self.ended.push(Ended {
                token: op.token,
                start: Nanos(op.start),
                at: Nanos(self.now),
                what: Milestone::Moved,
            });
        }
        if let Some(kept) = &mut self.activities {
            kept.array_begins(slot, self.now);
        }
        self.enter(die, DiePhase::Array(self.now + array));
        self.review.push(die);
    }

    pub(super) fn await_bus(&mut self, die: u32) {
        let at = &mut self.dies[die as usize];
        at.phase = DiePhase::AwaitBus(self.now);
        self.touched.push(at.bus);
    }
}
