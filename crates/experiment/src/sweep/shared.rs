//! A sweep for a program that has its batches done by workers of its own, such as the Python package: one
//! [`SweepJob`] plans and merges, and any number of [`SweepWorker`]s, in any processes, do batches.

use crate::api::options;
use crate::folder::ResultsFolder;
use crate::options::{FormatOut, KeyPlaces, OptionInfo, OptionScope, RunArgs};
use crate::progress::Follower;
use crate::run::Keys;
use crate::sweep::folder::{FolderLock, Shard};
use crate::sweep::grid::{SweepDescription, SweepText};
use crate::sweep::manifest::Manifest;
use crate::sweep::planning;
use crate::sweep::planning::BatchSize;
use crate::sweep::traces::TraceSources;
use crate::sweep::worker::Worker;
use crate::sweep::{SweepFile, merge};
use destage_console::failure::Failure;
use destage_console::terminal::Warnings;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Settings of a machine, besides the sweep.
#[derive(Clone, Default)]
pub struct SweepPlace {
    /// Folder of traces and device files.
    pub folder: PathBuf,
    /// Folder to which traces are copied.
    pub trace_cache: Option<PathBuf>,
    /// Options of `run` about the machine: jobs, memory, trace-memory.
    pub options: Keys,
}

impl SweepPlace {
    fn sources(&self) -> TraceSources {
        TraceSources {
            folder: self.folder.clone(),
            cache: self.trace_cache.clone(),
        }
    }

    fn given(&self) -> Result<RunArgs, Failure> {
        let of_machine = |option: &OptionInfo| option.scope == OptionScope::Machine;
        options(&self.options, of_machine, "destage.sweep")
    }
}

/// A sweep that is planned. Nobody else works in its folder but its workers, until it is released or goes.
pub struct SweepJob {
    folder: ResultsFolder,
    manifest: Arc<Manifest>,
    held: Mutex<Option<FolderLock>>,
}

impl SweepJob {
    /// Plans the sweep that `json` describes in the keys of a sweep file called `name`, in the folder `out`, or
    /// goes on with it; `fresh` removes what is there. `batch` is as in `--batch`. The second part is what should
    /// be said of it.
    ///
    /// # Errors
    /// Bad usage or input; another sweep is there, or somebody works on it.
    pub fn new(
        json: &str,
        name: &str,
        out: &Path,
        place: &SweepPlace,
        batch: Option<&str>,
        fresh: bool,
    ) -> Result<(SweepJob, Vec<String>), Failure> {
        let refused = |fault: String| Failure::usage(format!("{name}: {fault}"));
        let text: SweepText = serde_json::from_str(json).map_err(|e| refused(e.to_string()))?;
        let batch = batch.map(str::parse::<BatchSize>).transpose();
        let batch = batch.map_err(|fault| refused(format!("batch: {fault}")))?;
        let folder = ResultsFolder::open(out)?;
        let held = folder.lock_alone()?;
        if fresh {
            folder.clear()?;
        }
        let file = SweepFile {
            sweep: SweepDescription {
                text,
                name: name.to_owned(),
                places: KeyPlaces::without_file(name),
            },
            sources: place.sources(),
            given: place.given()?,
        };
        let mut warnings = Warnings::unsaid();
        let manifest = Arc::new(file.manifest(&folder, batch, &mut warnings)?);
        folder.require_own_results(&manifest, FormatOut::Jsonl)?;
        warnings.extend(folder.stray_note(&manifest)?);
        let job = SweepJob {
            folder,
            manifest,
            held: Mutex::new(Some(held)),
        };
        Ok((job, warnings.into_all().collect()))
    }

    /// Lets others work in the folder.
    pub fn release(&self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.take();
    }

    /// Number of runs in each batch.
    pub fn batches(&self) -> Vec<usize> {
        self.manifest
            .batches
            .iter()
            .map(|batch| batch.len())
            .collect()
    }

    /// A key that tells this sweep from others that may come to be in its folder.
    pub fn key(&self) -> String {
        key(&self.manifest)
    }

    /// Numbers of the batches that are not done.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn open_batches(&self) -> Result<Vec<usize>, Failure> {
        super::open(&self.folder, &self.manifest, Shard::WHOLE)
    }

    /// Merges the batches, all of which are done, and gives the file of results, and runs that cannot run, a
    /// line each.
    ///
    /// # Errors
    /// Some are not done, a file is not what its batch gives, or nothing can be written.
    pub fn merge(&self) -> Result<(PathBuf, Vec<String>), Failure> {
        super::complete(&self.folder, &self.manifest)?;
        let merged = merge::merge(&self.folder, &self.manifest, FormatOut::Jsonl)?;
        match merged.records {
            0 => Err(Failure::Usage(merged.refused)),
            _ => Ok((merged.results, merged.refused)),
        }
    }
}

/// Does batches of the sweep in a folder.
pub struct SweepWorker {
    folder: ResultsFolder,
    manifest: Arc<Manifest>,
    worker: Worker,
}

impl SweepWorker {
    /// A worker of the sweep in `out`, which is the one with `key`.
    ///
    /// # Errors
    /// It is not there.
    pub fn new(out: &Path, expected: &str, place: &SweepPlace) -> Result<SweepWorker, Failure> {
        let folder = ResultsFolder::existing(out);
        let manifest = folder.manifest()?.ok_or_else(|| {
            folder.refused(&format!(
                "machine {} finds no sweep there: workers need a folder that all of them share",
                crate::run::host()
            ))
        })?;
        if key(&manifest) != expected {
            return Err(folder.refused(&"another sweep is there by now"));
        }
        if let Some(why) = manifest.other_program() {
            return Err(folder.refused(&why));
        }
        let manifest = Arc::new(manifest);
        let of = manifest.batches.len();
        let mut worker = Worker::new(Arc::clone(&manifest), place.sources(), place.given()?, of)?;
        worker.executor.warnings = Warnings::unsaid();
        Ok(SweepWorker {
            folder,
            manifest,
            worker,
        })
    }

    /// The trace of a batch: what the sweep calls it, and its hash.
    pub fn trace(&self, batch: usize) -> Option<(&str, &str)> {
        let batch = self.manifest.batches.get(batch)?;
        let trace = &self.manifest.head.traces[batch.trace];
        Some((&trace.path, &trace.sha256))
    }

    /// Does a batch, which `follower` may end, and gives what should be said of it.
    ///
    /// # Errors
    /// There is no such batch, a run failed, or its records cannot be written.
    pub fn work(&mut self, number: usize, follower: Arc<Follower>) -> Result<Vec<String>, Failure> {
        let manifest = Arc::clone(&self.manifest);
        let Some(batch) = manifest.batches.get(number) else {
            return Err(Failure::usage(format!("the sweep has no batch {number}")));
        };
        self.worker.follow(follower);
        self.worker.look_for_traces(&[number])?;
        let lines = self.worker.batch(number)?;
        self.folder.save(batch, &lines)?;
        let said = std::mem::replace(&mut self.worker.executor.warnings, Warnings::unsaid());
        Ok(said.into_all().collect())
    }
}

fn key(manifest: &Manifest) -> String {
    planning::batch_key(manifest.batches.iter().map(|batch| batch.key.as_str()))
}

/// The keys of a sweep file as JSON, which [`SweepJob::new`] takes, and its name.
///
/// # Errors
/// It cannot be read, or is no TOML.
pub fn sweep_file(file: &Path) -> Result<(String, String), Failure> {
    let sweep = SweepDescription::read(file)?;
    let json = serde_json::to_string(&sweep.text)
        .map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
    Ok((json, sweep.name))
}
