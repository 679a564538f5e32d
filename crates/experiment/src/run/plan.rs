//! From arguments to runs: every fault that needs no trace is found here, all of them at once.

use crate::bounds::Factors;
use crate::memory::MemoryLimit;
use crate::options::groups::MemoryArgs;
use crate::options::{
    Addresses, CacheSizeArg, FootprintShare, HostFsArg, JobsArgs, LimitArgs, RunArgs,
};
use crate::run::bound::follow_read_alloc;
use crate::run::input::preflight;
use crate::run::log_files::{LogFiles, file_faults};
use crate::run::refused::{RefusedSpec, add_once, retain_runnable};
use crate::run::settings::{FileOptions, RunBuilder};
use destage_console::failure::Failure;
use destage_console::identity::FileId;
use destage_device::config::{ConfigError, EffectiveDevice, Origin};
use destage_report::distinct;
use destage_report::figures::TableColumn;
use destage_scheme::registry::ALL_SCHEMES;
use destage_scheme::{Expr, Role, SchemeInfo};
use destage_sim::{RunError, RunSpec, WatchAsk};
use destage_trace::{LoadOptions, TagSet, format_by_name, is_demo};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Runs over traces, and what they need: the values that options come to.
#[derive(Clone)]
pub struct Plan {
    /// Traces, each once.
    pub traces: Vec<PathBuf>,
    /// How each trace is read.
    pub load: LoadOptions,
    /// Whether each volume of a trace is a trace of its own.
    pub split: bool,
    /// File systems between trace and device.
    pub host_fs: Vec<HostFsArg>,
    /// Where they come from, in the words of a record.
    pub host_fs_origin: String,
    /// Kinds of requests that are kept.
    pub tags: Option<TagSet>,
    /// The treatment of addresses beyond the device.
    pub addresses: Addresses,
    /// The runs over each trace: schemes x cache sizes.
    pub runs: Vec<RunSpec>,
    /// Of each run, the share of the footprint that its cache is, if it is one.
    pub shares: Vec<Option<FootprintShare>>,
    /// Runs that cannot run, which is known before traces are read.
    pub refused: Vec<RefusedSpec>,
    /// Do the runs go through one stream of requests, as far as that is known before traces are read?
    pub one_stream: bool,
    /// Threads and memory that the runs may take.
    pub machine: MachineShare,
    /// Where logs of the runs go.
    pub logs: LogFiles,
    /// The window of each run that is watched, if runs are.
    pub watch: Option<WatchAsk>,
    /// Warnings to show before the runs start.
    pub warnings: Vec<String>,
    /// The options that a run file gave.
    pub filed: FileOptions,
}

/// Threads and memory that runs may take.
#[derive(Clone, Copy)]
pub struct MachineShare {
    /// Threads.
    pub jobs: usize,
    /// Memory of the program.
    pub memory: MemoryLimit,
    /// Bytes of memory for the requests of one trace.
    pub trace_memory: u64,
}

impl MachineShare {
    /// The share that the options give.
    pub fn of(limit: &LimitArgs, memory: &MemoryArgs, threads: &JobsArgs) -> MachineShare {
        MachineShare {
            jobs: threads.resolve(),
            memory: limit.limit(),
            trace_memory: memory.of_requests(limit.limit()),
        }
    }
}

impl Plan {
    /// Checks `args`, of which a run file gave those of `filed`.
    ///
    /// # Errors
    /// All faults.
    pub fn new(args: &RunArgs, filed: FileOptions) -> Result<Plan, Failure> {
        let mut warnings = Vec::new();
        let args = RunArgs {
            traces: traces(args.traces.clone(), &mut warnings),
            ..args.clone()
        };
        let one_stream = args.is_one_stream();
        Plan::checked(&args, filed, one_stream, &[], warnings)
    }

    /// The same for a trace that was read, one of its volumes if they were split. These schemes are known beside
    /// those of the registry.
    ///
    /// # Errors
    /// All faults.
    pub fn over_one(args: &RunArgs, own: &[&'static SchemeInfo]) -> Result<Plan, Failure> {
        let one_stream = args.host_fs.len() <= 1;
        Plan::checked(args, FileOptions::default(), one_stream, own, Vec::new())
    }

    /// `runs` over a trace that is made here.
    pub fn of_runs(runs: Vec<RunSpec>, machine: MachineShare) -> Plan {
        Plan {
            traces: Vec::new(),
            load: LoadOptions::default(),
            split: false,
            host_fs: Vec::new(),
            host_fs_origin: String::new(),
            tags: None,
            addresses: Addresses::Refuse,
            shares: vec![None; runs.len()],
            runs,
            refused: Vec::new(),
            one_stream: true,
            machine,
            logs: LogFiles::default(),
            watch: None,
            warnings: Vec::new(),
            filed: FileOptions::default(),
        }
    }

    /// Makes sure that traces can be read and logs written, before anything runs.
    ///
    /// # Errors
    /// All faults of traces, or that of a log.
    pub fn check_files(&self) -> Result<(), Failure> {
        preflight(&self.traces, &self.load).map_err(|failure| match &self.filed.part {
            Some(part) => failure.map_faults(|fault| part.placed_at("trace", fault)),
            None => failure,
        })?;
        self.logs.check()
    }

    fn checked(
        args: &RunArgs,
        filed: FileOptions,
        one_stream: bool,
        own: &[&'static SchemeInfo],
        mut warnings: Vec<String>,
    ) -> Result<Plan, Failure> {
        let few = Factors::of_run(args).check("runs");
        few.map_err(|fault| filed.placed(Failure::usage(fault)))?;
        let mut faults = usage_faults(args);
        let (device, of_device) = device(args, &filed.device_folder);
        let exprs = schemes(args, device.as_ref(), own, &mut faults, &mut warnings);
        faults.extend(of_device);
        if let Some(device) = &device {
            warnings.extend(device.notices().iter().cloned());
        }
        let builder = RunBuilder::new(args, &filed, device.as_ref());
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
        let followed = follow_read_alloc(&mut runs);
        warnings.extend(mixed_read_allocation(&runs));
        warnings.extend(followed);
        let single = one_stream && runs.len() + refused.len() <= 1;
        faults.extend(file_faults(args, single));
        let plan = Plan {
            traces: args.traces.clone(),
            load: LoadOptions {
                // A file system's model tags its requests itself.
                tags: args.input.tags.filter(|_| args.host_fs.is_empty()),
                ..args.input.options(true)
            },
            split: args.input.split(),
            host_fs: args.host_fs.clone(),
            host_fs_origin: filed.origin("host_fs"),
            tags: args.input.tags,
            addresses: args.resolved_addresses(),
            runs,
            shares,
            refused,
            one_stream,
            machine: MachineShare::of(&args.limit, &args.memory, &args.threads),
            logs: LogFiles::new(args, single),
            watch: None,
            warnings,
            filed,
        };
        if !faults.is_empty() {
            plan.reasons(&mut faults);
        }
        Failure::unless_none(faults).map_err(|failure| plan.filed.placed(failure))?;
        Ok(plan)
    }
}

/// The one run of `args` that takes its requests from clients instead of a trace, and what should be said
/// before.
///
/// # Errors
/// All faults.
pub fn without_trace(args: &RunArgs) -> Result<(RunSpec, Vec<String>), Failure> {
    let (mut faults, mut warnings) = (Vec::new(), Vec::new());
    let (device, of_device) = device(args, Path::new(""));
    let exprs = schemes(args, device.as_ref(), &[], &mut faults, &mut warnings);
    faults.extend(of_device);
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

/// The device that is asked for, if there is to be one, and what is wrong with it; its file is looked for in `folder`.
fn device(args: &RunArgs, folder: &Path) -> (Option<EffectiveDevice>, Option<String>) {
    let Some(name) = args.device.as_deref().filter(|name| *name != "none") else {
        return (None, None);
    };
    let open = |path: &str| std::fs::File::open(folder.join(path));
    match EffectiveDevice::load(name, &args.set, open) {
        Ok(device) => (Some(device), None),
        Err(error) => {
            // The file of the device, or only values of --set, are wrong.
            let option = match &error {
                ConfigError::Faults { faults, .. }
                    if faults.iter().all(|fault| fault.origin == Some(Origin::Set)) =>
                {
                    "--set"
                }
                _ => "--device",
            };
            (None, Some(format!("{option}: {error}")))
        }
    }
}

/// Faults of single options and of pairs of them.
fn usage_faults(args: &RunArgs) -> Vec<String> {
    let mut faults = Vec::new();
    if args.traces.is_empty() {
        faults.push(
            "no trace given; name a file, `-` for standard input, or `demo` for the built-in workload"
                .to_owned(),
        );
    }
    if args.traces.iter().filter(|t| *t == Path::new("-")).count() > 1 {
        faults.push("standard input (`-`) can be read only once".to_owned());
    }
    if let Some(name) = &args.input.format
        && let Err(error) = format_by_name(name)
    {
        faults.push(format!("--format: {error}"));
    }
    let columns = args.columns.iter().map(|name| TableColumn::parse(name));
    faults.extend(columns.filter_map(|c| Some(format!("--columns: {}", c.err()?))));
    let sort = args.sort.as_deref().map(TableColumn::parse);
    faults.extend(sort.and_then(|column| Some(format!("--sort: {}", column.err()?))));
    if args.device.as_deref().is_none_or(|name| name == "none") {
        let needs = [
            ("--set", !args.set.is_empty()),
            ("--addresses", args.addresses.is_some()),
            ("--wrap", args.wrap),
            ("--fit", args.fit),
            ("--closed-loop", args.closed_loop.is_some()),
            ("--queue-depth", args.queue_depth.is_some()),
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
    let (mut traces, mut files) = (Vec::new(), BTreeSet::new());
    for trace in given {
        // A pipe has other content when it is read again.
        let file = FileId::of(&trace).filter(|_| trace.is_file() || is_demo(&trace));
        match file.is_some_and(|file| !files.insert(file)) {
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
    args: &RunArgs,
    device: Option<&EffectiveDevice>,
    own: &[&'static SchemeInfo],
    faults: &mut Vec<String>,
    warnings: &mut Vec<String>,
) -> Vec<Expr> {
    let mut exprs: Vec<Expr> = Vec::new();
    for text in &args.caches.schemes_on(device.map(EffectiveDevice::config)) {
        match Expr::parse_list(text, own) {
            Err(refusal) => add_once(faults, format!("--scheme: {refusal}")),
            Ok(found) => found
                .into_iter()
                .for_each(|expr| match exprs.contains(&expr) {
                    true if text == ALL_SCHEMES => {}
                    true => warnings.push(format!(
                        "--scheme {text}: {expr} is given twice and runs once"
                    )),
                    false => exprs.push(expr),
                }),
        }
    }
    exprs
}

fn caches(given: Vec<CacheSizeArg>, warnings: &mut Vec<String>) -> Vec<CacheSizeArg> {
    let (mut caches, mut known) = (Vec::new(), BTreeSet::new());
    for cache in given {
        match !known.insert(cache) {
            true => warnings.push(format!("--cache {cache} is given twice and runs once")),
            false => caches.push(cache),
        }
    }
    caches
}

/// The message of `error` about a run, with the option that it is about.
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

/// Schemes that a warning names; of more it says how many.
const NAMED: usize = 6;

/// Schemes in a warning, each once.
pub(super) fn scheme_names(names: impl Iterator<Item = String>) -> String {
    let names = distinct(names);
    match names.len() {
        0..=NAMED => names.join(", "),
        many => format!("{many} schemes"),
    }
}

/// Hit ratios of schemes with different read allocation are not alike (D2).
fn mixed_read_allocation(runs: &[RunSpec]) -> Option<String> {
    let names = |on: bool| {
        let runs = runs.iter().filter(|r| r.is_cached());
        let runs = runs.filter(|r| r.resolved_read_alloc() == on);
        scheme_names(runs.map(|r| r.expr.to_string()))
    };
    let (on, off) = (names(true), names(false));
    (!on.is_empty() && !off.is_empty()).then(|| {
        format!(
            "hit ratios of these schemes do not compare, because read allocation is on for {on} and off for {off}; \
             use --read-alloc off to make it the same for all"
        )
    })
}
