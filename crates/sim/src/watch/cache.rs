//! A cache that is watched: it lets time pass in single steps, and records the changes after each.

use super::recorder::Recorder;
use super::scene::{Watched, scene_of};
use super::{WatchWindow, seconds};
use crate::RunError;
use crate::cache::observe::Observer;
use crate::device::DeviceCore;
use crate::run::run_cache::{CacheState, RunCache};
use crate::run::spec::RunSpec;
use destage_record::scene::SceneGeometry;
use destage_record::{Scene, Timeline};
use destage_scheme::{Place, Upcoming};
use destage_trace::{RequestSlice, Workload};
use destage_types::{HostRequest, Nanos, RequestRef};

/// The cache of a run, with a recorder of its changes.
pub(crate) struct WatchedCache<'a> {
    inner: &'a mut dyn RunCache,
    recorder: Recorder,
    window: WatchWindow,
    stage: Stage,
    /// Has the window begun?
    began: bool,
}

/// How far the run has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Before,
    Inside,
    After,
}

impl<'a> WatchedCache<'a> {
    /// Watches `inner` in `window`.
    pub fn new(inner: &'a mut dyn RunCache, window: WatchWindow) -> WatchedCache<'a> {
        let recorder = Recorder::default();
        inner.observe(recorder.listener());
        WatchedCache {
            recorder,
            inner,
            window,
            stage: Stage::Before,
            began: false,
        }
    }

    /// The scene of the window, from the recorded changes and the timeline of the device.
    ///
    /// # Errors
    /// The window begins after the run, or the trace cannot be read again.
    pub fn scene(
        self,
        timeline: Timeline,
        spec: &RunSpec,
        workload: Workload<'_>,
    ) -> Result<Scene, RunError> {
        if !self.began {
            return Err(RunError::Watch(format!(
                "the window begins at {}, but the run ends at {}; choose an earlier time, or a request of the trace",
                seconds(self.window.from),
                seconds(
                    self.inner
                        .state()
                        .device()
                        .map_or(Nanos::ZERO, DeviceCore::rest)
                )
            )));
        }
        let geometry = SceneGeometry {
            frames: self.inner.state().frames().capacity() as u32,
            ..(self.inner.state().device())
                .map(DeviceCore::scene_geometry)
                .unwrap_or_default()
        };
        let watched = Watched {
            window: self.window,
            seen: self.recorder.finish(),
            timeline,
            geometry,
        };
        scene_of(watched, spec, workload)
    }

    /// Lets time pass up to and including `until`, step by step inside the window.
    fn pass_time(&mut self, until: Nanos) {
        if self.stage == Stage::Before && until >= self.window.from {
            if let Some(before) = self.window.from.0.checked_sub(1) {
                self.inner.advance(Nanos(before));
            }
            self.recorder.begin(self.inner.state(), self.window.from);
            (self.stage, self.began) = (Stage::Inside, true);
        }
        let mut last = None;
        while self.stage == Stage::Inside {
            let next = self.inner.state().next_event();
            // An event that stays due does not end by itself.
            if next > until || next >= self.window.to || last >= Some(next) {
                break;
            }
            self.inner.advance(next);
            self.record_changes(next);
            last = Some(next);
        }
        if self.stage == Stage::Inside && until >= self.window.to {
            self.end();
        }
        self.inner.advance(until);
        self.record_changes(until);
    }

    fn end(&mut self) {
        self.stage = Stage::After;
        self.recorder.end();
    }

    fn record_changes(&mut self, now: Nanos) {
        if self.stage == Stage::Inside {
            self.recorder.record_changes(self.inner.state(), now);
        }
    }
}

impl RunCache for WatchedCache<'_> {
    fn state(&self) -> &dyn CacheState {
        self.inner.state()
    }

    fn serve_all(
        &mut self,
        requests: RequestSlice<'_>,
        first: u64,
        shift: Nanos,
    ) -> Result<(), u64> {
        for (i, head) in requests.records.iter().enumerate() {
            let (number, now) = (first + i as u64, head.arrival + shift);
            let remaining = RequestSlice {
                batch: requests.batch,
                records: &requests.records[i..],
            };
            if self.stage == Stage::After {
                return self.inner.serve_all(remaining, number, shift);
            }
            self.pass_time(now);
            let one = RequestSlice {
                records: &remaining.records[..1],
                ..remaining
            };
            self.inner.serve_all(one, number, shift)?;
            self.record_changes(now);
        }
        Ok(())
    }

    fn prefetch(&mut self, heads: &[HostRequest], behind: &[HostRequest], upcoming: &mut Upcoming) {
        self.inner.prefetch(heads, behind, upcoming);
    }

    fn serve_at(&mut self, request: RequestRef<'_>, index: u64, now: Nanos, place: Place) {
        self.pass_time(now);
        self.inner.serve_at(request, index, now, place);
        self.record_changes(now);
    }

    fn serve(&mut self, request: RequestRef<'_>, index: u64, now: Nanos, counts: bool) {
        self.pass_time(now);
        self.inner.serve(request, index, now, counts);
        self.record_changes(now);
    }

    fn preflush(&mut self, index: u64, now: Nanos, counts: bool) {
        self.pass_time(now);
        self.inner.preflush(index, now, counts);
        self.record_changes(now);
    }

    fn advance(&mut self, until: Nanos) {
        self.pass_time(until);
    }

    fn drain(&mut self) {
        while self.stage != Stage::After {
            match self.inner.state().next_flash_event() {
                Nanos::NEVER => break,
                next => self.pass_time(next),
            }
        }
        self.inner.drain();
        // The requests after this are not of the run: they flush the cache.
        self.end();
    }

    fn stop_background(&mut self, now: Nanos) {
        self.inner.stop_background(now);
    }

    fn reset_counts(&mut self) {
        self.inner.reset_counts();
    }

    fn observe(&mut self, observer: Box<dyn Observer + Send>) {
        self.recorder.observe(observer);
    }

    fn unobserve(&mut self) -> Option<Box<dyn Observer + Send>> {
        self.recorder.unobserve()
    }

    fn device_mut(&mut self) -> Option<&mut DeviceCore> {
        self.inner.device_mut()
    }
}
