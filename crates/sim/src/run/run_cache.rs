//! The cache of a run, whatever its scheme and its flash.
//!
//! Only the path of a request is compiled anew for each scheme. All else that a run does is code
//! over this one type.

use crate::cache::observe::Observer;
use crate::cache::sample::{PagesHistogram, QueueSampler};
use crate::cache::{Cache, is_plain};
use crate::device::DeviceCore;
use crate::flash::Flash;
use destage_record::Counts;
use destage_scheme::{Frames, PREFETCH, PageLists, Place, Scheme, SchemeStats, Upcoming};
use destage_trace::RequestSlice;
use destage_types::{HostRequest, Nanos, RequestRef};

/// The figures and the state of a cache over a flash. Methods without a comment are those of [`Cache`].
pub(crate) trait CacheState {
    /// When something happens next without new requests, in the flash or because the scheme named the time.
    fn next_event(&self) -> Nanos;
    /// The same of the flash alone.
    fn next_flash_event(&self) -> Nanos;
    fn has_waiting_writes(&self) -> bool;
    fn has_waiting_requests(&self) -> bool;
    fn counts(&self) -> Counts;
    fn counted(&self) -> u64;
    fn served(&self) -> u64;
    fn evict_pages(&self) -> &PagesHistogram;
    fn queues(&self) -> Option<&QueueSampler>;
    fn frames(&self) -> &Frames;
    fn dirty_pages_left(&self) -> u64;
    /// The device, if there is one.
    fn device(&self) -> Option<&DeviceCore>;
    /// Does it keep time?
    fn is_timed(&self) -> bool;
    /// The scheme's own figures now.
    fn stats(&self) -> SchemeStats;
    /// Metadata of the scheme in bytes.
    fn metadata_bytes(&self) -> u64;
    /// The lists of the scheme at `now`.
    fn page_lists(&self, now: Nanos, out: &mut PageLists);
}

/// A cache over a flash that serves requests. Methods without a comment are those of [`Cache`].
pub(crate) trait RunCache {
    fn state(&self) -> &dyn CacheState;
    /// Serves consecutive requests of a trace, the first of them number `first` of it, each `shift`
    /// after its arrival. Where the device has no room any more it ends, with the number of the request.
    fn serve_all(
        &mut self,
        requests: RequestSlice<'_>,
        first: u64,
        shift: Nanos,
    ) -> Result<(), u64>;
    /// [`Cache::tidy`] and [`Cache::prefetch`].
    fn prefetch(&mut self, heads: &[HostRequest], behind: &[HostRequest], upcoming: &mut Upcoming);
    fn serve_at(&mut self, request: RequestRef<'_>, index: u64, now: Nanos, place: Place);
    /// Serves a request, which may be none of the statistics.
    fn serve(&mut self, request: RequestRef<'_>, index: u64, now: Nanos, counts: bool);
    fn preflush(&mut self, index: u64, now: Nanos, counts: bool);
    fn advance(&mut self, until: Nanos);
    fn drain(&mut self);
    fn stop_background(&mut self, now: Nanos);
    fn reset_counts(&mut self);
    fn observe(&mut self, observer: Box<dyn Observer + Send>);
    fn unobserve(&mut self) -> Option<Box<dyn Observer + Send>>;
    fn device_mut(&mut self) -> Option<&mut DeviceCore>;
}

impl<S: Scheme, F: Flash> CacheState for Cache<S, F> {
    fn next_event(&self) -> Nanos {
        self.flash.next_event().min(self.next_ask())
    }

    fn next_flash_event(&self) -> Nanos {
        self.flash.next_event()
    }

    fn has_waiting_writes(&self) -> bool {
        Cache::has_waiting_writes(self)
    }

    fn has_waiting_requests(&self) -> bool {
        Cache::has_waiting_requests(self)
    }

    fn counts(&self) -> Counts {
        Cache::counts(self)
    }

    fn counted(&self) -> u64 {
        Cache::counted(self)
    }

    fn served(&self) -> u64 {
        Cache::served(self)
    }

    fn evict_pages(&self) -> &PagesHistogram {
        Cache::evict_pages(self)
    }

    fn queues(&self) -> Option<&QueueSampler> {
        Cache::queues(self)
    }

    fn frames(&self) -> &Frames {
        Cache::frames(self)
    }

    fn dirty_pages_left(&self) -> u64 {
        Cache::dirty_pages_left(self)
    }

    fn device(&self) -> Option<&DeviceCore> {
        self.flash.core()
    }

    fn is_timed(&self) -> bool {
        F::TIMED
    }

    fn stats(&self) -> SchemeStats {
        let mut stats = SchemeStats::default();
        self.scheme().stats(&mut stats);
        stats
    }

    fn metadata_bytes(&self) -> u64 {
        self.scheme().metadata_bytes(self.frames.used() as u64)
    }

    fn page_lists(&self, now: Nanos, out: &mut PageLists) {
        self.scheme().lists(&self.view(now), out);
    }
}

impl<S: Scheme, F: Flash> RunCache for Cache<S, F> {
    fn state(&self) -> &dyn CacheState {
        self
    }

    fn serve_all(
        &mut self,
        requests: RequestSlice<'_>,
        first: u64,
        shift: Nanos,
    ) -> Result<(), u64> {
        let short = self.has_short_way();
        let sectors = self.sectors_of_page();
        let (mut number, mut upcoming) = (first, Upcoming::none());
        let mut rest = requests.records;
        while !rest.is_empty() {
            let (heads, behind) = rest.split_at(rest.len().min(PREFETCH));
            rest = behind;
            self.tidy();
            Cache::prefetch(self, heads, behind, &mut upcoming);
            for (i, (head, &place)) in heads.iter().zip(upcoming.places()).enumerate() {
                let now = head.arrival + shift;
                if short && is_plain(head, sectors) {
                    self.serve_plain(head, now, place);
                    continue;
                }
                let number = number + i as u64;
                let request = requests.batch.with_sides(head);
                Cache::serve_at(self, request, number, now, place);
                if self.flash.core().and_then(DeviceCore::fault).is_some() {
                    return Err(number);
                }
            }
            number += heads.len() as u64;
        }
        Ok(())
    }

    fn prefetch(&mut self, heads: &[HostRequest], behind: &[HostRequest], upcoming: &mut Upcoming) {
        self.tidy();
        Cache::prefetch(self, heads, behind, upcoming);
    }

    // Callers have a pointer to it, so a second copy of it in `serve` would make nothing faster.
    #[inline(never)]
    fn serve_at(&mut self, request: RequestRef<'_>, index: u64, now: Nanos, place: Place) {
        Cache::serve_at(self, request, index, now, place);
    }

    fn serve(&mut self, request: RequestRef<'_>, index: u64, now: Nanos, counts: bool) {
        let place = Place::BLANK;
        match counts {
            true => RunCache::serve_at(self, request, index, now, place),
            false => self.uncounted(|cache| RunCache::serve_at(cache, request, index, now, place)),
        }
    }

    fn preflush(&mut self, index: u64, now: Nanos, counts: bool) {
        match counts {
            true => Cache::preflush(self, index, now),
            false => self.uncounted(|cache| Cache::preflush(cache, index, now)),
        }
    }

    fn advance(&mut self, until: Nanos) {
        Cache::advance(self, until);
    }

    fn drain(&mut self) {
        Cache::drain(self);
    }

    fn stop_background(&mut self, now: Nanos) {
        Cache::stop_background(self, now);
    }

    fn reset_counts(&mut self) {
        Cache::reset_counts(self);
    }

    fn observe(&mut self, observer: Box<dyn Observer + Send>) {
        Cache::observe(self, observer);
    }

    fn unobserve(&mut self) -> Option<Box<dyn Observer + Send>> {
        Cache::unobserve(self)
    }

    fn device_mut(&mut self) -> Option<&mut DeviceCore> {
        self.flash.core_mut()
    }
}
