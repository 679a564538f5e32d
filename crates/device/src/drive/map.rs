//! Where mapping units are: the translation layer of drives with units (D-1 to D-4, D-6, D-11).
//!
//! Two tables of 32-bit numbers, from mapping units to places and back, say all: a place is valid iff
//! `to_place[to_unit[place]] == place`. Mapping units that a fill in order wrote take no memory until they change
//! ([`fill`]). A frontier fills one block at a time, one program unit after the other. A place belongs to its mapping
//! unit from the moment it is handed over; its program comes later, and [`UnitMap::is_programmed`] says whether it has
//! ended.

mod block_states;
mod collection;
mod fill;
mod frontiers;

use super::shape::UnitShape;
use super::unit_set::UnitSet;
use crate::config::{Allocation, DeviceConfig, FlashUnit, GcMode, GcStreams, WearLevelling};
use crate::ftl::block_table::{BlockTable, NONE as NO_BLOCK};
use crate::ftl::buckets::Buckets;
use crate::ftl::first_touch::FirstTouch;
use crate::ftl::free_blocks::FreeBlocks;
use crate::ftl::page_table::{NONE, PageTable};
use crate::ftl::victim::VictimChooser;
use crate::ftl::{DeviceFull, Wear};
use destage_types::{ChipId, Lpn, PlaneId, StaticLayout};
use fill::{FilledPlaces, FilledUnits};
use frontiers::{OpenBlock, OpenUnit};
use std::collections::BTreeMap;

/// The writer of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitStream {
    /// The host.
    Host,
    /// The collector.
    Collector,
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
    to_place: PageTable<FilledPlaces>,
    to_unit: PageTable<FilledUnits>,
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
    /// Die and GC unit of each frontier number.
    frontier_die: Vec<u32>,
    frontier_gc: Vec<u32>,
    /// Frontier number of each group, or of each part of a block.
    frontier_of: Vec<u32>,
    /// GC unit of each group.
    gc_of: Vec<u32>,
    /// Groups and frontiers of each GC unit, ascending.
    gc_groups: Vec<Vec<u32>>,
    gc_frontiers: Vec<Vec<u32>>,
    /// Frontier number of mapping unit `k * i` with static allocation, `i` modulo the planes.
    spread: Vec<u32>,
    /// Frontiers in the order of `allocation_order`, and the positions of those chosen last, by stream.
    frontier_order: Vec<u32>,
    last_frontier: [usize; 2],
    /// Places of each block whose programs have ended.
    programmed: FirstTouch<u16, 256>,
    /// Units that are open, queued or running.
    under_way: UnitSet,
    /// Blocks of each GC unit that are collected whole and wait for programs or erase.
    awaiting: Vec<u64>,
    gc_low: u64,
    frontier_unit: FlashUnit,
    pub(super) gc_mode: GcMode,
    /// Free blocks of a GC unit at which paced collection settles.
    pub(super) gc_middle: u64,
    pub(super) dynamic: bool,
    /// Of preconditioning: the frontier that is filled, GC units that have not collected, and what a block holds
    /// that is collected.
    pub(super) filling: Option<u32>,
    pub(super) wanted: Vec<Lpn>,
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
        let die_of = |(frontier, groups): (usize, &Vec<u32>)| {
            let part = if shape.parts == 1 { 0 } else { frontier as u32 };
            shape.die(groups[0], part)
        };
        let frontier_die = groups.iter().enumerate().map(die_of).collect();
        let frontier_gc = groups.iter().map(|of| gc_of[of[0] as usize]).collect();
        let gc_groups = members(&gc_of);
        let of_gc = |of: &Vec<u32>| match shape.parts {
            1 => {
                let mut row: Vec<u32> = of.iter().map(|&g| frontier_of[g as usize]).collect();
                row.dedup();
                row
            }
            parts => (0..parts).collect(),
        };
        let gc_frontiers = gc_groups.iter().map(of_gc).collect();
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
            under_way: UnitSet::new(shape.all_places() / u64::from(shape.unit())),
            awaiting: vec![0; gc_groups.len()],
            gc_low: u64::from(config.gc_low.unwrap_or(0)),
            frontier_unit: config.frontier,
            gc_mode: config.gc_mode,
            gc_middle: u64::from(config.gc_low.unwrap_or(0) + config.gc_high.unwrap_or(0)) / 2,
            dynamic: config.allocation == Allocation::Dynamic,
            filling: None,
            wanted: Vec::new(),
            untouched: vec![true; gc_groups.len()],
            untouched_gc_units: gc_groups.len(),
            frontier_die,
            frontier_gc,
            groups,
            frontier_of,
            gc_of,
            gc_groups,
            gc_frontiers,
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
            + self.under_way.bytes()
    }

    /// Place of a mapping unit, if it has one.
    #[inline]
    pub fn place(&self, lpn: Lpn) -> Option<u64> {
        match self.to_place.get(lpn.0) {
            NONE => None,
            place => Some(u64::from(place)),
        }
    }

    /// Reads what is known of the mapping units `numbers`, so that the processor has it close: their places and the
    /// blocks of those. The number means nothing; it must be used, or nothing is read.
    pub fn prefetch(&self, numbers: &mut [u64]) -> u64 {
        for number in &mut *numbers {
            // No branches: numbers beyond the drive stand for the last one, and no place for the first.
            let place = self.to_place.get((*number).min(self.logical - 1));
            *number = if place == NONE { 0 } else { u64::from(place) };
        }
        let valid = |&place: &u64| u64::from(self.blocks.valid(self.shape.block(place)));
        numbers.iter().fold(0, |all, place| all ^ valid(place))
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

    /// The mapping unit whose data were put in a place that has been taken, still wanted or not.
    pub fn put_at(&self, place: u64) -> Lpn {
        Lpn(u64::from(self.to_unit.get(place)))
    }

    /// Has the program of a place ended?
    #[inline]
    pub fn is_programmed(&self, place: u64) -> bool {
        let block = self.shape.block(place);
        u32::from(self.programmed.get(u64::from(block))) == self.shape.places
            || !self.under_way.contains(self.shape.unit_of(place))
    }

    /// The program of a unit has ended.
    pub fn program_ended(&mut self, unit: UnitPlace) {
        let place = self.shape.first(unit.block) + u64::from(unit.first);
        let number = self.shape.unit_of(place);
        debug_assert!(self.under_way.contains(number), "a unit ends once");
        self.under_way.remove(number);
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
