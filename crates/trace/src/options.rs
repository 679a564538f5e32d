//! How a trace is read.

use std::fmt;
use std::str::FromStr;

use crate::mapping::Mapping;
use crate::sink::Restarts;
use crate::tags::TagSet;
use crate::time_unit::TimeUnit;
use crate::volume::Volumes;

/// How to read a trace.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Name of a format or of a mapping, or FILE.toml:NAME for a mapping of that file; `None`: told by the content.
    pub format: Option<String>,
    /// Stop after that many requests. The hash covers the whole file nevertheless.
    pub limit: Option<u64>,
    /// Count bad lines and go on, instead of stopping at the first one.
    pub skip_bad_lines: bool,
    /// Compute the hash of the file as stored. Further passes over a trace do without.
    pub hash: bool,
    /// Treatment of the volumes of a trace that has several.
    pub volumes: Volumes,
    /// The event of a trace of kernel events that counts as a request; `None`: the usual one of the
    /// format.
    pub event: Option<BlkEvent>,
    /// Keep requests of these kinds only; `None`: all.
    pub tags: Option<TagSet>,
    /// The unit of the times, if it is not that of the format.
    pub time_unit: Option<TimeUnit>,
    /// Which columns of a table hold what; `None`: told by their names.
    pub columns: Option<Mapping>,
    /// What to do where the clock of the trace starts again.
    pub restarts: Restarts,
}

impl Default for LoadOptions {
    /// Detected format, all requests, bad lines are errors, with hash, volumes stacked, the usual event.
    fn default() -> LoadOptions {
        LoadOptions {
            format: None,
            limit: None,
            skip_bad_lines: false,
            hash: true,
            volumes: Volumes::Stack,
            event: None,
            time_unit: None,
            tags: None,
            columns: None,
            restarts: Restarts::Raise,
        }
    }
}

/// The block event that counts as a request; each request passes most of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BlkEvent {
    /// `Q`: the file system or a process asks for it.
    #[default]
    Queue,
    /// `G`: a request of the kernel is allocated.
    Get,
    /// `I`: it enters the I/O scheduler, merged requests as one.
    Insert,
    /// `D`: it is sent to the device, merged requests as one.
    Issue,
    /// `C`: the device has completed it.
    Complete,
}

/// An event, its letter in `blkparse` and its name in the kernel.
pub(crate) type EventRow = (BlkEvent, &'static str, &'static str);
pub(crate) const EVENTS: [EventRow; 5] = [
    (BlkEvent::Queue, "Q", "block_bio_queue"),
    (BlkEvent::Get, "G", "block_getrq"),
    (BlkEvent::Insert, "I", "block_rq_insert"),
    (BlkEvent::Issue, "D", "block_rq_issue"),
    (BlkEvent::Complete, "C", "block_rq_complete"),
];

impl BlkEvent {
    /// The event that `blkparse` calls so.
    pub(crate) fn of_letter(letter: &[u8]) -> Option<BlkEvent> {
        let mut rows = EVENTS.iter();
        rows.find(|row| row.1.as_bytes() == letter).map(|row| row.0)
    }

    /// The event that the kernel calls so.
    pub(crate) fn of_name(name: &[u8]) -> Option<BlkEvent> {
        let mut rows = EVENTS.iter();
        rows.find(|row| row.2.as_bytes() == name).map(|row| row.0)
    }
}

impl fmt::Display for BlkEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EVENTS[*self as usize].1)
    }
}

impl FromStr for BlkEvent {
    type Err = String;

    fn from_str(text: &str) -> Result<BlkEvent, String> {
        let event = BlkEvent::of_letter(text.as_bytes());
        event.ok_or_else(|| format!("`{text}` is none of the events Q, G, I, D, C"))
    }
}
