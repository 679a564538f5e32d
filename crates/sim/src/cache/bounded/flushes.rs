//! FLUSH, and writes with FUA: pages are handed over as units can take them (D-4, DR-2).

use super::Cache;
use crate::flash::Flash;
use destage_scheme::Scheme;
use destage_types::{Lpn, Nanos, Slot};

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
            if flush.next < flush.pages.len() {
                if let Some(bounded) = &mut self.bounded {
                    bounded.flushes.push_front(flush);
                }
                break;
            }
            any = true;
            let of = (!flush.all).then_some(&flush.pages[..]);
            self.flash.end_flush(flush.flash, of);
        }
        any
    }
}
