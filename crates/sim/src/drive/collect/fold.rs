//! When data leave the SLC cache (S-1.5): an idle drive folds its SLC blocks, or the host waits for one.
//!
//! Folding is collection of an SLC block, and its places go where those of other blocks go. It waits for what the collector
//! owes.

use crate::drive::Drive;
use destage_device::config::{DeviceConfig, SlcTimes};
use destage_device::map::UnitStream;
use destage_types::Nanos;

/// The rules of the SLC cache, and whether the drive is idle.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Folding {
    times: SlcTimes,
    /// An idle drive folds so long after its last command has left.
    idle: Option<Nanos>,
    /// Full SLC blocks of a GC unit that it keeps.
    keep: u32,
    /// The rest in which the collectors were told that it is time.
    told: Option<Nanos>,
}

impl Folding {
    /// That of a device, if it has an SLC cache.
    pub fn new(config: &DeviceConfig) -> Option<Folding> {
        config.has_slc().then(|| Folding {
            times: config.slc_times(),
            idle: config.slc_idle_time(),
            keep: config.slc_keep.unwrap_or(0),
            told: None,
        })
    }
}

/// Why SLC blocks are folded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FoldCause {
    /// The drive is idle.
    Idle,
    /// Data of the host wait for a block.
    Wait,
}

impl Drive {
    /// Times of a block, if it is in SLC mode.
    pub(in crate::drive) fn slc_times(&self, block: u32) -> Option<SlcTimes> {
        let folding = self.folding.as_ref()?;
        self.core.map.is_slc(block).then_some(folding.times)
    }

    /// When the present rest has lasted so long that the drive folds, if it has not been told so.
    pub(in crate::drive) fn next_idle(&self) -> Nanos {
        let idle = || {
            let folding = self.folding.as_ref()?;
            let since = self.core.at_rest_since()?;
            let at = Nanos(since.0.saturating_add(folding.idle?.0));
            (folding.told != Some(since)).then_some(at.max(self.core.now))
        };
        idle().unwrap_or(Nanos::NEVER)
    }

    /// The drive may be idle from now on.
    pub(in crate::drive) fn come_to_rest(&mut self) {
        if self.next_idle() <= self.core.now {
            let since = self.core.at_rest_since();
            if let Some(folding) = &mut self.folding {
                folding.told = since;
            }
            self.collectors.look_at_all();
        }
    }

    /// The run is over: an idle drive folds no more.
    pub(in crate::drive) fn stop_folding(&mut self) {
        if let Some(folding) = &mut self.folding {
            folding.idle = None;
        }
    }

    fn is_idle(&self) -> bool {
        let folding = self.folding.as_ref();
        let idle = folding.and_then(|folding| folding.idle);
        let since = self.core.at_rest_since();
        idle.zip(since)
            .is_some_and(|(idle, since)| since.0.saturating_add(idle.0) <= self.core.now.0)
    }

    /// Why a GC unit folds now, if it does: not while it owes places, or lacks free blocks.
    pub(super) fn fold_cause(&mut self, gc: u32) -> Option<FoldCause> {
        self.folding.as_ref()?;
        let map = &self.core.map;
        if self.collectors.of(gc).owed >= 1.0 || map.free_blocks(gc) <= map.gc_low() {
            return None;
        }
        let waits = || {
            let mut frontiers = map.frontiers_of_gc(gc);
            let stream = self.next_for_room().map(|lpn| map.host_of(lpn));
            stream.is_some_and(|stream| frontiers.any(|of| map.waits_for_folding(stream, of)))
        };
        if waits() {
            return Some(FoldCause::Wait);
        }
        self.is_idle().then_some(FoldCause::Idle)
    }

    /// The SLC block that a GC unit folds next.
    pub(super) fn fold_victim(&self, gc: u32, cause: FoldCause) -> Option<u32> {
        let closed = self.core.map.closed_slc_blocks(gc);
        let keep = match (cause, &self.folding) {
            (FoldCause::Idle, Some(folding)) => folding.keep,
            _ => 0,
        };
        (closed > keep)
            .then(|| self.core.map.fold_victim(gc))
            .flatten()
    }

    /// The host waits for a block that only an open unit of the collector holds back: nothing else is on its way, so the
    /// unit is closed with padding.
    pub(super) fn close_for_fold(&mut self, gc: u32) {
        let rests = self.core.map.closed_slc_blocks(gc) == 0
            && self.collectors.of(gc).is_at_rest()
            && !self.collector_programs(gc);
        if rests {
            self.close_open_units_of_collector(gc);
        }
    }

    /// Is a program of a GC unit's collector queued or running?
    fn collector_programs(&self, gc: u32) -> bool {
        let mut units = self.units.rows().map(|(_, unit)| unit);
        units.any(|unit| {
            let own = matches!(unit.stream, UnitStream::Collector(_)) && unit.queued;
            own && self.core.map.gc_of(unit.frontier) == gc
        })
    }
}
