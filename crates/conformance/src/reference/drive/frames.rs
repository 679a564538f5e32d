//! The drive's interface to its buffer: which frame holds which data, and in which state.

use super::outcome::DriveRequest;

/// State of the newest data of a logical unit in the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameState {
    /// Not handed over.
    Dirty,
    /// In an open, queued or running unit, at this place.
    Occupied(usize),
    /// Flash has it.
    Clean,
}

/// The frame with the newest data of a logical unit.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Its state.
    pub state: FrameState,
    /// Sectors of 512 bytes that are there.
    pub sectors: u128,
}

/// How a write to a page went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// Into the frame that was there.
    Hit,
    /// Into a frame that was free or clean.
    Granted,
    /// There is none.
    Waits,
    /// A victim has left for it; its data are handed over first.
    MadeRoom,
}

/// The fate of a page that a read missed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missed {
    /// It came in.
    Entered,
    /// It did not.
    Passed,
    /// A victim has left for it; its data are handed over first.
    MadeRoom,
}

/// How a write comes in, as an admission layer says.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Entry {
    /// Page by page.
    #[default]
    Pages,
    /// As a whole: what is cached of it is dropped first.
    Whole,
    /// Past the cache.
    Past,
}

/// State of a write while its pages come in.
#[derive(Clone, Copy, Default, Debug)]
pub struct Passage {
    /// How it comes in.
    pub entry: Entry,
    /// Has its turn come?
    pub begun: bool,
    /// Is the next page cached? Asked once.
    pub cached: Option<bool>,
    /// Is room being made for newer data of a page that is under way?
    pub replaces: bool,
}

/// A page of a write.
#[derive(Clone, Copy, Debug)]
pub struct PageWrite {
    /// Logical unit.
    pub lpn: usize,
    /// Sectors of it.
    pub sectors: u128,
    /// Are the page's data in an open unit?
    pub unit_open: bool,
    /// Does nobody wait for a frame before it?
    pub first: bool,
}

/// Data that have left the cache and are to be programmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Left {
    /// Logical unit.
    pub lpn: usize,
    /// Sectors that are there.
    pub sectors: u128,
}

/// A request as schemes see it.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Its number, from 0.
    pub number: usize,
    /// The request.
    pub request: DriveRequest,
    /// When.
    pub now: u64,
}

/// Sectors of a mapping unit between two bytes of it.
pub(super) fn sectors(start: u64, end: u64) -> u128 {
    let below = |byte: u64| match byte / 512 {
        128.. => u128::MAX,
        n => (1 << n) - 1,
    };
    below(end.div_ceil(512) * 512) & !below(start)
}
