//! Does the device keep up with the arrivals?

use crate::counts::ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the device keeps up with the arrivals of the measured part.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Backlog {
    /// Requests per second that arrive; null if all arrive at the same time.
    pub offered_per_s: Option<f64>,
    /// Requests that are not complete when the last one arrives, which is one of them.
    pub requests: u64,
    /// Time from then until all of them are complete.
    pub drain_ns: u64,
}

/// Requests that must be left at least: fewer are what a burst at the end leaves.
const MANY: u64 = 64;
/// Share of the time of the arrivals that it must take at least to work them off.
const LONG: f64 = 0.05;

impl Backlog {
    /// Requests per second that the device completes when no more arrive.
    pub fn possible_per_s(&self) -> Option<f64> {
        ratio(self.requests as f64 * 1e9, self.drain_ns as f64)
    }

    /// Do `requests` arrive faster than the device completes them, up to the last one? A burst that is worked
    /// off before, or hardly delays the end, is no such load.
    pub fn is_overload(&self, requests: u64) -> bool {
        let (Some(offered), Some(possible)) = (self.offered_per_s, self.possible_per_s()) else {
            return false;
        };
        let arrivals_ns = requests as f64 / offered * 1e9;
        self.requests >= MANY && possible < offered && self.drain_ns as f64 > LONG * arrivals_ns
    }
}
