//! Contents of the folder of a sweep: files that its manifest names, and other files, which are
//! never replaced and never removed.

use crate::folder::{BATCHES, COSTS, MANIFEST, RESULTS, ResultsFolder, forms, results_name};
use crate::options::FormatOut;
use crate::sweep::folder::batch_folder;
use crate::sweep::line::BatchLine;
use crate::sweep::manifest::{Manifest, SweepBatch};
use crate::sweep::planning::batch_key;
use destage_console::failure::Failure;
use destage_console::file::incomplete_name;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Names in a sentence; further ones are counted.
const NAMED: usize = 3;

impl ResultsFolder {
    /// Contents of the folder of batches, which are those of `all`.
    pub(super) fn contents<'a>(&self, all: &'a [SweepBatch]) -> Result<BatchFolder<'a>, Failure> {
        let keys: BTreeSet<&str> = all.iter().map(|batch| batch.key.as_str()).collect();
        let mut found = BatchFolder::default();
        let refused = |path: &Path, error: &io::Error| {
            let name = path.strip_prefix(self.path()).unwrap_or(path).display();
            self.refused(&format!("cannot read {name}: {error}"))
        };
        let folder = self.path().join(BATCHES);
        let parts = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            parts => parts.map_err(|error| refused(&folder, &error))?,
        };
        for part in parts {
            let part = part.map_err(|error| refused(&folder, &error))?.path();
            if !part.is_dir() {
                found.strays.push(part);
                continue;
            }
            let files = fs::read_dir(&part).map_err(|error| refused(&part, &error))?;
            for file in files {
                let file = file.map_err(|error| refused(&part, &error))?.path();
                found.add(file, &keys);
            }
            found.parts.push(part);
        }
        found.strays.sort();
        Ok(found)
    }

    /// A sentence that names files of the folder of batches that are not of the sweep, if there are some.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) fn stray_note(&self, manifest: &Manifest) -> Result<Option<String>, Failure> {
        let strays = self.contents(&manifest.batches)?.strays;
        let names = strays.iter().take(NAMED).map(|path| {
            let name = path.strip_prefix(self.path()).unwrap_or(path);
            name.display().to_string()
        });
        let mut names = names.collect::<Vec<_>>().join(", ");
        if strays.len() > NAMED {
            names += &format!(" and {} more", strays.len() - NAMED);
        }
        Ok((!strays.is_empty()).then(|| {
            format!(
                "--out {}: not files of this sweep, so they are ignored: {names}",
                self.path().display()
            )
        }))
    }

    /// Makes sure that merged results in `format` replace none but those of this sweep.
    ///
    /// # Errors
    /// They would replace other files, which are named.
    pub(super) fn require_own_results(
        &self,
        manifest: &Manifest,
        format: FormatOut,
    ) -> Result<(), Failure> {
        let other = forms(format).nth(1).map(results_name);
        let names = [RESULTS, COSTS].into_iter().chain(other.as_deref());
        self.require_own(&names.collect::<Vec<_>>())?;
        let mut foreign = Vec::new();
        for name in [RESULTS, COSTS] {
            let is_own = self.is_merged(name, manifest);
            if !is_own.map_err(|error| self.refused(&format!("{name}: {error}")))? {
                foreign.push(name);
            }
        }
        self.refuse_foreign(&foreign, "the sweep of manifest.jsonl did not write")
    }

    /// Makes sure that no results are there, which cannot be those of a sweep without a manifest.
    ///
    /// # Errors
    /// Results are there; they are named.
    pub(super) fn require_no_results(&self) -> Result<(), Failure> {
        let mut there = vec![RESULTS, COSTS, "results.csv", "results.parquet"];
        there.retain(|name| self.path().join(name).symlink_metadata().is_ok());
        self.refuse_foreign(&there, "no manifest of a sweep names")
    }

    /// Whether the file called `name` has merged results of this sweep, or is absent: its first keys are those of
    /// the first batch, whose file may be damaged or gone, or, where runs of that batch were left out, its first
    /// key is that of the first record in the batches.
    fn is_merged(&self, name: &str, manifest: &Manifest) -> io::Result<bool> {
        let file = match File::open(self.path().join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            file => file?,
        };
        let Some(first) = manifest.batches.first() else {
            return Ok(true);
        };
        if file.metadata()?.len() == 0 {
            return Ok(true);
        }
        let skip = usize::from(name == COSTS);
        let lines = BufReader::new(file).lines().skip(skip).take(first.len());
        let keys: Vec<String> = lines
            .map(|line| Ok(key_of(&line?, name).unwrap_or_default()))
            .collect::<io::Result<_>>()?;
        let is_first = |key: String| keys.first().is_none_or(|found| *found == key);
        Ok(batch_key(keys.iter().map(String::as_str)) == first.key
            || self.first_recorded_key(manifest).is_some_and(is_first))
    }

    /// The key of the first record that the batches have; `None` if a batch before it is not there.
    fn first_recorded_key(&self, manifest: &Manifest) -> Option<String> {
        for batch in &manifest.batches {
            // A pipe in the place of a file would be waited for.
            let path = Some(self.file_of(batch)).filter(|path| path.is_file());
            let text = fs::read(path?).ok()?;
            let lines = text.split_inclusive(|&byte| byte == b'\n');
            for line in lines.filter_map(|line| BatchLine::parse(line).ok()) {
                if let BatchLine::Record(record) = line {
                    return Some(record.run.key.clone());
                }
            }
        }
        None
    }

    /// Removes what the manifest says is of its sweep, and nothing else: results, batches, manifest. The
    /// manifest goes last, so that whenever this is cut off, a sweep is there that goes on, or none.
    ///
    /// # Errors
    /// The manifest is damaged, so nobody knows what is of the sweep; files are in the way that are not of the
    /// sweep; or something cannot be removed.
    pub(super) fn clear(&self) -> Result<(), Failure> {
        let manifest = Manifest::read(self.path()).map_err(|why| {
            self.refused(&format!(
                "{why}; --fresh removes only files that a manifest names, so remove these yourself, or name \
                 another folder"
            ))
        })?;
        let Some(manifest) = manifest else {
            return Ok(());
        };
        self.require_own_results(&manifest, FormatOut::Jsonl)?;
        let batches = self.contents(&manifest.batches)?;
        let results = [RESULTS, COSTS].map(|name| self.path().join(name));
        for path in results.iter().chain(&batches.files) {
            self.remove(path)?;
        }
        // Folders stay as long as there are other files in them.
        let folder = self.path().join(BATCHES);
        for folder in batches.parts.iter().chain([&folder]) {
            let _ = fs::remove_dir(folder);
        }
        self.remove(&self.path().join(MANIFEST))
    }

    /// Removes a file, if it is there.
    fn remove(&self, path: &Path) -> Result<(), Failure> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let name = path.strip_prefix(self.path()).unwrap_or(path).display();
                Err(self.refused(&format!("cannot remove {name}: {error}")))
            }
            _ => Ok(()),
        }
    }
}

/// Contents of the folder of batches.
#[derive(Default)]
pub(super) struct BatchFolder<'a> {
    /// Folders of files.
    parts: Vec<PathBuf>,
    /// Keys of batches that are done.
    pub(super) done: BTreeSet<&'a str>,
    /// Files of batches, also what killed commands left of them.
    files: Vec<PathBuf>,
    /// Files that are not of the sweep.
    strays: Vec<PathBuf>,
}

impl<'a> BatchFolder<'a> {
    /// Adds a file, which is of the sweep if its name has one of the `keys` in it.
    fn add(&mut self, path: PathBuf, keys: &BTreeSet<&'a str>) {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or_default();
        let is_part = |key: &&&str| {
            path.parent()
                .is_some_and(|part_of| part_of.ends_with(batch_folder(key)))
        };
        let key = |text: &str| keys.get(text).filter(is_part).copied();
        let done = name.strip_suffix(".jsonl").and_then(key);
        let left = incomplete_name(name).and_then(|name| name.strip_suffix(".jsonl"));
        self.done.extend(done);
        match done.or_else(|| left.and_then(key)) {
            Some(_) => self.files.push(path),
            None => self.strays.push(path),
        }
    }
}

/// The key of the run in a line of merged results called `name`.
fn key_of(line: &str, name: &str) -> Option<String> {
    if name == COSTS {
        return line.split(',').next().map(str::to_owned);
    }
    let record: Value = serde_json::from_str(line).ok()?;
    Some(record["run"]["key"].as_str()?.to_owned())
}
