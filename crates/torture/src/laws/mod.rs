//! Laws between results, each a function of its own.

mod caches;
mod counts;
mod encodings;
mod endurance;
mod hosts;
mod kills;
mod live;
mod logs;
mod parts;
mod same;
mod times;

use crate::case::Case;
use crate::lab::{Lab, Verdict};
use destage_conformance::reference::rng::SplitMix64;

/// One law.
pub struct Law {
    /// Name on the command line.
    pub name: &'static str,
    /// The law in words.
    pub promise: &'static str,
    /// Makes a random case one that the law speaks of.
    pub adapt: fn(&mut Case, &mut SplitMix64),
    /// Holds it against the case, whose trace is in `trace.csv`.
    pub check: fn(&Lab, &Case) -> Verdict,
}

/// All laws, in the order of the table. Under every law, no run may panic, end with a status that
/// is not documented, take more than a minute or more than 4 GiB of addresses.
pub const LAWS: [Law; 22] = [
    same::THREADS,
    same::WATCHED,
    same::SPOOLED,
    same::ROOM,
    encodings::ENCODINGS,
    encodings::VOLUMES,
    encodings::DAMAGED,
    counts::CONSERVATION,
    counts::FROM_TRACE,
    endurance::ENDURANCE,
    logs::RECOMPUTED,
    logs::SERIES,
    caches::OWN_CACHES,
    parts::LIMIT,
    parts::WARM_UP,
    parts::FINAL_FLUSH,
    parts::CURVE,
    hosts::HOST_SIDE,
    live::LIVE,
    times::NO_LATENCIES,
    times::SCALED,
    kills::KILLS,
];

/// Nothing to change.
fn any(_: &mut Case, _: &mut SplitMix64) {}
