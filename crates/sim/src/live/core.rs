//! The cache of a live device, whatever its scheme.

use crate::cache::counts::Counts;
use crate::cache::sample::Samples;
use crate::cache::{Cache, Carried};
use crate::engine::Engine;
use crate::result::record::ResultRecord;
use crate::run::metadata_budget::Capacity;
use crate::run::recording::{Figures, Recording, stats_of};
use crate::run::spec::RunSpec;
use crate::run::{cache_options, env_of, layout_of};
use destage_scheme::registry::{Build, Visit, build_any};
use destage_scheme::{Boxed, Scheme, SchemeStats};
use destage_types::{HostRequest, Nanos, RequestRef};
use std::ops::{Deref, DerefMut};

/// A cache over a device, behind one type for all schemes. The methods are those of [`Cache`].
pub(super) trait LiveCache: Send {
    /// `fua`: what the request writes is programmed with it.
    fn serve(&mut self, request: &HostRequest, index: u64, fua: bool);
    fn advance(&mut self, to: Nanos);
    fn drain(&mut self);
    fn tidy(&mut self);
    fn engine(&self) -> &Engine;
    fn engine_mut(&mut self) -> &mut Engine;
    fn reset_counts(&mut self);
    fn stats(&self) -> SchemeStats;
    fn sample(&self, samples: &mut Samples, requests: u64);
    fn figures(&self, samples: Samples, before: &SchemeStats) -> Figures;
    fn record(&self, recording: &Recording<'_>, figures: Figures) -> ResultRecord;
    fn counts(&self) -> Counts;
    /// Pages in the cache, and dirty ones among them.
    fn held(&self) -> (u64, u64);
    /// What the lists of the scheme hold, by name.
    fn lists(&self) -> Vec<(&'static str, u64)>;
    fn carry(self: Box<Self>) -> Carried<Engine>;
    fn into_engine(self: Box<Self>) -> Engine;
}

/// The cache of the present scheme.
pub(super) struct AnyCache(Option<Box<dyn LiveCache>>);

impl AnyCache {
    /// That of `spec` over `engine`.
    pub fn new(spec: &RunSpec, capacity: Capacity, engine: Engine) -> AnyCache {
        AnyCache(Some(build(spec, capacity, Carried::new(engine))))
    }

    /// Goes on with that of `spec`, of the same device. All pages must be clean.
    pub fn change(&mut self, spec: &RunSpec, capacity: Capacity) {
        if let Some(cache) = self.0.take() {
            self.0 = Some(build(spec, capacity, cache.carry()));
        }
    }

    /// Goes on with an empty one over what `fresh` makes of the device.
    pub fn restart(
        &mut self,
        spec: &RunSpec,
        capacity: Capacity,
        fresh: impl FnOnce(Engine) -> Engine,
    ) {
        if let Some(cache) = self.0.take() {
            *self = AnyCache::new(spec, capacity, fresh(cache.into_engine()));
        }
    }
}

impl Deref for AnyCache {
    type Target = dyn LiveCache;

    fn deref(&self) -> &Self::Target {
        self.0.as_deref().expect(HELD)
    }
}

impl DerefMut for AnyCache {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.0.as_deref_mut().expect(HELD)
    }
}

const HELD: &str = "a cache is away only while another one is made of it";

impl<S: Scheme + Send + 'static> LiveCache for Cache<S, Engine> {
    fn serve(&mut self, head: &HostRequest, index: u64, fua: bool) {
        let request = RequestRef {
            head,
            more: &[],
            prev: &[],
        };
        match fua {
            true => self.serve_durably(request, index, head.arrival),
            false => Cache::serve(self, request, index, head.arrival),
        }
    }

    fn advance(&mut self, to: Nanos) {
        Cache::advance(self, to);
    }

    fn drain(&mut self) {
        Cache::drain(self);
    }

    fn tidy(&mut self) {
        Cache::tidy(self);
    }

    fn engine(&self) -> &Engine {
        self.flash()
    }

    fn engine_mut(&mut self) -> &mut Engine {
        self.flash_mut()
    }

    fn reset_counts(&mut self) {
        Cache::reset_counts(self);
    }

    fn stats(&self) -> SchemeStats {
        stats_of(self.scheme())
    }

    fn sample(&self, samples: &mut Samples, requests: u64) {
        samples.take(self.scheme(), requests);
    }

    fn figures(&self, samples: Samples, before: &SchemeStats) -> Figures {
        Figures::of(self, samples, before)
    }

    fn record(&self, recording: &Recording<'_>, figures: Figures) -> ResultRecord {
        recording.record(self, figures)
    }

    fn counts(&self) -> Counts {
        Cache::counts(self)
    }

    fn held(&self) -> (u64, u64) {
        let frames = self.frames();
        (frames.used() as u64, frames.dirty_pages())
    }

    fn lists(&self) -> Vec<(&'static str, u64)> {
        let names = ["irl_pages", "srl_pages", "drl_pages"];
        let pages = self.scheme().list_pages();
        let pages = pages
            .into_iter()
            .flat_map(|pages| names.into_iter().zip(pages));
        pages.chain(stats_of(self.scheme()).gauges()).collect()
    }

    fn carry(self: Box<Self>) -> Carried<Engine> {
        Cache::carry(*self)
    }

    fn into_engine(self: Box<Self>) -> Engine {
        self.flash
    }
}

/// Makes the cache of `spec` over a device that may have served another one.
fn build(spec: &RunSpec, capacity: Capacity, carried: Carried<Engine>) -> Box<dyn LiveCache> {
    let slots = capacity.frames;
    let env = env_of(spec, capacity.frames, slots);
    let make = Make {
        spec,
        frames: (capacity.frames, slots),
        carried,
    };
    match spec.boxed {
        true => make.visit(Boxed::build(&spec.expr, &env)),
        false => build_any(&spec.expr, &env, make),
    }
}

struct Make<'a> {
    spec: &'a RunSpec,
    frames: (u32, u32),
    carried: Carried<Engine>,
}

impl Visit for Make<'_> {
    type Out = Box<dyn LiveCache>;

    fn visit<S: Scheme + Send + 'static>(self, scheme: S) -> Self::Out {
        let (spec, options) = (self.spec, cache_options(self.spec));
        let background = spec.has_background();
        let layout = layout_of(spec);
        let mut cache = Cache::carry_on(
            scheme,
            self.carried,
            self.frames,
            (spec.page, layout),
            options,
        );
        if background {
            cache.enable_background();
        }
        if spec.unbalance {
            cache.sample_queues();
        }
        Box::new(cache)
    }
}
