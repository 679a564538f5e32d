//! `destage sweep`: traces x schemes x sizes x devices x settings as keyed runs, in batches that any number of
//! commands on any number of machines do, and one merged result.
//!
//! `grid` has what a sweep file says, `planning` makes batches of it, `manifest` keeps them, `folder` knows which
//! are done, `worker` does them, `traces` finds what they read, `merge` puts the results together.

mod folder;
mod grid;
mod hash;
mod manifest;
mod merge;
mod planning;
mod traces;
mod worker;

pub use folder::Shard;
pub use planning::{BatchSize, parse_batch};

use crate::args::{FormatOut, RunArgs, SweepArgs};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{identity, print_exactly, run_table};
use crate::terminal::{Screen, Warnings, say};
use folder::SweepFolder;
use grid::{Grid, SweepText};
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
    let folder = SweepFolder::open(&args.out)?;
    if args.merge {
        let manifest = folder.manifest()?;
        let manifest = manifest.ok_or_else(|| folder.refused(&"no sweep is there"))?;
        return merged(&folder, &manifest, args.form.format_out());
    }
    let file = args.sweep.as_deref().unwrap_or(Path::new(""));
    let sweep = SweepFile::read(file, args)?;
    // All of it is planned and done alone, a share beside others.
    let _held = match args.shard {
        None => vec![folder.lock_alone()?],
        Some(shard) => folder.lock_shard(shard)?.into(),
    };
    if args.fresh {
        folder.clear()?;
    }
    let manifest = Arc::new(sweep.manifest(&folder, args)?);
    if args.plan {
        return planned(&folder, &manifest);
    }
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    work(&folder, &manifest, shard, (sweep.sources, sweep.given))?;
    match args.shard {
        None => merged(&folder, &manifest, args.form.format_out()),
        Some(_) => Ok(()),
    }
}

/// A sweep file, and what the command line says of this machine.
struct SweepFile {
    text: SweepText,
    name: String,
    sources: TraceSources,
    given: RunArgs,
}

impl SweepFile {
    fn read(file: &Path, args: &SweepArgs) -> Result<SweepFile, Failure> {
        let refused =
            |fault: &dyn std::fmt::Display| Failure::usage(format!("{}: {fault}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| refused(&error))?;
        let text = SweepText::of_toml(&text).map_err(|error| refused(&error))?;
        identity::protect(file);
        let folder = args
            .trace_dir
            .as_deref()
            .unwrap_or(planning::folder_of(file));
        let folder = folder.canonicalize().map_err(|error| {
            Failure::usage(format!("--trace-dir {}: {error}", folder.display()))
        })?;
        let name = file.file_name().unwrap_or_default();
        Ok(SweepFile {
            text,
            name: name.to_string_lossy().into_owned(),
            sources: TraceSources {
                folder,
                cache: args.trace_cache.clone(),
            },
            given: args.given(),
        })
    }

    /// The manifest in `folder`, which is made if it is not there.
    fn manifest(&self, folder: &SweepFolder, args: &SweepArgs) -> Result<Manifest, Failure> {
        let _held =
            folder.lock_plan(|| say("note: waiting for another command that plans the sweep"))?;
        if let Some(manifest) = folder.manifest()? {
            return match manifest.differs(&self.text, &self.name) {
                None => Ok(manifest),
                Some(why) => Err(folder.refused(&format!(
                    "{why}; name another folder, or --fresh, which removes what is done there"
                ))),
            };
        }
        let (text, sources) = (&self.text, &self.sources);
        let grid = Grid::new(text, &self.name, &sources.folder, self.given.clone())?;
        let mut warnings = Warnings::default();
        let of = (text, self.name.as_str());
        let manifest = planning::plan(of, &grid, sources, args.batch, &mut warnings)?;
        let written = manifest.write(folder.path());
        written.map_err(|error| Failure::Run(format!("cannot write the manifest: {error}")))?;
        Ok(manifest)
    }
}

/// Says what there is to do.
fn planned(folder: &SweepFolder, manifest: &Manifest) -> Result<(), Failure> {
    let all: Vec<usize> = Shard::WHOLE.of(manifest.batches.len()).collect();
    let done = folder.done(&manifest.batches, &all)?;
    let open = manifest.batches.iter().enumerate();
    let seconds = open
        .filter(|(i, _)| !done.contains(i))
        .map(|(_, b)| b.seconds);
    print_exactly(&format!(
        "{} runs over {} traces in {} batches, {} of which are done; about {:.0} s of one processor are left\n",
        manifest.head.runs,
        manifest.head.traces.len(),
        manifest.batches.len(),
        done.len(),
        seconds.sum::<f64>().ceil(),
    ))
}

/// Does the batches of a share that are not done.
fn work(
    folder: &SweepFolder,
    manifest: &Arc<Manifest>,
    shard: Shard,
    (sources, given): (TraceSources, RunArgs),
) -> Result<(), Failure> {
    let share: Vec<usize> = shard.of(manifest.batches.len()).collect();
    let done = folder.done(&manifest.batches, &share)?;
    let open: Vec<usize> = share
        .iter()
        .filter(|b| !done.contains(b))
        .copied()
        .collect();
    if !done.is_empty() {
        say(&format!(
            "{} of {} batches are done already (--fresh repeats them)",
            done.len(),
            share.len()
        ));
    }
    let mut worker = Worker::new(Arc::clone(manifest), sources, given, open.len())?;
    worker.look_for_traces(&open)?;
    let mut failed = 0;
    for &number in &open {
        interrupt::advise(format!(
            "what is done is in {}; the same command goes on from there",
            folder.path().display()
        ));
        match worker.batch(number) {
            Ok(records) => folder.save(&manifest.batches[number], &records)?,
            // What fails in one run need not fail in others.
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

/// Merges a sweep that is done, and shows its table if it is short.
fn merged(folder: &SweepFolder, manifest: &Manifest, format: FormatOut) -> Result<(), Failure> {
    let all: Vec<usize> = Shard::WHOLE.of(manifest.batches.len()).collect();
    let done = folder.done(&manifest.batches, &all)?;
    let open: Vec<usize> = all.iter().filter(|b| !done.contains(b)).copied().collect();
    if let Some(first) = open.first() {
        return Err(Failure::Run(format!(
            "{} of {} batches in {} are not done, the first is number {first}; `destage sweep` with the same file and \
             folder does them",
            open.len(),
            all.len(),
            folder.path().display()
        )));
    }
    let merged = merge::merge(folder, manifest, format)?;
    say(&format!(
        "{} runs in {}",
        manifest.head.runs,
        merged.results.display()
    ));
    match merged.shown {
        Some(records) if !records.is_empty() => {
            print_exactly(&run_table::text(&records, &[], &Screen::of_stdout()))
        }
        _ => Ok(()),
    }
}
