//! FLUSH, and writes with FUA: pages are handed over as units can take them (D-4, DR-2).

use super::{Cache, page_span};
use crate::cache::background::NONE;
use crate::flash::Flash;
use destage_scheme::Scheme;
use destage_types::{Extent, Lpn, Nanos, Slot};

/// A FLUSH, or a write with FUA, whose pages are not all handed over.
#[derive(Debug)]
pub(super) struct WaitingFlush {
    /// Name of the request in the flash.
    flash: u32,
    /// Its pages, ascending.
    pages: Vec<Lpn>,
    /// How many of them were handed over.
    next: usize,
    /// Does it wait for all that the host has written?
    all: bool,
}

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// The dirty pages of `pages`, ascending, are handed over. Then the current request waits for the programs of all of
    /// them; with `all`, for those of all that the host has written.
    pub(in crate::cache) fn hand_over_all(&mut self, pages: Vec<Lpn>, all: bool, now: Nanos) {
        let flush = WaitingFlush {
            flash: self.flash.begin_flush(),
            pages,
            next: 0,
            all,
        };
        if let Some(bounded) = &mut self.bounded {
            bounded.flushes.push_back(flush);
        }
        self.serve_flushes(now);
    }

    /// The pages in `slots`, ascending.
    pub(in crate::cache) fn pages_in(&self, slots: &[Slot]) -> Vec<Lpn> {
        slots.iter().map(|&slot| self.frames.lpn(slot)).collect()
    }

    /// Goes on with flushes, in order. Did anything happen?
    pub(super) fn serve_flushes(&mut self, now: Nanos) -> bool {
        let mut any = false;
        while let Some(mut flush) = self.bounded.as_mut().and_then(|b| b.flushes.pop_front()) {
            let before = flush.next;
            while let Some(&lpn) = flush.pages.get(flush.next) {
                let slot = self.frames.slot_of(lpn);
                if let Some(slot) = slot.filter(|&slot| self.frames.is_dirty(slot)) {
                    if !self.flash.can_hand_over(lpn) {
                        self.flash.wait_for_room(lpn);
                        break;
                    }
                    self.hand_over(slot, now);
                }
                flush.next += 1;
            }
            any |= flush.next != before;
            if flush.next < flush.pages.len() || self.flash.is_stalled() {
                if let Some(bounded) = &mut self.bounded {
                    bounded.flushes.push_front(flush);
                }
                break;
            }
            any = true;
            self.end_flush(&flush, now);
        }
        any
    }

    /// Closes the open units that a flush waits for.
    fn end_flush(&mut self, flush: &WaitingFlush, now: Nanos) {
        if flush.all {
            return self.flash.end_flush(flush.flash, None, now);
        }
        let token = |&lpn: &Lpn| match self.frames.slot_of(lpn) {
            Some(slot) => Some(self.token_of(slot)).filter(|&token| token != NONE),
            // It has left, or never was in the cache.
            None => self.flash.frame_on_its_way(lpn),
        };
        let tokens: Vec<u32> = flush.pages.iter().filter_map(token).collect();
        self.flash.end_flush(flush.flash, Some(&tokens), now);
    }

    /// The pages that a write with FUA wrote are on flash when it ends, whoever handed them over.
    pub(in crate::cache) fn flush_extents(&mut self, extents: &[Extent], now: Nanos) {
        let page = self.frames.page();
        let mut pages: Vec<Lpn> = Vec::new();
        for extent in extents {
            let (first, count) = page_span(extent, page);
            pages.extend((first.0..first.0 + u64::from(count)).map(Lpn));
        }
        pages.sort_unstable();
        pages.dedup();
        self.hand_over_all(pages, false, now);
    }
}
