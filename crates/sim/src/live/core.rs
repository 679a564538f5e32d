//! The cache of a live device.

use crate::cache::{Cache, CacheGeometry, Carried};
use crate::engine::Engine;
use crate::run::metadata_budget::Capacity;
use crate::run::run_cache::RunCache;
use crate::run::spec::RunSpec;
use crate::run::{cache_options, env_of, layout_of};
use destage_scheme::Boxed;
use destage_scheme::contract::Build;
use destage_types::{HostRequest, Nanos, RequestRef};
use std::ops::{Deref, DerefMut};

/// The cache of the present scheme, which is behind pointers whatever it is: what a live device takes
/// for a request is little beside the way of the request to it.
pub(super) struct LiveCache(Option<Cache<Boxed, Engine>>);

impl LiveCache {
    /// That of `spec` over `engine`.
    pub fn new(spec: &RunSpec, capacity: Capacity, engine: Engine) -> LiveCache {
        LiveCache::starting(spec, capacity, engine, Nanos::ZERO)
    }

    /// The same, which is first used at `now`.
    fn starting(spec: &RunSpec, capacity: Capacity, engine: Engine, now: Nanos) -> LiveCache {
        LiveCache(Some(build(spec, capacity, Carried::new(engine), now)))
    }

    /// Goes on with that of `spec`, of the same device. All pages must be clean.
    pub fn change(&mut self, spec: &RunSpec, capacity: Capacity) {
        if let Some(cache) = self.0.take() {
            let now = cache.flash.now();
            self.0 = Some(build(spec, capacity, cache.carry(), now));
        }
    }

    /// Goes on at `now` with an empty one over what `fresh` makes of the device.
    pub fn restart(
        &mut self,
        spec: &RunSpec,
        capacity: Capacity,
        now: Nanos,
        fresh: impl FnOnce(Engine) -> Engine,
    ) {
        if let Some(cache) = self.0.take() {
            *self = LiveCache::starting(spec, capacity, fresh(cache.flash), now);
        }
    }

    /// Serves a request at its arrival. `fua`: what it writes is programmed with it.
    pub fn serve(&mut self, head: &HostRequest, index: u64, fua: bool) {
        let request = RequestRef::new(head);
        if fua {
            self.serve_durably(request, index, head.arrival)
        } else {
            Cache::serve(self, request, index, head.arrival)
        }
    }

    /// Pages in the cache, and dirty ones among them.
    pub fn held(&self) -> (u64, u64) {
        let frames = self.frames();
        (frames.used() as u64, frames.dirty_pages())
    }

    /// What the lists of the scheme hold, by name.
    pub fn lists(&self) -> Vec<(&'static str, u64)> {
        let stats = self.stats();
        stats.lists().chain(stats.gauges()).collect()
    }
}

impl Deref for LiveCache {
    type Target = Cache<Boxed, Engine>;

    fn deref(&self) -> &Self::Target {
        self.0.as_ref().expect(HELD)
    }
}

impl DerefMut for LiveCache {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.0.as_mut().expect(HELD)
    }
}

const HELD: &str = "a cache is away only while another one is made of it";

/// Makes the cache of `spec` over a device that may have served another one.
fn build(
    spec: &RunSpec,
    capacity: Capacity,
    carried: Carried<Engine>,
    now: Nanos,
) -> Cache<Boxed, Engine> {
    let geometry = CacheGeometry {
        capacity: capacity.frames,
        slots: capacity.frames,
        page: spec.page,
        layout: layout_of(spec),
    };
    let scheme = Boxed::build(&spec.expr, &env_of(spec, geometry.capacity, geometry.slots));
    let mut cache = Cache::carry_on(scheme, carried, geometry, cache_options(spec));
    if let Some(rules) = spec.expr.write_back_rules() {
        cache.enable_background(rules, now);
    }
    if spec.unbalance {
        cache.sample_queues();
    }
    cache
}
