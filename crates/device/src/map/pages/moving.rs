//! Garbage collection: the valid pages of a block move to the frontier of its unit.

use super::page_map::PageMap;
use super::{Collected, GcStep, GcWork};
use crate::map::places::Owned;
use destage_types::{Lpn, PlaneId, Ppn};

impl PageMap {
    /// Takes the valid pages of a full block to the frontier of its unit, in ascending order. The
    /// block is in no list afterwards.
    pub(super) fn move_pages(
        &mut self,
        block: u32,
        levelling: bool,
        work: &mut GcWork,
    ) -> Collected {
        let plane = PlaneId(self.shape.group_of(block));
        let row = *self.groups.row(plane.0);
        let valid = self.places.blocks.row(block).valid();
        self.places.blocks.begin_collection(block);
        let first = work.steps.len() as u32;
        let mut moving = std::mem::take(&mut self.gc.moving);
        moving.clear();
        self.places.owners_in(block, &mut moving);
        debug_assert_eq!(moving.len(), valid as usize, "valid pages have an owner");
        self.copy_all(&moving, plane, row.frontier, work);
        self.gc.moving = moving;
        self.places.blocks.emptied(block);
        let collected = Collected {
            number: block,
            plane,
            chip: row.chip,
            channel: row.channel,
            valid,
            levelling,
            first,
            end: work.steps.len() as u32,
        };
        work.blocks.push(collected);
        collected
    }

    /// Moves pages to the frontier of `unit`, block by block.
    fn copy_all(&mut self, mut owners: &[Owned], plane: PlaneId, unit: u32, work: &mut GcWork) {
        while !owners.is_empty() {
            let count = owners.len() as u32;
            let taken = self
                .frontiers
                .take_run(unit, count, &mut self.places.blocks);
            let taken = taken.expect("the host leaves room for the copies of a block");
            let (now, later) = owners.split_at(taken.pages as usize);
            owners = later;
            let same_plane = taken.plane == plane.0;
            for (i, owned) in (0..).zip(now) {
                let to = taken.data + i;
                let lpn = Lpn(u64::from(owned.lpn));
                self.places.relocate(lpn, to as u32);
                work.steps.push(GcStep::Copy {
                    lpn,
                    from: Ppn(owned.place),
                    to: Ppn(to as u32),
                    same_plane,
                });
            }
            let row = *self.groups.row(taken.plane);
            self.filled_pages(&taken, row);
            if let Some(summary) = taken.summary {
                let at = Ppn(summary as u32);
                work.steps.push(GcStep::Summary { at });
            }
        }
    }
}
