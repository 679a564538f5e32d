//! Programs and erases that give way to reads of the host, and array times that are told late.
//! (DEVICE_MODEL.md, "Suspension")

use super::*;

impl SlowArray {
    /// Is the end of an operation unknown when it starts, and is that because its array time comes late?
    pub(super) fn is_open(&self, c: &FlashCommand) -> (bool, bool) {
        let late = self.late_times && (c.kind, c.class) == (OpKind::Program, Class::Background);
        (late || self.gives_way(c.kind), late)
    }

    fn gives_way(&self, kind: OpKind) -> bool {
        match (self.suspension, kind) {
            (None, _) | (_, OpKind::Read) => false,
            (Some(_), OpKind::Erase) => true,
            (Some(Suspension { programs, .. }), OpKind::Program | OpKind::Copyback) => programs,
        }
    }

    /// Is a read of the host next on a die if the operation it works on gives way? An
    /// operation that waits for that one has its place in the queue.
    fn is_read_next(&self, lane: u32) -> bool {
        let Some((_, i)) = self.next_in_queue(lane, false) else {
            return false;
        };
        let read = &self.operations[i];
        let mut before = self.awaiting_keeper(lane);
        let held_back = before.any(|op| op.number < read.number) && !self.goes_ahead(read);
        read.is_host_read() && !held_back
    }

    /// Operations of the host, reads that go ahead left out, that wait for what a die works on.
    fn awaiting_keeper(&self, lane: u32) -> impl Iterator<Item = &Operation> {
        let keeper = self.keeper(lane);
        let mine = self.on_lane(lane).map(|(_, op)| op);
        mine.filter(move |op| {
            op.at == Progress::Blocked
                && self.rank(op) == Class::Host
                && !self.goes_ahead(op)
                && op.after.iter().any(|n| keeper.contains(n))
        })
    }

    /// Numbers of the operation a die works on or has suspended, and of those that its job has right
    /// behind it.
    fn keeper(&self, lane: u32) -> Vec<u64> {
        let mine: Vec<&Operation> = self.on_lane(lane).map(|(_, op)| op).collect();
        let find = |is: &dyn Fn(&Operation) -> bool| mine.iter().copied().find(|op| is(op));
        let served = find(&Operation::is_suspended).or_else(|| find(&Operation::holds_die));
        let mut next = served.or_else(|| find(&Operation::comes_next));
        let mut all = Vec::new();
        while let Some(op) = next {
            all.push(op.number);
            next = follower(&mine, op.number);
        }
        all
    }

    /// Suspends and resumes what has to be; says whether anything was.
    pub(super) fn give_way(&mut self) -> bool {
        let (now, Some(rule)) = (self.now, self.suspension) else {
            return false;
        };
        let mut changed = false;
        for i in self.gone..self.operations.len() {
            let op = &self.operations[i];
            if !op.in_service() || !self.gives_way(op.command.kind) {
                continue;
            }
            let lane = op.lane;
            let free_since = self.free_since[lane as usize];
            match op.at {
                Progress::Runs(end)
                    if op.is_in_array() && !op.late && now < end && self.is_read_next(lane) =>
                {
                    let op = &mut self.operations[i];
                    op.at = Progress::Suspended(end - now);
                    op.held += now - op.since;
                    self.suspended[op.command.kind as usize] += 1;
                    self.free_since[lane as usize] = now + rule.pause.0;
                    changed = true;
                }
                Progress::Suspended(left)
                    if free_since <= now && !self.is_read_next(lane) && !self.is_busy(lane) =>
                {
                    let op = &mut self.operations[i];
                    op.since = now;
                    op.at = Progress::Runs(now + rule.resume.0 + left);
                    changed = true;
                }
                _ => {}
            }
        }
        changed
    }

    /// Does an operation that is not suspended hold the die?
    fn is_busy(&self, lane: u32) -> bool {
        self.on_lane(lane).any(|(_, op)| op.holds_die())
    }

    /// The array time of a background program that has started now.
    pub fn set_array_time(&mut self, number: u64, time: Nanos) {
        let now = self.now;
        let op = self.operation(number);
        assert!(op.late && op.start == Some(now), "it has just started");
        op.late = false;
        op.command.array = Some(time);
        op.phases[1] = Phase::Array(time.0);
        if op.is_in_array() {
            op.at = Progress::Runs(op.last_transfer + time.0);
        }
        self.settle();
    }

    /// The time that resuming adds until a die is done: for every operation that gives way, or job
    /// that goes on, behind which a read comes.
    pub(super) fn resumes_to_come(&self, lane: u32) -> u64 {
        let Some(rule) = self.suspension else {
            return 0;
        };
        let all: Vec<&Operation> = self.on_lane(lane).map(|(_, op)| op).collect();
        let mut line: Vec<&Operation> = all.clone();
        line.retain(|op| matches!(op.at, Progress::Queued(_)) && self.rank(op) == Class::Host);
        line.retain(|op| op.job.is_none_or(|job| job.is_first));
        line.extend(self.awaiting_keeper(lane));
        line.sort_by_key(|op| (!self.goes_ahead(op), op.number));
        let gives_way =
            |op: &Operation| self.gives_way(op.command.kind) || self.job_gives_way(&all, op.number);
        let suspended = all.iter().any(|op| op.is_suspended());
        let mut before = match all.iter().find(|op| op.holds_die()) {
            _ if suspended => false,
            Some(op) => {
                let arrives = !op.is_in_array() || op.late;
                arrives && self.gives_way(op.command.kind) || self.job_gives_way(&all, op.number)
            }
            None => {
                let kept = all.iter().find(|op| op.comes_next());
                kept.is_some_and(|op| gives_way(op))
            }
        };
        let mut count = 0;
        for op in line {
            if op.is_host_read() {
                count += u64::from(before);
                before = false;
            } else {
                before = gives_way(op);
            }
        }
        count * rule.resume.0
    }

    /// Does what its job does right behind operation `number`, nothing in between, give way?
    fn job_gives_way(&self, all: &[&Operation], number: u64) -> bool {
        follower(all, number).is_some_and(|next| {
            self.gives_way(next.command.kind) || self.job_gives_way(all, next.number)
        })
    }
}

impl Operation {
    /// Does its job keep the die for it?
    fn comes_next(&self) -> bool {
        self.is_kept() && matches!(self.at, Progress::Queued(_))
    }
}

/// The operation that its job has right behind number `number`, nothing in between.
fn follower<'a>(all: &[&'a Operation], number: u64) -> Option<&'a Operation> {
    let mut all = all.iter().copied();
    all.find(|op| op.is_kept() && op.after == [number])
}
