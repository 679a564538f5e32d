//! Write frontiers: where the next page of a plane, die or chip goes.

use super::blocks::Blocks;

/// The open block of one unit, and the unit's free pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frontier {
    /// Next page to write, in the numbering of the device.
    next: u64,
    /// Where the data pages of the open block end; equal to `next` when no block is open.
    end: u64,
    /// Free pages of the unit, those of the open block included.
    free: u64,
    /// First plane to ask for the next block, as a position in the unit.
    turn: u32,
}

/// A page for data, and the summary page to write after it.
pub(super) struct Taken {
    pub data: u64,
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
    /// Planes of all units, `planes_per_unit` each.
    planes: Vec<u32>,
    planes_per_unit: u32,
    pages_per_block: u32,
    summary: bool,
}

impl Frontiers {
    /// `planes` lists the planes of all units, `planes_per_unit` each, every unit ascending.
    pub fn new(
        planes: Vec<u32>,
        planes_per_unit: u32,
        blocks_per_plane: u32,
        pages_per_block: u32,
        summary: bool,
    ) -> Frontiers {
        let pages =
            u64::from(planes_per_unit) * u64::from(blocks_per_plane) * u64::from(pages_per_block);
        let full = Frontier {
            next: 0,
            end: 0,
            free: pages,
            turn: 0,
        };
        let units = vec![full; planes.len() / planes_per_unit as usize];
        Frontiers {
            units,
            planes,
            planes_per_unit,
            pages_per_block,
            summary,
        }
    }

    /// The next page of `unit`, `None` if all are written.
    #[inline]
    pub fn take(&mut self, unit: u32, blocks: &mut Blocks) -> Option<Taken> {
        if self.units[unit as usize].next == self.units[unit as usize].end {
            self.open(unit, blocks)?;
        }
        let at = &mut self.units[unit as usize];
        let data = at.next;
        at.next += 1;
        at.free -= 1;
        let summary = (self.summary && at.next == at.end).then_some(at.end);
        at.free -= u64::from(summary.is_some());
        Some(Taken { data, summary })
    }

    #[cold]
    fn open(&mut self, unit: u32, blocks: &mut Blocks) -> Option<()> {
        let count = self.planes_per_unit;
        let at = &mut self.units[unit as usize];
        for step in 0..count {
            let turn = (at.turn + step) % count;
            let plane = self.planes[(unit * count + turn) as usize];
            if let Some(block) = blocks.take(plane) {
                at.turn = (turn + 1) % count;
                at.next = block * u64::from(self.pages_per_block);
                at.end = at.next + u64::from(self.pages_per_block) - u64::from(self.summary);
                return Some(());
            }
        }
        None
    }

    /// A block of `unit` was erased.
    pub fn erased(&mut self, unit: u32) {
        self.units[unit as usize].free += u64::from(self.pages_per_block);
    }

    /// Free pages of `unit`.
    pub fn free(&self, unit: u32) -> u64 {
        self.units[unit as usize].free
    }

    /// Free pages of the block that the next write of `unit` goes to, its summary page included.
    pub fn open_free(&self, unit: u32) -> u64 {
        let at = &self.units[unit as usize];
        match at.end - at.next {
            0 if at.free == 0 => 0,
            0 => u64::from(self.pages_per_block),
            left => left + u64::from(self.summary),
        }
    }

    /// Bytes taken.
    pub fn bytes(&self) -> u64 {
        (self.units.len() * size_of::<Frontier>() + self.planes.len() * 4) as u64
    }
}
