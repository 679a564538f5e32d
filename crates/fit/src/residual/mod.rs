//! How far a model is from the drive it stands for.
//!
//! The residual is the weighted mean of [`Entry::loss`] over rates, quantiles and knees. docs/CALIBRATION.md lists the
//! weights.

mod entries;
mod goals;
mod knees;
mod series;
#[cfg(test)]
mod tests;

pub use entries::{Compared, Entry, entries};
pub use goals::{FitFigures, NEAR, NEAR_KNEE};
pub use knees::{KNEE_RISE, RateCurve};
pub use series::{at_cliff, chosen, cliff, compared, falls_behind, offered_writes, series};

/// The residual: the weighted mean of the losses. 0 is a perfect model.
#[must_use]
pub fn residual(entries: &[Entry]) -> f64 {
    let weights: f64 = entries.iter().map(|e| e.weight).sum();
    let losses: f64 = entries.iter().map(Entry::loss).sum();
    losses / weights.max(f64::MIN_POSITIVE)
}
