//! The timed flash behind the cache: the array, the mapping, and the requests in flight.
//!
//! The engine is passive: [`Flash::step`](crate::Flash::step) lets time pass up to a given instant,
//! the cache submits operations, and completions come out. It neither sleeps nor reads a clock, so
//! trace replay and a live device can drive the same code.
//!
//! A request's way is in `requests`: the mapping says where a page is or goes, the operation is
//! added to those in flight and submitted to the array. The array appends what it finds out to its
//! notices, and `Engine::take_notices` hands them to the requests in flight after every call.

mod cache_region;
mod gc;
mod in_flight;
mod multi_plane;
mod pending_writes;
mod report;
mod requests;
#[cfg(test)]
mod tests;
mod write_back;

pub use in_flight::OperationTimes;

use crate::device::DeviceCore;
use crate::device::array::array_config;
use cache_region::RegionAccess;
use destage_device::config::{DeviceConfig, QueueOrder, Suspend};
use destage_device::map::{GcWork, PageMap, PhysicalPage};
use destage_device::nand::{ArrayConfig, FlashCommand, Nand, Notice, OpId};
use destage_types::{Nanos, Ppn};
use gc::GcJobs;
use in_flight::InFlight;
use multi_plane::MultiPlaneBatch;
use pending_writes::PendingWrites;
use write_back::WriteBackReads;

/// One device.
pub struct Engine {
    core: DeviceCore<PageMap>,
    in_flight: InFlight,
    /// Garbage collection that was submitted.
    gc: GcJobs,
    /// Work that write-backs made necessary as they started.
    due: DueWork,
    /// Multi-plane commands of the request, if the device has them.
    multi_plane: Option<MultiPlaneBatch>,
    /// The part of the array that holds the cache, if one does.
    cache_region: Option<RegionAccess>,
    /// Array times of background programs that have started, to be told.
    late_times: Vec<(OpId, Nanos)>,
    reads_first: bool,
    /// Is the cache told of idle channels and of the ends of background work?
    watches_idle: bool,
    /// Reads before background write-backs: those that were queued and not taken back, and those that had
    /// started when the measured part began.
    write_back_reads: WriteBackReads,
    reads_before: WriteBackReads,
}

/// Work that becomes due when a background program starts and its page is mapped.
#[derive(Default)]
struct DueWork {
    /// Collections that made room for it.
    gc: GcWork,
    /// Summary pages of blocks whose last data page it took.
    summaries: Vec<PhysicalPage>,
}

impl Engine {
    /// A device at rest at time 0. `map` is its translation layer, preconditioned; with
    /// `background` the cache is told of idle channels and ends of background work.
    pub fn new(config: &DeviceConfig, map: PageMap, background: bool) -> Engine {
        let reads_first = config.queue == QueueOrder::ReadFirst;
        let nand = ArrayConfig {
            watch_idle: background,
            // Their pages are chosen when they start.
            late_times: background && config.t_program.differ(),
            ..array_config(config, config.queue_per)
        };
        let mut in_flight = InFlight::new();
        let multi_plane = MultiPlaneBatch::new(config);
        let cache_region = config.cache_region.as_ref().map(RegionAccess::new);
        // In a FIFO the program stands before a read of its page, unless it waits for a GC job that
        // the read may pass, for a read of the cache, which may wait in turn, or for a chip that
        // the read does not go to; nor may a read join one that stands before the program.
        let passes_jobs = config.collects_in_background();
        // One that is suspended has started, and its page is not there before its end.
        let suspends = config.suspend == Suspend::ProgramErase;
        let in_flash = cache_region.is_some();
        let overtakes = reads_first || passes_jobs || multi_plane.is_some() || in_flash || suspends;
        in_flight.pending_writes = overtakes.then(PendingWrites::default);
        in_flight.reads_pass_started = suspends;
        in_flight.pending_cache_writes = in_flash.then(PendingWrites::default);
        Engine {
            core: DeviceCore::new(config, Nand::new(&nand), map),
            in_flight,
            gc: GcJobs::new(config),
            due: DueWork::default(),
            multi_plane,
            cache_region,
            late_times: Vec::new(),
            reads_first,
            watches_idle: background,
            write_back_reads: WriteBackReads::default(),
            reads_before: WriteBackReads::default(),
        }
    }

    /// Keeps the times of programs of host data and of accesses of a cache in flash from now on.
    pub fn keep_operations(&mut self) {
        self.core.assert_observable();
        self.in_flight.kept = Some(Vec::new());
    }

    /// Those that were timed since the last call, if they are kept.
    pub fn take_operations(&mut self) -> Vec<OperationTimes> {
        let kept = self.in_flight.kept.as_mut();
        kept.map(std::mem::take).unwrap_or_default()
    }

    /// The instant up to which time has passed.
    pub fn now(&self) -> Nanos {
        self.core.now
    }

    /// The translation layer, once everything that was submitted is done.
    pub(crate) fn into_map(self) -> PageMap {
        self.core.map
    }

    /// The array.
    pub fn nand(&self) -> &Nand {
        &self.core.nand
    }

    /// Submits the operation of an entry of the requests in flight.
    #[inline]
    fn submit(&mut self, command: FlashCommand) -> OpId {
        if command.notify_end {
            self.in_flight.ops[command.token].tells_end = true;
        }
        let id = self.core.nand.submit(self.core.now, command);
        self.submitted(id, &command);
        self.take_notices();
        id
    }

    /// Takes in what the array has found out since the last call.
    #[inline]
    fn take_notices(&mut self) {
        if self.core.nand.has_notices() {
            self.take_all_notices();
        }
    }

    fn take_all_notices(&mut self) {
        let mut at = 0;
        while at < self.core.nand.notice_count() {
            let notice = self.core.nand.notice(at);
            at += 1;
            let started = match notice {
                Notice::Timed { token, times } => {
                    self.in_flight.timed(&mut self.core, token, times)
                }
                Notice::Started {
                    token,
                    start,
                    last_transfer,
                } => {
                    let core = &mut self.core;
                    self.in_flight.started(core, token, start, last_transfer)
                }
                Notice::Ended { token, .. } => {
                    self.in_flight.ended(token);
                    None
                }
                Notice::Moved { .. } | Notice::Idle { .. } => None,
            };
            let Some(started) = started else {
                continue;
            };
            // The mapping changes when a write-back starts.
            let (lpn, plane) = (started.lpn, started.plane);
            let mut page = None;
            match self.core.map.host_write(lpn, plane, &mut self.due.gc) {
                Ok(placed) => {
                    page = Some(placed.place.ppn);
                    self.due.summaries.extend(placed.summary);
                    self.core
                        .map
                        .collect_behind_program(placed.place.plane, &mut self.due.gc);
                }
                Err(full) => {
                    self.core.full.get_or_insert(full);
                }
            }
            if self.core.costs.programs_differ() {
                let id = self.in_flight.ops[started.token].id;
                let id = id.expect("a queued write-back was submitted");
                let time = page.and_then(|page| self.array_time(page));
                self.late_times
                    .push((id, time.unwrap_or(self.core.costs.flash.program)));
            }
        }
        self.core.nand.drain_notices();
        if !self.late_times.is_empty() {
            self.tell_late_times();
        }
    }

    /// Tells the array times of background programs that have started, and takes in what comes of it.
    #[cold]
    fn tell_late_times(&mut self) {
        let mut late = std::mem::take(&mut self.late_times);
        for (id, time) in late.drain(..) {
            self.core.nand.set_array_time(id, time);
        }
        self.late_times = late;
        self.take_notices();
    }

    /// Array time of the program of a physical page, where pages differ.
    #[inline(never)]
    fn array_time(&self, page: Ppn) -> Option<Nanos> {
        let page = self.core.map.page_of_block(page);
        self.core.costs.program_time(page)
    }

    /// Lets time pass up to `until`, or up to the next instant at which the cache may act.
    fn advance(&mut self, until: Nanos) -> Option<Nanos> {
        if !self.watches_idle && !self.gc.background {
            self.core.nand.advance(until);
            self.take_notices();
            self.core.now = until;
            return None;
        }
        loop {
            let at = self.core.nand.step(until);
            if at.is_none() && until != Nanos::NEVER {
                self.core.nand.advance(until);
            }
            self.take_notices();
            self.core.now = at.unwrap_or(until);
            self.submit_due();
            self.collect_after_erases();
            if at.is_none() || self.watches_idle {
                return at;
            }
        }
    }
}
