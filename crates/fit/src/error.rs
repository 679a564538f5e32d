//! Errors of a fit.

use thiserror::Error;

/// Why a drive cannot be fitted.
#[derive(Debug, Error)]
pub enum FitError {
    /// A cell describes a load that the simulated host cannot send.
    #[error("{place}: {why}")]
    Load {
        /// Where the cell stands.
        place: String,
        /// The fault.
        why: String,
    },
    /// A simulation failed.
    #[error("the simulated drive: {0}")]
    Simulation(String),
    /// Values of the base or of a candidate make no device.
    #[error("{0}")]
    Device(String),
    /// The file of known residuals cannot be read or written.
    #[error("the journal of the fit: {0}")]
    Journal(String),
    /// A picture cannot be drawn.
    #[error("cannot draw the fit: {0}")]
    Chart(String),
    /// The file of known residuals has a line that cannot be believed.
    #[error("line {line} of the journal: {why}")]
    DamagedJournal {
        /// From 1.
        line: u64,
        /// The fault.
        why: String,
    },
    /// The file of known residuals belongs to another fit.
    #[error("the journal belongs to a fit of other measurements or with other settings")]
    OtherJournal,
}
