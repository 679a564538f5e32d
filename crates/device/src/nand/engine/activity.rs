//! Activities of operations with their times, kept for timelines if asked for.

use super::*;
pub use destage_types::{OpActivity, OpPhase, PhaseKind};

/// The activities of an array.
#[derive(Clone, Debug)]
pub(super) struct Activities {
    /// The operation that each lane runs or ran last.
    running: Vec<OpActivity>,
    /// The operation that each lane has suspended.
    suspended: Vec<Option<OpActivity>>,
    /// Operations whose end is known since they were taken last.
    ended: Vec<OpActivity>,
}

impl Activities {
    fn new(nand: &Nand) -> Activities {
        let idle = |(l, lane): (usize, &Lane)| OpActivity {
            number: u64::MAX,
            chip: ChipId(l as u32),
            channel: ChannelId(lane.channel),
            kind: OpKind::Read,
            class: Class::Host,
            start: Nanos::ZERO,
            end: Nanos::ZERO,
            phases: Vec::new(),
        };
        Activities {
            running: nand.lanes.iter().enumerate().map(idle).collect(),
            suspended: vec![None; nand.lanes.len()],
            ended: Vec::new(),
        }
    }

    /// An operation starts at `now` on lane `l`; its first bus phase and the array phase of a read end
    /// at the times given.
    pub fn begin(&mut self, l: usize, op: &RunningOp, now: u64, bus_end: u64, array_end: u64) {
        let row = &mut self.running[l];
        (row.number, row.kind, row.class) = (op.number, op.kind, op.class);
        row.start = Nanos(now);
        row.add(PhaseKind::Bus, now, bus_end);
        if op.kind == OpKind::Read {
            row.add(PhaseKind::Array, bus_end, array_end);
        }
    }

    /// The operation on lane `l` moves a page from `now` to `until`.
    pub fn moves(&mut self, l: usize, now: u64, until: u64) {
        let row = &mut self.running[l];
        let reached = row.end.0;
        row.add(PhaseKind::Stalled, reached, now);
        row.add(PhaseKind::Bus, now, until);
    }

    /// The end of the operation on lane `l` is known; a read moves its data for `last_bus` before.
    pub fn end(&mut self, l: usize, end: u64, last_bus: u64) {
        let row = &mut self.running[l];
        let reached = row.end.0;
        if row.kind == OpKind::Read {
            row.add(PhaseKind::Stalled, reached, end - last_bus);
            row.add(PhaseKind::Bus, end - last_bus, end);
        } else {
            row.add(PhaseKind::Array, reached, end);
        }
        let phases = std::mem::take(&mut row.phases);
        self.ended.push(OpActivity {
            phases,
            ..row.clone()
        });
    }

    /// The operation on lane `l` is suspended in its array phase.
    pub fn suspend(&mut self, l: usize, now: u64) {
        let row = &mut self.running[l];
        let reached = row.end.0;
        row.add(PhaseKind::Array, reached, now);
        self.suspended[l] = Some(row.clone());
        row.phases.clear();
    }

    /// The operation that lane `l` has suspended goes on.
    pub fn resume(&mut self, l: usize, now: u64) {
        if let Some(row) = self.suspended[l].take() {
            self.running[l] = row;
            self.running[l].end = Nanos(now);
        }
    }
}

impl Nand {
    /// Keeps what operations do that start from now on, for [`Nand::take_activities`].
    pub fn keep_activities(&mut self) {
        self.activities = Some(Box::new(Activities::new(self)));
    }

    /// Activities of the operations whose end became known since the last call; the end may lie
    /// after the clock.
    pub fn take_activities(&mut self) -> Vec<OpActivity> {
        let kept = self.activities.as_mut();
        kept.map_or_else(Vec::new, |kept| std::mem::take(&mut kept.ended))
    }

    /// Operations submitted since the start: the number of the next one.
    #[inline]
    pub fn submitted(&self) -> u64 {
        self.next_number
    }
}
