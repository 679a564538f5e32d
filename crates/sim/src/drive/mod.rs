//! The timed flash of a drive that maps, programs and collects in units of its own (spec D-1 to D-12).
//!
//! `destage_device::drive` says where data are ([`UnitMap`]) and when dies and buses work ([`DriveArray`]). This
//! engine carries decisions between them:
//!
//! - `writes`: mapping units are handed over, fill open units, and full units become programs;
//! - `waiting`: what no frontier can take yet;
//! - `flushes`: what FLUSH and FUA wait for;
//! - `collect`: collection that is paced by a debt;
//! - `reads`: what a request misses in one page is one read;
//! - `requests`: when a request is complete;
//! - `flash`, `report`, `timeline`: what the cache and the run ask for;
//! - `versions`: which version of a mapping unit is on flash, and what a power cut leaves.

mod collect;
mod flash;
mod flushes;
mod reads;
mod report;
mod requests;
mod timeline;
mod versions;
mod waiting;
mod writes;

#[cfg(test)]
mod tests;

pub use reads::DriveReads;
pub use writes::FrameToken;

use crate::engine::slab::Slab;
use collect::Collector;
use destage_device::config::{
    Allocation, DeviceConfig, EvictWait, EvictWaitRead, FrameRelease, PageTimes, RetryStep, Rewrite,
};
use destage_device::drive::{ArrayRules, DriveArray, Ended, Milestone, NewOp, Retry, UnitMap};
use destage_device::ftl::DeviceFull;
use destage_record::Counts;
use destage_scheme::FlashCosts;
use destage_types::{Lpn, Nanos, OpKind, SECTOR_BYTES};
use requests::Requests;
use std::collections::VecDeque;
use waiting::Waiting;
use writes::{OpenUnits, ProgramUnit};

/// Times of operations in ns, and sizes.
#[derive(Clone, Debug)]
struct Costs {
    cmd_read: u64,
    cmd_erase: u64,
    /// Command of a program with its page.
    page_program: u64,
    /// Array times by page of a word line.
    program: Vec<u64>,
    read: Vec<u64>,
    erase: u64,
    /// Bytes of a sector, of a mapping unit and of a page on the bus.
    sector_bytes: u64,
    unit_bytes: u64,
    page_bytes: u64,
    t_byte: destage_types::Picos,
}

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
}

/// Steps of reading again, with the share of all reads that come to each.
fn retries(config: &DeviceConfig) -> Vec<Retry> {
    let steps = config
        .read_retry
        .as_ref()
        .map_or(&[][..], |retry| retry.steps());
    let mut share = 1.0;
    let step = |step: &RetryStep| {
        share *= step.share.as_f64();
        Retry {
            up_to: (share * (1_u64 << 53) as f64).ceil() as u64,
            time: step.time.times(1).0,
        }
    };
    steps.iter().map(step).collect()
}

/// One drive.
pub struct Drive {
    array: DriveArray,
    map: UnitMap,
    costs: Costs,
    uses: Slab<Use>,
    units: Slab<ProgramUnit>,
    open: OpenUnits,
    /// Data that no frontier could take, in order.
    waiting: VecDeque<Waiting>,
    /// The mapping unit that the cache keeps because no frontier could take it.
    wanted: Option<Lpn>,
    collectors: Vec<Collector>,
    /// Which collectors have something to look at, and has any?
    looking: Vec<bool>,
    looks: bool,
    requests: Requests,
    reads: DriveReads,
    /// Reads of the current request, by page.
    misses: Vec<reads::PageMiss>,
    /// Frames whose data were handed over, by name, with their unit.
    frames: Slab<Option<u32>>,
    /// Those whose data are on flash since the cache looked.
    freed: Vec<FrameToken>,
    /// Is a layer that drains to be asked (D-9): did a program of the host end, was a held unit closed, or may there be
    /// room?
    asks_scheme: bool,
    bounded: bool,
    in_place: bool,
    ended: Vec<Ended>,
    release: FrameRelease,
    dynamic: bool,
    hold: Option<u64>,
    waits: (EvictWait, EvictWaitRead),
    pace: collect::CollectPace,
    pause: Option<collect::PauseClock>,
    full: Option<Box<DeviceFull>>,
    traffic: Counts,
    now: Nanos,
    /// Did something end since the last step?
    acted: bool,
    /// Is the cache told of each end, as a channel may be idle then?
    watches_channels: bool,
    report: report::Before,
    view_costs: FlashCosts,
    /// Recorder of a timeline, if one is asked for.
    timeline: Option<Box<timeline::DriveRecorder>>,
    /// Which versions are on flash, if that is kept.
    versions: Option<Box<versions::UnitVersions>>,
}

impl Drive {
    /// A drive at rest at time 0, with its translation layer preconditioned.
    pub fn new(config: &DeviceConfig, map: UnitMap, seed: u64) -> Drive {
        let shape = *map.shape();
        let t = |ps: destage_types::Picos| ps.times(1).0;
        let sectors = |bytes: u64| bytes / SECTOR_BYTES * u64::from(config.sector_bytes);
        let page_bytes = sectors(config.geometry.page.bytes());
        let unit_bytes = sectors(config.mapping().bytes());
        let unit = u64::from(shape.unit());
        let rules = ArrayRules {
            channels: config.geometry.channels,
            dies_per_channel: shape.dies / config.geometry.channels,
            queue: config.queue,
            suspend: config.suspend,
            t_suspend: config.t_suspend.map_or(0, t),
            t_resume: t(config.t_resume),
            max_suspends: config.max_suspends,
            gc_burst: config.gc_burst.map_or(unit, u64::from),
            tells_starts: config.gc_hold == Some(true),
            retries: retries(config),
        };
        let by_page = |times: &PageTimes, more: u64| {
            let times = times.of_types();
            times.iter().map(|time| time.0 + more).collect()
        };
        let collectors = (0..map.gc_units()).map(|_| Collector::default()).collect();
        Drive {
            array: DriveArray::new(rules, map.gc_units(), seed),
            costs: Costs {
                cmd_read: t(config.t_cmd_read),
                cmd_erase: t(config.t_cmd_erase),
                page_program: t(config.t_cmd_program) + config.t_byte.times(page_bytes).0,
                program: by_page(&config.t_program, 0),
                read: by_page(&config.t_read, t(config.t_ready)),
                erase: t(config.t_erase),
                sector_bytes: u64::from(config.sector_bytes),
                unit_bytes,
                page_bytes,
                t_byte: config.t_byte,
            },
            uses: Slab::new(),
            units: Slab::new(),
            open: OpenUnits::new(&map),
            waiting: VecDeque::new(),
            wanted: None,
            collectors,
            looking: vec![false; map.gc_units() as usize],
            looks: false,
            requests: Requests::new(config),
            reads: DriveReads::default(),
            misses: Vec::new(),
            frames: Slab::new(),
            freed: Vec::new(),
            asks_scheme: false,
            bounded: config.is_bounded(),
            in_place: config.rewrite == Some(Rewrite::InPlace),
            ended: Vec::new(),
            release: config.frame_release.unwrap_or(FrameRelease::ProgramEnd),
            dynamic: config.allocation == Allocation::Dynamic,
            hold: config.unit_hold.map(t),
            waits: (config.evict_wait, config.evict_wait_read),
            full: None,
            traffic: Counts::default(),
            now: Nanos::ZERO,
            acted: false,
            watches_channels: false,
            report: report::Before::default(),
            timeline: None,
            versions: None,
            view_costs: FlashCosts {
                read: config.t_read.mean() + config.t_ready.times(1),
                program: config.t_program.mean(),
                erase: config.t_erase.times(1),
                transfer: config.page_transfer(),
                program_transfer: Nanos(config.page_transfer().0 * u64::from(shape.unit_pages())),
                pages_per_block: u64::from(shape.places),
                pages_per_program: u64::from(shape.unit()),
            },
            map,
            pace: collect::CollectPace::new(config, &shape),
            pause: collect::PauseClock::new(config),
        }
    }

    /// Time of so many bytes on the bus.
    fn transfer(&self, bytes: u64) -> u64 {
        self.costs.t_byte.times(bytes).0
    }

    /// The next instant at which something may happen.
    fn next_instant(&self) -> Nanos {
        if self.array.is_unsettled() || self.looks {
            return self.now;
        }
        let pause = self.pause.map_or(Nanos::NEVER, |pause| pause.next_end());
        let next = self.array.next_event().min(pause);
        match self.hold {
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
                self.now = if until == Nanos::NEVER {
                    self.now
                } else {
                    until
                };
                return None;
            }
            self.now = at;
            self.end_pause();
            self.settle();
            if self.close_held() {
                continue;
            }
            if std::mem::take(&mut self.acted) {
                return Some(at);
            }
        }
    }

    /// One instant: ends of phases, then collectors, then what may start; until there is nothing to do.
    fn settle(&mut self) {
        while self.looks || self.array.has_work(self.now) {
            self.array.end_phases(self.now);
            self.take_ended();
            self.step_collectors();
            self.array.grant(self.now);
            self.take_ended();
        }
    }

    /// Takes in what the array has found out.
    fn take_ended(&mut self) {
        if !self.array.has_ended() {
            return;
        }
        let mut ended = std::mem::take(&mut self.ended);
        self.array.take_ended(&mut ended);
        for end in ended.drain(..) {
            self.take(end);
        }
        self.ended = ended;
    }

    fn take(&mut self, end: Ended) {
        let what = self.uses[end.token];
        if let (Use::Program { unit }, Milestone::Started | Milestone::Moved) = (what, end.what) {
            return match end.what {
                Milestone::Moved => self.data_moved(unit),
                _ => self.host_program_started(end.token, unit),
            };
        }
        self.uses.remove(end.token);
        self.acted |= self.watches_channels;
        match what {
            Use::Read { request } => self.requests.ended(request, end.at),
            Use::Before { unit } => self.read_before(unit),
            Use::Program { unit } => self.unit_ended(unit),
            Use::Collect { gc } => self.moved(gc),
            Use::Erase { block } => self.erased(block),
        }
    }

    fn submit(&mut self, what: Use, op: NewOp<'_>) -> u32 {
        let token = self.uses.add(what);
        self.array.submit(self.now, &NewOp { token, ..op })
    }

    /// Array time of the page that holds a place, of `times` by page of a word line.
    fn page_time(&self, times: &[u64], place: u64) -> u64 {
        let shape = self.map.shape();
        let at = (place - shape.first(shape.block(place))) as u32;
        times[shape.page_of_block(at) as usize % times.len()]
    }

    /// A read of the page that holds a place, or of the same page in all planes: `data` has the time of each page on
    /// the bus.
    fn read_op<'a>(&self, place: u64, data: &'a [u64], bytes: u64) -> NewOp<'a> {
        NewOp {
            die: self.map.shape().die_of(place),
            kind: OpKind::Read,
            collects: false,
            gate: None,
            token: 0,
            command: self.costs.cmd_read,
            commands: 1,
            array: self.page_time(&self.costs.read, place),
            data,
            bytes,
            waits: 0,
        }
    }
}
