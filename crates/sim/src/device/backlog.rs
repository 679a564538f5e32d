//! The requests left when the last one arrives show whether the device keeps up with the arrivals.

use destage_record::Backlog;
use destage_record::counts::ratio;
use destage_types::Nanos;

/// Counts what is left when the last request arrives, which must be known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrivalWatch {
    /// Arrival of the last request; never if it is not known.
    last: Nanos,
    /// First arrival of the measured part.
    first: Nanos,
    requests: u64,
    left: u64,
    /// Latest completion.
    end: Nanos,
}

impl ArrivalWatch {
    pub fn new(last: Nanos) -> ArrivalWatch {
        ArrivalWatch {
            last,
            first: Nanos::NEVER,
            requests: 0,
            left: 0,
            end: Nanos::ZERO,
        }
    }

    /// The measured part begins.
    pub fn restart(&mut self) {
        *self = ArrivalWatch::new(self.last);
    }

    /// A request of the measured part that arrived at `arrival` is complete at `done`.
    #[inline]
    pub fn complete(&mut self, arrival: Nanos, done: Nanos) {
        self.requests += 1;
        self.first = self.first.min(arrival);
        if done > self.last {
            self.left += 1;
            self.end = self.end.max(done);
        }
    }

    /// Requests left when the last one arrived; `None` if the last arrival is not known.
    pub fn backlog(&self) -> Option<Backlog> {
        let known = self.last < Nanos::NEVER && self.requests > 0;
        let span = known.then(|| self.last.0.saturating_sub(self.first.0))?;
        Some(Backlog {
            offered_per_s: ratio(self.requests as f64 * 1e9, span as f64),
            requests: self.left,
            drain_ns: self.end.0.saturating_sub(self.last.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backlog(times: &[(u64, u64)]) -> Backlog {
        let last = times.iter().map(|t| t.0).max().unwrap();
        let mut watch = ArrivalWatch::new(Nanos(last));
        for &(arrival, done) in times {
            watch.complete(Nanos(arrival), Nanos(done));
        }
        watch.backlog().unwrap()
    }

    /// `n` requests, one every `gap` ns, each of which a single server takes `service` ns for.
    fn served(n: u64, gap: u64, service: u64, times: &mut Vec<(u64, u64)>) {
        let (from, mut free) = times.last().map_or((0, 0), |t| (t.0 + gap, t.1));
        for i in 0..n {
            let arrival = from + i * gap;
            free = free.max(arrival) + service;
            times.push((arrival, free));
        }
    }

    #[test]
    fn what_is_left_is_counted() {
        let mut times = Vec::new();
        served(1_001, 1_000, 3_000, &mut times);
        let found = backlog(&times);
        // Arrivals from 0 to 1,000 us; at 1,000 us 333 of them are complete.
        assert_eq!(found.offered_per_s, Some(1_001e3));
        assert_eq!(found.requests, 1_001 - 333);
        assert_eq!(found.drain_ns, 1_001 * 3_000 - 1_000_000);
        let possible = found.possible_per_s().unwrap();
        assert!((possible / (1e9 / 3e3) - 1.0).abs() < 0.01, "{possible}");
        assert!(found.is_overload(1_001));
    }

    #[test]
    fn loads_that_the_device_follows_are_none() {
        // As fast as it can.
        let mut times = Vec::new();
        served(10_000, 1_000, 999, &mut times);
        assert!(!backlog(&times).is_overload(10_000));
        // A burst that is worked off, and one at the end that the mean rate leaves time for.
        served(5_000, 10, 1_000, &mut times);
        served(10_000, 1_000, 500, &mut times);
        assert!(!backlog(&times).is_overload(25_000));
        served(20_000, 1_500, 500, &mut times);
        served(5_000, 10, 500, &mut times);
        let found = backlog(&times);
        assert!(
            found.requests > 4_000 && !found.is_overload(50_000),
            "{found:?}"
        );
        // A few requests that happen to be the last ones.
        assert!(!backlog(&[(0, 9), (1, 9_000), (2, 9_000)]).is_overload(3));
        // All at once: there is no rate.
        assert_eq!(backlog(&[(0, 5); 100]).offered_per_s, None);
    }
}
