//! The frames of the model and everything a scheme may look at.

use std::collections::BTreeMap;

use super::flash::SlowFlash;
use super::request::sectors_of;

/// A cached page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// Sectors the cache holds.
    pub valid: u128,
    /// Sectors that are newer than flash; a subset of `valid`.
    pub dirty: u128,
}

/// State of the cache outside the schemes.
#[derive(Default)]
pub struct Store {
    /// Resident pages.
    pub frames: BTreeMap<u64, Frame>,
    /// Page frames, C.
    pub capacity: usize,
    /// Sectors of a page.
    pub spp: u32,
    /// Arrival of the request being served, ns.
    pub now: u64,
    /// Arrival and number of the last read or write.
    pub data: (u64, u64),
    /// Number of the request being served, from 1.
    pub request: u64,
    /// Number of the page access being served, from 1 (`page_seq`).
    pub page_seq: u64,
    /// The page for which room is made, or the first one of the request that comes in as a whole.
    pub current: u64,
    /// Was every frame in use at some time?
    pub been_full: bool,
    /// Is the request being served a write?
    pub writing: bool,
    /// Do read misses enter the cache?
    pub read_alloc: bool,
    /// Next use of the page being accessed; only belady looks.
    pub next: Option<u64>,
    /// The chips.
    pub flash: Box<dyn SlowFlash>,
}

impl Store {
    /// Mask of a whole page.
    pub fn full(&self) -> u128 {
        sectors_of(0, self.spp.into())
    }

    /// Is the page resident?
    pub fn has(&self, lpn: u64) -> bool {
        self.frames.contains_key(&lpn)
    }

    /// Is the page resident and dirty?
    pub fn dirty(&self, lpn: u64) -> bool {
        self.frames.get(&lpn).is_some_and(|f| f.dirty != 0)
    }

    /// Is every sector of the page in the cache?
    pub fn whole(&self, lpn: u64) -> bool {
        (self.frames.get(&lpn)).is_some_and(|f| f.valid == self.full())
    }

    /// Chip of a page.
    pub fn chip(&self, lpn: u64) -> usize {
        self.flash.chip(lpn)
    }

    /// `5*` for a dirty page, `5` for a clean one.
    pub fn star(&self, lpn: u64) -> String {
        format!("{lpn}{}", if self.dirty(lpn) { "*" } else { "" })
    }

    /// `[5* 4 3*]`.
    pub fn list(&self, pages: &[u64]) -> String {
        let items: Vec<String> = pages.iter().map(|&x| self.star(x)).collect();
        format!("[{}]", items.join(" "))
    }
}
