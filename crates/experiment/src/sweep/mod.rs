//! `destage sweep`: traces x schemes x sizes x devices x settings as keyed runs, in batches that any number of
//! commands on any number of machines do, and one merged result.
//!
//! `grid` has what a sweep file says, `planning` makes batches of it, `manifest` keeps them, `folder` knows which
//! are done, `contents` which files are of the sweep, `worker` does them, `traces` finds what they read, `decoded`
//! lets processes share it, `merge` puts the results together; `shared` is for programs that have workers of their own.

mod contents;
mod decoded;
mod folder;
mod grid;
mod line;
mod manifest;
mod merge;
mod planning;
mod shared;
mod traces;
mod worker;

pub use folder::Shard;
pub use planning::BatchSize;
pub use shared::{SweepJob, SweepPlace, SweepWorker, sweep_file};

use crate::bounds::announce;
use crate::folder::ResultsFolder;
use crate::options::{FormatOut, RunArgs, SweepArgs};
use destage_console::failure::Failure;
use destage_console::identity;
use destage_console::print::print_exactly;
use destage_console::terminal::{Screen, Warnings, say};
use destage_report::run_table;
use grid::{Grid, SweepDescription};
use manifest::Manifest;
use std::path::Path;
use std::sync::Arc;
use traces::TraceSources;
use worker::Worker;

/// Does what `args` say.
///
/// # Errors
/// Bad usage or input, a batch that failed, or an output that cannot be written.
pub fn run(args: &SweepArgs) -> Result<(), Failure> {
    if args.merge {
        let folder = ResultsFolder::existing(args.folder());
        let manifest = folder.manifest()?;
        let manifest = manifest.ok_or_else(|| folder.refused(&"no sweep is there"))?;
        folder.stray_note(&manifest)?.iter().for_each(note);
        return merged(&folder, &manifest, args.form.format_out());
    }
    let sweep = SweepFile::read(args.file(), args)?;
    let folder = ResultsFolder::open(args.folder())?;
    // All of it is planned and done alone, a share beside others.
    let _held = match args.shard {
        None => vec![folder.lock_alone()?],
        Some(shard) => folder.lock_shard(shard)?.into(),
    };
    if args.fresh {
        folder.clear()?;
    }
    let manifest = sweep.manifest(&folder, args.batch, &mut Warnings::default())?;
    let manifest = Arc::new(manifest);
    // A share looks at its own files only, and merges nothing.
    if args.shard.is_none() {
        folder.stray_note(&manifest)?.iter().for_each(note);
        folder.require_own_results(&manifest, args.form.format_out())?;
    }
    if args.plan {
        return planned(&folder, &manifest);
    }
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    work(&folder, &manifest, shard, sweep)?;
    match args.shard {
        None => merged(&folder, &manifest, args.form.format_out()),
        Some(_) => Ok(()),
    }
}

fn note(text: &String) {
    say(&format!("note: {text}"));
}

/// A sweep file, and what the command line says of this machine.
struct SweepFile {
    sweep: SweepDescription,
    sources: TraceSources,
    given: RunArgs,
}

impl SweepFile {
    fn read(file: &Path, args: &SweepArgs) -> Result<SweepFile, Failure> {
        let sweep = SweepDescription::read(file)?;
        identity::protect(file);
        let folder = args.trace_dir.as_deref();
        let folder = folder.unwrap_or_else(|| planning::folder_of(file));
        let folder = folder.canonicalize().map_err(|error| {
            Failure::usage(format!("--trace-dir {}: {error}", folder.display()))
        })?;
        Ok(SweepFile {
            sweep,
            sources: TraceSources {
                folder,
                cache: args.trace_cache.clone(),
            },
            given: args.given(),
        })
    }

    /// The manifest in `folder`, which is made with batches of `size` if it is not there.
    fn manifest(
        &self,
        folder: &ResultsFolder,
        size: Option<BatchSize>,
        warnings: &mut Warnings,
    ) -> Result<Manifest, Failure> {
        // Without a lock: workers that begin at once would read it one after the other.
        if let Some(manifest) = self.known_manifest(folder)? {
            return Ok(manifest);
        }
        let waits = || say("note: waiting for another command that plans the sweep");
        let _held = folder.lock_plan(waits)?;
        if let Some(manifest) = self.known_manifest(folder)? {
            return Ok(manifest);
        }
        folder.require_no_results()?;
        let (sweep, sources) = (&self.sweep, &self.sources);
        let grid = Grid::new(sweep, &sources.folder, self.given.clone())?;
        announce(grid.runs);
        let manifest = planning::plan(sweep, &grid, sources, size, warnings)?;
        let written = manifest.write(folder.path());
        written.map_err(|error| {
            let place = folder.path().display();
            Failure::Run(format!("cannot write the manifest to {place}: {error}"))
        })?;
        Ok(manifest)
    }

    /// The manifest in `folder`, if it has one.
    fn known_manifest(&self, folder: &ResultsFolder) -> Result<Option<Manifest>, Failure> {
        let manifest = folder.manifest()?;
        match manifest
            .as_ref()
            .and_then(|known| known.differs(&self.sweep))
        {
            None => Ok(manifest),
            Some(why) => Err(folder.refused(&format!(
                "{why}; name another folder, or --fresh, which removes what is done there"
            ))),
        }
    }
}

/// Says what there is to do.
fn planned(folder: &ResultsFolder, manifest: &Manifest) -> Result<(), Failure> {
    let open = open(folder, manifest, Shard::WHOLE)?;
    let all = &manifest.batches;
    // The sum of no numbers is -0.
    let seconds = open
        .iter()
        .fold(0.0, |sum, &batch| sum + all[batch].seconds);
    for refused in &manifest.head.refused {
        say(&format!("warning: cannot run: {refused}"));
    }
    print_exactly(&format!(
        "{} runs over {} traces in {} batches, {} of which are done; about {:.0} s of one processor are left\n",
        manifest.head.runs,
        manifest.head.traces.len(),
        all.len(),
        all.len() - open.len(),
        seconds.ceil(),
    ))
}

/// Numbers of the batches of a share that are not done.
fn open(folder: &ResultsFolder, manifest: &Manifest, shard: Shard) -> Result<Vec<usize>, Failure> {
    let share: Vec<usize> = shard.of(manifest.batches.len()).collect();
    let done = folder.finished_batches(&manifest.batches, &share)?;
    Ok(share
        .into_iter()
        .filter(|batch| !done.contains(batch))
        .collect())
}

/// Does the batches of a share that are not done.
fn work(
    folder: &ResultsFolder,
    manifest: &Arc<Manifest>,
    shard: Shard,
    sweep: SweepFile,
) -> Result<(), Failure> {
    let open = open(folder, manifest, shard)?;
    let share = shard.of(manifest.batches.len()).count();
    if open.len() < share {
        let done = share - open.len();
        say(&format!(
            "{done} of {share} batches are done already (--fresh repeats them)"
        ));
    }
    let mut worker = Worker::new(Arc::clone(manifest), sweep.sources, sweep.given, open.len())?;
    worker.look_for_traces(&open)?;
    let mut failed = 0;
    for &number in &open {
        folder.advise();
        match worker.batch(number) {
            Ok(lines) => folder.save(&manifest.batches[number], &lines)?,
            // A failure of one run need not concern others.
            Err(failure) => {
                failed += 1;
                let (runs, why) = (manifest.batches[number].len(), failure.text());
                say(&format!("error: batch {number} ({runs} runs): {why}"));
            }
        }
    }
    match failed {
        0 => Ok(()),
        _ => Err(Failure::Run(format!(
            "{failed} of {} batches failed; the others are done",
            open.len()
        ))),
    }
}

/// Makes sure that all batches of a sweep are done.
///
/// # Errors
/// Some are not.
fn complete(folder: &ResultsFolder, manifest: &Manifest) -> Result<(), Failure> {
    let open = open(folder, manifest, Shard::WHOLE)?;
    match open.first() {
        None => Ok(()),
        Some(first) => Err(Failure::Run(format!(
            "{} of {} batches in {} are not done, the first is number {first}; `destage sweep` with the same file \
             and folder does them",
            open.len(),
            manifest.batches.len(),
            folder.path().display()
        ))),
    }
}

/// Merges a sweep that is done, and shows its table if it is short.
fn merged(folder: &ResultsFolder, manifest: &Manifest, format: FormatOut) -> Result<(), Failure> {
    complete(folder, manifest)?;
    let merged = merge::merge(folder, manifest, format)?;
    let any = merged.records > 0;
    say(&format!(
        "{} runs in {}",
        merged.records,
        merged.results.display()
    ));
    let mut warnings = Warnings::default();
    for refused in merged.refused {
        warnings.leave_out(Failure::usage(refused));
    }
    if let Some(records) = merged.shown.filter(|records| !records.is_empty()) {
        print_exactly(&run_table::text(&records, &[], &Screen::of_stdout()))?;
    }
    warnings.unless_left_out(any)
}
