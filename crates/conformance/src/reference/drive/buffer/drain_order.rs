//! The order in which a drive drains the pages of a scheme.

use super::{Buffer, Last};
use crate::reference::store::Store;

impl Buffer {
    /// The page came in, or was hit.
    pub(super) fn used(&mut self, lpn: usize) {
        if self.store.writing {
            self.written.insert(lpn, self.store.page_seq);
        }
        self.last = Some(Last {
            lpn,
            now: self.store.now,
            request: self.store.request,
            page_seq: self.store.page_seq,
        });
    }

    /// Pages in the order in which `drain` hands them over.
    pub(super) fn drain_order(&self) -> Vec<usize> {
        if self.by_writes {
            let mut order = self.dirty_pages();
            order.sort_by_key(|lpn| self.written[lpn]);
            return order;
        }
        let mut order = self.scheme.next_victims(None, &self.store);
        if let Some(last) = self.last.filter(|_| self.groups) {
            let store = Store {
                frames: self.store.frames.clone(),
                capacity: self.store.capacity,
                spp: self.store.spp,
                now: last.now,
                data: (last.now, last.request),
                request: last.request,
                page_seq: last.page_seq,
                current: last.lpn as u64,
                flash: self.store.flash.boxed(),
                ..Store::default()
            };
            for mut unit in self.scheme.units(Some(last.lpn as u64), &store) {
                unit.pages.sort_unstable();
                order.extend(unit.pages);
            }
        }
        order.retain(|&lpn| self.is_dirty(lpn));
        order.into_iter().map(|lpn| lpn as usize).collect()
    }
}
