//! A cache that serves requests behind the host's side of its device, and what is measured of it: the core of a run and
//! of a device that is fed by hand.

use crate::cache::sample::{SAMPLE_EVERY, Samples};
use crate::device::DeviceCore;
use crate::device::latency::LatencyTriple;
use crate::run::front::{Front, HostSide};
use crate::run::recording::Figures;
use crate::run::run_cache::{CacheState, RunCache};
use destage_device::map::DeviceFull;
use destage_record::Completion;
use destage_scheme::SchemeStats;
use destage_types::{Nanos, RequestRef};
use std::ops::DerefMut;

/// A cache, what is before it, and its figures.
pub(crate) struct Served<C> {
    pub cache: C,
    /// The host's side of the device, if that is simulated.
    pub front: Option<Box<Front>>,
    /// Requests that have come to the cache since the statistics began.
    pub came: u64,
    pub samples: Samples,
    /// Figures of the scheme when the statistics began.
    stats_before: SchemeStats,
    /// Completions on their way, a list to reuse.
    pub done: Vec<Completion>,
}

impl<C: DerefMut<Target: RunCache>> Served<C> {
    pub fn new(cache: C, front: Option<Box<Front>>) -> Served<C> {
        Served {
            cache,
            front,
            came: 0,
            samples: Samples::default(),
            stats_before: SchemeStats::default(),
            done: Vec::new(),
        }
    }

    /// The host's side of the device, if that is simulated and not away.
    pub fn front(&self) -> Option<&Front> {
        self.front.as_deref()
    }

    pub fn state(&self) -> &dyn CacheState {
        self.cache.state()
    }

    /// Statistics begin again from zero.
    pub fn restart_measuring(&mut self) {
        self.cache.reset_counts();
        self.stats_before = self.state().stats();
        (self.samples, self.came) = (Samples::default(), 0);
    }

    /// A request comes to the cache, which may be none of the statistics.
    pub fn serve(&mut self, request: RequestRef<'_>, index: u64, now: Nanos, counts: bool) {
        self.cache.serve(request, index, now, counts);
        if counts {
            self.came_to(self.came + 1);
        }
    }

    /// So many requests have come to the cache.
    pub fn came_to(&mut self, came: u64) {
        self.came = came;
        if came.is_multiple_of(SAMPLE_EVERY) {
            self.samples.take(self.cache.state(), came);
        }
    }

    /// Takes completed requests from the flash.
    pub fn take_completions(&mut self) -> Vec<Completion> {
        let mut done = std::mem::take(&mut self.done);
        if let Some(device) = self.cache.device_mut() {
            device.take_completions(&mut done);
        }
        done
    }

    /// Were requests completed since these were taken, if they are kept?
    pub fn has_completions(&self) -> bool {
        let device = self.state().device();
        device.is_some_and(|device| device.requests.completed.has_kept())
    }

    /// Keeps completed requests from now on.
    pub fn keep_completions(&mut self) {
        if let Some(device) = self.cache.device_mut() {
            device.keep_completions();
        }
    }

    /// The device ran out of space.
    pub fn fault(&self) -> Option<&DeviceFull> {
        self.state().device()?.fault()
    }

    /// Response times so far.
    pub fn response_times(&self) -> Option<&LatencyTriple> {
        match self.front() {
            Some(front) => Some(front.response_times()),
            None => self.state().device().map(DeviceCore::response_times),
        }
    }

    /// Measurements at the host's side of the device.
    pub fn figures_of_host(&self) -> Option<HostSide> {
        self.front().map(Front::measures)
    }

    /// The figures now.
    pub fn figures(&self) -> Figures {
        let mut samples = self.samples.clone();
        if !self.came.is_multiple_of(SAMPLE_EVERY) {
            samples.take(self.state(), self.came);
        }
        Figures {
            host_side: self.figures_of_host(),
            ..Figures::of(self.state(), samples, &self.stats_before)
        }
    }
}
