//! Replaying a workload through a cache: warm-up, passes, and when each request is issued.

mod closed_loop;
mod hosted;

pub(crate) use closed_loop::LoopTimes;

use crate::RunError;
use crate::cache::observe::Observer;
use crate::cache::sample::SAMPLE_EVERY;
use crate::device::DeviceCore;
use crate::result::log::RequestLog;
use crate::result::series::Series;
use crate::run::front::{Front, HostedCache};
use crate::run::hits_by_size::SizesFound;
use crate::run::meter::{Meter, look};
use crate::run::recording::Figures;
use crate::run::run_cache::RunCache;
use crate::run::served::Served;
use crate::run::spec::{Replay, RunSpec, TimeScale};
use closed_loop::ClosedLoop;
use destage_record::Completion;
use destage_scheme::{PREFETCH, Upcoming};
use destage_trace::{RequestSlice, Workload, WorkloadPass};
use destage_types::{HostRequest, Nanos, RequestFlags};
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Time between two passes over a trace, so that they do not overlap.
const PASS_GAP: Nanos = Nanos(1_000_000);

/// Requests of a run: how many there are, and which are measured.
#[derive(Clone, Copy)]
pub(crate) struct RunLength {
    /// Requests before the measured part.
    pub warmup: u64,
    /// Passes over the trace.
    pub passes: u64,
}

/// Those who follow a run.
#[derive(Default)]
pub(crate) struct Followers<'a> {
    pub progress: Option<&'a AtomicU64>,
    pub meter: Option<&'a dyn Meter>,
    pub observer: Option<Box<dyn Observer + Send>>,
    pub request_log: Option<Box<dyn Write + Send>>,
    pub series: Vec<Series>,
    pub sizes: Option<SizesFound>,
}

/// A run under way.
pub(crate) struct Session<'a> {
    workload: Workload<'a>,
    length: RunLength,
    served: Served<&'a mut (dyn RunCache + 'a)>,
    pace: Pace,
    followers: Followers<'a>,
    log: Option<RequestLog<'a>>,
    series: Vec<Series>,
    /// When the last request was issued.
    issued: Nanos,
    /// Has the measured part begun?
    measuring: bool,
    /// Has the device a host's side?
    is_hosted: bool,
}

/// When requests are issued.
enum Pace {
    /// When the trace says so; `pass` passes came before.
    Open { scale: TimeScale, shift: Nanos },
    /// Each when one of the requests before it completes.
    Closed(ClosedLoop),
}

impl<'a> Session<'a> {
    pub fn new(
        spec: &RunSpec,
        workload: Workload<'a>,
        length: RunLength,
        flags: RequestFlags,
        cache: &'a mut (dyn RunCache + 'a),
        followers: Followers<'a>,
    ) -> Session<'a> {
        let preflush = flags.any(RequestFlags::PREFLUSH);
        let device = spec.device.as_ref();
        let front = device.and_then(|device| Front::new(device, spec.replay, preflush));
        if flags.any(RequestFlags::FUA)
            && let Some(device) = cache.device_mut()
        {
            device.expect_fua();
        }
        let is_hosted = front.is_some();
        let pace = match spec.replay {
            Replay::Open | Replay::Limited { .. } => Pace::Open {
                scale: spec.time_scale,
                shift: Nanos::ZERO,
            },
            Replay::Closed { depth } => Pace::Closed(ClosedLoop::new(depth, workload.len())),
        };
        Session {
            workload,
            length,
            served: Served::new(cache, front.map(Box::new)),
            pace,
            followers,
            log: None,
            series: Vec::new(),
            issued: Nanos::ZERO,
            measuring: false,
            is_hosted,
        }
    }

    /// The last request arrives at `last`.
    pub fn expect_arrivals_until(&mut self, last: Nanos) {
        match &mut self.served.front {
            Some(front) => front.expect_arrivals_until(last),
            None => {
                if let Some(device) = self.served.cache.device_mut() {
                    device.requests.completed.expect_arrivals_until(last);
                }
            }
        }
    }

    /// Replays the trace, warm-up first, and lets all work end. The figures are those at the end of the
    /// trace, when all requests have come to the cache.
    pub fn run(mut self) -> Result<Figures, RunError> {
        let (requests, warmup) = (self.workload.len(), self.length.warmup);
        let end = requests * self.length.passes;
        let mut pass = self.workload.pass()?;
        let mut at = 0;
        if matches!(self.pace, Pace::Closed(_)) || self.served.front.is_some() {
            self.served.keep_completions();
        }
        if warmup == 0 {
            self.start_measuring()?;
        }
        while at < end {
            // The next point where something besides serving happens.
            let pause = match &self.served.front {
                // There it happens as requests come to the cache.
                Some(_) => end,
                None if at >= warmup => at + SAMPLE_EVERY - (at - warmup) % SAMPLE_EVERY,
                None => warmup,
            };
            let counted = self.served.state().counted();
            let lacks = self.series.iter().filter_map(|s| s.lacks(counted)).min();
            let row = lacks.map_or(u64::MAX, |lacks| at.saturating_add(lacks));
            let next = pause.min(row).min((at / requests + 1) * requests).min(end);
            let next = next.min(at + SAMPLE_EVERY);
            if at > 0 && at % requests == 0 {
                pass = self.workload.pass()?;
                let (first, last) = self.workload.span();
                self.pace.next_pass(first, last);
            }
            self.serve(&mut pass, at, next)?;
            if let Some(progress) = self.followers.progress {
                progress.fetch_add(next - at, Ordering::Relaxed);
            }
            at = next;
            if let Some(meter) = self.followers.meter {
                look(meter, at - 1)?;
            }
            if self.served.front.is_none() {
                self.note_served(at)?;
            }
            self.take_completions()?;
        }
        self.finish()
    }

    /// Without a front: the first `at` requests of the stream are served.
    fn note_served(&mut self, at: u64) -> Result<(), RunError> {
        if !self.measuring {
            return if at == self.length.warmup {
                self.start_measuring()
            } else {
                Ok(())
            };
        }
        self.served.came_to(at - self.length.warmup);
        if self.series.is_empty() {
            return Ok(());
        }
        self.end_counted_intervals(None)
    }

    /// All requests have arrived.
    fn finish(mut self) -> Result<Figures, RunError> {
        if !self.let_all_in()? {
            return Err(self.out_of_room());
        }
        for mut series in std::mem::take(&mut self.series) {
            let times = self.served.response_times();
            series.last_row(self.served.state(), times, self.issued)?;
            series.finish()?;
        }
        // Operations that end after the last request came belong to response times and busy times,
        // not to the counters. Operations that would begin after it belong to nothing.
        if let Some(mut observer) = self.served.cache.unobserve() {
            observer.finish()?;
        }
        let (mut figures, ends) = self.end_at(self.issued)?;
        // A device that is full never gives room to requests that wait for it.
        let device = self.served.state().device();
        let waits = |device: &DeviceCore| device.full.is_some() && device.requests.any();
        if !ends || device.is_some_and(waits) {
            return Err(self.out_of_room());
        }
        self.take_completions()?;
        if let Pace::Closed(closed) = &self.pace {
            figures.loop_times = closed.times();
        }
        if let Some(log) = &mut self.log {
            log.finish()?;
        }
        Ok(figures)
    }

    /// Intervals of requests that have all theirs give their row. `front` is the host's side while it is not here.
    fn end_counted_intervals(&mut self, front: Option<&Front>) -> Result<(), RunError> {
        let state = self.served.state();
        let counted = state.counted();
        for series in &mut self.series {
            if series.lacks(counted) == Some(0) {
                let times = match front {
                    Some(front) => Some(front.response_times()),
                    None => state.device().map(DeviceCore::response_times),
                };
                series.row(state, times, self.issued)?;
            }
        }
        Ok(())
    }

    fn start_measuring(&mut self) -> Result<(), RunError> {
        self.measuring = true;
        self.count_sizes(true);
        self.served.restart_measuring();
        self.series = std::mem::take(&mut self.followers.series);
        let served = self.served.state().served();
        self.series.iter_mut().for_each(|s| s.begin(served));
        if let Some(observer) = self.followers.observer.take() {
            self.served.cache.observe(match self.is_hosted {
                true => Box::new(hosted::OfTrace {
                    observer,
                    requests: self.workload.len(),
                }),
                false => observer,
            });
        }
        if let Some(out) = self.followers.request_log.take() {
            self.served.keep_completions();
            // A modelled file system may make no request of the trace's.
            let passed = self.length.warmup.checked_rem(self.workload.len());
            let first = passed.unwrap_or(0);
            self.log = Some(RequestLog::new(out, first, self.workload)?);
        }
        Ok(())
    }

    /// Says whether the requests that come to the cache next are measured.
    fn count_sizes(&self, on: bool) {
        if let Some(sizes) = &self.followers.sizes {
            sizes.count(on);
        }
    }

    /// Serves requests `from..to` of the stream; they lie in one pass.
    fn serve(&mut self, pass: &mut WorkloadPass<'_>, from: u64, to: u64) -> Result<(), RunError> {
        let passed = from - from % self.workload.len();
        let mut at = from;
        while at < to {
            let block = pass.next(to - at)?;
            let block = block.expect("a workload holds the requests it says");
            if self.served.front.is_some() {
                self.serve_through_front(block, at)?;
                at += block.records.len() as u64;
                continue;
            }
            match self.follows_trace() {
                Some(shift) => {
                    let served = self.served.cache.serve_all(block, at - passed, shift);
                    served.map_err(|number| self.full(passed + number))?;
                    let last = block.records.last();
                    self.issued = last.map_or(self.issued, |last| last.arrival + shift);
                }
                None => self.serve_each(block, at, passed)?,
            }
            at += block.records.len() as u64;
        }
        Ok(())
    }

    /// As [`RunCache::serve_all`], where something may come between requests: from number `at` of the
    /// stream on, in a pass before which there were `passed`.
    fn serve_each(
        &mut self,
        block: RequestSlice<'_>,
        mut at: u64,
        passed: u64,
    ) -> Result<(), RunError> {
        let (mut rest, mut upcoming) = (block.records, Upcoming::none());
        while !rest.is_empty() {
            let (heads, behind) = rest.split_at(rest.len().min(PREFETCH));
            rest = behind;
            self.served.cache.prefetch(heads, behind, &mut upcoming);
            for (head, &place) in heads.iter().zip(upcoming.places()) {
                let now = self.prepare(head)?;
                let request = block.batch.with_sides(head);
                self.served.cache.serve_at(request, at - passed, now, place);
                self.check_room(at)?;
                at += 1;
            }
        }
        Ok(())
    }

    /// Something waits, and nothing is under way. It waits for room, and the device says so now.
    fn out_of_room(&mut self) -> RunError {
        let device = self.served.state().device();
        let now = device.map_or(self.issued, |device| device.rest().max(self.issued));
        self.served.cache.advance(now);
        assert!(self.served.fault().is_some(), "a request never completes");
        self.full((self.workload.len() * self.length.passes).saturating_sub(1))
    }

    /// Had the device room for what this request needs?
    fn check_room(&self, request: u64) -> Result<(), RunError> {
        match self.served.fault() {
            Some(_) => Err(self.full(request)),
            None => Ok(()),
        }
    }

    /// The device had no room for what this request needs.
    fn full(&self, request: u64) -> RunError {
        let full = self.served.fault();
        RunError::DeviceFull {
            request,
            full: Box::new(*full.expect("a device that is full says so")),
        }
    }

    /// In runs that do nothing between requests and issue them when the trace says so: the time
    /// that passed before this pass. Most runs are of this kind, and it is worth one test.
    fn follows_trace(&self) -> Option<Nanos> {
        match self.pace {
            Pace::Open { scale, shift } if scale == TimeScale::ONE => {
                self.series.is_empty().then_some(shift)
            }
            _ => None,
        }
    }

    /// Lets time pass up to a request, and returns when it is issued.
    fn prepare(&mut self, head: &HostRequest) -> Result<Nanos, RunError> {
        let now = self.issue(head)?;
        self.end_intervals(now)?;
        self.issued = now;
        Ok(now)
    }

    /// Something happens at `now`: intervals of time that end before it give their row.
    fn end_intervals(&mut self, now: Nanos) -> Result<(), RunError> {
        for i in 0..self.series.len() {
            if let Some(end) = self.series[i].ended(now) {
                // An end that is an arrival belongs to the interval behind it.
                self.served.cache.advance(Nanos(end.0 - 1));
                let times = self.served.response_times();
                self.series[i].row(self.served.state(), times, end)?;
            }
        }
        Ok(())
    }

    /// When the next request is issued.
    fn issue(&mut self, head: &HostRequest) -> Result<Nanos, RunError> {
        match self.pace {
            Pace::Open { scale, shift } => Ok(scale.apply(head.arrival) + shift),
            Pace::Closed(_) => self.issue_next(),
        }
    }

    /// As [`Session::issue`], in a closed loop: lets time pass until a request completes, unless
    /// there is room for one more.
    fn issue_next(&mut self) -> Result<Nanos, RunError> {
        loop {
            self.take_completions()?;
            let Pace::Closed(closed) = &mut self.pace else {
                return Ok(Nanos::ZERO);
            };
            // A completion that is not known yet comes at the next event or later.
            let next = self.served.state().next_flash_event();
            if let Some(now) = closed.issue(next) {
                return Ok(now);
            }
            if next == Nanos::NEVER {
                return Err(self.out_of_room());
            }
            // An interval that ends before this event has its row before: time does not go back.
            self.end_intervals(next)?;
            self.served.cache.advance(next);
        }
    }

    /// Takes completed requests to the log and to the closed loop.
    fn take_completions(&mut self) -> Result<(), RunError> {
        if let Some((limit, at)) = self
            .served
            .state()
            .device()
            .and_then(DeviceCore::timeline_excess)
        {
            return Err(RunError::TimelineMemory { limit, at });
        }
        if self.served.front.is_some() {
            // The host's side takes them as it goes.
            return Ok(());
        }
        let mut all = self.served.take_completions();
        let taken = all.drain(..).try_for_each(|done| self.complete(done));
        self.served.done = all;
        taken
    }

    /// A request is complete.
    fn complete(&mut self, done: Completion) -> Result<(), RunError> {
        let rows = (self.served.cache.device_mut()).and_then(DeviceCore::timeline_rows);
        if let Some(rows) = rows {
            rows.keep_request(&done);
        }
        if let Pace::Closed(closed) = &mut self.pace {
            closed.complete(&done);
        }
        match &mut self.log {
            Some(log) if done.measured => Ok(log.add(done)?),
            _ => Ok(()),
        }
    }
}

/// Arrival of the last request of all passes over a trace from `first` to `last`, which must be below what
/// times may be. With a device half of the 64 bits of a time are left for what waits.
///
/// # Errors
/// The last request would arrive too late.
pub(crate) fn last_arrival(
    spec: &RunSpec,
    first: Nanos,
    last: Nanos,
    passes: u64,
) -> Result<Nanos, RunError> {
    if spec.replay.depth().is_some() {
        return Ok(Nanos::ZERO);
    }
    let at = |time| spec.time_scale.apply_wide(time);
    let pass = at(last) - at(first) + u128::from(PASS_GAP.0);
    let last = at(last) + u128::from(passes - 1) * pass;
    let limit_bits = if spec.device.is_some() { 63 } else { 64 };
    match last >> limit_bits {
        0 => Ok(Nanos(last as u64)),
        _ => Err(RunError::TooLate { last, limit_bits }),
    }
}

/// Time from the start of a run to the begin of a pass over the trace before which there were `passes`. The trace
/// lasts from the first to the second time of `span`.
pub(crate) fn shift_of_pass(scale: TimeScale, span: (Nanos, Nanos), passes: u64) -> Nanos {
    let length = scale.apply(span.1) - scale.apply(span.0) + PASS_GAP;
    Nanos(length.0.saturating_mul(passes))
}

impl Pace {
    /// Another pass over the trace begins, whose requests arrive from `first` to `last`.
    fn next_pass(&mut self, first: Nanos, last: Nanos) {
        if let Pace::Open { scale, shift } = self {
            *shift += shift_of_pass(*scale, (first, last), 1);
        }
    }
}
