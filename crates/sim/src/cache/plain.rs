//! The short way: reads and writes of one page in a run without time that nobody watches.
//!
//! Miss-ratio studies consist of such requests. They take the same steps as any other, by the same
//! functions, in the same order; what is left out here is only what cannot happen to them.

use super::Cache;
use super::data::Previous;
use crate::flash::Flash;
use destage_scheme::{Place, Scheme};
use destage_types::{Extent, HostRequest, Nanos, Op, RequestFlags, RequestOrigin};

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// Can requests take the short way, as long as they are plain?
    #[inline]
    pub fn has_short_way(&self) -> bool {
        let watched = self.observer.is_some();
        !F::TIMED && !watched && self.options.wrap.is_none() && self.frames.capacity() > 0
    }

    /// Sectors of a page.
    #[inline]
    pub fn sectors_of_page(&self) -> u32 {
        self.frames.page().sectors()
    }

    /// As [`Cache::serve_at`], for a plain request.
    #[inline(always)]
    pub fn serve_plain(&mut self, head: &HostRequest, now: Nanos, place: Place) {
        self.request += 1;
        let sectors = self.frames.page().sectors();
        let only = [Extent::new(head.start_sector, sectors)];
        let prev = Previous::none(head.is_atomic());
        match head.op {
            Op::Read => self.data_of::<true, true>(&only, prev, Op::Read, now, place),
            _ => self.data_of::<true, true>(&only, prev, Op::Write, now, place),
        };
    }
}

/// Is a request of the host a read or write of one whole page of `sectors` sectors?
#[inline(always)]
pub(crate) fn is_plain(head: &HostRequest, sectors: u32) -> bool {
    head.sectors == sectors
        && head.start_sector & u64::from(sectors - 1) == 0
        && head.is_all()
        && matches!(head.op, Op::Read | Op::Write)
        && head.origin == RequestOrigin::Host
        && !head.flags.any(RequestFlags::OF_WRITES)
}
