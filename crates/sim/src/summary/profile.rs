//! How a trace goes: times between its requests, how soon pages come back, and what it has touched by
//! when.

use destage_types::{Nanos, Op, RequestRef};
use std::collections::BTreeMap;

/// Classes of a number: 0, 1, 2 to 3, 4 to 7, ... up to the largest of 64 bits.
pub const DOUBLINGS: usize = 65;
/// Moments that are kept at most; then every second one goes, and from then on half as many come.
const MOMENTS: usize = 256;

/// The class of `number`.
fn doubling(number: u64) -> usize {
    (u64::BITS - number.leading_zeros()) as usize
}

/// What a trace had done by some request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    recent: LastAccesses,
}

impl Default for TraceProfile {
    fn default() -> TraceProfile {
        TraceProfile {
            gaps: [0; DOUBLINGS],
            reuse: [0; DOUBLINGS],
            first: 0,
            moments: Vec::new(),
            every: 1,
            now: TraceMoment {
                requests: 0,
                arrival: Nanos::ZERO,
                touched: 0,
                written: 0,
                read_bytes: 0,
                write_bytes: 0,
            },
            recent: LastAccesses::default(),
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
        for (pages, last) in self.recent.access(first, end, now) {
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

/// The request that accessed each page last: pages from a key up to an end, which do not overlap.
#[derive(Default)]
struct LastAccesses(BTreeMap<u64, (u64, u64)>);

impl LastAccesses {
    /// Request `now` accesses the pages from `first` up to `end`: of those that were accessed before,
    /// how many by which request.
    fn access(&mut self, first: u64, end: u64, now: u64) -> Vec<(u64, u64)> {
        self.cut(first);
        self.cut(end);
        let before = self.0.extract_if(first..end, |_, _| true);
        let before: Vec<(u64, u64)> = before.map(|(at, (to, last))| (to - at, last)).collect();
        self.0.insert(first, (end, now));
        before
    }

    /// Lets no run reach over the start of `page`.
    fn cut(&mut self, page: u64) {
        let Some((_, run)) = self.0.range_mut(..page).next_back() else {
            return;
        };
        let (to, last) = *run;
        if to > page {
            run.0 = page;
            self.0.insert(page, (to, last));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::rng::SplitMix64;

    #[test]
    fn last_accesses_are_those_of_pages_kept_one_by_one() {
        let mut rng = SplitMix64::new(3);
        let mut last = LastAccesses::default();
        let mut each: BTreeMap<u64, u64> = BTreeMap::new();
        for now in 0..3_000 {
            let first = rng.below(500);
            let end = first + 1 + rng.below(60);
            let mut expected: BTreeMap<u64, u64> = BTreeMap::new();
            for page in first..end {
                if let Some(before) = each.insert(page, now) {
                    *expected.entry(before).or_default() += 1;
                }
            }
            let mut found: BTreeMap<u64, u64> = BTreeMap::new();
            for (pages, before) in last.access(first, end, now) {
                *found.entry(before).or_default() += pages;
            }
            assert_eq!(found, expected);
        }
        last.access(0, u64::MAX, 3_000);
        assert_eq!(last.0.len(), 1, "one run is one entry");
    }

    #[test]
    fn classes_double() {
        let classes: Vec<usize> = [0, 1, 2, 3, 4, 7, 8, u64::MAX].map(doubling).to_vec();
        assert_eq!(classes, [0, 1, 2, 2, 3, 3, 4, 64]);
    }
}
