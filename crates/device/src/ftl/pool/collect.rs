//! Collection in a pool of blocks. The rules stand in [`super`].

use super::{BlockPool, COLD, COLLECTOR, HOST, NORMAL, NOTHING_OPEN, PoolEvent};
use crate::config::GcStreams;
use crate::ftl::block_table::NONE;
use crate::ftl::victim::Candidates;

/// A valid page of a block that is collected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moving {
    lpn: u32,
    from: u32,
}

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
                while self.free.len() < 2 {
                    self.collect_into(COLLECTOR, observe);
                }
            }
            _ if !self.free.is_empty() => {}
            GcStreams::InPlace => self.collect_in_place(observe),
            GcStreams::TwoRegion => self.collect_region(observe),
            GcStreams::Shared => unreachable!("collected above"),
        }
    }

    /// Free pages, those of the host's block included.
    fn free_pages(&self) -> u64 {
        let blocks = self.free.len() as u64 * u64::from(self.shape.pages_per_block);
        blocks + u64::from(self.open[HOST].left)
    }

    /// Moves the valid pages of one block to a frontier; the block is free then.
    fn collect_into(&mut self, frontier: usize, observe: &mut impl FnMut(PoolEvent)) {
        let victim = self.choose(&[NORMAL]);
        let mut moving = std::mem::take(&mut self.moving);
        self.take_out(victim, observe);
        self.gather(victim, &mut moving);
        for page in moving.drain(..) {
            let to = self.take(frontier);
            self.copy(page, to, self.open[frontier].block, NORMAL, observe);
        }
        self.moving = moving;
        self.erase(victim);
        self.free.push_back(victim);
    }

    /// Writes the valid pages of one block back into it after its erase, and opens it for the host.
    fn collect_in_place(&mut self, observe: &mut impl FnMut(PoolEvent)) {
        let victim = self.choose(&[NORMAL]);
        let mut moving = std::mem::take(&mut self.moving);
        self.take_out(victim, observe);
        self.gather(victim, &mut moving);
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
            let victim = self.choose(&[region]);
            invalid += pages - self.blocks.valid(victim);
            self.take_out(victim, observe);
            victims.push(victim);
        }
        let mut moving = std::mem::take(&mut self.moving);
        for &victim in victims.iter().rev() {
            self.gather(victim, &mut moving);
            self.erase(victim);
        }
        let mut filled = moving.chunks(pages as usize);
        for &victim in victims.iter().rev() {
            self.write_back(victim, filled.next().unwrap_or(&[]), observe);
        }
        moving.clear();
        self.moving = moving;
        // The first is empty, and the second may be partly filled.
        let left = |&&block: &&u32| !self.blocks.is_full(block);
        self.free.extend(victims.iter().filter(left));
    }

    /// The region that a job works on.
    fn region(&self) -> u32 {
        let block = u64::from(self.shape.pages_per_block);
        let [normal, cold] = self.invalid;
        let lowest = |cell| self.buckets.lowest(cell);
        let better = lowest(COLD) <= lowest(NORMAL);
        match cold >= block && (normal < block || better) {
            true => COLD,
            false => NORMAL,
        }
    }

    fn choose(&mut self, cells: &[u32]) -> u32 {
        let candidates = Candidates {
            blocks: &self.blocks,
            buckets: &self.buckets,
            stamps: self.stamps.as_ref(),
            programmed: self.counts.host + self.counts.copied,
            cells,
            planes: &[0],
            blocks_per_plane: self.shape.blocks,
            data: self.shape.pages_per_block,
        };
        let victim = self.chooser.choose(&candidates);
        victim.expect("the spare area leaves full blocks with invalid pages")
    }

    /// Takes a victim out of its list.
    fn take_out(&mut self, victim: u32, observe: &mut impl FnMut(PoolEvent)) {
        let (cell, valid) = (self.cell_of(victim), self.blocks.valid(victim));
        self.buckets.remove(cell, victim, valid, &mut self.blocks);
        self.invalid[cell as usize] -= u64::from(self.shape.pages_per_block - valid);
        self.blocks.emptied(victim);
        observe(PoolEvent::Victim {
            block: victim,
            valid,
        });
    }

    /// Adds the valid pages of a block to `moving`.
    fn gather(&self, block: u32, moving: &mut Vec<Moving>) {
        let pages = self.shape.pages_per_block;
        let first = block * pages;
        let owners = &self.lpn_at[first as usize..(first + pages) as usize];
        let owned = (first..).zip(owners).filter(|(_, lpn)| **lpn != NONE);
        moving.extend(owned.map(|(from, &lpn)| Moving { lpn, from }));
    }

    fn erase(&mut self, block: u32) {
        self.blocks.erase(block);
        self.counts.erases += 1;
    }

    /// Writes pages into a block that was just erased.
    fn write_back(&mut self, block: u32, pages: &[Moving], observe: &mut impl FnMut(PoolEvent)) {
        let first = block * self.shape.pages_per_block;
        for (to, &page) in (first..).zip(pages) {
            self.copy(page, to, block, COLD, observe);
        }
    }

    fn copy(
        &mut self,
        page: Moving,
        to: u32,
        block: u32,
        cell: u32,
        observe: &mut impl FnMut(PoolEvent),
    ) {
        let Moving { lpn, from } = page;
        self.page_of[lpn as usize] = to;
        self.lpn_at[to as usize] = lpn;
        self.counts.copied += 1;
        self.programmed(block, cell);
        observe(PoolEvent::Copied { lpn, from, to });
    }
}
