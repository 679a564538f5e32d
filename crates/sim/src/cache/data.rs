//! Read and write requests: from extents to pages, and what is counted of a request (D12).

use super::{Cache, Hits, page_span, pages_of, view};
use crate::flash::Flash;
use destage_record::Counts;
use destage_scheme::{Admission, Place, Request, Scheme, SchemeNotice};
use destage_types::{Extent, HostRequest, Nanos, Op, RequestRef, SECTOR_BYTES};

/// Read or write requests for one page: most requests of many traces, and the only ones of
/// cache-only studies. All counters of such a request follow from whether it hit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OnePage {
    /// Requests that missed and that hit.
    requests: [u64; 2],
}

impl OnePage {
    fn requests(self) -> u64 {
        self.requests[0] + self.requests[1]
    }

    fn hits(self) -> u64 {
        self.requests[1]
    }

    fn plus(self, other: OnePage) -> OnePage {
        let [(misses, hits), (more_misses, more_hits)] =
            [self, other].map(|one| (one.requests[0], one.requests[1]));
        let requests = [misses + more_misses, hits + more_hits];
        OnePage { requests }
    }

    #[inline(always)]
    fn add(&mut self, hits: u64) {
        self.requests[usize::from(hits > 0)] += 1;
    }
}

/// Reads and writes of one page, and among these, apart, those that took the short way: whole
/// pages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OnePages {
    any: [OnePage; 2],
    whole: [OnePage; 2],
}

/// Adds what the requests for one page count, where a page has `sectors` sectors.
pub(super) fn add_one_page(c: &mut Counts, of: OnePages, sectors: u64) {
    let [whole_reads, whole_writes] = of.whole;
    c.read_sectors += whole_reads.requests() * sectors;
    c.read_sector_hits += whole_reads.hits() * sectors;
    c.write_sectors += whole_writes.requests() * sectors;
    for (op, any, whole) in [
        (Op::Read, of.any[0], whole_reads),
        (Op::Write, of.any[1], whole_writes),
    ] {
        let one = any.plus(whole);
        let (requests, hits) = (one.requests(), one.hits());
        let added = Added {
            requests,
            pages: requests,
            page_hits: hits,
            all: hits,
            any: hits,
            fractions: hits as f64,
        };
        added.to(c, op);
    }
}

/// Increments of the counters by requests of one kind, besides sectors.
struct Added {
    requests: u64,
    pages: u64,
    page_hits: u64,
    /// Requests of which all pages hit.
    all: u64,
    /// Requests of which any page hit.
    any: u64,
    /// Sum of the hit pages' shares of their requests.
    fractions: f64,
}

impl Added {
    #[inline(always)]
    fn to(self, c: &mut Counts, op: Op) {
        c.page_accesses += self.pages;
        c.page_hits += self.page_hits;
        if op == Op::Read {
            c.read_requests += self.requests;
            c.read_pages += self.pages;
            c.read_page_hits += self.page_hits;
            c.read_request_hits += self.all;
            c.read_request_hits_any += self.any;
            c.read_hit_fraction_sum += self.fractions;
        } else {
            c.write_requests += self.requests;
            c.write_pages += self.pages;
            c.write_page_hits += self.page_hits;
            c.write_request_hits += self.all;
            c.write_request_hits_any += self.any;
            c.write_hit_fraction_sum += self.fractions;
        }
    }
}

/// The old addresses that a write names, see [`RequestRef::prev`].
#[derive(Clone, Copy)]
pub(super) struct Previous<'a> {
    sectors: &'a [u64],
    atomic: bool,
}

impl Previous<'_> {
    /// None at all.
    #[inline(always)]
    pub(super) fn none(atomic: bool) -> Previous<'static> {
        let sectors = &[];
        Previous { sectors, atomic }
    }
}

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// Reads and writes. Requests for one page are the common case of many traces and the only
    /// one of cache-only studies: the loops over extents and pages are compiled away for them. Not
    /// so before a device: with its code beside them, one copy of the cache for requests of any
    /// length is what the processor's cache of instructions has room for.
    ///
    /// The parts of a [`RequestRef`] are handed on one by one: they stay in registers then.
    #[inline(always)]
    pub(super) fn data(
        &mut self,
        request: RequestRef<'_>,
        op: Op,
        now: Nanos,
        place: Place,
    ) -> Hits {
        let RequestRef { head, more, prev } = request;
        let only = Extent::new(head.start_sector, head.sectors);
        if !more.is_empty() || self.options.wrap.is_some() {
            return self.data_of_list(head, more, prev, now);
        }
        let prev = Previous {
            sectors: prev,
            atomic: head.is_atomic(),
        };
        if !F::TIMED && page_span(&only, self.frames.page()).1 == 1 {
            return self.data_of::<true, false>(&[only], prev, op, now, place);
        }
        self.data_of_many(&[only], prev, op, now, place)
    }

    /// As [`Cache::data`], for requests of several extents or addresses that wrap.
    #[inline(never)]
    fn data_of_list(
        &mut self,
        head: &HostRequest,
        more: &[Extent],
        prev: &[u64],
        now: Nanos,
    ) -> Hits {
        let mut extents = std::mem::take(&mut self.extents);
        extents.clear();
        extents.extend(RequestRef { head, more, prev }.extents());
        self.wrap(&mut extents);
        let prev = Previous {
            sectors: prev,
            atomic: head.is_atomic(),
        };
        let hits = self.data_of_many(&extents, prev, head.op, now, Place::BLANK);
        self.extents = extents;
        hits
    }

    #[inline(never)]
    fn data_of_many(
        &mut self,
        extents: &[Extent],
        prev: Previous<'_>,
        op: Op,
        now: Nanos,
        place: Place,
    ) -> Hits {
        self.data_of::<false, false>(extents, prev, op, now, place)
    }

    /// The index has the first page at `place`. `ONE` says that the extents are one, inside one page;
    /// `WHOLE` that they are this whole page, and that the run has a short way
    /// ([`Cache::has_short_way`]).
    #[inline(always)]
    pub(super) fn data_of<const ONE: bool, const WHOLE: bool>(
        &mut self,
        extents: &[Extent],
        prev: Previous<'_>,
        op: Op,
        now: Nanos,
        place: Place,
    ) -> Hits {
        let r = self.request_of::<ONE>(extents, op, now);
        let hits = match op {
            Op::Read => self.read::<ONE, WHOLE>(&r, place),
            _ => self.write::<ONE, WHOLE>(&r, prev, place),
        };
        if !self.is_left_open() {
            self.count_request::<ONE, WHOLE>(op, hits, sectors_of(extents));
        }
        hits
    }

    #[inline(always)]
    fn read<const ONE: bool, const WHOLE: bool>(&mut self, r: &Request<'_>, place: Place) -> Hits {
        self.scheme.on_request(r, &view!(self, r.now));
        let hits = self.serve_pages::<ONE>(r, place, Cache::read_page::<WHOLE>);
        self.scheme
            .on_notice(SchemeNotice::RequestEnd(r), &view!(self, r.now));
        hits
    }

    #[inline(always)]
    fn write<const ONE: bool, const WHOLE: bool>(
        &mut self,
        r: &Request<'_>,
        prev: Previous<'_>,
        place: Place,
    ) -> Hits {
        let now = r.now;
        if !prev.sectors.is_empty() {
            self.rename_all(r, prev.sectors, prev.atomic);
        }
        let admission = self.scheme.on_request(r, &view!(self, now));
        let hits = if !WHOLE && self.frames.capacity() == 0 {
            self.write_past_cache(r, false)
        } else {
            match admission {
                _ if self.is_bounded() => self.write_bounded(r, admission),
                Admission::PerPage => self.serve_pages::<ONE>(r, place, Cache::write_page::<WHOLE>),
                Admission::Whole => self.write_whole(r),
                Admission::Bypass => self.write_past_cache(r, true),
            }
        };
        if !self.is_left_open() {
            self.scheme
                .on_notice(SchemeNotice::RequestEnd(r), &view!(self, now));
        }
        hits
    }

    /// Counts a write that had waited.
    pub(super) fn count_write(&mut self, extents: &[Extent], hits: Hits) {
        self.count_request::<false, false>(Op::Write, hits, sectors_of(extents));
    }

    #[inline(always)]
    pub(super) fn request_of<'a, const ONE: bool>(
        &self,
        extents: &'a [Extent],
        op: Op,
        now: Nanos,
    ) -> Request<'a> {
        let page = self.frames.page();
        Request {
            id: self.request,
            op,
            now,
            extents,
            pages: if ONE { 1 } else { pages_of(extents, page) },
            bytes: sectors_of(extents) * SECTOR_BYTES,
        }
    }

    #[inline(always)]
    fn count_request<const ONE: bool, const WHOLE: bool>(
        &mut self,
        op: Op,
        Hits { pages, hits }: Hits,
        sectors: u64,
    ) {
        if WHOLE {
            return self.one_page.whole[usize::from(op != Op::Read)].add(hits);
        }
        // Those of one page are counted alike, however they came here: sums of fractions are.
        let one = ONE || pages == 1;
        let c = &mut self.counts;
        match op {
            Op::Read => c.read_sectors += sectors,
            _ => c.write_sectors += sectors,
        }
        if one {
            self.one_page.any[usize::from(op != Op::Read)].add(hits);
            return;
        }
        let added = Added {
            requests: 1,
            pages,
            page_hits: hits,
            all: u64::from(hits == pages),
            any: u64::from(hits > 0),
            fractions: hits as f64 / pages as f64,
        };
        added.to(c, op);
    }
}

#[inline(always)]
fn sectors_of(extents: &[Extent]) -> u64 {
    extents.iter().map(|e| u64::from(e.sectors)).sum()
}
