//! Where mapping units are: the translation layer of drives with units (D-1 to D-4, D-6, D-11).
//!
//! Two tables of 32-bit numbers, from mapping units to places and back, say all: a place is valid iff
//! `to_place[to_unit[place]] == place`. A frontier fills one block at a time, one program unit after the other. A
//! place belongs to its mapping unit from the moment it is handed over; its program comes later, and
//! [`UnitMap::is_programmed`] says whether it has ended.

use super::shape::UnitShape;
use crate::config::{Allocation, DeviceConfig, FlashUnit, GcMode, GcStreams, WearLevelling};
use crate::ftl::block_table::{BlockTable, NONE as NO_BLOCK};
use crate::ftl::buckets::Buckets;
use crate::ftl::first_touch::FirstTouch;
use crate::ftl::free_blocks::FreeBlocks;
use crate::ftl::page_table::{NONE, PageTable};
use crate::ftl::victim::{Candidates, VictimChooser};
use crate::ftl::{DeviceFull, Wear};
use destage_types::{ChipId, Lpn, PlaneId, StaticLayout};
use std::collections::{BTreeMap, BTreeSet};

/// Who writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitStream {
    /// The host.
    Host,
    /// The collector.
    Collector,
}

/// A block that is filled.
#[derive(Clone, PartialEq, Eq, Debug)]
struct OpenBlock {
    block: u32,
    /// Places of units opened in each part.
    opened: Vec<u32>,
    /// Which of its groups gives the next block.
    turn: u32,
}

/// The open unit of a stream on a frontier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct OpenUnit {
    block: u32,
    /// Next place of the block.
    next: u32,
    /// Is there one?
    open: bool,
}

/// A program unit: its places are [`UnitShape::unit`] from this one on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitPlace {
    /// Block of the drive.
    pub block: u32,
    /// First place of it in that block.
    pub first: u32,
}

/// The translation layer. See the module.
#[derive(Clone, Debug)]
pub struct UnitMap {
    shape: UnitShape,
    to_place: PageTable,
    to_unit: PageTable,
    blocks: BlockTable,
    free: FreeBlocks,
    buckets: Buckets,
    chooser: VictimChooser,
    /// Do host and collector fill the same blocks?
    shared: bool,
    /// Those of the host, then those of the collector if it has its own: by frontier, or one where the frontiers fill
    /// parts of the same block.
    open_blocks: Vec<OpenBlock>,
    /// By frontier: those of the host, then those of the collector.
    open_units: Vec<OpenUnit>,
    /// Groups of each frontier number, ascending.
    groups: Vec<Vec<u32>>,
    /// Frontier number of each group, or of each part of a block.
    frontier_of: Vec<u32>,
    /// GC unit of each group.
    gc_of: Vec<u32>,
    /// Groups of each GC unit, ascending.
    gc_groups: Vec<Vec<u32>>,
    /// Frontier number of mapping unit `k * i` with static allocation, `i` modulo the planes.
    spread: Vec<u32>,
    /// Frontiers in the order of `allocation_order`, and the positions of those chosen last, by stream.
    frontier_order: Vec<u32>,
    last_frontier: [usize; 2],
    /// Places of each block whose programs have ended.
    programmed: FirstTouch<u16, 256>,
    /// Units that are open, queued or running.
    under_way: BTreeSet<u64>,
    /// Blocks of each GC unit that are collected whole and wait for programs or erase.
    awaiting: Vec<u64>,
    gc_low: u64,
    frontier_unit: FlashUnit,
    pub(super) gc_mode: GcMode,
    /// Free blocks of a GC unit at which paced collection settles.
    pub(super) gc_middle: u64,
    pub(super) dynamic: bool,
    /// Of preconditioning: the frontier that is filled, GC units that have not collected.
    pub(super) filling: Option<u32>,
    pub(super) untouched: Vec<bool>,
    pub(super) untouched_gc_units: usize,
    logical: u64,
    valid: u64,
    layout: StaticLayout,
}

impl UnitMap {
    /// An empty drive. Random choices start from `seed`.
    pub fn new(config: &DeviceConfig, seed: u64) -> UnitMap {
        let (g, shape, layout) = (&config.geometry, config.shape(), config.layout());
        let planes = g.planes();
        let group = |plane: u32| shape.group_or_part(g, layout.plane_address(PlaneId(plane)));
        let frontier_of: Vec<u32> = (0..shape.groups * shape.parts)
            .map(|g| config.frontier_of(&shape, g))
            .collect();
        let in_order = (0..planes).map(|n| {
            layout
                .plane(Lpn(u64::from(n) * u64::from(shape.per_page)))
                .0
        });
        let spread: Vec<u32> = in_order
            .map(|plane| frontier_of[group(plane) as usize])
            .collect();
        let mut frontier_order: Vec<u32> = Vec::new();
        for &frontier in &spread {
            if !frontier_order.contains(&frontier) {
                frontier_order.push(frontier);
            }
        }
        let gc_of: Vec<u32> = (0..shape.groups)
            .map(|g| config.gc_unit_of(&shape, g))
            .collect();
        let members = |of: &[u32]| {
            let mut rows = vec![Vec::new(); of.iter().max().map_or(0, |last| *last as usize + 1)];
            of.iter()
                .enumerate()
                .for_each(|(group, &row)| rows[row as usize].push(group as u32));
            rows
        };
        let groups = match shape.parts {
            1 => members(&frontier_of),
            parts => vec![vec![0]; parts as usize],
        };
        let gc_groups = members(&gc_of);
        let shared = config.gc_streams == Some(GcStreams::Shared);
        let none = OpenBlock {
            block: NO_BLOCK,
            opened: vec![0; shape.parts as usize],
            turn: 0,
        };
        let closed = OpenUnit {
            block: NO_BLOCK,
            next: 0,
            open: false,
        };
        let logical = config.logical_pages();
        let blocks = u64::from(shape.all_blocks());
        let places = u16::try_from(shape.places).expect("a valid block has at most 65535 places");
        let mut map = UnitMap {
            to_place: PageTable::new(logical),
            to_unit: PageTable::new(shape.all_places()),
            blocks: BlockTable::new(blocks, places),
            free: FreeBlocks::new(
                gc_of.clone(),
                shape.blocks,
                config.wear_levelling != WearLevelling::Off,
            ),
            buckets: Buckets::new(gc_groups.len() as u32, shape.places),
            chooser: VictimChooser::new(config.gc_policy, seed, config.gc_choices),
            shared,
            open_blocks: vec![
                none;
                (2 - usize::from(shared)) * groups.len() / shape.parts as usize
            ],
            open_units: vec![closed; 2 * groups.len()],
            spread,
            last_frontier: [frontier_order.len() - 1; 2],
            frontier_order,
            programmed: FirstTouch::new(blocks, 0),
            under_way: BTreeSet::new(),
            awaiting: vec![0; gc_groups.len()],
            gc_low: u64::from(config.gc_low.unwrap_or(0)),
            frontier_unit: config.frontier,
            gc_mode: config.gc_mode,
            gc_middle: u64::from(config.gc_low.unwrap_or(0) + config.gc_high.unwrap_or(0)) / 2,
            dynamic: config.allocation == Allocation::Dynamic,
            filling: None,
            untouched: vec![true; gc_groups.len()],
            untouched_gc_units: gc_groups.len(),
            groups,
            frontier_of,
            gc_of,
            gc_groups,
            logical,
            valid: 0,
            layout,
            shape,
        };
        for gc in 0..map.gc_groups.len() {
            let of = &map.gc_groups[gc];
            map.buckets
                .build(gc as u32, of, shape.blocks, &mut map.blocks);
        }
        map
    }

    /// Counts of the drive.
    pub fn shape(&self) -> &UnitShape {
        &self.shape
    }

    /// Mapping units that the host can address.
    pub const fn logical_pages(&self) -> u64 {
        self.logical
    }

    /// Mapping units with data.
    pub const fn valid_pages(&self) -> u64 {
        self.valid
    }

    /// Static allocation of the drive.
    pub fn layout(&self) -> &StaticLayout {
        &self.layout
    }

    /// Makes copies cheap: they share what they do not change.
    pub fn freeze(&mut self) {
        self.to_place.freeze();
        self.to_unit.freeze();
    }

    /// Takes back what copies shared, if there are none any more.
    pub fn thaw(&mut self) {
        self.to_place.thaw();
        self.to_unit.thaw();
    }

    /// Bytes of memory taken so far.
    pub fn memory_bytes(&self) -> u64 {
        self.to_place.bytes()
            + self.to_unit.bytes()
            + self.blocks.bytes()
            + self.buckets.bytes()
            + self.free.bytes()
            + self.programmed.bytes()
    }

    /// Place of a mapping unit, if it has one.
    #[inline]
    pub fn place(&self, lpn: Lpn) -> Option<u64> {
        match self.to_place.get(lpn.0) {
            NONE => None,
            place => Some(u64::from(place)),
        }
    }

    /// The mapping unit whose data are in a place, if they are still wanted.
    #[inline]
    pub fn unit_at(&self, place: u64) -> Option<Lpn> {
        match self.to_unit.get(place) {
            NONE => None,
            lpn => {
                let lpn = Lpn(u64::from(lpn));
                (self.place(lpn) == Some(place)).then_some(lpn)
            }
        }
    }

    /// Has the program of a place ended?
    #[inline]
    pub fn is_programmed(&self, place: u64) -> bool {
        let block = self.shape.block(place);
        u32::from(self.programmed.get(u64::from(block))) == self.shape.places
            || !self.under_way.contains(&self.shape.unit_of(place))
    }

    // Frontiers and units.

    /// Number of frontiers of one stream.
    pub fn frontier_count(&self) -> u32 {
        self.groups.len() as u32
    }

    /// Number of GC units.
    pub fn gc_units(&self) -> u32 {
        self.gc_groups.len() as u32
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
        let count = self.frontier_order.len();
        let last = self.last_frontier[stream as usize];
        let turns = (1..=count).map(|turn| (last + turn) % count);
        let can = turns.filter(|&at| self.can_open(stream, self.frontier_order[at]));
        let best = can.min_by_key(|&at| load(self.die_of(self.frontier_order[at])))?;
        Some(self.frontier_order[best])
    }

    /// The frontier that takes what is collected from a block: that of the block, or another one of its GC unit. Where
    /// blocks have parts: that with the open unit, or else the next one by the `load` of dies.
    pub fn collector_frontier(&self, block: u32, load: impl Fn(u32) -> u32) -> Option<u32> {
        if self.shape.parts > 1 {
            let is_open = |&frontier: &u32| self.is_open(UnitStream::Collector, frontier);
            let open = (0..self.frontier_count()).find(is_open);
            return open.or_else(|| self.next_frontier(UnitStream::Collector, load));
        }
        let can = |frontier: &u32| self.can_open(UnitStream::Collector, *frontier);
        let own = self.frontier_of[self.shape.group_of(block) as usize];
        let others = || self.frontiers_of_gc(self.gc_of_block(block)).find(can);
        Some(own).filter(can).or_else(others)
    }

    /// Must the frontier take a block for the unit that it opens next?
    pub fn needs_block(&self, stream: UnitStream, frontier: u32) -> bool {
        self.open_blocks[self.open_block_of(stream, frontier)].block == NO_BLOCK
    }

    /// May the host open no unit on the frontier before more was collected? It leaves `gc_low` free blocks to the
    /// collector, and the rest of a shared block too when fewer are free (D-12/1).
    pub fn is_stuck(&self, frontier: u32) -> bool {
        let free = self.free_blocks(self.gc_of(frontier));
        match self.needs_block(UnitStream::Host, frontier) {
            true => free <= self.gc_low || !self.has_block(frontier),
            false => self.shared && free < self.gc_low,
        }
    }

    /// Has the open block room for a unit on the frontier? Only a block with parts may have none.
    fn has_place(&self, stream: UnitStream, frontier: u32) -> bool {
        let open_block = &self.open_blocks[self.open_block_of(stream, frontier)];
        open_block.opened[self.part_of(frontier)] < self.shape.part_places()
    }

    /// Is there a block that the frontier can take?
    fn has_block(&self, frontier: u32) -> bool {
        let mut groups = self.groups[frontier as usize].iter();
        groups.any(|&group| self.free.count(group) > 0)
    }

    /// Part of the blocks that a frontier fills.
    #[inline]
    fn part_of(&self, frontier: u32) -> usize {
        match self.shape.parts {
            1 => 0,
            _ => frontier as usize,
        }
    }

    /// Die of a frontier.
    pub fn die_of(&self, frontier: u32) -> u32 {
        let group = self.groups[frontier as usize][0];
        self.shape.die(group, self.part_of(frontier) as u32)
    }

    /// GC unit of a frontier.
    pub fn gc_of(&self, frontier: u32) -> u32 {
        self.gc_of[self.groups[frontier as usize][0] as usize]
    }

    /// GC unit of a block.
    pub fn gc_of_block(&self, block: u32) -> u32 {
        self.gc_of[self.shape.group_of(block) as usize]
    }

    /// Frontiers of a GC unit, ascending.
    pub fn frontiers_of_gc(&self, gc: u32) -> impl Iterator<Item = u32> + '_ {
        (0..self.frontier_count()).filter(move |&frontier| self.gc_of(frontier) == gc)
    }

    #[inline]
    fn open_block_of(&self, stream: UnitStream, frontier: u32) -> usize {
        let own = stream == UnitStream::Collector && !self.shared;
        match self.shape.parts {
            1 => usize::from(own) * self.groups.len() + frontier as usize,
            _ => usize::from(own),
        }
    }

    #[inline]
    fn open_unit_of(&self, stream: UnitStream, frontier: u32) -> usize {
        usize::from(stream == UnitStream::Collector) * self.groups.len() + frontier as usize
    }

    /// Has the frontier an open unit?
    pub fn is_open(&self, stream: UnitStream, frontier: u32) -> bool {
        self.open_units[self.open_unit_of(stream, frontier)].open
    }

    /// Places that the open unit of a frontier has taken, 0 without one.
    pub fn taken(&self, stream: UnitStream, frontier: u32) -> u32 {
        let at = &self.open_units[self.open_unit_of(stream, frontier)];
        match at.open {
            true => (at.next - 1) % self.shape.unit() + 1,
            false => 0,
        }
    }

    /// Can the frontier take a unit?
    pub fn can_open(&self, stream: UnitStream, frontier: u32) -> bool {
        if self.is_open(stream, frontier) {
            return true;
        }
        let stuck = stream == UnitStream::Host && self.is_stuck(frontier);
        !stuck
            && match self.needs_block(stream, frontier) {
                true => self.has_block(frontier),
                false => self.has_place(stream, frontier),
            }
    }

    /// Puts a mapping unit into the open unit of a frontier, which is opened if there is none, and gives
    /// the unit if it is full now. Its old place is invalid from now on.
    ///
    /// # Panics
    /// Unless [`UnitMap::can_open`].
    pub fn put(&mut self, stream: UnitStream, frontier: u32, lpn: Lpn) -> Option<UnitPlace> {
        let (place, full) = self.take_place(stream, frontier);
        let block = self.shape.block(place);
        match self.to_place.replace(lpn.0, place as u32) {
            NONE => self.valid += 1,
            old => self.invalidate(u64::from(old)),
        }
        self.to_unit.replace(place, lpn.0 as u32);
        self.blocks.wrote_data(block, 1);
        full
    }

    fn take_place(&mut self, stream: UnitStream, frontier: u32) -> (u64, Option<UnitPlace>) {
        if !self.is_open(stream, frontier) {
            self.open_unit(stream, frontier);
        }
        let unit = self.shape.unit();
        let open = self.open_unit_of(stream, frontier);
        let at = &mut self.open_units[open];
        let place = at.next;
        at.next += 1;
        at.open = !at.next.is_multiple_of(unit);
        let full = UnitPlace {
            block: at.block,
            first: place / unit * unit,
        };
        (
            self.shape.first(at.block) + u64::from(place),
            (!at.open).then_some(full),
        )
    }

    fn open_unit(&mut self, stream: UnitStream, frontier: u32) {
        if self.needs_block(stream, frontier) {
            self.take_block(stream, frontier);
        }
        let (open_block, part) = (self.open_block_of(stream, frontier), self.part_of(frontier));
        let part_places = self.shape.part_places();
        let at = &mut self.open_blocks[open_block];
        let unit = OpenUnit {
            block: at.block,
            next: part as u32 * part_places + at.opened[part],
            open: true,
        };
        at.opened[part] += self.shape.unit();
        if at.opened.iter().all(|&opened| opened == part_places) {
            at.block = NO_BLOCK;
        }
        let place = self.shape.first(unit.block) + u64::from(unit.next);
        self.under_way.insert(self.shape.unit_of(place));
        let open = self.open_unit_of(stream, frontier);
        self.open_units[open] = unit;
        let mut order = self.frontier_order.iter();
        let at = order.position(|&of| of == frontier);
        self.last_frontier[stream as usize] = at.unwrap_or_default();
    }

    fn take_block(&mut self, stream: UnitStream, frontier: u32) {
        let open_block = self.open_block_of(stream, frontier);
        let groups = &self.groups[frontier as usize];
        let (count, turn) = (groups.len() as u32, self.open_blocks[open_block].turn);
        let mut turns = (turn..turn + count).map(|turn| turn % count);
        let found = turns.find(|&turn| self.free.count(groups[turn as usize]) > 0);
        let turn = found.expect("the caller has seen that there is a free block");
        let block = self.free.take(groups[turn as usize], &mut self.blocks);
        let row = &mut self.open_blocks[open_block];
        row.block = block.expect("a group counts its free blocks");
        row.opened.fill(0);
        row.turn = (turn + 1) % count;
    }

    /// Closes the open unit of a frontier: the rest is padding. Gives the unit and how many places that are.
    pub fn close(&mut self, stream: UnitStream, frontier: u32) -> Option<(UnitPlace, u32)> {
        let unit = self.shape.unit();
        let open = self.open_unit_of(stream, frontier);
        let at = &mut self.open_units[open];
        if !at.open {
            return None;
        }
        at.open = false;
        let (block, first) = (at.block, at.next / unit * unit);
        let padded = first + unit - at.next;
        (0..padded).for_each(|_| _ = self.blocks.wrote_meta(block));
        Some((UnitPlace { block, first }, padded))
    }

    /// The program of a unit has ended.
    pub fn program_ended(&mut self, unit: UnitPlace) {
        let place = self.shape.first(unit.block) + u64::from(unit.first);
        let was = self.under_way.remove(&self.shape.unit_of(place));
        debug_assert!(was, "a unit ends once");
        let programmed = self.programmed.at(u64::from(unit.block));
        *programmed += self.shape.unit() as u16;
        if u32::from(*programmed) == self.shape.places {
            let gc = self.gc_of_block(unit.block);
            let valid = self.blocks.valid(unit.block);
            self.buckets.insert(gc, unit.block, valid, &mut self.blocks);
        }
    }

    /// The data of a mapping unit are not wanted any more.
    pub fn trim(&mut self, lpn: Lpn) {
        if let Some(place) = self.place(lpn) {
            self.to_place.clear(lpn.0);
            self.valid -= 1;
            self.invalidate(place);
        }
    }

    fn invalidate(&mut self, place: u64) {
        let number = self.shape.block(place);
        let (block, _) = self.blocks.invalidated(number);
        if block.is_listed() {
            let valid = block.valid() + 1;
            let gc = self.gc_of_block(number);
            self.buckets.lower(gc, number, valid, &mut self.blocks);
        }
    }

    // Collection.

    /// GC unit of a die, of the first one of its planes.
    pub fn gc_of_die(&self, die: u32) -> u32 {
        self.gc_of(self.frontier_of[die as usize])
    }

    /// Free blocks that the host leaves to the collector.
    pub const fn gc_low(&self) -> u64 {
        self.gc_low
    }

    /// Places left in the open blocks of the host on a die.
    pub fn open_places(&self, die: u32) -> u64 {
        let of_die = (die..self.frontier_count()).step_by(self.shape.dies as usize);
        let left = of_die.map(|frontier| {
            let open = &self.open_units[frontier as usize];
            let open_block = &self.open_blocks[self.open_block_of(UnitStream::Host, frontier)];
            let of_unit = match open.open {
                true => open.next.next_multiple_of(self.shape.unit()) - open.next,
                false => 0,
            };
            match open_block.block {
                NO_BLOCK => of_unit,
                _ => of_unit + self.shape.part_places() - open_block.opened[self.part_of(frontier)],
            }
        });
        left.map(u64::from).sum()
    }

    /// Fewest valid places of a block that a GC unit may collect, 0 without one.
    pub fn fewest_valid(&self, gc: u32) -> u64 {
        self.buckets.lowest(gc).map_or(0, u64::from)
    }

    /// Free blocks of a GC unit, with those collected whole that wait for programs or erase: B of D-11.
    pub fn free_blocks(&self, gc: u32) -> u64 {
        self.free.of_gc(gc) + self.awaiting[gc as usize]
    }

    /// Places of a block with wanted data.
    pub fn valid_in(&self, block: u32) -> u32 {
        self.blocks.valid(block)
    }

    /// The block that a GC unit collects next, if any gains a place.
    pub fn victim(&mut self, gc: u32) -> Option<u32> {
        let candidates = Candidates {
            blocks: &self.blocks,
            buckets: &self.buckets,
            stamps: None,
            programmed: 0,
            cells: &[gc],
            planes: &self.gc_groups[gc as usize],
            blocks_per_plane: self.shape.blocks,
            data: self.shape.places,
        };
        self.chooser.choose(&candidates)
    }

    /// Collecting a block begins: it is no candidate any more.
    pub fn begin_collection(&mut self, block: u32) {
        let gc = self.gc_of_block(block);
        let valid = self.blocks.valid(block);
        self.buckets.remove(gc, block, valid, &mut self.blocks);
    }

    /// The next read of a block that has wanted data, from number `turn` on; [`UnitShape::reads`] if there is none.
    pub fn next_read(&self, block: u32, turn: u32) -> u32 {
        let wanted = |&turn: &u32| self.wanted_places(block, turn).next().is_some();
        let mut turns = turn..self.shape.reads();
        turns.find(wanted).unwrap_or(self.shape.reads())
    }

    /// The wanted places of a read of a block.
    pub fn wanted_places(&self, block: u32, turn: u32) -> impl Iterator<Item = u64> + '_ {
        let first = self.shape.first(block) + u64::from(self.shape.read_at(turn));
        let places = first..first + u64::from(self.shape.read_places());
        places.filter(|&place| self.unit_at(place).is_some())
    }

    /// All places of a block were moved or have lost their data: it waits for programs and its erase.
    pub fn collected(&mut self, block: u32) {
        let gc = self.gc_of_block(block);
        self.awaiting[gc as usize] += 1;
    }

    /// The erase of a collected block has ended.
    pub fn erased(&mut self, block: u32) {
        let group = self.shape.group_of(block);
        self.awaiting[self.gc_of[group as usize] as usize] -= 1;
        let erases = self.blocks.erase(block);
        *self.programmed.at(u64::from(block)) = 0;
        self.free.give(group, block, erases, &mut self.blocks);
    }

    /// No room for `lpn`, nor will there be.
    pub fn full(&self, lpn: Lpn) -> Box<DeviceFull> {
        let places = u64::from(self.shape.places);
        let frontier = self.static_frontier(lpn);
        let free = |gc: u32| self.free_blocks(gc) * places;
        Box::new(DeviceFull {
            lpn,
            unit: self.frontier_unit,
            plane: PlaneId(frontier),
            chip: ChipId(self.die_of(frontier)),
            unit_pages: self.shape.all_places() / u64::from(self.gc_units()),
            unit_free: free(self.gc_of(frontier)),
            collects: self.gc_mode == GcMode::Paced,
            device_free: (0..self.gc_units()).map(free).sum(),
            device_valid: self.valid,
            device_pages: self.shape.all_places(),
            logical: self.logical,
        })
    }

    /// How often the blocks were erased.
    pub fn wear(&self) -> Wear {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for block in 0..self.shape.all_blocks() {
            *counts.entry(self.blocks.erases(block)).or_insert(0) +=
                u64::from(self.shape.planes * self.shape.parts);
        }
        Wear {
            blocks_by_erases: counts.into_iter().collect(),
        }
    }
}
