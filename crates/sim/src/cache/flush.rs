//! FLUSH (D9), and writes that are to be on flash when they complete (FUA).

use super::{Cache, Hits, page_span, view, wrap_extents};
use crate::flash::{Cause, Flash};
use destage_scheme::{Scheme, SchemeNotice};
use destage_types::{Lpn, Nanos, RequestRef, Slot};

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// D9: all dirty pages are programmed in ascending LPN and stay, clean. A cache that survives a power cut keeps them.
    #[inline(never)]
    pub(super) fn flush(&mut self, now: Nanos) -> Hits {
        self.counts.flush_requests += 1;
        if self.options.nvm {
            return Hits::default();
        }
        let mut slots = std::mem::take(&mut self.slots);
        slots.clear();
        slots.extend(self.frames.dirty_slots());
        self.program_slots(&mut slots, now);
        self.slots = slots;
        Hits::default()
    }

    /// The part of [`Cache::flush`] that a request wrote.
    #[inline(never)]
    pub(super) fn flush_written(&mut self, request: RequestRef<'_>, now: Nanos) {
        let (mut extents, mut slots) = (Vec::new(), std::mem::take(&mut self.slots));
        extents.extend(request.extents());
        if let Some(space) = self.options.wrap {
            wrap_extents(&mut extents, space);
        }
        if F::BOUNDS && self.bounded.is_some() {
            self.slots = slots;
            return self.flush_extents(&extents, now);
        }
        slots.clear();
        for extent in &extents {
            let (first, pages) = page_span(extent, self.frames.page());
            let pages = first.0..first.0 + u64::from(pages);
            slots.extend(pages.filter_map(|lpn| self.frames.slot_of(Lpn(lpn))));
        }
        for &slot in &slots {
            self.flush_in_flight(slot);
        }
        slots.retain(|&slot| self.frames.is_dirty(slot));
        self.program_slots(&mut slots, now);
        self.slots = slots;
    }

    /// Programs the dirty pages in `slots` in ascending LPN; they stay, clean.
    fn program_slots(&mut self, slots: &mut Vec<Slot>, now: Nanos) {
        self.frames.sort_by_lpn(slots);
        slots.dedup();
        if F::BOUNDS && self.bounded.is_some() {
            return self.hand_over_all(self.pages_in(slots), true, now);
        }
        for &slot in slots.iter() {
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
    }
}
