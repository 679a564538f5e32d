//! A device that is fed by hand: requests are submitted as they come, and what happens is told.
//!
//! It is the cache and the engine of a run without its trace, and gives the same record. Time passes
//! only when it is told to: [`LiveDevice::advance`]. Nothing here knows a clock of the world.
//!
//! What a power cut leaves follows from the events: with a volatile cache those versions of pages
//! that were [`LiveEvent::Durable`] before it, with a non-volatile one all that was completed.

mod changes;
mod core;
mod error;
mod events;
mod figures;

pub use crate::engine::DurablePart;
pub use error::SubmitError;
pub use events::{LiveEvent, Ticket};
pub use figures::LiveFigures;

use self::core::LiveCache;
use self::events::PendingEvents;
use crate::RunError;
use crate::cache::sample::{SAMPLE_EVERY, Samples};
use crate::cache::{page_sectors, page_span, wrap_extents};
use crate::engine::{DurableVersion, Engine};
use crate::flash::FlashReport;
use crate::run::footprint::check_memory;
use crate::run::mapping::Mapping;
use crate::run::metadata_budget::{Capacity, Demand};
use crate::run::precondition::{address_space, prepared_map};
use crate::run::recording::{Figures, Recording};
use crate::run::run_cache::RunCache;
use crate::run::spec::{Replay, RunSpec, TimeScale, Warmup};
use destage_device::config::DeviceConfig;
use destage_device::ftl::PageMap;
use destage_record::Completion;
use destage_record::{ResultRecord, TraceInfo};
use destage_scheme::{PREFETCH, Role, SchemeStats};
use destage_trace::Trace;
use destage_types::{Extent, HostRequest, Lpn, Nanos, Op, PageSize, RequestBatch, SectorMask};

/// Response times of a kind that are kept exactly, so that percentiles of that many are exact.
const EXACT_TIMES: usize = 1 << 20;
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
    cache: LiveCache,
    sectors: u64,
    clock: Nanos,
    /// Requests so far; number of the next one.
    requests: u64,
    /// Requests before the statistics began.
    measured_from: u64,
    samples: Samples,
    stats_before: SchemeStats,
    pending: PendingEvents,
    /// Reused.
    done: Vec<Completion>,
    durable: Vec<DurableVersion>,
    taken: Vec<(Lpn, u64)>,
}

impl LiveDevice {
    /// The device of `spec` at time 0, filled as its configuration says, but not with what a trace
    /// reads first (`precondition.trace`), which nobody knows: pages that were never written are not
    /// mapped. `version` is that of destage for the record.
    ///
    /// # Errors
    /// A rule of runs is broken; `spec` has no device, or a setting that makes sense for traces only:
    /// warm-up, time scale, closed loop, charged metadata, hits by size, a flush at the end, a scheme
    /// that knows the future; the device has units of its own or a host's side.
    pub fn new(spec: &RunSpec, version: &str) -> Result<LiveDevice, RunError> {
        let capacity = checked(spec)?;
        let device = spec.device.as_ref();
        let device = device.expect("a run that can be live has a device");
        let nothing = Trace::generated("live", RequestBatch::new());
        let (wrap, seed) = (spec.wrap, spec.seed);
        let map = match prepared_map(device, (&nothing).into(), wrap, seed, &mut |_| {})? {
            Mapping::Pages(map) => *map,
            Mapping::Units(_) => unreachable!("a device with units was refused"),
        };
        check_memory(capacity.frames)?;
        let mut cache = LiveCache::new(spec, capacity, engine(device, map));
        cache.reset_counts();
        let stats_before = cache.stats();
        Ok(LiveDevice {
            spec: spec.clone(),
            capacity,
            version: version.to_owned(),
            cache,
            sectors: address_space(device),
            clock: Nanos::ZERO,
            requests: 0,
            measured_from: 0,
            samples: Samples::default(),
            stats_before,
            pending: PendingEvents::default(),
            done: Vec::new(),
            durable: Vec::new(),
            taken: Vec::new(),
        })
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
        self.cache.flash().volatile_pages()
    }

    /// A request arrives at `at`, whatever its own arrival says. Time passes up to there; what
    /// happens meanwhile is told by the next [`LiveDevice::advance`].
    ///
    /// # Errors
    /// The request cannot be, and nothing has happened; or the device is full.
    pub fn submit(&mut self, at: Nanos, request: HostRequest) -> Result<Ticket, SubmitError> {
        self.take(at, request, false)
    }

    /// As [`LiveDevice::submit`]; a write forces its data to flash (FUA): its pages that are dirty in
    /// the cache after it are programmed at once, as by a FLUSH of these pages alone, and it completes
    /// when all its pages are durable. Other requests are as ever. The record counts the programs as those of FLUSH,
    /// and as response time what the request would take where the device may have programs behind it
    /// (`evict_wait`).
    ///
    /// # Errors
    /// Those of [`LiveDevice::submit`].
    pub fn submit_fua(&mut self, at: Nanos, request: HostRequest) -> Result<Ticket, SubmitError> {
        self.take(at, request, request.op == Op::Write)
    }

    fn take(
        &mut self,
        at: Nanos,
        mut request: HostRequest,
        fua: bool,
    ) -> Result<Ticket, SubmitError> {
        self.check(at, &request)?;
        request.arrival = at;
        self.pass(at);
        let ticket = Ticket(self.requests);
        if request.op == Op::Trim {
            let (extents, page) = (self.extents(&request), self.spec.page);
            let whole = SectorMask::span(0, page.sectors());
            let covers = |lpn| extents.iter().any(|e| covers(e, lpn, page, whole));
            self.pending.trimmed(at, covers);
        }
        if fua {
            self.pending.wait(ticket, self.pages_of(&request));
        }
        if self.requests.is_multiple_of(PREFETCH as u64) {
            self.cache.tidy();
        }
        self.cache.serve(&request, ticket.0, fua);
        self.requests += 1;
        self.collect();
        let measured = self.requests - self.measured_from;
        if measured.is_multiple_of(SAMPLE_EVERY) {
            self.samples.take(&*self.cache, measured);
            self.samples.thin(LIST_SAMPLES);
        }
        match self.cache.flash().fault() {
            Some(full) => Err(SubmitError::Full(Box::new(*full))),
            None => Ok(ticket),
        }
    }

    fn check(&self, at: Nanos, request: &HostRequest) -> Result<(), SubmitError> {
        if let Some(full) = self.cache.flash().fault() {
            return Err(SubmitError::Full(Box::new(*full)));
        }
        if at < self.clock {
            let now = self.clock.0;
            return Err(SubmitError::Past { at: at.0, now });
        }
        if at.0 >> 63 != 0 {
            return Err(SubmitError::TooLate { at: at.0 });
        }
        if !request.is_all() {
            return Err(SubmitError::Sides);
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

    /// Pages that the request touches.
    fn pages_of(&self, request: &HostRequest) -> Vec<Lpn> {
        let extents = self.extents(request);
        let spans = extents.iter().map(|e| page_span(e, self.spec.page));
        let mut pages: Vec<Lpn> = spans
            .flat_map(|(first, pages)| (first.0..first.0 + u64::from(pages)).map(Lpn))
            .collect();
        pages.sort_unstable();
        pages.dedup();
        pages
    }

    /// When the next thing happens if nothing more is submitted: an event of this device, a step of
    /// its array, after which it is later, or a time that the scheme named. `None`: nothing will.
    pub fn next_event(&self) -> Option<Nanos> {
        let next = self.cache.flash().next_event();
        let next = next.min(self.cache.next_ask());
        let step = (next != Nanos::NEVER).then_some(next);
        [step, self.pending.next()].into_iter().flatten().min()
    }

    /// Lets time pass up to and including `to`, and appends what happened to `out`, in order of
    /// time. Nothing if `to` is over; times from 2^63 ns on are cut to that.
    pub fn advance(&mut self, to: Nanos, out: &mut Vec<LiveEvent>) {
        let to = to.max(self.clock).min(Nanos(1 << 63));
        self.pass(to);
        self.captured(out);
        self.pending.take_until(to, out);
    }

    fn captured(&mut self, out: &mut Vec<LiveEvent>) {
        let engine = self.cache.flash_mut();
        engine.take_captured(&mut self.taken);
        let event = |(lpn, request)| LiveEvent::Captured {
            lpn,
            ticket: Ticket(request),
        };
        out.extend(self.taken.drain(..).map(event));
    }

    fn pass(&mut self, to: Nanos) {
        self.clock = to;
        self.cache.advance(to);
        self.collect();
    }

    /// Takes over what became known.
    fn collect(&mut self) {
        let engine = self.cache.flash_mut();
        engine.take_completions(&mut self.done);
        engine.take_durable(&mut self.durable);
        self.done
            .drain(..)
            .for_each(|done| self.pending.completed(done));
        self.durable
            .drain(..)
            .for_each(|version| self.pending.durable(version));
        self.pending.release();
    }

    /// The result record up to now. Response times are those whose end is known.
    pub fn record(&self) -> ResultRecord {
        let figures = Figures::of(&*self.cache, self.sampled(), &self.stats_before);
        self.recording().record(&*self.cache, figures)
    }

    /// Ends the device as a run ends: all that is under way is completed, which counts in response
    /// and busy times and in nothing else of the record, and nothing more begins in the background. The record is that of a run of the same requests.
    pub fn finish(mut self, out: &mut Vec<LiveEvent>) -> ResultRecord {
        let figures = Figures::of(&*self.cache, self.sampled(), &self.stats_before);
        self.cache.stop_background(self.clock);
        self.cache.drain();
        self.collect();
        self.captured(out);
        self.pending.take_until(Nanos::NEVER, out);
        self.recording().record(&*self.cache, figures)
    }

    /// The samples, with one of now.
    fn sampled(&self) -> Samples {
        let mut samples = self.samples.clone();
        let measured = self.requests - self.measured_from;
        if !measured.is_multiple_of(SAMPLE_EVERY) {
            samples.take(&*self.cache, measured);
        }
        samples
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

/// A device at rest that keeps what a live device tells.
fn engine(device: &DeviceConfig, map: PageMap) -> Engine {
    // A scheme that comes later may have a background layer.
    let mut engine = Engine::new(device, map, true);
    engine.keep_completions();
    engine.keep_versions();
    engine.bound_latencies(EXACT_TIMES);
    engine
}

/// The frames of a run that can be live.
fn checked(spec: &RunSpec) -> Result<Capacity, RunError> {
    spec.check()?;
    let no = [
        (spec.device.is_none(), "cache without a device"),
        (spec.warmup != Warmup::None, "warm-up"),
        (spec.time_scale != TimeScale::ONE, "time scale"),
        (spec.replay.depth().is_some(), "closed loop"),
        (
            matches!(spec.replay, Replay::Limited { .. }),
            "queue depth: its host has one of its own",
        ),
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
    if let Some(device) = &spec.device {
        check_device(device)?;
    }
    spec.capacity_for(Demand::LEAST)
}

/// Refuses devices with units of their own and with a host's side.
fn check_device(device: &DeviceConfig) -> Result<(), RunError> {
    let no = |key: &str, why: &str| {
        let name = &device.name;
        Err(RunError::NotLive(format!("{key} (device {name}): {why}")))
    };
    if let Some(key) = device.unit_key() {
        return no(
            key,
            "it asks for units of the drive, and a live device knows what is durable by programs of single pages; \
             leave it out, or take another device",
        );
    }
    match device.host_side_key() {
        Some(key) => no(
            key,
            "it models the way of commands to the cache, and the host of a live device has its own; leave it out",
        ),
        None => Ok(()),
    }
}
