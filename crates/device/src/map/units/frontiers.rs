//! Where the next units of a drive go: open blocks and open units of its frontiers (D-2, D-3, D-11, D-12).

use super::slc::NextBlock;
use super::{NO_BLOCK, UnitMap, UnitMembers, UnitPlace, UnitStream};
use destage_types::Lpn;

/// A block that is filled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct OpenBlock {
    pub block: u32,
    /// Places of units opened in each part.
    pub opened: Vec<u32>,
    /// Which of its groups gives the next block.
    pub turn: u32,
}

/// The open unit of a stream on a frontier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OpenUnit {
    pub block: u32,
    /// Next place of the block.
    pub next: u32,
    /// Is there one?
    pub open: bool,
}

impl UnitMap {
    /// Number of frontiers of one stream.
    pub fn frontier_count(&self) -> u32 {
        self.groups.frontiers
    }

    /// Number of GC units.
    pub fn gc_units(&self) -> u32 {
        self.groups.gcs
    }

    /// Frontier of a mapping unit with static allocation.
    #[inline]
    pub fn static_frontier(&self, lpn: Lpn) -> u32 {
        let page = lpn.0 / u64::from(self.shape.per_page);
        self.spread[(page % self.spread.len() as u64) as usize]
    }

    /// Frontiers in the order of `allocation_order`.
    pub fn frontier_order(&self) -> &[u32] {
        &self.frontier_order
    }

    /// The frontier that takes the next unit of a stream with dynamic allocation: that with the least load of its
    /// die, of those that can open one; ties go to the next one after the last in `allocation_order`.
    pub fn next_frontier(&self, stream: UnitStream, load: impl Fn(u32) -> u32) -> Option<u32> {
        self.next_frontier_that(stream, load, |frontier| self.can_open(stream, frontier))
    }

    pub(super) fn next_frontier_that(
        &self,
        stream: UnitStream,
        load: impl Fn(u32) -> u32,
        may: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let last = self.last_frontier[self.writers.number(stream)];
        let (passed, ahead) = self.frontier_order.split_at(last + 1);
        let (mut best, mut least) = (None, u32::MAX);
        for &frontier in ahead.iter().chain(passed) {
            let load = load(self.die_of(frontier));
            if load < least && may(frontier) {
                (best, least) = (Some(frontier), load);
            }
            if least == 0 {
                break;
            }
        }
        best
    }

    /// The frontier that takes what is collected from a block: that of the block, or another one of its GC unit. Where
    /// blocks have parts: that with the open unit, or else the next one by the `load` of dies.
    pub fn collector_frontier(&self, block: u32, load: impl Fn(u32) -> u32) -> Option<u32> {
        let stream = self.collector_of(block);
        if self.shape.parts > 1 {
            let open = self.open_frontier(stream);
            return open.or_else(|| self.next_frontier(stream, load));
        }
        let can = |frontier: &u32| self.can_open(stream, *frontier);
        let own = self.groups.row(self.shape.group_of(block)).frontier;
        let others = || self.frontiers_of_gc(self.gc_of_block(block)).find(can);
        Some(own).filter(can).or_else(others)
    }

    /// The first frontier on which a writer has an open unit.
    pub fn open_frontier(&self, stream: UnitStream) -> Option<u32> {
        (0..self.frontier_count()).find(|&frontier| self.is_open(stream, frontier))
    }

    /// The frontier that takes a translation page: that of the open unit, or the next in turn that can open one, whatever
    /// the load of its die (S-0.2). One that leaves the cache takes none of the last blocks (S-0.4).
    pub fn map_frontier(&self, leaves_cache: bool) -> Option<u32> {
        let can = |frontier: u32| {
            let spares = self.needs_block(UnitStream::Map, frontier) && leaves_cache;
            (!spares || self.free_blocks(self.gc_of(frontier)) > self.gc_low)
                && self.can_open(UnitStream::Map, frontier)
        };
        let open = self.open_frontier(UnitStream::Map);
        open.or_else(|| self.next_frontier_that(UnitStream::Map, |_| 0, can))
    }

    /// Must the frontier take a block for the unit that it opens next?
    pub fn needs_block(&self, stream: UnitStream, frontier: u32) -> bool {
        !self.has_open_block(stream, frontier)
    }

    /// May the host open no unit on the frontier before more was collected? It leaves `gc_low` free blocks to the
    /// collector, and the rest of a shared block too when fewer are free (D-12/1).
    pub fn is_stuck(&self, frontier: u32) -> bool {
        (self.hosts_at_work()).any(|stream| self.is_stuck_with(stream, frontier))
    }

    /// The same with one handle.
    pub(super) fn is_stuck_with(&self, stream: UnitStream, frontier: u32) -> bool {
        let free = self.free_blocks(self.gc_of(frontier));
        match self.needs_block(stream, frontier) {
            true => {
                (free <= self.gc_low || !self.has_block(frontier))
                    && self.next_block(frontier).is_none()
            }
            false => self.shared && free < self.gc_low,
        }
    }

    /// Has the open block room for a unit on the frontier? Only a block with parts may have none.
    fn has_place(&self, stream: UnitStream, frontier: u32) -> bool {
        let open_block = &self.open_blocks[self.open_block_of(stream, frontier)];
        open_block.opened[self.part_of(frontier)] < self.part_places_of(open_block.block)
    }

    /// Is there a block that the frontier can take?
    pub(super) fn has_block(&self, frontier: u32) -> bool {
        let groups = self.groups_of(frontier);
        self.places.blocks.next_turn(groups, 0).is_some()
    }

    /// Groups whose blocks a frontier fills.
    pub(super) fn groups_of(&self, frontier: u32) -> UnitMembers {
        match self.shape.parts {
            1 => self.groups.of_frontier(frontier),
            _ => UnitMembers::only(0),
        }
    }

    /// Groups of a GC unit.
    pub(super) fn groups_of_gc(&self, gc: u32) -> UnitMembers {
        match self.shape.parts {
            1 => self.groups.of_gc(gc).0,
            _ => UnitMembers::only(0),
        }
    }

    /// Part of the blocks that a frontier fills.
    #[inline]
    pub(super) fn part_of(&self, frontier: u32) -> usize {
        match self.shape.parts {
            1 => 0,
            _ => frontier as usize,
        }
    }

    /// Die of a frontier.
    pub fn die_of(&self, frontier: u32) -> u32 {
        self.groups.row(frontier).chip.0
    }

    /// GC unit of a frontier.
    pub fn gc_of(&self, frontier: u32) -> u32 {
        self.groups.row(frontier).gc
    }

    /// GC unit of a block.
    pub fn gc_of_block(&self, block: u32) -> u32 {
        self.groups.row(self.shape.group_of(block)).gc
    }

    /// Frontiers of a GC unit, ascending.
    pub fn frontiers_of_gc(&self, gc: u32) -> impl Iterator<Item = u32> + use<> {
        self.groups.frontiers_of_gc(gc).iter()
    }

    #[inline]
    pub(super) fn open_block_of(&self, stream: UnitStream, frontier: u32) -> usize {
        let writer = match self.shared {
            true => 0,
            false => self.writers.number(stream),
        };
        match self.shape.parts {
            1 => writer * self.groups.frontiers as usize + frontier as usize,
            _ => writer,
        }
    }

    #[inline]
    pub(super) fn open_unit_of(&self, stream: UnitStream, frontier: u32) -> usize {
        self.writers.number(stream) * self.groups.frontiers as usize + frontier as usize
    }

    /// Has the frontier an open unit?
    pub fn is_open(&self, stream: UnitStream, frontier: u32) -> bool {
        self.open_units[self.open_unit_of(stream, frontier)].open
    }

    /// Places that the open unit of a frontier has taken, 0 without one.
    pub fn taken(&self, stream: UnitStream, frontier: u32) -> u32 {
        let at = &self.open_units[self.open_unit_of(stream, frontier)];
        match at.open {
            true => (at.next - 1) % self.unit_of_block(at.block) + 1,
            false => 0,
        }
    }

    /// Can the frontier take a unit?
    pub fn can_open(&self, stream: UnitStream, frontier: u32) -> bool {
        self.is_open(stream, frontier)
            || !self.owes_parity(stream) && self.can_open_next(stream, frontier)
    }

    /// Can the frontier open a unit?
    pub(super) fn can_open_next(&self, stream: UnitStream, frontier: u32) -> bool {
        let host = matches!(stream, UnitStream::Host(_));
        match self.needs_block(stream, frontier) {
            true if host => self.next_block(frontier).is_some(),
            true => self.has_block(frontier),
            false => {
                !(host && self.is_stuck_with(stream, frontier)) && self.has_place(stream, frontier)
            }
        }
    }

    /// Puts a mapping unit into the open unit of a frontier, which is opened if there is none, and gives
    /// the unit if it is full now. Its old place is invalid from now on.
    ///
    /// # Panics
    /// Unless [`UnitMap::can_open`].
    pub fn put(&mut self, stream: UnitStream, frontier: u32, lpn: Lpn) -> Option<UnitPlace> {
        let (block, place, full) = self.take_place(stream, frontier);
        self.count_host_place(stream);
        self.places.write(lpn, place as u32);
        if self.places.blocks.wrote(block, 1, 0) {
            self.close_block(block);
        }
        full
    }

    /// Block and place, and the unit if it is full now.
    fn take_place(&mut self, stream: UnitStream, frontier: u32) -> (u32, u64, Option<UnitPlace>) {
        if !self.is_open(stream, frontier) {
            self.open_unit(stream, frontier);
        }
        let open = self.open_unit_of(stream, frontier);
        let unit = self.unit_of_block(self.open_units[open].block);
        let at = &mut self.open_units[open];
        let place = at.next;
        at.next += 1;
        at.open = !at.next.is_multiple_of(unit);
        let full = UnitPlace {
            block: at.block,
            first: place / unit * unit,
        };
        (
            at.block,
            self.shape.first(at.block) + u64::from(place),
            (!at.open).then_some(full),
        )
    }

    pub(super) fn open_unit(&mut self, stream: UnitStream, frontier: u32) {
        if self.needs_block(stream, frontier) {
            self.take_block(stream, frontier);
        }
        let (open_block, part) = (self.open_block_of(stream, frontier), self.part_of(frontier));
        let part_places = self.shape.part_places();
        let block = self.open_blocks[open_block].block;
        let (most, places) = (self.part_places_of(block), self.unit_of_block(block));
        let at = &mut self.open_blocks[open_block];
        let unit = OpenUnit {
            block: at.block,
            next: part as u32 * part_places + at.opened[part],
            open: true,
        };
        at.opened[part] += places;
        if at.opened.iter().all(|&opened| opened == most) {
            at.block = NO_BLOCK;
        }
        let place = self.shape.first(unit.block) + u64::from(unit.next);
        self.under_way.insert(self.unit_number(unit.block, place));
        let open = self.open_unit_of(stream, frontier);
        self.open_units[open] = unit;
        let mut order = self.frontier_order.iter();
        let at = order.position(|&of| of == frontier);
        self.last_frontier[self.writers.number(stream)] = at.unwrap_or_default();
    }

    fn take_block(&mut self, stream: UnitStream, frontier: u32) {
        let open_block = self.open_block_of(stream, frontier);
        let next = match stream {
            UnitStream::Host(_) => self.next_block(frontier),
            UnitStream::Collector(_) | UnitStream::Map => None,
        };
        let (block, in_slc) = match next {
            Some(NextBlock::Static) => (self.take_static(frontier), true),
            Some(NextBlock::Free { slc }) => (self.take_free(open_block, frontier), slc),
            None => (self.take_free(open_block, frontier), false),
        };
        self.open_in_mode(block, in_slc);
        self.opened_for(block, stream);
        let row = &mut self.open_blocks[open_block];
        row.block = block;
        row.opened.fill(0);
    }

    /// Takes a free block for a frontier, of its groups in turn.
    fn take_free(&mut self, open_block: usize, frontier: u32) -> u32 {
        let groups = self.groups_of(frontier);
        let (row, blocks) = (&mut self.open_blocks[open_block], &mut self.places.blocks);
        let turn = blocks.next_turn(groups, row.turn);
        let turn = turn.expect("the caller has seen that there is a free block");
        row.turn = (turn + 1) % groups.count();
        let block = blocks.take(groups.at(turn));
        block.expect("a group counts its free blocks")
    }

    /// Closes the open unit of a frontier: the rest is padding. Gives the unit and how many places that are.
    pub fn close(&mut self, stream: UnitStream, frontier: u32) -> Option<(UnitPlace, u32)> {
        let open = self.open_unit_of(stream, frontier);
        if !self.open_units[open].open {
            return None;
        }
        let unit = self.unit_of_block(self.open_units[open].block);
        let at = &mut self.open_units[open];
        at.open = false;
        let (block, first) = (at.block, at.next / unit * unit);
        let padded = first + unit - at.next;
        if self.places.blocks.wrote(block, 0, padded) {
            self.close_block(block);
        }
        Some((UnitPlace { block, first }, padded))
    }
}
