//! Values that the cache and its scheme exchange.

use super::View;
use crate::store::IndexEntry;
use destage_types::{ChannelId, ChipId, Extent, Lpn, Nanos, Op, SectorMask, Slot};

/// A host request as schemes see it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Number of the request in the run, from 1; unique also across warm-up passes.
    pub id: u64,
    /// Read or write; schemes are not told of TRIM and FLUSH as requests.
    pub op: Op,
    /// Arrival.
    pub now: Nanos,
    /// Sectors, in the order of the request.
    pub extents: &'a [Extent],
    /// Page accesses of the request: more than 2^32 if it has many long extents.
    pub pages: u64,
    /// Bytes of the request.
    pub bytes: u64,
}

/// The numbers of a page access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessId {
    /// Number of the request, see [`Request::id`].
    pub request: u64,
    /// Number of the page access in the run, from 1 (`page_seq`).
    pub seq: u64,
}

/// One page of a request.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The page.
    pub lpn: Lpn,
    /// Read or write.
    pub op: Op,
    /// Arrival of the request.
    pub now: Nanos,
    /// Number of the request, see [`Request::id`].
    pub request: u64,
    /// Number of the page access in the run, from 1 (`page_seq`).
    pub seq: u64,
    /// Sectors of the page that the request covers.
    pub sectors: SectorMask,
    /// The entry of the page in the cache's index, if it was looked up.
    pub(crate) entry: IndexEntry,
}

impl Access {
    /// The page access of these values, of which nothing was looked up yet.
    #[inline(always)]
    pub fn new(
        AccessId { request, seq }: AccessId,
        now: Nanos,
        op: Op,
        lpn: Lpn,
        sectors: SectorMask,
    ) -> Access {
        Access {
            lpn,
            op,
            now,
            request,
            seq,
            sectors,
            entry: IndexEntry::BLANK,
        }
    }

    /// The same, with what the index of the cache has of the page.
    #[inline(always)]
    pub fn looked_up(self, entry: IndexEntry) -> Access {
        Access { entry, ..self }
    }

    /// The entry of the page in the cache's index when the access began.
    #[inline(always)]
    pub fn entry(&self) -> IndexEntry {
        self.entry
    }
}

/// Why a page leaves the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemoveReason {
    /// It was (part of) a victim: the scheme may remember it.
    Evicted,
    /// TRIM, bypass, discard of a superseded copy, or written back in the background: nothing may
    /// be remembered.
    Discarded,
}

/// Events of pages and requests besides accesses.
#[derive(Clone, Copy, Debug)]
pub enum SchemeNotice<'a> {
    /// All pages of the request are done.
    RequestEnd(&'a Request<'a>),
    /// The write waits for frames of a bounded buffer, and other requests are served before it goes
    /// on. The facts about it are needed again then.
    RequestWaits(&'a Request<'a>),
    /// The write that had waited goes on with its next page.
    RequestResumed(&'a Request<'a>),
    /// The page of the access is in this slot, but a sector that it reads is not valid: not a hit (D2).
    PartialHit(Slot, &'a Access),
    /// These dirty pages are clean now and stay; the frames say so already.
    Cleaned(&'a [Slot]),
    /// This page, which is not cached, holds other data or none from now on: forget its history.
    Forgotten(Lpn),
}

/// The decision of an admission layer about a write request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// Page by page (`admit` is asked).
    PerPage,
    /// Drop what is cached of it, make room for all of it, insert all pages. Counts as all misses.
    Whole,
    /// To flash; what is cached of it is superseded. Counts as all misses.
    Bypass,
}

/// Where the pages of a unit go on flash (D6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// Each page where the translation layer allocates it.
    #[default]
    Stripe,
    /// All pages to the write frontier of plane (unit id mod planes), one after the other.
    SingleBlock,
}

/// Pages that leave together. The core owns one and reuses its memory.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    /// The pages; the core programs the dirty ones in ascending LPN.
    pub slots: Vec<Slot>,
    /// Placement of the programs.
    pub placement: Placement,
    /// Number of the unit (block number), for [`Placement::SingleBlock`].
    pub id: u64,
    /// Absent pages that are read first and programmed with the others (BPLRU padding), ascending.
    pub pad: Vec<Lpn>,
    /// Clean pages are programmed too: the block leaves complete.
    pub whole: bool,
}

impl Unit {
    /// Empties the unit but keeps its memory.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.pad.clear();
        self.whole = false;
        self.placement = Placement::Stripe;
        self.id = 0;
    }

    /// Asks `stop` about the unit, which is empty again if that says no.
    #[inline]
    pub fn stops(&mut self, stop: &mut dyn FnMut(&Unit) -> bool) -> bool {
        let stopped = stop(self);
        if !stopped {
            self.clear();
        }
        stopped
    }

    /// Asks `stop` about the page in `slot` as a unit; see [`Unit::stops`].
    #[inline]
    pub fn stops_at(&mut self, slot: Slot, stop: &mut dyn FnMut(&Unit) -> bool) -> bool {
        self.slots.push(slot);
        self.stops(stop)
    }

    /// The chip on which the page in `slot` is programmed as part of the unit (D6).
    #[inline]
    pub fn chip(&self, slot: Slot, v: &View) -> ChipId {
        match self.placement {
            Placement::SingleBlock if !v.device.spreads_groups() => v.chip_of_unit(self.id),
            Placement::SingleBlock | Placement::Stripe => v.chip(slot),
        }
    }

    /// The page of a unit that is one page and nothing else.
    #[inline]
    pub fn single_page(&self) -> Option<Slot> {
        let simple = self.placement == Placement::Stripe && self.pad.is_empty() && !self.whole;
        match self.slots.as_slice() {
            &[slot] if simple => Some(slot),
            _ => None,
        }
    }
}

/// The pages that leave to make room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Victim {
    /// This page.
    Page(Slot),
    /// The pages of the unit.
    Unit,
}

/// A 4 KiB block of a write and the address its old copy had (CAC section 4.1).
#[derive(Clone, Copy, Debug)]
pub struct Update {
    /// Address that is written now.
    pub current: Lpn,
    /// Address of the old copy, if the host named one.
    pub previous: Option<Lpn>,
    /// Part of an atomic write.
    pub atomic: bool,
}

/// Changes of cached pages because of an [`Update`], before the write itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RenamePlan {
    /// Everything the scheme below remembers of the current address is other data: forget it.
    pub forget: bool,
    /// This page or ghost becomes the current page; dropped instead if the latter is cached.
    pub source: Option<Lpn>,
    /// May `source` be a ghost?
    pub ghosts: bool,
    /// This page, if cached, is superseded: drop it without a flash write.
    pub discard: Option<Lpn>,
    /// The flash copy of `source` is invalid after the remap (CAC-6).
    pub unmap: bool,
}

/// A page that a scheme keeps for the background layer outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BackgroundPage {
    /// Where it is.
    pub slot: Slot,
    /// Can no later write extend the stream that wrote it (PR-9)?
    pub outdated: bool,
}

/// The state of written-back pages when a background write-back completes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum After {
    /// They leave the cache.
    Remove,
    /// They stay and are clean.
    KeepClean,
}

/// In which class write-backs are programmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteClass {
    /// Below the operations of the host and of garbage collection. A page is written as it is when its
    /// program starts. Until then an access takes the write-back back.
    Background,
    /// With the operations of the host. The page is handed over: it is written as it is when its
    /// program is queued, is clean from then on, and its write-back is never taken back. A page that is
    /// written again is dirty anew, and may be handed over anew.
    Host,
}

/// When the cache asks a scheme for write-backs, and their class. A scheme declares it
/// ([`SchemeInfo::write_backs`](crate::SchemeInfo::write_backs)).
///
/// Without a device no scheme is asked. At one instant the order is: ends of programs, the time that was
/// named, idle channels, requests of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteBackRules {
    /// [`Occasion::IdleChannel`].
    pub on_idle_channel: bool,
    /// [`Occasion::Page`].
    pub on_page: bool,
    /// [`Occasion::ProgramEnd`].
    pub on_program_end: bool,
    /// [`Occasion::Time`], for the first time at the start. A scheme may name times on every occasion,
    /// whether or not it declares this.
    pub at_start: bool,
    /// The class of all its write-backs.
    pub class: WriteClass,
}

impl WriteBackRules {
    /// Never asked.
    pub const NEVER: WriteBackRules = WriteBackRules {
        on_idle_channel: false,
        on_page: false,
        on_program_end: false,
        at_start: false,
        class: WriteClass::Background,
    };

    /// Asked on idle channels, in the background: what a background layer is unless it says otherwise.
    pub const WHILE_IDLE: WriteBackRules = WriteBackRules {
        on_idle_channel: true,
        ..WriteBackRules::NEVER
    };
}

/// Why a scheme is asked for write-backs now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Occasion {
    /// The channel has nothing to do for the host or for garbage collection.
    IdleChannel(ChannelId),
    /// The page in this slot came in, clean or dirty, or was written. The pages of the request that
    /// follow it have not been served.
    Page(Slot),
    /// A program of host data ended: of a write-back, an eviction, FLUSH or a bypass. Asked once for
    /// all that end at one instant.
    ProgramEnd,
    /// The time has come that the scheme named.
    Time,
}

/// The question for write-backs.
#[derive(Clone, Copy)]
pub struct WriteBackQuery<'a> {
    /// Why it is asked.
    pub occasion: Occasion,
    /// Write-backs that are queued or running: of the idle channel, or on other occasions of the drive.
    pub outstanding: u32,
    /// Programs of the host that are queued or running, each of one unit of the drive.
    pub units: u32,
    /// Must the dirty page in this slot stay? A write-back of it is queued or running (never in the host's class), or
    /// the drive has room for other pages only.
    pub busy: &'a dyn Fn(Slot) -> bool,
}

/// The answer of a scheme that is asked for write-backs. It is asked again on the same occasion
/// until it names no pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteBack {
    /// The pages of the unit, all of them dirty.
    Unit(Terms),
    /// Nothing on this occasion.
    Nothing,
    /// Nothing, nor on another idle channel until the cache or the device changes.
    Nowhere,
    /// Nothing now; ask again at this time, which is to come. It replaces a time named before.
    At(Nanos),
}

/// Rules for the pages of a write-back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// Their state when it completes.
    pub after: After,
    /// Does a read take a queued write-back back as well, as writes, TRIM and renames do?
    pub yields_to_reads: bool,
}

impl Terms {
    /// The pages leave the cache. Every access takes a queued write-back back.
    pub const REMOVE: Terms = Terms {
        after: After::Remove,
        yields_to_reads: true,
    };

    /// The pages stay, clean. Every access takes a queued write-back back.
    pub const KEEP_CLEAN: Terms = Terms {
        after: After::KeepClean,
        yields_to_reads: true,
    };
}
