//! Residuals that are known, in memory and in a file, so that a search that was interrupted goes on where it was.

use crate::FitError;
use std::collections::BTreeMap;
use std::io::{BufRead, Write};

/// Residuals by the settings of the device.
pub struct FitJournal {
    known: BTreeMap<String, f64>,
    out: Option<Box<dyn Write + Send>>,
}

impl FitJournal {
    /// One without a file.
    #[must_use]
    pub fn in_memory() -> FitJournal {
        FitJournal {
            known: BTreeMap::new(),
            out: None,
        }
    }

    /// One that goes on from the lines of `old` and adds to `out`. The first line is `fit`, which says what is fitted
    /// to what; an empty file gets it.
    ///
    /// # Errors
    /// The file belongs to another fit, or cannot be read or written.
    pub fn resume(
        fit: &str,
        old: impl BufRead,
        mut out: Box<dyn Write + Send>,
    ) -> Result<FitJournal, FitError> {
        let failed = |e: std::io::Error| FitError::Journal(e.to_string());
        let mut lines = old.lines();
        match lines.next() {
            None => writeln!(out, "{fit}").map_err(failed)?,
            Some(first) if first.as_ref().is_ok_and(|first| first == fit) => {}
            Some(_) => return Err(FitError::OtherJournal),
        }
        let mut known = BTreeMap::new();
        for line in lines {
            let line = line.map_err(failed)?;
            // The last line of an interrupted fit may be cut.
            if let Ok((settings, residual)) = serde_json::from_str::<(String, f64)>(&line) {
                known.insert(settings, residual);
            }
        }
        Ok(FitJournal {
            known,
            out: Some(out),
        })
    }

    /// The residual of a device, if it is known.
    #[must_use]
    pub fn get(&self, settings: &str) -> Option<f64> {
        self.known.get(settings).copied()
    }

    /// Is no residual known?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Remembers a residual.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, settings: String, residual: f64) -> Result<(), FitError> {
        if let Some(out) = &mut self.out {
            let line = serde_json::json!([settings, residual]);
            // An interrupted write leaves half a line, so that each begins with a line end of its own.
            writeln!(out, "{line}")
                .and_then(|()| out.flush())
                .map_err(|e| FitError::Journal(e.to_string()))?;
        }
        self.known.insert(settings, residual);
        Ok(())
    }
}
