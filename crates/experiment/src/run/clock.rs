//! What the arrivals of a trace cannot say: response times over arrivals that carry no time are figures of
//! something that never happened.

use destage_sim::RunSpec;
use destage_trace::{LoadOptions, TraceError, Workload};
use destage_types::Nanos;

/// Units in which a recorder may have rounded, the coarsest first.
const COARSE: [(u64, &str); 2] = [(1_000_000_000, "s"), (1_000_000, "ms")];
/// Share of requests that arrive with the one before them from which a coarse clock hides their order.
const MANY: f64 = 0.5;
/// Mean time between two requests below which no recorder was that fast.
const LEAST_GAP_NS: f64 = 1_000.0;
/// Format whose times are whole numbers with no unit beside them.
const AMBIGUOUS: &str = "ssdsim";

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

    fn mean_gap_ns(&self) -> f64 {
        self.last.0 as f64 / (self.requests.max(2) - 1) as f64
    }
}

/// What to say of `runs` whose figures rest on arrivals that carry no time.
///
/// # Errors
/// The trace cannot be read again.
pub fn warning(
    workload: Workload<'_>,
    load: &LoadOptions,
    runs: &[RunSpec],
) -> Result<Option<String>, TraceError> {
    let by_arrival = |run: &RunSpec| run.device.is_some() && run.replay.depth().is_none();
    // A generated load means the times that it has.
    let recorded = workload.meta.sha256.is_some();
    if !recorded || workload.len() < 2 || !runs.iter().any(by_arrival) {
        return Ok(None);
    }
    let name = &workload.meta.name;
    if !workload.meta.timed {
        return Ok(Some(format!(
            "{name}: the format {} has no times, so request i arrives at i us and response times are those \
             of that rate; --closed-loop QD issues them as fast as the device takes them, --time-scale X \
             sets another rate",
            workload.meta.format
        )));
    }
    let arrivals = Arrivals::of(workload)?;
    Ok(said(
        &arrivals,
        name,
        workload.meta.format,
        load.format.is_none() && load.time_unit.is_none(),
    ))
}

fn said(arrivals: &Arrivals, name: &str, format: &str, detected: bool) -> Option<String> {
    if arrivals.last == Nanos::ZERO {
        return Some(format!(
            "{name}: all {} requests arrive at the same time, so response times are those of one burst; \
             --closed-loop QD issues them as fast as the device takes them",
            arrivals.requests
        ));
    }
    if format == AMBIGUOUS && detected && arrivals.mean_gap_ns() < LEAST_GAP_NS {
        return Some(format!(
            "{name}: taken for {format}, whose times are in ns: {:.1} ns between two requests; if they are \
             in another unit, --time-unit us (or ms, s) says so, or --format names the right format",
            arrivals.mean_gap_ns()
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

    fn words(times: &[u64], format: &str, detected: bool) -> String {
        said(&arrivals(times), "t", format, detected).unwrap_or_default()
    }

    #[test]
    fn arrivals_without_a_time_are_seen() {
        const S: u64 = 1_000_000_000;
        for (times, format, part) in [
            (&[0, 0, 0][..], "msr", "same time"),
            (&[0, 0, 0, S, S, S, 2 * S], "tencent", "whole s"),
            (
                &[0, 0, 0, S, S, S + 1_000_000, S + 1_000_000],
                "msr",
                "whole ms",
            ),
            (&[0, 3, 5, 1_000], "ssdsim", "in ns: 333.3 ns"),
        ] {
            let found = words(times, format, true);
            assert!(found.contains(part), "{found}");
        }
    }

    #[test]
    fn other_arrivals_are_as_good_as_they_look() {
        const MS: u64 = 1_000_000;
        // Few ties, other units, a unit that somebody gave.
        assert_eq!(words(&[0, MS, 2 * MS, 2 * MS], "msr", true), "");
        assert_eq!(words(&[0, 0, 0, MS + 1], "msr", true), "");
        assert_eq!(words(&[0, 3, 5, 1_000], "ssdsim", false), "");
        assert_eq!(words(&[0, 3, 5, 1_000], "disksim", true), "");
        assert_eq!(words(&[0, 5_000, 9_000], "ssdsim", true), "");
    }
}
