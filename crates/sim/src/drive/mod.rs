//! The timed flash of a drive that maps, programs and collects in units of its own (spec D-1 to D-12).
//!
//! `destage_device::map` says where data are ([`UnitMap`]), `destage_device::nand` when dies and buses work
//! ([`Nand`]). This engine carries decisions between them:
//!
//! - `writes`: mapping units are handed over, fill open units, and full units become programs;
//! - `open_units`: units that are open, queued or running;
//! - `waiting`: what no frontier can take yet;
//! - `flushes`: what FLUSH and FUA wait for;
//! - `collect`: collection that is paced by a debt, and when data leave the SLC cache;
//! - `mapping`: a mapping table that is not all in memory;
//! - `parity`: units of parity, which follow those of data;
//! - `reads`: what a request misses in one page is one read;
//! - `flash`: what the cache asks for;
//! - `versions`: which version of a mapping unit is on flash, and what a power cut leaves.

mod collect;
mod flash;
mod flushes;
mod mapping;
mod open_units;
mod parity;
mod reads;
mod versions;
mod waiting;
mod writes;

#[cfg(test)]
mod tests;

pub use reads::DriveReads;

use crate::device::DeviceCore;
use crate::device::array::array_config;
use crate::device::slab::Slab;
use crate::device::timeline::Purpose;
use collect::{Collectors, Folding};
use destage_device::config::{
    DeviceConfig, EvictWait, FrameRelease, ReadRetry, RetryStep, Rewrite,
};
use destage_device::map::{FlashMap, UnitMap};
use destage_device::nand::{DriveOp, DriveRules, FlashCommand, Nand, Notice, OpId, Retry};
use destage_types::{ChipId, Lpn, Nanos, QueuePer};
use mapping::{CachedMapping, MapEvent};
use open_units::{OpenUnits, ProgramUnit};
use std::collections::VecDeque;
use waiting::Waiting;

/// The purpose of an operation of the array. Its place in [`Drive::uses`] is the operation's token.
#[derive(Clone, Copy, Debug)]
enum Use {
    /// A read of a request.
    Read { request: u32 },
    /// The old data of a mapping unit that is written in part, for a unit.
    Before { unit: u32 },
    /// A program of a unit.
    Program { unit: u32 },
    /// A read of a GC unit's collector.
    Collect { gc: u32 },
    /// An erase of a block.
    Erase { block: u32 },
    /// A read of a translation page.
    Mapping(MapEvent),
}

/// What the cache is told.
#[derive(Clone, Debug, Default)]
struct Told {
    /// Frames whose data were handed over, by name, with their unit.
    frames: Slab<Option<u32>>,
    /// Those whose data are on flash since the cache looked.
    freed: Vec<u32>,
    /// Is a layer that drains to be asked (D-9): did a program of the host end, was a held unit closed, or may there be
    /// room?
    asks_scheme: bool,
    /// Did something end since the last step?
    acted: bool,
    /// Is the cache told of each end, as a channel may be idle then?
    watches_channels: bool,
}

/// Steps of reading again, with the share of all reads that come to each.
fn retries(steps: Option<&ReadRetry>) -> Vec<Retry> {
    let mut share = 1.0;
    let step = |step: &RetryStep| {
        share *= step.share.as_f64();
        Retry {
            up_to: (share * (1_u64 << 53) as f64).ceil() as u64,
            time: step.time.times(1).0,
        }
    };
    steps
        .into_iter()
        .flat_map(ReadRetry::steps)
        .map(step)
        .collect()
}

/// One drive.
pub struct Drive {
    core: DeviceCore<UnitMap>,
    uses: Slab<Use>,
    units: Slab<ProgramUnit>,
    open: OpenUnits,
    /// Data that no frontier could take, in order.
    waiting: VecDeque<Waiting>,
    /// The mapping unit that the cache keeps because no frontier could take it.
    wanted: Option<Lpn>,
    collectors: Collectors,
    /// If there is an SLC cache.
    folding: Option<Folding>,
    reads: reads::Reads,
    /// The device, if requests have handles.
    handles: Option<Box<DeviceConfig>>,
    /// If not all of the mapping table is in memory.
    mapping: Option<CachedMapping>,
    told: Told,
    bounded: bool,
    in_place: bool,
    release: FrameRelease,
    /// Name of the next version that is handed over.
    next_version: u32,
}

impl Drive {
    /// A drive at rest at time 0, with its translation layer preconditioned.
    pub fn new(config: &DeviceConfig, mut map: UnitMap, seed: u64) -> Drive {
        map.start_slc();
        map.reset_handle_counts();
        let shape = *map.shape();
        let unit = u64::from(shape.unit());
        let rules = DriveRules {
            gates: map.gc_units(),
            gc_burst: config.gc_burst.map_or(unit, u64::from),
            tells_progress: config.gc_hold == Some(true)
                || config.evict_wait == EvictWait::TransferDone
                || config.frame_release == Some(FrameRelease::TransferEnd),
            retries: retries(config.read_retry.as_ref()),
            retries_suspended: retries(config.steps_beside_suspended()),
            seed,
        };
        let nand = Nand::of_drive(&array_config(config, QueuePer::Die), rules);
        let mut drive = Drive {
            uses: Slab::new(),
            units: Slab::new(),
            open: OpenUnits::new(config, &map),
            waiting: VecDeque::new(),
            wanted: None,
            collectors: Collectors::new(config, &map),
            folding: Folding::new(config),
            reads: reads::Reads::new(config),
            handles: (config.handles() > 1).then(|| Box::new(config.clone())),
            mapping: CachedMapping::new(config),
            told: Told::default(),
            bounded: config.is_bounded(),
            in_place: config.rewrite == Some(Rewrite::InPlace),
            release: config.frame_release.unwrap_or(FrameRelease::ProgramEnd),
            next_version: 0,
            core: DeviceCore::new(config, nand, map),
        };
        drive.resume_collecting();
        drive
    }

    /// The next instant at which something may happen.
    fn next_instant(&self) -> Nanos {
        if self.core.nand.is_unsettled() || self.is_unsettled() {
            return self.core.now;
        }
        let pause = self.collectors.next_pause_end();
        let next = self.core.nand.next_event_time().min(pause);
        let memory = self
            .mapping
            .as_ref()
            .map_or(Nanos::NEVER, CachedMapping::next_end);
        let next = next.min(self.next_idle()).min(memory);
        match self.open.hold {
            None => next,
            Some(_) => next.min(self.open.next_hold()),
        }
    }

    /// Lets time pass up to `until`, or up to the next instant at which the cache may act.
    fn advance(&mut self, until: Nanos) -> Option<Nanos> {
        loop {
            let at = self.next_instant();
            if at > until || at == Nanos::NEVER {
                if at == Nanos::NEVER {
                    self.check_room();
                }
                if until != Nanos::NEVER {
                    self.pass_to(until);
                }
                return None;
            }
            self.core.now = at;
            self.collectors.end_pause(at);
            self.come_to_rest();
            self.settle();
            if self.close_held() {
                continue;
            }
            if std::mem::take(&mut self.told.acted) {
                self.pass_to(at);
                return Some(at);
            }
        }
    }

    /// Time has passed up to `now`, and nothing is due by then.
    fn pass_to(&mut self, now: Nanos) {
        self.core.now = now;
        self.core.nand.pass_to(now);
    }

    /// One instant: ends of phases, then collectors, then what may start; until there is nothing to do.
    fn settle(&mut self) {
        while self.is_unsettled() || self.core.nand.has_work(self.core.now) {
            self.core.nand.end_phases(self.core.now);
            self.end_waits_for_memory();
            self.take_ended();
            self.step_collectors();
            self.core.nand.grant();
            self.take_ended();
            // Phases of no length end first.
            if !self.core.nand.has_work(self.core.now) {
                self.free_slots();
            }
        }
    }

    /// Is there something to do in this instant beside the array?
    fn is_unsettled(&self) -> bool {
        let table = self.mapping.as_ref();
        self.collectors.any_looks() || table.is_some_and(|table| table.is_due(self.core.now))
    }

    /// Takes in what the array has found out.
    fn take_ended(&mut self) {
        let mut at = 0;
        while at < self.core.nand.notice_count() {
            let notice = self.core.nand.notice(at);
            at += 1;
            match notice {
                Notice::Ended { token, at } => self.ended(token, at),
                Notice::Moved { token } => {
                    if let Use::Program { unit } = self.uses[token] {
                        self.data_moved(unit);
                    }
                }
                Notice::Started { token, .. } => {
                    if let Use::Program { unit } = self.uses[token]
                        && self.units[unit].is_of_host()
                    {
                        let gc = self.core.map.gc_of(self.units[unit].frontier);
                        self.collectors.program_started(gc, token);
                    }
                }
                Notice::Timed { .. } | Notice::Idle { .. } => {}
            }
        }
        self.core.nand.drain_notices();
    }

    fn ended(&mut self, token: u32, at: Nanos) {
        self.told.acted |= self.told.watches_channels;
        match self.uses.remove(token) {
            Use::Read { request } => self.core.requests.ended(request, at),
            Use::Before { unit } => self.read_before(unit),
            Use::Program { unit } => self.unit_ended(unit),
            Use::Collect { gc } => self.moved(gc),
            Use::Erase { block } => self.erased(block),
            Use::Mapping(event) => self.map_event(event),
        }
    }

    fn submit(
        &mut self,
        what: Use,
        command: FlashCommand,
        op: &DriveOp<'_>,
        purpose: impl FnOnce(&Drive) -> Purpose,
    ) -> OpId {
        let token = self.uses.add(what);
        let command = FlashCommand { token, ..command }.notify_end();
        let id = self.core.nand.submit_of_drive(self.core.now, &command, op);
        if self.core.timeline.is_some() {
            let purpose = purpose(self);
            self.core.note(id.number(), &command, purpose);
        }
        id
    }

    /// The current request writes a mapping unit.
    fn note_handle(&mut self, lpn: Lpn) {
        if self.handles.is_some()
            && let Some(handle) = self.core.requests.handle()
            && self.core.map.note_handle(lpn, handle)
        {
            self.collectors.look_at_all();
        }
    }

    /// A read of the page that holds a place, or of the same page in all planes: `grants` has the time of each page on
    /// the bus, and `sectors` are moved.
    fn read_command(&self, place: u64, grants: &[u64], sectors: u32) -> FlashCommand {
        let (shape, costs) = (self.core.map.shape(), &self.core.costs);
        let array = match self.slc_times(shape.block(place)) {
            Some(slc) => Some(slc.read),
            None => costs.read_time(shape.page_of_place(place)),
        };
        FlashCommand {
            array,
            ..FlashCommand::read(ChipId(shape.die_of(place)), Nanos(grants.iter().sum()), 0)
                .planes(grants.len() as u32)
                .bytes(costs.bytes(sectors))
        }
    }

    /// The power has come back: is there something to collect?
    pub(crate) fn wake(&mut self) {
        self.collectors.look_at_all();
    }
}
