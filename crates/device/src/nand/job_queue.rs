//! The queue of GC jobs: operations of jobs before their turn.
//!
//! A collection is hundreds of operations, nearly all of which are one of two: reads and programs
//! of whole pages that take turns. So a job waits as what its turns are and how many, and an
//! operation becomes an entry of the pool when the one before it starts.

use super::FlashCommand;
use super::operation::{NONE, WaitingOp};

/// Operations of a job that follow one another: one of two in turn.
#[derive(Clone, Copy, Debug)]
struct JobStretch {
    turns: [WaitingOp; 2],
    count: u32,
    /// Those that had their turn.
    done: u32,
    /// Number of the operation whose turn is next.
    number: u64,
    /// The run after this one; without one, what comes after is `last`.
    next: u32,
    /// Last operation of the job, in the pool.
    last: u32,
}

/// The runs of all jobs. Memory grows with the most that wait at a time, and stays.
#[derive(Clone, Debug)]
pub(super) struct JobQueue {
    list: Vec<JobStretch>,
    free: u32,
}

/// A job under construction.
pub(super) struct JobDraft<'a> {
    first: u32,
    current: u32,
    /// The operations from which the turns of the current run were made.
    turns: [JobTurn<'a>; 2],
}

/// An operation of a job.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct JobTurn<'a> {
    pub command: &'a FlashCommand,
    /// Does the chip stay with the job before it?
    pub kept: bool,
}

impl JobDraft<'_> {
    /// The first run; none if nothing was added.
    pub fn first(&self) -> u32 {
        self.first
    }
}

impl JobQueue {
    pub fn new() -> JobQueue {
        JobQueue {
            list: Vec::new(),
            free: NONE,
        }
    }

    /// Room for runs that has been made.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// A job without operations; `any` is one of them and means nothing.
    pub fn draft<'a>(&self, any: &'a FlashCommand) -> JobDraft<'a> {
        JobDraft {
            first: NONE,
            current: NONE,
            turns: [JobTurn {
                command: any,
                kept: false,
            }; 2],
        }
    }

    /// Adds the operation `number` of a job.
    /// `make` gives its entry if it is unlike those before. Gives the time it takes.
    #[inline]
    pub fn add<'a>(
        &mut self,
        draft: &mut JobDraft<'a>,
        number: u64,
        turn: JobTurn<'a>,
        make: impl Fn() -> WaitingOp,
    ) -> u64 {
        if draft.current != NONE {
            let run = &mut self.list[draft.current as usize];
            let next = (run.count % 2) as usize;
            if run.count == 1 {
                run.turns[1] = make();
                draft.turns[1] = turn;
            }
            if draft.turns[next] == turn {
                run.count += 1;
                return run.turns[next].duration();
            }
        }
        let entry = make();
        let run = self.start(entry, number);
        match draft.current {
            NONE => draft.first = run,
            before => self.list[before as usize].next = run,
        }
        (draft.current, draft.turns[0]) = (run, turn);
        entry.duration()
    }

    fn start(&mut self, entry: WaitingOp, number: u64) -> u32 {
        let run = JobStretch {
            turns: [entry; 2],
            count: 1,
            done: 0,
            number,
            next: NONE,
            last: NONE,
        };
        let at = self.free;
        if at == NONE {
            self.list.push(run);
            return (self.list.len() - 1) as u32;
        }
        self.free = self.list[at as usize].next;
        self.list[at as usize] = run;
        at
    }

    /// The job is complete: `last` in the pool follows its last run.
    pub fn close(&mut self, draft: &JobDraft<'_>, last: u32) {
        let mut at = draft.first;
        while at != NONE {
            let run = &mut self.list[at as usize];
            run.last = last;
            at = run.next;
        }
    }

    /// The next operation of the run `at`, which knows what follows it.
    #[inline]
    pub fn take(&mut self, at: u32) -> WaitingOp {
        let run = &mut self.list[at as usize];
        let mut entry = run.turns[(run.done % 2) as usize];
        entry.number = run.number;
        run.done += 1;
        run.number += 1;
        if run.done < run.count {
            entry.run = at;
            return entry;
        }
        match run.next {
            NONE => entry.job_next = run.last,
            next => entry.run = next,
        }
        run.next = std::mem::replace(&mut self.free, at);
        entry
    }

    /// Calls `f` with the operations from the run `at` on that have not had their turn: one of them
    /// and how many are like it.
    pub fn each_from(&self, mut at: u32, mut f: impl FnMut(&WaitingOp, u64)) {
        while at != NONE {
            let run = &self.list[at as usize];
            let left = u64::from(run.count - run.done);
            let next = (run.done % 2) as usize;
            f(&run.turns[next], left.div_ceil(2));
            f(&run.turns[1 - next], left / 2);
            at = run.next;
        }
    }

    /// Calls `f` with the operations from the run `at` on in the order of their turns, with equal ones
    /// of a run once and how many they are. Gives the operation of the pool behind them.
    pub fn each_in_turn(&self, mut at: u32, mut f: impl FnMut(&WaitingOp, u64)) -> u32 {
        let mut last = NONE;
        while at != NONE {
            let run = &self.list[at as usize];
            let next = (run.done % 2) as usize;
            let left = u64::from(run.count - run.done);
            f(&run.turns[next], left.div_ceil(2));
            if left > 1 {
                f(&run.turns[1 - next], left / 2);
            }
            (at, last) = (run.next, run.last);
        }
        last
    }

    /// Forgets all operations from the run `at` on, none of which has had its turn. Gives how many
    /// there were, the time they take, and the operation of the pool behind them.
    pub fn drop_from(&mut self, mut at: u32) -> (u32, u64, u32) {
        let (mut operations, mut time, mut last) = (0, 0, NONE);
        while at != NONE {
            let run = &mut self.list[at as usize];
            let [even, odd] = run.turns.map(|entry| entry.duration());
            time += u64::from(run.count.div_ceil(2)) * even + u64::from(run.count / 2) * odd;
            operations += run.count;
            last = run.last;
            let next = std::mem::replace(&mut run.next, self.free);
            self.free = at;
            at = next;
        }
        (operations, time, last)
    }
}
