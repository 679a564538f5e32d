//! A device that is fed by hand: requests are submitted as they come, and what happens is told.
//!
//! It is the cache and the engine of a run without its trace, and gives the same record. Time passes
//! only when it is told to: [`LiveDevice::advance`]. Nothing here knows a clock of the world.
//!
//! The events tell which data survive a power cut: with a volatile cache the versions of pages that
//! were [`LiveEvent::Durable`] before it, with a non-volatile one all that was completed.

mod changes;
mod core;
mod error;
mod events;
mod figures;
mod hosted;

pub use crate::device::durability::DurablePart;
pub use error::SubmitError;
pub use events::{LiveEvent, Ticket};
pub use figures::LiveFigures;

use self::changes::Change;
use self::core::LiveCache;
use self::events::PendingEvents;
use crate::RunError;
use crate::cache::{page_sectors, page_span, wrap_extents};
use crate::device::durability::{DurableVersion, VersionNote, VersionStep};
use crate::run::footprint::check_memory;
use crate::run::front::{Front, HostedCache, OwnedRequest};
use crate::run::metadata_budget::{Capacity, Demand};
use crate::run::precondition::{address_space, prepared_map};
use crate::run::recording::Recording;
use crate::run::served::Served;
use crate::run::spec::{RunSpec, TimeScale, Warmup};
use destage_device::map::DeviceFull;
use destage_record::{ResultRecord, TraceInfo};
use destage_scheme::{PREFETCH, Role};
use destage_trace::Trace;
use destage_types::{
    Extent, HostRequest, Lpn, Nanos, Op, PageSize, RequestBatch, RequestFlags, RequestRef,
    SectorMask,
};

/// Response times of a kind that are kept exactly, so that percentiles of that many are exact.
const EXACT_TIMES: usize = 1 << 20;
/// Number of a request that nobody has sent.
const NOBODY: u64 = u64::MAX;
/// Samples of the lists of Req-block that are kept.
const LIST_SAMPLES: usize = 1 << 12;

/// One scheme, its cache and its device, fed by hand.
///
/// Memory is that of the run's tables, and beside them at most: 2^20 response times of each kind,
/// 2^12 samples, an entry for each page of which a version is not on flash
/// ([`LiveDevice::volatile_pages`]), and what is in flight.
pub struct LiveDevice {
    spec: RunSpec,
    capacity: Capacity,
    version: String,
    served: Served<LiveCache>,
    /// May requests have a preflush?
    preflush: bool,
    /// The cache that is to follow.
    change: Option<Box<Change>>,
    sectors: u64,
    clock: Nanos,
    /// Requests so far; number of the next one.
    requests: u64,
    /// Requests before the statistics began.
    measured_from: u64,
    pending: PendingEvents,
    /// Steps of versions that were not told yet, in order.
    told: Vec<LiveEvent>,
    /// Reused.
    durable: Vec<DurableVersion>,
    notes: Vec<VersionNote>,
}

impl LiveDevice {
    /// The device of `spec` at time 0, filled as its configuration says, but not with what a trace
    /// reads first (`precondition.trace`), which nobody knows: pages that were never written are not
    /// mapped. `version` is that of destage for the record.
    ///
    /// # Errors
    /// A rule of runs is broken; `spec` has no device, or a setting that makes sense for traces only:
    /// warm-up, time scale, closed loop, charged metadata, hits by size, a flush at the end, a scheme
    /// that knows the future.
    pub fn new(spec: &RunSpec, version: &str) -> Result<LiveDevice, RunError> {
        let capacity = checked(spec)?;
        let device = spec.device.as_ref();
        let device = device.expect("a run that can be live has a device");
        let nothing = Trace::generated("live", RequestBatch::new());
        let (wrap, seed) = (spec.wrap, spec.seed);
        let map = prepared_map(device, (&nothing).into(), wrap, seed, &mut |_| {})?;
        check_memory(capacity.frames)?;
        let cache = LiveCache::new(spec, capacity, map);
        let mut served = Served::new(cache, front_of(spec, false));
        served.restart_measuring();
        Ok(LiveDevice {
            spec: spec.clone(),
            capacity,
            version: version.to_owned(),
            served,
            preflush: false,
            change: None,
            sectors: address_space(device),
            clock: Nanos::ZERO,
            requests: 0,
            measured_from: 0,
            pending: PendingEvents::default(),
            told: Vec::new(),
            durable: Vec::new(),
            notes: Vec::new(),
        })
    }

    /// The same device before its first request, whose host may flush it before a write (preflush).
    #[must_use]
    pub fn with_preflush(mut self) -> LiveDevice {
        self.served.front = front_of(&self.spec, true);
        self.preflush = true;
        self
    }

    /// Sectors that the host can address.
    pub fn capacity_sectors(&self) -> u64 {
        self.sectors
    }

    /// The instant up to which time has passed.
    pub fn now(&self) -> Nanos {
        self.clock
    }

    /// Requests submitted so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Pages of which a version is not on flash.
    pub fn volatile_pages(&self) -> usize {
        let device = self.served.state().device();
        device.map_or(0, |device| device.versions.pages())
    }

    /// A request arrives at `at`, whatever its own arrival says. Time passes up to there; what
    /// happens meanwhile is told by the next [`LiveDevice::advance`]. A write with FUA has its data on flash when it
    /// completes.
    ///
    /// # Errors
    /// The request cannot be, and nothing has happened; or the device is full.
    pub fn submit(&mut self, at: Nanos, mut request: HostRequest) -> Result<Ticket, SubmitError> {
        self.check(at, &request)?;
        request.arrival = at;
        self.pass(at);
        let ticket = Ticket(self.requests);
        self.requests += 1;
        match &mut self.served.front {
            Some(front) => {
                let owned = OwnedRequest::new(RequestRef::new(&request));
                front.arrive(at, owned, ticket.0, true);
                let Ok(()) = self.let_in(at);
            }
            None => self.serve(RequestRef::new(&request), ticket, at),
        }
        self.collect();
        match self.served.fault() {
            Some(full) => Err(SubmitError::Full(Box::new(*full))),
            None => Ok(ticket),
        }
    }

    /// Does the cache survive a power cut?
    pub fn keeps_cache(&self) -> bool {
        let device = self.spec.device.as_ref();
        device.is_some_and(|device| device.keeps_cache())
    }

    /// A request comes to the cache at `now`.
    fn serve(&mut self, request: RequestRef<'_>, ticket: Ticket, now: Nanos) {
        if request.head.op == Op::Trim {
            self.served.cache.advance(now);
            self.collect_versions();
            let (extents, page) = (self.extents(request.head), self.spec.page);
            let whole = SectorMask::span(0, page.sectors());
            let covers = |lpn| extents.iter().any(|e| covers(e, lpn, page, whole));
            self.pending.trimmed(now, covers);
            self.told.push(LiveEvent::Trimmed { ticket });
        }
        if self.served.came.is_multiple_of(PREFETCH as u64) {
            self.served.cache.tidy();
        }
        let counts = ticket.0 >= self.measured_from;
        self.served.serve(request, ticket.0, now, counts);
        self.served.samples.thin(LIST_SAMPLES);
    }

    fn check(&self, at: Nanos, request: &HostRequest) -> Result<(), SubmitError> {
        if let Some(full) = self.served.fault() {
            return Err(SubmitError::Full(Box::new(*full)));
        }
        if at < self.clock {
            let now = self.clock.0;
            return Err(SubmitError::Past { at: at.0, now });
        }
        if at.0 >> 63 != 0 {
            return Err(SubmitError::TooLate { at: at.0 });
        }
        if self.is_changing() && request.op != Op::Flush {
            return Err(SubmitError::Changing);
        }
        if !request.is_all() {
            return Err(SubmitError::Sides);
        }
        if request.flags.any(RequestFlags::PREFLUSH) && !self.preflush {
            return Err(SubmitError::Preflush);
        }
        if request.op == Op::Flush {
            return Ok(());
        }
        let (start, count) = (request.start_sector, request.sectors);
        if count == 0 {
            return Err(SubmitError::Empty);
        }
        let end = start.checked_add(u64::from(count));
        match end {
            Some(end) if self.spec.wrap || end <= self.sectors => Ok(()),
            _ => Err(SubmitError::Beyond {
                start,
                count,
                sectors: self.sectors,
            }),
        }
    }

    fn extents(&self, request: &HostRequest) -> Vec<Extent> {
        let mut extents = vec![Extent::new(request.start_sector, request.sectors)];
        if self.spec.wrap {
            wrap_extents(&mut extents, self.sectors);
        }
        extents
    }

    /// When the next thing happens if nothing more is submitted: an event of this device, a step of
    /// its array, after which it is later, or a time that the scheme named. `None`: nothing will.
    pub fn next_event(&self) -> Option<Nanos> {
        let next = self.next_instant();
        let step = (next != Nanos::NEVER).then_some(next);
        [step, self.pending.next()].into_iter().flatten().min()
    }

    /// Lets time pass up to and including `to`, and appends what happened to `out`: what versions went through as it
    /// came, then the rest in order of time. Nothing if `to` is over; times from 2^63 ns on are cut to that.
    pub fn advance(&mut self, to: Nanos, out: &mut Vec<LiveEvent>) {
        let to = to.max(self.clock).min(Nanos(1 << 63));
        self.pass(to);
        out.append(&mut self.told);
        self.pending.take_until(to, out);
    }

    /// Has the device run out of space? Then nothing that waits is ever complete.
    pub fn fault(&self) -> Option<&DeviceFull> {
        self.served.fault()
    }

    fn pass(&mut self, to: Nanos) {
        self.pass_until_changed(to);
        if self.served.front.is_some() {
            let Ok(()) = self.pass_time(to);
        }
        self.clock = to;
        self.served.cache.advance(to);
        self.collect();
    }

    /// Takes over what became known.
    fn collect(&mut self) {
        if self.served.front.is_none() {
            let mut all = self.served.take_completions();
            let done = all.drain(..).filter(|done| done.index != NOBODY);
            done.for_each(|done| self.pending.completed(done));
            self.served.done = all;
        }
        self.collect_versions();
    }

    /// Takes over what became known of versions.
    fn collect_versions(&mut self) {
        if let Some(device) = self.served.cache.device_mut() {
            self.notes.append(&mut device.versions.notes);
            self.durable.append(&mut device.versions.durable);
        }
        for VersionNote { lpn, request, step } in self.notes.drain(..) {
            let ticket = Ticket(request);
            self.told.push(match step {
                VersionStep::Written => LiveEvent::Written { lpn, ticket },
                VersionStep::Captured => LiveEvent::Captured { lpn, ticket },
            });
        }
        self.durable
            .drain(..)
            .for_each(|version| self.pending.durable(version));
    }

    /// The result record up to now. Response times are those whose end is known.
    pub fn record(&self) -> ResultRecord {
        let (state, figures) = (self.served.state(), self.served.figures());
        self.recording().record(state, figures)
    }

    /// Ends the device as a run ends: all that is under way is completed, which counts in response
    /// and busy times and in nothing else of the record, and nothing more begins in the background.
    /// Requests that wait for frames get them first. The record is that of a run of the same
    /// requests.
    pub fn finish(mut self, out: &mut Vec<LiveEvent>) -> ResultRecord {
        // A request that cannot come to the cache is not complete; the events say so.
        let Ok(_) = self.let_all_in();
        let Ok((figures, _)) = self.end_at(self.clock);
        self.collect();
        out.append(&mut self.told);
        self.pending.take_until(Nanos::NEVER, out);
        self.recording().record(self.served.state(), figures)
    }

    fn recording(&self) -> Recording<'_> {
        Recording {
            spec: &self.spec,
            trace: TraceInfo {
                name: "live".to_owned(),
                requests: self.requests,
                format: "live".to_owned(),
                time_unit: None,
                sha256: None,
            },
            arrival_corrections: 0,
            modelled: false,
            capacity: self.capacity,
            warmup: self.measured_from,
            version: &self.version,
        }
    }
}

/// Is all of page `lpn`, `whole`, in the extent?
fn covers(extent: &Extent, lpn: Lpn, page: PageSize, whole: SectorMask) -> bool {
    let (first, pages) = page_span(extent, page);
    let pages = first.0..first.0 + u64::from(pages);
    pages.contains(&lpn.0) && page_sectors(extent, lpn, page) == whole
}

/// The host's side of the device of `spec`, if that is simulated.
fn front_of(spec: &RunSpec, preflush: bool) -> Option<Box<Front>> {
    let device = spec.device.as_ref();
    let mut front = device.and_then(|device| Front::new(device, spec.replay, preflush))?;
    front.bound_latencies(EXACT_TIMES);
    Some(Box::new(front))
}

/// The frames of a run that can be live.
fn checked(spec: &RunSpec) -> Result<Capacity, RunError> {
    spec.check()?;
    let no = [
        (spec.device.is_none(), "cache without a device"),
        (spec.warmup != Warmup::None, "warm-up"),
        (spec.time_scale != TimeScale::ONE, "time scale"),
        (spec.replay.depth().is_some(), "closed loop"),
        (spec.charge_metadata, "metadata charged to the cache"),
        (spec.hits_by_size, "hits by size"),
        (spec.flush_at_end, "flush at the end"),
        (
            spec.expr.scheme().role == Role::Offline,
            "scheme that knows the future",
        ),
    ];
    if let Some((_, what)) = no.iter().find(|(asked, _)| *asked) {
        return Err(RunError::NotLive((*what).to_owned()));
    }
    spec.capacity_for(Demand::LEAST)
}
