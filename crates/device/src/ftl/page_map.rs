//! Page-level mapping. See the rules in [`super`].
//!
//! Two tables of 32-bit numbers, logical to physical and back, say all: a physical page is valid
//! iff `l2p[p2l[ppn]] == ppn`, so overwriting leaves the old entry alone.
//!
//! Physical pages are numbered plane by plane, block by block.
//! Memory: 8 B per page where neighbours are written, 132 B for a page on its own, 1/4 B per page
//! of the device ([`PageTable`]), and 16 B per block, in chunks allocated on first touch.
//! Cost: O(1) per operation; opening a block asks the planes of its unit once per block.

use super::block_table::BlockTable;
use super::buckets::Buckets;
use super::divisor::Divisor;
use super::first_touch::FirstTouch;
use super::free_blocks::FreeBlocks;
use super::free_space::FreeSpace;
use super::frontier::{Frontiers, Taken};
use super::gc_state::GcState;
use super::page_table::PageTable;
use super::units::{PlaneRow, Units};
use super::victim::VictimChooser;
use super::wear::Coldest;
use super::{DeviceFull, PhysicalPage, Placed};
use crate::config::{DeviceConfig, FlashUnit, WearLevelling};
use destage_types::{ChipId, Lpn, PlaneId, Ppn, StaticLayout};

/// Also the number of the last page of a device of 2^32 pages, see [`PageMap::lookup`].
pub(super) use super::page_table::NONE;

/// A page-level mapping. See the module.
#[derive(Clone, Debug)]
pub struct PageMap {
    pub(super) l2p: PageTable,
    pub(super) p2l: PageTable,
    pub(super) blocks: BlockTable,
    pub(super) free_blocks: FreeBlocks,
    pub(super) buckets: Buckets,
    pub(super) stamps: Option<FirstTouch<u64, 256>>,
    pub(super) coldest: Option<Coldest>,
    pub(super) wear_threshold: u32,
    pub(super) frontiers: Frontiers,
    pub(super) units: Units,
    pub(super) chooser: VictimChooser,
    pub(super) gc: GcState,
    /// Plane of `lpn mod planes`.
    pub(super) spread: Vec<u32>,
    pub(super) spread_by: Divisor,
    pub(super) chip_free: Vec<u64>,
    /// Unit with the fewest free pages of every chip, the first of equals.
    pub(super) tightest: Vec<u32>,
    pub(super) free_space: FreeSpace,
    pub(super) layout: StaticLayout,
    pub(super) frontier: FlashUnit,
    pub(super) logical: u64,
    pub(super) pages: u64,
    pub(super) pages_per_block: Divisor,
    pub(super) data_per_block: u32,
    pub(super) blocks_per_plane: Divisor,
    pub(super) threshold_per_chip: u64,
    pub(super) free: u64,
    pub(super) valid: u64,
    /// Data pages programmed so far, by the host and by GC.
    pub(super) programmed: u64,
}

impl PageMap {
    /// An empty device: nothing is mapped, every block is free. Random choices start from `seed`.
    pub fn new(config: &DeviceConfig, seed: u64) -> PageMap {
        let g = &config.geometry;
        let layout = config.layout();
        let chips = layout.chips();
        let units = Units::new(config, &layout);
        let (blocks, pages) = (g.blocks_per_plane, g.pages_per_block);
        let narrow = u16::try_from(pages).expect("a valid block has at most 65535 pages");
        let all_blocks = u64::from(g.planes()) * u64::from(blocks);
        let planes_per_unit = config.planes_per(config.frontier);
        let by_unit = units.planes_by_frontier();
        let levelling = config.wear_levelling;
        let data = config.data_pages_per_block();
        let gc_units = units.gc_units();
        let gc_of = (0..g.planes())
            .map(|plane| units.row(PlaneId(plane)).gc)
            .collect();
        let logical = config.logical_pages();
        let tightest = (0..chips)
            .map(|chip| units.of_chip(ChipId(chip))[0])
            .collect();
        PageMap {
            l2p: PageTable::new(logical),
            p2l: PageTable::new(g.pages()),
            blocks: BlockTable::new(all_blocks, narrow),
            free_blocks: FreeBlocks::new(gc_of, blocks, levelling != WearLevelling::Off),
            buckets: Buckets::new(units.cells(), pages),
            stamps: config.gc_uses_age().then(|| FirstTouch::new(all_blocks, 0)),
            coldest: (levelling == WearLevelling::Static).then(|| Coldest::new(g.planes(), blocks)),
            wear_threshold: config.wear_threshold,
            frontiers: Frontiers::new(by_unit, planes_per_unit, blocks, pages, config.summary_page),
            chooser: VictimChooser::new(config.gc_policy, seed, config.gc_choices),
            gc: GcState::new(config, gc_units, chips),
            units,
            spread: (0..g.planes())
                .map(|n| layout.plane(Lpn(u64::from(n))).0)
                .collect(),
            spread_by: Divisor::new(g.planes()),
            chip_free: vec![g.pages() / u64::from(chips); chips as usize],
            tightest,
            free_space: FreeSpace::new(chips),
            layout,
            frontier: config.frontier,
            logical,
            pages: g.pages(),
            pages_per_block: Divisor::new(pages),
            data_per_block: data,
            blocks_per_plane: Divisor::new(blocks),
            threshold_per_chip: config.gc_threshold_pages_per_chip(),
            free: g.pages(),
            valid: 0,
            programmed: 0,
        }
    }

    /// Makes copies cheap: they share what they do not change.
    pub fn freeze(&mut self) {
        self.l2p.freeze();
        self.p2l.freeze();
    }

    /// Takes back what copies shared, if there are none any more.
    pub fn thaw(&mut self) {
        self.l2p.thaw();
        self.p2l.thaw();
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
        let unit = self.units.row(plane).unit;
        let taken = self
            .frontiers
            .take(unit, &mut self.free_blocks, &mut self.blocks);
        let Some(taken) = taken else {
            return Err(self.full(lpn, plane));
        };
        let old = match self.l2p.replace(lpn.0, taken.data as u32) {
            NONE => self.in_last_page(lpn),
            ppn => Some(ppn),
        };
        match old {
            Some(ppn) => self.invalidate(ppn),
            None => self.valid += 1,
        }
        self.p2l.replace(taken.data, lpn.0 as u32);
        let row = *self.units.row(PlaneId(taken.plane));
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
    pub(super) fn filled_pages(&mut self, taken: &Taken, row: PlaneRow) {
        self.programmed += u64::from(taken.pages);
        let mut full = self.blocks.wrote_data(taken.block, taken.pages);
        let mut used = u64::from(taken.pages);
        if taken.summary.is_some() {
            full = self.blocks.wrote_meta(taken.block);
            used += 1;
        }
        self.free -= used;
        self.chip_free[row.chip.index()] -= used;
        self.gc.free[row.gc as usize] -= used;
        let tightest = &mut self.tightest[row.chip.index()];
        *tightest = self.frontiers.tighter(*tightest, row.unit);
        self.free_space.changed(row.chip);
        if full {
            self.filled(taken.block, row.cell);
        }
    }

    #[cold]
    fn filled(&mut self, block: u32, cell: u32) {
        if !self.gc.on {
            return;
        }
        let valid = self.blocks.valid(block);
        self.buckets.insert(cell, block, valid, &mut self.blocks);
        self.stamp(block);
        let plane = PlaneId(self.blocks_per_plane.quotient(block));
        let gc = self.units.row(plane).gc;
        if self.gc.free[gc as usize] <= self.gc.near {
            self.list_blocks(gc);
        }
        if let Some(coldest) = &mut self.coldest {
            coldest.filled(block, self.blocks.erases(block));
        }
    }

    #[inline]
    fn stamp(&mut self, block: u32) {
        if let Some(stamps) = &mut self.stamps {
            *stamps.at(u64::from(block)) = self.programmed;
        }
    }

    /// Where the data of `lpn` are, if it was written.
    ///
    /// # Panics
    /// If `lpn` lies beyond the logical pages.
    #[inline]
    pub fn read(&self, lpn: Lpn) -> Option<PhysicalPage> {
        self.check(lpn);
        self.lookup(lpn).map(|ppn| self.place_of(Ppn(ppn)))
    }

    /// Does flash hold data of `lpn`?
    ///
    /// # Panics
    /// If `lpn` lies beyond the logical pages.
    #[inline]
    pub fn is_mapped(&self, lpn: Lpn) -> bool {
        self.check(lpn);
        self.lookup(lpn).is_some()
    }

    /// Forgets the data of `lpn` (D8); the physical page that held them is invalid now.
    ///
    /// # Panics
    /// If `lpn` lies beyond the logical pages.
    pub fn trim(&mut self, lpn: Lpn) -> Option<Ppn> {
        self.check(lpn);
        let ppn = self.lookup(lpn)?;
        self.invalidate(ppn);
        self.l2p.clear(lpn.0);
        self.valid -= 1;
        Some(Ppn(ppn))
    }

    /// The logical page whose data `ppn` holds; `None` if it is free, invalid or a summary page.
    pub fn owner(&self, ppn: Ppn) -> Option<Lpn> {
        let lpn = self.p2l.get(u64::from(ppn.0));
        let lpn = (lpn != NONE).then_some(Lpn(u64::from(lpn)))?;
        (self.lookup(lpn) == Some(ppn.0)).then_some(lpn)
    }

    /// A block without valid pages, in no list, is free again.
    pub(super) fn release(&mut self, block: u32, plane: PlaneId) {
        let erases = self.blocks.erase(block);
        self.free_blocks
            .give(plane.0, block, erases, &mut self.blocks);
        if let Some(coldest) = &mut self.coldest {
            coldest.collected(block);
            coldest.erased(block, erases);
        }
        let PlaneRow { unit, gc, chip, .. } = *self.units.row(plane);
        let pages = u64::from(self.pages_per_block.get());
        self.frontiers.erased(unit);
        self.chip_free[chip.index()] += pages;
        self.gc.free[gc as usize] += pages;
        self.free += pages;
        if self.tightest[chip.index()] == unit {
            let units = self.units.of_chip(chip).iter();
            let tightest = units.min_by_key(|&&unit| self.frontiers.free(unit));
            self.tightest[chip.index()] = *tightest.expect("a chip has a unit at least");
        }
        self.free_space.changed(chip);
    }

    #[inline]
    pub(super) fn check(&self, lpn: Lpn) {
        assert!(
            lpn.0 < self.logical,
            "logical page {lpn} of {} pages",
            self.logical
        );
    }

    /// The physical page of `lpn`.
    ///
    /// With 2^32 pages the last one has the number that means "none". There the way back decides:
    /// its owner is forgotten as soon as the page becomes invalid.
    #[inline]
    pub(super) fn lookup(&self, lpn: Lpn) -> Option<u32> {
        match self.l2p.get(lpn.0) {
            NONE => self.in_last_page(lpn),
            ppn => Some(ppn),
        }
    }

    /// The part of [`PageMap::lookup`] for a page that is mapped to "none".
    #[inline]
    fn in_last_page(&self, lpn: Lpn) -> Option<u32> {
        let last = self.pages > u64::from(NONE);
        (last && u64::from(self.p2l.get(u64::from(NONE))) == lpn.0).then_some(NONE)
    }

    #[inline(always)]
    fn invalidate(&mut self, ppn: u32) {
        let block = self.pages_per_block.quotient(ppn);
        let (own, full) = self.blocks.invalidated(block);
        if full && self.gc.on {
            if self.buckets.any_built() {
                let valid = own.valid() + 1;
                let plane = self.blocks_per_plane.quotient(block);
                let cell = self.units.cell_of(plane);
                self.buckets.lower(cell, block, valid, &mut self.blocks);
            } else {
                self.buckets.note(own);
            }
            self.stamp(block);
        }
        if ppn == NONE {
            self.p2l.clear(u64::from(NONE));
        }
    }

    pub(super) fn block_number(&self, plane: PlaneId, block: u32) -> u32 {
        let per_plane = self.blocks_per_plane.get();
        assert!(block < per_plane, "block {block} of {per_plane}");
        plane.0 * per_plane + block
    }

    /// On the heap: a result that holds it by value is too large for registers.
    #[cold]
    #[inline(never)]
    pub(super) fn full(&self, lpn: Lpn, plane: PlaneId) -> Box<DeviceFull> {
        let unit = self.units.row(plane).unit;
        let planes = self.frontiers.planes(unit).len() as u64;
        let blocks = u64::from(self.blocks_per_plane.get());
        let per_plane = blocks * u64::from(self.pages_per_block.get());
        Box::new(DeviceFull {
            lpn,
            unit: self.frontier,
            plane,
            chip: self.units.row(plane).chip,
            unit_pages: planes * per_plane,
            unit_free: self.frontiers.free(unit),
            collects: self.gc.on,
            device_free: self.free,
            device_valid: self.valid,
            device_pages: self.pages,
            logical: self.logical,
        })
    }
}

/// Plane, chip and channel of a physical page in a known plane, which belongs to what `row` says.
#[inline]
pub(super) fn place(page: u64, plane: u32, row: PlaneRow) -> PhysicalPage {
    PhysicalPage {
        ppn: Ppn(page as u32),
        plane: PlaneId(plane),
        chip: row.chip,
        channel: row.channel,
    }
}
