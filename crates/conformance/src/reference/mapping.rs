//! The mapping layer CAC (section 4): its address remapping table.

use std::collections::BTreeMap;

use super::expr::SlowExpr;

/// A cache whose pages are renamed.
pub trait Renames {
    /// Is the page cached?
    fn has(&self, lpn: u64) -> bool;
    /// The policy forgets what it remembers of an evicted page.
    fn forget_ghost(&mut self, lpn: u64);
    /// Renames a page, or else what the policy remembers of it if `ghosts` have names, too. Was there one?
    fn rename(&mut self, from: u64, to: u64, ghosts: bool) -> bool;
    /// Drops a superseded page, if it is cached, without a flash write.
    fn discard(&mut self, lpn: u64);
    /// The flash copy is invalid.
    fn unmap(&mut self, lpn: u64);
}

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

    /// All renames of a write request, whose blocks are `cur` with the old address `pre`; the pairs (cur, pre) that
    /// enter the table afterwards.
    pub fn rename_all(
        &mut self,
        blocks: &[(u64, Option<u64>)],
        atomic: bool,
        cache: &mut dyn Renames,
    ) -> Vec<(u64, u64)> {
        let mut pairs = Vec::new();
        for &(cur, pre) in blocks {
            let pre = pre.filter(|&pre| pre != cur);
            let old = pre.and_then(|pre| self.map.get(&pre).copied());
            self.forget(cur);
            let Some(pre) = pre else {
                continue;
            };
            pairs.push((cur, pre));
            if !cache.has(cur) {
                cache.forget_ghost(cur);
            }
            let source = match atomic {
                true => old.map(|(before, _)| before),
                false => Some(pre),
            };
            if let Some(source) = source {
                if cache.has(cur) {
                    cache.discard(source);
                } else if cache.rename(source, cur, self.ghosts) {
                    self.map.remove(&source);
                    if self.unmap_pre {
                        cache.unmap(source);
                    }
                }
            }
            if let Some((before, true)) = old.filter(|_| !atomic && self.drop_stale) {
                cache.discard(before);
            }
        }
        pairs
    }

    /// The request has ended.
    pub fn enter(&mut self, pairs: Vec<(u64, u64)>, atomic: bool) {
        for (cur, pre) in pairs {
            if atomic {
                self.map.remove(&pre);
            }
            self.map.insert(cur, (pre, atomic));
        }
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
