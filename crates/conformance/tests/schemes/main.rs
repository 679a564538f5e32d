//! Every scheme of the registry, and every composition, without a device that keeps time.

mod differential;
mod fuzz;
mod golden;
mod laws;
mod lists;
mod options;
mod proof;
mod reference_readings;
mod streams;
mod suite;
mod traces_against_models;
mod vectors;
