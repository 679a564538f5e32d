//! How long writes wait until they are let in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Writes that a device lets in as fast as it can pay for them (`write_pace`), over the measured part.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct PacedWrites {
    /// Writes that were let in, or know when.
    pub writes: u64,
    /// Mapping units that collection moves for each of the host, as the price of a write counts them: mean over these
    /// writes. Null without writes.
    pub debt_mean: Option<f64>,
    /// The same of the write with the least.
    pub debt_least: f64,
    /// The same of the write with the greatest.
    pub debt_greatest: f64,
    /// Time that these writes waited in all.
    pub wait_ns: u64,
}
