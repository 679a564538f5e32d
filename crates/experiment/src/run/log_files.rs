//! Where a command writes its logs, and faults of all files that it writes.

use crate::folder::{folder_files, results_files};
use crate::options::RunArgs;
use crate::run::logs::{LOG_EXTENSIONS, LogFile, RunLogs, RunTimeline, log_name, log_name_parts};
use destage_console::failure::Failure;
use destage_console::identity::{self, Output};
use destage_console::{file, suffix};
use destage_sim::{Every, RunSpec, TimelineWindow};
use std::path::{Path, PathBuf};

/// Where logs of runs go.
#[derive(Clone, Default)]
pub struct LogFiles {
    /// Options and files given.
    files: Vec<(&'static str, Option<PathBuf>)>,
    /// Where each of several runs has files of its own.
    folder: Option<PathBuf>,
    /// Length of an interval of a series.
    every: Option<Every>,
    window: Option<TimelineWindow>,
    /// Memory of a timeline.
    limit: u64,
}

impl LogFiles {
    /// The logs that `args` ask for; `single`: there is one run only.
    pub fn new(args: &RunArgs, single: bool) -> LogFiles {
        let files = args.logs().into_iter();
        LogFiles {
            files: files
                .map(|(key, path)| (key, path.map(Path::to_owned)))
                .collect(),
            folder: args.out.clone().filter(|_| !single),
            every: Some(args.series_every()),
            window: Some(args.timeline_window()),
            limit: args.limit.limit().of_timeline(),
        }
    }

    /// Makes sure that logs can be written before anything runs.
    ///
    /// # Errors
    /// A file cannot be created.
    pub fn check(&self) -> Result<(), Failure> {
        for (option, path) in self.files.iter().filter(|_| self.folder.is_none()) {
            let Some(path) = path else { continue };
            file::check(path).map_err(|error| {
                let place = path.display();
                Failure::usage(format!("--{option} {place}: cannot create it: {error}"))
            })?;
        }
        Ok(())
    }

    /// The logs of a run over the trace called `name`.
    pub fn logs(&self, name: &str, run: &RunSpec, key: &str) -> RunLogs {
        let files = self.files.iter().zip(LOG_EXTENSIONS);
        let mut files = files.map(|((_, log), extension)| {
            let log = log.as_ref()?;
            Some(LogFile::new(match &self.folder {
                Some(folder) => folder.join(log_name(log, extension, name, run, key)),
                None => log.clone(),
            }))
        });
        let mut next = || files.next().flatten();
        RunLogs {
            evictions: next(),
            requests: next(),
            series: next().zip(self.every),
            timeline: next().zip(self.window).map(|(file, window)| RunTimeline {
                file,
                window,
                limit: self.limit,
            }),
            charts: None,
            scene: None,
        }
    }
}

/// Faults of the files that a command writes; `single`: it has one run only. Files that it reads are protected.
pub fn file_faults(args: &RunArgs, single: bool) -> Vec<String> {
    let stdout = Path::new("-");
    let mut faults = Vec::new();
    if args.report.as_deref() == Some(stdout) {
        faults.push("--report needs a file: standard output is for results".to_owned());
    }
    let report = args.report.as_deref();
    faults.extend(report.and_then(|path| suffix::REPORT.fault("--report", path)));
    let logs = args.logs();
    for (option, path) in logs {
        let fault = |path| suffix::of_log(option).fault(&format!("--{option}"), path);
        faults.extend(path.and_then(fault));
    }
    for (option, path) in logs.iter().filter(|log| log.1.is_some()) {
        if *path == Some(stdout) {
            faults.push(format!(
                "--{option} needs a file: standard output is for results"
            ));
        } else if !single && args.out.is_none() {
            faults.push(format!(
                "--{option}: several runs need --out DIR, where each gets a file of its own"
            ));
        }
    }
    faults.extend(overwritten_files(args, single));
    faults
}

/// Faults of files that would be written twice, or over a file that is read.
fn overwritten_files(args: &RunArgs, single: bool) -> Vec<String> {
    let mut written: Vec<(String, PathBuf)> = Vec::new();
    let out = || "--out".to_owned();
    if let Some(folder) = &args.out {
        let results = results_files(folder, args.form.format_out());
        written.extend(results.map(|path| (out(), path)));
    }
    written.extend(
        args.report
            .clone()
            .map(|path| ("--report".to_owned(), path)),
    );
    for ((option, log), extension) in args.logs().into_iter().zip(LOG_EXTENSIONS) {
        let Some(log) = log else { continue };
        let path = match &args.out {
            // Each run adds the same to the names of all of its logs.
            Some(dir) if !single => {
                let (stem, extension) = log_name_parts(log, extension);
                dir.join(format!("{stem}-*.{extension}"))
            }
            _ => log.to_owned(),
        };
        written.push((format!("--{option}"), path));
    }
    let read = args.traces.iter().chain(&args.config).map(PathBuf::as_path);
    read.chain(args.device.as_deref().map(Path::new))
        .for_each(identity::protect);
    let mut kept: Vec<(String, PathBuf)> = Vec::new();
    if let Some(folder) = &args.out {
        let files = folder_files(folder).chain([folder.clone()]);
        kept.extend(files.map(|path| (out(), path)));
    }
    let [written, kept] = [&written, &kept].map(|files| {
        let files = files.iter();
        files
            .map(|(option, path)| Output::of(option, path))
            .collect::<Vec<_>>()
    });
    identity::faults(&written, &kept)
}
