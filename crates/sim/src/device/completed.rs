//! Requests that are complete: what is measured of them, and they themselves if they are kept.

use super::backlog::ArrivalWatch;
use super::latency::{LatencyStats, LatencyTriple, class_of, latencies};
use destage_record::profile::ResponseTail;
use destage_record::{Backlog, Completion, Latencies};
use destage_types::{Nanos, Op};

/// Completed requests of a device.
#[derive(Clone, Debug)]
pub struct Completed {
    /// Has the measured part begun, and do times of the requests that come count?
    measured: bool,
    timed: bool,
    latency: LatencyTriple,
    arrivals: ArrivalWatch,
    kept: Option<Vec<Completion>>,
}

impl Completed {
    /// None yet, before the measured part. Most requests take `usual`.
    pub fn new(usual: Nanos) -> Completed {
        Completed {
            measured: false,
            timed: false,
            latency: [(); 3].map(|()| LatencyStats::new(usual)),
            arrivals: ArrivalWatch::new(Nanos::NEVER),
            kept: None,
        }
    }

    /// The measured part begins with the next request.
    pub fn start_measuring(&mut self) {
        (self.measured, self.timed) = (true, true);
        self.latency.iter_mut().for_each(LatencyStats::clear);
        self.arrivals.restart();
    }

    /// Sets whether times count from the next request on, and returns whether they did.
    pub fn measure(&mut self, on: bool) -> bool {
        std::mem::replace(&mut self.timed, on)
    }

    /// Do times count now?
    #[inline]
    pub fn is_timed(&self) -> bool {
        self.timed
    }

    /// A request that arrives now and is complete at `done` at the earliest.
    #[inline]
    pub fn arrives(&self, index: u64, op: Op, arrival: Nanos, done: Nanos) -> Completion {
        Completion {
            index,
            op,
            arrival,
            came: arrival,
            complete: done,
            pages: 0,
            hits: 0,
            measured: self.measured,
            timed: self.timed,
        }
    }

    /// A request is complete.
    pub fn add(&mut self, done: Completion) {
        if let Some(kept) = &mut self.kept {
            kept.push(done);
        }
        if !done.timed {
            return;
        }
        self.latency[class_of(done.op)].add(done.complete - done.arrival);
        self.arrivals.complete(done.arrival, done.complete);
    }

    /// The last request arrives at `last`.
    pub fn expect_arrivals_until(&mut self, last: Nanos) {
        self.arrivals = ArrivalWatch::new(last);
    }

    /// Response times take no more memory than for `times` of each kind of request from now on, see
    /// [`LatencyStats::bound`].
    pub fn bound(&mut self, times: usize) {
        self.latency.iter_mut().for_each(|stats| stats.bound(times));
    }

    /// Response times of the measured part: of reads, of writes, of other requests.
    pub fn times(&self) -> &LatencyTriple {
        &self.latency
    }

    /// The same in the record's figures.
    pub fn latencies(&self) -> Latencies {
        latencies(&self.latency)
    }

    /// The slowest reads and writes.
    pub fn tails(&self) -> [ResponseTail; 2] {
        [self.latency[0].tail(), self.latency[1].tail()]
    }

    /// Requests left when the last one arrives, if its arrival is known.
    pub fn backlog(&self) -> Option<Backlog> {
        self.arrivals.backlog()
    }

    /// Keeps completed requests from now on.
    pub fn keep(&mut self) {
        self.kept.get_or_insert_default();
    }

    /// Completed requests since they were taken last, if they are kept.
    pub fn kept(&mut self) -> Option<&mut Vec<Completion>> {
        self.kept.as_mut()
    }

    /// Are there any?
    pub fn has_kept(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| !kept.is_empty())
    }
}
