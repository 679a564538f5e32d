//! Page-level mapping. See the rules in [`super`].
//!
//! Memory: 8 B per page where neighbours are written, 132 B for a page on its own, 1/4 B per page
//! of the device, and 16 B per block, in chunks allocated on first touch.
//! Cost: O(1) per operation; opening a block asks the planes of its unit once per block.

use super::free_space::FreeSpace;
use super::frontier::{Frontiers, Taken};
use super::gc_state::GcState;
use super::{PhysicalPage, Placed};
use crate::config::{DeviceConfig, FlashUnit};
use crate::map::DeviceFull;
use crate::map::blocks::{BlockCells, BlockRules, FlashBlocks};
use crate::map::divisor::Divisor;
use crate::map::groups::{BlockGroups, GroupUnits};
use crate::map::places::PlaceMap;
use crate::map::shape::UnitShape;
use destage_types::{ChipId, Lpn, PlaneId, Ppn};

/// A page-level mapping. See the module.
#[derive(Clone, Debug)]
pub struct PageMap {
    pub(super) places: PlaceMap,
    pub(super) frontiers: Frontiers,
    pub(super) shape: UnitShape,
    pub(super) groups: BlockGroups,
    pub(super) gc: GcState,
    /// Plane of `lpn mod planes`.
    pub(super) spread: Vec<u32>,
    pub(super) spread_by: Divisor,
    pub(super) chip_free: Vec<u64>,
    /// Unit with the fewest free pages of every chip, the first of equals.
    pub(super) tightest: Vec<u32>,
    pub(super) free_space: FreeSpace,
    pub(super) frontier: FlashUnit,
    pub(super) data_per_block: u32,
    pub(super) threshold_per_chip: u64,
}

impl PageMap {
    /// An empty device: nothing is mapped, every block is free. Random choices start from `seed`.
    pub fn new(config: &DeviceConfig, seed: u64) -> PageMap {
        let g = &config.geometry;
        let layout = config.layout();
        let chips = layout.chips();
        let groups = BlockGroups::new(config, true);
        let summaries = u32::from(config.summary_page);
        let rules = BlockRules::new(config, summaries, config.collects(), seed);
        let blocks = FlashBlocks::new(rules, BlockCells::OfGroups(Divisor::new(groups.cells)));
        let tightest = |chip| groups.frontiers_of_chip(ChipId(chip)).at(0);
        PageMap {
            frontiers: Frontiers::new(&groups, &blocks, config.summary_page),
            places: PlaceMap::new(config.logical_pages(), 0, blocks),
            gc: GcState::new(config, groups.gcs, chips),
            spread: (0..g.planes())
                .map(|n| layout.plane(Lpn(u64::from(n))).0)
                .collect(),
            spread_by: Divisor::new(g.planes()),
            chip_free: vec![g.pages() / u64::from(chips); chips as usize],
            tightest: (0..chips).map(tightest).collect(),
            free_space: FreeSpace::new(chips),
            shape: config.shape(),
            groups,
            frontier: config.frontier,
            data_per_block: rules.data,
            threshold_per_chip: config.gc_threshold_pages_per_chip(),
        }
    }

    /// Writes `lpn` at the frontier that its address belongs to, without collecting before.
    ///
    /// # Errors
    /// No free page there; nothing is changed.
    ///
    /// # Panics
    /// If `lpn` lies beyond the logical pages.
    #[inline]
    pub fn write(&mut self, lpn: Lpn) -> Result<Placed, Box<DeviceFull>> {
        self.write_to_plane(lpn, self.static_plane(lpn))
    }

    /// Writes `lpn` at the frontier of `plane`'s unit, whatever its address (D6 `single_block`),
    /// without collecting before.
    ///
    /// # Errors
    /// No free page there; nothing is changed.
    ///
    /// # Panics
    /// If `lpn` lies beyond the logical pages or `plane` beyond the device.
    #[inline(always)]
    pub fn write_to_plane(&mut self, lpn: Lpn, plane: PlaneId) -> Result<Placed, Box<DeviceFull>> {
        self.check(lpn);
        let unit = self.groups.row(plane.0).frontier;
        let Some(taken) = self.frontiers.take(unit, &mut self.places.blocks) else {
            return Err(self.full(lpn, plane));
        };
        let old = self.places.write(lpn, taken.data as u32);
        let row = *self.groups.row(taken.plane);
        self.filled_pages(&taken, row);
        let place = |page| place(page, taken.plane, row);
        Ok(Placed {
            place: place(taken.data),
            summary: taken.summary.map(place),
            old: old.map(Ppn),
        })
    }

    /// The pages just taken from a frontier, in a plane that belongs to what `row` says, hold data,
    /// which both tables say already.
    #[inline(always)]
    pub(super) fn filled_pages(&mut self, taken: &Taken, row: GroupUnits) {
        let others = u32::from(taken.summary.is_some());
        let full = self.places.blocks.wrote(taken.block, taken.pages, others);
        let used = u64::from(taken.pages + others);
        self.chip_free[row.chip.index()] -= used;
        self.gc.free[row.gc as usize] -= used;
        let tightest = &mut self.tightest[row.chip.index()];
        *tightest = self.frontiers.tighter(*tightest, row.frontier);
        self.free_space.changed(row.chip);
        if full {
            self.places.blocks.filled(taken.block);
        }
    }

    /// Where the data of `lpn` are, if it was written.
    ///
    /// # Panics
    /// If `lpn` lies beyond the logical pages.
    #[inline]
    pub fn read(&self, lpn: Lpn) -> Option<PhysicalPage> {
        self.check(lpn);
        self.places.get(lpn).map(|ppn| self.place_of(Ppn(ppn)))
    }

    /// Does flash hold data of `lpn`?
    ///
    /// # Panics
    /// If `lpn` lies beyond the logical pages.
    #[inline]
    pub fn is_mapped(&self, lpn: Lpn) -> bool {
        self.check(lpn);
        self.places.get(lpn).is_some()
    }

    /// Forgets the data of `lpn` (D8); the physical page that held them is invalid now.
    ///
    /// # Panics
    /// If `lpn` lies beyond the logical pages.
    pub fn trim(&mut self, lpn: Lpn) -> Option<Ppn> {
        self.check(lpn);
        self.places.trim(lpn).map(Ppn)
    }

    /// The logical page whose data `ppn` holds; `None` if it is free, invalid or a summary page.
    pub fn owner(&self, ppn: Ppn) -> Option<Lpn> {
        self.places.owner(ppn.0)
    }

    /// A block without valid pages, in no list, is free again.
    pub(super) fn release(&mut self, block: u32, plane: PlaneId) {
        self.places.blocks.release(block);
        let GroupUnits {
            frontier: unit,
            gc,
            chip,
            ..
        } = *self.groups.row(plane.0);
        let pages = u64::from(self.pages_per_block());
        self.frontiers.erased(unit);
        self.chip_free[chip.index()] += pages;
        self.gc.free[gc as usize] += pages;
        if self.tightest[chip.index()] == unit {
            let units = self.groups.frontiers_of_chip(chip).iter();
            let tightest = units.min_by_key(|&unit| self.frontiers.free(unit));
            self.tightest[chip.index()] = tightest.expect("a chip has a unit at least");
        }
        self.free_space.changed(chip);
    }

    #[inline]
    pub(super) fn check(&self, lpn: Lpn) {
        let logical = self.places.logical();
        assert!(lpn.0 < logical, "logical page {lpn} of {logical} pages");
    }

    /// On the heap: a result that holds it by value is too large for registers.
    #[cold]
    #[inline(never)]
    pub(super) fn full(&self, lpn: Lpn, plane: PlaneId) -> Box<DeviceFull> {
        let unit = self.groups.row(plane.0).frontier;
        let blocks = self.frontiers.planes(unit).count() * self.shape.blocks;
        Box::new(DeviceFull {
            lpn,
            unit: self.frontier,
            plane,
            chip: self.groups.row(plane.0).chip,
            unit_pages: u64::from(blocks) * u64::from(self.shape.places),
            unit_free: self.frontiers.free(unit),
            collects: self.gc.on,
            device_free: self.free_pages(),
            device_valid: self.places.mapped(),
            device_pages: self.pages(),
            logical: self.places.logical(),
        })
    }
}

/// Plane, chip and channel of a physical page in a known plane, which belongs to what `row` says.
#[inline]
pub(super) fn place(page: u64, plane: u32, row: GroupUnits) -> PhysicalPage {
    PhysicalPage {
        ppn: Ppn(page as u32),
        plane: PlaneId(plane),
        chip: row.chip,
        channel: row.channel,
    }
}
