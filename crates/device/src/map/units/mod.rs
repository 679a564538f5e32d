//! Drives with units: a program takes several mapping units, and collection is paced (D-1 to D-4, D-6, D-11).
//!
//! A frontier fills one block at a time, one program unit after the other. A place belongs to its mapping
//! unit from the moment it is handed over; its program comes later, and [`UnitMap::is_programmed`] says whether it has
//! ended. A block may be collected when all its programs have ended.

mod causes;
mod collection;
mod frontiers;
mod handles;
mod pace;
mod parity;
mod precondition;
mod query;
pub(super) mod slc;
mod translation;
mod writers;

use super::blocks::{BlockCells, BlockRules, FlashBlocks, NO_BLOCK};
use super::divisor::Divisor;
use super::first_touch::FirstTouch;
use super::full::DeviceFull;
use super::groups::{BlockGroups, UnitMembers};
use super::places::{Owned, PlaceMap};
use super::precondition::CollectionBefore;
use super::shape::UnitShape;
use super::unit_set::UnitSet;
use crate::config::{Allocation, DeviceConfig, FlashUnit, GcStreams};
use destage_types::{ChipId, Lpn, PlaneId};
use frontiers::{OpenBlock, OpenUnit};
use handles::Handles;
use parity::Parity;
use slc::SlcCache;
use translation::TranslationPages;

pub use handles::HandleCounts;
pub use pace::{CollectPace, ToMove};
pub use precondition::CollectorBefore;
pub use writers::{UnitStream, Writers};

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
    pub(super) places: PlaceMap,
    groups: BlockGroups,
    writers: Writers,
    handles: Option<Handles>,
    translation: TranslationPages,
    parity: Option<Parity>,
    /// Do host and collector fill the same blocks?
    shared: bool,
    /// By writer and frontier, or by writer where the frontiers fill parts of the same block. Collectors that share the
    /// blocks of the host have none.
    open_blocks: Vec<OpenBlock>,
    /// By writer and frontier.
    open_units: Vec<OpenUnit>,
    /// Frontier number of mapping unit `k * i` with static allocation, `i` modulo the planes.
    spread: Vec<u32>,
    /// Frontiers in the order of `allocation_order`, and the positions of those chosen last, by writer.
    frontier_order: Vec<u32>,
    last_frontier: Vec<usize>,
    /// Places of each block whose programs have ended.
    programmed: FirstTouch<u16, 256>,
    /// Units that are open, queued or running.
    under_way: UnitSet,
    /// Blocks of each GC unit that are collected whole and wait for programs or erase.
    awaiting: Vec<u64>,
    gc_low: u64,
    frontier_unit: FlashUnit,
    pace: CollectPace,
    slc: Option<SlcCache>,
    dynamic: bool,
    /// Of preconditioning: the frontier that is filled, the collectors of GC units, what a read of theirs holds, and GC
    /// units that have collected.
    filling: Option<u32>,
    collectors: Vec<CollectorBefore>,
    wanted: Vec<Owned>,
    before: CollectionBefore,
}

impl UnitMap {
    /// An empty drive. Random choices start from `seed`.
    pub fn new(config: &DeviceConfig, seed: u64) -> UnitMap {
        let (shape, layout) = (config.shape(), config.layout());
        let groups = BlockGroups::new(config, false);
        let spread: Vec<u32> = (0..config.geometry.planes())
            .map(|n| layout.plane(Lpn(u64::from(n) * u64::from(shape.per_page))))
            .map(|plane| plane.0 % groups.frontiers)
            .collect();
        let mut frontier_order: Vec<u32> = Vec::new();
        for &frontier in &spread {
            if !frontier_order.contains(&frontier) {
                frontier_order.push(frontier);
            }
        }
        let (frontiers, gcs) = (groups.frontiers as usize, groups.gcs as usize);
        let shared = config.gc_streams == Some(GcStreams::Shared);
        let writers = Writers::new(config);
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
        let all_places = shape.all_places();
        let rules = BlockRules {
            // Static levelling would move blocks at once, and paced collection knows no such work.
            wear_threshold: None,
            ..BlockRules::new(config, 0, true, seed)
        };
        let slc = SlcCache::new(config, groups.gcs);
        let cells = match &slc {
            None => BlockCells::OfGroups(Divisor::new(groups.gcs)),
            Some(_) => {
                let all = shape.all_blocks();
                let native = (0..all).map(|block| groups.gcs + shape.group_of(block) % groups.gcs);
                BlockCells::OfBlocks(native.collect(), slc::CELLS * groups.gcs)
            }
        };
        let blocks = FlashBlocks::new(rules, cells);
        let least_unit = config.least_host_unit();
        UnitMap {
            places: PlaceMap::new(config.logical_pages(), config.translation_pages(), blocks),
            translation: TranslationPages::new(config),
            parity: Parity::new(config, writers.count()),
            handles: Handles::new(config, shape.all_blocks().into()),
            writers,
            shared,
            open_blocks: vec![none; writers.count() * frontiers / shape.parts as usize],
            open_units: vec![closed; writers.count() * frontiers],
            spread,
            last_frontier: vec![frontier_order.len() - 1; writers.count()],
            frontier_order,
            programmed: FirstTouch::new(u64::from(shape.all_blocks()), 0),
            under_way: UnitSet::new(all_places / u64::from(least_unit)),
            awaiting: vec![0; gcs],
            gc_low: u64::from(config.gc_low.unwrap_or(0)),
            frontier_unit: config.frontier,
            pace: CollectPace::new(config, &shape),
            slc,
            dynamic: config.allocation == Allocation::Dynamic,
            filling: None,
            collectors: vec![CollectorBefore::default(); gcs],
            wanted: Vec::new(),
            before: CollectionBefore::new(groups.gcs),
            groups,
            shape,
        }
    }

    /// Place of a mapping unit, if it has one.
    #[inline]
    pub fn place(&self, lpn: Lpn) -> Option<u64> {
        self.places.get(lpn).map(u64::from)
    }

    /// The mapping unit whose data are in a place, if they are still wanted.
    #[inline]
    pub fn unit_at(&self, place: u64) -> Option<Lpn> {
        self.places.owner(place as u32)
    }

    /// The mapping unit whose data were put in a place that has been taken, still wanted or not.
    pub fn put_at(&self, place: u64) -> Lpn {
        self.places.written_to(place as u32)
    }

    /// Number of the unit of a place in [`UnitMap::under_way`].
    #[inline]
    fn unit_number(&self, block: u32, place: u64) -> u64 {
        match &self.slc {
            None => self.shape.unit_of(place),
            Some(slc) if slc.holds(block) => place / u64::from(self.shape.read_places()),
            Some(_) => self.shape.unit_of(place) * u64::from(self.shape.pages),
        }
    }

    /// Has the program of a place ended?
    #[inline]
    pub fn is_programmed(&self, place: u64) -> bool {
        let block = self.shape.block(place);
        u32::from(self.programmed.get(u64::from(block))) == self.places_of_block(block)
            || !self.under_way.contains(self.unit_number(block, place))
    }

    /// The program of a unit has ended.
    pub fn program_ended(&mut self, unit: UnitPlace) {
        let place = self.shape.first(unit.block) + u64::from(unit.first);
        let number = self.unit_number(unit.block, place);
        debug_assert!(self.under_way.contains(number), "a unit ends once");
        self.under_way.remove(number);
        let (places, all) = (
            self.unit_of_block(unit.block),
            self.places_of_block(unit.block),
        );
        let programmed = self.programmed.at(u64::from(unit.block));
        *programmed += places as u16;
        if u32::from(*programmed) == all {
            self.places.blocks.filled(unit.block);
        }
    }

    /// The data of a mapping unit are not wanted any more.
    pub fn trim(&mut self, lpn: Lpn) {
        self.places.trim(lpn);
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
            collects: self.pace.on,
            device_free: (0..self.gc_units()).map(free).sum(),
            device_valid: self.places.mapped(),
            device_pages: self.shape.all_places(),
            logical: self.places.logical(),
        })
    }
}

#[cfg(test)]
mod tests;
