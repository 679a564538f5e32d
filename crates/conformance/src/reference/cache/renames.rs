//! The renames of a write request under CAC (section 4).

use super::SlowCache;
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
        let mut pairs = Vec::new();
        for (i, access) in pages.iter().enumerate() {
            let cur = access.lpn;
            let given = request.prev.get(i).copied().flatten();
            let pre = given
                .map(|sector| sector / u64::from(self.store.spp))
                .filter(|&pre| pre != cur);
            let old = pre.and_then(|pre| art.map.get(&pre).copied());
            art.forget(cur);
            let Some(pre) = pre else {
                continue;
            };
            pairs.push((cur, pre));
            if !self.store.has(cur) {
                self.scheme().0.forget_ghost(cur);
            }
            let source = match request.atomic {
                true => old.map(|(before, _)| before),
                false => Some(pre),
            };
            if let Some(source) = source {
                if !self.store.has(cur) {
                    if self.rename(source, cur, art.ghosts) {
                        art.map.remove(&source);
                        if art.unmap_pre {
                            self.store.flash.unmap(source);
                        }
                    }
                } else {
                    self.discard(source);
                }
            }
            if let Some((before, true)) = old.filter(|_| !request.atomic && art.drop_stale) {
                self.discard(before);
            }
        }
        self.art = Some(art);
        pairs
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

    /// Drops a superseded page without a flash write.
    fn discard(&mut self, lpn: u64) {
        if self.store.has(lpn) {
            self.remove(lpn);
            self.counts.discarded_pages += 1;
            self.row.discards.push(lpn);
            self.log.push(format!("discard {lpn}"));
        }
    }
}
