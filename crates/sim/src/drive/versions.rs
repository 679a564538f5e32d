//! Which version of a mapping unit a program takes, and what a power cut leaves.
//!
//! LV-2: a unit takes a version when it is handed over. Where data in an open unit are replaced in place, it takes the last
//! one that is there: when the unit is closed, or newer data have another frame.

use super::Drive;
use super::writes::HandOver;
use crate::device::durability::UNNAMED;
use crate::flash::Cause;
use destage_device::map::UnitMap;

impl Drive {
    /// Names the version that is handed over.
    pub(super) fn name_version(&mut self, data: &HandOver) -> Option<u32> {
        if !self.core.versions.on {
            return None;
        }
        let name = self.next_version;
        self.next_version = (name + 1) % UNNAMED;
        let own = self.core.requests.current_index();
        let own = own.filter(|_| data.cause == Cause::Own);
        let versions = &mut self.core.versions;
        match self.in_place {
            true => versions.handed_over(name, data.lpn, own),
            false => versions.queued(name, data.lpn, own),
        }
        Some(name)
    }

    /// A unit is closed.
    pub(super) fn unit_takes_versions(&mut self, unit: u32) {
        if self.in_place {
            for &(name, lpn) in &self.units[unit].versions {
                self.core.versions.captured(name, lpn);
            }
        }
    }

    /// LV-1: the power is cut: open units are closed with padding, and collections that are not over are given up.
    pub(crate) fn power_ends(&mut self) {
        self.give_up_collecting();
        self.forget_mapping();
        self.waiting.clear();
        self.wanted = None;
        for frontier in 0..self.core.map.frontier_count() {
            for stream in self.core.map.writers().all() {
                self.close(stream, frontier);
            }
        }
    }

    /// The translation layer, once everything that was submitted is done.
    pub(crate) fn into_map(self) -> UnitMap {
        self.core.map
    }
}
