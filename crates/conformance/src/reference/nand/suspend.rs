//! Programs and erases that give way to reads of the host, and array times that are told late.

use super::*;
use destage_device::nand::Suspension;

impl Reference {
    /// Is the end of an operation unknown when it starts?
    pub(super) fn has_open_end(&self, c: &FlashCommand) -> bool {
        self.gives_way(c.kind) || self.comes_late(c)
    }

    pub(super) fn comes_late(&self, c: &FlashCommand) -> bool {
        self.late_times && (c.kind, c.class) == (OpKind::Program, Class::Background)
    }

    fn gives_way(&self, kind: OpKind) -> bool {
        match (self.suspension, kind) {
            (None, _) | (_, OpKind::Read) => false,
            (Some(_), OpKind::Erase) => true,
            (Some(Suspension { programs, .. }), OpKind::Program | OpKind::Copyback) => programs,
        }
    }

    /// The read of the host that is next on a die if the operation it works on gives way. An
    /// operation that waits for that one has its place in the queue.
    fn read_before(&self, lane: u32) -> Option<usize> {
        let (_, i) = self.next_in_queue(lane, false)?;
        let read = &self.operations[i];
        let c = &read.command;
        let held_back = !self.goes_ahead(c) && {
            let mut before = self.awaiting_keeper(lane);
            before.any(|op| op.number < read.number)
        };
        (c.kind == OpKind::Read && c.class == Class::Host && !held_back).then_some(i)
    }

    /// Operations of the host, reads that go ahead left out, that wait for what a die works on.
    fn awaiting_keeper(&self, lane: u32) -> impl Iterator<Item = &Operation> {
        let keeper = self.keeper(lane);
        let waits = self.pending().map(|(_, op)| op);
        waits.filter(move |op| {
            op.lane == lane
                && op.at == Progress::Blocked
                && op.rank() == Class::Host
                && !self.goes_ahead(&op.command)
                && op.after.iter().flatten().any(|n| keeper.contains(n))
        })
    }

    /// Numbers of the operation a die works on or has suspended, and of those that its job has right
    /// behind it.
    fn keeper(&self, lane: u32) -> Vec<u64> {
        let mine = || {
            self.pending()
                .map(|(_, op)| op)
                .filter(|op| op.lane == lane)
        };
        let kept = |op: &&Operation| op.job.is_some_and(|job| job.kept);
        let is_suspended = |op: &&Operation| matches!(op.at, Progress::Suspended { .. });
        let comes_next = |op: &&Operation| kept(op) && matches!(op.at, Progress::Queued(_));
        let served = mine().find(is_suspended);
        let served = served.or_else(|| mine().find(|op| op.holds_die()));
        let mut next = served.or_else(|| mine().find(comes_next));
        let mut all = Vec::new();
        while let Some(op) = next {
            all.push(op.number);
            next = mine().find(|other| other.after[2] == Some(op.number) && kept(other));
        }
        all
    }

    /// Suspends and resumes what has to be; says whether anything was.
    pub(super) fn give_way(&mut self) -> bool {
        let Some(rule) = self.suspension else {
            return false;
        };
        let mut changed = false;
        for i in self.gone..self.operations.len() {
            let op = self.operations[i];
            if !op.in_service() || !self.gives_way(op.command.kind) {
                continue;
            }
            let lane = op.lane;
            let read = self.read_before(lane);
            match op.at {
                Progress::CommandThenArray { bus, array }
                    if !op.late
                        && bus <= self.now
                        && self.now < array
                        && op.suspensions < rule.at_most
                        && read.is_some() =>
                {
                    let op = &mut self.operations[i];
                    op.at = Progress::Suspended {
                        left: array - self.now,
                    };
                    op.suspensions += 1;
                    op.held += self.now - op.since;
                    self.suspended[op.command.kind as usize] += 1;
                    self.free_since[lane as usize] = self.now;
                    changed = true;
                }
                Progress::Suspended { left } if read.is_none() && !self.is_busy(lane) => {
                    let op = &mut self.operations[i];
                    op.since = self.now;
                    let array = self.now + rule.resume.0 + left;
                    op.at = Progress::CommandThenArray {
                        bus: self.now,
                        array,
                    };
                    changed = true;
                }
                _ => {}
            }
        }
        changed
    }

    /// Does an operation that is not suspended hold the die?
    fn is_busy(&self, lane: u32) -> bool {
        let mut ops = self.operations.iter();
        ops.any(|op| op.lane == lane && op.holds_die())
    }

    /// The array time of a background program that has started now.
    pub fn set_array_time(&mut self, number: u64, time: Nanos) {
        let i = self.position(number).expect("a running operation is kept");
        let now = self.now;
        let op = &mut self.operations[i];
        let Progress::CommandThenArray { bus, array } = &mut op.at else {
            panic!("it has started");
        };
        assert!(op.late && op.start == now);
        *array = *bus + time.0;
        op.late = false;
        op.command.array = Some(time);
        self.settle();
    }

    /// The time that resuming adds until a die is done: for every operation that gives way, or job
    /// that goes on, behind which a read comes.
    pub(super) fn resumes_to_come(&self, chip: ChipId, die: u32) -> u64 {
        let Some(rule) = self.suspension else {
            return 0;
        };
        let all: Vec<&Operation> = self.on_die(chip, die).collect();
        let mut line: Vec<&Operation> = all.clone();
        line.retain(|op| matches!(op.at, Progress::Queued(_)) && op.rank() == Class::Host);
        line.retain(|op| op.job.is_none_or(|job| job.is_first));
        line.extend(self.awaiting_keeper(die * self.chips + chip.0));
        line.sort_by_key(|op| (!self.goes_ahead(&op.command), op.number));
        let suspended = all
            .iter()
            .any(|op| matches!(op.at, Progress::Suspended { .. }));
        let running = all.iter().find(|op| op.holds_die());
        let mut before = match running {
            Some(op) if !suspended => {
                let arrives = match op.at {
                    Progress::CommandThenArray { bus, .. } => bus > self.now || op.late,
                    _ => false,
                };
                arrives && self.gives_way(op.command.kind) || self.job_gives_way(&all, op.number)
            }
            None if !suspended => {
                let kept = |op: &&&Operation| {
                    op.job.is_some_and(|job| job.kept) && matches!(op.at, Progress::Queued(_))
                };
                let kept = all.iter().find(kept);
                kept.is_some_and(|op| {
                    self.gives_way(op.command.kind) || self.job_gives_way(&all, op.number)
                })
            }
            _ => false,
        };
        let mut count = 0;
        for op in line {
            if (op.command.kind, op.command.class) == (OpKind::Read, Class::Host) {
                count += u64::from(before);
                before = false;
            } else {
                before = self.gives_way(op.command.kind) || self.job_gives_way(&all, op.number);
            }
        }
        count * rule.resume.0
    }

    /// Does what its job does right behind operation `number`, nothing in between, give way?
    fn job_gives_way(&self, all: &[&Operation], number: u64) -> bool {
        let follows =
            |op: &&&Operation| op.after[2] == Some(number) && op.job.is_some_and(|job| job.kept);
        let Some(next) = all.iter().find(follows) else {
            return false;
        };
        self.gives_way(next.command.kind) || self.job_gives_way(all, next.number)
    }
}
