//! Devices of pages before the run.

use super::PageMap;
use crate::map::DeviceFull;
use crate::map::fill::FillInOrder;
use crate::map::precondition::Preconditioning;
use destage_types::{ChipId, Lpn};

impl Preconditioning for PageMap {
    fn gc_units_of(&self, pages: u64) -> Vec<u32> {
        let lpns = match self.gc.on {
            true => pages.min(u64::from(self.planes())),
            false => 0,
        };
        let unit = |lpn| self.groups.row(self.static_plane(Lpn(lpn)).0).gc;
        let mut units: Vec<u32> = (0..lpns).map(unit).collect();
        units.sort_unstable();
        units.dedup();
        units
    }

    fn fill_in_order(&self, pages: u64) -> FillInOrder {
        // What brings a GC unit to its threshold is written page by page.
        let of_gc = u64::from(self.groups.of_gc(0).0.count());
        let kept = match (self.gc.on, self.gc.in_blocks) {
            (false, _) => 0,
            (true, true) => self.gc.threshold / of_gc + 1,
            (true, false) => self.gc.threshold / (of_gc * u64::from(self.shape.places)) + 1,
        };
        let most = u64::from(self.shape.blocks).saturating_sub(kept);
        let frontier = |&plane: &u32| self.groups.row(plane).frontier;
        let round: Vec<u32> = self.spread.iter().map(frontier).collect();
        let summaries = self.shape.places - self.data_per_block;
        FillInOrder::new(
            (&self.shape, &self.groups),
            (1, &round),
            summaries,
            pages,
            most,
        )
    }

    fn filled_stripes(&mut self, stripes: u32) {
        let of_plane = u64::from(stripes) * u64::from(self.shape.places);
        let of_chip = of_plane * u64::from(self.planes() / self.groups.chips);
        self.chip_free.iter_mut().for_each(|free| *free -= of_chip);
        (0..self.groups.chips).for_each(|chip| self.free_space.changed(ChipId(chip)));
        self.frontiers.filled_stripes(stripes);
        for gc in 0..self.groups.gcs {
            let planes = self.groups.of_gc(gc).0.count();
            self.gc.free[gc as usize] -= of_plane * u64::from(planes);
        }
    }

    fn write_now(&mut self, lpn: Lpn) -> Result<(), Box<DeviceFull>> {
        let mut work = std::mem::take(&mut self.gc.unsubmitted);
        work.clear();
        let placed = self.host_write(lpn, None, &mut work);
        if let Ok(placed) = &placed {
            self.collect_behind_program(placed.place.plane, &mut work);
        }
        let moved = work.blocks.iter().map(|block| u64::from(block.valid));
        self.gc.before.add_moved(moved.sum());
        self.gc.unsubmitted = work;
        placed.map(|_| ())
    }

    fn overwriting(&mut self, on: bool) {
        self.gc.background = self.gc.in_background && !on;
    }
}

#[cfg(test)]
mod tests;
