//! The collectors of all GC units.

use super::collector::Collector;
use super::pause::PauseClock;
use crate::drive::mapping::MapUpdates;
use destage_device::config::DeviceConfig;
use destage_device::map::{CollectPace, UnitMap};
use destage_types::Nanos;

/// The collectors of all GC units, and what they look at.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Collectors {
    pub(super) rows: Vec<Collector>,
    /// GC units whose collectors have something to look at, ascending.
    looking: Vec<u32>,
    pub(super) pace: CollectPace,
    pause: Option<PauseClock>,
}

impl Collectors {
    /// That of a GC unit.
    pub(super) fn of(&mut self, gc: u32) -> &mut Collector {
        &mut self.rows[gc as usize]
    }

    pub fn new(config: &DeviceConfig, map: &UnitMap) -> Collectors {
        Collectors {
            rows: vec![Collector::default(); map.gc_units() as usize],
            looking: Vec::new(),
            pace: map.pace(),
            pause: PauseClock::new(config),
        }
    }

    /// Translation pages that the collector of a GC unit changes.
    pub fn updates(&mut self, gc: u32) -> &mut MapUpdates {
        &mut self.of(gc).updates
    }

    /// It has read the first of them.
    pub fn has_read_translation(&mut self, gc: u32) {
        self.updates(gc).has_read();
        self.look_at(gc);
    }

    /// Something has changed that the collector of a GC unit looks at, once the array has settled.
    pub fn look_at(&mut self, gc: u32) {
        if (self.pace.on || self.pause.is_some())
            && let Err(at) = self.looking.binary_search(&gc)
        {
            self.looking.insert(at, gc);
        }
    }

    /// Something waits for room, or a pause begins or ends: all collectors and gates are looked at.
    pub fn look_at_all(&mut self) {
        (0..self.rows.len() as u32).for_each(|gc| self.look_at(gc));
    }

    /// Has any of them something to look at?
    pub fn any_looks(&self) -> bool {
        !self.looking.is_empty()
    }

    /// The next one that has, from `from` on and then from the first.
    pub(super) fn next_looking(&mut self, from: u32) -> Option<u32> {
        let at = self.looking.partition_point(|&gc| gc < from);
        let at = if at == self.looking.len() { 0 } else { at };
        (at < self.looking.len()).then(|| self.looking.remove(at))
    }

    /// The run is over: no block is collected any more unless data of the host need its room.
    pub fn stop(&mut self) {
        (self.rows.iter_mut()).for_each(|row| row.owed = row.owed.min(0.0));
    }

    /// A unit of the host, of so many places, is queued at `now`: a pause may begin.
    pub fn count_to_pause(&mut self, places: u32, now: Nanos, writes_wait: bool) {
        if let Some(pause) = &mut self.pause
            && pause.count(places, now, writes_wait)
        {
            self.look_at_all();
        }
    }

    /// Gates hear that a pause is over at `now`.
    pub fn end_pause(&mut self, now: Nanos) {
        if let Some(pause) = &mut self.pause
            && pause.take_end(now)
        {
            self.look_at_all();
        }
    }

    /// When gates have to hear that a pause is over.
    pub fn next_pause_end(&self) -> Nanos {
        self.pause.map_or(Nanos::NEVER, |pause| pause.next_end())
    }

    /// Does the collector of a GC unit owe so much that programs of the host wait?
    pub(super) fn owes_too_much(&self, gc: u32) -> bool {
        self.pace.exceeds_credit(self.rows[gc as usize].owed)
    }

    /// May programs of the host start at `now`, as far as the collector of a GC unit is concerned?
    pub(super) fn lets_programs_start(&self, gc: u32, now: Nanos) -> bool {
        let paused = self.pause.is_some_and(|pause| pause.is_on(now));
        !paused && !self.owes_too_much(gc) && self.rows[gc as usize].burst.is_none()
    }
}
