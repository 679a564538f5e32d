//! The renames of a write request under CAC (section 4).

use super::SlowCache;
use crate::reference::mapping::Renames;
use crate::reference::request::{SlowAccess, SlowRequest};

impl SlowCache {
    /// All renames of a write request; the pairs (cur, pre) that enter the table afterwards.
    pub(super) fn rename_request(
        &mut self,
        request: &SlowRequest,
        pages: &[SlowAccess],
    ) -> Vec<(u64, u64)> {
        let Some(mut art) = self.art.take() else {
            return Vec::new();
        };
        let page = |sector: u64| sector / u64::from(self.store.spp);
        let old = |i: usize| request.prev.get(i).copied().flatten().map(page);
        let blocks = pages.iter().enumerate().map(|(i, a)| (a.lpn, old(i)));
        let blocks: Vec<(u64, Option<u64>)> = blocks.collect();
        let pairs = art.rename_all(&blocks, request.atomic, self);
        self.art = Some(art);
        pairs
    }
}

impl Renames for SlowCache {
    fn has(&self, lpn: u64) -> bool {
        self.store.has(lpn)
    }

    fn forget_ghost(&mut self, lpn: u64) {
        self.scheme().0.forget_ghost(lpn);
    }

    fn rename(&mut self, from: u64, to: u64, ghosts: bool) -> bool {
        let resident = self.store.has(from);
        if resident {
            self.accessed(from, true);
        }
        let (scheme, store) = self.scheme();
        if !(resident || ghosts) || !scheme.rename(from, to, store) {
            return false;
        }
        if let Some(frame) = self.store.frames.remove(&from) {
            self.store.frames.insert(to, frame);
            self.renamed.push(to);
            self.readdress(from, to);
            self.know(|ahead| ahead.renamed(from, to));
        }
        self.counts.remaps += 1;
        self.row.remaps.push((from, to));
        self.log.push(format!("remap {from}->{to}"));
        true
    }

    fn discard(&mut self, lpn: u64) {
        if self.store.has(lpn) {
            self.remove(lpn);
            self.counts.discarded_pages += 1;
            self.row.discards.push(lpn);
            self.log.push(format!("discard {lpn}"));
        }
    }

    fn unmap(&mut self, lpn: u64) {
        self.store.flash.unmap(lpn);
    }
}
