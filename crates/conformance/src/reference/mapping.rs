//! The mapping layer CAC (section 4): its address remapping table and the renames of a request.

use std::collections::BTreeMap;

use super::cache::SlowCache;
use super::expr::SlowExpr;
use super::request::{SlowAccess, SlowRequest};

/// `cur -> (pre, atomic)` for cached blocks, and the options of `cac`.
pub struct Art {
    /// The table.
    pub map: BTreeMap<u64, (u64, bool)>,
    /// Rename ghosts too (CAC-2).
    pub ghosts: bool,
    /// Drop the kept version behind a plain update (CAC-4).
    pub drop_stale: bool,
    /// A remap makes the flash copy of the old address invalid (CAC-6).
    pub unmap_pre: bool,
}

impl Art {
    /// Parameters `ghosts`, `drop-stale`, `unmap-pre`.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr) -> Result<Art, String> {
        expr.keys(&["ghosts", "drop-stale", "unmap-pre"])?;
        Ok(Art {
            map: BTreeMap::new(),
            ghosts: expr.flag("ghosts", true)?,
            drop_stale: expr.flag("drop-stale", true)?,
            unmap_pre: expr.flag("unmap-pre", false)?,
        })
    }

    /// The address names new data now (CAC-3).
    pub fn forget(&mut self, cur: u64) {
        self.map.remove(&cur);
        self.map.retain(|_, &mut (pre, _)| pre != cur);
    }

    /// `ART{12:10 13:11a}`.
    pub fn state(&self) -> String {
        let item = |(cur, (pre, atomic)): (&u64, &(u64, bool))| {
            let mark = if *atomic { "a" } else { "" };
            format!("{cur}:{pre}{mark}")
        };
        let items: Vec<String> = self.map.iter().map(item).collect();
        format!("ART{{{}}}", items.join(" "))
    }
}

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
