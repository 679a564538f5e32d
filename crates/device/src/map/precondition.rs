//! Data on a device before the run, written without time or counts (`precondition`).
//!
//! Data are placed as in a run in which every operation ends at once. A fill of a new device takes no tables as far as it
//! writes whole blocks ([`super::fill`]).

use super::fill::FillInOrder;
use super::flash_map::FlashMap;
use super::full::DeviceFull;
use super::places::PlaceMap;
use crate::config::{DeviceConfig, Overwrite, Ratio};
use destage_types::Lpn;
use destage_types::rng::SplitMix64;

/// Logical pages between two calls of who follows how far preconditioning has come.
const TELL: u64 = 1 << 14;
/// Logical pages that are looked up together before they are written.
const AHEAD: usize = 32;

/// What collection has done so far, before the run.
#[derive(Clone, Debug)]
pub struct CollectionBefore {
    /// GC units that have come to collect.
    units: Vec<bool>,
    count: u32,
    /// Pages that were moved.
    moved: u64,
    debt: u64,
}

impl CollectionBefore {
    /// None of so many units.
    pub(super) fn new(units: u32) -> CollectionBefore {
        CollectionBefore {
            units: vec![false; units as usize],
            count: 0,
            moved: 0,
            debt: 0,
        }
    }

    /// A unit has come to collect.
    pub(super) fn note(&mut self, gc: u32) {
        self.count += u32::from(!std::mem::replace(&mut self.units[gc as usize], true));
    }

    /// How many they are.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// So many pages were moved.
    pub(super) fn add_moved(&mut self, pages: u64) {
        self.moved += pages;
    }

    /// Pages that were moved.
    pub(super) fn moved(&self) -> u64 {
        self.moved
    }

    /// Pages that were moved for each that was overwritten, over the last third of the overwrites: in units of 2^-16 (D-17).
    pub fn debt(&self) -> u64 {
        self.debt
    }

    /// Are they all?
    pub(super) fn is_all(&self) -> bool {
        self.count as usize == self.units.len()
    }
}

/// A mapping whose pages can be written before a run.
pub trait Preconditioning: FlashMap {
    /// GC units that writes of the first `pages` logical pages go to, if units collect at all.
    fn gc_units_of(&self, pages: u64) -> Vec<u32>;

    /// How writes of the first `pages` logical pages, in ascending order, fill whole stripes of a new device.
    fn fill_in_order(&self, pages: u64) -> FillInOrder;

    /// So many blocks of each group were filled that were free.
    fn filled_stripes(&mut self, stripes: u32);

    /// Writes a page, and makes the room that it needs.
    ///
    /// # Errors
    /// No room can be made.
    fn write_now(&mut self, lpn: Lpn) -> Result<(), Box<DeviceFull>>;

    /// Overwrites begin or end. Collection is at once in between, whatever the device does in a run.
    fn overwriting(&mut self, on: bool);

    /// What was written is all: the translation layer writes its own pages.
    ///
    /// # Errors
    /// No room can be made.
    fn write_translation_pages(&mut self) -> Result<(), Box<DeviceFull>> {
        Ok(())
    }

    /// Maps the pages of `lpns` that are not mapped yet, in their order. Returns how many were mapped.
    ///
    /// # Errors
    /// No room can be made; the pages before are mapped.
    fn map_trace(&mut self, lpns: &mut dyn Iterator<Item = Lpn>) -> Result<u64, Box<DeviceFull>> {
        let mut mapped = 0;
        for lpn in lpns {
            if self.places().get(lpn).is_none() {
                self.write_now(lpn)?;
                mapped += 1;
            }
        }
        Ok(mapped)
    }

    /// Maps the first `share` of the logical pages, rounded down, in ascending order; pages that
    /// are mapped already stay where they are. Returns how many were mapped; `tell` hears now and then
    /// how many pages more were looked at. On a new device this takes a time and memory in proportion to the blocks.
    ///
    /// # Errors
    /// No room can be made; the pages before are mapped.
    fn fill(&mut self, share: Ratio, tell: &mut dyn FnMut(u64)) -> Result<u64, Box<DeviceFull>> {
        let last = filled_by(self.places(), share);
        let mut whole = 0;
        if self.places().is_unused() {
            let fill = self.fill_in_order(last);
            whole = u64::from(fill.pages());
            self.filled_stripes(fill.stripes());
            self.places_mut().fill(fill);
            tell(whole);
        }
        let mut mapped = whole;
        for first in (whole..last).step_by(TELL as usize) {
            let end = last.min(first + TELL);
            mapped += self.map_trace(&mut (first..end).map(Lpn))?;
            tell(end - first);
        }
        Ok(mapped)
    }

    /// Overwrites pages drawn uniformly, from `seed`, among the first `share` of the logical pages
    /// (what [`Preconditioning::fill`] wrote; all logical pages if that is none). Returns how many were written; `tell`
    /// hears now and then how many more were. [`Overwrite::UntilGc`] ends when every GC unit that these pages go to has
    /// come to collect.
    ///
    /// # Errors
    /// No room can be made; the pages before are written.
    fn overwrite(
        &mut self,
        share: Ratio,
        amount: Overwrite,
        seed: u64,
        tell: &mut dyn FnMut(u64),
    ) -> Result<u64, Box<DeviceFull>> {
        self.overwriting(true);
        let written = overwrite(self, share, amount, seed, tell);
        self.overwriting(false);
        written
    }
}

fn filled_by(places: &PlaceMap, share: Ratio) -> u64 {
    share.of(places.logical()).min(places.logical())
}

fn overwrite<M: Preconditioning + ?Sized>(
    map: &mut M,
    share: Ratio,
    amount: Overwrite,
    seed: u64,
    tell: &mut dyn FnMut(u64),
) -> Result<u64, Box<DeviceFull>> {
    let range = match filled_by(map.places(), share) {
        0 => map.places().logical(),
        filled => filled,
    };
    let (mut left, most) = match amount {
        Overwrite::Times(times) => (Vec::new(), times.of(map.places().logical())),
        Overwrite::UntilGc => (map.gc_units_of(range), u64::MAX),
    };
    let (mut rng, mut written, mut known) = (SplitMix64::new(seed), 0, u32::MAX);
    // Pages that were written and moved, where the second number changed.
    let mut moves = vec![(0, map.collection().moved())];
    loop {
        let drawn = [(); AHEAD].map(|()| rng.below(range));
        std::hint::black_box(map.places().prefetch(&mut drawn.clone()));
        for &lpn in &drawn {
            if map.collection().count != known {
                known = map.collection().count;
                left.retain(|&gc| !map.collection().units[gc as usize]);
            }
            if written >= most || amount == Overwrite::UntilGc && left.is_empty() {
                map.collection_mut().debt = debt_of_last_third(&moves, written);
                return Ok(written);
            }
            map.write_now(Lpn(lpn))?;
            written += 1;
            let moved = map.collection().moved();
            if moves[moves.len() - 1].1 != moved {
                moves.push((written, moved));
            }
            if written % TELL == 0 {
                tell(TELL);
            }
        }
    }
}

fn debt_of_last_third(moves: &[(u64, u64)], written: u64) -> u64 {
    let third = written / 3;
    let before = moves.partition_point(|&(at, _)| at <= written - third);
    let moved = moves[moves.len() - 1].1 - moves[before.max(1) - 1].1;
    (u128::from(moved) << 16)
        .checked_div(third.into())
        .unwrap_or(0) as u64
}

/// Pages that preconditioning will write on a new device, about: how many
/// overwrites bring every GC unit to its threshold depends on chance.
pub fn precondition_pages(config: &DeviceConfig) -> u64 {
    let wanted = &config.precondition;
    let logical = config.logical_pages();
    let filled = wanted.fill.of(logical).min(logical);
    let overwritten = match wanted.overwrite {
        Overwrite::Times(times) => times.of(logical),
        Overwrite::UntilGc if config.has_units() => logical / 2,
        Overwrite::UntilGc if !config.collects() => 0,
        Overwrite::UntilGc => {
            let planes = u64::from(config.geometry.planes());
            let units = planes / u64::from(config.planes_per(config.gc_unit));
            let kept = filled.saturating_add(units * config.gc_threshold_pages());
            config.geometry.pages().saturating_sub(kept)
        }
    };
    filled.saturating_add(overwritten)
}
