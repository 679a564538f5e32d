//! A device goes on with another cache: what is under way there belongs to it.

use super::background::WriteBacks;
use super::{Cache, CacheGeometry, CacheOptions};
use crate::flash::Flash;
use destage_scheme::Scheme;

/// The state that a cache leaves to the next cache of the same device.
pub(crate) struct Carried<F> {
    flash: F,
    back: WriteBacks,
    request: u64,
    seq: u64,
}

impl<F> Carried<F> {
    /// No cache was there before.
    pub fn new(flash: F) -> Carried<F> {
        Carried {
            flash,
            back: WriteBacks::new(),
            request: 0,
            seq: 0,
        }
    }
}

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// Takes the cache away. All its pages must be clean: so no write-back is queued, and those in
    /// flight are on their own.
    pub(crate) fn carry(self) -> Carried<F> {
        assert_eq!(self.frames.dirty_pages(), 0, "what is dirty would be lost");
        Carried {
            flash: self.flash,
            back: self.back,
            request: self.request,
            seq: self.seq,
        }
    }

    /// [`Cache::new`] over what another cache left; its counters are zero.
    pub(crate) fn carry_on(
        scheme: S,
        carried: Carried<F>,
        geometry: CacheGeometry,
        options: CacheOptions,
    ) -> Cache<S, F> {
        let Carried {
            flash,
            mut back,
            request,
            seq,
        } = carried;
        let mut cache = Cache::new(scheme, flash, geometry, options);
        cache.flash.watch(false, false);
        back.forget_slots(cache.frames.slots());
        cache.back = back;
        (cache.request, cache.seq) = (request, seq);
        cache.uncounted = request;
        cache
    }
}
