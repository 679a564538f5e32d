//! A device that is fed by hand, beside the run of the same requests.

use super::Law;
use crate::case::Case;
use crate::device;
use crate::lab::{Fault, Lab, Verdict};
use destage_conformance::by_hand::{check_against_run, check_promises};
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::suites::message_of;
use destage_conformance::timed::trace_of;
use destage_scheme::ReadAlloc;
use destage_sim::live::LiveDevice;
use destage_sim::{Hooks, Replay, RunSpec, execute};
use destage_types::ByteSize;
use std::sync::Arc;

pub const LIVE: Law = Law {
    name: "live",
    promise: "a device fed by hand gives the record and the completions of the run, and what FLUSH, FUA and \
              preflush promise is on flash",
    adapt: for_live,
    check: live,
};

/// Requests below which every sector on flash is looked up at each promise.
const FEW: usize = 101;

/// Gives the case a device, and requests as such a device takes them.
fn for_live(case: &mut Case, rng: &mut SplitMix64) {
    if case.device.is_none() {
        case.device = Some(device::draw(rng, case.page));
        case.fit_to_device(rng);
    }
    // Nobody knows what a trace would read first.
    case.set("precondition.trace=false");
    for request in &mut case.requests {
        request.host.extents.truncate(1);
        request.host.prev.clear();
        request.host.atomic = false;
        request.stream = 0;
    }
}

/// The run of the case; of its options, those that both know.
fn spec(case: &Case) -> Option<RunSpec> {
    let device = device::legal(case.device.as_deref()?)?.into_config();
    let given = |name: &str| case.options.iter().find(|option| option[0] == name);
    let depth = given("--queue-depth").and_then(|option| option[1].parse().ok());
    Some(RunSpec {
        page: device.mapping(),
        device: Some(Arc::new(device)),
        read_alloc: match given("--read-alloc").map(|option| &*option[1]) {
            Some("on") => ReadAlloc::On,
            Some(_) => ReadAlloc::Off,
            None => ReadAlloc::Scheme,
        },
        replay: depth.map_or(Replay::Open, |depth| Replay::Limited { depth }),
        wrap: true,
        seed: case.seed,
        ..RunSpec::cache_only(case.expr(), ByteSize(case.frames * case.page))
    })
}

fn live(_: &Lab, case: &Case) -> Verdict {
    let legal = |spec: &RunSpec| LiveDevice::new(spec, "").is_ok();
    let Some(spec) = spec(case).filter(legal) else {
        return Ok(false);
    };
    let hosts: Vec<_> = case.requests.iter().map(|r| r.host.clone()).collect();
    let trace = trace_of(&hosts);
    if execute(&spec, &trace, Hooks::default()).is_err() {
        return Ok(false);
    }
    let fault = message_of(|| {
        check_against_run(&spec, &trace, "live and run");
        let volatile = spec.device.as_ref().is_some_and(|d| !d.keeps_cache());
        if volatile && hosts.len() < FEW {
            check_promises(&spec, &trace, "promises");
        }
        Ok(())
    });
    let words = case.run("trace.csv").join(" ");
    fault.map_or(Ok(true), |fault| {
        Err(Fault::law(format!("{fault}\n{words}")))
    })
}
