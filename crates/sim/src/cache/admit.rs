//! Writes that an admission layer treats as a whole, and writes past the cache.

use super::{Cache, Hits, page_sectors, page_span, view};
use crate::cache::observe::Event;
use crate::flash::{Cause, Flash};
use destage_scheme::{Access, AccessId, Place, Request, Scheme};
use destage_types::{Extent, Lpn, Op};

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// The request goes to flash. If an admission layer sends it past the cache, copies in the cache are dropped.
    pub(super) fn write_past_cache(&mut self, r: &Request<'_>, is_bypassed: bool) -> Hits {
        if is_bypassed {
            self.invalidate(r);
        }
        self.each_page(r, Place::BLANK, |cache, a, _| {
            cache.program_past(a, is_bypassed);
            false
        })
    }

    /// The request is inserted as a whole: overlap is dropped, then room is made for all pages,
    /// then they are admitted in ascending order (ProCache section 4.1). Every page is a miss.
    ///
    /// The page that comes in, for every victim, is the first page of the request: it adapts the
    /// scheme before room is made, unless it is cached; the others do at their own insertion. A scheme
    /// that keeps a part of the frames for the request may need room there for each page (X3).
    pub(super) fn write_whole(&mut self, r: &Request<'_>) -> Hits {
        self.invalidate(r);
        // While room is made the first page is the access being served, also for what schemes see.
        self.seq += 1;
        let first = r.extents.first().expect("a write has an extent");
        let first = self.access_of(r, first, page_span(first, self.frames.page()).0);
        let mut expected = false;
        // Counted again when there seems to be room: victims may be pages of this request. Those are at
        // most the two ends of each extent, the only pages of it that are still cached.
        let mut entering = self.entering_pages(r);
        while self.frames.used() + entering > self.frames.capacity() {
            if !expected && self.frames.slot_of(first.lpn).is_none() {
                expected = self.scheme.admit(&first, &view!(self, first.now));
                if expected {
                    self.scheme.on_miss(&first, &view!(self, first.now));
                }
            }
            self.evict::<false>(&first);
            if self.frames.used() + entering <= self.frames.capacity() {
                entering = self.entering_pages(r);
            }
        }
        self.seq -= 1;
        self.each_page(r, Place::BLANK, |cache, a, _| {
            if !cache.scheme.admit(a, &view!(cache, a.now)) {
                cache.bypass_page(*a);
                return false;
            }
            let slot = match cache.frames.slot_of(a.lpn) {
                // Sectors outside the request were cached and still are.
                Some(slot) => {
                    cache.accessed(slot, Op::Write, a.now);
                    cache.hit_written::<false>(slot, a);
                    slot
                }
                None => {
                    if !std::mem::take(&mut expected) {
                        cache.scheme.on_miss(a, &view!(cache, a.now));
                    }
                    cache.free_room::<false>(a);
                    cache.insert_page::<false>(a, a.sectors, true)
                }
            };
            cache.came_in(slot, a);
            false
        })
    }

    /// The access of request `r` being served, as if it were to page `lpn` of `extent`.
    fn access_of(&self, r: &Request<'_>, extent: &Extent, lpn: Lpn) -> Access {
        let sectors = page_sectors(extent, lpn, self.frames.page());
        let id = AccessId {
            request: r.id,
            seq: self.seq,
        };
        Access::new(id, r.now, r.op, lpn, sectors)
    }

    /// Pages of the request that are not cached and that the scheme does not send to flash.
    fn entering_pages(&mut self, r: &Request<'_>) -> usize {
        let page = self.frames.page();
        let mut entering = 0;
        for extent in r.extents {
            let (first, pages) = page_span(extent, page);
            for lpn in (first.0..first.0 + u64::from(pages)).map(Lpn) {
                if self.frames.slot_of(lpn).is_none() {
                    let a = self.access_of(r, extent, lpn);
                    entering += usize::from(self.scheme.admit(&a, &view!(self, a.now)));
                }
            }
        }
        entering
    }

    /// Sectors of cached pages that the request covers become invalid without a flush; pages
    /// with no valid sector left are removed (ProCache, Algorithm 1).
    pub(super) fn invalidate(&mut self, r: &Request<'_>) {
        let page = self.frames.page();
        let mut gone = std::mem::take(&mut self.lpns[2]);
        gone.clear();
        for extent in r.extents {
            let (first, pages) = page_span(extent, page);
            for i in 0..u64::from(pages) {
                let lpn = Lpn(first.0 + i);
                let Some(slot) = self.frames.slot_of(lpn) else {
                    continue;
                };
                if self.supersede(slot, page_sectors(extent, lpn, page), r.now) {
                    gone.push(lpn);
                }
            }
        }
        self.report_invalidated(&gone);
        self.lpns[2] = gone;
    }

    /// One page goes to flash by decision of an admission layer.
    #[cold]
    pub(super) fn bypass_page(&mut self, a: Access) {
        self.supersede_page(&a);
        self.program_past(&a, true);
    }

    fn program_past(&mut self, a: &Access, is_bypassed: bool) {
        self.counts.bypassed_pages += u64::from(is_bypassed);
        if let Some(o) = &mut self.observer {
            o.event(Event::Bypassed(a.lpn));
        }
        self.program(a.lpn, a.sectors, Cause::Own, None);
    }

    /// Newer data replace what is cached of the page, without a flush.
    pub(super) fn supersede_page(&mut self, a: &Access) {
        if let Some(slot) = self.frames.slot_of(a.lpn)
            && self.supersede(slot, a.sectors, a.now)
        {
            self.report_invalidated(&[a.lpn]);
        }
    }

    fn report_invalidated(&mut self, gone: &[Lpn]) {
        self.counts.discarded_pages += gone.len() as u64;
        if let (Some(o), false) = (&mut self.observer, gone.is_empty()) {
            o.event(Event::Invalidated(gone));
        }
    }
}
