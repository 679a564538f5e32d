//! How mapping units, pages, program units and blocks of a drive lie in each other (D-1, D-2).

use super::divisor::Divisor;
use crate::config::FlashUnit;
use destage_types::Geometry;

/// Counts of a drive. A *place* is room for one mapping unit; its number has 32 bits. Blocks of one index on all planes of a die are one
/// block where programs go to all planes. With `gc_unit = drive` so are those of all dies: such a block has a part on
/// each, and other blocks have one part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitShape {
    /// Mapping units of a page: k.
    pub per_page: u32,
    /// Planes that a program goes to at once.
    pub planes: u32,
    /// Pages of a plane that are programmed at once: w.
    pub pages: u32,
    /// Places of a block: n.
    pub places: u32,
    /// Parts of a block.
    pub parts: u32,
    /// Blocks of a group.
    pub blocks: u32,
    /// Groups of blocks: planes, dies where programs go to all planes, or the drive where blocks have parts.
    pub groups: u32,
    /// Dies.
    pub dies: u32,
    /// Packages.
    pub chips: u32,
    by_page: Divisor,
    by_unit: Divisor,
    by_block: Divisor,
    by_group: Divisor,
    by_part: Divisor,
}

impl UnitShape {
    /// The shape of an array whose pages hold `per_page` mapping units and are programmed `pages` at a time, on
    /// all planes of a die or on one. Blocks of one index on all dies are one block with `joined`.
    pub fn new(
        g: &Geometry,
        per_page: u32,
        pages: u32,
        all_planes: bool,
        joined: bool,
    ) -> UnitShape {
        let dies = g.channels * g.chips_per_channel * g.dies_per_chip;
        let planes = if all_planes { g.planes_per_die } else { 1 };
        let apart = if all_planes { dies } else { g.planes() };
        let (groups, parts) = if joined { (1, apart) } else { (apart, 1) };
        let part_places = g.pages_per_block * planes * per_page;
        let places = part_places.saturating_mul(parts);
        UnitShape {
            per_page,
            planes,
            pages,
            places,
            parts,
            blocks: g.blocks_per_plane,
            groups,
            dies,
            chips: g.channels * g.chips_per_channel,
            by_page: Divisor::new(per_page),
            by_unit: Divisor::new(pages * planes * per_page),
            by_block: Divisor::new(places),
            by_group: Divisor::new(g.blocks_per_plane),
            by_part: Divisor::new(part_places),
        }
    }

    /// Places of a program unit: U.
    pub const fn unit(&self) -> u32 {
        self.pages * self.planes * self.per_page
    }

    /// Pages of a program unit.
    pub const fn unit_pages(&self) -> u32 {
        self.pages * self.planes
    }

    /// Places of the drive.
    pub const fn all_places(&self) -> u64 {
        self.all_blocks() as u64 * self.places as u64
    }

    /// Blocks of the drive.
    pub const fn all_blocks(&self) -> u32 {
        self.groups * self.blocks
    }

    /// How many units of a kind there are, of groups or of parts.
    pub const fn count_of(&self, unit: FlashUnit) -> u32 {
        match unit {
            FlashUnit::Plane => self.groups * self.parts,
            FlashUnit::Die => self.dies,
            FlashUnit::Chip => self.chips,
            FlashUnit::Drive => 1,
        }
    }

    /// Die of a part of the blocks of a group.
    #[inline]
    pub const fn die(&self, group: u32, part: u32) -> u32 {
        (group + part) % self.dies
    }

    /// Die of a place of the drive.
    #[inline]
    pub fn die_of(&self, place: u64) -> u32 {
        let part = self.by_part.quotient(self.place_in_block(place));
        self.die(self.group_of(self.block(place)), part)
    }

    /// Places of a part of a block.
    #[inline]
    pub fn part_places(&self) -> u32 {
        self.by_part.get()
    }

    /// Group of a block.
    #[inline]
    pub fn group_of(&self, block: u32) -> u32 {
        self.by_group.quotient(block)
    }

    /// Number of block `index` of a group.
    #[inline]
    pub fn number(&self, group: u32, index: u32) -> u32 {
        assert!(index < self.blocks, "block {index} of {}", self.blocks);
        group * self.blocks + index
    }

    /// Block of a place of the drive.
    #[inline]
    pub fn block(&self, place: u64) -> u32 {
        self.by_block.quotient(place as u32)
    }

    /// Position of a place in its block.
    #[inline]
    pub fn place_in_block(&self, place: u64) -> u32 {
        self.by_block.rest(place as u32)
    }

    /// Number of the program unit of a place among all of the drive.
    #[inline]
    pub fn unit_of(&self, place: u64) -> u64 {
        u64::from(self.by_unit.quotient(place as u32))
    }

    /// First place of a block.
    #[inline]
    pub const fn first(&self, block: u32) -> u64 {
        block as u64 * self.places as u64
    }

    /// Physical page of a place of the drive.
    #[inline]
    pub fn page(&self, place: u64) -> u64 {
        u64::from(self.by_page.quotient(place as u32))
    }

    /// Places of one array read of the collector: those of one page offset in all planes of a die (D-6).
    #[inline]
    pub const fn read_places(&self) -> u32 {
        self.per_page * self.planes
    }

    /// First place of a block of the collector's read number `turn`: the same page of all parts, then the next (D-6/2).
    #[inline]
    pub fn read_at(&self, turn: u32) -> u32 {
        turn % self.parts * self.part_places() + turn / self.parts * self.read_places()
    }

    /// Reads of the collector for a whole block.
    pub const fn reads(&self) -> u32 {
        self.places / self.read_places()
    }

    /// Page of its block, in its plane, that holds a place of the drive: what its time depends on.
    #[inline]
    pub fn page_of_place(&self, place: u64) -> u32 {
        self.place_in_block(place) % self.part_places() / self.read_places()
    }
}
