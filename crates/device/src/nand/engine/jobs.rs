//! Runs of operations that belong together.

use super::*;
use crate::nand::job_queue::JobTurn;

impl Nand {
    /// Submits a job at `now`: operations for one chip, in the order in which they run.
    ///
    /// Each one starts after the end of the one before; [`JobKind`] says when the first one may
    /// start, and what may start in between. The job begins behind all programs of host class
    /// that were submitted for the chip before (they write the pages it collects), and after
    /// what its first operation waits for. The class of the commands is set by `kind`.
    ///
    /// The program that triggers a collection is submitted next, [`FlashCommand::after`]
    /// [`JobId::last`]. Of a foreground job the queue alone nearly says so too, but not while
    /// an earlier program that holds the job back waits for something elsewhere.
    ///
    /// # Panics
    /// If something is due at or before `now`; there are no commands, they are for different chips,
    /// or another than the first waits for something itself.
    pub fn submit_job(&mut self, now: Nanos, kind: JobKind, commands: &[FlashCommand]) -> JobId {
        let now = now.0;
        self.enter(now);
        self.early_grants = false;
        let (head, rest) = commands.split_first().expect("a job has operations");
        let mut first = self.job_entry(now, kind, head, None);
        let (number, lane) = (first.number, first.lane);
        let l = lane as usize;
        let last = self.add_rest(now, kind, &mut first, commands);
        first.ends_job = rest.is_empty();
        let ch = self.lanes[l].channel as usize;
        self.channels[ch].pending += commands.len() as u32;
        self.lanes[l].jobs.open += 1;
        self.jobs.open += 1;
        let (after, and_after) = (head.after, head.and_after);
        let slot = if self.held {
            self.take_in::<true>(first, after, and_after, now)
        } else {
            self.take_in::<false>(first, after, and_after, now)
        };
        self.note_change(ch);
        self.settle_unheld(now);
        let first = OpId::new(number, slot, lane);
        let last = match last {
            NONE => first,
            last => OpId::new(number + rest.len() as u64, last, lane),
        };
        JobId { first, last }
    }

    /// The part of [`Nand::begin`] for an operation that is not plain.
    #[inline(never)]
    pub(super) fn begin_special(&mut self, l: usize, entry: &mut WaitingOp) {
        if self.drive.is_some() {
            self.begin_of_drive(l, entry);
        }
        let lane = &mut self.lanes[l];
        lane.more_planes[entry.kind as usize] += u64::from(entry.planes - 1);
        let mut next = entry.job_next;
        if entry.run != NONE {
            next = self.pool.add(self.job_queue.take(entry.run));
        }
        if next != NONE {
            lane.queue.follow(&mut self.pool, next);
        }
    }

    /// Takes in the operations of a job after the first one, in no list: the last one, whose place
    /// in the pool is given, and as runs those in between.
    fn add_rest(
        &mut self,
        now: u64,
        kind: JobKind,
        first: &mut WaitingOp,
        commands: &[FlashCommand],
    ) -> u32 {
        let head = &commands[0];
        let Some((end, between)) = commands[1..].split_last() else {
            return NONE;
        };
        let mut draft = self.job_queue.draft(head);
        let (mut before, mut time) = (head.kind, 0);
        for command in between {
            check_member(command, head);
            let number = self.next_number;
            self.next_number += 1;
            let shared = &self.shared;
            let make = || job_entry(number, now, kind, command, Some(before), shared);
            let kept = kind.keeps_after(before);
            let turn = JobTurn { command, kept };
            time += self.job_queue.add(&mut draft, number, turn, make);
            before = command.kind;
        }
        check_member(end, head);
        let mut last = self.job_entry(now, kind, end, Some(before));
        last.ends_job = true;
        let queue = &mut self.lanes[first.lane as usize].queue;
        queue.add_up(&last);
        queue.time[first.class as usize] += time;
        let slot = self.pool.add(last);
        self.job_queue.close(&draft, slot);
        first.run = draft.first();
        if first.run == NONE {
            first.job_next = slot;
        }
        slot
    }

    fn job_entry(
        &mut self,
        now: u64,
        kind: JobKind,
        command: &FlashCommand,
        before: Option<OpKind>,
    ) -> WaitingOp {
        let number = self.next_number;
        self.next_number += 1;
        job_entry(number, now, kind, command, before, &self.shared)
    }

    /// Takes a background job back at `now`, all of it; false if it has started or is over.
    /// Operations that depend on one of its operations are released as if that had ended.
    ///
    /// # Panics
    /// If something is due at or before `now`, or the job is waiting and not a background one.
    pub fn cancel_job(&mut self, now: Nanos, job: JobId) -> bool {
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
        let mut operations = 1;
        self.lanes[l].jobs.open -= 1;
        self.jobs.open -= 1;
        if self.lanes[l].is_free(now) {
            self.refresh(l);
        }
        self.release_all(entry.dependents, now);
        let queue = &mut self.lanes[l].queue;
        let mut last = entry.job_next;
        if entry.run != NONE {
            let (between, time);
            (between, time, last) = self.job_queue.drop_from(entry.run);
            operations += between;
            queue.time[entry.class as usize] -= time;
        }
        if last != NONE {
            entry = queue.drop_unlinked(&mut self.pool, last);
            operations += 1;
            self.release_all(entry.dependents, now);
        }
        self.taken_back(l, Class::BackgroundGc, operations);
        self.settle_unheld(now);
        true
    }
}

/// The entry of an operation of a job, after one of kind `before`.
fn job_entry(
    number: u64,
    now: u64,
    kind: JobKind,
    command: &FlashCommand,
    before: Option<OpKind>,
    shared: &Durations,
) -> WaitingOp {
    let mut entry = WaitingOp::new(number, now, &command.class(kind.class()), shared);
    let list = list_of(kind.class());
    entry.home = match before {
        Some(before) if kind.keeps_after(before) => HELD,
        Some(_) => list,
        None if kind == JobKind::Foreground => marked(list_of(Class::Host)),
        None => marked(list),
    };
    entry.plain = false;
    entry
}

#[inline]
fn check_member(command: &FlashCommand, head: &FlashCommand) {
    assert!(command.chip == head.chip, "a job stays on its chip");
    assert!(
        command.after.is_none() && command.and_after.is_none(),
        "only the first operation of a job waits for others"
    );
}
