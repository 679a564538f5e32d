//! Keeping a timeline: the array says what each operation did, this says what it was for.

use super::Engine;
use super::in_flight::OpRole;
use crate::result::timeline::TimelineRows;
use destage_device::nand::{Class, FlashCommand, JobId, JobKind, OpActivity, OpId, OpKind};
use destage_record::timeline::{Timeline, TimelineCollection, TimelineOperation, TimelineWindow};
use destage_types::{ChannelId, Lpn, Nanos};
use std::collections::BTreeMap;
use std::mem::size_of;

/// Keeps the timeline of a run.
pub(super) struct TimelineRecorder {
    pub rows: TimelineRows,
    /// Submissions that have not ended, by the number of their first operation.
    open: BTreeMap<u64, Submission>,
    /// Collections so far.
    collections: u64,
}

/// An operation, or the operations of a collection.
struct Submission {
    count: u32,
    /// Those of them that have not ended.
    left: u32,
    command: FlashCommand,
    queued: Nanos,
    purpose: &'static str,
    page: Option<Lpn>,
    pages: u32,
    request: Option<u64>,
    collection: Option<TimelineCollection>,
}

impl OpRole {
    /// As [`PURPOSES`](destage_record::timeline::PURPOSES) has it.
    fn purpose(self) -> &'static str {
        match self {
            OpRole::Read => "read",
            OpRole::Before => "read before program",
            OpRole::Own => "bypass",
            OpRole::Caused => "eviction",
            OpRole::Padding => "padding",
            OpRole::Flush => "flush",
            OpRole::Background | OpRole::HandOver => "write-back",
            OpRole::BackgroundRead
            | OpRole::BackgroundCacheRead
            | OpRole::HandOverRead
            | OpRole::HandOverCacheRead => "read before write-back",
            OpRole::Summary => "summary",
            OpRole::Erase => "collection",
            OpRole::CacheRead => "cache read",
            OpRole::CacheWrite => "cache write",
            OpRole::CacheFill => "cache fill",
            OpRole::CacheBefore => "cache read before program",
        }
    }
}

impl TimelineRecorder {
    fn add(&mut self, number: u64, submission: Submission) {
        if self.rows.takes(submission.queued) {
            self.open.insert(number, submission);
        }
    }

    /// Takes in what operations did.
    fn ended(&mut self, activity: OpActivity) {
        let mut before = self.open.range_mut(..=activity.number);
        let Some((&first, submission)) = before.next_back() else {
            return;
        };
        if activity.number >= first + u64::from(submission.count) {
            // It was queued behind the window.
            return;
        }
        submission.left -= 1;
        if let Some(collection) = &mut submission.collection {
            collection.start = collection.start.min(activity.start);
            collection.end = collection.end.max(activity.end);
        }
        let operation = submission.operation(activity, first);
        if submission.left == 0
            && let Some(gone) = self.open.remove(&first)
        {
            let collection = gone.collection;
            collection
                .into_iter()
                .for_each(|c| self.rows.keep_collection(c));
        }
        self.rows.keep(operation);
    }

    /// Sees to the memory at `now`.
    fn tidy(&mut self, now: Nanos) {
        let open = self.open.len() * (size_of::<Submission>() + size_of::<u64>());
        if self.rows.tidy(now, open as u64) {
            self.open.clear();
        }
    }
}

impl Submission {
    /// One of its operations, the first of which has the number `first`.
    fn operation(&self, activity: OpActivity, first: u64) -> TimelineOperation {
        let waits = activity.number == first;
        let after = [self.command.after, self.command.and_after];
        TimelineOperation {
            queued: self.queued,
            taken_back: false,
            padding: None,
            purpose: self.purpose,
            page: self.page,
            pages: self.pages,
            request: self.request,
            collection: self.collection.map(|collection| collection.number),
            after: after.map(|id| id.filter(|_| waits).map(OpId::number)),
            activity,
        }
    }
}

impl Engine {
    /// Keeps what happens in `window` from now on, in no more than `limit` bytes.
    pub(crate) fn keep_timeline(&mut self, window: TimelineWindow, limit: u64) {
        self.assert_observable();
        self.nand.keep_activities();
        self.in_flight.completed.keep();
        self.timeline = Some(Box::new(TimelineRecorder {
            rows: TimelineRows::new(window, limit),
            open: BTreeMap::new(),
            collections: 0,
        }));
    }

    /// The operation in flight that `command` names was submitted under this number.
    #[inline]
    pub(super) fn note_submission(&mut self, number: u64, command: &FlashCommand) {
        if self.timeline.is_some() {
            let op = &self.in_flight.ops[command.token];
            let (role, lpn, request) = (op.role, op.lpn, op.request_index());
            self.note_operation(number, role, lpn, request, command);
        }
    }

    /// The program of the present request that was submitted last has started.
    #[inline]
    pub(super) fn note_program(&mut self, role: OpRole, lpn: Lpn, command: &FlashCommand) {
        if self.timeline.is_some() {
            let request = self.in_flight.current_index();
            self.note_operation(self.nand.submitted() - 1, role, lpn, request, command);
        }
    }

    #[cold]
    fn note_operation(
        &mut self,
        number: u64,
        role: OpRole,
        lpn: Lpn,
        request: Option<u64>,
        command: &FlashCommand,
    ) {
        let Some(timeline) = &mut self.timeline else {
            return;
        };
        timeline.add(
            number,
            Submission {
                count: 1,
                left: 1,
                command: *command,
                queued: self.now,
                purpose: role.purpose(),
                page: (role != OpRole::Summary).then_some(lpn),
                pages: 1,
                request,
                collection: None,
            },
        );
    }

    /// A page more has joined a multi-plane operation.
    pub(super) fn note_join(&mut self, id: OpId) {
        let timeline = self.timeline.as_mut();
        if let Some(op) = timeline.and_then(|timeline| timeline.open.get_mut(&id.number())) {
            op.pages += 1;
        }
    }

    /// A job was submitted.
    #[inline]
    pub(super) fn note_job(&mut self, job: JobId, kind: JobKind, commands: &[FlashCommand]) {
        if self.timeline.is_some() {
            self.note_collection(job, kind, commands);
        }
    }

    #[cold]
    fn note_collection(&mut self, job: JobId, kind: JobKind, commands: &[FlashCommand]) {
        let Some(timeline) = &mut self.timeline else {
            return;
        };
        let of_kind = |kind| commands.iter().filter(|c| c.kind == kind).count() as u32;
        let (head, queued) = (commands[0], self.now);
        let request = self.in_flight.current_index();
        let number = timeline.collections;
        timeline.collections += 1;
        let collection = TimelineCollection {
            number,
            chip: head.chip,
            die: head.die,
            queued,
            start: Nanos::NEVER,
            end: queued,
            background: kind == JobKind::Background,
            request,
            blocks: of_kind(OpKind::Erase),
            pages: of_kind(OpKind::Read) + of_kind(OpKind::Copyback),
        };
        timeline.add(
            job.first().number(),
            Submission {
                count: commands.len() as u32,
                left: commands.len() as u32,
                command: head,
                queued,
                purpose: OpRole::Erase.purpose(),
                page: None,
                pages: 1,
                request: None,
                collection: Some(collection),
            },
        );
    }

    /// Records that operation `id`, and its job, was taken back before it started.
    pub(super) fn note_taken_back(&mut self, id: OpId) {
        let Some(timeline) = &mut self.timeline else {
            return;
        };
        let gone = timeline.open.remove(&id.number());
        // A collection of which nothing ran is none.
        if let Some(gone) = gone.filter(|gone| gone.collection.is_none()) {
            let command = &gone.command;
            let activity = OpActivity {
                number: id.number(),
                chip: command.chip,
                die: command.die,
                channel: ChannelId(command.chip.0 % self.nand.channels()),
                kind: command.kind,
                class: Class::Background,
                start: self.now,
                end: self.now,
                phases: Vec::new(),
            };
            timeline.rows.keep(TimelineOperation {
                taken_back: true,
                ..gone.operation(activity, id.number())
            });
        }
    }

    /// The measured part begins.
    pub(super) fn measure_timeline(&mut self) {
        self.update_timeline();
        let now = self.now;
        if let Some(timeline) = &mut self.timeline {
            timeline.rows.measure(now);
        }
    }

    /// Takes in what the array has done.
    #[inline]
    pub(super) fn update_timeline(&mut self) {
        if let Some(timeline) = &mut self.timeline {
            for activity in self.nand.take_activities() {
                timeline.ended(activity);
            }
            timeline.tidy(self.now);
        }
    }

    /// The timeline, when nothing waits any more; it ends here.
    pub(super) fn timeline_of_run(&mut self) -> Option<Timeline> {
        self.update_timeline();
        let timeline = self.timeline.take()?;
        let nand = &self.nand;
        let counts = (nand.channels(), nand.chips(), nand.dies());
        Some(timeline.rows.timeline(counts, nand.end_of_work()))
    }
}
