//! What flash holds before the run, written without time or counts (spec 95, `precondition`).

use super::{DeviceFull, PageMap};
use crate::config::Ratio;
use destage_types::Lpn;

impl PageMap {
    /// Maps the pages of `lpns` that are not mapped yet, in their order: what the trace reads
    /// before it writes it. Returns how many were mapped.
    ///
    /// # Errors
    /// No free page; the pages before are mapped.
    ///
    /// # Panics
    /// If a page lies beyond the logical pages.
    pub fn map_trace(&mut self, lpns: impl IntoIterator<Item = Lpn>) -> Result<u64, DeviceFull> {
        let mut mapped = 0;
        for lpn in lpns {
            if !self.is_mapped(lpn) {
                self.write(lpn)?;
                mapped += 1;
            }
        }
        Ok(mapped)
    }

    /// Maps the first `share` of the logical pages, rounded down, in ascending order; pages that
    /// are mapped already stay where they are. Returns how many were mapped.
    ///
    /// Cost: one write per page, some 30 ns, and 8 B of memory per page: a full terabyte of
    /// 4 KiB pages takes ten seconds and 2 GiB.
    ///
    /// # Errors
    /// No free page; the pages before are mapped.
    pub fn fill(&mut self, share: Ratio) -> Result<u64, DeviceFull> {
        let last = share.of(self.logical_pages()).min(self.logical_pages());
        self.map_trace((0..last).map(Lpn))
    }
}
