//! Requests as schemes see them.

use super::super::frames::{Seen, sectors};
use super::Buffer;
use crate::reference::request::SlowAccess;
use crate::reference::scheme::Served;

impl Buffer {
    /// From now on this request is served.
    pub(super) fn sees(&mut self, seen: &Seen) {
        self.store.now = seen.now;
        self.store.request = seen.number as u64 + 1;
        self.request_bytes = seen.request.bytes;
    }

    /// The pages of a request, with their sectors.
    pub(super) fn accesses(&self, seen: &Seen) -> Vec<SlowAccess> {
        let size = u64::from(self.store.spp) * 512;
        let (from, to) = (
            seen.request.offset,
            seen.request.offset + seen.request.bytes,
        );
        let page = |lpn: u64| SlowAccess {
            lpn,
            mask: sectors(
                from.max(lpn * size) - lpn * size,
                to.min((lpn + 1) * size) - lpn * size,
            ),
        };
        (from / size..to.div_ceil(size)).map(page).collect()
    }

    /// The request as the scheme sees it.
    pub(super) fn served(&self, seen: &Seen, write: bool) -> Served {
        let first = seen.request.offset / 512;
        let end = (seen.request.offset + seen.request.bytes) / 512;
        Served {
            spans: vec![(first, end - 1)],
            pages: self.accesses(seen).iter().map(|a| a.lpn).collect(),
            renamed: self.renamed.clone(),
            write,
        }
    }
}
