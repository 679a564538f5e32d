//! Cleaning ahead of need (`idle-clean`): what it knows of pages.

use std::collections::BTreeMap;

use super::expr::SlowExpr;

/// A cached page.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Number of its last access.
    at: u64,
    /// Was it written since it came in?
    again: bool,
    /// Named for cleaning and not accessed since.
    named: bool,
    /// Cleaned ahead and not written since.
    cleaned: bool,
}

/// All frames but a sixteenth, and at least one.
fn most_young(frames: usize) -> usize {
    frames.saturating_sub((frames / 16).max(1))
}

/// The layer `idle-clean`.
#[derive(Clone, Debug)]
pub struct Ahead {
    dirty_allowed: usize,
    young: usize,
    frames: usize,
    second_chance: bool,
    balance: u64,
    adapts: bool,
    period: u64,
    accesses: u64,
    rewrites: u64,
    dirty_evictions: u64,
    pages: BTreeMap<u64, Known>,
}

impl Ahead {
    /// Parameters as `expr` has them, in a cache of `capacity` pages.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, capacity: usize) -> Result<Ahead, String> {
        expr.keys(&[
            "watermark",
            "young",
            "second-chance",
            "balance",
            "adapt",
            "period",
        ])?;
        let c = capacity as u64;
        Ok(Ahead {
            dirty_allowed: (expr.real("watermark", 0.1)? * capacity as f64).floor() as usize,
            young: (expr.number("young", c / 2, 1)? as usize).min(most_young(capacity)),
            frames: capacity,
            second_chance: expr.flag("second-chance", false)?,
            balance: expr.number("balance", 4, 1)?,
            adapts: expr.flag("adapt", true)?,
            period: expr.number("period", (c / 4).max(1), 1)?,
            accesses: 0,
            rewrites: 0,
            dirty_evictions: 0,
            pages: BTreeMap::new(),
        })
    }

    fn access(&mut self, lpn: u64) -> &mut Known {
        self.accesses += 1;
        if self.adapts && self.accesses.is_multiple_of(self.period) {
            let worth = self.dirty_evictions * self.balance;
            let step = (self.frames / 32).max(1);
            if self.rewrites > worth {
                self.young = most_young(self.frames).min(self.young + step);
            }
            if self.rewrites < worth {
                self.young -= step.min(self.young);
            }
            // Fifteen sixteenths, rounded down.
            self.rewrites = self.rewrites * 15 / 16;
            self.dirty_evictions = self.dirty_evictions * 15 / 16;
        }
        let page = self.pages.get_mut(&lpn).expect("a cached page");
        page.at = self.accesses;
        page.named = false;
        page
    }

    /// A page came in.
    pub fn entered(&mut self, lpn: u64) {
        self.pages.insert(lpn, Known::default());
        self.access(lpn);
    }

    /// A page was hit.
    pub fn hit(&mut self, lpn: u64, write: bool) {
        let page = self.access(lpn);
        if write {
            page.again = true;
            let wasted = page.cleaned;
            page.cleaned = false;
            self.rewrites += u64::from(wasted);
        }
    }

    /// A page got another address, as part of a write.
    pub fn renamed(&mut self, from: u64, to: u64) {
        self.access(from);
        let page = self.pages.remove(&from).expect("a cached page");
        self.pages.insert(to, page);
    }

    /// A page left, as a victim that was dirty or otherwise.
    pub fn left(&mut self, lpn: u64, dirty_victim: bool) {
        self.pages.remove(&lpn);
        self.dirty_evictions += u64::from(dirty_victim);
    }

    /// Pages became clean and stay.
    pub fn cleaned(&mut self, pages: &[u64]) {
        for lpn in pages {
            let page = self.pages.get_mut(lpn).expect("a cached page");
            page.cleaned = page.cleaned || page.named;
            page.named = false;
        }
    }

    /// May so many dirty pages stay as they are?
    pub fn allows(&self, dirty: usize) -> bool {
        dirty <= self.dirty_allowed
    }

    /// Number of the last access to a cached page.
    pub fn last_access(&self, lpn: u64) -> u64 {
        self.pages[&lpn].at
    }

    /// These pages are to be cleaned.
    pub fn name(&mut self, pages: &[u64]) {
        for lpn in pages {
            self.pages.get_mut(lpn).expect("a cached page").named = true;
        }
    }

    /// Has a page not been used for so long that it may be cleaned?
    pub fn is_old(&self, lpn: u64) -> bool {
        let page = self.pages[&lpn];
        let newer = self.pages.values().filter(|p| p.at > page.at).count();
        match page.again && self.second_chance {
            true => newer >= most_young(self.frames),
            false => newer >= self.young,
        }
    }

    /// The state column.
    pub fn state(&self) -> String {
        format!(" ; young={}", self.young)
    }
}
