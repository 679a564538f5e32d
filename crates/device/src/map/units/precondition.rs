//! Drives with units before the run.
//!
//! Collection takes whole blocks: while the host needs a block and its GC unit has no more free ones than the middle of
//! `gc_low` and `gc_high`, where paced collection settles. At the end open units are closed with padding.

use super::{DeviceFull, Owned, UnitMap, UnitPlace, UnitStream};
use crate::config::GcMode;
use crate::map::fill::FillInOrder;
use crate::map::precondition::Preconditioning;
use destage_types::Lpn;

impl Preconditioning for UnitMap {
    fn gc_units_of(&self, pages: u64) -> Vec<u32> {
        let grains = pages.div_ceil(u64::from(self.shape.per_page));
        let frontiers = match (self.gc_mode == GcMode::Paced, self.dynamic) {
            (false, _) => &[],
            (true, true) => &self.frontier_order[..],
            (true, false) => &self.spread[..grains.min(self.spread.len() as u64) as usize],
        };
        let mut units: Vec<u32> = frontiers.iter().map(|&of| self.gc_of(of)).collect();
        units.sort_unstable();
        units.dedup();
        units
    }

    fn fill_in_order(&self, pages: u64) -> FillInOrder {
        let order = match self.dynamic {
            true => (self.shape.unit(), &self.frontier_order[..]),
            false => (self.shape.per_page, &self.spread[..]),
        };
        let of_gc = u64::from(self.groups_of_gc(0).count());
        let most = u64::from(self.shape.blocks).saturating_sub(self.gc_low.div_ceil(of_gc));
        FillInOrder::new((&self.shape, &self.groups), order, 0, pages, most)
    }

    fn filled_stripes(&mut self, stripes: u32) {
        for group in 0..self.shape.groups {
            for index in 0..stripes {
                let block = self.shape.number(group, index);
                *self.programmed.at(u64::from(block)) = self.shape.places as u16;
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

    /// At the end all open units are closed.
    fn overwriting(&mut self, on: bool) {
        let frontiers = if on { 0 } else { self.frontier_count() };
        for frontier in 0..frontiers {
            for stream in [UnitStream::Host, UnitStream::Collector] {
                if let Some((unit, _)) = self.close(stream, frontier) {
                    self.program_ended(unit);
                }
            }
        }
    }
}

impl UnitMap {
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
        self.before.note(gc);
        self.begin_collection(block);
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.clear();
        self.places.owners(block, &mut wanted);
        self.before.add_moved(wanted.len() as u64);
        for &Owned { lpn, .. } in &wanted {
            let lpn = Lpn(u64::from(lpn));
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
