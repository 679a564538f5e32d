//! Stories that `destage watch` tells: windows of runs in which a scheme does what it is known for.

use crate::options::RunArgs;
use crate::run::watch::{WatchedRun, watch};
use crate::run::{Keys, parse_moment, run_keys};
use destage_console::failure::Failure;
use destage_console::terminal::Warnings;
use destage_sim::{WatchAsk, WatchFrom};
use destage_trace::synth::{Arrival, Synth, SynthPart};
use destage_trace::{Stored, Trace};
use destage_types::{Nanos, nearest};
use serde::Deserialize;
use std::path::PathBuf;

const FILE: &str = include_str!("../../../../papers/stories.toml");

/// The device of all stories.
const DEVICE: &str = "classroom-128m";

/// A story. Its file describes the fields.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Story {
    /// Name on the command line.
    pub name: String,
    /// Title.
    pub title: String,
    /// The story in two sentences.
    pub text: String,
    /// The event at the instant `at`.
    pub promise: String,
    /// That instant, in ns from the start of the run.
    pub at: u64,
    /// Pages that the promise names.
    pub pages: Vec<u64>,
    parts: Vec<String>,
    requests: u64,
    arrival: String,
    gap: String,
    from: String,
    to: String,
    /// Options of the runs.
    run: Keys,
}

#[derive(Deserialize)]
struct Stories {
    story: Vec<Story>,
}

/// All stories.
///
/// # Panics
/// Never: a test reads the file.
pub fn stories() -> Vec<Story> {
    let file: Stories = toml::from_str(FILE).expect("a test reads the file");
    file.story
}

impl Story {
    /// The story with this name.
    ///
    /// # Errors
    /// There is none. The message names the nearest one, and all.
    pub fn find(name: &str) -> Result<Story, Failure> {
        let all = stories();
        let names: Vec<&str> = all.iter().map(|story| story.name.as_str()).collect();
        let found = all.iter().find(|story| story.name == name).cloned();
        found.ok_or_else(|| {
            let near = nearest::nearest(name, names.iter().copied()).unwrap_or_default();
            let fault = format!("--story {name}: there is no such story; did you mean `{near}`?");
            Failure::usage(format!("{fault} The stories are {}", names.join(", ")))
        })
    }

    /// The requests.
    ///
    /// # Errors
    /// A value of the story is none.
    pub fn trace(&self) -> Result<Trace, String> {
        let parts = self.parts.iter().map(|part| SynthPart::parse(part));
        let synth = Synth {
            name: self.name.clone(),
            parts: parts.collect::<Result<_, _>>()?,
            requests: self.requests,
            arrival: Arrival::parse(&self.arrival)?,
            gap: parse_moment(&self.gap)?,
            seed: 1,
        };
        synth.check()?;
        Ok(synth.generate())
    }

    /// The window, as begin and end.
    ///
    /// # Errors
    /// A value of the story is none.
    pub fn window(&self) -> Result<(Nanos, Nanos), String> {
        Ok((parse_moment(&self.from)?, parse_moment(&self.to)?))
    }

    /// Runs both schemes, and watches them.
    ///
    /// # Errors
    /// A run failed.
    pub fn watch(&self, warnings: &mut Warnings) -> Result<Vec<WatchedRun>, Failure> {
        let refused = |fault| Failure::Run(format!("story {}: {fault}", self.name));
        let given = RunArgs {
            // The requests are made here.
            traces: vec![PathBuf::from("-")],
            device: Some(DEVICE.to_owned()),
            ..RunArgs::default()
        };
        let args = run_keys(&self.run, &given, &self.name)?.args;
        let (from, to) = self.window().map_err(refused)?;
        let ask = WatchAsk {
            from: WatchFrom::Time(from),
            to: Some(to),
        };
        let trace = Stored::Memory(self.trace().map_err(refused)?);
        watch(&args, ask, trace, warnings)
    }
}

#[cfg(test)]
mod tests;
