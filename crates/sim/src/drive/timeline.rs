//! Keeping a timeline: the array says what each operation did, this says what it was for.

use super::Drive;
use crate::result::timeline::TimelineRows;
use destage_device::map::UnitStream;
use destage_record::timeline::{Timeline, TimelineCollection, TimelineOperation, TimelineWindow};
use destage_types::{ChipId, Lpn, Nanos};
use std::collections::BTreeMap;
use std::mem::size_of;

/// The purpose of an operation: see [`TimelineOperation`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose {
    pub name: &'static str,
    pub page: Option<Lpn>,
    pub pages: u32,
    pub padding: Option<u32>,
    pub request: Option<u64>,
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
pub(super) struct DriveRecorder {
    pub rows: TimelineRows,
    /// Operations that have not ended, by number, with the time of their submission.
    open: BTreeMap<u64, (Nanos, Purpose)>,
    /// Collections that are not over, by their block.
    under_way: BTreeMap<u32, TimelineCollection>,
    /// Collections so far.
    collections: u64,
}

impl Drive {
    /// Keeps what happens in `window` from now on, in no more than `limit` bytes.
    pub(crate) fn keep_timeline(&mut self, window: TimelineWindow, limit: u64) {
        self.array.keep_activities();
        self.requests.completed.keep();
        self.timeline = Some(Box::new(DriveRecorder {
            rows: TimelineRows::new(window, limit),
            open: BTreeMap::new(),
            under_way: BTreeMap::new(),
            collections: 0,
        }));
    }

    /// The operation that was submitted last is for this.
    pub(super) fn note_submission(&mut self, what: Purpose) {
        let (now, number) = (self.now, self.array.submitted() - 1);
        if let Some(timeline) = &mut self.timeline
            && timeline.rows.takes(now)
        {
            timeline.open.insert(number, (now, what));
        }
    }

    /// The program of a unit was submitted.
    pub(super) fn note_unit(&mut self, unit: u32) {
        if self.timeline.is_none() {
            return;
        }
        let row = &self.units[unit];
        let what = Purpose {
            page: Some(row.lpn),
            pages: self.map.shape().unit() - row.padded,
            padding: Some(row.padded),
            ..match row.stream {
                UnitStream::Host => Purpose {
                    request: (row.waiters.first()).map(|&request| self.requests.index(request)),
                    ..Purpose::of("unit")
                },
                UnitStream::Collector => Purpose {
                    collection: row
                        .victims
                        .first()
                        .and_then(|&block| self.collection_of(block)),
                    ..Purpose::of("collection")
                },
            }
        };
        self.note_submission(what);
    }

    /// The collection of a block begins.
    pub(super) fn note_collection(&mut self, block: u32) {
        let shape = *self.map.shape();
        let queued = self.now;
        let Some(timeline) = &mut self.timeline else {
            return;
        };
        let number = timeline.collections;
        timeline.collections += 1;
        if timeline.rows.takes(queued) {
            let collection = TimelineCollection {
                number,
                chip: ChipId(shape.die_of(shape.first(block))),
                die: 0,
                queued,
                start: Nanos::NEVER,
                end: queued,
                background: false,
                request: None,
                blocks: shape.planes * shape.parts,
                pages: 0,
            };
            timeline.under_way.insert(block, collection);
        }
    }

    /// So many mapping units of a block that is collected are read by the operation that was submitted last.
    pub(super) fn note_moved(&mut self, block: u32, units: u32) {
        if let Some(timeline) = &mut self.timeline
            && let Some(collection) = timeline.under_way.get_mut(&block)
        {
            collection.pages += units;
        }
        self.note_submission(Purpose {
            pages: units,
            collection: self.collection_of(block),
            ..Purpose::of("collection")
        });
    }

    /// The number of the collection of a block, if it is kept.
    pub(super) fn collection_of(&self, block: u32) -> Option<u64> {
        let timeline = self.timeline.as_ref()?;
        timeline.under_way.get(&block).map(|c| c.number)
    }

    /// A block that was collected is erased: its collection is over.
    pub(super) fn note_erased(&mut self, block: u32) {
        self.update_timeline();
        if let Some(timeline) = &mut self.timeline
            && let Some(collection) = timeline.under_way.remove(&block)
        {
            timeline.rows.keep_collection(collection);
        }
    }

    /// The measured part begins.
    pub(super) fn measure_timeline(&mut self) {
        self.update_timeline();
        if let Some(timeline) = &mut self.timeline {
            timeline.rows.measure(self.now);
        }
    }

    /// Takes in what the array has done.
    #[inline]
    pub(super) fn update_timeline(&mut self) {
        if self.timeline.is_some() {
            self.take_activities();
        }
    }

    #[cold]
    fn take_activities(&mut self) {
        let Some(timeline) = &mut self.timeline else {
            return;
        };
        for activity in self.array.take_activities() {
            let Some((queued, what)) = timeline.open.remove(&activity.number) else {
                continue;
            };
            let mut under_way = timeline.under_way.values_mut();
            if let Some(of) = under_way.find(|c| Some(c.number) == what.collection) {
                of.start = of.start.min(activity.start);
                of.end = of.end.max(activity.end);
            }
            timeline.rows.keep(TimelineOperation {
                activity,
                queued,
                taken_back: false,
                purpose: what.name,
                page: what.page,
                pages: what.pages,
                padding: what.padding,
                request: what.request,
                collection: what.collection,
                after: [None; 2],
            });
        }
        let open = timeline.open.len() * size_of::<(u64, Nanos, Purpose)>()
            + timeline.under_way.len() * size_of::<TimelineCollection>();
        if timeline.rows.tidy(self.now, open as u64) {
            timeline.open.clear();
            timeline.under_way.clear();
        }
    }

    /// The timeline, when nothing waits any more; it ends here. Collections that are not over end with what they
    /// have done.
    pub(super) fn timeline_of_run(&mut self) -> Option<Timeline> {
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
        let counts = (self.array.channels(), self.map.shape().dies, 1);
        Some(timeline.rows.timeline(counts, self.now))
    }
}
