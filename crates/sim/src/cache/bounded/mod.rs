//! A bounded buffer (D-8): a frame whose data were handed over is occupied until they are on flash, and a write
//! waits for a free frame.
//!
//! Frames are taken page by page. A write that finds none waits with the rest of its pages, and nobody is
//! given a frame before it; a page that needs no other frame than its own is written at once, unless a page before
//! it in its request waits. A waiting request goes on when a frame becomes free. If nothing of the host is on its
//! way then, the scheme's next victims are handed over, or else an open unit is closed.
//!
//! `frames` says which frames are free, and whose data leave for one (DR-5, DR-6).

mod frames;

use super::{Cache, Hits, view};
use crate::flash::Flash;
use destage_device::config::{DeviceConfig, Rewrite};
use destage_scheme::{
    Access, AccessId, Admission, Expr, Request, Scheme, SchemeNotice, WriteBackRules, WriteClass,
};
use destage_types::{Extent, Lpn, Nanos, Op, PageSize, SectorMask, Slot};
pub(crate) use frames::VictimOrder;
use std::collections::VecDeque;

/// Writes that wait for frames.
#[derive(Debug, Default)]
pub(super) struct Bounded {
    /// Are frames occupied until their data are on flash?
    on: bool,
    waiting: VecDeque<WaitingWrite>,
    /// Extents of a write that is done, reused.
    extents: Vec<Extent>,
    in_place: bool,
    victims: VictimOrder,
}

/// A write of which pages wait.
#[derive(Debug)]
struct WaitingWrite {
    /// Number of the request for the scheme and in the trace, and its name in the flash.
    id: u64,
    index: u64,
    flash: u32,
    extents: Vec<Extent>,
    /// Of the whole request: a huge one that wraps has many extents.
    pages: u64,
    bytes: u64,
    /// Extent and sector that come next.
    next: (usize, u64),
    /// How the scheme lets it in.
    admission: Admission,
    /// Has its turn come?
    begun: bool,
    /// Does the next page enter the cache? Not known before it was asked for.
    admitted: Option<bool>,
    /// Does it wait behind others? Only pages that are dirty and not handed over are written then.
    behind: bool,
    hits: u64,
    durable: bool,
    /// Is it one of the host's, in the part that is measured?
    counts: bool,
}

impl WaitingWrite {
    /// The request as the scheme sees it at `now`.
    fn request(&self, now: Nanos) -> Request<'_> {
        Request {
            id: self.id,
            op: Op::Write,
            now,
            extents: &self.extents,
            pages: self.pages,
            bytes: self.bytes,
        }
    }

    /// The next page, and its sectors from `at` to `behind`; `None` if all are done.
    fn next_page(&self, page: PageSize) -> Option<NextPage> {
        let extent = self.extents.get(self.next.0)?;
        let at = self.next.1;
        let lpn = page.page_of(at);
        let behind = page.first_sector(Lpn(lpn.0 + 1)).min(extent.end());
        let sectors = SectorMask::span(page.offset(at), (behind - at) as u32);
        Some(NextPage {
            lpn,
            sectors,
            behind,
        })
    }

    /// The sectors before `behind` are written.
    fn pass(&mut self, behind: u64) {
        self.admitted = None;
        self.next.1 = behind;
        if self.extents.get(self.next.0).map(Extent::end) == Some(behind) {
            self.next.0 += 1;
            let extent = self.extents.get(self.next.0);
            self.next.1 = extent.map_or(0, |extent| extent.start_sector);
        }
    }
}

/// A page of a write.
#[derive(Clone, Copy, Debug)]
struct NextPage {
    lpn: Lpn,
    sectors: SectorMask,
    /// The first sector of the request behind it.
    behind: u64,
}

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// Hands pages over from `now` on as the scheme of `expr` and the device ask. A drive with units has one class for all
    /// data of the host (DR-7).
    pub(crate) fn hand_over_as(&mut self, expr: &Expr, device: &DeviceConfig, now: Nanos) {
        if let Some(mut rules) = expr.write_back_rules() {
            if device.has_units() {
                rules.class = WriteClass::Host;
            }
            self.enable_background(rules, now);
        }
        if device.is_bounded() {
            let in_place = device.rewrite == Some(Rewrite::InPlace);
            self.bound_buffer(VictimOrder::of(expr), in_place, now);
        }
    }

    /// Are frames occupied until their data are on flash?
    #[inline(always)]
    pub(super) fn is_bounded(&self) -> bool {
        F::TIMED && self.bounded.on
    }

    /// Keeps frames until their data are on flash. `victims` says how the scheme's victims are found, `in_place` that data
    /// written to a page in an open unit replace those in the unit.
    fn bound_buffer(&mut self, victims: VictimOrder, in_place: bool, now: Nanos) {
        (self.bounded.on, self.bounded.in_place) = (true, in_place);
        self.bounded.victims = victims;
        // A cache that follows another one has its write-backs under way.
        if self.back.rules.class != WriteClass::Host || !self.back.on {
            let rules = WriteBackRules {
                class: WriteClass::Host,
                ..WriteBackRules::NEVER
            };
            self.enable_background(rules, now);
        }
    }

    /// Does a write wait for a frame?
    pub fn has_waiting_writes(&self) -> bool {
        !self.bounded.waiting.is_empty()
    }

    /// Does a write wait for a frame, or a FLUSH or FUA for room?
    pub fn has_waiting_requests(&self) -> bool {
        self.has_waiting_writes() || !self.flushes.is_empty()
    }

    /// Writes that wait for frames, from number `from` on, are not counted when they are done.
    pub(super) fn forget_waiting(&mut self, from: u64) {
        let waiting = self.bounded.waiting.iter_mut();
        let forgotten = waiting.filter(|write| write.id >= from);
        forgotten.for_each(|write| write.counts = false);
    }

    /// Was the current request left waiting?
    #[inline(always)]
    pub(super) fn is_left_open(&self) -> bool {
        F::TIMED && self.left_open
    }

    /// The same of the request that ends.
    #[inline(always)]
    pub(super) fn take_left_open(&mut self) -> bool {
        F::TIMED && std::mem::take(&mut self.left_open)
    }

    /// The pages of a write, as far as there are frames.
    pub(super) fn write_bounded(&mut self, r: &Request<'_>, admission: Admission) -> Hits {
        let mut extents = std::mem::take(&mut self.bounded.extents);
        extents.extend_from_slice(r.extents);
        let mut write = WaitingWrite {
            id: r.id,
            index: self.observed,
            flash: 0,
            extents,
            pages: r.pages,
            bytes: r.bytes,
            next: (0, r.extents.first().map_or(0, |extent| extent.start_sector)),
            admission,
            begun: false,
            admitted: None,
            behind: self.has_waiting_writes(),
            hits: 0,
            durable: self.durable,
            counts: true,
        };
        let done = self.go_on(&mut write, r.now);
        let hits = write.hits;
        if done {
            write.extents.clear();
            self.bounded.extents = write.extents;
        } else {
            write.flash = self.leave_open();
            self.scheme
                .on_notice(SchemeNotice::RequestWaits(r), &view!(self, r.now));
            self.left_open = true;
            self.bounded.waiting.push_back(write);
        }
        Hits {
            pages: r.pages,
            hits,
        }
    }

    /// The current request waits for frames, and goes on later: gives its name, where time is kept.
    fn leave_open(&mut self) -> u32 {
        let core = self.flash.core_mut();
        core.map_or(0, |core| core.requests.leave_open())
    }

    /// Writes the next pages of a request as far as there are frames. Is it done?
    fn go_on(&mut self, write: &mut WaitingWrite, now: Nanos) -> bool {
        let page = self.frames.page();
        if write.admission != Admission::PerPage {
            // What is cached of it is dropped at once, but not before a FLUSH or FUA has it on its way.
            if write.behind || !write.begun && !self.flushes.is_empty() {
                return false;
            }
            if !std::mem::replace(&mut write.begun, true) {
                self.invalidate(&write.request(now));
            }
        }
        while let Some(next) = write.next_page(page) {
            if write.behind && !self.keeps_frame(next.lpn) {
                return false;
            }
            let a = self.access_of_page(write, &next, now);
            self.seq += 1;
            let Some(hit) = self.write_next(write, &a) else {
                self.seq -= 1;
                return false;
            };
            write.hits += u64::from(hit);
            write.pass(next.behind);
        }
        true
    }

    /// The next access, to this page.
    fn access_of_page(&self, write: &WaitingWrite, next: &NextPage, now: Nanos) -> Access {
        let id = AccessId {
            request: write.id,
            seq: self.seq + 1,
        };
        Access::new(id, now, Op::Write, next.lpn, next.sectors)
    }

    /// Writes a page, and says whether it hit; `None` if it has to wait for a frame. Whether it enters the cache is
    /// asked once.
    fn write_next(&mut self, write: &mut WaitingWrite, a: &Access) -> Option<bool> {
        let admitted = match write.admission {
            Admission::Bypass => false,
            Admission::PerPage | Admission::Whole => match write.admitted {
                Some(known) => known,
                None => self.scheme.admit(a, &view!(self, a.now)),
            },
        };
        write.admitted = Some(admitted);
        if !admitted {
            return self.write_past(write, a).then_some(false);
        }
        let hit = self.write_cached(write, a)?;
        Some(hit && write.admission == Admission::PerPage)
    }

    /// A page that does not enter the cache takes a frame and is handed over at once. Is there one?
    fn write_past(&mut self, write: &WaitingWrite, a: &Access) -> bool {
        if write.behind {
            return false;
        }
        self.supersede_page(a);
        let taken = self.may_take_frame();
        if taken {
            self.take_frame(a, false);
            self.bypass_page(*a);
        }
        taken
    }

    fn write_cached(&mut self, write: &WaitingWrite, a: &Access) -> Option<bool> {
        let now = a.now;
        let slot = self.frames.slot_of(a.lpn);
        let occupied =
            slot.filter(|&slot| self.is_written_back(slot) && !self.frames.is_dirty(slot));
        let in_place = occupied.is_some_and(|slot| self.rewrites_in_place(slot));
        let takes = slot.is_none() || (occupied.is_some() && !in_place);
        if takes && !self.may_take_frame() {
            return None;
        }
        if takes && slot.is_some() {
            self.take_frame(a, false);
        }
        // A page may leave while room is made for its newer data.
        let Some(slot) = slot.filter(|_| !takes || self.frames.slot_of(a.lpn) == slot) else {
            self.make_room::<false>(a);
            let slot = self.insert_page::<false>(a, a.sectors, true);
            self.wrote(write, slot, a);
            return Some(false);
        };
        if takes {
            self.release_write_back(slot, now);
        }
        let have = self.frames.valid(slot).intersect(a.sectors);
        if write.admission == Admission::PerPage && write.counts {
            self.counts.write_sector_hits += u64::from(have.count());
        }
        self.hit_written::<false>(slot, a);
        if in_place {
            if let Some(core) = self.flash.core_mut() {
                core.version_is_replaced(a.lpn);
            }
            self.frames.clean(slot);
            self.scheme
                .on_notice(SchemeNotice::Cleaned(&[slot]), &view!(self, now));
        } else {
            self.wrote(write, slot, a);
        }
        Some(true)
    }

    /// A durable write hands its pages over together, with its last page (D-4).
    fn wrote(&mut self, write: &WaitingWrite, slot: Slot, a: &Access) {
        match write.durable {
            true => self.flash.cache_write(a.lpn),
            false => self.came_in(slot, a),
        }
    }

    /// Does a write to the page need no other frame than its own: is the page dirty, or rewritten in place?
    fn keeps_frame(&self, lpn: Lpn) -> bool {
        self.frames
            .slot_of(lpn)
            .is_some_and(|slot| self.frames.is_dirty(slot) || self.rewrites_in_place(slot))
    }

    /// Do data written to an occupied page replace those in its open unit?
    fn rewrites_in_place(&self, slot: Slot) -> bool {
        self.bounded.in_place
            && (self.back.token(slot)).is_some_and(|token| self.flash.is_in_open_unit(token))
    }

    /// Lets waiting writes go on, at `now`. Did anything happen?
    pub(super) fn serve_waiting(&mut self, now: Nanos) -> bool {
        let mut any = self.serve_flushes(now);
        while let Some(mut write) = self.bounded.waiting.pop_front() {
            write.behind = false;
            let before = write.next;
            self.tell_request(write.index);
            let resumed = SchemeNotice::RequestResumed(&write.request(now));
            self.scheme.on_notice(resumed, &view!(self, now));
            if let Some(core) = self.flash.core_mut() {
                core.requests.resume(write.flash, core.now);
            }
            let done = self.go_on(&mut write, now);
            any |= done || write.next != before;
            if done {
                self.tell_request(self.observed);
                self.end_waiting(&write, now);
                continue;
            }
            write.flash = self.leave_open();
            let waits = SchemeNotice::RequestWaits(&write.request(now));
            self.scheme.on_notice(waits, &view!(self, now));
            self.tell_request(self.observed);
            self.bounded.waiting.push_front(write);
            break;
        }
        any | self.make_progress(now)
    }

    /// Tells the observer that the next events belong to request number `index` of the trace.
    fn tell_request(&mut self, index: u64) {
        if let Some(o) = &mut self.observer {
            o.request(index);
        }
    }

    /// The current request, which waited, has all its frames.
    fn end_waiting(&mut self, write: &WaitingWrite, now: Nanos) {
        let request = write.request(now);
        if write.counts {
            let hits = Hits {
                pages: request.pages,
                hits: write.hits,
            };
            self.count_write(&write.extents, hits);
        }
        self.scheme
            .on_notice(SchemeNotice::RequestEnd(&request), &view!(self, now));
        if write.durable {
            self.flush_extents(&write.extents, now);
        }
        self.flash.end(request.pages, write.hits);
    }
}
