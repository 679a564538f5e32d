//! Questions of the page.

use destage_experiment::api::{ComparedRun, Keys};
use serde::Deserialize;

/// A question of the page, as JSON with its name in `ask`.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    /// The catalogue: schemes, devices, samples, and the version.
    Catalogue {},
    /// Generates a sample trace.
    Sample {
        /// Its name.
        name: String,
        /// Seed of its draws.
        seed: u64,
    },
    /// Reads a trace from the bytes that the host gives.
    Read {
        /// Name of the file.
        name: String,
        /// Options about reading.
        #[serde(default)]
        keys: Keys,
    },
    /// The columns in the first lines of the bytes that the host gives, and the mapping that reads them.
    Table {
        /// Name of the file.
        name: String,
        /// Options about reading.
        #[serde(default)]
        keys: Keys,
    },
    /// The SHA-256 of the bytes that the host gives.
    Hash {},
    /// The trace has this SHA-256.
    HasHash {
        /// In hexadecimal digits.
        sha256: String,
    },
    /// The keys of a run file.
    ReadRunFile {
        /// Its text.
        text: String,
    },
    /// Checks options of `run` and says which runs they come to.
    Plan {
        /// The options.
        keys: Keys,
    },
    /// The sentences that answer first about each of some groups of runs that compare.
    Answers {
        /// Runs as the answer to `run` has them (`compared`).
        groups: Vec<Vec<ComparedRun>>,
    },
    /// Executes a run of the plan.
    Run {
        /// Its number, from 0.
        number: usize,
    },
}
