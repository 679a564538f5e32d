//! Warnings about arrivals of a trace: response times over arrivals that carry no time are figures
//! of something that never happened.

use destage_sim::RunSpec;
use destage_trace::{TraceError, TraceMeta, Workload};
use destage_types::Nanos;

/// Units in which a recorder may have rounded, the coarsest first.
const COARSE: [(u64, &str); 2] = [(1_000_000_000, "s"), (1_000_000, "ms")];
/// Share of requests that arrive with the one before them from which a coarse clock hides their order.
const MANY: f64 = 0.5;

/// Arrivals at a glance.
#[derive(Debug, Default)]
struct Arrivals {
    requests: u64,
    /// Requests that arrive with the one before them.
    ties: u64,
    last: Nanos,
    /// The arrivals are multiples of this many of [`COARSE`].
    multiples: [u64; COARSE.len()],
}

impl Arrivals {
    fn of(workload: Workload<'_>) -> Result<Arrivals, TraceError> {
        let mut found = Arrivals::default();
        let raised = workload.meta.arrival_corrections;
        let mut pass = workload.pass()?;
        while let Some(block) = pass.next(u64::MAX)? {
            for head in block.records {
                found.ties += u64::from(found.requests > 0 && head.arrival == found.last);
                found.requests += 1;
                found.last = head.arrival;
                for (multiples, (unit, _)) in found.multiples.iter_mut().zip(COARSE) {
                    *multiples += u64::from(head.arrival.0 % unit == 0);
                }
            }
        }
        // A wrong time makes ties, not a coarse clock; it has a warning of its own.
        found.ties = found.ties.saturating_sub(raised);
        Ok(found)
    }

    /// The coarsest unit of which all arrivals are multiples.
    fn unit(&self) -> Option<&'static str> {
        let all = self.multiples.iter().position(|&n| n == self.requests);
        all.map(|i| COARSE[i].1)
    }

    fn share_of_ties(&self) -> f64 {
        self.ties as f64 / self.requests.max(1) as f64
    }
}

/// Warnings about `runs` whose figures rest on arrivals that carry no time.
///
/// # Errors
/// The trace cannot be read again.
pub fn warnings(workload: Workload<'_>, runs: &[RunSpec]) -> Result<Vec<String>, TraceError> {
    let by_arrival = |run: &RunSpec| run.device.is_some() && run.replay.depth().is_none();
    // A generated load means the times that it has.
    let recorded = workload.meta.sha256.is_some();
    if !recorded || workload.len() < 2 || !runs.iter().any(by_arrival) {
        return Ok(Vec::new());
    }
    let name = &workload.meta.name;
    let unit = time_warning(workload.meta).into_iter();
    if !workload.meta.timed {
        let untimed = format!(
            "{name}: the format {} has no times, so request i arrives at i us and response times are those \
             of that rate; --closed-loop QD issues them as fast as the device takes them, --time-scale X \
             sets another rate",
            workload.meta.format
        );
        return Ok(unit.chain([untimed]).collect());
    }
    let arrivals = Arrivals::of(workload)?;
    Ok(unit.chain(coarse(&arrivals, name)).collect())
}

/// The doubt about the unit of the times of a trace.
pub fn time_warning(meta: &TraceMeta) -> Option<String> {
    let doubt = meta.time_doubt.as_ref()?;
    Some(format!("{}: {doubt}", meta.name))
}

/// The warning about arrivals that are all the same, or rounded to a coarse unit.
fn coarse(arrivals: &Arrivals, name: &str) -> Option<String> {
    if arrivals.last == Nanos::ZERO {
        return Some(format!(
            "{name}: all {} requests arrive at the same time, so response times are those of one burst; \
             --closed-loop QD issues them as fast as the device takes them",
            arrivals.requests
        ));
    }
    let unit = arrivals
        .unit()
        .filter(|_| arrivals.share_of_ties() > MANY)?;
    Some(format!(
        "{name}: arrivals are whole {unit}, and {:.1} % of the requests arrive with the one before them, in \
         bursts that no device ever saw; --closed-loop QD issues them as fast as the device takes them; \
         --time-scale X only moves the bursts",
        100.0 * arrivals.share_of_ties()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_trace::Trace;
    use destage_types::{HostRequest, Op, RequestBatch};

    fn arrivals(times: &[u64]) -> Arrivals {
        let mut batch = RequestBatch::new();
        for &time in times {
            batch.push(HostRequest::new(Nanos(time), Op::Write, 0, 8));
        }
        Arrivals::of((&Trace::generated("made", batch)).into()).unwrap()
    }

    fn words(times: &[u64]) -> String {
        coarse(&arrivals(times), "t").unwrap_or_default()
    }

    #[test]
    fn arrivals_without_a_time_are_seen() {
        const S: u64 = 1_000_000_000;
        for (times, part) in [
            (&[0, 0, 0][..], "same time"),
            (&[0, 0, 0, S, S, S, 2 * S], "whole s"),
            (&[0, 0, 0, S, S, S + 1_000_000, S + 1_000_000], "whole ms"),
        ] {
            let found = words(times);
            assert!(found.contains(part), "{found}");
        }
    }

    #[test]
    fn other_arrivals_are_as_good_as_they_look() {
        const MS: u64 = 1_000_000;
        assert_eq!(words(&[0, MS, 2 * MS, 2 * MS]), "");
        assert_eq!(words(&[0, 0, 0, MS + 1]), "");
    }

    #[test]
    fn requests_raised_to_a_wrong_time_are_no_ties() {
        let mut batch = RequestBatch::new();
        for time in [0, 3_000_000_000, 3_000_000_000, 3_000_000_000] {
            batch.push(HostRequest::new(Nanos(time), Op::Write, 0, 8));
        }
        let mut trace = Trace::generated("made", batch);
        assert_eq!(Arrivals::of((&trace).into()).unwrap().ties, 2);
        trace.meta.arrival_corrections = 2;
        assert_eq!(Arrivals::of((&trace).into()).unwrap().ties, 0);
    }
}
