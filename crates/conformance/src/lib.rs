//! Suites over every registered scheme, and slow reference models to hold them against.

pub mod reference;
