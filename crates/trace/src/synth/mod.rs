//! Generated workloads: the same seed gives the same requests, on every machine. Draws are
//! integers, or reals whose functions come from `libm`.

mod demo;
mod part;
mod presets;
mod random;
mod rates;
mod source;
mod workload;
mod zipf;

pub use demo::{DEMO, DEMO_REQUESTS, demo, is_demo, trace_in};
pub use part::{At, SynthPart};
pub use presets::{PRESETS, SynthPreset, preset};
pub use random::Distributions;
pub use workload::{Arrival, Synth};
pub use zipf::{ZipfLaw, ZipfRanks, scatter};
