//! Replaying a workload through a cache: warm-up, passes, and when each request is issued.

use crate::RunError;
use crate::cache::observe::Observer;
use crate::cache::sample::{SAMPLE_EVERY, Samples};
use crate::result::log::RequestLog;
use crate::result::series::Series;
use crate::run::front::{Front, OwnedRequest};
use crate::run::meter::{Meter, look};
use crate::run::recording::Figures;
use crate::run::run_cache::RunCache;
use crate::run::spec::{Replay, RunSpec, TimeScale};
use destage_record::Completion;
use destage_scheme::{PREFETCH, Place, SchemeStats, Upcoming};
use destage_trace::{RequestSlice, Workload, WorkloadPass};
use destage_types::{HostRequest, Nanos};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
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
}

/// A run under way.
pub(crate) struct Session<'a> {
    workload: Workload<'a>,
    length: RunLength,
    cache: &'a mut dyn RunCache,
    pace: Pace,
    followers: Followers<'a>,
    log: Option<RequestLog>,
    series: Vec<Series>,
    /// Figures of the scheme when the measured part began.
    stats_before: SchemeStats,
    /// When the last request was issued.
    issued: Nanos,
    /// Completions on their way to the log and to a closed loop.
    done: Vec<Completion>,
    /// The host's side of the device, if it has one.
    front: Option<Box<Front>>,
}

/// When requests are issued.
enum Pace {
    /// When the trace says so; `pass` passes came before.
    Open { scale: TimeScale, shift: Nanos },
    /// Each when one of the requests before it completes.
    Closed(Loop),
}

/// The requests of a closed loop that are not complete.
struct Loop {
    depth: u64,
    issued: u64,
    /// Completions that are known and to come.
    ends: BinaryHeap<Reverse<Nanos>>,
    now: Nanos,
}

impl<'a> Session<'a> {
    pub fn new(
        spec: &RunSpec,
        workload: Workload<'a>,
        length: RunLength,
        cache: &'a mut dyn RunCache,
        followers: Followers<'a>,
    ) -> Session<'a> {
        let front = spec
            .device
            .as_ref()
            .and_then(|device| Front::new(device, spec.replay));
        let pace = match spec.replay {
            Replay::Open | Replay::Limited { .. } => Pace::Open {
                scale: spec.time_scale,
                shift: Nanos::ZERO,
            },
            Replay::Closed { depth } => Pace::Closed(Loop {
                depth: u64::from(depth.get()),
                issued: 0,
                // No more can be on their way than there are.
                ends: BinaryHeap::with_capacity(
                    (depth.get() as usize).min(workload.len() as usize) + 1,
                ),
                now: Nanos::ZERO,
            }),
        };
        Session {
            workload,
            length,
            cache,
            pace,
            followers,
            log: None,
            series: Vec::new(),
            stats_before: SchemeStats::default(),
            issued: Nanos::ZERO,
            done: Vec::new(),
            front: front.map(Box::new),
        }
    }

    /// Replays the trace, warm-up first, and lets all work end. The figures are those at the end of the
    /// trace.
    pub fn run(mut self) -> Result<Figures, RunError> {
        let (requests, warmup) = (self.workload.len(), self.length.warmup);
        let end = requests * self.length.passes;
        let mut samples = Samples::default();
        let mut sample_at = warmup + SAMPLE_EVERY;
        let mut pass = self.workload.pass()?;
        let mut at = 0;
        if matches!(self.pace, Pace::Closed(_)) || self.front.is_some() {
            self.cache.flash_mut().keep_completions();
        }
        if warmup == 0 {
            self.start_measuring()?;
        }
        while at < end {
            // The next point where something besides serving happens.
            let measured = at >= warmup;
            let pause = if measured { sample_at } else { warmup };
            let counted = self.cache.counted();
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
            if at == warmup {
                self.start_measuring()?;
            } else if measured {
                if at == sample_at || at == end {
                    samples.take(self.cache, at - warmup);
                    sample_at = at + SAMPLE_EVERY;
                }
                let counted = self.cache.counted();
                for series in &mut self.series {
                    if at == end || series.lacks(counted) == Some(0) {
                        series.row(self.cache, self.issued)?;
                    }
                }
            }
            self.take_completions()?;
        }
        self.finish_front()?;
        self.series.iter_mut().try_for_each(Series::finish)?;
        // What ends after the last arrival belongs to response times and busy times, not to the counters;
        // what would begin after it belongs to nothing.
        let mut figures = Figures::of(self.cache, samples, &self.stats_before);
        figures.host_side = self.front.as_ref().map(|front| front.latencies());
        if let Some(mut observer) = self.cache.unobserve() {
            observer.finish()?;
        }
        self.cache.stop_background(self.issued);
        self.cache.drain();
        self.take_completions()?;
        if let Some(log) = &mut self.log {
            log.finish()?;
        }
        Ok(figures)
    }

    fn start_measuring(&mut self) -> Result<(), RunError> {
        self.cache.reset_counts();
        self.stats_before = self.cache.stats();
        self.series = std::mem::take(&mut self.followers.series);
        let served = self.cache.served();
        self.series.iter_mut().for_each(|s| s.begin(served));
        if let Some(observer) = self.followers.observer.take() {
            self.cache.observe(observer);
        }
        if let Some(out) = self.followers.request_log.take() {
            self.cache.flash_mut().keep_completions();
            // A modelled file system may make no request of the trace's.
            let passed = self.length.warmup.checked_rem(self.workload.len());
            let first = passed.unwrap_or(0);
            self.log = Some(RequestLog::new(out, first)?);
        }
        Ok(())
    }

    /// Serves requests `from..to` of the stream; they lie in one pass.
    fn serve(&mut self, pass: &mut WorkloadPass<'_>, from: u64, to: u64) -> Result<(), RunError> {
        let passed = from - from % self.workload.len();
        let mut at = from;
        while at < to {
            let block = pass.next(to - at)?;
            let block = block.expect("a workload holds the requests it says");
            if self.front.is_some() {
                self.serve_through_front(block, at)?;
                at += block.records.len() as u64;
                continue;
            }
            match self.follows_trace() {
                Some(shift) => {
                    let served = self.cache.serve_all(block, at - passed, shift);
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
            self.cache.prefetch(heads, behind, &mut upcoming);
            for (head, &place) in heads.iter().zip(upcoming.places()) {
                let now = self.prepare(head)?;
                let request = block.batch.with_sides(head);
                self.cache.serve_at(request, at - passed, now, place);
                if self.cache.flash().fault().is_some() {
                    return Err(self.full(at));
                }
                at += 1;
            }
        }
        Ok(())
    }

    /// Requests of a pass from number `at` of the stream on go through the host's side of the device.
    fn serve_through_front(&mut self, block: RequestSlice<'_>, at: u64) -> Result<(), RunError> {
        for (number, head) in (at..).zip(block.records) {
            let arrival = match self.pace {
                Pace::Open { scale, shift } => scale.apply(head.arrival) + shift,
                Pace::Closed(_) => self.wait_for_turn()?,
            };
            self.pass_time(arrival)?;
            self.issued = arrival;
            if let Some(front) = &mut self.front {
                let request = OwnedRequest::new(block.batch.with_sides(head));
                front.arrive(arrival, request, number, number >= self.length.warmup);
            }
            self.let_in(arrival)?;
        }
        Ok(())
    }

    /// When a closed loop issues its next request: as soon as there is room for it.
    fn wait_for_turn(&mut self) -> Result<Nanos, RunError> {
        while self.front.as_ref().is_some_and(|front| !front.takes_more()) {
            let next = self.next_of_front();
            assert!(next != Nanos::NEVER, "a request never completes");
            self.pass_time(next)?;
        }
        Ok(self.issued)
    }

    /// When something happens next, in the device or at its host's side.
    fn next_of_front(&self) -> Nanos {
        let waits = self.cache.has_waiting_writes();
        let front = self
            .front
            .as_ref()
            .map_or(Nanos::NEVER, |front| front.next_event(waits));
        front.min(self.cache.flash().next_event())
    }

    /// Lets time pass up to `until`, and commands into the cache that come meanwhile.
    fn pass_time(&mut self, until: Nanos) -> Result<(), RunError> {
        loop {
            let next = self.next_of_front();
            if next > until || next == Nanos::NEVER {
                return Ok(());
            }
            self.end_intervals(next)?;
            self.cache.advance(next);
            self.issued = next;
            self.let_in(next)?;
        }
    }

    /// Lets the commands into the cache that are due at `now`.
    fn let_in(&mut self, now: Nanos) -> Result<(), RunError> {
        let Some(mut front) = self.front.take() else {
            return Ok(());
        };
        let mut full = None;
        loop {
            self.cache.flash_mut().take_completions(&mut self.done);
            self.done.drain(..).for_each(|done| front.completed(done));
            front.settle(now);
            let Some((request, index)) = front.due(now, self.cache.has_waiting_writes()) else {
                break;
            };
            self.cache.serve_at(request.get(), index, now, Place::BLANK);
            if self.cache.flash().fault().is_some() {
                full = Some(index);
                break;
            }
        }
        front.take_done(&mut self.done);
        self.front = Some(front);
        for mut done in self.done.drain(..) {
            done.index %= self.workload.len().max(1);
            if done.measured
                && let Some(log) = &mut self.log
            {
                log.add(done)?;
            }
        }
        full.map_or(Ok(()), |index| Err(self.full(index)))
    }

    /// Lets all requests end that are at the host's side of the device.
    fn finish_front(&mut self) -> Result<(), RunError> {
        while self.front.as_ref().is_some_and(|front| !front.is_empty()) {
            let next = self.next_of_front();
            assert!(next != Nanos::NEVER, "a request never completes");
            self.pass_time(next)?;
        }
        Ok(())
    }

    /// The device had no room for what this request needs.
    fn full(&self, request: u64) -> RunError {
        let full = self.cache.flash().fault();
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

    /// What comes before a request in other runs, and when it is issued.
    fn prepare(&mut self, head: &HostRequest) -> Result<Nanos, RunError> {
        let now = self.issue(head)?;
        self.end_intervals(now)?;
        self.issued = now;
        Ok(now)
    }

    /// Something happens at `now`: intervals of time that end before it give their row.
    fn end_intervals(&mut self, now: Nanos) -> Result<(), RunError> {
        for series in &mut self.series {
            if let Some(end) = series.ended(now) {
                // An end that is an arrival belongs to the interval behind it.
                self.cache.advance(Nanos(end.0 - 1));
                series.row(self.cache, end)?;
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
            if closed.issued < closed.depth {
                closed.issued += 1;
                return Ok(closed.now);
            }
            // What is not known yet completes at the next event or later.
            let next = self.cache.flash().next_event();
            if let Some(&Reverse(end)) = closed.ends.peek()
                && end <= next
            {
                closed.ends.pop();
                closed.now = closed.now.max(end);
                return Ok(closed.now);
            }
            assert!(next != Nanos::NEVER, "a request never completes");
            // An interval that ends before this event has its row before: time does not go back.
            self.end_intervals(next)?;
            self.cache.advance(next);
        }
    }

    /// Takes completed requests to the log and to the closed loop.
    fn take_completions(&mut self) -> Result<(), RunError> {
        if self.front.is_some() {
            // The host's side takes them as it goes.
            return Ok(());
        }
        self.cache.flash_mut().take_completions(&mut self.done);
        if let Some((limit, at)) = self.cache.flash().timeline_excess() {
            return Err(RunError::TimelineMemory { limit, at });
        }
        for done in self.done.drain(..) {
            if let Pace::Closed(closed) = &mut self.pace {
                closed.ends.push(Reverse(done.complete));
            }
            if done.measured
                && let Some(log) = &mut self.log
            {
                log.add(done)?;
            }
        }
        Ok(())
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

impl Pace {
    /// Another pass over the trace begins, whose requests arrive from `first` to `last`.
    fn next_pass(&mut self, first: Nanos, last: Nanos) {
        if let Pace::Open { scale, shift } = self {
            *shift = *shift + (scale.apply(last) - scale.apply(first)) + PASS_GAP;
        }
    }
}
