//! Writes with FUA or a preflush, beside the same requests with FLUSHes of their own.

use super::live::cases;
use destage_conformance::by_hand::replayed;
use destage_sim::run::{Hooks, execute};
use destage_sim::{Replay, RunSpec};
use destage_trace::Trace;
use destage_types::{HostRequest, Op, RequestBatch, RequestFlags};
use std::num::NonZeroU32;

/// The trace with a FLUSH in front of each write with a preflush, which is a plain one then; and the numbers that the
/// requests have there.
fn with_flushes(trace: &Trace) -> (Trace, Vec<u64>) {
    let (mut batch, mut numbers) = (RequestBatch::new(), Vec::new());
    for head in trace.requests.records() {
        let mut plain = *head;
        if head.flags.any(RequestFlags::PREFLUSH) {
            batch.push(HostRequest::new(head.arrival, Op::Flush, 0, 0));
            plain.flags = head.flags.among(RequestFlags::FUA);
        }
        numbers.push(batch.len() as u64);
        batch.push(plain);
    }
    (Trace::generated("flushes", batch), numbers)
}

/// One request at a time: what follows a FLUSH is sent when that is done.
#[test]
fn at_depth_one_a_preflush_is_a_flush_before() {
    let mut compared = 0;
    for (spec, trace, what) in cases() {
        let depth = NonZeroU32::MIN;
        let spec = RunSpec {
            replay: Replay::Closed { depth },
            ..spec
        };
        let (apart, numbers) = with_flushes(&trace);
        let (flagged, apart) = (replayed(&spec, &trace), replayed(&spec, &apart));
        let (Some((_, flagged)), Some((_, apart))) = (&flagged, &apart) else {
            assert_eq!(flagged.is_none(), apart.is_none(), "{what}");
            continue;
        };
        for (number, other) in (0..).zip(numbers) {
            assert_eq!(flagged[&number], apart[&other], "{what}: request {number}");
        }
        compared += 1;
    }
    assert!(compared > 100, "{compared} runs reached their end");
}

#[test]
fn without_time_a_preflush_is_a_flush_before() {
    let mut preflushes = 0;
    for (spec, trace, what) in cases() {
        let spec = RunSpec {
            device: None,
            wrap: false,
            ..spec
        };
        if spec.check().is_err() {
            continue;
        }
        let counts = |trace: &Trace| execute(&spec, trace, Hooks::default()).map(|r| r.counts);
        let (flagged, mut apart) = match (counts(&trace), counts(&with_flushes(&trace).0)) {
            (Ok(flagged), Ok(apart)) => (flagged, apart),
            (flagged, apart) => panic!("{what}: {:?}, {:?}", flagged.err(), apart.err()),
        };
        let flushes = apart.requests - flagged.requests;
        apart.requests -= flushes;
        apart.flush_requests -= flushes;
        assert_eq!(flagged, apart, "{what}");
        preflushes += flushes;
    }
    assert!(preflushes > 1_000, "{preflushes}");
}
