//! Page accesses of a request: hits, misses, and room for what comes in (D1 to D5).

use super::{Cache, Hits, ReadFill, view};
use crate::cache::observe::Event;
use crate::flash::Flash;
use destage_scheme::{Access, AccessId, Place, Request, Scheme, SchemeNotice};
use destage_types::{Lpn, Nanos, Op, SectorMask, Slot};

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// The next page access: `count` sectors from `at` on, inside page `lpn`, which the index has at
    /// `place`.
    #[inline(always)]
    fn access(&mut self, r: &Request<'_>, lpn: Lpn, at: u64, count: u32, place: Place) -> Access {
        let page = self.frames.page();
        self.seq += 1;
        let sectors = if count == page.sectors() {
            self.frames.full_mask()
        } else {
            SectorMask::span(page.offset(at), count)
        };
        let entry = self.frames.entry_at(lpn, place);
        let id = AccessId {
            request: r.id,
            seq: self.seq,
        };
        Access::new(id, r.now, r.op, lpn, sectors).looked_up(entry)
    }

    /// Calls `f` for each page of the request in ascending order of each extent, with the number
    /// of sectors asked for; `f` says whether the page hit. The index has the first one at `place`.
    #[inline]
    pub(super) fn each_page(
        &mut self,
        r: &Request<'_>,
        mut place: Place,
        mut f: impl FnMut(&mut Self, &Access, u32) -> bool,
    ) -> Hits {
        let page = self.frames.page();
        let mut hits = 0;
        for extent in r.extents {
            let (mut at, end) = (extent.start_sector, extent.end());
            let mut lpn = page.page_of(at);
            loop {
                let next = Lpn(lpn.0 + 1);
                let behind = page.first_sector(next).min(end);
                let count = (behind - at) as u32;
                let access = self.access(r, lpn, at, count, place);
                hits += u64::from(f(self, &access, count));
                if behind == end {
                    break;
                }
                (lpn, at) = (next, behind);
                place = self.frames.place(lpn);
            }
            place = Place::BLANK;
        }
        let pages = r.pages;
        Hits { pages, hits }
    }

    /// The same. `ONE` says that the request is one extent inside one page.
    #[inline(always)]
    pub(super) fn serve_pages<const ONE: bool>(
        &mut self,
        r: &Request<'_>,
        place: Place,
        mut f: impl FnMut(&mut Self, &Access, u32) -> bool,
    ) -> Hits {
        if !ONE {
            return self.each_page(r, place, f);
        }
        let extent = r.extents[0];
        let lpn = self.frames.page().page_of(extent.start_sector);
        let access = self.access(r, lpn, extent.start_sector, extent.sectors, place);
        let hits = u64::from(f(self, &access, extent.sectors));
        Hits { pages: 1, hits }
    }

    /// D1 and D2. For `WHOLE` see [`Cache::data_of`].
    #[inline(always)]
    pub(super) fn read_page<const WHOLE: bool>(&mut self, a: &Access, sectors: u32) -> bool {
        if let Some(slot) = self.frames.slot_at(a.lpn, a.entry()) {
            self.accessed(slot, Op::Read, a.now);
            let has = if WHOLE {
                self.frames.is_full(slot)
            } else {
                self.frames.has(slot, a.sectors)
            };
            if has {
                if !WHOLE {
                    self.counts.read_sector_hits += u64::from(sectors);
                }
                self.scheme.on_hit(slot, a, &view!(self, a.now));
                self.free_released_slots();
                self.flash.cache_read(a.lpn, sectors);
                return true;
            }
            self.read_in_part(slot, a.lpn, a.sectors, a.now);
            return false;
        }
        let refused = self.options.read_alloc && !self.scheme.admit(a, &view!(self, a.now));
        let mask = if WHOLE || refused {
            a.sectors
        } else {
            self.fill_mask(a.sectors)
        };
        // Before room is made, so that the choice of a chip sees the read in its queue (N_r of ECR).
        let read = self.flash_read::<WHOLE>(a.lpn, mask.count());
        if self.options.read_alloc
            && !refused
            && (WHOLE || self.frames.capacity() > 0)
            && self.may_take_frame()
        {
            self.make_room::<WHOLE>(a);
            let slot = self.insert_page::<WHOLE>(a, mask, false);
            self.flash.cache_fill(a.lpn, read);
            self.ask_about_page(slot, a.now);
        }
        false
    }

    /// A page is cached, but a requested sector is not: never room, admission or touch (D2). The
    /// sectors that the cache has are read from it.
    ///
    /// The access is made up anew, so that not all of it need be kept where this is not called.
    #[cold]
    #[inline(never)]
    fn read_in_part(&mut self, slot: Slot, lpn: Lpn, sectors: SectorMask, now: Nanos) {
        let id = AccessId {
            request: self.request,
            seq: self.seq,
        };
        let a = Access::new(id, now, Op::Read, lpn, sectors);
        let have = self.frames.valid(slot).intersect(a.sectors);
        self.counts.read_sector_hits += u64::from(have.count());
        let notice = SchemeNotice::PartialHit(slot, &a);
        self.scheme.on_notice(notice, &view!(self, a.now));
        if !self.options.read_alloc {
            self.flash_read::<false>(a.lpn, a.sectors.minus(have).count());
            return self.read_rest(a.lpn, have);
        }
        let mask = self.fill_mask(a.sectors);
        let missing = mask.minus(self.frames.valid(slot));
        let moved = if self.options.read_fill == ReadFill::Page {
            mask
        } else {
            missing
        };
        let read = self.flash_read::<false>(a.lpn, moved.count());
        self.read_rest(a.lpn, have);
        self.frames.fill(slot, missing);
        self.flash.cache_fill(a.lpn, read);
    }

    fn read_rest(&mut self, lpn: Lpn, have: SectorMask) {
        if have.count() > 0 {
            self.flash.cache_read(lpn, have.count());
        }
    }

    /// Sectors that a read miss transfers and, if it is admitted, makes valid.
    #[inline]
    fn fill_mask(&self, requested: SectorMask) -> SectorMask {
        if self.options.read_alloc && self.options.read_fill == ReadFill::Page {
            self.frames.full_mask()
        } else {
            requested
        }
    }

    /// D3 and D4, and the bypass of a single page by an admission layer. For `WHOLE` see
    /// [`Cache::data_of`].
    #[inline(always)]
    pub(super) fn write_page<const WHOLE: bool>(&mut self, a: &Access, sectors: u32) -> bool {
        let slot = self.frames.slot_at(a.lpn, a.entry());
        if !self.scheme.admit(a, &view!(self, a.now)) {
            self.bypass_page(*a);
            return false;
        }
        let Some(slot) = slot else {
            self.make_room::<WHOLE>(a);
            let slot = self.insert_page::<WHOLE>(a, a.sectors, true);
            self.came_in(slot, a);
            return false;
        };
        let have = if self.frames.has(slot, a.sectors) {
            sectors
        } else {
            self.frames.valid(slot).intersect(a.sectors).count()
        };
        self.counts.write_sector_hits += u64::from(have);
        self.accessed(slot, Op::Write, a.now);
        self.hit_written::<WHOLE>(slot, a);
        self.came_in(slot, a);
        true
    }

    /// A cached page is written.
    #[inline(always)]
    pub(super) fn hit_written<const WHOLE: bool>(&mut self, slot: Slot, a: &Access) {
        self.scheme.on_hit(slot, a, &view!(self, a.now));
        self.free_released_slots();
        if WHOLE {
            self.frames.write_whole(slot)
        } else {
            self.frames.write(slot, a.sectors)
        }
    }

    /// A page comes into the cache, where there is room for it.
    #[inline(always)]
    pub(super) fn insert_page<const WHOLE: bool>(
        &mut self,
        a: &Access,
        sectors: SectorMask,
        dirty: bool,
    ) -> Slot {
        let slot = if WHOLE {
            self.frames.insert_whole_at(a.lpn, a.entry(), dirty)
        } else {
            self.frames.insert_at(a.lpn, a.entry(), sectors, dirty)
        };
        self.scheme.on_insert(slot, a, &view!(self, a.now));
        self.free_released_slots();
        slot
    }

    /// Newer data of the page in `slot` are in the cache.
    #[inline(always)]
    pub(super) fn came_in(&mut self, slot: Slot, a: &Access) {
        self.flash.cache_write(a.lpn);
        self.ask_about_page(slot, a.now);
    }

    /// D5: units leave until the scheme has room for the page, and in a bounded buffer until there is a frame.
    #[inline(always)]
    pub(super) fn make_room<const WHOLE: bool>(&mut self, a: &Access) {
        self.scheme.on_miss(a, &view!(self, a.now));
        self.free_room::<WHOLE>(a);
    }

    /// The same, where the scheme knows of the miss.
    #[inline(always)]
    pub(super) fn free_room<const WHOLE: bool>(&mut self, a: &Access) {
        if self.is_bounded() {
            return self.take_frame(a, true);
        }
        while self.scheme.is_full(a, &view!(self, a.now)) {
            self.evict::<WHOLE>(a);
        }
    }

    /// Does flash have the page, so that there was something to read?
    #[inline]
    pub(super) fn flash_read<const WHOLE: bool>(&mut self, lpn: Lpn, sectors: u32) -> bool {
        if !WHOLE && let Some(o) = &mut self.observer {
            o.event(Event::FlashRead(lpn));
        }
        let mapped = self.flash.is_mapped(lpn);
        if mapped {
            self.counts.flash_reads_host += 1;
            self.flash.read(lpn, sectors);
        } else {
            self.counts.unmapped_reads += 1;
        }
        mapped
    }
}
