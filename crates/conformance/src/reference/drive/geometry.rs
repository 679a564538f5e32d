//! Places, pages, blocks and where units may be opened. (DEVICE_MODEL.md, "Drives with units", Units)
//!
//! A block is what is erased and collected as one: a block of a plane, the blocks of one index of all
//! planes of a die (`program_planes = all`), or of all dies (`gc_unit = drive`). The last has a part
//! on every die, others have one part. Places are numbered by block, part, unit, page, slot.

use destage_device::config::{DeviceConfig, FlashUnit};
use destage_types::Axis;

use super::config::{MapKeys, SlcKeys};
use crate::reference::pagemap::share_left;

/// Where a unit can be opened: a frontier, or the part of the drive's frontier on one die.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// GC unit and frontier.
    pub gc_unit: usize,
    /// Part of its blocks.
    pub part: usize,
    /// Die that programs it.
    pub die: usize,
}

/// A place as the specification names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub struct DrivePlace {
    pub die: usize,
    pub plane: usize,
    pub block: usize,
    pub page: usize,
    pub slot: usize,
}

/// Sizes and numbers derived from the configuration.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// Mapping units of a page.
    pub k: usize,
    /// Planes of a program unit.
    pub planes: usize,
    /// Places of a program unit.
    pub unit_places: usize,
    /// Program units in one part of a block.
    pub units_per_part: usize,
    /// Parts of a block.
    pub parts: usize,
    /// Blocks of all GC units.
    pub blocks: usize,
    /// Blocks of one GC unit.
    pub blocks_per_gc_unit: usize,
    /// GC units.
    pub gc_units: usize,
    /// Pools that free blocks come from: planes or dies, or the drive.
    pub blocks_per_pool: usize,
    /// Dies.
    pub dies: usize,
    /// Mapping units that the host can address.
    pub exported: usize,
    /// Entries of a translation page: T. None if the mapping table is in memory.
    pub entries: Option<usize>,
    /// In the order of `allocation_order`.
    pub sites: Vec<Site>,
    /// Site of every plane, in the order of `allocation_order`.
    site_of_plane: Vec<usize>,
    planes_per_die: usize,
    all_planes: bool,
    /// SLC blocks.
    pub slc: SlcGeometry,
}

/// S-1.1, S-1.2: sizes of blocks in SLC mode.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SlcGeometry {
    /// Times that such a block is smaller: b'. 1 without an SLC cache.
    pub smaller: usize,
    /// Places of a program unit.
    pub unit_places: usize,
    /// Program units in one part of a block.
    pub units_per_part: usize,
    /// The last blocks of each pool that are always in SLC mode.
    pub static_per_pool: usize,
}

impl Geometry {
    /// Derives everything; the keys divide each other as devices demand.
    pub fn new(c: &DeviceConfig) -> Geometry {
        let g = &c.geometry;
        let all_planes = c.programs_all_planes();
        let planes_per_die = g.planes_per_die as usize;
        let dies = g.planes() as usize / planes_per_die;
        let planes = if all_planes { planes_per_die } else { 1 };
        let pools = dies * planes_per_die / planes;
        let per_plane = g.blocks_per_plane as usize;
        let (parts, blocks) = match c.gc_unit {
            FlashUnit::Drive => (pools, per_plane),
            _ => (1, pools * per_plane),
        };
        let gc_units = match c.gc_unit {
            FlashUnit::Drive => 1,
            FlashUnit::Die | FlashUnit::Chip => dies,
            FlashUnit::Plane => dies * planes_per_die,
        };
        let k = c.mapping_units_per_page() as usize;
        let unit_places = c.program_pages.unwrap_or(1) as usize * planes * k;
        let units_per_part = g.pages_per_block as usize * planes * k / unit_places;
        let keys = SlcKeys::new(c);
        let pools_of_gc_unit = (blocks / gc_units / per_plane).max(1);
        let slc = SlcGeometry {
            smaller: keys.smaller,
            unit_places: planes * k,
            units_per_part: g.pages_per_block as usize / keys.smaller,
            static_per_pool: keys.static_blocks / pools_of_gc_unit,
        };
        let native = blocks - blocks / per_plane * slc.static_per_pool;
        let places = (units_per_part * unit_places * parts * native) as u64;
        let mut geometry = Geometry {
            k,
            planes,
            unit_places,
            units_per_part,
            parts,
            blocks,
            blocks_per_gc_unit: blocks / gc_units,
            gc_units,
            blocks_per_pool: per_plane,
            dies,
            exported: share_left(c.op, places) as usize,
            entries: MapKeys::new(c).map(|keys| keys.entries_per_page),
            sites: Vec::new(),
            site_of_plane: Vec::new(),
            planes_per_die,
            all_planes,
            slc,
        };
        geometry.list_sites(c);
        geometry
    }

    /// Translation pages.
    pub fn translation_pages(&self) -> usize {
        self.entries.map_or(0, |t| self.exported.div_ceil(t))
    }

    /// Numbers of the translation pages of what is mapped, ascending (S-2.1).
    pub fn mapped_pages(&self, map: &[u32]) -> Vec<usize> {
        let Some(t) = self.entries else {
            return Vec::new();
        };
        let mapped = (0..self.exported).filter(|&lpn| map[lpn] != super::ftl::NONE);
        let mut pages: Vec<usize> = mapped.map(|lpn| self.exported + lpn / t).collect();
        pages.dedup();
        pages
    }

    fn list_sites(&mut self, c: &DeviceConfig) {
        let g = &c.geometry;
        let dies = self.dies as u32;
        let counts = |axis: Axis| match axis {
            Axis::Channel => g.channels,
            Axis::Chip => g.chips_per_channel,
            Axis::Die => g.dies_per_chip,
            Axis::Plane => g.planes_per_die,
        };
        for n in 0..g.planes() {
            let (mut rest, mut digit) = (n, [0; 4]);
            for axis in c.allocation_order {
                digit[axis as usize] = rest % counts(axis);
                rest /= counts(axis);
            }
            let [channel, chip, die, plane] = digit;
            let die = (die * g.chips_per_channel + chip) * g.channels + channel;
            let pool = match self.all_planes {
                true => die,
                false => die * g.planes_per_die + plane,
            } as usize;
            // Parts are numbered plane by plane, on each all dies (D-11/13).
            let part = match self.all_planes {
                true => die,
                false => plane * dies + die,
            } as usize;
            let (gc_unit, part) = match c.gc_unit {
                FlashUnit::Drive => (0, part),
                FlashUnit::Die | FlashUnit::Chip => (die as usize, 0),
                FlashUnit::Plane => (pool, 0),
            };
            let die = die as usize;
            let site = Site { gc_unit, part, die };
            let known = self.sites.iter().position(|&s| s == site);
            self.site_of_plane.push(known.unwrap_or(self.sites.len()));
            if known.is_none() {
                self.sites.push(site);
            }
        }
    }

    /// Site that static allocation gives a logical unit.
    pub fn site_of(&self, lpn: usize) -> usize {
        self.site_of_plane[lpn / self.k % self.site_of_plane.len()]
    }

    /// Die of each plane, in `allocation_order`.
    pub fn dies_in_order(&self) -> Vec<usize> {
        let sites = self.site_of_plane.iter();
        sites.map(|&site| self.sites[site].die).collect()
    }

    /// Die of a part of a block.
    pub fn die_of(&self, block: usize, part: usize) -> usize {
        let pool = block / self.blocks_per_pool;
        match (self.parts, self.all_planes) {
            (1, true) => pool,
            (1, false) => pool / self.planes_per_die,
            _ => part % self.dies,
        }
    }

    /// Places of one part of a block.
    pub fn places_per_part(&self) -> usize {
        self.units_per_part * self.unit_places
    }

    /// Places of a block.
    pub fn places_per_block(&self) -> usize {
        self.parts * self.places_per_part()
    }

    /// Places of all blocks.
    pub fn places(&self) -> usize {
        self.blocks * self.places_per_block()
    }

    /// First place of a unit of so many places. A block in SLC mode has the first places of each part alone.
    pub fn first_place(&self, block: usize, part: usize, index: usize, places: usize) -> usize {
        (block * self.parts + part) * self.places_per_part() + index * places
    }

    /// Is the block always in SLC mode?
    pub fn is_static(&self, block: usize) -> bool {
        block % self.blocks_per_pool >= self.blocks_per_pool - self.slc.static_per_pool
    }

    /// Block of a place.
    pub fn block_of(&self, place: usize) -> usize {
        place / self.places_per_block()
    }

    /// Die of a place.
    pub fn die_of_place(&self, place: usize) -> usize {
        let part = place % self.places_per_block() / self.places_per_part();
        self.die_of(self.block_of(place), part)
    }

    /// Page offset of a place in its plane's block, for lists of times by page.
    pub fn page_offset(&self, place: usize) -> usize {
        place % self.places_per_part() / (self.k * self.planes)
    }

    /// Where a place is: page q of a part lies in plane q mod planes.
    pub fn locate(&self, place: usize) -> DrivePlace {
        let block = self.block_of(place);
        let q = place % self.places_per_part() / self.k;
        let plane = match (self.all_planes, self.parts) {
            (true, _) => q % self.planes,
            (false, 1) => block / self.blocks_per_pool % self.planes_per_die,
            (false, _) => place / self.places_per_part() % self.parts / self.dies,
        };
        DrivePlace {
            die: self.die_of_place(place),
            plane,
            block: block % self.blocks_per_pool,
            page: q / self.planes,
            slot: place % self.k,
        }
    }

    /// First place of a read of the collector: the same page of all parts before the next page.
    pub fn read_at(&self, block: usize, turn: usize) -> usize {
        let group = self.k * self.planes;
        let read = (turn - block * self.places_per_block()) / group;
        let (page, part) = (read / self.parts, read % self.parts);
        (block * self.parts + part) * self.places_per_part() + page * group
    }

    /// The GC unit that is number `turn` in the order of D-11/13: plane by plane, on each all dies.
    pub fn gc_unit_of_turn(&self, turn: usize) -> usize {
        let planes = self.gc_units.div_ceil(self.dies);
        turn % self.dies * planes + turn / self.dies
    }

    /// Number of a GC unit in that order.
    pub fn turn_of(&self, gc_unit: usize) -> usize {
        let planes = self.gc_units.div_ceil(self.dies);
        gc_unit % planes * self.dies + gc_unit / planes
    }

    /// Blocks of a GC unit.
    pub fn blocks_of(&self, gc_unit: usize) -> std::ops::Range<usize> {
        gc_unit * self.blocks_per_gc_unit..(gc_unit + 1) * self.blocks_per_gc_unit
    }
}
