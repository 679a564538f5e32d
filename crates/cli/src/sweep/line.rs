//! A line of the file of a batch: the record of a run, or why the run cannot run.

use destage_sim::ResultRecord;
use serde::{Deserialize, Serialize};

/// What a run of a batch came to.
#[derive(Serialize)]
#[serde(untagged)]
pub enum BatchLine {
    /// Its record.
    Record(Box<ResultRecord>),
    /// It cannot run.
    Refused(RefusedLine),
}

/// A run that cannot run, wherever it is tried.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusedLine {
    /// Trace, scheme, size and reason.
    pub refused: String,
    /// Key of the run.
    pub key: String,
}

impl BatchLine {
    /// Reads a line.
    ///
    /// # Errors
    /// It is neither.
    pub fn parse(line: &str) -> Result<BatchLine, serde_json::Error> {
        match line.starts_with("{\"refused\":") {
            true => serde_json::from_str(line).map(BatchLine::Refused),
            false => serde_json::from_str(line).map(BatchLine::Record),
        }
    }

    /// Key of the run.
    pub fn key(&self) -> &str {
        match self {
            BatchLine::Record(record) => &record.run.key,
            BatchLine::Refused(refused) => &refused.key,
        }
    }
}
