//! A cache over a device, the real one and the slow one, on the same requests.
//!
//! [`TimedRun::real`] replays requests through the cache and the engine, [`TimedRun::slow`]
//! through the slow cache and the slow device; [`compare`] wants them equal to the nanosecond.

pub mod layers;
mod requests;
pub mod runs;

pub(crate) use requests::first_reads;
pub use requests::{address_map, device, hosted_swarm, timed_swarm, trace_of};

use std::collections::BTreeMap;
use std::fmt::Debug;

use crate::reference::{
    Row, SlowCache, SlowConfig, SlowCounts, SlowDevice, SlowOperation, SlowReadFill, SlowRequest,
};
use destage_device::config::DeviceConfig;
use destage_device::nand::{Nand, OpKind};
use destage_scheme::contract::Build;
use destage_scheme::info::Role;
use destage_scheme::registry::{Visit, build_any};
use destage_scheme::{Boxed, Env, Expr, Scheme};
use destage_sim::device::DeviceCore;
use destage_sim::engine::{Engine, OperationTimes};
use destage_sim::observe::{Event, Observer};
use destage_sim::precondition::{address_space, prepare};
use destage_sim::record::Completion;
use destage_sim::{Cache, CacheGeometry, CacheOptions, Flash, ReadFill};
use destage_trace::Trace;
use destage_types::{ChipId, Lpn, Nanos};

/// Everything about a run but its requests.
#[derive(Clone, Debug)]
pub struct TimedRun {
    /// The scheme.
    pub expr: String,
    /// Page frames.
    pub capacity: u32,
    /// Read allocation; as the scheme declares if not given.
    pub read_alloc: Option<bool>,
    /// The sectors that a read miss brings in.
    pub read_fill: ReadFill,
    /// Does the flush of a partly valid page cost a read?
    pub rmw: bool,
    /// The device.
    pub device: DeviceConfig,
    /// Addresses modulo the device.
    pub wrap: bool,
    /// Build every layer through dynamic calls?
    pub boxed: bool,
    /// Attach an observer: the cache has a shorter way without one.
    pub observed: bool,
}

/// The outcome of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// (index, pages, hits, arrival, completion) of every request, in order.
    pub requests: Vec<(u64, u64, u64, u64, u64)>,
    /// Every program of host data, sorted.
    pub programs: Vec<SlowOperation>,
    /// Every access of a cache in flash, sorted.
    pub cache_accesses: Vec<SlowOperation>,
    /// Counters without a device.
    pub counts: SlowCounts,
    /// Counters of a device: background writes, cancels, stale ones, evictions in flight, unmapped
    /// reads, summary programs, wrapped requests, erases, reads and programs of a cache in flash.
    pub device_counts: [u64; 10],
    /// Dirty pages at the last arrival that nothing in flight writes as they are.
    pub dirty_pages_left: u64,
    /// Suspensions of erases and of programs, all to the end.
    pub suspensions: [u64; 2],
    /// Pages left in the cache and whether they are dirty, after all work has ended.
    pub pages: BTreeMap<u64, bool>,
    /// Pages read and programmed in multi-plane operations of others.
    pub joined: [u64; 2],
    /// Mean waiting time of the programs of evictions.
    pub evict_wait_mean: Option<f64>,
}

/// Sees everything and writes nothing down.
#[derive(Clone, Copy, Debug)]
pub struct Blind;

impl Observer for Blind {
    fn request(&mut self, _index: u64) {}
    fn event(&mut self, _event: Event<'_>) {}
}

struct Real<'a> {
    run: &'a TimedRun,
    expr: &'a Expr,
    requests: &'a [SlowRequest],
}

impl TimedRun {
    /// `expr` over `device`, everything else as built in.
    pub fn new(expr: &str, capacity: u32, device: DeviceConfig) -> TimedRun {
        TimedRun {
            expr: expr.to_owned(),
            capacity,
            read_alloc: None,
            read_fill: ReadFill::Page,
            rmw: true,
            device,
            wrap: false,
            boxed: false,
            observed: false,
        }
    }

    /// The scheme, which may have [layers for tests](layers).
    ///
    /// # Panics
    /// It is no legal expression.
    pub fn scheme(&self) -> Expr {
        Expr::parse_with(&self.expr, layers::ALL).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    fn frames(&self) -> u32 {
        if self.expr == "none" {
            0
        } else {
            self.capacity
        }
    }

    /// Through the cache and the engine.
    ///
    /// # Panics
    /// The run cannot start, or the device is full.
    pub fn real(&self, requests: &[SlowRequest]) -> Outcome {
        let expr = self.scheme();
        let read_alloc = self.allocates(&expr);
        let env = Env {
            page: self.device.geometry.page,
            layout: self.device.layout(),
            pages_per_block: self.device.geometry.pages_per_block,
            read_alloc,
            background: expr.has_role(Role::Background),
            ..Env::cache_only(self.frames())
        };
        let real = Real {
            run: self,
            expr: &expr,
            requests,
        };
        match self.boxed {
            true => real.visit(Boxed::build(&expr, &env)),
            false => build_any(&expr, &env, real),
        }
    }

    fn allocates(&self, expr: &Expr) -> bool {
        let asked = self.read_alloc.unwrap_or_else(|| expr.default_read_alloc());
        self.frames() > 0 && asked
    }

    /// Through the slow models.
    ///
    /// # Panics
    /// There is no model of the scheme.
    pub fn slow(&self, requests: &[SlowRequest]) -> Outcome {
        let page = self.device.geometry.page;
        let mut device = SlowDevice::new(&self.device);
        let logical = self.device.logical_pages();
        device.precondition(0..self.device.precondition.fill.of(logical));
        let mut wrapped = requests.to_vec();
        if self.wrap {
            let space = logical * u64::from(page.sectors());
            wrapped.iter_mut().for_each(|r| *r = address_map(r, space));
        }
        let differs = |(a, b): &(&SlowRequest, &SlowRequest)| a.extents != b.extents;
        let wrapped_requests = requests.iter().zip(&wrapped).filter(differs).count() as u64;
        if self.device.precondition.trace {
            device.precondition(first_reads(&wrapped, page.sectors()));
        }
        let config = SlowConfig {
            read_alloc: self.read_alloc,
            fill: slow_fill(self.read_fill),
            rmw: self.rmw,
            flash: Box::new(device),
            ..SlowConfig::new(self.frames() as usize, page.sectors())
        };
        let mut cache = SlowCache::new(&self.expr, config).unwrap_or_else(|e| panic!("{e}"));
        let rows: Vec<_> = wrapped.iter().map(|r| cache.step(r)).collect();
        let (counts, device_counts) = (cache.counts.clone(), cache.device_counts);
        let dirty_pages_left = cache.dirty_pages_left();
        let device = cache.store.flash.device().expect("there is a device");
        let (write_backs, summaries) = (device.write_backs, device.summaries);
        let collections = device.collections();
        let [cache_reads, cache_programs] = device.cache_accesses;
        let [old_pages, cached_pages] = device.write_back_reads();
        cache.drain();
        let device = cache.store.flash.device().expect("there is a device");
        let requests = finished(requests, &rows, &device.completions());
        let (sum, n) = device.evict_wait();
        let programs = device.programs();
        let cache_accesses = device.accesses_of_cache();
        let joined = device.joined_pages;
        let suspensions = device.suspensions();
        let frames = cache.store.frames.iter();
        Outcome {
            requests,
            programs,
            cache_accesses,
            counts: SlowCounts {
                flash_writes_host: counts.flash_writes_host + write_backs,
                flash_reads_host: counts.flash_reads_host + old_pages,
                ..counts
            },
            device_counts: [
                write_backs,
                device_counts.background_cancels,
                device_counts.background_stale,
                device_counts.inflight_evictions,
                device_counts.unmapped_reads,
                summaries,
                wrapped_requests,
                collections,
                cache_reads + cached_pages,
                cache_programs,
            ],
            dirty_pages_left,
            pages: frames.map(|(&lpn, f)| (lpn, f.dirty != 0)).collect(),
            joined,
            suspensions,
            evict_wait_mean: (n > 0).then(|| sum as f64 / n as f64),
        }
    }
}

/// Number, pages, hits, arrival, and completion of each request.
fn finished(
    requests: &[SlowRequest],
    rows: &[Row],
    complete: &BTreeMap<u64, u64>,
) -> Vec<(u64, u64, u64, u64, u64)> {
    let mut now = 0;
    let request = |(i, row): (usize, &Row)| {
        now = now.max(requests[i].arrival);
        let hits = row.hits.iter().filter(|&&h| h).count() as u64;
        let (index, pages) = (i as u64, row.hits.len() as u64);
        (index, pages, hits, now, complete[&index])
    };
    rows.iter().enumerate().map(request).collect()
}

impl Real<'_> {
    /// The cache over its device, ready for a trace.
    fn cache<S: Scheme>(&self, scheme: S, trace: &Trace) -> Cache<S, Engine> {
        let run = self.run;
        let background = self.expr.has_background();
        let engine = prepare(&run.device, trace, run.wrap, background, 1);
        let mut engine = engine.unwrap_or_else(|e| panic!("{e}"));
        engine.keep_operations();
        let device = engine.core_mut().expect("a device");
        device.keep_completions();
        device.expect_fua();
        let options = CacheOptions {
            read_alloc: run.allocates(self.expr),
            read_fill: run.read_fill,
            rmw: run.rmw,
            wrap: run.wrap.then(|| address_space(&run.device)),
            nvm: false,
        };
        let geometry = CacheGeometry {
            capacity: run.frames(),
            slots: run.frames(),
            page: run.device.geometry.page,
            layout: run.device.layout(),
        };
        let mut cache = Cache::new(scheme, engine, geometry, options);
        if let Some(rules) = self.expr.write_back_rules() {
            cache.enable_background(rules, Nanos::ZERO);
        }
        cache.reset_counts();
        if run.observed {
            cache.observe(Box::new(Blind));
        }
        cache
    }
}

impl Visit for Real<'_> {
    type Out = Outcome;

    fn visit<S: Scheme + Send + 'static>(self, scheme: S) -> Outcome {
        let trace = trace_of(self.requests);
        let mut cache = self.cache(scheme, &trace);
        let mut now = Nanos::ZERO;
        for (i, request) in trace.requests.iter().enumerate() {
            now = now.max(request.head.arrival);
            cache.serve(request, i as u64, now);
            let fault = cache.flash().core().and_then(DeviceCore::fault);
            assert!(fault.is_none(), "the device is full");
        }
        let counts = cache.counts();
        let traffic = cache.flash().traffic();
        let dirty_pages_left = cache.dirty_pages_left();
        cache.drain();
        let device = cache.flash_mut().core_mut().expect("a device");
        let after = device.measures();
        let mut completions: Vec<Completion> = Vec::new();
        device.take_completions(&mut completions);
        completions.sort_by_key(|c| c.index);
        let operations = cache.flash_mut().take_operations();
        let [programs, cache_accesses] = [false, true].map(|in_region| {
            let of = operations.iter().filter(|op| op.in_region == in_region);
            let mut all: Vec<SlowOperation> = of.map(operation).collect();
            all.sort_unstable();
            all
        });
        let joined = [OpKind::Read, OpKind::Program].map(|kind| joined(cache.flash().nand(), kind));
        let all = cache.flash().traffic();
        let suspensions = [all.erase_suspensions, all.program_suspensions];
        let frames = cache.frames();
        let space = self.run.device.logical_pages();
        let cached = (0..space).filter_map(|lpn| Some((lpn, frames.slot_of(Lpn(lpn))?)));
        Outcome {
            requests: completions.iter().map(completion).collect(),
            programs,
            cache_accesses,
            counts: crate::drive::counts(&counts),
            device_counts: [
                counts.background_writes,
                counts.background_cancels,
                counts.background_stale,
                counts.inflight_evictions,
                counts.unmapped_reads,
                traffic.flash_writes_meta,
                counts.wrapped_requests,
                traffic.erases,
                traffic.cache_reads,
                traffic.cache_programs,
            ],
            dirty_pages_left,
            pages: cached
                .map(|(lpn, slot)| (lpn, frames.is_dirty(slot)))
                .collect(),
            joined,
            suspensions,
            evict_wait_mean: after.evict_wait.mean,
        }
    }
}

/// The same for the slow cache.
pub(crate) fn slow_fill(fill: ReadFill) -> SlowReadFill {
    match fill {
        ReadFill::Page => SlowReadFill::Page,
        ReadFill::Requested => SlowReadFill::Requested,
    }
}

/// Pages beyond the first one of every operation.
fn joined(nand: &Nand, kind: OpKind) -> u64 {
    let chips = (0..nand.chips()).map(ChipId);
    let pages: u64 = chips.map(|chip| nand.chip_stats(chip).of(kind)).sum();
    pages - nand.started(kind)
}

fn completion(c: &Completion) -> (u64, u64, u64, u64, u64) {
    (c.index, c.pages, c.hits, c.arrival.0, c.complete.0)
}

fn operation(op: &OperationTimes) -> SlowOperation {
    let times = op.times;
    SlowOperation {
        lpn: op.lpn.0,
        request: op.request,
        program: op.program,
        times: [op.enqueued, times.start, times.last_transfer, times.end].map(|t| t.0),
    }
}

/// Wants two outcomes equal; says where they part first.
///
/// # Panics
/// They differ.
pub fn compare(real: &Outcome, slow: &Outcome, what: &str) {
    let wants = format!("{what}: (index, pages, hits, arrival, completion)");
    equal(&real.requests, &slow.requests, &wants);
    equal(&real.programs, &slow.programs, &format!("{what}: programs"));
    let wants = format!("{what}: accesses of the cache in flash");
    equal(&real.cache_accesses, &slow.cache_accesses, &wants);
    assert_eq!(real.counts, slow.counts, "{what}: counts");
    assert_eq!(
        real.device_counts, slow.device_counts,
        "{what}: device counts"
    );
    assert_eq!(
        real.dirty_pages_left, slow.dirty_pages_left,
        "{what}: dirty pages left"
    );
    assert_eq!(real.pages, slow.pages, "{what}: pages in the end");
    assert_eq!(
        real.joined, slow.joined,
        "{what}: pages in operations of others"
    );
    assert_eq!(real.suspensions, slow.suspensions, "{what}: suspensions");
    assert_eq!(real.evict_wait_mean, slow.evict_wait_mean, "{what}: wait");
}

/// Wants two lists equal; says which element is the first to differ.
fn equal<T: PartialEq + Debug>(real: &[T], slow: &[T], what: &str) {
    for (r, s) in real.iter().zip(slow) {
        assert_eq!(r, s, "{what}");
    }
    assert_eq!(real.len(), slow.len(), "{what}");
}
