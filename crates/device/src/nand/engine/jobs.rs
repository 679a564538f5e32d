//! Runs of operations that belong together.

use super::*;

/// Position of a kind of job in [`JobBook`], by the class of its operations.
#[inline]
pub(in crate::nand) fn job_index(class: Class) -> usize {
    usize::from(class == Class::BackgroundGc)
}

impl<E: Events> Nand<E> {
    /// Submits a job at `now`: operations for one die, in the order in which they run.
    ///
    /// Each one starts after the end of the one before; [`JobKind`] says when the first one may
    /// start, and what may start in between. The job begins behind all programs of host and GC
    /// class that were submitted for the die before (they write the pages it collects), and after
    /// what its first operation waits for. The class of the commands is set by `kind`.
    ///
    /// The program that triggers a collection is submitted next, [`Command::after`]
    /// [`JobId::last`]. With [`Preempt::Never`] the queue alone nearly says so too, but not while
    /// an earlier program that holds the job back waits for something elsewhere.
    ///
    /// # Panics
    /// If something is due at or before `now`; there are no commands, they are for different dies,
    /// or another than the first waits for something itself.
    pub fn submit_job<S: Sink>(
        &mut self,
        now: Nanos,
        kind: JobKind,
        commands: &[Command],
        sink: &mut S,
    ) -> JobId {
        let now = now.0;
        self.enter(now);
        let (head, rest) = commands.split_first().expect("a job has operations");
        let mut first = self.job_entry(now, kind, head, None);
        let (number, lane) = (first.number, first.lane);
        let l = lane as usize;
        let slots = self.chain(now, kind, head, rest);
        if let Some((next, _)) = slots {
            first.job_next = next;
            first.holds |= self.pool[next].holds;
        }
        first.in_order = true;
        first.ends_job = rest.is_empty();
        let ch = self.lanes[l].channel as usize;
        self.channels[ch].pending += commands.len() as u32;
        self.lanes[l].jobs.open[job_index(kind.class())] += 1;
        self.jobs.open[job_index(kind.class())] += 1;
        let (after, and_after) = (head.after, head.and_after);
        let slot = match self.held {
            true => self.take_in::<S, true>(first, after, and_after, now, sink),
            false => self.take_in::<S, false>(first, after, and_after, now, sink),
        };
        self.note_change(ch);
        self.settle_unheld(now, sink);
        let first = OpId::new(number, slot, lane);
        let last = match slots {
            Some((_, last)) => OpId::new(number + rest.len() as u64, last, lane),
            None => first,
        };
        JobId { first, last }
    }

    /// What [`Nand::begin`] has to do for an operation that is not plain.
    #[cold]
    pub(super) fn begin_special(&mut self, l: usize, entry: &Entry) {
        let lane = &mut self.lanes[l];
        lane.more_planes[entry.kind as usize] += u64::from(entry.planes - 1);
        if entry.job_next != NONE {
            lane.queue.follow(&mut self.pool, entry.job_next);
        }
    }

    /// Puts the operations after the first one into the pool, linked and in no list; gives the
    /// first and the last of them.
    fn chain(
        &mut self,
        now: u64,
        kind: JobKind,
        head: &Command,
        rest: &[Command],
    ) -> Option<(u32, u32)> {
        let (mut ends, mut before) = (None, head);
        for command in rest {
            assert!(
                (command.chip, command.die) == (head.chip, head.die),
                "a job stays on its die"
            );
            assert!(
                command.after.is_none() && command.and_after.is_none(),
                "only the first operation of a job waits for others"
            );
            let entry = self.job_entry(now, kind, command, Some(before.kind));
            self.lanes[entry.lane as usize].queue.add_up(&entry);
            let slot = self.pool.add(entry);
            ends = match ends {
                None => Some((slot, slot)),
                Some((first, last)) => {
                    self.pool[last].job_next = slot;
                    Some((first, slot))
                }
            };
            before = command;
        }
        let (first, last) = ends?;
        self.pool[last].ends_job = true;
        self.mark_holding(first);
        Some((first, last))
    }

    /// An operation holds marked ones back if it or one after it in its job does.
    fn mark_holding(&mut self, first: u32) {
        let (mut slot, mut last_program) = (first, None);
        while slot != NONE {
            if self.pool[slot].holds {
                last_program = Some(slot);
            }
            slot = self.pool[slot].job_next;
        }
        let Some(last) = last_program else { return };
        slot = first;
        while slot != last {
            self.pool[slot].holds = true;
            slot = self.pool[slot].job_next;
        }
    }

    fn job_entry(
        &mut self,
        now: u64,
        kind: JobKind,
        command: &Command,
        before: Option<Kind>,
    ) -> Entry {
        let mut entry = self.entry(now, &command.class(kind.class()));
        match before {
            Some(before) if kind.keeps_after(before) => entry.home = HELD,
            None if kind == JobKind::Foreground(Preempt::Never) => entry.home = HOST,
            _ => {}
        }
        entry.in_order = false;
        entry.plain = false;
        entry
    }

    /// Takes a background job back at `now`, all of it; false if it has started or is over.
    /// Operations that depend on one of its operations are released as if that had ended.
    ///
    /// # Panics
    /// If something is due at or before `now`, or the job is waiting and not a background one.
    pub fn cancel_job<S: Sink>(&mut self, now: Nanos, job: JobId, sink: &mut S) -> bool {
        let now = now.0;
        self.enter(now);
        if !self.pool.holds(job.first) {
            return false;
        }
        let entry = &self.pool[job.first.slot];
        assert!(
            entry.class.is_background(),
            "only background work is taken back"
        );
        if let Some(parent) = entry.after {
            self.let_go(parent, job.first.slot);
        }
        let l = job.first.lane as usize;
        let queue = &mut self.lanes[l].queue;
        let mut entry = queue.leave(&mut self.pool, job.first.slot);
        let (mut operations, kind) = (1, job_index(entry.class));
        self.lanes[l].jobs.open[kind] -= 1;
        self.jobs.open[kind] -= 1;
        if self.lanes[l].is_free(now) {
            self.refresh(l);
        }
        loop {
            self.release_all(entry.dependents, now);
            if entry.job_next == NONE {
                break;
            }
            let queue = &mut self.lanes[l].queue;
            entry = queue.drop_unlinked(&mut self.pool, entry.job_next);
            operations += 1;
        }
        self.taken_back(l, Class::BackgroundGc, operations);
        self.settle_unheld(now, sink);
        true
    }
}
