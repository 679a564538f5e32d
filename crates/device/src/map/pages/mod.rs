//! Devices of pages: a program takes one page, and a block is collected at once or in the background.
//!
//! # Placement
//! A device is divided into units of planes: one write *frontier* per `frontier` unit, one victim
//! choice per `gc_unit`, both a plane, a die or a chip. A page written by the host goes to the
//! frontier of the unit that holds its plane: that of its address (static allocation), that of a
//! block-wise eviction (D6: unit number modulo planes), or one of the least busy chip (dynamic
//! allocation, [`PageMap::least_busy`]). A frontier fills one block at a time, pages ascending, and
//! opens the next one on the next of its planes, in ascending plane number and going round, that has
//! a free block. With `summary_page` the last page of a block takes no data; it is programmed right after the last
//! data page. GC copies go to the same frontiers.
//!
//! # When a block is collected
//! Let D be the data pages of a block. Before a host write to a frontier, in this order:
//! 1. If the GC unit of the plane that the frontier's next page lies in is at its threshold, one block
//!    of that GC unit is collected, or with `gc_stop = watermark` block after block until it has more
//!    than the watermark, as long as there is a candidate. Not in background mode. At its threshold
//!    is a unit with at most `gc_threshold` free pages (so that this write would leave fewer), or
//!    with `gc_threshold_unit = blocks` at most so many free blocks, the open ones not counted.
//! 2. While the frontier's unit has fewer than D free data pages, blocks of *that* unit are collected.
//!    In background mode those whose erase is still to come are taken first, oldest first: they
//!    count as erased from then on.
//! 3. If step 2 finds no candidate the write is refused (`DeviceFull`); where pages do not follow
//!    their address anyway (dynamic allocation, or any block-wise eviction so far), steps 1 to 3 are
//!    tried on the following planes in ascending number, going round, before that.
//!
//! Then the page is mapped, and only then is its old version invalid: a collected block may still
//! move it. The D - 1 free data pages that step 2 keeps are what the copies of any candidate need.
//!
//! With `gc_trigger = operation` step 1 is done before a host read, too, for the GC unit of the page
//! ([`PageMap::collect_before_read`]), and with `immediate` in addition right behind every host write,
//! for the GC unit of the page written ([`PageMap::collect_behind_program`]).
//!
//! Candidates are full blocks with fewer than D valid pages; others gain nothing. A policy
//! ([`crate::config::GcPolicy`]) chooses among those of one unit. Blocks with the same valid count
//! are in the order in which they came to it (by an overwrite, a TRIM, or by becoming full), first in
//! the smaller one of frontier and GC unit with the smallest number.
//!
//! # What collecting does
//! The valid pages of the victim move to the frontier of its unit in ascending page number, the
//! mapping at once, a summary page in between where a block fills; then the block is erased, and it
//! is free for the next write at once. With static wear levelling, if the most worn block of the
//! plane has more than `wear_threshold` erases more than its least worn full block (of equals the
//! smallest number), and the unit's free data pages hold the pages of that block, that block is
//! collected too, once.
//!
//! In the background ([`PageMap::collect_in_background`]) the same happens for a chip with nothing to
//! do: the first of its GC units, ascending, that is at its threshold and has no block waiting for its
//! erase is given one. The block is free when its erase has ended. With `gc_stop = watermark` a unit
//! that has come to its threshold is given blocks until it has more than the watermark.

mod collect;
mod free_space;
mod frontier;
mod gc_state;
mod moving;
mod page_map;
mod precondition;
mod query;

#[cfg(test)]
mod tests;

pub use collect::{Collected, GcStep, GcWork};
pub use page_map::PageMap;

use destage_types::{ChannelId, ChipId, PlaneId, Ppn};

/// Where a physical page sits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PhysicalPage {
    /// The physical page.
    pub ppn: Ppn,
    /// Its plane.
    pub plane: PlaneId,
    /// The unit with its own queue that serves it.
    pub chip: ChipId,
    /// The bus of that unit.
    pub channel: ChannelId,
}

/// Flash pages that one write of a logical page changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The page to program.
    pub place: PhysicalPage,
    /// The summary page to program after it, when the write took the last data page of a block.
    pub summary: Option<PhysicalPage>,
    /// The physical page that held the old data and is invalid now.
    pub old: Option<Ppn>,
}
