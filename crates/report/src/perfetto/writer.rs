//! Writing a Perfetto trace: tracks, slices and values, packet by packet.

use crate::perfetto::proto::{
    CHILD_ORDERING_EXPLICIT, CounterDescriptor, DebugAnnotation, EventType, PerfettoTrace,
    ProcessDescriptor, SEQ_INCREMENTAL_STATE_CLEARED, TracePacket, TrackDescriptor, TrackEvent,
};
use destage_types::Nanos;
use prost::Message;
use std::io::{self, Write};

/// Packets that are written at a time.
const BATCH: usize = 1000;
/// All packets come from one writer.
const SEQUENCE: u32 = 1;

/// A track.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Track(u64);

/// How a slice begins.
#[derive(Default)]
pub struct Slice<'a> {
    pub name: &'a str,
    pub category: &'a str,
    /// Its annotations.
    pub says: Vec<DebugAnnotation>,
    /// Flows that begin here.
    pub flows: Vec<u64>,
    /// Flows that end here.
    pub flows_in: Vec<u64>,
}

/// An annotation with a number.
pub fn number(name: &str, value: impl Into<u64>) -> DebugAnnotation {
    DebugAnnotation {
        name: name.to_owned(),
        uint_value: Some(value.into()),
    }
}

/// Writes packets to `out`. Events of a track are given in the order of time.
pub struct TraceWriter<'a> {
    out: &'a mut dyn Write,
    batch: PerfettoTrace,
    tracks: u64,
    groups: i32,
}

impl TraceWriter<'_> {
    pub fn new(out: &mut dyn Write) -> TraceWriter<'_> {
        TraceWriter {
            out,
            batch: PerfettoTrace::default(),
            tracks: 0,
            groups: 0,
        }
    }

    /// A group of tracks, which are shown in the order in which they are made.
    pub fn group(&mut self, name: &str) -> io::Result<Track> {
        self.groups += 1;
        self.describe(TrackDescriptor {
            process: Some(ProcessDescriptor {
                pid: self.groups,
                process_name: name.to_owned(),
            }),
            child_ordering: CHILD_ORDERING_EXPLICIT,
            ..TrackDescriptor::default()
        })
    }

    /// A track of slices. Those of a group have different names, or they would be shown as one.
    pub fn track(&mut self, group: Track, name: &str) -> io::Result<Track> {
        self.describe(TrackDescriptor {
            name: name.to_owned(),
            parent_uuid: Some(group.0),
            ..TrackDescriptor::default()
        })
    }

    /// A track of values.
    pub fn counter(&mut self, group: Track, name: &str) -> io::Result<Track> {
        self.describe(TrackDescriptor {
            name: name.to_owned(),
            parent_uuid: Some(group.0),
            counter: Some(CounterDescriptor {}),
            ..TrackDescriptor::default()
        })
    }

    fn describe(&mut self, track: TrackDescriptor) -> io::Result<Track> {
        self.tracks += 1;
        let first = self.tracks == 1;
        self.packet(TracePacket {
            sequence_flags: if first {
                SEQ_INCREMENTAL_STATE_CLEARED
            } else {
                0
            },
            track_descriptor: Some(TrackDescriptor {
                uuid: self.tracks,
                sibling_order_rank: i32::try_from(self.tracks).ok(),
                ..track
            }),
            ..TracePacket::default()
        })?;
        Ok(Track(self.tracks))
    }

    pub fn begin(&mut self, track: Track, at: Nanos, slice: Slice<'_>) -> io::Result<()> {
        let category = Some(slice.category).filter(|category| !category.is_empty());
        self.event(
            at,
            TrackEvent {
                r#type: EventType::SliceBegin.into(),
                track_uuid: track.0,
                name: Some(slice.name.to_owned()),
                categories: category.map(str::to_owned).into_iter().collect(),
                debug_annotations: slice.says,
                flow_ids: slice.flows,
                terminating_flow_ids: slice.flows_in,
                ..TrackEvent::default()
            },
        )
    }

    /// The slice of the track that began last and has not ended ends.
    pub fn end(&mut self, track: Track, at: Nanos) -> io::Result<()> {
        self.event(
            at,
            TrackEvent {
                r#type: EventType::SliceEnd.into(),
                track_uuid: track.0,
                ..TrackEvent::default()
            },
        )
    }

    /// The value of a counter from now on.
    pub fn value(&mut self, track: Track, at: Nanos, value: i64) -> io::Result<()> {
        self.event(
            at,
            TrackEvent {
                r#type: EventType::Counter.into(),
                track_uuid: track.0,
                counter_value: Some(value),
                ..TrackEvent::default()
            },
        )
    }

    fn event(&mut self, at: Nanos, event: TrackEvent) -> io::Result<()> {
        self.packet(TracePacket {
            timestamp: Some(at.0),
            track_event: Some(event),
            ..TracePacket::default()
        })
    }

    fn packet(&mut self, packet: TracePacket) -> io::Result<()> {
        self.batch.packet.push(TracePacket {
            trusted_packet_sequence_id: SEQUENCE,
            ..packet
        });
        if self.batch.packet.len() < BATCH {
            Ok(())
        } else {
            self.write()
        }
    }

    fn write(&mut self) -> io::Result<()> {
        self.out.write_all(&self.batch.encode_to_vec())?;
        self.batch.packet.clear();
        Ok(())
    }

    /// Everything was given.
    pub fn finish(mut self) -> io::Result<()> {
        self.write()?;
        self.out.flush()
    }
}
