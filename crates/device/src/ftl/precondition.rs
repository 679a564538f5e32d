//! Data on flash before the run, written without time or counts (`precondition`).

use super::{DeviceFull, GcWork, PageMap};
use crate::config::{DeviceConfig, Overwrite, Ratio};
use destage_types::Lpn;
use destage_types::rng::SplitMix64;

/// Pages between two calls of who follows how far preconditioning has come.
const TELL: u64 = 1 << 14;

impl PageMap {
    /// Maps the pages of `lpns` that are not mapped yet, in their order: what the trace reads
    /// before it writes it. Returns how many were mapped.
    ///
    /// # Errors
    /// No room can be made; the pages before are mapped.
    ///
    /// # Panics
    /// If a page lies beyond the logical pages.
    pub fn map_trace(
        &mut self,
        lpns: impl IntoIterator<Item = Lpn>,
    ) -> Result<u64, Box<DeviceFull>> {
        let mut mapped = 0;
        let mut work = GcWork::default();
        for lpn in lpns {
            if !self.is_mapped(lpn) {
                work.clear();
                self.write_and_collect(lpn, &mut work)?;
                mapped += 1;
            }
        }
        Ok(mapped)
    }

    /// Maps the first `share` of the logical pages, rounded down, in ascending order; pages that
    /// are mapped already stay where they are. Returns how many were mapped; `tell` hears now and then
    /// how many pages more were looked at.
    ///
    /// Cost: one write per page, some 10 ns, and 8 B of memory per page: a full terabyte of
    /// 4 KiB pages takes some seconds and 2 GiB.
    ///
    /// # Errors
    /// No room can be made; the pages before are mapped.
    pub fn fill(
        &mut self,
        share: Ratio,
        tell: &mut dyn FnMut(u64),
    ) -> Result<u64, Box<DeviceFull>> {
        let (last, mut mapped) = (self.filled_by(share), 0);
        for first in (0..last).step_by(TELL as usize) {
            let end = last.min(first + TELL);
            mapped += self.map_trace((first..end).map(Lpn))?;
            tell(end - first);
        }
        Ok(mapped)
    }

    fn write_and_collect(&mut self, lpn: Lpn, work: &mut GcWork) -> Result<(), Box<DeviceFull>> {
        let placed = self.host_write(lpn, None, work)?;
        self.collect_behind_program(placed.place.plane, work);
        Ok(())
    }

    fn filled_by(&self, share: Ratio) -> u64 {
        share.of(self.logical_pages()).min(self.logical_pages())
    }

    /// Overwrites pages drawn uniformly, from `seed`, among the first `share` of the logical pages
    /// (what [`PageMap::fill`] wrote; all logical pages if that is none). Collects as a run does,
    /// in the foreground whatever the device says of it. Returns how many were written; `tell` hears
    /// now and then how many more were.
    ///
    /// [`Overwrite::UntilGc`] ends when every GC unit that these pages go to has been at its
    /// threshold, or has collected for a frontier without room where that may come first
    /// ([`DeviceConfig::collects_before_threshold`](crate::config::DeviceConfig::collects_before_threshold)).
    ///
    /// # Errors
    /// No room can be made; the pages before are written.
    pub fn overwrite(
        &mut self,
        share: Ratio,
        amount: Overwrite,
        seed: u64,
        tell: &mut dyn FnMut(u64),
    ) -> Result<u64, Box<DeviceFull>> {
        let range = match self.filled_by(share) {
            0 => self.logical_pages(),
            filled => filled,
        };
        let (mut rng, mut work) = (SplitMix64::new(seed), GcWork::default());
        let background = std::mem::replace(&mut self.gc.background, false);
        let mut written = 0;
        let (mut left, mut known) = (self.gc_units_of(range), u32::MAX);
        let full = loop {
            if self.gc.reached_count != known {
                known = self.gc.reached_count;
                left.retain(|&gc| !self.gc.reached[gc as usize]);
            }
            let enough = match amount {
                Overwrite::Times(times) => written >= times.of(self.logical_pages()),
                Overwrite::UntilGc => left.is_empty() || !self.gc.on,
            };
            if enough {
                break None;
            }
            work.clear();
            if let Err(full) = self.write_and_collect(Lpn(rng.below(range)), &mut work) {
                break Some(full);
            }
            written += 1;
            if written % TELL == 0 {
                tell(TELL);
            }
        };
        self.gc.background = background;
        full.map_or(Ok(written), Err)
    }

    /// Pages that [`PageMap::fill`] and [`PageMap::overwrite`] will write on a new device, about: how many
    /// overwrites bring every GC unit to its threshold depends on chance.
    pub fn pages_of(config: &DeviceConfig) -> u64 {
        let wanted = &config.precondition;
        let logical = config.logical_pages();
        let filled = wanted.fill.of(logical).min(logical);
        let overwritten = match wanted.overwrite {
            Overwrite::Times(times) => times.of(logical),
            Overwrite::UntilGc if !config.collects() => 0,
            Overwrite::UntilGc => {
                let planes = u64::from(config.geometry.planes());
                let units = planes / u64::from(config.planes_per(config.gc_unit));
                let kept = filled.saturating_add(units * config.gc_threshold_pages());
                config.geometry.pages().saturating_sub(kept)
            }
        };
        filled.saturating_add(overwritten)
    }

    /// GC units that writes of the first `pages` logical pages go to, ascending.
    fn gc_units_of(&self, pages: u64) -> Vec<u32> {
        let planes = pages.min(u64::from(self.units.planes()));
        let unit = |lpn| self.units.row(self.static_plane(Lpn(lpn))).gc;
        let mut units: Vec<u32> = (0..planes).map(unit).collect();
        units.sort_unstable();
        units.dedup();
        units
    }
}
