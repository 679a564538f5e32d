//! Garbage collection: the valid pages of a block move to the frontier of its unit.

use super::page_map::{NONE, PageMap};
use super::{Collected, GcStep, GcWork};
use destage_types::{Lpn, PlaneId, Ppn};

/// A valid page of a block that is collected.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Owned {
    lpn: u32,
    page: u32,
}

impl PageMap {
    /// Takes the valid pages of a full block to the frontier of its unit, in ascending order. The
    /// block is in no list afterwards.
    pub(super) fn move_pages(
        &mut self,
        block: u32,
        levelling: bool,
        work: &mut GcWork,
    ) -> Collected {
        let plane = PlaneId(self.blocks_per_plane.quotient(block));
        let row = *self.units.row(plane);
        let valid = self.blocks.valid(block);
        self.buckets
            .remove(row.cell, block, valid, &mut self.blocks);
        if let Some(coldest) = &mut self.coldest {
            coldest.collected(block);
        }
        let first = work.steps.len() as u32;
        let mut moving = std::mem::take(&mut self.gc.moving);
        let owners = self.owners(block, &mut moving);
        debug_assert_eq!(owners.len(), valid as usize, "valid pages have an owner");
        self.copy_all(owners, plane, row.unit, work);
        self.gc.moving = moving;
        self.blocks.emptied(block);
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

    /// The valid pages of a block, ascending, in `room`. All are asked for before the first is
    /// moved and without a branch, so that the processor waits for many of them at once.
    fn owners<'a>(&self, block: u32, room: &'a mut Vec<Owned>) -> &'a [Owned] {
        let pages = self.pages_per_block.get();
        room.resize(pages as usize, Owned::default());
        let first = u64::from(block) * u64::from(pages);
        let mut count = 0;
        if self.pages > u64::from(NONE) {
            // The number of the last page may mean "none", see [`PageMap::lookup`].
            for page in (0..u64::from(pages)).map(|i| (first + i) as u32) {
                let lpn = self.owner(Ppn(page)).map(|lpn| lpn.0 as u32);
                let lpn = lpn.unwrap_or(NONE);
                room[count] = Owned { lpn, page };
                count += usize::from(lpn != NONE);
            }
            return &room[..count];
        }
        self.p2l.each(first, pages, |page, lpn| {
            let page = page as u32;
            // "None" lies beyond the logical pages, and the last of those stands for it.
            let at = u64::from(lpn).min(self.logical - 1);
            let owns = self.l2p.get(at) == page && lpn != NONE;
            room[count] = Owned { lpn, page };
            count += usize::from(owns);
        });
        &room[..count]
    }

    /// Moves pages to the frontier of `unit`, block by block.
    fn copy_all(&mut self, mut owners: &[Owned], plane: PlaneId, unit: u32, work: &mut GcWork) {
        while !owners.is_empty() {
            let taken = self.frontiers.take_run(
                unit,
                owners.len() as u32,
                &mut self.free_blocks,
                &mut self.blocks,
            );
            let taken = taken.expect("the host leaves room for the copies of a block");
            let (now, later) = owners.split_at(taken.pages as usize);
            owners = later;
            let same_plane = taken.plane == plane.0;
            for (i, owned) in (0..).zip(now) {
                let to = taken.data + i;
                if owned.page == NONE {
                    self.p2l.clear(u64::from(NONE));
                }
                self.l2p.replace(u64::from(owned.lpn), to as u32);
                self.p2l.replace(to, owned.lpn);
                work.steps.push(GcStep::Copy {
                    lpn: Lpn(u64::from(owned.lpn)),
                    from: Ppn(owned.page),
                    to: Ppn(to as u32),
                    same_plane,
                });
            }
            let row = *self.units.row(PlaneId(taken.plane));
            self.filled_pages(&taken, row);
            if let Some(summary) = taken.summary {
                let at = Ppn(summary as u32);
                work.steps.push(GcStep::Summary { at });
            }
        }
    }
}
