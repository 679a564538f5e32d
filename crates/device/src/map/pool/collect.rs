//! Collection in a pool of blocks. The rules stand in [`super`].

use super::{BlockPool, COLD, COLLECTOR, HOST, NORMAL, NOTHING_OPEN, PoolEvent};
use crate::config::GcStreams;
use crate::map::groups::UnitMembers;
use crate::map::places::Owned;
use destage_types::Lpn;

impl BlockPool {
    /// Collects what a host write calls for.
    pub(super) fn make_room(&mut self, observe: &mut impl FnMut(PoolEvent)) {
        if self.streams == GcStreams::Shared {
            let block = u64::from(self.shape.pages_per_block);
            while self.free_pages() < block {
                self.collect_into(HOST, observe);
            }
            return;
        }
        if self.open[HOST].left > 0 {
            return;
        }
        match self.streams {
            GcStreams::Own => {
                while self.free_blocks() < 2 {
                    self.collect_into(COLLECTOR, observe);
                }
            }
            _ if self.free_blocks() > 0 => {}
            GcStreams::InPlace => self.collect_in_place(observe),
            GcStreams::TwoRegion => self.collect_region(observe),
            GcStreams::Shared => unreachable!("collected above"),
        }
    }

    fn free_blocks(&self) -> u32 {
        self.places.blocks.free_in_group(0)
    }

    /// Free pages, those of the host's block included.
    fn free_pages(&self) -> u64 {
        let blocks = u64::from(self.free_blocks()) * u64::from(self.shape.pages_per_block);
        blocks + u64::from(self.open[HOST].left)
    }

    /// Moves the valid pages of one block to a frontier; the block is free then.
    fn collect_into(&mut self, frontier: usize, observe: &mut impl FnMut(PoolEvent)) {
        let victim = self.choose(NORMAL);
        let mut moving = std::mem::take(&mut self.moving);
        self.take_out(victim, observe);
        self.places.owners_in(victim, &mut moving);
        for page in moving.drain(..) {
            let to = self.take(frontier);
            self.copy(page, to, self.open[frontier].block, NORMAL, observe);
        }
        self.moving = moving;
        self.erase(victim);
        self.places.blocks.give(victim);
    }

    /// Writes the valid pages of one block back into it after its erase, and opens it for the host.
    fn collect_in_place(&mut self, observe: &mut impl FnMut(PoolEvent)) {
        let victim = self.choose(NORMAL);
        let mut moving = std::mem::take(&mut self.moving);
        self.take_out(victim, observe);
        self.places.owners_in(victim, &mut moving);
        self.erase(victim);
        self.write_back(victim, &moving, observe);
        moving.clear();
        self.moving = moving;
        self.reopen(HOST, victim);
    }

    /// One job of `two-region`.
    fn collect_region(&mut self, observe: &mut impl FnMut(PoolEvent)) {
        self.open[HOST] = NOTHING_OPEN;
        let region = self.region();
        let pages = self.shape.pages_per_block;
        let (mut victims, mut invalid) = (Vec::new(), 0);
        while invalid < pages {
            let victim = self.choose(region);
            invalid += pages - self.places.blocks.row(victim).valid();
            self.take_out(victim, observe);
            victims.push(victim);
        }
        let mut moving = std::mem::take(&mut self.moving);
        for &victim in victims.iter().rev() {
            self.places.owners_in(victim, &mut moving);
            self.erase(victim);
        }
        let mut filled = moving.chunks(pages as usize);
        for &victim in victims.iter().rev() {
            self.write_back(victim, filled.next().unwrap_or(&[]), observe);
        }
        moving.clear();
        self.moving = moving;
        // The first is empty, and the second may be partly filled.
        for victim in victims {
            if self.places.blocks.row(victim).written() < pages {
                self.places.blocks.give(victim);
            }
        }
    }

    /// The region that a job works on.
    fn region(&self) -> u32 {
        let block = u64::from(self.shape.pages_per_block);
        let [normal, cold] = self.invalid;
        let lowest = |cell| self.places.blocks.fewest_valid(UnitMembers::only(cell));
        let better = lowest(COLD) <= lowest(NORMAL);
        match cold >= block && (normal < block || better) {
            true => COLD,
            false => NORMAL,
        }
    }

    fn choose(&mut self, cell: u32) -> u32 {
        let unit = (UnitMembers::only(0), UnitMembers::only(cell));
        let victim = self.places.blocks.victim(unit);
        victim.expect("the spare area leaves full blocks with invalid pages")
    }

    /// Takes a victim out of its list. Its valid pages are still to be moved.
    fn take_out(&mut self, victim: u32, observe: &mut impl FnMut(PoolEvent)) {
        let blocks = &mut self.places.blocks;
        let (cell, valid) = (blocks.cell_of(victim), blocks.row(victim).valid());
        blocks.begin_collection(victim);
        blocks.emptied(victim);
        self.invalid[cell as usize] -= u64::from(self.shape.pages_per_block - valid);
        observe(PoolEvent::Victim {
            block: victim,
            valid,
        });
    }

    fn erase(&mut self, block: u32) {
        self.places.blocks.erase(block);
        self.counts.erases += 1;
    }

    /// Writes pages into a block that was just erased.
    fn write_back(&mut self, block: u32, pages: &[Owned], observe: &mut impl FnMut(PoolEvent)) {
        let first = block * self.shape.pages_per_block;
        for (to, &page) in (first..).zip(pages) {
            self.copy(page, to, block, COLD, observe);
        }
    }

    fn copy(
        &mut self,
        page: Owned,
        to: u32,
        block: u32,
        cell: u32,
        observe: &mut impl FnMut(PoolEvent),
    ) {
        let Owned { lpn, place: from } = page;
        self.places.relocate(Lpn(u64::from(lpn)), to);
        self.counts.copied += 1;
        self.programmed(block, cell);
        observe(PoolEvent::Copied { lpn, from, to });
    }
}
