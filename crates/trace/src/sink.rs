//! Where readers put their requests: numbers and times them.

use destage_types::{Extent, HostRequest, Nanos, Op, RequestBatch};

use crate::readers::{Raise, ReadCounts};

/// Time between two requests of a trace without times.
pub(crate) const UNTIMED_NS: u64 = 1_000;

/// Makes arrivals of what a trace calls time.
#[derive(Default)]
pub(crate) struct ArrivalClock {
    first: Option<u64>,
    last: Nanos,
    tick_ns: u64,
    /// The time that requests were raised to last.
    raised_to: Nanos,
    /// How many of them, and by which request.
    raise: Raise,
}

impl ArrivalClock {
    /// A clock whose unit is `tick_ns` nanoseconds.
    pub fn new(tick_ns: u64) -> ArrivalClock {
        ArrivalClock {
            tick_ns,
            ..ArrivalClock::default()
        }
    }

    /// Counts a request whose time was raised to that of the request before it.
    #[cold]
    fn count_raised(&mut self, counts: &mut ReadCounts) {
        counts.arrival_corrections += 1;
        if self.raise.raised == 0 || self.raised_to != self.last {
            self.raised_to = self.last;
            self.raise = Raise {
                request: counts.requests,
                raised: 0,
            };
        }
        self.raise.raised += 1;
        if self.raise.raised > counts.most_raised.raised {
            counts.most_raised = self.raise;
        }
    }
}

/// Bytes of further extents and old addresses that a batch has, those of its last request not counted.
pub(crate) const LISTS: u64 = 4 << 20;

const SPAN: &str = "is more than 584 years after the first request";

/// Takes the requests of a reader, numbers and times them.
pub(crate) struct RequestSink<'a> {
    pub out: &'a mut RequestBatch,
    pub clock: &'a mut ArrivalClock,
    pub counts: &'a mut ReadCounts,
    /// Requests that `out` may hold.
    pub goal: usize,
    /// Bytes of lists that `out` may hold: the request that has more is the last one.
    pub lists: u64,
    /// Takes the second request of a line if `out` is full.
    pub extra: &'a mut Option<HostRequest>,
}

impl RequestSink<'_> {
    /// Time since the first request; never less than that of the request before.
    #[inline(always)]
    fn arrival(&mut self, ticks: u64) -> Result<Nanos, &'static str> {
        let first = *self.clock.first.get_or_insert(ticks);
        // A time before the first one is before the previous one, too.
        let since = ticks.saturating_sub(first);
        let now = Nanos(since.checked_mul(self.clock.tick_ns).ok_or(SPAN)?);
        if ticks < first || now < self.clock.last {
            self.clock.count_raised(self.counts);
        }
        self.clock.last = self.clock.last.max(now);
        Ok(self.clock.last)
    }

    /// Appends a request that arrives at `ticks` of the trace's own clock.
    #[inline(always)]
    pub fn push(&mut self, ticks: u64, mut request: HostRequest) -> Result<(), &'static str> {
        request.arrival = self.arrival(ticks)?;
        self.counts.requests += 1;
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
        *self.extra = Some(request);
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
        self.counts.requests += 1;
        self.out.push_with(request, more, prev);
        if self.out.side_memory() > self.lists {
            self.goal = self.out.len();
        }
        Ok(())
    }

    /// Appends a request of a trace without times: request i arrives at i us.
    #[inline(always)]
    pub fn push_untimed(&mut self, op: Op, extent: Extent) {
        let arrival = Nanos(self.counts.requests * UNTIMED_NS);
        self.counts.requests += 1;
        let (start, sectors) = (extent.start_sector, extent.sectors);
        self.out.push(HostRequest::new(arrival, op, start, sectors));
    }

    /// Counts a request whose bytes were rounded outward to sectors.
    #[inline(always)]
    pub fn count_unaligned(&mut self, rounded: bool) {
        self.counts.unaligned_requests += u64::from(rounded);
    }
}
