//! One run from a decoded trace to a result record.

pub mod devices;
pub(crate) mod final_flush;
pub(crate) mod footprint;
pub(crate) mod front;
mod future;
pub(crate) mod hits_by_size;
pub mod mapping;
pub(crate) mod metadata_budget;
pub(crate) mod meter;
pub mod precondition;
pub(crate) mod recording;
pub(crate) mod replay;
pub(crate) mod run_cache;
pub mod runner;
pub(crate) mod served;
pub mod spec;
pub(crate) mod touched;

use self::devices::SweepDevices;
use self::final_flush::final_flush;
use self::front::Front;
use self::hits_by_size::{SizeMeter, SizesFound, mean_bytes};
use self::mapping::DeviceMap;
use self::metadata_budget::{Capacity, Demand};
use self::meter::Meter;
use self::precondition::{address_space, prepared_map};
use self::recording::Recording;
use self::replay::{Followers, RunLength, Session, last_arrival};
use self::run_cache::RunCache;
use self::spec::RunSpec;
use crate::RunError;
use crate::cache::observe::Observer;
use crate::cache::{Cache, CacheGeometry, CacheOptions};
use crate::device::DeviceCore;
use crate::drive::Drive;
use crate::engine::Engine;
use crate::flash::{CacheOnly, Flash};
use crate::result::series::Series;
use crate::result::sinks::{ProfileSink, TimelineHook, run_profile};
use crate::watch::{WatchHook, WatchedCache};
use destage_record::scene::SceneRun;
use destage_record::{ResultRecord, Timeline, TimelineWindow, TraceInfo};
use destage_scheme::contract::Build;
use destage_scheme::policy::belady::Belady;
use destage_scheme::policy::{Future, NextOf};
use destage_scheme::registry::{Visit, build_any};
use destage_scheme::{Boxed, Env, Role, Scheme};
use destage_trace::Workload;
use destage_types::{Nanos, RequestFlags, StaticLayout};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Hooks into a run, besides its settings: sinks for its output, and shared input.
#[derive(Default)]
pub struct Hooks<'a> {
    /// Requests served so far by all runs that share it.
    pub progress: Option<&'a AtomicU64>,
    /// The device of the run where runs share one; else it is prepared for this run.
    pub device: Option<DeviceOfRun<'a>>,
    /// Asked whether the program takes too much memory.
    pub meter: Option<&'a dyn Meter>,
    /// Sees every event of the measured part.
    pub observer: Option<Box<dyn Observer + Send>>,
    /// Completed requests of the measured part go there, in request order. Needs a device.
    pub request_log: Option<Box<dyn Write + Send>>,
    /// Each takes a row per interval of the measured part.
    pub series: Vec<Series>,
    /// Takes what charts show, for which the queues of the chips are sampled.
    pub profile: Option<ProfileSink>,
    /// A timeline, which it takes at the end. Needs a device.
    pub timeline: Option<TimelineHook>,
    /// A scene, which it takes at the end. Needs a device, and excludes a timeline.
    pub watch: Option<WatchHook>,
    /// Version of destage for the record.
    pub version: &'a str,
}

impl Hooks<'_> {
    /// The window of the timeline or the scene that the device is to keep, and its limit in bytes.
    fn window(&self) -> Option<(TimelineWindow, u64)> {
        let timeline = self.timeline.as_ref().map(|hook| (hook.window, hook.limit));
        let watch = self.watch.as_ref();
        timeline.or_else(|| watch.map(|hook| (hook.window.of_timeline(), hook.limit)))
    }
}

/// A run of a sweep, among whose devices is its own.
#[derive(Clone, Copy)]
pub struct DeviceOfRun<'a> {
    devices: &'a SweepDevices<'a>,
    run: usize,
}

/// Executes one run. [`RunSpec::check`] must have passed.
///
/// # Errors
/// The run cannot start.
pub fn execute<'a>(
    spec: &RunSpec,
    workload: impl Into<Workload<'a>>,
    hooks: Hooks<'_>,
) -> Result<ResultRecord, RunError> {
    let workload = workload.into();
    spec.check()?;
    let plan = Plan::new(spec, workload)?;
    if spec.charge_metadata {
        // The trace may ask for more metadata than was known before it was there.
        spec.check_rules(plan.capacity.frames)?;
    }
    let mut run = Execution {
        spec,
        workload,
        hooks,
        plan,
        sizes: None,
    };
    let mut env = run.env();
    if spec.expr.scheme().role == Role::Offline {
        let future = run.future(Belady::next_of(&spec.expr, &env))?;
        env.future = Some(Arc::new(future));
    }
    if spec.hits_by_size {
        let (meter, found) = SizeMeter::around(Boxed::build(&spec.expr, &env));
        run.sizes = Some(found.clone());
        let mut record = run.visit(meter)?;
        record.hits_by_size = Some(found.report(mean_bytes(workload)?));
        return Ok(record);
    }
    if spec.boxed {
        run.visit(Boxed::build(&spec.expr, &env))
    } else {
        build_any(&spec.expr, &env, run)
    }
}

/// Executes one run with a scheme that `build` makes, from outside the registry. `spec.expr` names it in the record and stands for its declaration; see
/// [`Expr::parse_with`](destage_scheme::Expr::parse_with) for schemes that an expression can say.
///
/// # Errors
/// The run cannot start.
pub fn run_with<'a, S: Scheme + Send + 'static>(
    build: impl FnOnce(&Env) -> S,
    spec: &RunSpec,
    workload: impl Into<Workload<'a>>,
    hooks: Hooks<'_>,
) -> Result<ResultRecord, RunError> {
    let workload = workload.into();
    let run = Execution {
        spec,
        workload,
        hooks,
        plan: Plan::new(spec, workload)?,
        sizes: None,
    };
    let scheme = build(&run.env());
    run.visit(scheme)
}

#[derive(Clone, Copy)]
struct Plan {
    capacity: Capacity,
    /// Slots for pages: as many as frames, or as pages that the trace touches.
    slots: u32,
    length: RunLength,
    last: Nanos,
    /// Flags that requests have and that take time.
    flags: RequestFlags,
}

impl Plan {
    fn new(spec: &RunSpec, workload: Workload<'_>) -> Result<Plan, RunError> {
        let (warmup, passes) = spec.warmup.resolve(workload.len())?;
        let (first, last) = workload.span();
        let last = last_arrival(spec, first, last, passes)?;
        let demand = if spec.charge_metadata {
            Demand::of(workload, spec.page, space(spec))?
        } else {
            Demand::LEAST
        };
        let capacity = spec.capacity_for(demand)?;
        let device = spec.device.as_ref();
        let is_volatile = device.is_some_and(|device| !device.keeps_cache());
        Ok(Plan {
            capacity,
            slots: footprint::slots(workload, spec.page, capacity.frames)?,
            length: RunLength { warmup, passes },
            last,
            flags: match is_volatile {
                true => workload.flags(),
                false => RequestFlags::NONE,
            },
        })
    }
}

/// Sectors of the address space that addresses are taken modulo of, if they are.
pub(crate) fn space(spec: &RunSpec) -> Option<u64> {
    let device = spec.device.as_ref().filter(|_| spec.wrap);
    device.map(|device| address_space(device))
}

pub(crate) fn layout_of(spec: &RunSpec) -> StaticLayout {
    match &spec.device {
        Some(device) => device.layout(),
        None => StaticLayout::flat(1, 1),
    }
}

/// The environment of a scheme: a cache of `frames` pages with so many `slots`.
pub(crate) fn env_of(spec: &RunSpec, frames: u32, slots: u32) -> Env {
    let mut env = Env::cache_only(frames);
    env.slots = slots;
    env.page = spec.page;
    env.layout = layout_of(spec);
    env.read_alloc = spec.resolved_read_alloc();
    env.seed = spec.seed;
    env.background = spec.expr.has_role(Role::Background);
    env.write_back = spec.device.is_some();
    if let Some(device) = &spec.device {
        env.pages_per_block = device.mapping_units_per_block();
    }
    env
}

pub(crate) fn cache_options(spec: &RunSpec) -> CacheOptions {
    CacheOptions {
        read_alloc: spec.resolved_read_alloc(),
        read_fill: spec.read_fill,
        rmw: spec.rmw,
        wrap: space(spec),
        nvm: spec
            .device
            .as_ref()
            .is_some_and(|device| device.keeps_cache()),
    }
}

struct Execution<'a> {
    spec: &'a RunSpec,
    workload: Workload<'a>,
    hooks: Hooks<'a>,
    plan: Plan,
    /// Told which requests are measured.
    sizes: Option<SizesFound>,
}

impl Execution<'_> {
    fn env(&self) -> Env {
        env_of(self.spec, self.plan.capacity.frames, self.plan.slots)
    }

    fn future(&self, next_of: NextOf) -> Result<Future, RunError> {
        let (spec, passes) = (self.spec, self.plan.length.passes);
        future::collect(
            self.workload,
            spec.page,
            cache_options(spec),
            passes,
            next_of,
        )
    }

    /// Does nobody ask for times before the run is over, nor a scheme for idle channels? The host's side of a
    /// device asks when requests end.
    fn looks_at_results_alone(&self) -> bool {
        let spec = self.spec;
        let device = spec.device.as_deref();
        let looks = spec.has_background()
            || device.is_some_and(|device| Front::is_wanted(device, spec.replay))
            || self.plan.flags.any(RequestFlags::PREFLUSH)
            || spec.replay.depth().is_some()
            || spec.flush_at_end
            || self.plan.length.warmup > 0
            || self.hooks.request_log.is_some()
            || self.hooks.profile.is_some()
            || self.hooks.window().is_some()
            || !self.hooks.series.is_empty();
        !looks
    }
}

impl Visit for Execution<'_> {
    type Out = Result<ResultRecord, RunError>;

    fn visit<S: Scheme + Send + 'static>(self, scheme: S) -> Self::Out {
        let options = cache_options(self.spec);
        let geometry = CacheGeometry {
            capacity: self.plan.capacity.frames,
            slots: self.plan.slots,
            page: self.spec.page,
            layout: layout_of(self.spec),
        };
        let Some(device) = &self.spec.device else {
            let mut cache = Cache::new(scheme, CacheOnly, geometry, options);
            return self.drive(&mut cache);
        };
        let mapping = match self.hooks.device {
            Some(DeviceOfRun { devices, run }) => devices.take(run, self.workload)?,
            None => {
                let (wrap, seed) = (self.spec.wrap, self.spec.seed);
                prepared_map(device, self.workload, wrap, seed, &mut |_| {})?
            }
        };
        let background = self.spec.has_background();
        let map = match mapping {
            DeviceMap::Pages(map) => *map,
            DeviceMap::Units(map) => {
                let mut drive = Drive::new(device, *map, self.spec.seed);
                drive.set_reads(self.spec.reads);
                // One copy of the cache for all schemes.
                let scheme = Boxed(Box::new(scheme));
                return self.on_device(Cache::new(scheme, drive, geometry, options));
            }
        };
        let mut engine = Engine::new(device, map, background);
        if self.looks_at_results_alone() {
            engine.skip_unobserved_events();
        }
        let mut cache = Cache::new(scheme, engine, geometry, options);
        if self
            .spec
            .expr
            .chain()
            .any(|layer| layer.scheme().chip_lists)
        {
            cache.skip_victims_ahead();
        }
        self.on_device(cache)
    }
}

impl Execution<'_> {
    fn on_device<S: Scheme, F: Flash>(
        self,
        mut cache: Cache<S, F>,
    ) -> Result<ResultRecord, RunError> {
        if let Some(device) = &self.spec.device {
            cache.hand_over_as(&self.spec.expr, device, Nanos::ZERO);
        }
        if let Some((window, limit)) = self.hooks.window()
            && let Some(device) = cache.device_mut()
        {
            device.keep_timeline(window, limit);
        }
        if self.spec.unbalance || self.hooks.profile.is_some() {
            cache.sample_queues();
        }
        self.drive(&mut cache)
    }

    fn drive(mut self, cache: &mut dyn RunCache) -> Result<ResultRecord, RunError> {
        let Some(hook) = self.hooks.watch.take() else {
            return self.replay(cache).map(|(record, _)| record);
        };
        if self.hooks.timeline.is_some() {
            return Err(RunError::Watch(
                "a run gives a timeline or a scene, not both; ask for them in two runs".to_owned(),
            ));
        }
        let (spec, workload) = (self.spec, self.workload);
        let mut watched = WatchedCache::new(cache, hook.window);
        let (record, timeline) = self.replay(&mut watched)?;
        let mut scene = watched.scene(timeline.unwrap_or_default(), spec, workload)?;
        scene.run = SceneRun::of(&record);
        (hook.take)(scene)?;
        Ok(record)
    }

    /// Replays the trace. Gives its record, and the timeline if nobody else takes it.
    fn replay(
        mut self,
        cache: &mut dyn RunCache,
    ) -> Result<(ResultRecord, Option<Timeline>), RunError> {
        let followers = Followers {
            progress: self.hooks.progress,
            meter: self.hooks.meter,
            observer: self.hooks.observer.take(),
            request_log: self.hooks.request_log.take(),
            series: std::mem::take(&mut self.hooks.series),
            sizes: self.sizes.take(),
        };
        let Plan { length, flags, .. } = self.plan;
        let mut session = Session::new(self.spec, self.workload, length, flags, cache, followers);
        if self.spec.replay.depth().is_none() {
            session.expect_arrivals_until(self.plan.last);
        }
        let figures = session.run()?;
        if let Some(take) = self.hooks.profile.take() {
            let tails = match &figures.host_side {
                Some(host) => Some(host.tails.clone()),
                None => (cache.state().device()).map(|device| device.requests.completed.tails()),
            };
            take(run_profile(tails, figures.flash.as_ref()));
        }
        let mut timeline = cache.device_mut().and_then(DeviceCore::end_timeline);
        if figures.host_side.is_some() {
            let requests = self.workload.len();
            timeline
                .iter_mut()
                .for_each(|timeline| timeline.number_by_trace(requests));
        }
        if let Some(hook) = self.hooks.timeline.take()
            && let Some(timeline) = timeline.take()
        {
            (hook.take)(timeline)?;
        }
        let meta = self.workload.meta;
        let recording = Recording {
            spec: self.spec,
            trace: TraceInfo {
                name: meta.name.clone(),
                requests: self.workload.len(),
                format: meta.format.to_owned(),
                time_unit: meta.time_unit.map(|unit| unit.to_string()),
                sha256: meta.sha256.clone(),
            },
            arrival_corrections: meta.arrival_corrections,
            modelled: meta.modelled,
            capacity: self.plan.capacity,
            warmup: self.plan.length.warmup,
            version: self.hooks.version,
        };
        let mut flushed = None;
        let counts = self.spec.flush_at_end.then(|| figures.counts.clone());
        let mut record = recording.record(cache.state(), figures);
        if let Some(counts) = counts {
            let requests = self.workload.len() * self.plan.length.passes;
            flushed = Some(final_flush(cache, &counts, requests, self.plan.last)?);
        }
        record.final_flush = flushed;
        Ok((record, timeline))
    }
}
