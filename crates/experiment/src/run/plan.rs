//! From arguments to runs: every fault that needs no trace is found here, all of them at once.

use crate::folder_layout::{folder_files, results_files};
use crate::options::{CacheSizeArg, FootprintShare, RunArgs};
use crate::run::bound::follow_read_alloc;
use crate::run::logs::{LOG_EXTENSIONS, LogFile, RunLogs, RunTimeline, log_name, log_name_parts};
use crate::run::refused::{RefusedSpec, add_once, retain_runnable};
use crate::run::settings::{FileOptions, RunBuilder};
use crate::run::shares::{SizedRuns, sized};
use destage_console::failure::Failure;
use destage_console::terminal::Warnings;
use destage_console::{file, identity, suffix};
use destage_device::config::{ConfigError, EffectiveDevice, Origin};
use destage_report::distinct;
use destage_report::figures::TableColumn;
use destage_scheme::{Expr, Role, SchemeInfo};
use destage_sim::{RunError, RunSpec};
use destage_trace::{LoadOptions, Workload, readers};
use std::path::{Path, PathBuf};

/// Checked options, and what they come to.
pub struct Plan {
    /// The options; traces and file systems once each.
    pub args: RunArgs,
    /// How each trace is read.
    pub load: LoadOptions,
    /// Where the file systems between trace and device come from, in the words of a record.
    pub host_fs_origin: String,
    /// The runs over each trace: schemes x cache sizes.
    pub runs: Vec<RunSpec>,
    /// Of each run, the share of the footprint that its cache is, if it is one.
    pub shares: Vec<Option<FootprintShare>>,
    /// What should be said before the runs start.
    pub warnings: Vec<String>,
    /// Runs that cannot run, which is known before traces are read.
    pub refused: Vec<RefusedSpec>,
    /// Do the runs go through one stream of requests, as far as that is known before traces are read?
    pub one_stream: bool,
    /// What a run file gave of the options.
    pub filed: FileOptions,
}

impl Plan {
    /// Checks `args`, of which a run file gave those of `filed`.
    ///
    /// # Errors
    /// All faults.
    pub fn new(args: RunArgs, filed: FileOptions) -> Result<Plan, Failure> {
        let mut warnings = Vec::new();
        let args = RunArgs {
            traces: traces(args.traces.clone(), &mut warnings),
            ..args
        };
        let one_stream = args.is_one_stream();
        Plan::checked(args, (filed, one_stream), &[], warnings)
    }

    /// The same for a trace that was read, one of its volumes if they were split. These schemes are known beside
    /// those of the registry.
    ///
    /// # Errors
    /// All faults.
    pub fn over_one(args: RunArgs, own: &[&'static SchemeInfo]) -> Result<Plan, Failure> {
        let one_stream = args.host_fs.len() <= 1;
        let filed = FileOptions::default();
        Plan::checked(args, (filed, one_stream), own, Vec::new())
    }

    fn checked(
        args: RunArgs,
        (filed, one_stream): (FileOptions, bool),
        own: &[&'static SchemeInfo],
        mut warnings: Vec<String>,
    ) -> Result<Plan, Failure> {
        let mut faults = usage_faults(&args);
        let exprs = schemes((&args, own), &mut faults, &mut warnings);
        let device = device(&args, &filed.device_folder, &mut faults);
        if let Some(device) = &device {
            warnings.extend(device.notices().iter().cloned());
        }
        let builder = RunBuilder::new(&args, &filed, device.as_ref());
        let caches = caches(builder.caches(), &mut warnings);
        let (mut runs, mut shares) = (Vec::new(), Vec::new());
        for expr in &exprs {
            let cacheless = expr.scheme().role == Role::None;
            let sizes = if cacheless { &caches[..1] } else { &caches[..] };
            runs.extend(sizes.iter().map(|&cache| builder.run(expr.clone(), cache)));
            shares.extend(sizes.iter().map(|&cache| match cache {
                CacheSizeArg::Share(share) if !cacheless => Some(share),
                _ => None,
            }));
        }
        let refused = retain_runnable(&mut runs, &mut shares, &mut warnings);
        warnings.extend(follow_read_alloc(&mut runs));
        warnings.extend(mixed_read_allocation(&runs));
        let load = LoadOptions {
            // A file system's model tags its requests itself.
            tags: args.input.tags.filter(|_| args.host_fs.is_empty()),
            ..args.input.options(true)
        };
        let plan = Plan {
            args,
            load,
            host_fs_origin: filed.origin("host_fs"),
            runs,
            shares,
            warnings,
            refused,
            one_stream,
            filed,
        };
        faults.extend(plan.file_faults());
        if !faults.is_empty() {
            plan.reasons(&mut faults);
        }
        Failure::unless_none(faults).map_err(|failure| plan.filed.placed(failure))?;
        Ok(plan)
    }

    /// `runs`, which are those of the plan, over requests, with the sizes that their shares come to.
    ///
    /// # Errors
    /// As [`sized`].
    pub fn sized<'a>(
        &self,
        over: (Workload<'_>, &'a [RunSpec]),
        warnings: &mut Warnings,
    ) -> Result<SizedRuns<'a>, Failure> {
        let sized = sized(over, &self.shares, self.args.limit.limit(), warnings);
        sized.map_err(|failure| self.filed.placed(failure))
    }

    /// Is there one run only, as far as that is known before the traces are read?
    fn single(&self) -> bool {
        self.one_stream && self.runs.len() + self.refused.len() <= 1
    }

    /// Makes sure that logs can be written before anything runs.
    ///
    /// # Errors
    /// A file cannot be created.
    pub fn create_logs(&self) -> Result<(), Failure> {
        for (option, path) in self.args.logs() {
            let Some(path) = path.filter(|_| self.single()) else {
                continue;
            };
            file::check(path).map_err(|error| {
                let place = path.display();
                Failure::usage(format!("--{option} {place}: cannot create it: {error}"))
            })?;
        }
        Ok(())
    }

    /// Faults of the files that are written.
    fn file_faults(&self) -> Vec<String> {
        let (args, stdout) = (&self.args, Path::new("-"));
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
            } else if !self.single() && args.out.is_none() {
                faults.push(format!(
                    "--{option}: several runs need --out DIR, where each gets a file of its own"
                ));
            }
        }
        let results = args
            .out
            .iter()
            .flat_map(|dir| results_files(dir, args.form.format_out()));
        let results: Vec<PathBuf> = results.collect();
        let mut written: Vec<(&str, &Path)> =
            results.iter().map(|path| ("--out", &**path)).collect();
        written.extend(args.report.as_deref().map(|path| ("--report", path)));
        let options = [
            "--log-evictions",
            "--log-requests",
            "--series",
            "--timeline",
        ];
        let named = options.into_iter().zip(logs).zip(LOG_EXTENSIONS);
        let named = named.filter_map(|((option, (_, log)), extension)| {
            let path = match (&args.out, self.single()) {
                // Each run adds the same to the names of all of its logs.
                (Some(dir), false) => {
                    let (stem, extension) = log_name_parts(log?, extension);
                    dir.join(format!("{stem}-*.{extension}"))
                }
                _ => log?.to_owned(),
            };
            Some((option, path))
        });
        let named: Vec<(&str, PathBuf)> = named.collect();
        written.extend(named.iter().map(|(option, path)| (*option, &**path)));
        args.traces
            .iter()
            .chain(&args.config)
            .for_each(|path| identity::protect(path));
        if let Some(device) = &args.device {
            identity::protect(Path::new(device));
        }
        let mut kept: Vec<PathBuf> = args.out.iter().flat_map(|dir| folder_files(dir)).collect();
        kept.extend(args.out.clone());
        let kept: Vec<(&str, &Path)> = kept.iter().map(|path| ("--out", &**path)).collect();
        faults.extend(identity::faults(&written, &kept));
        faults
    }

    /// Where a run over the trace called `name` writes its logs.
    pub fn logs(&self, name: &str, run: &RunSpec, key: &str) -> RunLogs {
        let [evictions, requests, series, timeline] = LOG_EXTENSIONS;
        let place = |log: &Option<PathBuf>, extension: &str| {
            let log = log.as_ref()?;
            let path = match (&self.args.out, self.single()) {
                (Some(dir), false) => dir.join(log_name(log, extension, name, run, key)),
                _ => log.clone(),
            };
            Some(LogFile::new(path))
        };
        RunLogs {
            evictions: place(&self.args.log_evictions, evictions),
            requests: place(&self.args.log_requests, requests),
            series: place(&self.args.series, series).map(|file| (file, self.args.series_every())),
            timeline: place(&self.args.timeline, timeline).map(|file| RunTimeline {
                file,
                window: self.args.timeline_window(),
                limit: self.args.limit.limit().of_timeline(),
            }),
            charts: None,
        }
    }
}

/// The one run of `args` that takes its requests from clients instead of a trace, and what should be said
/// before.
///
/// # Errors
/// All faults.
pub fn without_trace(args: &RunArgs) -> Result<(RunSpec, Vec<String>), Failure> {
    let (mut faults, mut warnings) = (Vec::new(), Vec::new());
    let exprs = schemes((args, &[]), &mut faults, &mut warnings);
    let device = device(args, Path::new(""), &mut faults);
    if args.device.as_deref().is_none_or(|name| name == "none") {
        faults.push("--device none: without a trace a device is needed".to_owned());
    }
    let (Some(expr), Some(device)) = (exprs.first(), &device) else {
        return Err(Failure::Usage(faults));
    };
    warnings.extend(device.notices().iter().cloned());
    let filed = FileOptions::default();
    let builder = RunBuilder::new(args, &filed, Some(device));
    let run = builder.run(expr.clone(), builder.caches()[0]);
    match run.check() {
        Ok(found) => warnings.extend(found.iter().map(ToString::to_string)),
        Err(error) => faults.push(refused(&run, &error)),
    }
    Failure::unless_none(faults)?;
    Ok((run, warnings))
}

/// The device that is asked for, if there is to be one; its file is looked for in `folder`.
fn device(args: &RunArgs, folder: &Path, faults: &mut Vec<String>) -> Option<EffectiveDevice> {
    let name = args.device.as_deref().filter(|name| *name != "none")?;
    let open = |path: &str| std::fs::File::open(folder.join(path));
    match EffectiveDevice::load(name, &args.set, open) {
        Ok(device) => Some(device),
        Err(error) => {
            // The file of the device, or only values of --set, are wrong.
            let option = match &error {
                ConfigError::Faults { faults, .. }
                    if faults.iter().all(|fault| fault.origin == Origin::Set) =>
                {
                    "--set"
                }
                _ => "--device",
            };
            faults.push(format!("{option}: {error}"));
            None
        }
    }
}

/// Faults of single options and of pairs of them.
fn usage_faults(args: &RunArgs) -> Vec<String> {
    let mut faults = Vec::new();
    if args.traces.is_empty() {
        faults.push(
            "no trace given; name a file, or `-` for standard input (`destage demo` needs none)"
                .to_owned(),
        );
    }
    if args.traces.iter().filter(|t| *t == Path::new("-")).count() > 1 {
        faults.push("standard input (`-`) can be read only once".to_owned());
    }
    if let Some(name) = &args.input.format
        && let Err(error) = readers::by_name(name)
    {
        faults.push(format!("--format: {error}"));
    }
    let columns = args.columns.iter().map(|name| TableColumn::parse(name));
    faults.extend(columns.filter_map(|c| Some(format!("--columns: {}", c.err()?))));
    if args.device.as_deref().is_none_or(|name| name == "none") {
        let needs = [
            ("--set", !args.set.is_empty()),
            ("--addresses", args.addresses.is_some()),
            ("--wrap", args.wrap),
            ("--fit", args.fit),
            ("--closed-loop", args.closed_loop.is_some()),
            ("--log-requests", args.log_requests.is_some()),
            ("--timeline", args.timeline.is_some()),
            ("--unbalance", args.unbalance),
        ];
        let given = needs.iter().filter(|n| n.1);
        faults.extend(given.map(|n| format!("{} needs a device, and --device is none", n.0)));
    }
    if let Some((from, to)) = args.timeline_from.zip(args.timeline_to)
        && from >= to
    {
        faults.push(format!(
            "--timeline-from {from} ns is not before --timeline-to {to} ns: the window is empty"
        ));
    }
    faults
}

fn traces(given: Vec<PathBuf>, warnings: &mut Vec<String>) -> Vec<PathBuf> {
    let mut traces: Vec<PathBuf> = Vec::new();
    for trace in given {
        // A pipe has other content when it is read again.
        match trace.is_file() && traces.iter().any(|t| identity::same_file(t, &trace)) {
            true => warnings.push(format!(
                "{} is given twice as a trace and runs once",
                trace.display()
            )),
            false => traces.push(trace),
        }
    }
    traces
}

fn schemes(
    (args, own): (&RunArgs, &[&'static SchemeInfo]),
    faults: &mut Vec<String>,
    warnings: &mut Vec<String>,
) -> Vec<Expr> {
    let mut exprs: Vec<Expr> = Vec::new();
    for text in &args.caches.scheme() {
        match Expr::parse_with(text, own) {
            Err(refusal) => add_once(faults, format!("--scheme: {refusal}")),
            Ok(expr) if exprs.contains(&expr) => {
                warnings.push(format!(
                    "--scheme {text}: {expr} is given twice and runs once"
                ));
            }
            Ok(expr) => exprs.push(expr),
        }
    }
    exprs
}

fn caches(given: Vec<CacheSizeArg>, warnings: &mut Vec<String>) -> Vec<CacheSizeArg> {
    let mut caches: Vec<CacheSizeArg> = Vec::new();
    for cache in given {
        match caches.contains(&cache) {
            true => warnings.push(format!("--cache {cache} is given twice and runs once")),
            false => caches.push(cache),
        }
    }
    caches
}

/// What `error` says of a run, with the option that it is about.
pub(super) fn refused(run: &RunSpec, error: &RunError) -> String {
    match error {
        RunError::NoPage { .. }
        | RunError::NoPageBesideMetadata { .. }
        | RunError::TooManyPages { .. }
        | RunError::CacheBeyondRegion { .. }
        | RunError::CacheBeyondDevice { .. } => {
            format!("--cache {}: {error}", run.cache)
        }
        RunError::Refused(_) => format!("--scheme {}: {error}", run.expr),
        _ => error.to_string(),
    }
}

/// Hit ratios of schemes with different read allocation are not alike (D2).
fn mixed_read_allocation(runs: &[RunSpec]) -> Option<String> {
    let names = |on: bool| {
        let runs = runs.iter().filter(|r| r.is_cached());
        let runs = runs.filter(|r| r.resolved_read_alloc() == on);
        distinct(runs.map(|r| r.expr.to_string())).join(", ")
    };
    let (on, off) = (names(true), names(false));
    (!on.is_empty() && !off.is_empty()).then(|| {
        format!(
            "the schemes differ in read allocation, which changes what a hit ratio means: on for \
             {on}; off for {off}; --read-alloc sets it for all"
        )
    })
}
