//! What can go wrong in a fit.

use thiserror::Error;

/// Why a drive cannot be fitted.
#[derive(Debug, Error)]
pub enum FitError {
    /// A cell describes a load that the simulated host cannot send.
    #[error("{place}: {why}")]
    Load {
        /// Where the cell stands.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// A simulation failed.
    #[error("the simulated drive: {0}")]
    Simulation(String),
    /// Values of the base or of a candidate make no device.
    #[error("{0}")]
    Device(String),
}
