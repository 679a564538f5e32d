//! Lookups for the sake of the processor's cache, some requests before they are needed.

use super::{Cache, view};
use crate::flash::Flash;
use destage_scheme::{PREFETCH, Scheme};
use destage_types::{HostRequest, Op};

/// Victims whose mapping is looked up ahead of time: more would push each other out of the
/// processor's cache.
const MOST_AHEAD: usize = 128;

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// The scheme has to work out its next victims: looking up their mapping ahead of time would take longer
    /// than it gains.
    pub fn skip_victims_ahead(&mut self) {
        self.knows_next_victims = false;
    }

    /// [`Cache::prefetch`] for the mapping of a device: of the pages that `requests` read, and of those that are
    /// likely to be evicted for them. A bounded buffer is often handed what is written right away.
    #[inline(never)]
    pub(super) fn prefetch_mapping(&self, requests: &[HostRequest]) {
        let Some(first) = requests.first() else {
            return;
        };
        let page = self.frames.page();
        // Kept or not without a branch, which would be guessed wrong.
        let (mut numbers, mut n, mut sectors) = ([0; PREFETCH + MOST_AHEAD], 0, 0);
        for r in requests.iter().take(PREFETCH) {
            numbers[n] = page.page_of(r.start_sector).0;
            n += usize::from(self.is_bounded() || r.op == Op::Read);
            sectors += u64::from(r.sectors);
        }
        let pages = page.page_of(sectors).0 as usize;
        let leaving = (self.frames.used() + pages).saturating_sub(self.frames.capacity());
        // Some of the pages will be hits.
        let mut left = if self.knows_next_victims && !self.is_bounded() {
            (leaving * 3 / 4).min(MOST_AHEAD)
        } else {
            0
        };
        if left > 0 {
            self.scheme
                .next_victims(&view!(self, first.arrival), &mut |slot| {
                    numbers[n] = self.frames.lpn(slot).0;
                    n += usize::from(self.frames.is_dirty(slot));
                    left -= 1;
                    left > 0
                });
        }
        // The pages are in the processor's cache when they are served. The answer means nothing, and is not to be left out.
        if let Some(core) = self.flash.core() {
            std::hint::black_box(core.map.prefetch(&mut numbers[..n]));
        }
    }
}
