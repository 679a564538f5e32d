//! State of garbage collection: the free space of its units, and when they are due.

use super::page_map::PageMap;
use super::{Collected, GcWork};
use crate::config::{DeviceConfig, GcTrigger, ThresholdUnit};
use crate::map::places::Owned;
use crate::map::precondition::CollectionBefore;

/// State of garbage collection.
#[derive(Clone, Debug)]
pub(super) struct GcState {
    /// Is there garbage collection?
    pub on: bool,
    /// Is it done in the background while there is room, and is it so now?
    pub in_background: bool,
    pub background: bool,
    /// Does a read of a unit at its threshold make it collect?
    pub before_reads: bool,
    /// Does a unit collect as soon as it comes to its threshold?
    pub at_once: bool,
    /// Are free blocks compared with the threshold, and not free pages?
    pub in_blocks: bool,
    /// A GC unit with so many free pages or blocks, or fewer, is collected.
    pub threshold: u64,
    /// It is collected until it has more of them than this; without it, one block at a time.
    pub watermark: Option<u64>,
    /// Free data pages that the host leaves to GC in every unit with a frontier.
    pub reserve: u64,
    /// Free pages, by GC unit.
    pub free: Vec<u64>,
    /// GC units that are on their way to the watermark, in the background.
    pub collecting: Vec<bool>,
    /// GC units that have been at their threshold.
    pub before: CollectionBefore,
    /// Does it count as having reached its threshold that a unit collects for a frontier that has no
    /// room left?
    pub out_of_room_counts: bool,
    /// Blocks whose erase has not ended, in the order of their collection.
    pub awaiting: Vec<Collected>,
    /// Room for the valid pages of a block that is collected.
    pub moving: Vec<Owned>,
    /// What preconditioning collects, which nobody submits.
    pub unsubmitted: GcWork,
    /// Was a page placed elsewhere than its address says?
    pub displaced: bool,
    /// Chip and, in its units, the unit that dynamic allocation used last.
    pub last_chip: u32,
    pub turns: Vec<u32>,
}

impl GcState {
    /// All pages free.
    pub fn new(config: &DeviceConfig, units: u32, chips: u32) -> GcState {
        let g = &config.geometry;
        let pages = g.pages() / u64::from(units);
        let foreground = config.collects() && !config.collects_in_background();
        let in_blocks = config.gc_threshold_unit == ThresholdUnit::Blocks;
        GcState {
            on: config.collects(),
            in_background: config.collects_in_background(),
            background: config.collects_in_background(),
            before_reads: foreground && config.gc_trigger != GcTrigger::Program,
            at_once: foreground && config.gc_trigger == GcTrigger::Immediate,
            in_blocks,
            threshold: if in_blocks {
                config.gc_threshold_pages() / u64::from(g.pages_per_block)
            } else {
                config.gc_threshold_pages()
            },
            watermark: config.gc_watermark(),
            reserve: u64::from(config.data_pages_per_block() - 1),
            free: vec![pages; units as usize],
            collecting: vec![false; units as usize],
            before: CollectionBefore::new(units),
            out_of_room_counts: config.collects_before_threshold(),
            awaiting: Vec::new(),
            moving: Vec::new(),
            unsubmitted: GcWork::default(),
            displaced: false,
            last_chip: chips - 1,
            turns: vec![0; chips as usize],
        }
    }
}

impl PageMap {
    /// Free pages or blocks of a GC unit, to be compared with its threshold.
    #[inline(always)]
    fn free_of_gc(&self, gc: u32) -> u64 {
        if self.gc.in_blocks {
            self.places.blocks.free_in_gc(gc)
        } else {
            self.gc.free[gc as usize]
        }
    }

    /// Is a GC unit at its threshold?
    #[inline(always)]
    pub(super) fn is_at_threshold(&self, gc: u32) -> bool {
        self.free_of_gc(gc) <= self.gc.threshold
    }

    /// Has a GC unit collected enough, once it has collected a block?
    pub(super) fn has_collected_enough(&self, gc: u32) -> bool {
        let more = |watermark| self.free_of_gc(gc) > watermark;
        self.gc.watermark.is_none_or(more)
    }

    /// Should a GC unit collect in the background: is it at its threshold, or on its way from there
    /// to the watermark?
    pub(super) fn is_due_in_background(&mut self, gc: u32) -> bool {
        let goes_on = self.gc.collecting[gc as usize] && !self.has_collected_enough(gc);
        let due = goes_on || self.is_at_threshold(gc);
        self.gc.collecting[gc as usize] = due;
        due
    }
}
