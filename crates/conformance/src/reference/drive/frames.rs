//! The drive's interface to its buffer: which frame holds which data, and in which state.

use super::dies::SlowDies;
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

/// The buffer.
pub trait Frames {
    /// The newest data of a logical unit.
    fn frame(&self, lpn: usize) -> Option<Frame>;

    /// Pages not handed over, ascending.
    fn dirty_pages(&self) -> Vec<usize>;

    /// How many there are.
    fn dirty(&self) -> usize;

    /// The next of them in order that `fits`; `None` if it is not the first one, unless others may be passed over.
    fn next_dirty(&self, fits: &dyn Fn(usize) -> bool, passes_over: bool) -> Option<usize>;

    /// A read used a page.
    fn read_hit(&mut self, lpn: usize);

    /// A read missed sectors of a page that has a frame.
    fn read_in_part(&mut self, _lpn: usize) {}

    /// A read missed a page that is not to enter.
    fn read_past(&mut self) {}

    /// A read missed; its data enter if a frame is free or clean. Asked again after a victim has left for it.
    fn read_miss(&mut self, lpn: usize, sectors: u128, again: bool) -> Missed;

    /// A write of some sectors of a page.
    fn write(&mut self, page: &PageWrite, passage: &mut Passage) -> Written;

    /// A page has been handed over to this place.
    fn occupy(&mut self, lpn: usize, place: usize);

    /// On demand: these dirty pages are programmed and stay.
    fn written(&mut self, _lpns: &[usize]) {}

    /// The frame that held the data of this place is free.
    fn release(&mut self, lpn: usize, place: usize);

    /// Frames that hold nothing; panics if one were free and occupied.
    fn free(&self) -> usize;

    /// A request comes.
    fn begins(&mut self, _seen: &Seen) -> Passage {
        Passage::default()
    }

    /// A write that waits goes on.
    fn resumes(&mut self, _seen: &Seen) {}

    /// It waits again, and others are served.
    fn waits(&mut self, _seen: &Seen) {}

    /// Are victims asked for one by one, and leave when they are handed over?
    fn asks_for_victims(&self) -> bool {
        false
    }

    /// Drops the cached pages of a write that comes in as a whole, or goes past the cache. Is there
    /// room for it, or has a victim left that is handed over first?
    fn drops(&mut self, _seen: &Seen, _entry: Entry) -> bool {
        true
    }

    /// Do victims or a layer depend on the dies?
    fn looks_at_dies(&self) -> bool {
        false
    }

    /// Is there a layer that writes back on idle channels?
    fn has_layer(&self) -> bool {
        false
    }

    /// The dies are like this now.
    fn sees_dies(&mut self, _dies: SlowDies) {}

    /// Pages that a layer writes back on an idle channel, ascending. It passes busy ones over.
    fn names(&mut self, _channel: usize, _busy: &dyn Fn(usize) -> bool) -> Vec<usize> {
        Vec::new()
    }

    /// A page that a layer named has been handed over.
    fn begin_flight(&mut self, _lpn: usize, _place: usize, _channel: usize) {}

    /// These sectors of a page hold no data any more.
    fn trim(&mut self, lpn: usize, sectors: u128);

    /// The next victim leaves, for a page of a write that waits. Is there one?
    fn evict_for(&mut self, _seen: &Seen, _lpn: usize) -> bool {
        false
    }

    /// Pages that have left since this was asked last, and places of data under way whose pages
    /// have left.
    fn take_left(&mut self) -> (Vec<Left>, Vec<usize>) {
        (Vec::new(), Vec::new())
    }
}
