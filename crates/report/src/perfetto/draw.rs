//! Draws a timeline: a group of tracks each for requests, channels, dies and collections.

use crate::perfetto::proto::DebugAnnotation;
use crate::perfetto::slots::Slots;
use crate::perfetto::writer::{Slice, TraceWriter, Track, number};
use destage_record::Timeline;
use destage_record::timeline::{TimelineCollection, TimelineOperation};
use destage_types::{Class, OpKind, OpPhase, PhaseKind};
use destage_types::{Nanos, Op};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// The groups of tracks, and what they show.
pub const GROUPS: [(&str, &str); 4] = [
    (
        REQUESTS,
        "each request from arrival to completion, on the first track that is free; arrows lead to its \
         operations and to the collections that it made necessary",
    ),
    (
        CHANNELS,
        "each channel: commands and data on its bus, by the operation they belong to",
    ),
    (
        DIES,
        "each die, or chip where a chip is a queue: the operations that hold it, one slice before \
         and one behind each suspension; inside them `array` and `waits for bus`. Below it `waiting`: \
         operations in its queue, those of collections left out",
    ),
    (
        COLLECTIONS,
        "each die: garbage collection and wear levelling, from the start of the first operation to the \
         end of the last one",
    ),
];
const REQUESTS: &str = "requests";
const CHANNELS: &str = "channels";
const DIES: &str = "dies";
const COLLECTIONS: &str = "garbage collection";

/// The arguments of slices, and what they say.
pub const ARGUMENTS: [(&str, &str); 13] = [
    (
        "request",
        "index in the trace, from 0, of the request that it is or belongs to, or that made the \
         collection necessary",
    ),
    (
        "pages",
        "pages that it touches, reads, programs or moves; of a drive with units these are mapping units",
    ),
    (
        "padding",
        "of the program of a unit: mapping units without data, as it was closed before it was full",
    ),
    (
        "came_ns",
        "when a request came to the cache, if the host's side of the device held it back",
    ),
    ("hit_pages", "those of a request that hit"),
    ("operation", "its number among all operations of the run"),
    ("page", "its first logical page"),
    ("queued_ns", "when it was queued"),
    (
        "waited_ns",
        "how long it waited from then on until it started",
    ),
    ("after", "number of an operation that had to end before"),
    ("collection", "number of the collection"),
    ("background", "1 for a collection in the background, else 0"),
    ("blocks", "blocks that it erases"),
];

/// Writes `timeline` to `out`.
///
/// # Errors
/// It cannot be written.
pub fn draw(timeline: &Timeline, out: &mut dyn Write) -> io::Result<()> {
    let mut drawing = Drawing {
        timeline,
        requests: timeline
            .requests
            .iter()
            .map(|r| (r.index, r.came))
            .collect(),
        writer: TraceWriter::new(out),
    };
    drawing.requests()?;
    drawing.channels()?;
    drawing.dies()?;
    drawing.collections()?;
    drawing.writer.finish()
}

struct Drawing<'a> {
    timeline: &'a Timeline,
    /// Index of the requests that are shown, and when they came to the cache.
    requests: BTreeSet<(u64, Nanos)>,
    writer: TraceWriter<'a>,
}

/// The arrow to an operation. None is 0.
fn flow_to(operation: &TimelineOperation) -> u64 {
    operation.activity.number + 1
}

/// The arrow to a collection: operations have smaller numbers.
fn flow_to_collection(collection: &TimelineCollection) -> u64 {
    1 << 63 | collection.number
}

/// A part of an operation that holds its die: one phase right after the other.
struct Hold<'a> {
    operation: &'a TimelineOperation,
    phases: &'a [OpPhase],
    from: Nanos,
    to: Nanos,
}

impl Drawing<'_> {
    fn requests(&mut self) -> io::Result<()> {
        let timeline = self.timeline;
        let mut flows: BTreeMap<(u64, Nanos), Vec<u64>> = BTreeMap::new();
        for op in timeline.operations.iter().filter(|op| !op.taken_back) {
            if let Some(request) = op.request {
                flows
                    .entry((request, op.queued))
                    .or_default()
                    .push(flow_to(op));
            }
        }
        for collection in &timeline.collections {
            if let Some(request) = collection.request {
                let flows = flows.entry((request, collection.queued)).or_default();
                flows.push(flow_to_collection(collection));
            }
        }
        let mut requests: Vec<_> = timeline.requests.iter().collect();
        requests.sort_by_key(|r| (r.arrival, r.index));
        let group = self.writer.group(REQUESTS)?;
        let (mut slots, mut tracks) = (Slots::default(), Vec::new());
        for request in requests {
            let slot = slots.assign(request.arrival, request.complete);
            if slot == tracks.len() {
                tracks.push(self.writer.track(group, &format!("slot {}", slot + 1))?);
            }
            let came = (request.came > request.arrival).then(|| number("came_ns", request.came.0));
            let slice = Slice {
                name: match request.op {
                    Op::Read => "read",
                    Op::Write => "write",
                    Op::Trim => "trim",
                    Op::Flush => "flush",
                },
                says: [
                    number("request", request.index),
                    number("pages", request.pages),
                    number("hit_pages", request.hits),
                ]
                .into_iter()
                .chain(came)
                .collect(),
                flows: flows
                    .remove(&(request.index, request.came))
                    .unwrap_or_default(),
                ..Slice::default()
            };
            self.writer.begin(tracks[slot], request.arrival, slice)?;
            self.writer.end(tracks[slot], request.complete)?;
        }
        Ok(())
    }

    fn channels(&mut self) -> io::Result<()> {
        let group = self.writer.group(CHANNELS)?;
        let mut transfers: Vec<Vec<(&OpPhase, &TimelineOperation)>> = Vec::new();
        transfers.resize_with(self.timeline.channels as usize, Vec::new);
        for op in &self.timeline.operations {
            let on_bus = op
                .activity
                .phases
                .iter()
                .filter(|p| p.kind == PhaseKind::Bus);
            transfers[op.activity.channel.index()].extend(on_bus.map(|phase| (phase, op)));
        }
        for (channel, mut transfers) in transfers.into_iter().enumerate() {
            let track = self.writer.track(group, &format!("channel {channel}"))?;
            transfers.sort_by_key(|(phase, _)| phase.from);
            for (phase, op) in transfers {
                let mut says = vec![number("operation", op.activity.number)];
                says.extend(op.request.map(|request| number("request", request)));
                let slice = Slice {
                    name: name_of(op),
                    says,
                    ..Slice::default()
                };
                self.writer.begin(track, phase.from, slice)?;
                self.writer.end(track, phase.to)?;
            }
        }
        Ok(())
    }

    fn dies(&mut self) -> io::Result<()> {
        let group = self.writer.group(DIES)?;
        let mut of_chips: Vec<Vec<&TimelineOperation>> = Vec::new();
        of_chips.resize_with(self.timeline.chips as usize, Vec::new);
        for op in &self.timeline.operations {
            of_chips[op.activity.chip.index()].push(op);
        }
        for (chip, operations) in of_chips.into_iter().enumerate() {
            let name = format!("chip {chip}");
            let track = self.writer.track(group, &name)?;
            let mut holds: Vec<Hold<'_>> = operations.iter().flat_map(|op| holds(op)).collect();
            holds.sort_by_key(|hold| hold.from);
            for hold in &holds {
                self.hold(track, hold)?;
            }
            let track = self.writer.counter(group, &format!("{name}: waiting"))?;
            self.queue(track, &operations)?;
        }
        Ok(())
    }

    fn hold(&mut self, track: Track, hold: &Hold<'_>) -> io::Result<()> {
        let op = hold.operation;
        let first = hold.from == op.activity.start;
        let slice = Slice {
            name: name_of(op),
            category: category_of(op),
            says: if first {
                says_of(op)
            } else {
                vec![number("operation", op.activity.number)]
            },
            flows_in: if first && self.is_shown(op.request, op.queued) {
                vec![flow_to(op)]
            } else {
                Vec::new()
            },
            ..Slice::default()
        };
        self.writer.begin(track, hold.from, slice)?;
        for phase in hold.phases {
            let name = match phase.kind {
                PhaseKind::Bus => continue,
                PhaseKind::Array => "array",
                PhaseKind::Stalled => "waits for bus",
            };
            let slice = Slice {
                name,
                ..Slice::default()
            };
            self.writer.begin(track, phase.from, slice)?;
            self.writer.end(track, phase.to)?;
        }
        self.writer.end(track, hold.to)
    }

    /// How many operations wait, in the window.
    fn queue(&mut self, track: Track, operations: &[&TimelineOperation]) -> io::Result<()> {
        let (from, to) = (self.timeline.from, self.timeline.to);
        let mut changes = BTreeMap::from([(from, 0)]);
        for op in operations.iter().filter(|op| op.collection.is_none()) {
            *changes.entry(op.queued.max(from)).or_default() += 1;
            *changes.entry(op.activity.start.max(from)).or_default() -= 1;
        }
        let mut waiting = 0;
        for (&at, change) in changes.range(from..=to.max(from)) {
            waiting += change;
            if *change != 0 || at == from {
                self.writer.value(track, at, waiting)?;
            }
        }
        Ok(())
    }

    fn collections(&mut self) -> io::Result<()> {
        let group = self.writer.group(COLLECTIONS)?;
        let mut collections: Vec<&TimelineCollection> = self.timeline.collections.iter().collect();
        collections.sort_by_key(|c| (c.chip, c.start, c.number));
        for all in collections.chunk_by(|a, b| a.chip == b.chip) {
            let chip = format!("chip {}", all[0].chip);
            let (mut slots, mut tracks) = (Slots::default(), Vec::new());
            for collection in all {
                let slot = slots.assign(collection.start, collection.end);
                if slot == tracks.len() {
                    let name = match slot {
                        0 => chip.clone(),
                        _ => format!("{chip} ({})", slot + 1),
                    };
                    tracks.push(self.writer.track(group, &name)?);
                }
                let slice = self.slice_of(collection);
                self.writer.begin(tracks[slot], collection.start, slice)?;
                self.writer.end(tracks[slot], collection.end)?;
            }
        }
        Ok(())
    }

    fn slice_of(&self, collection: &TimelineCollection) -> Slice<'static> {
        let mut says = vec![
            number("collection", collection.number),
            number("background", collection.background),
            number("blocks", collection.blocks),
            number("pages", collection.pages),
            number("queued_ns", collection.queued.0),
            number("waited_ns", (collection.start - collection.queued).0),
        ];
        says.extend(collection.request.map(|request| number("request", request)));
        Slice {
            name: "collection",
            says,
            flows_in: if self.is_shown(collection.request, collection.queued) {
                vec![flow_to_collection(collection)]
            } else {
                Vec::new()
            },
            ..Slice::default()
        }
    }

    /// Is the request shown that asked for something at `queued`?
    fn is_shown(&self, request: Option<u64>, queued: Nanos) -> bool {
        request.is_some_and(|index| self.requests.contains(&(index, queued)))
    }
}

/// The parts of an operation between which it is suspended.
fn holds(operation: &TimelineOperation) -> impl Iterator<Item = Hold<'_>> {
    let parts = operation.activity.phases.chunk_by(|a, b| a.to == b.from);
    parts.map(move |phases| Hold {
        operation,
        phases,
        from: phases[0].from,
        to: phases[phases.len() - 1].to,
    })
}

fn name_of(op: &TimelineOperation) -> &'static str {
    match (op.collection, op.activity.kind) {
        (None, _) => op.purpose,
        (Some(_), OpKind::Read) => "GC read",
        (Some(_), OpKind::Program) => "GC program",
        (Some(_), OpKind::Copyback) => "GC copyback",
        (Some(_), OpKind::Erase) => "erase",
    }
}

/// Its priority.
fn category_of(op: &TimelineOperation) -> &'static str {
    match op.activity.class {
        Class::Host => "host",
        Class::Gc => "gc",
        Class::Background => "background",
        Class::BackgroundGc => "background gc",
    }
}

fn says_of(op: &TimelineOperation) -> Vec<DebugAnnotation> {
    let activity = &op.activity;
    let mut says = vec![
        number("operation", activity.number),
        number("queued_ns", op.queued.0),
        number("waited_ns", (activity.start - op.queued).0),
    ];
    says.extend(op.request.map(|request| number("request", request)));
    says.extend(
        op.collection
            .map(|collection| number("collection", collection)),
    );
    if let Some(page) = op.page {
        says.extend([number("page", page.0), number("pages", op.pages)]);
    }
    says.extend(op.padding.map(|padding| number("padding", padding)));
    says.extend(
        op.after
            .iter()
            .flatten()
            .map(|&other| number("after", other)),
    );
    says
}
