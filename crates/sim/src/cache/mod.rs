//! The request cache: what one host request does to the cache, step by step.
//!
//! The cache owns the frames and acts; the scheme decides. The request rules are D1 to D12 of
//! docs/DECISIONS.md: D1 read hit, D2 read miss, D3/D4 write hit and miss, D5/D6 eviction, D8 TRIM,
//! D9 FLUSH, D11 rename, D12 accounting.

mod admit;
mod asking;
mod background;
mod bounded;
mod carry;
mod data;
mod evict;
mod extents;
mod flush;
mod modelled;
pub mod observe;
mod pages;
mod plain;
mod prefetch;
mod rename;
pub(crate) mod sample;
#[cfg(test)]
mod tests;
mod trim;

pub(crate) use carry::Carried;
pub(crate) use extents::{page_sectors, page_span, pages_of, wrap_extents};
pub(crate) use plain::is_plain;

use crate::cache::observe::Observer;
use crate::cache::sample::{PagesHistogram, QueueSampler};
use crate::flash::{Cause, Flash, Program};
use destage_record::Counts;
use destage_scheme::{
    FrameCounts, Frames, PREFETCH, Place, Scheme, SchemeExt, Unit, Upcoming, View, WriteClass,
};
use destage_types::{
    Extent, HostRequest, Lpn, Nanos, Op, PageSize, RequestFlags, RequestOrigin, RequestRef,
    SectorMask, Slot, StaticLayout,
};
use std::collections::VecDeque;

/// The sectors that a read miss brings into the cache (D2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReadFill {
    /// The whole page is read, transferred and valid, as ECC code words need.
    #[default]
    Page,
    /// Only the requested sectors are transferred and valid, as in SSDsim.
    Requested,
}

/// Settings of the cache that are not the scheme's.
#[derive(Clone, Copy, Debug)]
pub struct CacheOptions {
    /// Does a read miss enter the cache?
    pub read_alloc: bool,
    /// The sectors that a read miss brings in.
    pub read_fill: ReadFill,
    /// Does programming a page that is not wholly valid cost a flash read first?
    pub rmw: bool,
    /// Sectors of the device's address space, modulo which addresses are taken; `None`: as given.
    pub wrap: Option<u64>,
    /// Does the cache survive a power cut? Then FLUSH and FUA write nothing.
    pub nvm: bool,
}

/// The scheme as it sees the world at `now`. A macro, because only some fields may be borrowed.
macro_rules! view {
    ($cache:expr, $now:expr) => {
        destage_scheme::View {
            frames: &$cache.frames,
            layout: &$cache.layout,
            device: $cache.flash.view(),
            now: $now,
            seq: $cache.seq,
        }
    };
}
pub(crate) use view;

/// One cache with its scheme and the flash behind it.
pub struct Cache<S, F> {
    pub(crate) scheme: S,
    pub(crate) frames: Frames,
    pub(crate) layout: StaticLayout,
    pub(crate) flash: F,
    pub(crate) options: CacheOptions,
    /// All but what `one_page`, `evict_pages`, `uncounted` and `flash` say.
    counts: Counts,
    /// Reads and writes of one page.
    one_page: data::OnePages,
    evict_pages: PagesHistogram,
    queues: Option<Box<QueueSampler>>,
    back: background::WriteBacks,
    /// Writes that wait for frames, if the buffer is bounded.
    bounded: bounded::Bounded,
    /// Those of FLUSH and FUA whose pages wait for room.
    flushes: VecDeque<flush::WaitingFlush>,
    /// Was the current request left waiting?
    left_open: bool,
    /// Is the current write to be on flash when it completes?
    durable: bool,
    /// Is the scheme asked for write-backs after each page?
    asks_on_page: bool,
    /// When it is asked next because it named this time.
    ask_at: Nanos,
    /// Are the next victims at hand, rather than to be worked out one by one?
    knows_next_victims: bool,
    pub(crate) observer: Option<Box<dyn Observer + Send>>,
    /// Number of the present request in the trace, as the observer knows it.
    observed: u64,
    /// Requests so far; the id of the current one.
    request: u64,
    /// Those of them that are no requests of the host, and those before the measured part.
    uncounted: u64,
    /// Page accesses so far (`page_seq`).
    seq: u64,
    /// The victim unit, reused.
    unit: Unit,
    /// Extents of the current request, reused.
    extents: Vec<Extent>,
    /// Page lists for events and for FLUSH, reused.
    lpns: [Vec<Lpn>; 3],
    flushed: Vec<Lpn>,
    cleaned: Vec<Slot>,
}

/// The pages of a cache, and where they belong on the device.
#[derive(Clone, Copy, Debug)]
pub struct CacheGeometry {
    /// Pages that the cache holds at most; zero means no cache at all.
    pub capacity: u32,
    /// Page frames that exist: as many as the capacity, or fewer where the trace touches fewer pages.
    pub slots: u32,
    /// Size of a page.
    pub page: PageSize,
    /// Planes, chips and channels of the device.
    pub layout: StaticLayout,
}

/// Pages of a victim unit for which there is room from the start.
const USUAL_UNIT: usize = 256;

/// Page hits of one request.
#[derive(Clone, Copy, Debug, Default)]
struct Hits {
    pages: u64,
    hits: u64,
}

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// An empty cache.
    pub fn new(
        mut scheme: S,
        flash: F,
        geometry: CacheGeometry,
        options: CacheOptions,
    ) -> Cache<S, F> {
        let CacheGeometry {
            capacity,
            slots,
            page,
            layout,
        } = geometry;
        Cache {
            frames: Frames::new(
                FrameCounts {
                    capacity,
                    pages: slots,
                    ghosts: scheme.max_ghosts(),
                },
                page,
            ),
            scheme,
            layout,
            flash,
            options,
            counts: Counts::default(),
            one_page: Default::default(),
            evict_pages: PagesHistogram::new(USUAL_UNIT),
            queues: None,
            back: background::WriteBacks::new(),
            bounded: bounded::Bounded::default(),
            left_open: false,
            durable: false,
            asks_on_page: false,
            ask_at: Nanos::NEVER,
            knows_next_victims: true,
            observer: None,
            observed: 0,
            request: 0,
            uncounted: 0,
            seq: 0,
            unit: Unit {
                slots: Vec::with_capacity(USUAL_UNIT),
                ..Unit::default()
            },
            extents: Vec::new(),
            lpns: [(); 3].map(|()| Vec::with_capacity(USUAL_UNIT)),
            flushed: Vec::new(),
            cleaned: Vec::new(),
            flushes: VecDeque::new(),
        }
    }

    /// From now on no slot is used for a second page, so there must be a slot for each page that comes in.
    #[cfg(feature = "conformance")]
    pub fn never_reuse_slots(&mut self) {
        self.frames.never_reuse_slots();
    }

    /// Everything that happens to a page is told to `observer` from now on.
    pub fn observe(&mut self, observer: Box<dyn Observer + Send>) {
        self.observer = Some(observer);
    }

    /// Takes the observer back.
    pub fn unobserve(&mut self) -> Option<Box<dyn Observer + Send>> {
        self.observer.take()
    }

    /// The scheme.
    pub fn scheme(&self) -> &S {
        &self.scheme
    }

    /// The flash behind the cache.
    pub fn flash(&self) -> &F {
        &self.flash
    }

    /// The flash behind the cache.
    pub fn flash_mut(&mut self) -> &mut F {
        &mut self.flash
    }

    /// The frames.
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// The view that a scheme has of the cache at `now`.
    pub fn view(&self, now: Nanos) -> View<'_> {
        view!(self, now)
    }

    /// Counters of the measured part so far.
    pub fn counts(&self) -> Counts {
        let mut counts = self.counts.clone();
        counts.requests = self.counted();
        let traffic = self.flash.traffic();
        counts.add_traffic(&traffic);
        counts.flash_reads_host += traffic.flash_reads_host;
        counts.flash_reads_rmw += traffic.flash_reads_rmw;
        counts.evictions += self.evict_pages.ones();
        counts.evicted_pages += self.evict_pages.ones();
        let sectors = u64::from(self.frames.page().sectors());
        data::add_one_page(&mut counts, self.one_page, sectors);
        counts
    }

    /// Requests of that part and of the warm-up, those of a modelled file system's cleaning included.
    pub fn served(&self) -> u64 {
        self.request
    }

    /// Requests of the measured part so far ([`Counts::requests`]).
    pub fn counted(&self) -> u64 {
        self.request - self.uncounted
    }

    /// The warm-up ends here: counters start again from zero, the state stays.
    pub fn reset_counts(&mut self) {
        self.counts = Counts::default();
        self.one_page = Default::default();
        self.uncounted = self.request;
        self.forget_waiting(0);
        self.evict_pages.clear();
        if let Some(queues) = &mut self.queues {
            queues.clear();
        }
        self.flash.start_measuring();
    }

    /// Evictions by the number of pages they removed.
    pub fn evict_pages(&self) -> &PagesHistogram {
        &self.evict_pages
    }

    /// Samples the chip queues before every dirty eviction from now on.
    pub fn sample_queues(&mut self) {
        self.queues = Some(Box::new(QueueSampler::new(self.layout.chips())));
    }

    /// The samples of the chip queues, if they are taken.
    pub fn queues(&self) -> Option<&QueueSampler> {
        self.queues.as_deref()
    }

    /// To be called before [`Cache::prefetch`], see [`Frames::tidy`].
    #[inline(always)]
    pub fn tidy(&mut self) {
        self.frames.tidy();
    }

    /// Looks up the pages that `requests` begin with, which brings what is known of them close,
    /// notes their places in `upcoming`, and brings the requests `behind` them close: those would be
    /// waited for alone.
    #[inline(always)]
    pub fn prefetch(
        &mut self,
        requests: &[HostRequest],
        behind: &[HostRequest],
        upcoming: &mut Upcoming,
    ) {
        let page = self.frames.page();
        let lpns = requests.iter().map(|r| page.page_of(r.start_sector));
        if F::TIMED {
            self.frames.prefetch::<true>(lpns, upcoming);
        } else {
            self.frames.prefetch::<false>(lpns, upcoming);
        }
        // One of two requests, which share a line of the processor's cache.
        let next = behind.iter().take(PREFETCH).step_by(2);
        let next = next.fold(0, |mixed, r| mixed ^ r.start_sector);
        std::hint::black_box(next);
        self.scheme.prefetch(upcoming);
        if F::TIMED {
            self.prefetch_mapping(requests);
        }
    }

    /// Serves request number `index` of the trace, which arrives at `now`.
    pub fn serve(&mut self, request: RequestRef<'_>, index: u64, now: Nanos) {
        let first = self.frames.page().page_of(request.head.start_sector);
        self.serve_at(request, index, now, self.frames.place(first));
    }

    /// D13: the host flushes the device at `now`, before it sends request number `index` of the trace: a FLUSH that is
    /// none of the requests. Without time [`Cache::serve`] does it.
    pub fn preflush(&mut self, index: u64, now: Nanos) {
        if let Some(o) = &mut self.observer {
            o.request(index);
            self.observed = index;
        }
        self.advance(now);
        self.flash
            .begin(index, &HostRequest::new(now, Op::Flush, 0, 0), now);
        self.program_dirty(now);
        self.flash.end(0, 0);
        self.write_back(now);
        if let Some(o) = &mut self.observer {
            o.request_done();
        }
    }

    /// As [`Cache::serve`]; the index has the first page at `place`, see [`Cache::prefetch`]. With FUA, the pages of a
    /// write that are dirty in the cache after it are programmed as by FLUSH, and stay, clean.
    #[inline(always)]
    pub fn serve_at(&mut self, request: RequestRef<'_>, index: u64, now: Nanos, place: Place) {
        let host = match request.head.origin {
            RequestOrigin::Host => None,
            RequestOrigin::FileSystem | RequestOrigin::Cleaning => self.begin_modelled(request),
        };
        if let Some(o) = &mut self.observer {
            o.request(index);
            self.observed = index;
        }
        self.advance(now);
        self.request += 1;
        let (op, flags) = (request.head.op, request.head.flags);
        self.durable = flags.any(RequestFlags::FUA) && !self.options.nvm;
        if !F::TIMED && flags.any(RequestFlags::PREFLUSH) {
            self.program_dirty(now);
        }
        self.flash.begin(index, request.head, now);
        let hits = match op {
            Op::Read | Op::Write => self.data(request, op, now, place),
            Op::Trim => self.trim(request.head, request.more, now),
            Op::Flush => self.flush(now),
        };
        if !self.take_left_open() {
            if self.durable {
                self.flush_written(request, now);
            }
            self.flash.end(hits.pages, hits.hits);
        }
        if F::TIMED {
            self.write_back(now);
        }
        if let Some(o) = &mut self.observer {
            o.request_done();
        }
        if let Some(host) = host {
            self.end_cleaning(request, host);
        }
    }

    #[inline]
    fn wrap(&mut self, extents: &mut Vec<Extent>) {
        if let Some(space) = self.options.wrap {
            self.counts.wrapped_requests += u64::from(wrap_extents(extents, space));
        }
    }

    /// Programs one page. `valid` are the sectors the cache has of it.
    fn program(&mut self, lpn: Lpn, valid: SectorMask, cause: Cause, unit: Option<u64>) {
        let program = Program {
            lpn,
            cause,
            unit,
            channel: None,
            read_first: self.is_completed_by_flash(lpn, valid),
            cached: cause != Cause::Own,
        };
        self.send_alone(program);
    }

    /// Are some sectors of a page missing that flash has, so that they are read before its program (`rmw`)?
    fn is_completed_by_flash(&self, lpn: Lpn, valid: SectorMask) -> bool {
        let partial = self.options.rmw && valid != self.frames.full_mask();
        partial && self.flash.is_mapped(lpn)
    }

    /// Hands a page over that leaves the cache or is not there.
    #[inline(always)]
    fn send_alone(&mut self, program: Program) {
        if let Some(token) = self.send(program) {
            self.occupy_frame(token, program.lpn);
        }
    }

    /// Hands a page over: a program, and the read of the old page before it. In the background they count when they start.
    #[inline(always)]
    fn send(&mut self, program: Program) -> Option<u32> {
        let (c, reads) = (&mut self.counts, u64::from(program.read_first));
        match program.cause {
            Cause::Eviction => {}
            Cause::Padding => c.flash_writes_padding += 1,
            Cause::Own => c.flash_writes_bypass += 1,
            Cause::Flush => c.flash_writes_flush += 1,
            Cause::WriteBack(WriteClass::Host) => c.background_writes += 1,
            Cause::WriteBack(WriteClass::Background) => return self.flash.program(program),
        }
        c.flash_writes_host += 1;
        c.flash_reads_host += reads;
        match program.cause == Cause::Padding && !program.cached {
            true => c.flash_reads_padding += reads,
            false => c.flash_reads_rmw += reads,
        }
        self.flash.program(program)
    }
}
