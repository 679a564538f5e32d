//! The cache of a live device, whatever its scheme and its flash.

use super::{EXACT_TIMES, NOBODY};
use crate::cache::{Cache, CacheGeometry, Carried};
use crate::device::DeviceCore;
use crate::drive::Drive;
use crate::engine::Engine;
use crate::flash::Flash;
use crate::run::mapping::DeviceMap;
use crate::run::metadata_budget::Capacity;
use crate::run::run_cache::RunCache;
use crate::run::spec::RunSpec;
use crate::run::{cache_options, env_of, layout_of};
use destage_device::config::DeviceConfig;
use destage_device::map::{PageMap, UnitMap};
use destage_scheme::Boxed;
use destage_scheme::contract::Build;
use destage_types::{HostRequest, Nanos, Op, RequestRef};
use std::ops::{Deref, DerefMut};

/// A flash that a live device can have.
pub(super) trait LiveFlash: Flash + Send + Sized + 'static {
    /// Its translation layer.
    type Map;

    /// One at rest that keeps what a live device tells.
    fn fresh(config: &DeviceConfig, map: Self::Map, seed: u64) -> Self;

    /// The power is cut: what is not under way never begins.
    fn power_ends(&mut self) {}

    /// The translation layer.
    fn into_map(self) -> Self::Map;

    /// The power has come back: is there something to collect?
    fn wake(&mut self) {}
}

impl LiveFlash for Engine {
    type Map = PageMap;

    fn fresh(config: &DeviceConfig, map: PageMap, _seed: u64) -> Engine {
        // A scheme that comes later may have a background layer.
        prepared(Engine::new(config, map, true))
    }

    fn into_map(self) -> PageMap {
        Engine::into_map(self)
    }
}

/// A flash that keeps what a live device tells. Response times take no more memory, however long it lives.
fn prepared<F: Flash>(mut flash: F) -> F {
    if let Some(core) = flash.core_mut() {
        core.keep_completions();
        core.expect_fua();
        core.keep_versions();
        core.requests.completed.bound(EXACT_TIMES);
    }
    flash
}

impl LiveFlash for Drive {
    type Map = UnitMap;

    fn fresh(config: &DeviceConfig, map: UnitMap, seed: u64) -> Drive {
        prepared(Drive::new(config, map, seed))
    }

    fn power_ends(&mut self) {
        Drive::power_ends(self);
    }

    fn into_map(self) -> UnitMap {
        Drive::into_map(self)
    }

    fn wake(&mut self) {
        Drive::wake(self);
    }
}

/// Functions that a live device needs of its cache, besides those that a run needs.
pub(crate) trait LiveCore: RunCache + Send {
    fn tidy(&mut self);

    /// FLUSH programs all dirty pages from now on, even if the cache survives a power cut.
    fn flush_for_good(&mut self);

    /// The same flash under the scheme and with the cache of `spec`. All pages must be clean, and nothing may wait.
    fn changed(self: Box<Self>, spec: &RunSpec, capacity: Capacity) -> Box<dyn LiveCore>;

    /// The same device as a power cut at `now` leaves it, under `spec`.
    fn restarted(
        self: Box<Self>,
        spec: &RunSpec,
        capacity: Capacity,
        now: Nanos,
    ) -> Box<dyn LiveCore>;
}

impl<F: LiveFlash> LiveCore for Cache<Boxed, F> {
    fn tidy(&mut self) {
        Cache::tidy(self);
    }

    fn flush_for_good(&mut self) {
        self.options.nvm = false;
    }

    fn changed(self: Box<Self>, spec: &RunSpec, capacity: Capacity) -> Box<dyn LiveCore> {
        let now = self.flash.core().map_or(Nanos::ZERO, DeviceCore::rest);
        Box::new(build(spec, capacity, self.carry(), now))
    }

    fn restarted(
        mut self: Box<Self>,
        spec: &RunSpec,
        capacity: Capacity,
        now: Nanos,
    ) -> Box<dyn LiveCore> {
        let config = device_of(spec);
        if config.keeps_cache() {
            // The capacitors have the energy to write the cache to flash.
            self.flush_for_good();
            let flush = HostRequest::new(now, Op::Flush, 0, 0);
            Cache::serve(&mut self, RequestRef::new(&flush), NOBODY, now);
            Cache::drain(&mut self);
        }
        let mut flash = self.flash;
        flash.power_ends();
        // What was under way ends.
        while flash.next_event() != Nanos::NEVER {
            flash.step(flash.next_event());
        }
        let flash = F::fresh(config, flash.into_map(), spec.seed);
        let mut cache = build(spec, capacity, Carried::new(flash), now);
        cache.advance(now);
        cache.flash.wake();
        Box::new(cache)
    }
}

/// The cache of the present scheme, which is behind pointers whatever it is: what a live device takes
/// for a request is little beside the way of the request to it.
pub(crate) struct LiveCache(Option<Box<dyn LiveCore>>);

impl LiveCache {
    /// That of `spec` over a device with this translation layer.
    pub fn new(spec: &RunSpec, capacity: Capacity, map: DeviceMap) -> LiveCache {
        let (config, start) = (device_of(spec), Nanos::ZERO);
        LiveCache(Some(match map {
            DeviceMap::Pages(map) => {
                let flash = Carried::new(Engine::fresh(config, *map, spec.seed));
                Box::new(build(spec, capacity, flash, start))
            }
            DeviceMap::Units(map) => {
                let flash = Carried::new(Drive::fresh(config, *map, spec.seed));
                Box::new(build(spec, capacity, flash, start))
            }
        }))
    }

    /// Goes on with that of `spec`, of the same device. All pages must be clean, and nothing may wait.
    pub fn change(&mut self, spec: &RunSpec, capacity: Capacity) {
        self.0 = self.0.take().map(|core| core.changed(spec, capacity));
    }

    /// Goes on at `now` with an empty one over what a power cut leaves of the device.
    pub fn restart(&mut self, spec: &RunSpec, capacity: Capacity, now: Nanos) {
        let core = self.0.take();
        self.0 = core.map(|core| core.restarted(spec, capacity, now));
    }

    /// Pages in the cache, and dirty ones among them.
    pub fn held(&self) -> (u64, u64) {
        let frames = self.state().frames();
        (frames.used() as u64, frames.dirty_pages())
    }

    /// Is nothing dirty, and does no request wait for frames or for room?
    pub fn is_clean(&self) -> bool {
        self.state().frames().dirty_pages() == 0 && !self.state().has_waiting_requests()
    }

    /// Pages in each list of the scheme and the scheme's own gauges, by name.
    pub fn lists(&self) -> Vec<(&'static str, u64)> {
        let stats = self.state().stats();
        stats.lists().chain(stats.gauges()).collect()
    }
}

impl Deref for LiveCache {
    type Target = dyn LiveCore;

    fn deref(&self) -> &Self::Target {
        self.0.as_deref().expect(HELD)
    }
}

impl DerefMut for LiveCache {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.0.as_deref_mut().expect(HELD)
    }
}

const HELD: &str = "a cache is away only while another one is made of it";

fn device_of(spec: &RunSpec) -> &DeviceConfig {
    let device = spec.device.as_ref();
    device.expect("a run that can be live has a device")
}

/// Makes the cache of `spec` over a device that may have served another one.
fn build<F: LiveFlash>(
    spec: &RunSpec,
    capacity: Capacity,
    carried: Carried<F>,
    now: Nanos,
) -> Cache<Boxed, F> {
    let geometry = CacheGeometry {
        capacity: capacity.frames,
        slots: capacity.frames,
        page: spec.page,
        layout: layout_of(spec),
    };
    let scheme = Boxed::build(&spec.expr, &env_of(spec, geometry.capacity, geometry.slots));
    let mut cache = Cache::carry_on(scheme, carried, geometry, cache_options(spec));
    cache.hand_over_as(&spec.expr, device_of(spec), now);
    if spec.unbalance {
        cache.sample_queues();
    }
    cache
}
