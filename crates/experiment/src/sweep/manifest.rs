//! The manifest: what a sweep is, and its batches. It is written once, before any run.

use crate::folder::MANIFEST;
use crate::sweep::grid::{SweepDescription, SweepText};
use destage_console::file::{OutputFile, complete, require_regular};
use destage_console::program;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

/// Value of [`SweepHead::schema`].
const SCHEMA: &str = "destage.sweep/1";

/// A sweep and its batches: the first line of the file, and one line each.
pub struct Manifest {
    /// The sweep as a whole.
    pub head: SweepHead,
    /// Its batches, in the order of their runs.
    pub batches: Vec<SweepBatch>,
}

/// The description of a sweep.
#[derive(Clone, Serialize, Deserialize)]
pub struct SweepHead {
    schema: String,
    /// Version and sources of the program; records of two programs are not mixed.
    pub program: String,
    /// Name of the sweep file.
    pub name: String,
    /// Folder of its traces and device files on the machine that planned it.
    pub folder: String,
    /// The text of the sweep file.
    pub text: SweepText,
    /// Its traces.
    pub traces: Vec<SweepTrace>,
    /// Number of runs.
    pub runs: u64,
    /// Runs that cannot run, which no batch has, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Number of batches; a file with fewer lines is not whole.
    batches: usize,
}

/// A trace of a sweep.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepTrace {
    /// As the sweep names it.
    pub path: String,
    /// As records name it.
    pub name: String,
    /// SHA-256 of the file as stored.
    pub sha256: String,
    /// Its length.
    pub bytes: u64,
}

/// Runs over one trace that are done together and written to one file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SweepBatch {
    /// Hash of the keys of its runs; the name of its file.
    pub key: String,
    /// Number of its trace.
    pub trace: usize,
    /// Time that it takes on one processor, by estimate.
    pub seconds: f64,
    /// Plan, first run in it, and number of runs.
    pub runs: Vec<(usize, usize, usize)>,
}

impl SweepBatch {
    /// May it be a batch of this sweep? Its key becomes the name of a file.
    fn is_of(&self, head: &SweepHead) -> bool {
        let is_key = self.key.len() == 32 && self.key.bytes().all(|b| b.is_ascii_hexdigit());
        let parts = self.runs.iter().try_fold(0u64, |all, part| {
            let of_plan = (part.1 as u64).checked_add(part.2 as u64)?;
            all.checked_add(of_plan)
        });
        is_key && parts.is_some() && !self.runs.is_empty() && self.trace < head.traces.len()
    }

    /// Number of its runs.
    pub fn len(&self) -> usize {
        self.runs.iter().map(|part| part.2).sum()
    }
}

impl Manifest {
    /// A manifest of this program.
    pub fn new(
        sweep: &SweepDescription,
        folder: &Path,
        traces: Vec<SweepTrace>,
        batches: Vec<SweepBatch>,
        refused: Vec<String>,
    ) -> Manifest {
        Manifest {
            head: SweepHead {
                schema: SCHEMA.to_owned(),
                program: program().to_owned(),
                name: sweep.name.clone(),
                folder: folder.to_string_lossy().into_owned(),
                text: sweep.text.clone(),
                traces,
                runs: batches.iter().map(|batch| batch.len() as u64).sum(),
                refused,
                batches: batches.len(),
            },
            batches,
        }
    }

    /// Reads the manifest of `folder`; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub fn read(folder: &Path) -> Result<Option<Manifest>, String> {
        let named = |why: &dyn std::fmt::Display| format!("{MANIFEST}: {why}");
        require_regular(&folder.join(MANIFEST)).map_err(|error| named(&error))?;
        let file = match File::open(folder.join(MANIFEST)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| named(&error))?,
        };
        let mut lines = BufReader::new(file).lines();
        let first = lines.next().unwrap_or(Ok(String::new()));
        let first = first.map_err(|error| named(&error))?;
        let head: SweepHead = serde_json::from_str(&first)
            .map_err(|error| named(&format!("not that of a sweep: {error}")))?;
        let is_hash = |hash: &str| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
        if !head.traces.iter().all(|trace| is_hash(&trace.sha256)) {
            return Err(named(&"a trace of it has no SHA-256"));
        }
        if head.schema != SCHEMA {
            return Err(named(&format!("of the kind {}, not {SCHEMA}", head.schema)));
        }
        let mut batches = Vec::with_capacity(head.batches.min(1 << 20));
        for line in lines {
            let line = line.map_err(|error| named(&error))?;
            let place = |why: &dyn std::fmt::Display| format!("line {}: {why}", batches.len() + 2);
            let batch: SweepBatch =
                serde_json::from_str(&line).map_err(|error| named(&place(&error)))?;
            if !batch.is_of(&head) {
                return Err(named(&place(&"no batch of this sweep")));
            }
            batches.push(batch);
        }
        match batches.len() == head.batches {
            true => Ok(Some(Manifest { head, batches })),
            false => Err(named(&format!(
                "has {} of its {} batches",
                batches.len(),
                head.batches
            ))),
        }
    }

    /// Writes the manifest to `folder`, whole or not at all.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let mut out = BufWriter::new(OutputFile::create(&folder.join(MANIFEST))?);
        serde_json::to_writer(&mut out, &self.head)?;
        writeln!(out)?;
        for batch in &self.batches {
            serde_json::to_writer(&mut out, batch)?;
            writeln!(out)?;
        }
        complete(out)
    }

    /// Why a sweep does not go on with this manifest.
    pub fn differs(&self, sweep: &SweepDescription) -> Option<String> {
        let head = &self.head;
        if head.text != sweep.text || head.name != sweep.name {
            return Some(format!("another sweep is there, {}", head.name));
        }
        self.other_program()
    }

    /// Why this program does not go on with this manifest.
    pub fn other_program(&self) -> Option<String> {
        let head = &self.head;
        (head.program != program()).then(|| {
            format!(
                "the sweep there was begun by destage {}, and this is {}: their results are not mixed",
                head.program,
                program()
            )
        })
    }
}
