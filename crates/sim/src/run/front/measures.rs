//! Response times, service times and backlog, measured at the host's side of a device.

use crate::engine::backlog::ArrivalWatch;
use crate::engine::latency::{LatencyStats, LatencyTriple, class_of, latencies};
use destage_record::profile::ResponseTail;
use destage_record::{Backlog, Latencies};
use destage_types::{Nanos, Op};

/// Measurements at the host's side, over the measured part.
#[derive(Clone, Debug)]
pub(crate) struct HostSide {
    /// From arrival.
    pub response: Latencies,
    /// From admission.
    pub service: Latencies,
    /// Response times of reads and of writes.
    pub tails: [ResponseTail; 2],
    pub backlog: Option<Backlog>,
}

/// Times of reads, of writes, and of other requests, and what is left at the last arrival.
pub(super) struct Measures {
    response: LatencyTriple,
    /// Where requests wait for admission; elsewhere these are response times.
    service: Option<LatencyTriple>,
    pub arrivals: ArrivalWatch,
}

impl Measures {
    /// `usual` is the time that most requests take. Are there requests that `wait` for admission?
    pub fn new(usual: Nanos, wait: bool) -> Measures {
        let stats = || [(); 3].map(|()| LatencyStats::new(usual));
        Measures {
            response: stats(),
            service: wait.then(stats),
            arrivals: ArrivalWatch::new(Nanos::NEVER),
        }
    }

    fn times(&mut self) -> impl Iterator<Item = &mut LatencyStats> {
        let service = self.service.iter_mut().flatten();
        self.response.iter_mut().chain(service)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.times().for_each(LatencyStats::clear);
        self.arrivals.restart();
    }

    /// See [`LatencyStats::bound`].
    pub fn bound(&mut self, exact: usize) {
        self.times().for_each(|times| times.bound(exact));
    }

    /// A request that arrived and was admitted then is done.
    pub fn add(&mut self, op: Op, arrival: Nanos, admitted: Nanos, done: Nanos) {
        let class = class_of(op);
        self.response[class].add(done - arrival);
        if let Some(service) = &mut self.service {
            service[class].add(done - admitted);
        }
        self.arrivals.complete(arrival, done);
    }

    /// Response times so far.
    pub fn response_times(&self) -> &LatencyTriple {
        &self.response
    }

    pub fn report(&self) -> HostSide {
        let response = latencies(&self.response);
        HostSide {
            response,
            service: self.service.as_ref().map_or(response, latencies),
            tails: [self.response[0].tail(), self.response[1].tail()],
            backlog: self.arrivals.backlog(),
        }
    }
}
