//! The contract of a cache scheme: one trait, every method in one stage.
//!
//! The cache core owns frames, masks and counters and does all acting; a scheme owns orders, ghosts
//! and counters and decides. For one host request the core calls, in this order:
//!
//! 1. **rename** - `rename_plan`, `forget`, `rename` for every 4 KiB block that names an old address;
//! 2. **classification** - `request`, for reads as well, and for writes that are bypassed later;
//! 3. **admission** - `admit_request` for a write, then per written page `admit_page`;
//! 4. **placement** - per page, ascending: a hit is told by `touch`; a miss by `expect`, then, while
//!    `full` says so, one unit leaves (5), then `insert`;
//! 5. **victim** - `page_victim` names a page, or else `victim` a unit, and `remove(.., Evicted)`
//!    follows for each page of it;
//! 6. `request_done`, after the last page.
//!
//! Between requests the engine asks for **write-back** work (`background`).
//!
//! Methods with `&self` never change anything. A wrapper forwards what it leaves alone with
//! [`forward!`](macro@crate::forward); `expect` is called exactly once per insertion, so that adaptation
//! (ARC) happens once, whatever number of units leaves; `remove` says why, because only an evicted
//! page may leave a ghost.

use crate::ahead::Ahead;
use crate::forward;
use crate::frames::Entry;
use crate::view::View;
use destage_types::{ChannelId, Extent, Lpn, Nanos, Op, SectorMask, Slot};

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
    /// Page accesses of the request.
    pub pages: u32,
    /// Bytes of the request.
    pub bytes: u64,
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
    /// Number of the page access in the run, from 1.
    pub seq: u64,
    /// Sectors of the page that the request covers.
    pub sectors: SectorMask,
    /// What the index of the cache has of the page, if that was looked up; [`Entry::BLANK`]
    /// otherwise.
    pub entry: Entry,
}

/// Why a page leaves the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It was (part of) a victim: the scheme may remember it.
    Evicted,
    /// TRIM, bypass, discard of a superseded copy, or written back in the background: nothing may
    /// be remembered.
    Gone,
}

/// What an admission layer decides about a write request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// Page by page (`admit_page` is asked).
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

    /// The page of a unit that is one page and nothing else.
    #[inline]
    pub fn single_page(&self) -> Option<Slot> {
        let simple = self.placement == Placement::Stripe && self.pad.is_empty() && !self.whole;
        match self.slots.as_slice() {
            &[slot] if simple => Some(slot),
            _ => None,
        }
    }

    /// Makes the empty unit that of one page, if there is one.
    #[inline]
    pub fn one(&mut self, slot: Option<Slot>) {
        if let Some(slot) = slot {
            self.slots.push(slot);
        }
    }
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

/// What is to happen to cached pages because of an [`Update`], before the write itself.
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

/// What becomes of the pages of a background write-back when it completes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum After {
    /// They leave the cache.
    Remove,
    /// They stay and are clean.
    KeepClean,
}

/// Pages that may be written back, see [`Scheme::flush_candidates`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The page.
    pub slot: Slot,
    /// No later write can extend the stream the page belongs to (age at least `rip`).
    pub outdated: bool,
}

/// Which pages a background layer may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Pages of large sequential writes only.
    Ldr,
    /// These first, then the victims of the base in their order.
    LdrThenBase,
}

/// A cache-management scheme. See the [module documentation](self) for the order of calls.
pub trait Scheme {
    // ---- rename

    /// What an update means for cached pages. Only `cac` says anything.
    fn rename_plan(&mut self, _update: &Update, _v: &View) -> RenamePlan {
        RenamePlan::default()
    }

    /// Does the scheme want `rename_plan` for every block of a write? `named` says whether the
    /// write names old addresses. Only `cac` wants it, and nothing can change while no write did.
    #[inline]
    fn tracks_updates(&self, _named: bool) -> bool {
        false
    }

    /// Page `from` is page `to` from now on (D11). With a slot: the page in it was `from`, and
    /// `v.frames` already says `to`. Without: answer whether a ghost of `from` existed, and
    /// rename it. Ghosts of `to` were forgotten before.
    fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) -> bool;

    // ---- classification

    /// A read or write request begins.
    fn request(&mut self, _r: &Request, _v: &View) {}

    /// All its pages are done.
    fn request_done(&mut self, _r: &Request, _v: &View) {}

    // ---- admission

    /// May the write request enter the cache, and how?
    fn admit_request(&mut self, _r: &Request, _v: &View) -> Admission {
        Admission::PerPage
    }

    /// May this written page, hit or miss, enter the cache? `false` sends it to flash.
    fn admit_page(&mut self, _a: &Access, _v: &View) -> bool {
        true
    }

    /// May this read miss enter the cache? Asked only with read allocation, before room is made;
    /// admission layers refuse read allocation, so only off-line policies say no.
    #[inline]
    fn admit_read(&mut self, _a: &Access, _v: &View) -> bool {
        true
    }

    // ---- placement

    /// Most ghosts whose slots the scheme keeps. Slots are below `Env::slots` plus this.
    fn most_kept(&self) -> u32 {
        0
    }

    /// Asked after `remove(slot, Evicted)` and `forget`: does the scheme keep the slot, to
    /// remember the page in it? It then stays with the page until [`Scheme::give_up`] names it,
    /// the page is forgotten, or it comes back: `insert` gets the same slot. A page that is
    /// cached is never remembered as well.
    #[inline]
    fn keeps(&self, _slot: Slot) -> bool {
        false
    }

    /// A slot that is not kept any longer. Asked after every `insert` and `touch`, until there is
    /// none.
    #[inline]
    fn give_up(&mut self) -> Option<Slot> {
        None
    }

    /// Must a unit leave before page `a` can enter?
    #[inline]
    fn full(&self, _a: &Access, v: &View) -> bool {
        v.frames.used() >= v.frames.capacity()
    }

    /// Page `a` is about to be inserted: adapt. Exactly once per insertion, before room is made.
    #[inline]
    fn expect(&mut self, _a: &Access, _v: &View) {}

    /// Page `a` is in `slot` now; `v.frames` holds it.
    fn insert(&mut self, slot: Slot, a: &Access, v: &View);

    /// Page `a`, which is in `slot`, is hit. `v.frames` still has the state before the access.
    fn touch(&mut self, slot: Slot, a: &Access, v: &View);

    /// Page `a` is in `slot`, but a sector it reads is not valid: no touch (D2). For off-line
    /// policies, which count any access to a resident page as its next use.
    #[inline]
    fn foresee(&mut self, _slot: Slot, _a: &Access, _v: &View) {}

    /// The page in `slot` leaves; `v.frames` still holds it.
    fn remove(&mut self, slot: Slot, why: Why, v: &View);

    /// These dirty pages are clean now but stay (FLUSH, background write-back, TRIM of their
    /// dirty sectors); `v.frames` says so already.
    fn cleaned(&mut self, _slots: &[Slot], _v: &View) {}

    /// Brings what the scheme knows of pages that are accessed soon into the processor's cache by
    /// reading it, see [`crate::ahead`]. What it returns means nothing, but must be used. Schemes
    /// with large histories look there; nothing may change.
    #[inline]
    fn look_ahead(&self, _ahead: &Ahead) -> u64 {
        0
    }

    /// Forget the history of page `lpn`, which is not cached.
    fn forget(&mut self, _lpn: Lpn, _v: &View) {}

    /// Pages the scheme holds; equals `v.frames.used()` between calls.
    fn size(&self) -> usize;

    // ---- victim

    /// Names the page that leaves to let `a` in, in schemes whose units are single pages on
    /// [`Placement::Stripe`]: never `None` while `size() > 0`. A second-chance scheme may move its
    /// hand here. Schemes with other units have no answer.
    #[inline]
    fn page_victim(&mut self, _a: &Access, _v: &View) -> Option<Slot> {
        None
    }

    /// Names the unit that leaves to let `a` in; never empty while `size() > 0`. The core asks
    /// either for this or for the page.
    #[inline]
    fn victim(&mut self, a: &Access, v: &View, out: &mut Unit) {
        out.one(self.page_victim(a, v));
    }

    /// Victims in the order in which `victim` would choose them if nothing else happened, until
    /// `f` says true; that slot is the answer. `None`: all were offered, or there is no order.
    fn candidates(&self, v: &View, f: &mut dyn FnMut(Slot) -> bool) -> Option<Slot>;

    /// For a group leaf: the unit that leaves next if nothing else happens, for background
    /// layers. Page leaves leave `out` empty.
    fn next_group(&self, _v: &View, _out: &mut Unit) {}

    // ---- write-back

    /// Pages of large sequential writes on `channel`, oldest first, until `f` takes one.
    fn flush_candidates(
        &self,
        _channel: ChannelId,
        _v: &View,
        _f: &mut dyn FnMut(Candidate) -> bool,
    ) -> Option<Slot> {
        None
    }

    /// Might [`Scheme::flush_candidates`] have a page, on any channel?
    fn has_flush_candidates(&self) -> bool {
        true
    }

    /// Might [`Scheme::background`] name anything now, on any channel? If not it is not asked:
    /// mostly there is nothing, and otherwise every channel would be asked at every instant.
    fn has_background(&self) -> bool {
        true
    }

    /// Fills `out` with a unit to write back on `channel`, on which `outstanding` write-backs are
    /// queued or started, and says what comes after; `None`: nothing to do. `busy(slot)` says that
    /// a page is queued or in flight already.
    fn background(
        &mut self,
        _channel: ChannelId,
        _outstanding: u32,
        _busy: &dyn Fn(Slot) -> bool,
        _v: &View,
        _out: &mut Unit,
    ) -> Option<After> {
        None
    }

    /// Does this access to a page cancel its queued write-back?
    fn cancels(&self, _op: Op) -> bool {
        true
    }

    // ---- measures

    /// Bytes of metadata now: live nodes times node size plus fixed structures.
    fn meta_bytes(&self) -> u64;

    /// Counters of the scheme's own, reported as `scheme_stats`.
    fn stats(&self, _f: &mut dyn FnMut(&'static str, u64)) {}

    /// Req-block: pages in IRL, SRL and DRL (Req-block section 4.2.6).
    fn list_pages(&self) -> Option<[u64; 3]> {
        None
    }

    // ---- conformance

    /// The state as the worked examples print it.
    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String);

    /// Moves the words noted since the last call to `out`.
    #[cfg(feature = "conformance")]
    fn take_notes(&mut self, _out: &mut Vec<(crate::notes::Column, String)>) {}
}

/// Any scheme behind a pointer: the same decisions through dynamic calls, for compositions that
/// have no static type of their own.
pub struct Boxed(pub Box<dyn Scheme + Send>);

impl Scheme for Boxed {
    forward!(0: look_ahead ghosts rename_plan tracks_updates rename request request_done admit_request admit_page
        admit_read full expect insert touch foresee remove cleaned forget size victim candidates
        next_group flush_candidates background cancels measures conformance);
}
