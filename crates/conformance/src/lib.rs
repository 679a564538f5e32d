//! Suites over every registered scheme, and slow reference models to hold them against.

#[cfg(feature = "conformance")]
pub mod building;
#[cfg(feature = "conformance")]
pub mod by_hand;
#[cfg(feature = "conformance")]
pub mod drive;
#[cfg(feature = "conformance")]
pub mod figures;
#[cfg(feature = "conformance")]
pub mod proof;
pub mod reference;
#[cfg(feature = "conformance")]
pub mod suites;
#[cfg(feature = "conformance")]
pub mod timed;
#[cfg(feature = "conformance")]
pub mod vectors;
