//! Requests and devices for runs with time.

use std::collections::BTreeSet;

use crate::reference::rng::SplitMix64;
use crate::reference::{Profile, SlowRequest, swarm, to_batch};
use destage_device::config::{DeviceConfig, EffectiveDevice};
use destage_trace::Trace;
use destage_types::{Op, RequestFlags};

/// The built-in device with some keys changed.
///
/// # Panics
/// The keys make no legal device.
pub fn device<T: AsRef<str>>(sets: &[T]) -> DeviceConfig {
    let sets: Vec<String> = sets.iter().map(|s| s.as_ref().to_owned()).collect();
    let device = EffectiveDevice::from_preset("default", &sets);
    device.unwrap_or_else(|e| panic!("{e}")).config().clone()
}

/// The requests as a trace.
pub fn trace_of(requests: &[SlowRequest]) -> Trace {
    Trace::generated("made", to_batch(requests))
}

/// The request with its addresses modulo `space` sectors: sector by sector, then runs again.
pub fn address_map(request: &SlowRequest, space: u64) -> SlowRequest {
    let mut extents: Vec<(u64, u32)> = Vec::new();
    for &(start, sectors) in &request.extents {
        for i in 0..u64::from(sectors) {
            let sector = (start + i) % space;
            match extents.last_mut() {
                Some(last) if i > 0 && last.0 + u64::from(last.1) == sector => last.1 += 1,
                _ => extents.push((sector, 1)),
            }
        }
    }
    let prev = request.prev.iter().map(|p| p.map(|sector| sector % space));
    SlowRequest {
        extents,
        prev: prev.collect(),
        ..request.clone()
    }
}

/// Pages that are read before they are written (`precondition=trace`), in ascending order (D-18).
pub(crate) fn first_reads(requests: &[SlowRequest], spp: u32) -> BTreeSet<u64> {
    let mut written = BTreeSet::new();
    let mut read = BTreeSet::new();
    for request in requests {
        for access in request.accesses(spp) {
            match request.op {
                Op::Write => {
                    written.insert(access.lpn);
                }
                Op::Read if !written.contains(&access.lpn) => {
                    read.insert(access.lpn);
                }
                _ => {}
            }
        }
    }
    read
}

/// A stream with bursts and idle gaps in units of `unit` ns, so that every queue fills and drains. No write has a
/// preflush, which only the host's side has.
pub fn timed_swarm(seed: u64, profile: Profile, unit: u64) -> Vec<SlowRequest> {
    let mut requests = hosted_swarm(seed, profile, unit);
    for request in &mut requests {
        request.flags = request.flags.among(RequestFlags::FUA);
    }
    requests
}

/// As [`timed_swarm`], with preflushes if the profile has them.
pub fn hosted_swarm(seed: u64, profile: Profile, unit: u64) -> Vec<SlowRequest> {
    let mut requests = swarm(seed, profile);
    let rng = &mut SplitMix64::new(seed ^ 0x7e3d);
    let burst = 1 + rng.below(99);
    let (short, long) = (1 + rng.below(4), 1 + rng.below(60));
    let mut now = 0;
    for request in &mut requests {
        now += match (rng.chance(burst), rng.chance(60)) {
            (true, true) => 0,
            (true, false) => rng.below(short * unit.max(1) + 1),
            (false, _) => rng.below(long * unit.max(1) + 1),
        };
        request.arrival = now;
    }
    requests
}
