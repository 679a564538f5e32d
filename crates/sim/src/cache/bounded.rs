//! A bounded buffer (D-8): a frame whose data were handed over is occupied until they are on flash, and a write
//! waits for a free frame.
//!
//! Frames are taken page by page. A write that finds none waits with the rest of its pages, and nobody is
//! given a frame before it; a page that needs no other frame than its own is written at once, unless a page before
//! it in its request waits. A waiting request goes on when a frame becomes free. If nothing of the host is on its
//! way then, the scheme's next victims are handed over, or else an open unit is closed.

use super::background::NONE;
use super::observe::Event;
use super::{Cache, Hits, page_span, pages_of, view};
use crate::flash::Flash;
use destage_scheme::{
    Access, AccessId, Place, RemoveReason, Request, Scheme, SchemeNotice, Terms, WriteBackRules,
    WriteClass,
};
use destage_types::{Extent, Lpn, Nanos, Op, Slot};
use std::collections::VecDeque;

/// Writes that wait for frames, and what waits for flash.
#[derive(Debug, Default)]
pub(super) struct Bounded {
    waiting: VecDeque<WaitingWrite>,
    flushes: VecDeque<WaitingFlush>,
    /// Was the current request left waiting?
    pub left_open: bool,
    in_place: bool,
}

/// A FLUSH, or a write with FUA, whose pages are not all handed over.
#[derive(Debug)]
struct WaitingFlush {
    /// Name of the request in the flash.
    flash: u32,
    /// Its pages, ascending.
    pages: Vec<Lpn>,
    /// How many of them were handed over.
    next: usize,
    /// Does it wait for all that the host has written?
    all: bool,
}

/// A write of which pages wait.
#[derive(Debug)]
struct WaitingWrite {
    /// Number of the request for the scheme and in the trace, and its name in the flash.
    id: u64,
    index: u64,
    flash: u32,
    extents: Vec<Extent>,
    /// Extent and sector that come next.
    next: (usize, u64),
    /// Does it wait behind others? Only pages that are dirty and not handed over are written then.
    behind: bool,
    hits: u64,
    durable: bool,
    /// Is it one of the host's, in the part that is measured?
    counts: bool,
}

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// Keeps frames until their data are on flash, if the flash asks for it.
    pub fn bound_buffer(&mut self, now: Nanos) {
        if !F::BOUNDS || !self.flash.is_bounded() {
            return;
        }
        self.bounded = Some(Box::new(Bounded {
            in_place: self.flash.rewrites_in_place(),
            ..Bounded::default()
        }));
        if self.background.is_none() {
            let rules = WriteBackRules {
                class: WriteClass::Host,
                ..WriteBackRules::NEVER
            };
            self.enable_background(rules, now);
        }
    }

    /// Does a write wait for a frame?
    pub fn has_waiting_writes(&self) -> bool {
        self.bounded
            .as_ref()
            .is_some_and(|bounded| !bounded.waiting.is_empty())
    }

    /// Does a write wait for a frame, or a FLUSH or FUA for room?
    pub fn has_waiting_requests(&self) -> bool {
        let waits = |b: &Bounded| !b.waiting.is_empty() || !b.flushes.is_empty();
        self.bounded.as_deref().is_some_and(waits)
    }

    /// Writes that wait for frames, from number `from` on, are not counted when they are done.
    pub(super) fn forget_waiting(&mut self, from: u64) {
        if let Some(bounded) = &mut self.bounded {
            let waiting = bounded.waiting.iter_mut().filter(|write| write.id >= from);
            waiting.for_each(|write| write.counts = false);
        }
    }

    /// Was the current request left waiting?
    #[inline(always)]
    pub(super) fn is_left_open(&self) -> bool {
        F::BOUNDS
            && self
                .bounded
                .as_ref()
                .is_some_and(|bounded| bounded.left_open)
    }

    /// The same of the request that ends.
    #[inline(always)]
    pub(super) fn take_left_open(&mut self) -> bool {
        F::BOUNDS
            && self
                .bounded
                .as_mut()
                .is_some_and(|b| std::mem::take(&mut b.left_open))
    }

    /// The pages of a write, as far as there are frames.
    pub(super) fn write_bounded(&mut self, r: &Request<'_>) -> Hits {
        let mut write = WaitingWrite {
            id: r.id,
            index: self.observed,
            flash: 0,
            extents: r.extents.to_vec(),
            next: (0, r.extents.first().map_or(0, |extent| extent.start_sector)),
            behind: self.has_waiting_writes(),
            hits: 0,
            durable: self.durable,
            counts: true,
        };
        let done = self.go_on(&mut write, r.now);
        let hits = write.hits;
        if !done {
            write.flash = self.flash.leave_open();
            if let Some(bounded) = &mut self.bounded {
                bounded.left_open = true;
                bounded.waiting.push_back(write);
            }
        }
        Hits {
            pages: r.pages,
            hits,
        }
    }

    /// Writes the next pages of a request as far as there are frames. Is it done?
    fn go_on(&mut self, write: &mut WaitingWrite, now: Nanos) -> bool {
        let page = self.frames.page();
        while let Some(extent) = write.extents.get(write.next.0) {
            let at = write.next.1;
            let lpn = page.page_of(at);
            let behind = page.first_sector(Lpn(lpn.0 + 1)).min(extent.end());
            let count = (behind - at) as u32;
            if write.behind && !self.keeps_frame(lpn) {
                return false;
            }
            let Some(hit) = self.write_next(write, lpn, (at, count), now) else {
                return false;
            };
            write.hits += u64::from(hit);
            write.next.1 = behind;
            if behind == extent.end() {
                let next = write.next.0 + 1;
                write.next = (
                    next,
                    write
                        .extents
                        .get(next)
                        .map_or(0, |extent| extent.start_sector),
                );
            }
        }
        true
    }

    /// Writes `count` sectors from `at` on of a page, and says whether it hit; `None` if it has to wait for a frame.
    fn write_next(
        &mut self,
        write: &WaitingWrite,
        lpn: Lpn,
        (at, count): (u64, u32),
        now: Nanos,
    ) -> Option<bool> {
        let page = self.frames.page();
        let entry = self.frames.entry_at(lpn, Place::BLANK);
        let slot = self.frames.slot_at(lpn, entry);
        let occupied =
            slot.filter(|&slot| self.is_written_back(slot) && !self.frames.is_dirty(slot));
        let in_place = occupied.is_some_and(|slot| self.rewrites_in_place(slot));
        let takes = slot.is_none() || (occupied.is_some() && !in_place);
        if takes && !self.may_take_frame() {
            return None;
        }
        self.seq += 1;
        let id = AccessId {
            request: write.id,
            seq: self.seq,
        };
        let sectors = destage_types::SectorMask::span(page.offset(at), count);
        let a = Access::new(id, now, Op::Write, lpn, sectors).looked_up(entry);
        let Some(slot) = slot else {
            self.scheme.on_miss(&a, &view!(self, now));
            self.take_frame(&a);
            let slot = self.frames.insert(lpn, sectors, true);
            self.scheme.on_insert(slot, &a, &view!(self, now));
            self.free_released_slots();
            self.flash.cache_write(lpn);
            if !write.durable {
                self.ask_about_page(slot, now);
            }
            return Some(false);
        };
        if takes {
            self.take_frame(&a);
            self.release_write_back(slot, now);
        }
        let have = self.frames.valid(slot).intersect(sectors);
        self.counts.write_sector_hits += u64::from(have.count());
        self.scheme.on_hit(slot, &a, &view!(self, now));
        self.free_released_slots();
        self.frames.write(slot, sectors);
        self.flash.cache_write(lpn);
        if in_place {
            self.frames.clean(slot);
            self.scheme
                .on_notice(SchemeNotice::Cleaned(&[slot]), &view!(self, now));
        } else if !write.durable {
            // What is to be on flash is handed over with its last page (D-4).
            self.ask_about_page(slot, now);
        }
        Some(true)
    }

    /// Does a write to the page need no other frame than its own: is the page dirty, or rewritten in place?
    fn keeps_frame(&self, lpn: Lpn) -> bool {
        self.frames
            .slot_of(lpn)
            .is_some_and(|slot| self.frames.is_dirty(slot) || self.rewrites_in_place(slot))
    }

    /// Do data written to an occupied page replace those in its open unit?
    fn rewrites_in_place(&self, slot: Slot) -> bool {
        let wanted = self
            .bounded
            .as_ref()
            .is_some_and(|bounded| bounded.in_place);
        let token = self
            .background
            .as_ref()
            .map_or(NONE, |back| back.of_slot[slot.index()]);
        wanted && token != NONE && self.flash.is_in_open_unit(token)
    }

    /// Frames that are neither free nor clean and free to leave.
    fn frames_kept(&self) -> u64 {
        let in_flight = self
            .background
            .as_ref()
            .map_or(0, |back| back.flights.len() as u64);
        self.frames.dirty_pages() + in_flight
    }

    /// Is there a free frame, or one of a clean page that is on flash?
    fn may_take_frame(&self) -> bool {
        self.frames_kept() < self.frames.capacity() as u64
    }

    /// Frees frames until the page of `a` has one.
    fn take_frame(&mut self, a: &Access) {
        while self.frames_taken() >= self.frames.capacity() as u64
            || self.scheme.is_full(a, &view!(self, a.now))
        {
            let slot = self.clean_victim(a.now);
            self.evict_pages.add_one();
            if let Some(o) = &mut self.observer {
                o.event(Event::Evicted {
                    flush: &[],
                    drop: &[self.frames.lpn(slot)],
                    inflight: &[],
                    pad: &[],
                });
            }
            self.scheme
                .on_remove(slot, RemoveReason::Evicted, &view!(self, a.now));
            self.vacate(slot);
        }
    }

    /// Frames that are not free: of cached pages, and of data on their way whose page has another one.
    fn frames_taken(&self) -> u64 {
        let alone = self
            .background
            .as_ref()
            .map_or(0, |back| back.flights.len() as u64 - back.attached);
        self.frames.used() as u64 + alone
    }

    /// The first page in the scheme's order that is clean and on flash.
    fn clean_victim(&self, now: Nanos) -> Slot {
        let mut found = None;
        self.scheme.next_victims(&view!(self, now), &mut |slot| {
            let leaves = !self.frames.is_dirty(slot) && !self.is_written_back(slot);
            found = leaves.then_some(slot);
            found.is_none()
        });
        found.expect("a scheme with an order shows all its pages")
    }

    /// A read miss takes a frame if there is one; else it is not cached.
    pub(super) fn takes_frame_for_read(&mut self, a: &Access) -> bool {
        if !self.may_take_frame() {
            return false;
        }
        self.scheme.on_miss(a, &view!(self, a.now));
        self.take_frame(a);
        true
    }

    /// Lets waiting writes go on, at `now`. Did anything happen?
    pub(super) fn serve_waiting(&mut self, now: Nanos) -> bool {
        let mut any = self.serve_flushes(now);
        while let Some(mut write) = self.bounded.as_mut().and_then(|b| b.waiting.pop_front()) {
            write.behind = false;
            let before = write.next;
            self.tell_request(write.index);
            self.flash.resume_request(write.flash, now);
            let done = self.go_on(&mut write, now);
            self.tell_request(self.observed);
            any |= done || write.next != before;
            if !done {
                write.flash = self.flash.leave_open();
                if let Some(bounded) = &mut self.bounded {
                    bounded.waiting.push_front(write);
                }
                break;
            }
            self.end_waiting(&write, now);
        }
        any | self.make_progress(now)
    }

    /// What happens now, happens for request number `index` of the trace.
    fn tell_request(&mut self, index: u64) {
        if let Some(o) = &mut self.observer {
            o.request(index);
        }
    }

    /// The current request, which waited, has all its frames.
    fn end_waiting(&mut self, write: &WaitingWrite, now: Nanos) {
        let pages = pages_of(&write.extents, self.frames.page());
        let request = Request {
            id: write.id,
            op: Op::Write,
            now,
            extents: &write.extents,
            pages,
            bytes: 0,
        };
        if write.counts {
            let hits = Hits {
                pages,
                hits: write.hits,
            };
            self.count_write(&write.extents, hits);
        }
        self.scheme
            .on_notice(SchemeNotice::RequestEnd(&request), &view!(self, now));
        if write.durable {
            self.flush_extents(&write.extents, now);
        }
        self.flash.end(pages, write.hits);
    }

    /// While a write waits and no program of the host is on its way, data are handed over until a unit is full;
    /// if there are no more, an open unit is closed.
    fn make_progress(&mut self, now: Nanos) -> bool {
        let mut any = false;
        while self.has_waiting_writes() && self.flash.units_outstanding() == 0 {
            let (next, refused) = self.next_for_flash(now);
            if let Some(slot) = next {
                self.hand_over(slot, now);
            } else if !self.flash.close_open_unit() {
                if let Some(lpn) = refused {
                    self.flash.wait_for_room(lpn);
                }
                break;
            }
            any = true;
        }
        any
    }

    /// The first dirty page in the scheme's order that the flash has room for, and a page before it without room.
    fn next_for_flash(&self, now: Nanos) -> (Option<Slot>, Option<Lpn>) {
        let has_room = self.flash.has_room();
        let (mut next, mut refused) = (None, None);
        self.scheme.next_victims(&view!(self, now), &mut |slot| {
            if self.frames.is_dirty(slot) {
                let lpn = self.frames.lpn(slot);
                match has_room && self.flash.can_hand_over(lpn) {
                    true => next = Some(slot),
                    false => refused = Some(lpn),
                }
            }
            next.is_none() && (has_room || refused.is_none())
        });
        (next, refused)
    }

    /// Hands the dirty page in `slot` over; its frame stays occupied.
    fn hand_over(&mut self, slot: Slot, now: Nanos) {
        if let Some(mut back) = self.background.take() {
            self.queue(slot, None, None, Terms::KEEP_CLEAN, now, &mut back);
            self.background = Some(back);
        }
    }

    /// FLUSH and FUA (D-4, DR-2): the dirty pages in `slots`, ascending, are handed over as units can take them. Then
    /// the current request waits for their programs; with `all`, for those of all that the host has written.
    pub(super) fn hand_over_all(&mut self, slots: &[Slot], all: bool, now: Nanos) {
        let flush = WaitingFlush {
            flash: self.flash.begin_flush(),
            pages: slots.iter().map(|&slot| self.frames.lpn(slot)).collect(),
            next: 0,
            all,
        };
        if let Some(bounded) = &mut self.bounded {
            bounded.flushes.push_back(flush);
        }
        self.serve_flushes(now);
    }

    /// Goes on with flushes, in order. Did anything happen?
    fn serve_flushes(&mut self, now: Nanos) -> bool {
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
            self.end_flush(&flush, now);
        }
        any
    }

    /// Closes the open units that a flush waits for.
    fn end_flush(&mut self, flush: &WaitingFlush, now: Nanos) {
        if flush.all {
            return self.flash.end_flush(flush.flash, None, now);
        }
        let back = self.background.as_ref();
        let slots = flush
            .pages
            .iter()
            .filter_map(|&lpn| self.frames.slot_of(lpn));
        let tokens: Vec<u32> = slots
            .filter_map(|slot| back.map(|back| back.of_slot[slot.index()]))
            .filter(|&token| token != NONE)
            .collect();
        self.flash.end_flush(flush.flash, Some(&tokens), now);
    }

    /// The pages that a write with FUA wrote are on flash when it ends, whoever handed them over.
    fn flush_extents(&mut self, extents: &[Extent], now: Nanos) {
        let page = self.frames.page();
        let mut slots: Vec<Slot> = Vec::new();
        for extent in extents {
            let (first, pages) = page_span(extent, page);
            slots.extend(
                (first.0..first.0 + u64::from(pages))
                    .filter_map(|lpn| self.frames.slot_of(Lpn(lpn))),
            );
        }
        self.frames.sort_by_lpn(&mut slots);
        slots.dedup();
        self.hand_over_all(&slots, false, now);
    }
}
