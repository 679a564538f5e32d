//! Page-level mapping with static allocation (spec 00 section 2 "Mapping", spec 95).
//!
//! A page goes to the write frontier of the unit (`frontier`: plane, die or chip) that holds the
//! plane of its address. Two tables of 32-bit numbers, logical to physical and back, say all: a
//! physical page is valid iff `l2p[p2l[ppn]] == ppn`, so overwriting leaves the old entry alone.
//!
//! Physical pages are numbered plane by plane, block by block.
//! Memory: 8 B per physical page and 16 B per block, in chunks allocated on first touch.
//! Cost: O(1) per operation; opening a block asks the planes of its unit once per block.

use super::blocks::{BlockState, Blocks};
use super::frontier::Frontiers;
use super::table::FirstTouch;
use super::{DeviceFull, Place, Placed};
use crate::config::{DeviceConfig, Unit};
use destage_types::{ChannelId, ChipId, Lpn, PlaneAddress, PlaneId, Ppn, StaticLayout};

/// No page; also the number of the last page of a device of 2^32 pages, see [`PageMap::lookup`].
const NONE: u32 = u32::MAX;

/// What a plane belongs to.
#[derive(Clone, Copy, Debug)]
struct PlaneRow {
    unit: u32,
    chip: ChipId,
    channel: ChannelId,
}

/// A page-level mapping. See the module.
#[derive(Clone, Debug)]
pub struct PageMap {
    l2p: FirstTouch<u32, 2048>,
    p2l: FirstTouch<u32, 2048>,
    blocks: Blocks,
    frontiers: Frontiers,
    planes: Vec<PlaneRow>,
    /// Plane of `lpn mod planes`.
    spread: Vec<u32>,
    /// Units of all chips, the same number each.
    chip_units: Vec<u32>,
    chip_free: Vec<u64>,
    layout: StaticLayout,
    frontier: Unit,
    logical: u64,
    pages: u64,
    pages_per_block: u64,
    pages_per_plane: u64,
    pages_per_unit: u64,
    threshold_per_chip: u64,
    free: u64,
    valid: u64,
}

impl PageMap {
    /// An empty device: nothing is mapped, every block is free.
    pub fn new(config: &DeviceConfig) -> PageMap {
        let g = &config.geometry;
        let layout = config.layout();
        let mut planes = Vec::with_capacity(g.planes() as usize);
        for plane in 0..g.planes() {
            let at = layout.plane_address(PlaneId(plane));
            let chip = layout.chip_of(at);
            planes.push(PlaneRow {
                unit: unit_of(config, at),
                chip,
                channel: layout.channel(chip),
            });
        }
        let chips = layout.chips();
        let planes_per_unit = config.planes_per(config.frontier);
        let mut by_unit: Vec<u32> = (0..g.planes()).collect();
        by_unit.sort_by_key(|&plane| (planes[plane as usize].unit, plane));
        let mut chip_units: Vec<u32> = (0..g.planes() / planes_per_unit).collect();
        let chip_of_unit =
            |unit: u32| planes[by_unit[(unit * planes_per_unit) as usize] as usize].chip;
        chip_units.sort_by_key(|&unit| (chip_of_unit(unit), unit));
        let (blocks, pages) = (g.blocks_per_plane, g.pages_per_block);
        let narrow = u16::try_from(pages).expect("a valid block has at most 65535 pages");
        let pages_per_plane = u64::from(blocks) * u64::from(pages);
        PageMap {
            l2p: FirstTouch::new(config.logical_pages(), NONE),
            p2l: FirstTouch::new(g.pages(), NONE),
            blocks: Blocks::new(g.planes(), blocks, narrow),
            frontiers: Frontiers::new(by_unit, planes_per_unit, blocks, pages, config.summary_page),
            spread: (0..g.planes())
                .map(|n| layout.plane(Lpn(u64::from(n))).0)
                .collect(),
            chip_units,
            chip_free: vec![g.pages() / u64::from(chips); chips as usize],
            planes,
            layout,
            frontier: config.frontier,
            logical: config.logical_pages(),
            pages: g.pages(),
            pages_per_block: u64::from(pages),
            pages_per_plane,
            pages_per_unit: u64::from(planes_per_unit) * pages_per_plane,
            threshold_per_chip: config.gc_threshold_pages_per_chip(),
            free: g.pages(),
            valid: 0,
        }
    }

    /// Writes `lpn` at the frontier that its address belongs to.
    ///
    /// # Errors
    /// No free page there; nothing is changed.
    ///
    /// # Panics
    /// If `lpn` lies beyond the logical pages.
    #[inline]
    pub fn write(&mut self, lpn: Lpn) -> Result<Placed, DeviceFull> {
        self.write_to_plane(lpn, self.static_plane(lpn))
    }

    /// Writes `lpn` at the frontier of `plane`'s unit, whatever its address (D6 `single_block`).
    ///
    /// # Errors
    /// No free page there; nothing is changed.
    ///
    /// # Panics
    /// If `lpn` lies beyond the logical pages or `plane` beyond the device.
    #[inline]
    pub fn write_to_plane(&mut self, lpn: Lpn, plane: PlaneId) -> Result<Placed, DeviceFull> {
        self.check(lpn);
        let PlaneRow { unit, chip, .. } = self.planes[plane.index()];
        let Some(taken) = self.frontiers.take(unit, &mut self.blocks) else {
            return Err(self.full(lpn, plane));
        };
        let old = self.lookup(lpn);
        match old {
            Some(ppn) => self.invalidate(ppn),
            None => self.valid += 1,
        }
        let ppn = taken.data as u32;
        *self.l2p.at(lpn.0) = ppn;
        *self.p2l.at(taken.data) = lpn.0 as u32;
        let block = taken.data / self.pages_per_block;
        self.blocks.wrote_data(block);
        let mut used = 1;
        if taken.summary.is_some() {
            self.blocks.wrote_meta(block);
            used = 2;
        }
        self.free -= used;
        self.chip_free[chip.index()] -= used;
        Ok(Placed {
            place: self.place_of(Ppn(ppn)),
            summary: taken.summary.map(|page| self.place_of(Ppn(page as u32))),
            old: old.map(Ppn),
        })
    }

    /// Where the data of `lpn` are, if it was written.
    ///
    /// # Panics
    /// If `lpn` lies beyond the logical pages.
    #[inline]
    pub fn read(&self, lpn: Lpn) -> Option<Place> {
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
        *self.l2p.at(lpn.0) = NONE;
        self.valid -= 1;
        Some(Ppn(ppn))
    }

    /// The logical page whose data `ppn` holds; `None` if it is free, invalid or a summary page.
    pub fn owner(&self, ppn: Ppn) -> Option<Lpn> {
        let lpn = self.p2l.get(u64::from(ppn.0));
        let lpn = (lpn != NONE).then_some(Lpn(u64::from(lpn)))?;
        (self.lookup(lpn) == Some(ppn.0)).then_some(lpn)
    }

    /// Erases a full block without valid pages: number `block` of `plane`.
    ///
    /// # Panics
    /// If the block is not full, holds valid pages or does not exist.
    pub fn erase(&mut self, plane: PlaneId, block: u32) {
        self.blocks.erase(self.block_number(plane, block));
        let PlaneRow { unit, chip, .. } = self.planes[plane.index()];
        self.frontiers.erased(unit);
        self.chip_free[chip.index()] += self.pages_per_block;
        self.free += self.pages_per_block;
    }

    /// What block number `block` of `plane` is good for.
    pub fn block_state(&self, plane: PlaneId, block: u32) -> BlockState {
        self.blocks.state(self.block_number(plane, block))
    }

    /// Pages of the block with wanted data, pages written since its last erase, and its erases.
    pub fn block_counts(&self, plane: PlaneId, block: u32) -> (u32, u32, u32) {
        let block = self.block_number(plane, block);
        (
            self.blocks.valid(block),
            self.blocks.written(block),
            self.blocks.erases(block),
        )
    }

    /// Free blocks of a plane; its open block does not count.
    pub fn free_blocks(&self, plane: PlaneId) -> u32 {
        self.blocks.free(plane.0)
    }

    /// Plane that static allocation gives `lpn`.
    #[inline]
    pub fn static_plane(&self, lpn: Lpn) -> PlaneId {
        PlaneId(self.spread[(lpn.0 % self.spread.len() as u64) as usize])
    }

    /// Plane, chip and channel of a physical page.
    #[inline]
    pub fn place_of(&self, ppn: Ppn) -> Place {
        let plane = PlaneId((u64::from(ppn.0) / self.pages_per_plane) as u32);
        let PlaneRow { chip, channel, .. } = self.planes[plane.index()];
        Place {
            ppn,
            plane,
            chip,
            channel,
        }
    }

    /// Level by level, where a plane sits.
    pub fn plane_address(&self, plane: PlaneId) -> PlaneAddress {
        self.layout.plane_address(plane)
    }

    /// The queue unit of a plane, and its channel.
    pub fn plane_chip(&self, plane: PlaneId) -> (ChipId, ChannelId) {
        let row = self.planes[plane.index()];
        (row.chip, row.channel)
    }

    /// Static page allocation of the device.
    pub fn layout(&self) -> &StaticLayout {
        &self.layout
    }

    /// Free pages of a chip (N_fp of ECR Eq. 2).
    #[inline]
    pub fn chip_free_pages(&self, chip: ChipId) -> u64 {
        self.chip_free[chip.index()]
    }

    /// GC threshold of every chip in pages (N_mfp of ECR Eq. 2).
    pub const fn chip_gc_threshold_pages(&self) -> u64 {
        self.threshold_per_chip
    }

    /// Free pages of the frontier that the chip's next program uses (N_fpb of ECR Eq. 4), its
    /// summary page included; a full frontier counts as the block that is opened next.
    ///
    /// With several frontiers per chip: that of the unit with the fewest free pages, the first of
    /// equals, as N_vp is taken from the plane with fewest free pages.
    pub fn chip_frontier_free_pages(&self, chip: ChipId) -> u64 {
        let per_chip = self.chip_units.len() / self.chip_free.len();
        let units = &self.chip_units[chip.index() * per_chip..][..per_chip];
        let tightest = units.iter().min_by_key(|&&unit| self.frontiers.free(unit));
        self.frontiers
            .open_free(*tightest.expect("a chip has a unit at least"))
    }

    /// Free pages of the unit with one frontier that `plane` belongs to.
    pub fn unit_free_pages(&self, plane: PlaneId) -> u64 {
        self.frontiers.free(self.planes[plane.index()].unit)
    }

    /// Planes of the device.
    pub fn planes(&self) -> u32 {
        self.planes.len() as u32
    }

    /// Pages of the device.
    pub const fn pages(&self) -> u64 {
        self.pages
    }

    /// Pages the host can address.
    pub const fn logical_pages(&self) -> u64 {
        self.logical
    }

    /// Pages with wanted data, that is mapped logical pages.
    pub const fn valid_pages(&self) -> u64 {
        self.valid
    }

    /// Pages that can be written without an erase, summary pages included.
    pub const fn free_pages(&self) -> u64 {
        self.free
    }

    /// Bytes of memory taken so far.
    pub fn memory_bytes(&self) -> u64 {
        let lists = self.planes.len() * size_of::<PlaneRow>()
            + (self.spread.len() + self.chip_units.len()) * size_of::<u32>()
            + self.chip_free.len() * size_of::<u64>();
        let tables = self.l2p.bytes() + self.p2l.bytes() + self.blocks.bytes();
        tables + self.frontiers.bytes() + lists as u64
    }

    #[inline]
    fn check(&self, lpn: Lpn) {
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
    fn lookup(&self, lpn: Lpn) -> Option<u32> {
        match self.l2p.get(lpn.0) {
            NONE if self.pages > u64::from(NONE) => {
                (u64::from(self.p2l.get(u64::from(NONE))) == lpn.0).then_some(NONE)
            }
            NONE => None,
            ppn => Some(ppn),
        }
    }

    #[inline]
    fn invalidate(&mut self, ppn: u32) {
        self.blocks
            .invalidated(u64::from(ppn) / self.pages_per_block);
        if ppn == NONE {
            *self.p2l.at(u64::from(NONE)) = NONE;
        }
    }

    fn block_number(&self, plane: PlaneId, block: u32) -> u64 {
        let per_plane = self.pages_per_plane / self.pages_per_block;
        assert!(u64::from(block) < per_plane, "block {block} of {per_plane}");
        u64::from(plane.0) * per_plane + u64::from(block)
    }

    #[cold]
    fn full(&self, lpn: Lpn, plane: PlaneId) -> DeviceFull {
        DeviceFull {
            lpn,
            unit: self.frontier,
            plane,
            chip: self.planes[plane.index()].chip,
            unit_pages: self.pages_per_unit,
            device_free: self.free,
            device_valid: self.valid,
            device_pages: self.pages,
            logical: self.logical,
        }
    }
}

/// Number of the unit with one frontier that holds the plane at `at`: channel fastest.
fn unit_of(config: &DeviceConfig, at: PlaneAddress) -> u32 {
    let g = &config.geometry;
    let chip = at.channel + g.channels * at.chip;
    let die = chip + g.channels * g.chips_per_channel * at.die;
    match config.frontier {
        Unit::Chip => chip,
        Unit::Die => die,
        Unit::Plane => die + g.channels * g.chips_per_channel * g.dies_per_chip * at.plane,
    }
}
