//! Watching a window of a run: the run goes through the trace as always, and inside the window a
//! recorder compares the cache and the device after each step with the step before. The changes
//! become a [`Scene`].
//!
//! `WatchedCache` stands between the run and its cache, so a run that nobody watches has none of this in its way.

mod cache;
mod recorder;
mod scene;
mod splice;

pub(crate) use cache::WatchedCache;

use crate::RunError;
use crate::run::replay::shift_of_pass;
use crate::run::spec::{Replay, RunSpec};
use destage_record::{Scene, TimelineWindow};
use destage_trace::Workload;
use destage_types::Nanos;

/// Takes the scene of a run when the run is done.
pub type SceneSink = Box<dyn FnOnce(Scene) -> std::io::Result<()> + Send>;

/// A request for a scene of a run.
pub struct WatchHook {
    /// The part of the run that it shows.
    pub window: WatchWindow,
    /// Bytes of memory that operations and requests of the window may take.
    pub limit: u64,
    /// Takes the scene when the run ends.
    pub take: SceneSink,
}

/// A part of a run, in simulated time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatchWindow {
    /// Begin; events at this time are inside.
    pub from: Nanos,
    /// End; events at this time are outside.
    pub to: Nanos,
}

impl WatchWindow {
    pub(crate) fn of_timeline(self) -> TimelineWindow {
        TimelineWindow {
            from: Some(self.from),
            to: self.to,
        }
    }
}

/// A window as a user asks for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatchAsk {
    /// Its begin.
    pub from: WatchFrom,
    /// Its end; without one that of [`USUAL_REQUESTS`].
    pub to: Option<Nanos>,
}

/// Where a window begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WatchFrom {
    /// At this time.
    Time(Nanos),
    /// When this request of the trace arrives, from 0.
    Request(u64),
}

/// Requests of a window without an end.
pub const USUAL_REQUESTS: u64 = 500;

/// Requests of a window at most, so that a picture of it is small.
pub const MOST_REQUESTS: u64 = 20_000;

impl WatchAsk {
    /// The window of a run of `spec` over `workload`.
    ///
    /// # Errors
    /// There is no such request, the window is empty or has too many requests, or a closed loop decides when requests
    /// are issued.
    pub fn window(self, spec: &RunSpec, workload: Workload<'_>) -> Result<WatchWindow, RunError> {
        let refused = |fault: String| Err(RunError::Watch(fault));
        let closed = matches!(spec.replay, Replay::Closed { .. });
        if closed {
            return match (self.from, self.to) {
                (WatchFrom::Time(from), Some(to)) if from < to => Ok(WatchWindow { from, to }),
                _ => refused(
                    "a closed loop issues a request when another one completes, so the time of a request is not known \
                     before the run; give the window a begin and a later end as times"
                        .to_owned(),
                ),
            };
        }
        let requests = workload.len();
        let (_, passes) = spec.warmup.resolve(requests)?;
        let shift = shift_of_pass(spec.time_scale, workload.span(), passes - 1);
        let mut arrivals = Vec::new();
        workload.try_each(|_, request| {
            arrivals.push(spec.time_scale.apply(request.head.arrival) + shift);
            Ok::<(), RunError>(())
        })?;
        let (from, first) = match self.from {
            WatchFrom::Time(from) => (from, arrivals.partition_point(|&at| at < from) as u64),
            WatchFrom::Request(number) => match arrivals.get(number as usize) {
                Some(&from) => (from, number),
                None => {
                    return refused(format!(
                        "request {number} is not in the trace, which has requests 0 to {}",
                        requests.saturating_sub(1)
                    ));
                }
            },
        };
        let arrival_after =
            |count: u64| arrivals.get(first.saturating_add(count) as usize).copied();
        let to = self
            .to
            .or(arrival_after(USUAL_REQUESTS))
            .unwrap_or(Nanos::NEVER);
        if to <= from {
            return refused(format!(
                "the window begins at {} and ends at {}: it is empty",
                seconds(from),
                seconds(to)
            ));
        }
        if arrival_after(MOST_REQUESTS).is_some_and(|arrival| arrival < to) {
            return refused(format!(
                "more than {MOST_REQUESTS} requests arrive between {} and {}, the most that a window may have; choose an \
                 earlier end",
                seconds(from),
                seconds(to)
            ));
        }
        Ok(WatchWindow { from, to })
    }
}

/// A time as options take it.
fn seconds(time: Nanos) -> String {
    format!("{}s", time.0 as f64 / 1e9)
}
