//! Keeping a timeline: the array says what each operation did, this says what it was for.

use super::DeviceCore;
use crate::result::timeline::TimelineRows;
use destage_device::nand::{Class, FlashCommand, OpActivity, OpId};
use destage_record::timeline::{Timeline, TimelineCollection, TimelineOperation, TimelineWindow};
use destage_types::{ChannelId, Lpn, Nanos};
use std::collections::BTreeMap;
use std::mem::size_of;

/// The purpose of an operation: see [`TimelineOperation`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose {
    pub name: &'static str,
    pub page: Option<Lpn>,
    pub pages: u32,
    pub padding: Option<u32>,
    pub request: Option<u64>,
    /// Key of its collection.
    pub collection: Option<u64>,
}

impl Purpose {
    /// An operation of one page.
    pub fn of(name: &'static str) -> Purpose {
        Purpose {
            name,
            page: None,
            pages: 1,
            padding: None,
            request: None,
            collection: None,
        }
    }
}

/// Keeps the timeline of a run.
pub(crate) struct TimelineRecorder {
    rows: TimelineRows,
    /// Submissions that have not ended, by the number of their first operation.
    open: BTreeMap<u64, Submission>,
    /// Collections that are not over, by key.
    under_way: BTreeMap<u64, TimelineCollection>,
    /// Collections so far.
    collections: u64,
}

/// An operation, or all operations of a collection.
struct Submission {
    count: u32,
    /// Those of them that have not ended.
    left: u32,
    command: FlashCommand,
    queued: Nanos,
    purpose: Purpose,
    /// Is it all of its collection?
    whole: bool,
}

impl TimelineRecorder {
    fn new(window: TimelineWindow, limit: u64) -> TimelineRecorder {
        TimelineRecorder {
            rows: TimelineRows::new(window, limit),
            open: BTreeMap::new(),
            under_way: BTreeMap::new(),
            collections: 0,
        }
    }

    /// Takes in what an operation did.
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
        let (left, whole) = (submission.left, submission.whole);
        let key = submission.purpose.collection;
        let mut number = None;
        if let Some(collection) = key.and_then(|key| self.under_way.get_mut(&key)) {
            collection.start = collection.start.min(activity.start);
            collection.end = collection.end.max(activity.end);
            number = Some(collection.number);
        }
        let operation = submission.operation(activity, first, number);
        self.rows.keep(operation);
        if left == 0 {
            self.open.remove(&first);
            if let Some(key) = key.filter(|_| whole) {
                self.end_collection(key);
            }
        }
    }

    fn end_collection(&mut self, key: u64) {
        if let Some(collection) = self.under_way.remove(&key) {
            self.rows.keep_collection(collection);
        }
    }

    /// Sees to the memory at `now`.
    fn tidy(&mut self, now: Nanos) {
        let open = self.open.len() * size_of::<(u64, Submission)>()
            + self.under_way.len() * size_of::<(u64, TimelineCollection)>();
        if self.rows.tidy(now, open as u64) {
            self.open.clear();
            self.under_way.clear();
        }
    }
}

impl Submission {
    /// One of its operations, the first of which has the number `first`.
    fn operation(
        &self,
        activity: OpActivity,
        first: u64,
        collection: Option<u64>,
    ) -> TimelineOperation {
        let waits = activity.number == first;
        let after = [self.command.after, self.command.and_after];
        let what = &self.purpose;
        TimelineOperation {
            queued: self.queued,
            taken_back: false,
            purpose: what.name,
            page: what.page,
            pages: what.pages,
            padding: what.padding,
            request: what.request,
            collection,
            after: after.map(|id| id.filter(|_| waits).map(OpId::number)),
            activity,
        }
    }
}

impl<M: ?Sized> DeviceCore<M> {
    /// Keeps what happens in `window` from now on, in no more than `limit` bytes.
    pub(crate) fn keep_timeline(&mut self, window: TimelineWindow, limit: u64) {
        self.assert_observable();
        self.nand.keep_activities();
        self.requests.completed.keep();
        self.timeline = Some(Box::new(TimelineRecorder::new(window, limit)));
    }

    /// Timeline rows, if they are kept.
    pub(crate) fn timeline_rows(&mut self) -> Option<&mut TimelineRows> {
        self.timeline.as_mut().map(|timeline| &mut timeline.rows)
    }

    /// The limit of the timeline in bytes and the time at which it exceeded it, if it did.
    pub(crate) fn timeline_excess(&self) -> Option<(u64, Nanos)> {
        self.timeline.as_ref()?.rows.excess()
    }

    /// Operation `number` was submitted now as `command`.
    #[cold]
    pub(crate) fn note(&mut self, number: u64, command: &FlashCommand, purpose: Purpose) {
        self.add_submission(
            number,
            Submission {
                count: 1,
                left: 1,
                command: *command,
                queued: self.now,
                purpose,
                whole: false,
            },
        );
    }

    fn add_submission(&mut self, first: u64, submission: Submission) {
        if let Some(timeline) = &mut self.timeline
            && timeline.rows.takes(submission.queued)
        {
            timeline.open.insert(first, submission);
        }
    }

    /// A page more has joined an operation.
    pub(crate) fn note_join(&mut self, id: OpId) {
        let timeline = self.timeline.as_mut();
        if let Some(op) = timeline.and_then(|timeline| timeline.open.get_mut(&id.number())) {
            op.purpose.pages += 1;
        }
    }

    /// A collection begins now, and is called `key`. The rest of `row` is known.
    pub(crate) fn begin_collection(&mut self, key: u64, row: TimelineCollection) {
        let queued = self.now;
        let Some(timeline) = &mut self.timeline else {
            return;
        };
        let number = timeline.collections;
        timeline.collections += 1;
        if timeline.rows.takes(queued) {
            let collection = TimelineCollection {
                number,
                queued,
                start: Nanos::NEVER,
                end: queued,
                ..row
            };
            timeline.under_way.insert(key, collection);
        }
    }

    /// All operations of a collection were submitted now. It is over with the last of them.
    pub(crate) fn note_collection(
        &mut self,
        first: u64,
        commands: &[FlashCommand],
        row: TimelineCollection,
    ) {
        self.begin_collection(first, row);
        let count = commands.len() as u32;
        self.add_submission(
            first,
            Submission {
                count,
                left: count,
                command: commands[0],
                queued: self.now,
                purpose: Purpose {
                    collection: Some(first),
                    ..Purpose::of("collection")
                },
                whole: true,
            },
        );
    }

    /// A collection moves so many more pages.
    pub(crate) fn note_moved(&mut self, key: u64, pages: u32) {
        let timeline = self.timeline.as_mut();
        if let Some(collection) = timeline.and_then(|timeline| timeline.under_way.get_mut(&key)) {
            collection.pages += pages;
        }
    }

    /// A collection is over.
    pub(crate) fn note_collected(&mut self, key: u64) {
        self.update_timeline();
        if let Some(timeline) = &mut self.timeline {
            timeline.end_collection(key);
        }
    }

    /// Operation `id`, or its collection, was taken back before it started. A collection of which nothing ran is none.
    pub(crate) fn note_taken_back(&mut self, id: OpId) {
        let Some(timeline) = &mut self.timeline else {
            return;
        };
        let Some(gone) = timeline.open.remove(&id.number()) else {
            return;
        };
        if let Some(key) = gone.purpose.collection {
            timeline.under_way.remove(&key);
            return;
        }
        let command = &gone.command;
        let activity = OpActivity {
            number: id.number(),
            chip: command.chip,
            channel: ChannelId(command.chip.0 % self.nand.channels()),
            kind: command.kind,
            class: Class::Background,
            start: self.now,
            end: self.now,
            phases: Vec::new(),
        };
        timeline.rows.keep(TimelineOperation {
            taken_back: true,
            ..gone.operation(activity, id.number(), None)
        });
    }

    /// The measured part begins.
    pub(super) fn measure_timeline(&mut self) {
        self.update_timeline();
        let now = self.now;
        if let Some(rows) = self.timeline_rows() {
            rows.measure(now);
        }
    }

    /// Takes in what the array has done.
    #[inline]
    pub(crate) fn update_timeline(&mut self) {
        if self.timeline.is_some() {
            self.take_activities();
        }
    }

    #[cold]
    fn take_activities(&mut self) {
        if let Some(timeline) = &mut self.timeline {
            for activity in self.nand.take_activities() {
                timeline.ended(activity);
            }
            timeline.tidy(self.now);
        }
    }

    /// The timeline, when nothing waits any more; it ends here. Collections that are not over end with what they
    /// have done.
    pub(crate) fn end_timeline(&mut self) -> Option<Timeline> {
        self.update_timeline();
        let mut timeline = self.timeline.take()?;
        let mut rest: Vec<_> = std::mem::take(&mut timeline.under_way)
            .into_values()
            .filter(|collection| collection.start < Nanos::NEVER)
            .collect();
        rest.sort_by_key(|collection| (collection.end, collection.number));
        for collection in rest {
            timeline.rows.keep_collection(collection);
        }
        let (channels, chips) = (self.nand.channels(), self.nand.chips());
        Some(timeline.rows.timeline(channels, chips, self.rest()))
    }
}
