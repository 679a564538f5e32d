//! Reads of requests: what one request misses in one page is one read (D-5).

use super::{Drive, Use};
use destage_types::{Lpn, SECTOR_BYTES};

impl Drive {
    /// The current request misses so many sectors of a mapping unit. Data whose program has not ended are read
    /// from memory.
    pub(super) fn miss(&mut self, lpn: Lpn, sectors: u32) {
        let place = self
            .map
            .place(lpn)
            .expect("the cache asks for mapped pages only");
        if !self.map.is_programmed(place) {
            return;
        }
        let bytes = u64::from(sectors) * SECTOR_BYTES;
        let page = self.map.shape().page(place);
        match self.misses.iter_mut().find(|miss| miss.0 == page) {
            Some(miss) => miss.1 += bytes,
            None => self.misses.push((page, bytes)),
        }
    }

    /// All that the current request misses is known: one read for each page, in the order of the request.
    pub(super) fn read_misses(&mut self) {
        let Some(request) = self.requests.current() else {
            return;
        };
        let mut misses = std::mem::take(&mut self.misses);
        let shape = *self.map.shape();
        for (page, bytes) in misses.drain(..) {
            let block = shape.block(page * u64::from(shape.per_page));
            let die = shape.die(shape.group_of(block));
            let bytes = bytes * self.costs.sector_bytes / SECTOR_BYTES;
            let data = [self.transfer(bytes)];
            let op = self.read_op(die, &data, bytes);
            self.requests.wait(request);
            self.submit(Use::Read { request }, op);
        }
        self.misses = misses;
    }
}
