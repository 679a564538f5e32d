//! Write frontiers: where the next page of a plane, die or chip goes.

use crate::map::blocks::FlashBlocks;
use crate::map::groups::{BlockGroups, UnitMembers};

/// The open block of one unit, and the unit's free pages.
#[derive(Clone, Copy, Debug)]
struct Frontier {
    /// Next page to write, in the numbering of the device.
    next: u64,
    /// Where the data pages of the open block end; equal to `next` when no block is open.
    end: u64,
    /// Free pages of the unit, those of the open block included.
    free: u64,
    /// Free pages that can take data: all but the summary pages.
    slots: u64,
    /// First plane to ask for the next block, as a position in the unit.
    turn: u32,
    /// Plane and block that are open.
    plane: u32,
    block: u32,
}

/// Pages for data one behind the other, and the summary page to write after them.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    /// The first of them.
    pub data: u64,
    /// How many there are: at least 1, and no more than a block holds.
    pub pages: u32,
    pub plane: u32,
    pub block: u32,
    pub summary: Option<u64>,
}

/// The frontiers of all units, one open block each.
///
/// A unit of several planes fills one block at a time. The next block comes from the next plane
/// in ascending plane number, going round, that has a free block; within a chip the planes with
/// plane digit 0 of all dies come first, as planes are numbered.
#[derive(Clone, Debug)]
pub(super) struct Frontiers {
    units: Vec<Frontier>,
    /// All planes; those of a unit are [`Frontiers::planes`].
    planes: u32,
    pages_per_block: u32,
    summary: bool,
}

impl Frontiers {
    /// All blocks are free.
    pub fn new(groups: &BlockGroups, blocks: &FlashBlocks, summary: bool) -> Frontiers {
        let pages_per_block = blocks.shape.places;
        let planes = groups.of_frontier(0).count();
        let blocks = u64::from(planes) * u64::from(blocks.shape.blocks);
        let full = Frontier {
            next: 0,
            end: 0,
            free: blocks * u64::from(pages_per_block),
            slots: blocks * u64::from(pages_per_block - u32::from(summary)),
            turn: 0,
            plane: 0,
            block: 0,
        };
        Frontiers {
            units: vec![full; groups.frontiers as usize],
            planes: groups.count(),
            pages_per_block,
            summary,
        }
    }

    /// The next page of `unit`, `None` if all are written.
    #[inline]
    pub fn take(&mut self, unit: u32, blocks: &mut FlashBlocks) -> Option<Taken> {
        self.take_run(unit, 1, blocks)
    }

    /// The next pages of `unit`, up to `most`, but not beyond the end of a block; `None` if all are
    /// written.
    #[inline]
    pub fn take_run(&mut self, unit: u32, most: u32, blocks: &mut FlashBlocks) -> Option<Taken> {
        let mut at = &mut self.units[unit as usize];
        if at.next == at.end {
            self.open(unit, blocks)?;
            at = &mut self.units[unit as usize];
        }
        let (data, plane, block) = (at.next, at.plane, at.block);
        let pages = u64::from(most).min(at.end - at.next);
        at.next += pages;
        at.slots -= pages;
        let summary = (self.summary && at.next == at.end).then_some(at.end);
        at.free -= pages + u64::from(summary.is_some());
        Some(Taken {
            data,
            pages: pages as u32,
            plane,
            block,
            summary,
        })
    }

    #[cold]
    fn open(&mut self, unit: u32, blocks: &mut FlashBlocks) -> Option<()> {
        let planes = self.planes(unit);
        let turn = blocks.next_turn(planes, self.units[unit as usize].turn)?;
        let plane = planes.at(turn);
        let block = blocks.take(plane)?;
        let at = &mut self.units[unit as usize];
        at.turn = (turn + 1) % planes.count();
        at.next = blocks.shape.first(block);
        at.end = at.next + u64::from(self.pages_per_block) - u64::from(self.summary);
        (at.plane, at.block) = (plane, block);
        Some(())
    }

    /// Has every plane a frontier of its own?
    #[inline]
    pub fn is_of_one_plane(&self) -> bool {
        self.planes as usize == self.units.len()
    }

    /// Plane of the next page of `unit`; without a free page that of the last one.
    #[inline]
    pub fn next_plane(&self, unit: u32, blocks: &FlashBlocks) -> u32 {
        let at = &self.units[unit as usize];
        if self.is_of_one_plane() {
            return unit;
        }
        if at.next < at.end {
            return at.plane;
        }
        let planes = self.planes(unit);
        let turn = blocks.next_turn(planes, at.turn);
        turn.map_or(at.plane, |turn| planes.at(turn))
    }

    /// So many blocks of every plane are full that were free. No block is open.
    pub fn filled_stripes(&mut self, stripes: u32) {
        let planes = self.planes(0).count();
        let blocks = u64::from(stripes) * u64::from(planes);
        for at in &mut self.units {
            at.free -= blocks * u64::from(self.pages_per_block);
            at.slots -= blocks * u64::from(self.pages_per_block - u32::from(self.summary));
        }
    }

    /// A block of `unit` was erased.
    pub fn erased(&mut self, unit: u32) {
        let at = &mut self.units[unit as usize];
        at.free += u64::from(self.pages_per_block);
        at.slots += u64::from(self.pages_per_block - u32::from(self.summary));
    }

    /// Free pages of `unit`.
    #[inline]
    pub fn free(&self, unit: u32) -> u64 {
        self.units[unit as usize].free
    }

    /// The one of two units with fewer free pages, and the smaller number of equals. Chosen without
    /// a branch, which would be guessed wrong.
    #[inline]
    pub fn tighter(&self, one: u32, other: u32) -> u32 {
        let (of_one, of_other) = (self.free(one), self.free(other));
        let less = (of_other < of_one) | ((of_other == of_one) & (other < one));
        std::hint::select_unpredictable(less, other, one)
    }

    /// Free pages of `unit` that can take data.
    #[inline]
    pub fn slots(&self, unit: u32) -> u64 {
        self.units[unit as usize].slots
    }

    /// Planes of `unit`.
    pub fn planes(&self, unit: u32) -> UnitMembers {
        UnitMembers::of(unit, self.units.len() as u32, self.planes)
    }

    /// Free pages of the block that the next write of `unit` goes to, its summary page included.
    #[inline]
    pub fn open_free(&self, unit: u32) -> u64 {
        let at = &self.units[unit as usize];
        let left = at.end - at.next;
        let fresh = u64::from(at.free != 0) * u64::from(self.pages_per_block);
        if left == 0 {
            fresh
        } else {
            left + u64::from(self.summary)
        }
    }

    /// Blocks that are open.
    pub fn open_blocks(&self) -> impl Iterator<Item = u32> + '_ {
        let open = self.units.iter().filter(|at| at.next < at.end);
        open.map(|at| at.block)
    }

    /// Bytes taken.
    pub fn bytes(&self) -> u64 {
        size_of_val(&self.units[..]) as u64
    }
}
