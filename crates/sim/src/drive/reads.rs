//! Reads of requests: what one request misses in one page is one read (D-5).

use super::timeline::Purpose;
use super::{Drive, Use};
use destage_types::{Lpn, SECTOR_BYTES};

/// The sectors that a request misses in one page.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageMiss {
    page: u64,
    bytes: u64,
    /// The first mapping unit, and how many there are.
    first: Lpn,
    units: u32,
}

impl Drive {
    /// The current request misses so many sectors of a mapping unit. Data whose program has not ended are read
    /// from memory.
    pub(super) fn miss(&mut self, lpn: Lpn, sectors: u32) {
        if self.keeps(lpn) {
            return;
        }
        let place = self
            .map
            .place(lpn)
            .expect("the cache asks for mapped pages only");
        if !self.map.is_programmed(place) {
            return;
        }
        let bytes = u64::from(sectors) * SECTOR_BYTES;
        let page = self.map.shape().page(place);
        match self.misses.iter_mut().find(|miss| miss.page == page) {
            Some(miss) => {
                miss.bytes += bytes;
                miss.units += 1;
            }
            None => self.misses.push(PageMiss {
                page,
                bytes,
                first: lpn,
                units: 1,
            }),
        }
    }

    /// All that the current request misses is known: one read for each page, in the order of the request.
    pub(super) fn read_misses(&mut self) {
        let Some(request) = self.requests.current() else {
            return;
        };
        let mut misses = std::mem::take(&mut self.misses);
        let shape = *self.map.shape();
        for miss in misses.drain(..) {
            let place = miss.page * u64::from(shape.per_page);
            let bytes = miss.bytes * self.costs.sector_bytes / SECTOR_BYTES;
            let data = [self.transfer(bytes)];
            let op = self.read_op(place, &data, bytes);
            self.requests.wait(request);
            self.submit(Use::Read { request }, op);
            self.note_submission(Purpose {
                page: Some(miss.first),
                pages: miss.units,
                request: Some(self.requests.index(request)),
                ..Purpose::of("read")
            });
        }
        self.misses = misses;
    }
}
