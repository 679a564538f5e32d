//! FLUSH (D9), and writes that are to be on flash when they complete (FUA, D13). Pages are handed over as the flash can take
//! them (D-4, DR-2): at once, or where the buffer is bounded as units have room.

use super::{Cache, Hits, page_span, view, wrap_extents};
use crate::flash::{Cause, Flash};
use destage_scheme::{Scheme, SchemeNotice};
use destage_types::{Extent, Lpn, Nanos, RequestRef, Slot};

/// A FLUSH, or a write with FUA, whose pages are not all handed over.
#[derive(Debug)]
pub(super) struct WaitingFlush {
    /// Name of the request in the flash.
    request: u32,
    /// Its pages, ascending.
    pages: Vec<Lpn>,
    /// How many of them were handed over.
    next: usize,
    /// Does it wait for all that the host has written?
    all: bool,
}

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
        let mut pages = self.spare_pages();
        pages.extend(self.frames.dirty_slots().map(|slot| self.frames.lpn(slot)));
        pages.sort_unstable();
        self.hand_over_all(pages, true, now);
    }

    /// The part of [`Cache::flush`] that a request wrote.
    #[inline(never)]
    pub(super) fn flush_written(&mut self, request: RequestRef<'_>, now: Nanos) {
        let mut extents: Vec<Extent> = request.extents().collect();
        if let Some(space) = self.options.wrap {
            wrap_extents(&mut extents, space);
        }
        self.flush_extents(&extents, now);
    }

    /// The same of the pages that extents touch.
    pub(super) fn flush_extents(&mut self, extents: &[Extent], now: Nanos) {
        let page = self.frames.page();
        let mut pages = self.spare_pages();
        for extent in extents {
            let (first, count) = page_span(extent, page);
            pages.extend((first.0..first.0 + u64::from(count)).map(Lpn));
        }
        pages.sort_unstable();
        pages.dedup();
        self.hand_over_all(pages, false, now);
    }

    /// A list without pages.
    fn spare_pages(&mut self) -> Vec<Lpn> {
        let mut pages = std::mem::take(&mut self.flushed);
        pages.clear();
        pages
    }

    /// The dirty pages of `pages`, ascending, are handed over. Then the current request waits for the programs of all of
    /// them; with `all`, for those of all that the host has written.
    fn hand_over_all(&mut self, pages: Vec<Lpn>, all: bool, now: Nanos) {
        let request = self.begin_flush();
        self.flushes.push_back(WaitingFlush {
            request,
            pages,
            next: 0,
            all,
        });
        self.serve_flushes(now);
    }

    /// The current request waits until [`Flash::end_flush`]: gives its name, where time is kept.
    fn begin_flush(&mut self) -> u32 {
        let core = self.flash.core_mut();
        core.map_or(0, |core| core.requests.wait_for_flush())
    }

    /// Goes on with flushes, in order. Did anything happen?
    pub(super) fn serve_flushes(&mut self, now: Nanos) -> bool {
        let mut any = false;
        while let Some(mut flush) = self.flushes.pop_front() {
            let before = flush.next;
            while let Some(&lpn) = flush.pages.get(flush.next) {
                let slot = self.frames.slot_of(lpn);
                if let Some(slot) = slot.filter(|&slot| self.frames.is_dirty(slot))
                    && !self.flush_page(slot, lpn, now)
                {
                    self.flash.wait_for_room(lpn);
                    break;
                }
                flush.next += 1;
            }
            any |= flush.next != before;
            if flush.next < flush.pages.len() {
                self.flushes.push_front(flush);
                break;
            }
            any = true;
            self.tell_cleaned(now);
            let of = (!flush.all).then_some(&flush.pages[..]);
            self.flash.end_flush(flush.request, of);
            self.flushed = flush.pages;
        }
        any
    }

    /// Hands a dirty page over, which stays, clean. Is there room for it?
    fn flush_page(&mut self, slot: Slot, lpn: Lpn, now: Nanos) -> bool {
        if self.is_bounded() {
            let has_room = self.flash.has_room(Some(lpn));
            if has_room {
                self.hand_over(slot, now);
            }
            return has_room;
        }
        let valid = self.frames.valid(slot);
        // A write-back in flight of the current version serves as the page's flush.
        if self.release_write_back(slot, now).is_none() {
            self.program(lpn, valid, Cause::Flush, None);
        }
        self.frames.clean(slot);
        self.cleaned.push(slot);
        true
    }

    /// The scheme hears of all pages of a FLUSH together.
    fn tell_cleaned(&mut self, now: Nanos) {
        if !self.cleaned.is_empty() {
            let notice = SchemeNotice::Cleaned(&self.cleaned);
            self.scheme.on_notice(notice, &view!(self, now));
            self.cleaned.clear();
        }
    }
}
