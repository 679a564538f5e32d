//! Activities of the operations of a drive, recorded for timelines. Each die counts as a chip of its own.

use super::array::DieOp;
use destage_types::{ChannelId, ChipId, Class, Nanos, OpActivity, OpPhase, PhaseKind};

/// Phases of operations, and operations that have ended.
#[derive(Clone, Debug, Default)]
pub(super) struct DriveActivities {
    /// Of those that run or are suspended, by slot.
    of: Vec<Vec<OpPhase>>,
    /// Since when the array works for each.
    array_from: Vec<u64>,
    /// Those that have ended since they were taken last.
    pub ended: Vec<OpActivity>,
}

impl DriveActivities {
    fn add(&mut self, slot: u32, kind: PhaseKind, from: u64, to: u64) {
        let slot = slot as usize;
        if slot >= self.of.len() {
            self.of.resize_with(slot + 1, Vec::new);
            self.array_from.resize(slot + 1, 0);
        }
        if from < to {
            let (from, to) = (Nanos(from), Nanos(to));
            self.of[slot].push(OpPhase { kind, from, to });
        }
    }

    /// The die waited since `since` for the bus, which it holds from `now` to `until`.
    pub fn bus(&mut self, slot: u32, since: u64, now: u64, until: u64) {
        self.add(slot, PhaseKind::Stalled, since, now);
        self.add(slot, PhaseKind::Bus, now, until);
    }

    /// The array begins to work for an operation, or goes on.
    pub fn array_begins(&mut self, slot: u32, now: u64) {
        self.array_from[slot as usize] = now;
    }

    /// It is done, or stops.
    pub fn array_stops(&mut self, slot: u32, now: u64) {
        let from = self.array_from[slot as usize];
        self.add(slot, PhaseKind::Array, from, now);
    }

    /// An operation of a die on `bus` has ended.
    pub fn end(&mut self, slot: u32, op: &DieOp, bus: u32, now: u64) {
        self.ended.push(OpActivity {
            number: op.number,
            chip: ChipId(op.die),
            die: 0,
            channel: ChannelId(bus),
            kind: op.kind,
            class: if op.collects { Class::Gc } else { Class::Host },
            start: Nanos(op.start),
            end: Nanos(now),
            phases: std::mem::take(&mut self.of[slot as usize]),
        });
    }
}
