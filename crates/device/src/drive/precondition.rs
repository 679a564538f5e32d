//! Data on a drive before the run, written without time or counts (`precondition`).
//!
//! Data are placed as in a run in which every program ends at once. Collection takes whole blocks: while the host
//! needs a block and its GC unit has no more free ones than the middle of `gc_low` and `gc_high`, where paced collection
//! settles. At the end open units are closed with padding.

use super::map::{UnitMap, UnitPlace, UnitStream};
use crate::config::{GcMode, Overwrite, Ratio};
use crate::ftl::DeviceFull;
use destage_types::Lpn;
use destage_types::rng::SplitMix64;

/// Mapping units between two calls of who follows how far preconditioning has come.
const TELL: u64 = 1 << 14;
/// Mapping units that are looked up together before they are written.
const AHEAD: usize = 32;

impl UnitMap {
    /// Maps what is not mapped yet, in this order.
    ///
    /// # Errors
    /// No room can be made; what comes before is mapped.
    pub fn map_trace(
        &mut self,
        lpns: impl IntoIterator<Item = Lpn>,
    ) -> Result<(), Box<DeviceFull>> {
        for lpn in lpns {
            if self.place(lpn).is_none() {
                self.write_now(lpn)?;
            }
        }
        Ok(())
    }

    /// Maps the first `share` of the logical space in ascending order. `tell` hears now and then how many
    /// mapping units more were looked at. On a new drive this takes a time and memory in proportion to the blocks.
    ///
    /// # Errors
    /// As [`UnitMap::map_trace`].
    pub fn fill(&mut self, share: Ratio, tell: &mut dyn FnMut(u64)) -> Result<(), Box<DeviceFull>> {
        let last = share.of(self.logical_pages()).min(self.logical_pages());
        let whole = self.fill_stripes(last);
        tell(whole);
        for first in (whole..last).step_by(TELL as usize) {
            let end = last.min(first + TELL);
            self.map_trace((first..end).map(Lpn))?;
            tell(end - first);
        }
        Ok(())
    }

    /// Overwrites mapping units drawn uniformly, from `seed`, among the first `share` of the logical space, or
    /// of all of it if that is none. [`Overwrite::UntilGc`] ends when every GC unit has collected.
    ///
    /// # Errors
    /// As [`UnitMap::map_trace`].
    pub fn overwrite(
        &mut self,
        share: Ratio,
        amount: Overwrite,
        seed: u64,
        tell: &mut dyn FnMut(u64),
    ) -> Result<(), Box<DeviceFull>> {
        let range = match share.of(self.logical_pages()).min(self.logical_pages()) {
            0 => self.logical_pages(),
            filled => filled,
        };
        let mut rng = SplitMix64::new(seed);
        let most = match amount {
            Overwrite::Times(times) => times.of(self.logical_pages()),
            Overwrite::UntilGc => u64::MAX,
        };
        let mut written = 0;
        loop {
            let drawn = [(); AHEAD].map(|()| rng.below(range));
            std::hint::black_box(self.prefetch(&mut drawn.clone()));
            for lpn in drawn {
                let all_collect = self.gc_mode != GcMode::Paced || self.untouched_gc_units == 0;
                if written >= most || amount == Overwrite::UntilGc && all_collect {
                    return Ok(());
                }
                self.write_now(Lpn(lpn))?;
                written += 1;
                if written % TELL == 0 {
                    tell(TELL);
                }
            }
        }
    }

    /// Closes all open units.
    pub fn end_preconditioning(&mut self) {
        for frontier in 0..self.frontier_count() {
            for stream in [UnitStream::Host, UnitStream::Collector] {
                if let Some((unit, _)) = self.close(stream, frontier) {
                    self.program_ended(unit);
                }
            }
        }
    }

    fn write_now(&mut self, lpn: Lpn) -> Result<(), Box<DeviceFull>> {
        let Some(frontier) = self.frontier_now(lpn) else {
            return Err(self.full(lpn));
        };
        let full = self.put(UnitStream::Host, frontier, lpn);
        if let Some(unit) = full {
            self.program_ended(unit);
        }
        Ok(())
    }

    /// Makes room on a frontier whose next unit needs a block. Can it take one then?
    fn make_room(&mut self, frontier: u32) -> bool {
        let gc = self.gc_of(frontier);
        if self.is_open(UnitStream::Host, frontier) {
            return true;
        }
        let wants_more = |map: &UnitMap| {
            let needs = map.needs_block(UnitStream::Host, frontier);
            needs && map.free_blocks(gc) <= map.gc_middle || map.is_stuck(frontier)
        };
        while wants_more(self) && self.collect_now(gc) {}
        self.can_open(UnitStream::Host, frontier)
    }

    /// The frontier that takes a mapping unit. Dynamic allocation fills one unit on each frontier in turn.
    fn frontier_now(&mut self, lpn: Lpn) -> Option<u32> {
        if !self.dynamic {
            let frontier = self.static_frontier(lpn);
            return self.make_room(frontier).then_some(frontier);
        }
        if let Some(frontier) = self
            .filling
            .filter(|&frontier| self.is_open(UnitStream::Host, frontier))
        {
            return Some(frontier);
        }
        for turn in 0..self.frontier_order().len() {
            let frontier = self.frontier_order()[turn];
            self.make_room(frontier);
        }
        self.filling = self.next_frontier(UnitStream::Host, |_| 0);
        self.filling
    }

    /// Collects a block whole. Is there one that gains a place?
    fn collect_now(&mut self, gc: u32) -> bool {
        if self.gc_mode != GcMode::Paced {
            return false;
        }
        let Some(block) = self.victim(gc) else {
            return false;
        };
        if std::mem::take(&mut self.untouched[gc as usize]) {
            self.untouched_gc_units -= 1;
        }
        self.begin_collection(block);
        let mut wanted = std::mem::take(&mut self.wanted);
        self.wanted_units(block, &mut wanted);
        for &lpn in &wanted {
            let Some(frontier) = self.collector_frontier(block, |_| 0) else {
                return false;
            };
            let full: Option<UnitPlace> = self.put(UnitStream::Collector, frontier, lpn);
            if let Some(unit) = full {
                self.program_ended(unit);
            }
        }
        self.wanted = wanted;
        self.collected(block);
        self.erased(block);
        true
    }
}
