//! FLUSH (D9), and writes that are to be on flash when they complete (FUA, D13).

use super::{Cache, Hits, page_span, view, wrap_extents};
use crate::flash::{Cause, Flash};
use destage_scheme::{Scheme, SchemeNotice};
use destage_types::{Extent, Lpn, Nanos, RequestRef, Slot};

impl<S: Scheme, F: Flash> Cache<S, F> {
    #[inline(never)]
    pub(super) fn flush(&mut self, now: Nanos) -> Hits {
        self.counts.flush_requests += 1;
        self.program_dirty(now);
        Hits::default()
    }

    /// D9: all dirty pages are programmed in ascending LPN and stay, clean. A cache that survives a power cut keeps them.
    #[inline(never)]
    pub(super) fn program_dirty(&mut self, now: Nanos) {
        if self.options.nvm {
            return;
        }
        let mut slots = std::mem::take(&mut self.slots);
        slots.clear();
        slots.extend(self.frames.dirty_slots());
        self.frames.sort_by_lpn(&mut slots);
        if self.is_bounded() {
            self.hand_over_all(self.pages_in(&slots), true, now);
        } else {
            self.program_slots(&slots, None, now);
        }
        self.slots = slots;
    }

    /// The part of [`Cache::flush`] that a request wrote.
    #[inline(never)]
    pub(super) fn flush_written(&mut self, request: RequestRef<'_>, now: Nanos) {
        let mut extents: Vec<Extent> = request.extents().collect();
        if let Some(space) = self.options.wrap {
            wrap_extents(&mut extents, space);
        }
        let pages = self.pages_of_extents(&extents);
        if self.is_bounded() {
            return self.hand_over_all(pages, false, now);
        }
        let mut slots = std::mem::take(&mut self.slots);
        slots.clear();
        slots.extend(pages.iter().filter_map(|&lpn| self.frames.slot_of(lpn)));
        slots.retain(|&slot| self.frames.is_dirty(slot));
        self.program_slots(&slots, Some(&pages), now);
        self.slots = slots;
    }

    /// Pages that extents touch, ascending.
    pub(super) fn pages_of_extents(&self, extents: &[Extent]) -> Vec<Lpn> {
        let page = self.frames.page();
        let mut pages: Vec<Lpn> = Vec::new();
        for extent in extents {
            let (first, count) = page_span(extent, page);
            pages.extend((first.0..first.0 + u64::from(count)).map(Lpn));
        }
        pages.sort_unstable();
        pages.dedup();
        pages
    }

    /// Programs the dirty pages in `slots`, which ascend in LPN; they stay, clean. The current request is a FLUSH, or a
    /// FUA of the pages `of`.
    fn program_slots(&mut self, slots: &[Slot], of: Option<&[Lpn]>, now: Nanos) {
        let flush = self.flash.begin_flush();
        for &slot in slots {
            let (lpn, valid) = (self.frames.lpn(slot), self.frames.valid(slot));
            // A write-back in flight of the current version serves as the page's flush.
            if self.release_write_back(slot, now).is_none() {
                self.program(lpn, valid, Cause::Flush, None);
            }
            self.frames.clean(slot);
        }
        if !slots.is_empty() {
            self.scheme
                .on_notice(SchemeNotice::Cleaned(slots), &view!(self, now));
        }
        self.flash.end_flush(flush, of);
    }
}
