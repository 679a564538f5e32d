//! Blocks that are filled and collected without time, channels, or planes.
//!
//! A [`BlockPool`] answers how many pages a pattern of writes costs. Rules, with D pages in a block:
//!
//! A frontier fills one block at a time, pages ascending. It opens the next block when a page needs
//! it: blocks never used in ascending order, then the block that became free longest ago. A page is
//! mapped first, and only then is its old version invalid. Candidates for collection are full blocks
//! with fewer than D valid pages. [`GcPolicy`] chooses one of them; blocks of equal valid count are in
//! the order in which they came to it. Valid pages are copied in ascending page number.
//!
//! WF-1 says which blocks are kept free.
//!
//! | [`GcStreams`] | before a host write | least spare pages |
//! |--|--|--|
//! | `shared` | While fewer than D pages are free, one block is collected. Copies go to the host's block. | D + 1 |
//! | `own` | The host's block is full: while fewer than two blocks are free, one block is collected. Copies go to the collector's block. The host takes a free block then. | 2 D + 1 |
//! | `in-place` | The host's block is full and none is free: one block is collected. Its valid pages are written back into it after its erase, and the host fills the rest. | 1 |
//! | `two-region` | The host's block is full and none is free: one job, see below. | 2 D - 1 |
//!
//! A job of `two-region` (Kang, Choi, Oh, Lee, *2R*, PVLDB 2020) works on one region. Blocks that the
//! host filled up are normal, blocks that a job filled up are cold. The region is cold if its invalid
//! pages are at least D, and those of the normal region are fewer than D (WF-2) or its best block has no
//! more valid pages than the best normal block. Victims are the blocks of the region with the fewest valid
//! pages, as many as have D invalid pages together. All are erased. Their valid pages fill the victims,
//! beginning with the pages and the block of the last victim (WF-3). Full ones become cold. The first
//! victim is empty and is freed, then the second if it is partly filled.

mod collect;
#[cfg(test)]
mod tests;

use super::blocks::{BlockCells, BlockRules, FlashBlocks, NO_BLOCK};
use super::places::{Owned, PlaceMap};
use super::shape::UnitShape;
use crate::config::{GcPolicy, GcStreams};
use destage_types::{Geometry, Lpn, PageSize};
use thiserror::Error;

/// Size of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolShape {
    /// Blocks, at least 2.
    pub blocks: u32,
    /// Pages of a block, 1 to 65,535.
    pub pages_per_block: u32,
    /// Pages that the host can write, at least 1.
    pub logical: u32,
}

/// How a pool places and collects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolRules {
    /// Assignment of blocks to the host and the collector.
    pub streams: GcStreams,
    /// Choice of the victim; `two-region` has its own, which is greedy.
    pub policy: GcPolicy,
    /// Blocks that `d-choices` draws, at least 1.
    pub choices: u32,
    /// Where policies that draw begin.
    pub seed: u64,
}

/// A pool that cannot work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum PoolError {
    /// A number is out of its range.
    #[error(
        "{blocks} blocks of {pages} pages: allowed are 2 blocks or more, of 1 to 65535 pages, 2^31 pages together"
    )]
    Shape {
        /// Blocks.
        blocks: u32,
        /// Pages of a block.
        pages: u32,
    },
    /// Nothing to write to.
    #[error("no logical page: at least 1 is needed")]
    NoLogicalPage,
    /// Collection could come to a point without a victim.
    #[error(
        "{logical} logical pages leave {spare} of {all} pages spare; `{streams}` needs at least {least}"
    )]
    Spare {
        /// Logical pages.
        logical: u32,
        /// All pages.
        all: u32,
        /// Their difference, 0 if there are more logical pages.
        spare: u32,
        /// Spare pages that the rule needs.
        least: u32,
        /// The rule.
        streams: GcStreams,
    },
    /// A policy without victims, or one that the rule does not have.
    #[error("`{streams}` does not work with the victim policy `{policy}`")]
    Policy {
        /// The policy.
        policy: GcPolicy,
        /// The rule.
        streams: GcStreams,
    },
}

/// A step of the pool on a write, before the page is placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PoolEvent {
    /// A block was chosen, which has so many valid pages.
    Victim {
        /// The block.
        block: u32,
        /// Its valid pages.
        valid: u32,
    },
    /// A valid page was copied.
    Copied {
        /// The logical page.
        lpn: u32,
        /// The physical page that held it.
        from: u32,
        /// The physical page that holds it now.
        to: u32,
    },
}

/// Counters of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PoolCounts {
    /// Pages programmed for the host.
    pub host: u64,
    /// Pages copied by collection.
    pub copied: u64,
    /// Blocks erased.
    pub erases: u64,
}

/// The block that a frontier fills.
#[derive(Clone, Copy, Debug)]
struct OpenBlock {
    block: u32,
    /// Its next page, counted over all blocks.
    next: u32,
    /// Pages left in it; 0 without a block.
    left: u32,
}

const NOTHING_OPEN: OpenBlock = OpenBlock {
    block: NO_BLOCK,
    next: 0,
    left: 0,
};

/// The frontier that the host fills.
const HOST: usize = 0;
/// The frontier of the collector, with [`GcStreams::Own`].
const COLLECTOR: usize = 1;
/// The cell of blocks that the host filled up, or of all.
const NORMAL: u32 = 0;
/// The cell of cold blocks, with [`GcStreams::TwoRegion`].
const COLD: u32 = 1;

/// Blocks, and where every logical page is. See the module. Memory: 8.25 B a page and 20 B a block.
#[derive(Clone, Debug)]
pub struct BlockPool {
    shape: PoolShape,
    streams: GcStreams,
    places: PlaceMap,
    open: [OpenBlock; 2],
    /// Invalid pages in full blocks, normal and cold.
    invalid: [u64; 2],
    counts: PoolCounts,
    /// Kept between jobs for its memory.
    moving: Vec<Owned>,
}

/// Pages beyond the logical ones that a rule needs so that collection always finds a victim.
fn least_spare(streams: GcStreams, pages: u32) -> u32 {
    match streams {
        GcStreams::Shared => pages + 1,
        GcStreams::Own => 2 * pages + 1,
        GcStreams::InPlace => 1,
        GcStreams::TwoRegion => 2 * pages - 1,
    }
}

impl PoolShape {
    /// Can a pool of this shape work with this rule and policy?
    ///
    /// # Errors
    /// Sizes out of range, too little spare area for the rule, or a policy that it does not have.
    pub fn check(self, streams: GcStreams, policy: GcPolicy) -> Result<(), PoolError> {
        let (blocks, pages, logical) = (self.blocks, self.pages_per_block, self.logical);
        let all = u64::from(blocks) * u64::from(pages);
        let narrow = (1..=u32::from(u16::MAX)).contains(&pages);
        if !narrow || blocks < 2 || all > 1 << 31 {
            return Err(PoolError::Shape { blocks, pages });
        }
        if logical == 0 {
            return Err(PoolError::NoLogicalPage);
        }
        let two_region = streams == GcStreams::TwoRegion;
        if policy == GcPolicy::None || two_region && policy != GcPolicy::Greedy {
            return Err(PoolError::Policy { policy, streams });
        }
        let all = all as u32;
        let spare = all.saturating_sub(logical);
        let least = least_spare(streams, pages);
        match spare >= least {
            true => Ok(()),
            false => Err(PoolError::Spare {
                logical,
                all,
                spare,
                least,
                streams,
            }),
        }
    }
}

impl BlockPool {
    /// An empty pool.
    ///
    /// # Errors
    /// As [`PoolShape::check`].
    pub fn new(shape: PoolShape, rules: PoolRules) -> Result<BlockPool, PoolError> {
        let streams = rules.streams;
        shape.check(streams, rules.policy)?;
        let (blocks, pages) = (shape.blocks, shape.pages_per_block);
        let one_plane = Geometry {
            channels: 1,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: 1,
            blocks_per_plane: blocks,
            pages_per_block: pages,
            page: PageSize::KIB4,
        };
        let cells = BlockCells::OfBlocks(vec![NORMAL; blocks as usize], 2);
        let rules = BlockRules {
            slc_blocks: None,
            shape: UnitShape::new(&one_plane, 1, 1, false, false),
            gcs: 1,
            data: pages,
            policy: rules.policy,
            choices: rules.choices,
            seed: rules.seed,
            levels_wear: false,
            wear_threshold: None,
            collects: true,
        };
        let blocks = FlashBlocks::new(rules, cells);
        Ok(BlockPool {
            shape,
            streams,
            places: PlaceMap::new(u64::from(shape.logical), 0, blocks),
            open: [NOTHING_OPEN; 2],
            invalid: [0; 2],
            counts: PoolCounts::default(),
            moving: Vec::new(),
        })
    }

    /// Makes room if the rule says so, then writes `lpn`. `observe` sees every victim and copy.
    /// Gives the physical page.
    ///
    /// # Panics
    /// If `lpn` lies beyond the logical pages.
    pub fn write(&mut self, lpn: u32, observe: &mut impl FnMut(PoolEvent)) -> u32 {
        self.make_room(observe);
        let page = self.take(HOST);
        let old = self.places.write(Lpn(u64::from(lpn)), page);
        if let Some(old) = old {
            self.count_invalid(old);
        }
        self.counts.host += 1;
        self.programmed(self.open[HOST].block, NORMAL);
        page
    }

    /// The counters so far.
    pub fn counts(&self) -> PoolCounts {
        self.counts
    }

    /// Physical page of a logical page, if it was written.
    ///
    /// # Panics
    /// If `lpn` lies beyond the logical pages.
    pub fn page_of(&self, lpn: u32) -> Option<u32> {
        self.places.get(Lpn(u64::from(lpn)))
    }

    /// The next page of a frontier, whose block is opened if there is none.
    fn take(&mut self, frontier: usize) -> u32 {
        if self.open[frontier].left == 0 {
            let block = self.places.blocks.take(0);
            self.reopen(
                frontier,
                block.expect("a block is free where one is needed"),
            );
        }
        let open = &mut self.open[frontier];
        open.left -= 1;
        open.next += 1;
        open.next - 1
    }

    /// The frontier goes on behind what `block` holds already.
    fn reopen(&mut self, frontier: usize, block: u32) {
        let (pages, written) = (
            self.shape.pages_per_block,
            self.places.blocks.row(block).written(),
        );
        self.open[frontier] = OpenBlock {
            block,
            next: block * pages + written,
            left: pages - written,
        };
    }

    /// A page of `block` was programmed with data; a full block joins `cell`.
    fn programmed(&mut self, block: u32, cell: u32) {
        let blocks = &mut self.places.blocks;
        if !blocks.wrote(block, 1, 0) {
            return;
        }
        blocks.set_cell(block, cell);
        blocks.filled(block);
        self.invalid[cell as usize] +=
            u64::from(self.shape.pages_per_block - blocks.row(block).valid());
    }

    /// The data of a physical page are elsewhere now: one invalid page more, if its block is full.
    fn count_invalid(&mut self, page: u32) {
        let blocks = &self.places.blocks;
        let block = blocks.shape.block(u64::from(page));
        if blocks.row(block).written() == self.shape.pages_per_block {
            self.invalid[blocks.cell_of(block) as usize] += 1;
        }
    }
}
