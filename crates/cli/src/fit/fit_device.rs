//! `destage fit-device`: a device that answers like a measured drive.

use crate::args::FitDeviceArgs;
use destage_console::failure::Failure;
use destage_console::file::write_file;
use destage_console::identity::{self, Output};
use destage_console::print::{print, unwritten};
use destage_console::{status_line, terminal};
use destage_device::config::MAX_FILE_BYTES;
use destage_experiment::hash::hexadecimal;
use destage_fit::FitError;
use destage_fit::measurements::{FioContext, Measurements, read_measurements};
use destage_fit::model::{BaseDevice, PARAMETERS, named_capacity};
use destage_fit::outcome::{self, FileNotes, FitOutcome, FitPlan, FitStep};
use destage_fit::search::FitJournal;
use destage_report::picture;
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Fits a device and writes it.
///
/// # Errors
/// Bad usage, measurements that cannot be used, or an output that cannot be written.
pub fn run(args: &FitDeviceArgs) -> Result<(), Failure> {
    if args.check.is_none() {
        check(args)?;
    }
    let context = FioContext {
        drive: args.drive.clone(),
        fill: args.fill,
        overwrites: args.overwrites,
    };
    let found = read_measurements(&args.measurements, &context)?;
    for doubt in &found.doubts {
        terminal::say(&format!("warning: {doubt}"));
    }
    if let Some(device) = &args.check {
        let (seed, workers) = (args.random.seed.unwrap_or(1), workers(args));
        let checked = outcome::check(&base(device)?, &found, args.requests, seed, workers);
        return print(&outcome::checked(&checked.map_err(failure)?));
    }
    let base = base(&args.base)?;
    if let Some(path) = args.plot.as_ref().filter(|_| found.cells.is_empty()) {
        let fault = format!(
            "--plot {}: it draws latencies by rate, which no measurement gives; leave it out",
            path.display()
        );
        return Err(Failure::usage(fault));
    }
    let name = found.drive();
    let capacity = args
        .capacity
        .map(|bytes| bytes.0)
        .or_else(|| named_capacity(name));
    let journal_path = journal_path(args.out());
    let mut journal = open_journal(args, &found, &base, &journal_path)?;
    let end = args
        .minutes
        .map(|minutes| Instant::now() + Duration::from_secs(60 * u64::from(minutes)));
    let stop = || end.is_some_and(|end| Instant::now() >= end);
    let plan = FitPlan {
        cells: found.cells,
        patterns: found.patterns,
        base,
        capacity,
        fixed: args.fixed.clone(),
        free: args.free.clone(),
        evaluations: args.evaluations as usize,
        requests: args.requests,
        seed: args.random.seed.unwrap_or(1),
        workers: workers(args),
        stop: &stop,
    };
    let fitted = outcome::fit(&plan, &mut journal, &mut show);
    status_line::clear();
    let fitted = fitted.map_err(failure);
    if fitted.is_err() && journal.is_empty() {
        // A fit that was refused leaves no file that refuses the next one.
        remove(&journal_path)?;
    }
    let fitted = fitted?;
    write(args, &fitted)?;
    drop(journal);
    remove(&journal_path)?;
    print_outcome(args, &fitted)
}

fn failure(error: FitError) -> Failure {
    match error {
        FitError::Load { .. } | FitError::Device(_) => Failure::usage(error.to_string()),
        other => Failure::Run(other.to_string()),
    }
}

fn check(args: &FitDeviceArgs) -> Result<(), Failure> {
    let mut faults = Vec::new();
    for free in &args.free {
        if !PARAMETERS.iter().any(|p| p.name == free || p.key() == free) {
            let mut known: Vec<&str> = PARAMETERS.iter().map(|p| p.key()).collect();
            known.dedup();
            faults.push(format!(
                "--free {free}: no key that can be searched. Allowed: {}.",
                known.join(", ")
            ));
        }
    }
    for fixed in args.fixed.iter().filter(|fixed| !fixed.contains('=')) {
        faults.push(format!(
            "--fix {fixed}: write KEY=VALUE, such as t_program=2ms"
        ));
    }
    let again = destage_device::config::given_twice(&args.fixed);
    faults.extend(
        again
            .iter()
            .map(|fixed| format!("--fix {fixed}: the key is given twice; leave out one of them")),
    );
    if args
        .out()
        .extension()
        .is_none_or(|extension| extension != "toml")
    {
        let out = args.out().display();
        faults.push(format!("--out {out}: a device file ends in .toml"));
    }
    if name_of(args).trim().is_empty() {
        faults.push(
            "--name: the name of the device is empty. Allowed: a text that is not.".to_owned(),
        );
    }
    Failure::unless_none(faults)?;
    let mut outputs = vec![Output::of("--out", args.out())];
    outputs.extend(args.plot.as_ref().map(|path| Output::of("--plot", path)));
    identity::check(&outputs)?;
    match &args.plot {
        Some(path) => picture::check("--plot", path),
        None => Ok(()),
    }
}

fn workers(args: &FitDeviceArgs) -> usize {
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    args.workers.map_or_else(all, |workers| workers as usize)
}

fn base(name: &str) -> Result<BaseDevice, Failure> {
    if !name.ends_with(".toml") && !name.contains(['/', '\\']) {
        return Ok(BaseDevice::Preset(name.to_owned()));
    }
    let mut text = String::new();
    let read = std::fs::File::open(name)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text));
    read.map_err(|error| Failure::usage(format!("--base {name}: {error}")))?;
    if text.len() as u64 > MAX_FILE_BYTES {
        let fault = format!("--base {name}: a device file has at most {MAX_FILE_BYTES} bytes");
        return Err(Failure::usage(fault));
    }
    Ok(BaseDevice::File {
        path: name.to_owned(),
        text,
    })
}

fn remove(path: &Path) -> Result<(), Failure> {
    std::fs::remove_file(path).map_err(|error| unwritten(path, &error))
}

fn journal_path(out: &Path) -> PathBuf {
    let mut path = out.as_os_str().to_owned();
    path.push(".journal");
    PathBuf::from(path)
}

/// Opens the journal of an interrupted fit of the same measurements, or a new one.
fn open_journal(
    args: &FitDeviceArgs,
    found: &Measurements,
    base: &BaseDevice,
    path: &Path,
) -> Result<FitJournal, Failure> {
    let asked = format!(
        "{} {found:?} {base:?} {:?} {:?} {} {:?}",
        destage_console::VERSION,
        args.capacity,
        args.fixed,
        args.requests,
        args.random.seed
    );
    let digest = hexadecimal(Sha256::new_with_prefix(asked.as_bytes()));
    let fit = format!("destage fit-device {digest}");
    FitJournal::open(&fit, path).map_err(|error| {
        let place = path.display();
        match error {
            FitError::OtherJournal => Failure::usage(format!(
                "{place}: {error}. Remove it, or choose another --out."
            )),
            FitError::DamagedJournal { .. } => Failure::usage(format!(
                "{place}: {error}. Remove that line, and the same command simulates its candidate again."
            )),
            _ => Failure::Run(format!("{place}: {error}")),
        }
    })
}

/// Shows how far the fit is, on terminals only.
fn show(step: FitStep<'_>) {
    let text = match step {
        FitStep::Searches(p) => format!(
            "fit: {} of about {} candidates, {}, best residual {:.4}",
            p.evaluations.0, p.evaluations.1, p.stage, p.best
        ),
        FitStep::Varies(name) => format!("fit: how flat the optimum is in {name}"),
        FitStep::Compares => "fit: all cells".to_owned(),
    };
    if let Some(columns) = status_line::columns() {
        let text: String = text.chars().take(columns.saturating_sub(1)).collect();
        status_line::show(&text);
    }
}

/// The name of the fitted device.
fn name_of(args: &FitDeviceArgs) -> String {
    let stem = || args.out().file_stem().unwrap_or_default().to_string_lossy();
    args.name.clone().unwrap_or_else(|| stem().into_owned())
}

fn write(args: &FitDeviceArgs, fitted: &FitOutcome) -> Result<(), Failure> {
    let notes = FileNotes {
        name: name_of(args),
        notes: args.note.clone(),
    };
    let text = outcome::device_file(fitted, &notes).map_err(failure)?;
    write_file(args.out(), &text).map_err(|e| unwritten(args.out(), &e))?;
    if let Some(path) = &args.plot {
        let chart = outcome::chart(fitted).map_err(failure)?;
        picture::write("--plot", path, &chart)?;
    }
    Ok(())
}

fn print_outcome(args: &FitDeviceArgs, fitted: &FitOutcome) -> Result<(), Failure> {
    let tried: Vec<String> = (fitted.found.tried.iter())
        .map(|(name, residual)| format!("{name} {residual:.4}"))
        .collect();
    let mut parts: Vec<String> = fitted.patterns.iter().map(outcome::patterns).collect();
    let comparison = &fitted.comparison;
    if fitted.found.evaluations > 0 {
        parts.extend([
            outcome::cells(comparison),
            outcome::knees(comparison),
            outcome::values(fitted),
            outcome::figures(&comparison.figures),
            outcome::tables(comparison).join("\n") + "\n",
            format!(
                "Structures tried, with their residuals: {}\n",
                tried.join(", ")
            ),
            format!(
                "Residual {:.4} after {} candidates.\n",
                comparison.residual, fitted.found.evaluations
            ),
        ]);
    }
    parts.push(format!("Wrote {}.\n", args.out().display()));
    parts.retain(|part| !part.is_empty());
    print(&parts.join("\n"))
}
