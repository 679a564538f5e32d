//! The choices that the page offers.

use destage_device::config::{Preset, presets};
use destage_scheme::describe::{self, SchemeRecord};
use destage_trace::Trace;
use destage_trace::synth::{PRESETS, demo, preset};
use serde::Serialize;

/// Requests of a sample, at most: one that takes a moment to generate.
const MOST_REQUESTS: u64 = 1_000_000;
/// The sample that `destage demo` runs over.
const DEMO: &str = "demo";

/// The choices: schemes, devices and samples.
#[derive(Serialize)]
pub struct PageOffer {
    version: &'static str,
    schemes: Vec<SchemeRecord>,
    devices: Vec<NamedChoice>,
    samples: Vec<NamedChoice>,
    /// Options about how a trace is read.
    reading_keys: Vec<&'static str>,
}

/// A name and what it stands for.
#[derive(Serialize)]
struct NamedChoice {
    name: &'static str,
    about: String,
}

impl PageOffer {
    /// All of it.
    pub fn new() -> PageOffer {
        let demo = NamedChoice {
            name: DEMO,
            about: "Hot small writes, large streams of many small requests, reads with locality: the trace of \
                    `destage demo`"
                .to_owned(),
        };
        let others = PRESETS.iter().map(|sample| NamedChoice {
            name: &sample.name,
            about: sample.about.clone(),
        });
        PageOffer {
            version: destage_experiment::api::VERSION,
            schemes: describe::records(),
            devices: presets().iter().map(device).collect(),
            samples: std::iter::once(demo).chain(others).collect(),
            reading_keys: destage_experiment::api::reading_keys().collect(),
        }
    }
}

fn device(preset: &Preset) -> NamedChoice {
    NamedChoice {
        name: preset.name,
        about: preset.about(),
    }
}

/// Generates the sample `name`.
///
/// # Errors
/// There is no such sample.
pub fn sample(name: &str, seed: u64) -> Result<Trace, String> {
    if name == DEMO {
        return Ok(demo(seed));
    }
    let mut synth = preset(name)?.synth(seed);
    synth.requests = synth.requests.min(MOST_REQUESTS);
    synth.check()?;
    Ok(synth.generate())
}
