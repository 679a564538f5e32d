//! How a trace goes: times between its requests, how soon pages come back, and what it has touched by
//! when.

use super::range_map::RangeMap;
use destage_types::{Nanos, Op, RequestRef};

/// Classes of a number: 0, 1, 2 to 3, 4 to 7, ... up to the largest of 64 bits.
pub const DOUBLINGS: usize = 65;
/// Moments that are kept at most; then every second one goes, and from then on half as many come.
const MOMENTS: usize = 256;

/// The class of `number`.
fn doubling(number: u64) -> usize {
    (u64::BITS - number.leading_zeros()) as usize
}

/// Totals of a trace up to some request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TraceMoment {
    /// Requests by then.
    pub requests: u64,
    /// Arrival of the last of them.
    pub arrival: Nanos,
    /// Different pages of 4 KiB that were accessed.
    pub touched: u64,
    /// Those of them that were written.
    pub written: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
}

/// How a trace goes. Memory grows with its requests, whatever they say of their length.
pub struct TraceProfile {
    /// Times between a request and the one before it, in nanoseconds, by [`DOUBLINGS`].
    pub gaps: [u64; DOUBLINGS],
    /// Page accesses by requests since the last access to the page, by [`DOUBLINGS`]; 0 is the same
    /// request.
    pub reuse: [u64; DOUBLINGS],
    /// Page accesses to pages that were not accessed before.
    pub first: u64,
    /// At equal distances in requests.
    moments: Vec<TraceMoment>,
    /// That distance.
    every: u64,
    now: TraceMoment,
    /// The request that accessed each page last.
    recent: RangeMap<u64>,
}

impl Default for TraceProfile {
    fn default() -> TraceProfile {
        TraceProfile {
            gaps: [0; DOUBLINGS],
            reuse: [0; DOUBLINGS],
            first: 0,
            moments: Vec::new(),
            every: 1,
            now: TraceMoment::default(),
            recent: RangeMap::default(),
        }
    }
}

impl TraceProfile {
    /// Counts the next request, by which so many pages were touched and written.
    pub(super) fn request(&mut self, request: RequestRef<'_>, touched: u64, written: u64) {
        let head = request.head;
        if self.now.requests > 0 {
            let gap = head.arrival.0.saturating_sub(self.now.arrival.0);
            self.gaps[doubling(gap)] += 1;
        }
        self.now.requests += 1;
        self.now.arrival = head.arrival;
        (self.now.touched, self.now.written) = (touched, written);
        match head.op {
            Op::Read => self.now.read_bytes += request.bytes(),
            Op::Write => self.now.write_bytes += request.bytes(),
            Op::Trim | Op::Flush => {}
        }
        if self.now.requests.is_multiple_of(self.every) {
            self.moments.push(self.now);
        }
        if self.moments.len() == MOMENTS {
            self.every *= 2;
            let every = self.every;
            self.moments.retain(|m| m.requests.is_multiple_of(every));
        }
    }

    /// Counts the pages from `first` up to `end` that the request after those counted accesses.
    pub(super) fn access(&mut self, first: u64, end: u64) {
        let now = self.now.requests;
        let mut known = 0;
        for (pages, last) in self.recent.replace(first, end, now) {
            self.reuse[doubling(now - last)] += pages;
            known += pages;
        }
        self.first += end - first - known;
    }

    /// Moments at equal distances in requests, the last one the end of the trace.
    pub fn moments(&self) -> Vec<TraceMoment> {
        let mut moments = self.moments.clone();
        if self.now.requests > 0 && moments.last() != Some(&self.now) {
            moments.push(self.now);
        }
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_double() {
        let classes: Vec<usize> = [0, 1, 2, 3, 4, 7, 8, u64::MAX].map(doubling).to_vec();
        assert_eq!(classes, [0, 1, 2, 2, 3, 3, 4, 64]);
    }
}
