//! Response times, service times and backlog, measured at the host's side of a device.

use crate::device::backlog::ArrivalWatch;
use crate::device::latency::{LatencyStats, LatencyTriple, class_of, latencies};
use destage_record::counts::ratio;
use destage_record::profile::ResponseTail;
use destage_record::{Backlog, Latencies, PacedWrites};
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
    /// Admission of writes, if it is paced.
    pub write_pace: Option<PacedWrites>,
}

/// Times of reads, of writes, and of other requests, and what is left at the last arrival.
pub(super) struct Measures {
    response: LatencyTriple,
    /// Where requests wait for admission; elsewhere these are response times.
    service: Option<LatencyTriple>,
    pub arrivals: ArrivalWatch,
    /// If writes are paced.
    pace: Option<PaceSum>,
}

/// Sums over the writes that were let in.
#[derive(Clone, Copy, Default)]
struct PaceSum {
    writes: u64,
    debts: u128,
    least: u64,
    most: u64,
    waited: u64,
}

impl PaceSum {
    fn report(&self) -> PacedWrites {
        let units = |debt: u64| debt as f64 / 65_536.0;
        PacedWrites {
            writes: self.writes,
            debt_mean: ratio(self.debts as f64 / 65_536.0, self.writes as f64),
            debt_least: units(self.least),
            debt_greatest: units(self.most),
            wait_ns: self.waited,
        }
    }
}

impl Measures {
    /// `usual` is the time that most requests take. Are there requests that `wait` for admission, and are writes `paced`?
    pub fn new(usual: Nanos, wait: bool, paced: bool) -> Measures {
        let stats = || [(); 3].map(|()| LatencyStats::new(usual));
        Measures {
            response: stats(),
            service: wait.then(stats),
            arrivals: ArrivalWatch::new(Nanos::NEVER),
            pace: paced.then(PaceSum::default),
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
        self.pace = self.pace.map(|_| PaceSum::default());
    }

    /// A write was let in while collection had a debt of so much, and waits for that.
    pub fn add_pace(&mut self, debt: u64, wait: u64) {
        let sum = self.pace.get_or_insert_default();
        sum.least = if sum.writes == 0 {
            debt
        } else {
            sum.least.min(debt)
        };
        sum.most = sum.most.max(debt);
        sum.writes += 1;
        sum.debts += u128::from(debt);
        sum.waited += wait;
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
            write_pace: self.pace.as_ref().map(PaceSum::report),
        }
    }
}
