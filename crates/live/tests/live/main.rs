//! The block device: what survives power cuts, hostile clients, and clients that people use.

mod answers;
mod clients;
mod control;
mod fairness;
mod faults;
mod model;
mod places;
mod power_cuts;
mod protocol;
mod serving;
mod tls;
