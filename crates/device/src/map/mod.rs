//! Where data are: logical pages, places, and blocks. Nothing here has a clock.
//!
//! A translation layer says where the data of a write go and which block is collected. `sim` carries that out: it
//! submits operations to the array, which knows when they run.
//!
//! | part | what it knows |
//! |--|--|
//! | `PlaceMap` | both directions of the mapping: logical page to place, place to logical page |
//! | `FlashBlocks` | how full and how worn blocks are; free blocks, lists of full ones, victims |
//! | `BlockGroups` | which planes make up a frontier, a GC unit, and a chip |
//! | [`UnitShape`] | how mapping units, pages, program units, and blocks lie in each other |
//! | [`FlashMap`] | what schemes and runs ask any device, whatever it programs at once |
//! | [`PageMap`] | devices whose page is everything: one page is programmed, a block is collected at once |
//! | [`UnitMap`] | drives with units: a program takes several mapping units, collection is paced |
//! | [`pool::BlockPool`] | blocks without planes, for `destage waf` |
//!
//! The last three have all their blocks and places in the first two. A logical page of a drive is a mapping unit. A
//! physical page is the place of a device of pages. They differ in these rules:
//!
//! | rule | `PageMap` | `UnitMap` | `BlockPool` |
//! |--|--|--|--|
//! | A program takes | a page, and the summary page that ends a block | the pages of a unit on one die | a page |
//! | Copies go to | the host's block | the host's block or one of their own (`gc_streams`) | by the rule of `GcStreams` |
//! | Room for copies | D - 1 data pages of each frontier | `gc_low` blocks of each GC unit | by the rule of `GcStreams` |
//! | A block may be collected | once it is written | once its programs have ended | once it is written |
//! | Collection | at once, or a block in the background | read by read, with pauses between | at once |
//! | Cells | the smaller one of frontier and GC unit | GC units | blocks that the host filled, and cold ones |
//! | Groups of `single-block` | lie in the plane of their number (D6) | are spread page by page (DR-11) | |
//! | Static wear levelling | moves the coldest block of a plane | is refused | |
//!
//! # Invariants
//! 1. A place holds wanted data iff the logical page that was written to it last is mapped to it. At most one place holds
//!    the wanted data of a logical page.
//! 2. The wanted places of a block are its count of valid ones, which never exceeds the written ones.
//! 3. A block is free, open, full, or being collected. It is a candidate iff it is full and in a list: not while one of
//!    its programs is still to come, and not once its collection began.
//! 4. A list has the blocks of one cell that have the same count, in the order in which they came to it: by becoming
//!    full, by an overwrite, or by a TRIM.
//! 5. A block is erased only when no place of it holds wanted data.
//! 6. New blocks are used in ascending order, then the one that became free longest ago. With wear levelling the one
//!    with the fewest erases is next, of equals the one with the smallest number.

mod blocks;
mod divisor;
#[cfg(test)]
mod drawn;
mod fill;
mod first_touch;
mod flash_map;
mod full;
mod groups;
mod page_table;
mod pages;
mod places;
pub mod pool;
mod precondition;
mod shape;
mod unit_set;
mod units;

pub use blocks::{BlockCounts, BlockStates, Wear};
pub use flash_map::FlashMap;
pub use full::DeviceFull;
pub use page_table::PIECE;
pub use pages::{Collected, GcStep, GcWork, PageMap, PhysicalPage, Placed};
pub use precondition::{Preconditioning, precondition_pages};
pub use shape::UnitShape;
pub use units::{
    CollectPace, CollectorBefore, HandleCounts, ToMove, UnitMap, UnitPlace, UnitStream, Writers,
};
