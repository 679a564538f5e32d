//! Which version of a mapping unit is on flash, and from when on.
//!
//! LV-2: a unit takes a version when it is handed over. Where data in an open unit are replaced in place, it takes the last
//! one that is there: when the unit is closed, or newer data have another frame.

use super::Drive;
use super::writes::HandOver;
use crate::durability::{Durability, UNNAMED};
use crate::flash::Cause;
use destage_device::map::{UnitMap, UnitStream};
use destage_types::{Lpn, Nanos};
use std::collections::BTreeMap;

/// Versions on their way to flash.
#[derive(Debug, Default)]
pub(super) struct UnitVersions {
    durability: Durability,
    /// Name of the next hand-over.
    next: u32,
    /// Hand-overs by the unit that has their data, which has not ended.
    of_unit: BTreeMap<u32, Vec<(u32, Lpn)>>,
}

impl Drive {
    /// Keeps which version of a mapping unit is on flash from now on.
    pub(crate) fn keep_versions(&mut self) {
        self.versions.get_or_insert_default();
    }

    /// Which versions are on flash, if that is kept.
    pub(crate) fn versions(&mut self) -> Option<&mut Durability> {
        self.versions.as_mut().map(|row| &mut row.durability)
    }

    /// Mapping units of which a version is not on flash, if that is kept.
    pub(crate) fn volatile_pages(&self) -> usize {
        let versions = self.versions.as_ref();
        versions.map_or(0, |versions| versions.durability.pages())
    }

    /// The current request writes a mapping unit, or a part of it, to the cache.
    pub(super) fn version_is_written(&mut self, lpn: Lpn) {
        if let Some(versions) = &mut self.versions
            && let Some(request) = self.requests.current()
        {
            let index = self.requests.index(request);
            versions.durability.written(lpn, index);
        }
    }

    /// The current request replaces the data of a mapping unit in its open unit.
    pub(super) fn version_is_replaced(&mut self, lpn: Lpn) {
        if let Some(versions) = &mut self.versions
            && let Some(request) = self.requests.current()
        {
            let index = self.requests.index(request);
            versions.durability.replaced(lpn, index);
        }
    }

    /// Newer data go past the cache, which has no dirty data of the mapping unit any more.
    pub(super) fn version_is_superseded(&mut self, lpn: Lpn) {
        if let Some(versions) = &mut self.versions {
            versions.durability.superseded(lpn);
        }
    }

    /// Names the version that is handed over.
    pub(super) fn name_version(&mut self, data: &HandOver) -> Option<u32> {
        let versions = self.versions.as_mut()?;
        let name = versions.next;
        versions.next = (name + 1) % UNNAMED;
        let own = self.requests.current().filter(|_| data.cause == Cause::Own);
        let own = own.map(|request| self.requests.index(request));
        match self.in_place {
            true => versions.durability.handed_over(name, data.lpn, own),
            false => versions.durability.queued(name, data.lpn, own),
        }
        Some(name)
    }

    /// A unit has the data of a hand-over.
    pub(super) fn version_in_unit(&mut self, name: Option<u32>, unit: u32, lpn: Lpn) {
        if let Some(versions) = &mut self.versions
            && let Some(name) = name
        {
            versions.of_unit.entry(unit).or_default().push((name, lpn));
        }
    }

    /// A unit is closed.
    pub(super) fn unit_takes_versions(&mut self, unit: u32) {
        if let Some(versions) = self.versions.as_mut().filter(|_| self.in_place) {
            for &(name, lpn) in versions.of_unit.get(&unit).into_iter().flatten() {
                versions.durability.captured(name, lpn);
            }
        }
    }

    /// The program of a unit has ended.
    pub(super) fn unit_is_durable(&mut self, unit: u32) {
        if let Some(versions) = &mut self.versions {
            for (name, lpn) in versions.of_unit.remove(&unit).into_iter().flatten() {
                versions.durability.timed(name, lpn, self.now);
            }
        }
    }

    /// A mapping unit holds no data any more.
    pub(super) fn version_is_trimmed(&mut self, lpn: Lpn) {
        if let Some(versions) = &mut self.versions {
            versions.durability.trimmed(lpn);
        }
    }

    /// LV-1: the translation layer as a power cut leaves it, once what was under way has ended: open units are closed with
    /// padding, and collections that are not over are given up.
    pub(crate) fn into_map(mut self) -> UnitMap {
        self.give_up_collecting();
        self.waiting.clear();
        self.wanted = None;
        for frontier in 0..self.map.frontier_count() {
            self.close(UnitStream::Host, frontier);
            self.close(UnitStream::Collector, frontier);
        }
        loop {
            match self.next_instant() {
                Nanos::NEVER => return self.map,
                next => _ = self.advance(next),
            }
        }
    }
}
