//! Where readers put their requests: numbers and times them.

use std::fmt;
use std::str::FromStr;

use destage_types::{Extent, HostRequest, Nanos, Op, RequestBatch};

use crate::error::{BadLine, TraceError};
use serde::{Deserialize, Serialize};

/// A request whose time is after those of requests behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Raise {
    /// Its number in the file, from 1.
    pub request: u64,
    /// Requests behind it that were given its time.
    pub raised: u64,
}

/// Counts of a reader.
#[derive(Clone, Default, Debug)]
pub struct ReadCounts {
    /// Lines read, comments and empty ones included.
    pub lines: u64,
    /// Requests decoded.
    pub requests: u64,
    /// Requests whose time was before that of the request before, and was raised to it.
    pub arrival_corrections: u64,
    /// The request whose time most of them were raised to.
    pub most_raised: Raise,
    /// Times at which the clock of the trace starts again.
    pub restarts: u64,
    /// The first request behind one, from 1.
    pub first_restart: u64,
    /// Requests whose bytes were rounded outward to whole sectors.
    pub unaligned_requests: u64,
    /// Bad lines that were skipped.
    pub skipped_lines: u64,
    /// The first of them.
    pub skipped_samples: Vec<BadLine>,
}

/// Messages of skipped lines that are kept.
const KEPT: usize = 5;

impl ReadCounts {
    /// Counts a bad line or record, whose number is that of the last one read.
    ///
    /// # Errors
    /// The line, unless such lines are skipped.
    #[cold]
    #[inline(never)]
    pub(crate) fn bad(
        &mut self,
        skip: bool,
        describe: impl FnOnce(u64) -> BadLine,
    ) -> Result<(), TraceError> {
        if !skip {
            return Err(TraceError::Line(Box::new(describe(self.lines))));
        }
        self.skipped_lines += 1;
        if self.skipped_samples.len() < KEPT {
            self.skipped_samples.push(describe(self.lines));
        }
        Ok(())
    }
}

/// Time between two requests of a trace without times.
pub(crate) const UNTIMED_NS: u64 = 1_000;

/// What to do where the clock of a trace starts again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Restarts {
    /// The requests behind it get the last time before.
    #[default]
    Raise,
    /// The clock goes on from there, or across its wrap.
    Continue,
    /// Reading ends with an error.
    Refuse,
}

const RESTARTS: [(Restarts, &str); 3] = [
    (Restarts::Raise, "raise"),
    (Restarts::Continue, "continue"),
    (Restarts::Refuse, "refuse"),
];

impl fmt::Display for Restarts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(RESTARTS[*self as usize].1)
    }
}

impl FromStr for Restarts {
    type Err = String;

    fn from_str(text: &str) -> Result<Restarts, String> {
        let row = RESTARTS.iter().find(|row| row.1 == text).map(|row| row.0);
        row.ok_or_else(|| format!("`{text}` is none of raise, continue, refuse"))
    }
}

/// Makes arrivals of what a trace calls time.
#[derive(Default)]
pub(crate) struct ArrivalClock {
    first: Option<u64>,
    /// The arrival of the first request since the clock started.
    base: Nanos,
    last: Nanos,
    /// The arrival before that.
    before: Nanos,
    tick_ns: u64,
    restarts: Restarts,
    /// Requests when the clock started last.
    started: u64,
    /// The time that requests were raised to last.
    raised_to: Nanos,
    /// How many of them, and by which request.
    raise: Raise,
}

/// Requests of a part that tell its clock; the order of fewer may be a wrong one.
const PART: u64 = 16;
/// Times of day begin anew.
const DAY_NS: u64 = 86_400_000_000_000;
/// Bits of counters that wrap.
const COUNTERS: [u32; 2] = [31, 32];

impl ArrivalClock {
    /// Nanoseconds from the time before the fall to `ticks` if the clock starts again there: the counter wraps, or
    /// the time falls to the first tenth of what has passed. A single time that was too late does neither.
    fn restart(&self, ticks: u64, requests: u64) -> Option<u64> {
        let first = self.first?;
        let part = |arrival: Nanos| arrival.0.saturating_sub(self.base.0) / self.tick_ns.max(1);
        let (last, before) = (part(self.last), part(self.before));
        let highest = first.saturating_add(last);
        let day = DAY_NS / self.tick_ns.max(1);
        let ends = COUNTERS.iter().map(|bits| 1u64 << bits);
        let wrap = ends.chain([day]).find(|&end| {
            // The last and the first hundredth of what it counts.
            let near = end / 100;
            let before = first.saturating_add(before);
            highest < end && highest >= end - near && before >= end - near && ticks < near
        });
        if let Some(end) = wrap {
            let gap = (end - highest).checked_add(ticks);
            return gap?.checked_mul(self.tick_ns);
        }
        let falls = ticks.saturating_sub(first) <= before / 10 && before > 0;
        (falls && requests - self.started >= PART).then_some(0)
    }

    /// A request whose time is before that of the request before it: starts the clock again, or counts one that is
    /// raised. The arrival.
    #[cold]
    fn fall(&mut self, ticks: u64, counts: &mut ReadCounts) -> Result<Nanos, &'static str> {
        // Those that are raised stay below the time they were raised to.
        let raised = self.raise.raised > 0 && self.raised_to == self.last;
        let again = raised && self.restarts == Restarts::Raise;
        if let Some(gap) = self.restart(ticks, counts.requests).filter(|_| !again) {
            counts.restarts += 1;
            if counts.restarts == 1 {
                counts.first_restart = counts.requests + 1;
            }
            match self.restarts {
                Restarts::Refuse => return Err(STARTS_AGAIN),
                Restarts::Continue => {
                    (self.first, self.started) = (Some(ticks), counts.requests);
                    self.base = Nanos(self.last.0.checked_add(gap).ok_or(SPAN)?);
                    self.before = self.base;
                    return Ok(self.base);
                }
                Restarts::Raise => {}
            }
        }
        counts.arrival_corrections += 1;
        if !raised {
            let (request, raised) = (counts.requests, 0);
            (self.raised_to, self.raise) = (self.last, Raise { request, raised });
        }
        self.raise.raised += 1;
        if self.raise.raised > counts.most_raised.raised {
            counts.most_raised = self.raise;
        }
        Ok(self.last)
    }
}

/// Bytes of further extents and old addresses that a batch has, those of its last request not counted.
pub(crate) const LISTS: u64 = 4 << 20;

const STARTS_AGAIN: &str =
    "is before the times in front of it: the clock starts again; --restarts continue lets it go on";
const SPAN: &str = "is more than 584 years after the first request";

/// What a reader keeps beside its batches.
#[derive(Default)]
pub(crate) struct Intake {
    pub clock: ArrivalClock,
    pub counts: ReadCounts,
    /// The second request of a line, for the next batch.
    extra: Option<HostRequest>,
}

impl Intake {
    /// For times in units of `tick_ns` nanoseconds.
    pub fn new(tick_ns: u64, restarts: Restarts) -> Intake {
        let mut intake = Intake::default();
        (intake.clock.tick_ns, intake.clock.restarts) = (tick_ns, restarts);
        intake
    }

    /// Takes requests up to `goal` of `out`, and up to `lists` bytes of lists.
    pub fn sink<'a>(
        &'a mut self,
        out: &'a mut RequestBatch,
        goal: usize,
        lists: u64,
    ) -> RequestSink<'a> {
        RequestSink {
            out,
            intake: self,
            goal,
            lists,
        }
    }

    /// Hands out the request that was kept.
    pub fn give_extra(&mut self, out: &mut RequestBatch) {
        if let Some(extra) = self.extra.take() {
            self.counts.requests += 1;
            out.push(extra);
        }
    }
}

/// Takes the requests of a reader, numbers and times them.
pub(crate) struct RequestSink<'a> {
    pub out: &'a mut RequestBatch,
    pub intake: &'a mut Intake,
    /// Requests that `out` may hold.
    pub goal: usize,
    /// Bytes of lists that `out` may hold: the request that has more is the last one.
    pub lists: u64,
}

impl RequestSink<'_> {
    /// Time since the first request; never less than that of the request before.
    #[inline(always)]
    fn arrival(&mut self, ticks: u64) -> Result<Nanos, &'static str> {
        let Intake { clock, counts, .. } = &mut *self.intake;
        let first = *clock.first.get_or_insert(ticks);
        // A time before the first one is before the previous one, too.
        let since = ticks.saturating_sub(first);
        let since = since.checked_mul(clock.tick_ns).ok_or(SPAN)?;
        let mut now = Nanos(since.checked_add(clock.base.0).ok_or(SPAN)?);
        if ticks < first || now < clock.last {
            now = clock.fall(ticks, counts)?;
        } else {
            clock.before = clock.last;
        }
        clock.last = now;
        Ok(now)
    }

    /// Appends a request that arrives at `ticks` of the trace's own clock.
    #[inline(always)]
    pub fn push(&mut self, ticks: u64, mut request: HostRequest) -> Result<(), &'static str> {
        request.arrival = self.arrival(ticks)?;
        self.intake.counts.requests += 1;
        self.out.push(request);
        Ok(())
    }

    /// Appends a request for one extent of `stream`.
    #[inline(always)]
    pub fn push_extent(
        &mut self,
        ticks: u64,
        op: Op,
        extent: Extent,
        stream: u32,
    ) -> Result<(), &'static str> {
        let mut request = HostRequest::new(Nanos::ZERO, op, extent.start_sector, extent.sectors);
        request.stream = stream;
        self.push(ticks, request)
    }

    /// Appends a request of `stream`: of an extent, which may have been rounded, or a flush, which has none.
    #[inline(always)]
    pub fn push_placed(
        &mut self,
        ticks: u64,
        op: Op,
        placed: Option<(Extent, bool)>,
        stream: u32,
    ) -> Result<(), &'static str> {
        let (extent, rounded) = placed.unwrap_or((Extent::new(0, 0), false));
        self.push_extent(ticks, op, extent, stream)?;
        self.count_unaligned(rounded);
        Ok(())
    }

    /// Appends a second request of the same line, or keeps it for the next batch.
    pub fn push_second(
        &mut self,
        ticks: u64,
        mut request: HostRequest,
    ) -> Result<(), &'static str> {
        if self.out.len() < self.goal {
            return self.push(ticks, request);
        }
        request.arrival = self.arrival(ticks)?;
        self.intake.extra = Some(request);
        Ok(())
    }

    /// As [`RequestSink::push`], with the further extents and old addresses of the request.
    pub fn push_with(
        &mut self,
        ticks: u64,
        mut request: HostRequest,
        more: &[Extent],
        prev: &[u64],
    ) -> Result<(), &'static str> {
        request.arrival = self.arrival(ticks)?;
        self.intake.counts.requests += 1;
        self.out.push_with(request, more, prev);
        if self.out.side_memory() > self.lists {
            self.goal = self.out.len();
        }
        Ok(())
    }

    /// Appends a request of a trace without times: request i arrives at i us.
    #[inline(always)]
    pub fn push_untimed(&mut self, op: Op, extent: Extent) {
        let arrival = Nanos(self.intake.counts.requests * UNTIMED_NS);
        self.intake.counts.requests += 1;
        let (start, sectors) = (extent.start_sector, extent.sectors);
        self.out.push(HostRequest::new(arrival, op, start, sectors));
    }

    /// Counts a request whose bytes were rounded outward to sectors.
    #[inline(always)]
    pub fn count_unaligned(&mut self, rounded: bool) {
        self.intake.counts.unaligned_requests += u64::from(rounded);
    }
}
