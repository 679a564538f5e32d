//! The mapping layer CAC (section 4): its address remapping table.

use std::collections::BTreeMap;

use super::expr::SlowExpr;

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
