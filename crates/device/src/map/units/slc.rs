//! Blocks in SLC mode (S-0, S-1): a block is opened in a mode and keeps it until its erase. Only frontiers of the host open
//! blocks in SLC mode. Such a block has a part of its places, the first ones of each of its parts, and its units are one
//! page of each plane.

use super::{UnitMap, UnitMembers, UnitSet, UnitStream};
use crate::config::DeviceConfig;
use crate::map::first_touch::FirstTouch;
use std::collections::{BTreeMap, VecDeque};

/// The set of lists of a full block, by GC unit. The order decides between equals of collection (S-1.7).
const DYNAMIC: u32 = 0;
const NATIVE: u32 = 1;
const STATIC: u32 = 2;
/// Sets of lists of a GC unit.
pub(super) const CELLS: u32 = 3;

/// Blocks of a GC unit in SLC mode.
#[derive(Clone, Debug, Default)]
struct SlcOfGc {
    /// Static blocks that are free, the one free for longest first.
    free: VecDeque<u32>,
    /// Others that are in SLC mode, until their erase has ended.
    dynamic: u32,
    /// Those whose last unit is queued and that are not collected.
    closed: u32,
    /// Those under way from the beginning of their collection to the end of their erase.
    leaving: u32,
}

/// The block that a frontier of the host opens next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextBlock {
    /// The static SLC block that has been free for longest.
    Static,
    /// A free block, in SLC mode or not.
    Free { slc: bool },
}

/// The SLC cache.
#[derive(Clone, Debug)]
pub(super) struct SlcCache {
    /// Times that a block is smaller in SLC mode: b'.
    pub divisor: u32,
    /// Most dynamic blocks of a GC unit.
    most: u32,
    /// Free blocks of a GC unit that are left alone.
    reserve: u64,
    /// Does a frontier without SLC blocks wait for folding?
    waits: bool,
    /// Are blocks opened in SLC mode? Before the run they are not: what was at rest was folded.
    on: bool,
    /// The first static block of a group, as an index in it.
    first_static: u32,
    modes: UnitSet,
    erases: FirstTouch<u32, 256>,
    of_gc: Vec<SlcOfGc>,
}

impl SlcCache {
    /// That of a device, if it has one; group `g` is in GC unit `g` modulo `gcs`.
    pub fn new(config: &DeviceConfig, gcs: u32) -> Option<SlcCache> {
        if !config.has_slc() {
            return None;
        }
        let shape = config.shape();
        let first_static = shape.blocks - config.slc_blocks_of_group();
        let mut of_gc = vec![SlcOfGc::default(); gcs as usize];
        for index in first_static..shape.blocks {
            for group in 0..shape.groups {
                let free = &mut of_gc[(group % gcs) as usize].free;
                free.push_back(shape.number(group, index));
            }
        }
        let all = u64::from(shape.all_blocks());
        Some(SlcCache {
            divisor: config.slc_divisor(),
            most: config.slc_dynamic_most(),
            reserve: config.slc_left_alone().into(),
            waits: config.folds_when_full(),
            on: false,
            first_static,
            modes: UnitSet::new(all),
            erases: FirstTouch::new(all, 0),
            of_gc,
        })
    }

    /// Is a block in SLC mode?
    pub fn holds(&self, block: u32) -> bool {
        self.modes.contains(block.into())
    }

    fn of(&mut self, gc: u32) -> &mut SlcOfGc {
        &mut self.of_gc[gc as usize]
    }

    pub fn bytes(&self) -> u64 {
        self.modes.bytes() + self.erases.bytes()
    }
}

impl UnitMap {
    /// Blocks may be opened in SLC mode from now on.
    pub fn start_slc(&mut self) {
        if let Some(slc) = &mut self.slc {
            slc.on = true;
        }
    }

    /// Is a block in SLC mode?
    #[inline]
    pub fn is_slc(&self, block: u32) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.holds(block))
    }

    /// Is a block always in SLC mode?
    pub fn is_static(&self, block: u32) -> bool {
        let first = self.slc.as_ref().map(|slc| slc.first_static);
        first.is_some_and(|first| block % self.shape.blocks >= first)
    }

    /// Static SLC blocks of a group.
    pub(super) fn static_of_group(&self) -> u32 {
        let first = self.slc.as_ref().map(|slc| slc.first_static);
        first.map_or(0, |first| self.shape.blocks - first)
    }

    /// Times that a block is smaller than a native one.
    pub(super) fn divisor_of(&self, block: u32) -> u32 {
        match &self.slc {
            Some(slc) if slc.holds(block) => slc.divisor,
            _ => 1,
        }
    }

    /// Pages of a unit of a block.
    pub fn pages_of_unit(&self, block: u32) -> u32 {
        match self.is_slc(block) {
            true => self.shape.planes,
            false => self.shape.unit_pages(),
        }
    }

    /// Places of a unit of a block.
    #[inline]
    pub fn unit_of_block(&self, block: u32) -> u32 {
        self.pages_of_unit(block) * self.shape.per_page
    }

    /// Places of a block that can be written.
    #[inline]
    pub(super) fn places_of_block(&self, block: u32) -> u32 {
        self.shape.places / self.divisor_of(block)
    }

    /// The same of a part of it.
    pub(super) fn part_places_of(&self, block: u32) -> u32 {
        self.shape.part_places() / self.divisor_of(block)
    }

    /// Reads of the collector for a whole block.
    pub fn reads_of(&self, block: u32) -> u32 {
        self.shape.reads() / self.divisor_of(block)
    }

    /// Blocks in SLC mode that are not free, each plane's counted.
    pub(super) fn slc_in_use(&self) -> Option<u64> {
        let slc = self.slc.as_ref()?;
        let static_blocks = self.static_of_group() * self.shape.groups;
        let rows = slc.of_gc.iter();
        let used: u32 = rows.map(|row| row.dynamic).sum();
        let free: usize = slc.of_gc.iter().map(|row| row.free.len()).sum();
        let used = u64::from(used + static_blocks) - free as u64;
        Some(used * u64::from(self.shape.planes * self.shape.parts))
    }

    /// How often blocks were erased in each mode. Each block here stands for `weight` blocks of the array.
    pub(super) fn wear_by_modes(&self, weight: u32) -> Vec<(u32, u32, u64)> {
        let Some(slc) = &self.slc else {
            return Vec::new();
        };
        let mut counts = BTreeMap::new();
        for block in 0..self.shape.all_blocks() {
            let in_slc = slc.erases.get(block.into());
            let native = self.places.blocks.row(block).erases() - in_slc;
            *counts.entry((native, in_slc)).or_insert(0) += u64::from(weight);
        }
        let rows = counts.into_iter();
        rows.map(|((native, in_slc), blocks)| (native, in_slc, blocks))
            .collect()
    }

    /// The block that a frontier of the host can open next, which leaves `gc_low` free blocks to the collector (S-1.3).
    pub(super) fn next_block(&self, frontier: u32) -> Option<NextBlock> {
        let gc = self.gc_of(frontier);
        let (free, can) = (self.free_blocks(gc), self.has_block(frontier));
        if let Some(slc) = self.slc.as_ref().filter(|slc| slc.on) {
            let row = &slc.of_gc[gc as usize];
            if self.free_static(frontier).is_some() {
                return Some(NextBlock::Static);
            }
            if can && row.dynamic < slc.most && free > slc.reserve {
                return Some(NextBlock::Free { slc: true });
            }
            if slc.waits && row.closed + row.leaving > 0 {
                return None;
            }
        }
        (can && free > self.gc_low).then_some(NextBlock::Free { slc: false })
    }

    /// The free static block that a frontier takes next, as a place in the list.
    fn free_static(&self, frontier: u32) -> Option<usize> {
        let row = &self.slc.as_ref()?.of_gc[self.gc_of(frontier) as usize];
        let groups = self.groups_of(frontier);
        let has = |group| groups.iter().any(|own| own == group);
        row.free
            .iter()
            .position(|&block| has(self.shape.group_of(block)))
    }

    /// Takes the free static block that a frontier opens.
    pub(super) fn take_static(&mut self, frontier: u32) -> u32 {
        let at = self.free_static(frontier).expect("there is one");
        let gc = self.gc_of(frontier);
        let slc = self.slc.as_mut().expect("static blocks are in SLC mode");
        slc.of(gc).free.remove(at).expect("it was found there")
    }

    /// A block that was taken is opened, in SLC mode or not.
    pub(super) fn open_in_mode(&mut self, block: u32, in_slc: bool) {
        let (gc, is_static) = (self.gc_of_block(block), self.is_static(block));
        let Some(slc) = &mut self.slc else { return };
        let gcs = slc.of_gc.len() as u32;
        let cell = match (in_slc, is_static) {
            (false, _) => NATIVE,
            (true, false) => DYNAMIC,
            (true, true) => STATIC,
        };
        self.places.blocks.set_cell(block, cell * gcs + gc);
        if in_slc {
            slc.modes.insert(block.into());
            slc.of(gc).dynamic += u32::from(!is_static);
            // The room that the mode does not have counts as written.
            let others = self.shape.places - self.shape.places / slc.divisor;
            self.places.blocks.wrote(block, 0, others);
        }
    }

    /// The last unit of a block is queued.
    pub(super) fn close_block(&mut self, block: u32) {
        self.places.blocks.note_closed(block);
        let gc = self.gc_of_block(block);
        if let Some(slc) = self.slc.as_mut().filter(|slc| slc.holds(block)) {
            slc.of(gc).closed += 1;
        }
    }

    /// Collecting a block begins, or is given up.
    pub(super) fn slc_leaves(&mut self, block: u32, leaves: bool) {
        let gc = self.gc_of_block(block);
        if let Some(slc) = self.slc.as_mut().filter(|slc| slc.holds(block)) {
            let row = slc.of(gc);
            match leaves {
                true => (row.closed, row.leaving) = (row.closed - 1, row.leaving + 1),
                false => (row.closed, row.leaving) = (row.closed + 1, row.leaving - 1),
            }
        }
    }

    /// The erase of a block has ended: it is free in its own way.
    pub(super) fn erased_in_mode(&mut self, block: u32) {
        let (gc, is_static) = (self.gc_of_block(block), self.is_static(block));
        match self.slc.as_mut().filter(|slc| slc.holds(block)) {
            None => self.places.blocks.release(block),
            Some(slc) => {
                slc.modes.remove(block.into());
                *slc.erases.at(block.into()) += 1;
                let row = slc.of(gc);
                row.leaving -= 1;
                if is_static {
                    row.free.push_back(block);
                    self.places.blocks.erase(block);
                } else {
                    row.dynamic -= 1;
                    self.places.blocks.release(block);
                }
            }
        }
    }

    /// Full blocks of a GC unit that are collected for what it owes: static SLC blocks are not.
    pub(super) fn collected_cells(&self, gc: u32) -> UnitMembers {
        match &self.slc {
            None => UnitMembers::only(gc),
            Some(_) => UnitMembers::of(gc, self.gc_units(), 2 * self.gc_units()),
        }
    }

    /// The SLC block that a GC unit folds next.
    pub fn fold_victim(&self, gc: u32) -> Option<u32> {
        let gcs = self.gc_units();
        let cells = UnitMembers::of(gc, 2 * gcs, CELLS * gcs);
        self.places.blocks.fewest_closed_first(cells)
    }

    /// SLC blocks of a GC unit that are full and not collected.
    pub fn closed_slc_blocks(&self, gc: u32) -> u32 {
        self.slc
            .as_ref()
            .map_or(0, |slc| slc.of_gc[gc as usize].closed)
    }

    /// Does a frontier of a writer wait until an SLC block is folded (`slc_full = fold`)?
    pub fn waits_for_folding(&self, stream: UnitStream, frontier: u32) -> bool {
        self.slc.is_some()
            && self.needs_block(stream, frontier)
            && self.next_block(frontier).is_none()
            && !self.is_stuck_with(stream, frontier)
    }
}
