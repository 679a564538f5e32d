//! The frames of the cache: which page is where, and which of its sectors are valid and dirty.
//!
//! The cache core (crate `sim`) owns and changes a [`Frames`]; schemes see it read-only through
//! [`crate::View`].

mod word;

use self::word::{ALL_DIRTY, DIRTY, FLAGS, FULL, FrameWord, GHOST, USED};
use super::page_index::{PageIndex, Place};
use super::prefetch::Upcoming;
use destage_types::{Lpn, PageSize, SectorMask, Slot};

/// Chunks of the index that are never too many: 16 MiB.
const LEAST_CHUNKS: usize = 8192;

/// An entry of the cache's index, read for one page: its place in the index, and the slot it names
/// there. Good for one access of the page: the entry changes when the page comes in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexEntry {
    place: Place,
    /// A slot in which no other page can be that is cached or remembered; none at all in an entry
    /// that was not looked up.
    slot: u32,
}

impl IndexEntry {
    /// The index was not asked.
    pub const BLANK: IndexEntry = IndexEntry {
        place: Place::BLANK,
        slot: u32::MAX,
    };
}

/// The state of a cached page after a TRIM of some of its sectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trimmed {
    /// No valid sector is left: the page must be removed.
    Emptied,
    /// Valid sectors are left, and the page is as clean or dirty as before.
    Kept,
    /// Valid sectors are left, none of them dirty any more.
    Cleaned,
}

/// The page frames of the cache: at most `capacity` pages, each with its LPN and sector masks.
///
/// A scheme may keep the slot of a page that was evicted, to remember it there: a ghost
/// ([`Scheme::ghosts`](crate::Scheme::ghosts)). There are more slots than the cache has frames then.
/// The index finds pages and ghosts alike, so a page that comes back, and comes back to its slot,
/// costs no lookup more than a page that stayed.
#[derive(Clone, Debug)]
pub struct Frames {
    page: PageSize,
    full: SectorMask,
    capacity: usize,
    /// Slot of a page. An entry counts only while the frame it names holds that page, so any
    /// number would do for pages that were never cached; with 0 an entry always names a frame.
    index: PageIndex<u32>,
    frames: Vec<FrameWord>,
    /// Masks of pages that are not wholly valid or dirty; the common case needs the flags alone.
    valid: Vec<SectorMask>,
    dirty: Vec<SectorMask>,
    /// The free frames are a list through the frames themselves, see [`FrameWord::free`]; at its end stands the
    /// number of frames.
    free: u32,
    used: usize,
    dirty_pages: u64,
    has_ghosts: bool,
    /// Chunks of the index from which on it is tidied up.
    most_chunks: usize,
    partial_trims: u64,
    /// Slots stay unused after their page left, for tests of what is kept by slot.
    #[cfg(feature = "conformance")]
    never_reuses_slots: bool,
}

/// How many pages and ghosts a cache has room for.
#[derive(Clone, Copy, Debug)]
pub struct FrameCounts {
    /// Pages that the cache may hold.
    pub capacity: u32,
    /// Pages that get a slot: fewer than the capacity where no more pages are ever touched.
    pub pages: u32,
    /// Most ghosts that are kept in slots.
    pub ghosts: u32,
}

impl FrameCounts {
    /// A slot for each page of `capacity`, and no ghosts.
    pub fn without_ghosts(capacity: u32) -> FrameCounts {
        FrameCounts {
            capacity,
            pages: capacity,
            ghosts: 0,
        }
    }
}

impl Frames {
    /// An empty cache of pages of size `page`.
    ///
    /// # Panics
    /// If there are 2^32 slots or more.
    pub fn new(counts: FrameCounts, page: PageSize) -> Frames {
        let FrameCounts {
            capacity,
            pages,
            ghosts,
        } = counts;
        let slots = pages.checked_add(ghosts).filter(|&n| n < u32::MAX);
        let n = slots.expect("a cache has fewer than 2^32 slots") as usize;
        Frames {
            capacity: capacity as usize,
            page,
            full: page.full_mask(),
            index: PageIndex::new(0),
            frames: vec![FrameWord(0); n],
            valid: vec![SectorMask::EMPTY; n],
            dirty: vec![SectorMask::EMPTY; n],
            free: 0,
            used: 0,
            dirty_pages: 0,
            has_ghosts: ghosts > 0,
            most_chunks: LEAST_CHUNKS,
            partial_trims: 0,
            #[cfg(feature = "conformance")]
            never_reuses_slots: false,
        }
    }

    /// Size of a page.
    #[inline]
    pub fn page(&self) -> PageSize {
        self.page
    }

    /// All sectors of a page.
    #[inline]
    pub fn full_mask(&self) -> SectorMask {
        self.full
    }

    /// Frames of the cache.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Number of slots; all are below it.
    #[inline]
    pub fn slots(&self) -> usize {
        self.frames.len()
    }

    /// Frames that hold a page.
    #[inline]
    pub fn used(&self) -> usize {
        self.used
    }

    /// The frame that holds page `lpn`, if it is cached.
    #[inline]
    pub fn slot_of(&self, lpn: Lpn) -> Option<Slot> {
        let slot = Slot(self.index.get(lpn.0));
        let frame = self.frames.get(slot.index())?;
        frame.holds(lpn).then_some(slot)
    }

    /// The slot in which page `lpn` is remembered, if it is.
    #[inline]
    pub fn ghost_of(&self, lpn: Lpn) -> Option<Slot> {
        let slot = Slot(self.index.get(lpn.0));
        let frame = self.frames.get(slot.index())?;
        (*frame == FrameWord::new(lpn, GHOST)).then_some(slot)
    }

    /// The slot in which page `lpn` is cached or remembered, if it is.
    #[inline]
    pub fn slot_or_ghost_of(&self, lpn: Lpn) -> Option<Slot> {
        self.slot_of(lpn).or_else(|| self.ghost_of(lpn))
    }

    /// Where the index has page `lpn`, for [`Frames::entry_at`].
    #[inline(always)]
    pub fn place(&self, lpn: Lpn) -> Place {
        self.index.place(lpn.0)
    }

    /// The index entry of page `lpn`, whose place was looked up before.
    #[inline(always)]
    pub fn entry_at(&self, lpn: Lpn, place: Place) -> IndexEntry {
        let slot = self.index.get_at(lpn.0, place);
        IndexEntry { place, slot }
    }

    /// As [`Frames::slot_of`], for a page of which `entry` was looked up before.
    #[inline(always)]
    pub fn slot_at(&self, lpn: Lpn, entry: IndexEntry) -> Option<Slot> {
        let slot = Slot(entry.slot);
        let frame = self.frames.get(slot.index())?;
        frame.holds(lpn).then_some(slot)
    }

    /// Forgets where pages were that are neither cached nor remembered, if that has come to take
    /// more memory than what the others need: with pages all over a large device it would grow
    /// for ever. No place that was looked up before may be used afterwards.
    #[inline(always)]
    pub fn tidy(&mut self) {
        if self.index.chunks() >= self.most_chunks {
            self.tidy_now();
        }
    }

    #[cold]
    #[inline(never)]
    fn tidy_now(&mut self) {
        let held = self.frames.iter().filter(|f| f.0 & (USED | GHOST) != 0);
        self.index.keep_only(held.map(|f| f.lpn().0));
        self.most_chunks = 2 * self.index.chunks() + LEAST_CHUNKS;
    }

    /// Looks up the pages `lpns` that are accessed soon, the first [`PREFETCH`](super::PREFETCH) of
    /// them, and notes them with their places and slots in `upcoming`. With `TOUCH` they count as touched, so that the
    /// processor has their places close when they come in; that takes an LRU without a device 8 % longer.
    #[inline(always)]
    pub fn prefetch<const TOUCH: bool>(
        &mut self,
        lpns: impl ExactSizeIterator<Item = Lpn>,
        upcoming: &mut Upcoming,
    ) {
        let (own, places, slots) = upcoming.parts(lpns.len());
        for ((own, place), lpn) in own.iter_mut().zip(&mut *places).zip(lpns) {
            *own = lpn;
            *place = if TOUCH {
                self.index.touch_near(lpn.0)
            } else {
                self.index.place(lpn.0)
            };
        }
        for (slot, place) in slots.iter_mut().zip(places) {
            *slot = *self.index.at_known(*place);
        }
        let look = |&slot: &u32| self.frames.get(slot as usize).map_or(0, |frame| frame.0);
        std::hint::black_box(slots.iter().map(look).fold(0, |mixed, read| mixed ^ read));
    }

    /// Page in frame `slot`, or the page that is remembered there. Meaningless for a free frame.
    #[inline]
    pub fn lpn(&self, slot: Slot) -> Lpn {
        self.frames[slot.index()].lpn()
    }

    /// Has the page a sector that flash does not have?
    #[inline]
    pub fn is_dirty(&self, slot: Slot) -> bool {
        self.frames[slot.index()].has(DIRTY)
    }

    /// Is every sector of the page valid?
    #[inline]
    pub fn is_full(&self, slot: Slot) -> bool {
        self.frames[slot.index()].has(FULL)
    }

    /// Is every sector of `mask` valid?
    #[inline]
    pub fn has(&self, slot: Slot, mask: SectorMask) -> bool {
        self.is_full(slot) || self.valid[slot.index()].contains(mask)
    }

    /// Valid sectors of the page.
    #[inline]
    pub fn valid(&self, slot: Slot) -> SectorMask {
        if self.is_full(slot) {
            self.full
        } else {
            self.valid[slot.index()]
        }
    }

    /// Dirty sectors of the page.
    #[inline]
    pub fn dirty(&self, slot: Slot) -> SectorMask {
        match self.frames[slot.index()].0 & (DIRTY | ALL_DIRTY) {
            0 => SectorMask::EMPTY,
            DIRTY => self.dirty[slot.index()],
            _ => self.full,
        }
    }

    /// Sorts the slots of cached pages by their LPN.
    pub fn sort_by_lpn(&self, slots: &mut [Slot]) {
        slots.sort_unstable_by_key(|&slot| self.lpn(slot));
    }

    /// Dirty pages.
    pub fn dirty_pages(&self) -> u64 {
        self.dirty_pages
    }

    /// Slots of the dirty pages, in slot order.
    pub fn dirty_slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.slots_with(DIRTY)
    }

    /// Slots of the cached pages, in slot order.
    pub fn used_slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.slots_with(USED)
    }

    fn slots_with(&self, flags: u64) -> impl Iterator<Item = Slot> + '_ {
        let frames = self.frames.iter().enumerate();
        frames
            .filter(move |(_, f)| f.has(flags))
            .map(|(i, _)| Slot(i as u32))
    }

    /// Puts page `lpn` into the slot where it is remembered, or a free one, with the sectors of
    /// `mask` valid, and dirty if asked.
    ///
    /// # Panics
    /// If no slot is free.
    #[inline(always)]
    pub fn insert(&mut self, lpn: Lpn, mask: SectorMask, dirty: bool) -> Slot {
        let entry = self.entry_at(lpn, self.place(lpn));
        self.insert_at(lpn, entry, mask, dirty)
    }

    /// As [`Frames::insert`], for a page of which `entry` was looked up before.
    ///
    /// # Panics
    /// If no slot is free.
    #[inline(always)]
    pub fn insert_at(
        &mut self,
        lpn: Lpn,
        entry: IndexEntry,
        mask: SectorMask,
        dirty: bool,
    ) -> Slot {
        debug_assert!(!mask.is_empty());
        let slot = self.insert_whole_at(lpn, entry, dirty);
        if mask != self.full {
            self.set_masks(slot, mask, if dirty { mask } else { SectorMask::EMPTY });
        }
        slot
    }

    /// As [`Frames::insert_at`], with all sectors valid.
    ///
    /// # Panics
    /// If no slot is free.
    #[inline(always)]
    pub fn insert_whole_at(&mut self, lpn: Lpn, entry: IndexEntry, dirty: bool) -> Slot {
        debug_assert!(self.slot_of(lpn).is_none());
        let has_ghosts = self.has_ghosts;
        let slot = match has_ghosts.then(|| self.ghost_at(lpn, entry)).flatten() {
            Some(slot) => slot,
            None => self.take_free(lpn, entry.place),
        };
        self.used += 1;
        self.dirty_pages += u64::from(dirty);
        let whole = USED | FULL | if dirty { DIRTY | ALL_DIRTY } else { 0 };
        self.frames[slot.index()] = FrameWord::new(lpn, whole);
        slot
    }

    /// As [`Frames::ghost_of`], for a page of which `entry` was looked up before, if it was.
    #[inline(always)]
    pub fn ghost_at(&self, lpn: Lpn, entry: IndexEntry) -> Option<Slot> {
        match self.frames.get(entry.slot as usize) {
            Some(&frame) => (frame == FrameWord::new(lpn, GHOST)).then_some(Slot(entry.slot)),
            None => self.ghost_of(lpn),
        }
    }

    #[inline(always)]
    fn take_free(&mut self, lpn: Lpn, at: Place) -> Slot {
        let slot = Slot(self.free);
        let frame = self.frames.get(slot.index());
        let frame = frame.expect("room was made before a page is inserted");
        self.free = frame.next_free(slot.0);
        *self.index.at_place(lpn.0, at) = slot.0;
        slot
    }

    /// The sectors of `mask` are written: valid and dirty from now on.
    #[inline]
    pub fn write(&mut self, slot: Slot, mask: SectorMask) {
        let frame = &mut self.frames[slot.index()];
        if mask == self.full || frame.has(FLAGS) {
            self.dirty_pages += u64::from(!frame.has(DIRTY));
            frame.0 |= FLAGS;
            return;
        }
        let (valid, dirty) = (self.valid(slot).union(mask), self.dirty(slot).union(mask));
        self.set_masks(slot, valid, dirty);
    }

    /// All sectors are written.
    #[inline(always)]
    pub fn write_whole(&mut self, slot: Slot) {
        let frame = &mut self.frames[slot.index()];
        self.dirty_pages += u64::from(!frame.has(DIRTY));
        frame.0 |= FLAGS;
    }

    /// The sectors of `mask` arrive from flash: valid, and clean unless they were dirty.
    pub fn fill(&mut self, slot: Slot, mask: SectorMask) {
        if self.is_full(slot) {
            return;
        }
        let (valid, dirty) = (self.valid(slot).union(mask), self.dirty(slot));
        self.set_masks(slot, valid, dirty);
    }

    /// All dirty sectors are on flash now.
    #[inline]
    pub fn clean(&mut self, slot: Slot) {
        let frame = &mut self.frames[slot.index()];
        self.dirty_pages -= u64::from(frame.has(DIRTY));
        frame.0 &= !(DIRTY | ALL_DIRTY);
    }

    /// The sectors of `mask` hold no data any more.
    pub fn trim(&mut self, slot: Slot, mask: SectorMask) -> Trimmed {
        let (valid, old) = (self.valid(slot).minus(mask), self.dirty(slot));
        let dirty = old.minus(mask);
        if valid.is_empty() {
            return Trimmed::Emptied;
        }
        self.set_masks(slot, valid, dirty);
        self.partial_trims += 1;
        if dirty.is_empty() && !old.is_empty() {
            Trimmed::Cleaned
        } else {
            Trimmed::Kept
        }
    }

    /// How often a page lost sectors and stayed: schemes are not told, but what they say of pages that are
    /// full may be another then.
    pub fn partial_trims(&self) -> u64 {
        self.partial_trims
    }

    /// Page and slot have nothing to do with each other any more.
    #[inline(always)]
    pub fn remove(&mut self, slot: Slot) {
        let frame = self.frames[slot.index()];
        self.used -= usize::from(frame.has(USED));
        self.dirty_pages -= u64::from(frame.has(DIRTY));
        self.free_slot(slot);
    }

    /// The slot is free, and the next that is used.
    #[inline(always)]
    fn free_slot(&mut self, slot: Slot) {
        self.frames[slot.index()] = FrameWord::free(slot.0, self.free);
        #[cfg(feature = "conformance")]
        if self.never_reuses_slots {
            return;
        }
        self.free = slot.0;
    }

    /// From now on a slot whose page left, or was forgotten, stays unused.
    #[cfg(feature = "conformance")]
    pub fn never_reuse_slots(&mut self) {
        self.never_reuses_slots = true;
    }

    /// The page leaves; its slot is a ghost from now on if the scheme keeps it.
    #[inline(always)]
    pub fn vacate(&mut self, slot: Slot, keep: bool) {
        if !keep {
            return self.remove(slot);
        }
        let frame = &mut self.frames[slot.index()];
        self.dirty_pages -= u64::from(frame.has(DIRTY));
        *frame = FrameWord::new(frame.lpn(), GHOST);
        self.used -= 1;
    }

    /// The scheme does not keep `slot` any longer, so it is free.
    #[inline(always)]
    pub fn release(&mut self, slot: Slot) {
        debug_assert!(self.frames[slot.index()].has(GHOST));
        self.free_slot(slot);
    }

    /// The page or ghost in `slot` is page `to` from now on (CAC's remap). Page `to` must be
    /// neither cached nor remembered.
    pub fn rekey(&mut self, slot: Slot, to: Lpn) {
        debug_assert!(self.slot_or_ghost_of(to).is_none());
        *self.index.at(to.0) = slot.0;
        let frame = &mut self.frames[slot.index()];
        *frame = FrameWord::new(to, frame.flags());
    }

    /// Out of line, so that whole pages pass quickly.
    #[inline(never)]
    fn set_masks(&mut self, slot: Slot, valid: SectorMask, dirty: SectorMask) {
        let i = slot.index();
        self.valid[i] = valid;
        self.dirty[i] = dirty;
        let flags = USED
            | if valid == self.full { FULL } else { 0 }
            | if dirty.is_empty() { 0 } else { DIRTY }
            | if dirty == self.full { ALL_DIRTY } else { 0 };
        self.dirty_pages -= u64::from(self.frames[i].has(DIRTY));
        self.dirty_pages += u64::from(!dirty.is_empty());
        self.frames[i] = FrameWord::new(self.frames[i].lpn(), flags);
    }
}

#[cfg(test)]
mod tests;
