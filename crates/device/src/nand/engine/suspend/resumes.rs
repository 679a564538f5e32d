//! How much time resuming will add: an answer for those who ask how long a die is busy.

use super::*;

impl Nand {
    /// Time that resuming will add on lane `l` to what it runs and what waits for it, if nothing else
    /// arrives: once for every operation that may be suspended, or run of operations of a job that
    /// keeps the lane, right behind which a read of the host stands. Operations that wait for
    /// operations elsewhere are left out.
    pub(in crate::nand) fn resumes_to_come(&self, l: usize) -> u64 {
        let suspension = self.open.as_ref().and_then(|open| open.suspension);
        // Of a drive this is not asked (DR-10).
        let asked = |s: &Suspension| s.resume > Nanos::ZERO && self.drive.is_none();
        let Some(suspension) = suspension.filter(asked) else {
            return 0;
        };
        let queue = &self.lanes[l].queue;
        let mut gives_way = self.running_gives_way(l, &suspension);
        let mut count = 0;
        queue.each_of_host(&self.pool, &self.keeper(l), |entry| {
            if entry.kind == OpKind::Read && entry.class == Class::Host {
                count += u64::from(gives_way);
                gives_way = false;
            } else {
                gives_way = self.gives_way(entry, &suspension);
            }
        });
        count * suspension.resume.0
    }

    /// Can what lane `l` runs, or what of its job keeps the lane, still be suspended?
    fn running_gives_way(&self, l: usize, suspension: &Suspension) -> bool {
        let lane = &self.lanes[l];
        let row = self.open.as_ref().map(|open| &open.lanes[l]);
        let in_bus_phase = matches!(lane.phase, Phase::Array | Phase::WaitTime);
        let held = lane.queue.held(&self.pool);
        row.is_some_and(|row| row.suspended.is_none())
            && (in_bus_phase && suspension.covers(lane.op.kind)
                || held.is_some_and(|entry| self.gives_way(entry, suspension)))
    }

    /// May an operation be suspended, or one behind it in its job before the lane is open?
    fn gives_way(&self, entry: &WaitingOp, suspension: &Suspension) -> bool {
        if suspension.covers(entry.kind) {
            return true;
        }
        let mut kept = entry.in_job();
        let mut found = false;
        let mut last = entry.job_next;
        if entry.run != NONE {
            last = self.job_queue.each_in_turn(entry.run, |entry, _| {
                kept &= entry.home == HELD;
                found |= kept && suspension.covers(entry.kind);
            });
        }
        if last != NONE {
            let entry = &self.pool[last];
            found |= kept && entry.home == HELD && suspension.covers(entry.kind);
        }
        found
    }
}
