//! A line of the file of a batch: the record of a run, or why the run cannot run.

use crate::hash::of_parts;
use crate::seal::{seal, unseal};
use destage_sim::ResultRecord;
use serde::{Deserialize, Serialize};
use std::io;

/// The result of a run of a batch.
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
    /// Checksum of both.
    sha256: String,
}

impl RefusedLine {
    /// The line of the run with this key, which `refused` says cannot run.
    pub fn new(refused: String, key: String) -> RefusedLine {
        let sha256 = of_parts([&*refused, &*key]);
        RefusedLine {
            refused,
            key,
            sha256,
        }
    }
}

impl BatchLine {
    /// Reads a line that [`BatchLine::to_bytes`] wrote, with or without its line end.
    ///
    /// # Errors
    /// It is neither, or was changed since it was written.
    pub fn parse(line: &[u8]) -> Result<BatchLine, String> {
        if !line.starts_with(b"{\"refused\":") {
            return unseal(line).map(|line| BatchLine::Record(Box::new(line.record)));
        }
        let read: RefusedLine = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        match of_parts([&*read.refused, &*read.key]) == read.sha256 {
            true => Ok(BatchLine::Refused(read)),
            false => Err("the line was changed after it was written: its checksum differs".into()),
        }
    }

    /// The line with its end, and with a checksum.
    ///
    /// # Errors
    /// It has no JSON form.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        match self {
            BatchLine::Record(record) => seal(record),
            BatchLine::Refused(refused) => {
                let mut line = serde_json::to_vec(refused)?;
                line.push(b'\n');
                Ok(line)
            }
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
