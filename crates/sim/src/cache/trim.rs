//! TRIM (D8): wholly covered pages leave the cache, every list and every ghost without a flash
//! write; of partly covered pages only the covered sectors go.

use super::{Cache, Hits, page_sectors, page_span, view};
use crate::flash::Flash;
use destage_scheme::{Scheme, SchemeNotice};
use destage_types::{Extent, HostRequest, Lpn, Nanos, RequestRef};

impl<S: Scheme, F: Flash> Cache<S, F> {
    pub(super) fn trim(&mut self, head: &HostRequest, more: &[Extent], now: Nanos) -> Hits {
        let prev = &[];
        let request = RequestRef { head, more, prev };
        self.counts.trim_requests += 1;
        let mut extents = std::mem::take(&mut self.extents);
        extents.clear();
        extents.extend(request.extents());
        self.wrap(&mut extents);
        for extent in &extents {
            self.trim_extent(extent, now);
        }
        self.extents = extents;
        Hits::default()
    }

    fn trim_extent(&mut self, extent: &Extent, now: Nanos) {
        let page = self.frames.page();
        let (first, pages) = page_span(extent, page);
        for i in 0..u64::from(pages) {
            let lpn = Lpn(first.0 + i);
            let sectors = page_sectors(extent, lpn, page);
            if let Some(slot) = self.frames.slot_of(lpn) {
                self.supersede(slot, sectors, now);
            }
            if sectors == self.frames.full_mask() {
                self.scheme
                    .on_notice(SchemeNotice::Forgotten(lpn), &view!(self, now));
                self.free_released_slots();
                self.flash.trim(lpn);
            }
        }
    }
}
