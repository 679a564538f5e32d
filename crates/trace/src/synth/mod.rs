//! Generated workloads: the same seed gives the same requests, on every machine.

mod demo;
mod random;

pub use demo::{DEMO_REQUESTS, demo};
