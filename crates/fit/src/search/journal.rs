//! Differences that are known, in memory and in a file, so that a search that was interrupted goes on where it was.

use super::step::Differences;
use crate::FitError;
use destage_console::file::require_regular;
use destage_experiment::seal::{seal_text, unseal_text};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// Differences by the settings of the device.
#[derive(Default)]
pub struct FitJournal {
    pub(super) known: BTreeMap<String, Differences>,
    out: Option<File>,
}

impl FitJournal {
    /// One without a file.
    #[must_use]
    pub fn in_memory() -> FitJournal {
        FitJournal::default()
    }

    /// The journal at `path`, which is made if it is not there. Its first line is `fit`, which says what is fitted to what;
    /// each further line is a candidate. A last line that was cut is removed.
    ///
    /// # Errors
    /// The file belongs to another fit, was changed since it was written, or cannot be read or written.
    pub fn open(fit: &str, path: &Path) -> Result<FitJournal, FitError> {
        let failed = |error: io::Error| FitError::Journal(error.to_string());
        require_regular(path).map_err(failed)?;
        let mut options = OpenOptions::new();
        let file = options.create(true).read(true).append(true).open(path);
        let mut file = file.map_err(failed)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        let whole = text.iter().rposition(|&b| b == b'\n');
        let (whole, cut) = text.split_at(whole.map_or(0, |at| at + 1));
        let head = seal_text(fit);
        let mut lines = whole.split_inclusive(|&b| b == b'\n').zip(1..);
        match lines.next() {
            None if head.as_bytes().starts_with(cut) => {}
            Some((first, _)) if first == head.as_bytes() => {}
            _ => return Err(FitError::OtherJournal),
        }
        file.set_len(whole.len() as u64).map_err(failed)?;
        if whole.is_empty() {
            file.write_all(head.as_bytes()).map_err(failed)?;
        }
        let known = lines.map(|(line, number)| {
            let known = unseal_text(line).and_then(|text| {
                serde_json::from_str::<(String, Differences)>(text)
                    .map_err(|error| error.to_string())
            });
            known.map_err(|why| FitError::DamagedJournal { line: number, why })
        });
        Ok(FitJournal {
            known: known.collect::<Result<_, _>>()?,
            out: Some(file),
        })
    }

    /// The differences of a device, if they are known.
    #[must_use]
    pub fn get(&self, settings: &str) -> Option<&Differences> {
        self.known.get(settings)
    }

    /// Is no candidate known?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Remembers a candidate.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, settings: String, found: Differences) -> Result<(), FitError> {
        if let Some(out) = &mut self.out {
            let line = seal_text(&serde_json::json!([settings, found]).to_string());
            out.write_all(line.as_bytes())
                .map_err(|error| FitError::Journal(error.to_string()))?;
        }
        self.known.insert(settings, found);
        Ok(())
    }
}
