//! The command as a library: what `destage run` does, for a program that has its traces in memory and takes
//! the records. The options are those of `run` by their long names, as in a run file, and everything that is
//! said of them and of results is what the command says.

pub use crate::progress::Follower;
pub use crate::run::Keys;
pub use crate::sinks::KeptRecord;
pub use crate::sweep::{SweepJob, SweepPlace, SweepWorker, sweep_file};
pub use destage_console::VERSION;
pub use destage_console::failure::Failure;
pub use destage_record::RunCharts;
pub use destage_report::answers::{ComparedRun, answers as answers_of};
pub use destage_report::columns::{CellType, TypedColumn, cell, record_columns};

use crate::decoded;
use crate::failures::run_failure;
use crate::failures::trace_failure;
use crate::memory::MemoryLimit;
use crate::options::groups::MemoryArgs;
use crate::options::{InputArgs, LimitArgs, OptionGroup, OptionInfo, OptionScope, RunArgs};
use crate::progress::Stages;
use crate::run::key::identity;
use crate::run::{Clocks, Executor, Plan, run_keys, trace_warnings};
use crate::sinks::{KeptRecords, Sinks};
use destage_console::print::pretty_json;
use destage_console::terminal::{Screen, Warnings};
use destage_device::config;
use destage_report::details::{self, ShownDetails};
use destage_report::distinctions::{DataUnit, Distinctions};
use destage_report::html::HtmlReport;
use destage_report::run_table;
use destage_scheme::describe;
use destage_scheme::{Expr, SchemeInfo};
use destage_sim::{ResultRecord, RunSpec};
use destage_trace::{
    BinWriter, Frame, Reader, RequestPasses, Source, Stored, TableForm, Workload, load_bounded,
    load_frame, table_form,
};
use destage_types::PageSize;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Cursor, Seek, Write};
use std::path::Path;
use std::sync::Arc;

/// Runs of checked options, known before there is a trace.
pub struct CheckedRuns {
    plan: Plan,
}

/// Executes one set of runs after the other. They share prepared devices that do not depend on the trace.
pub struct RunSession {
    executor: Executor,
}

/// Results of executed runs.
pub struct Executed {
    /// Records in the order of the runs.
    pub records: Vec<KeptRecord>,
    /// Warnings about the runs.
    pub warnings: Vec<String>,
    /// Runs that could not run, and why.
    pub refused: Vec<Failure>,
}

/// The caller's name in error messages.
const CALLER: &str = "destage.run";

/// The options of `run` that `keys` give, of those that are `allowed`.
///
/// # Errors
/// Another key, or a value that is none of its option.
pub(crate) fn options(
    keys: &Keys,
    allowed: impl Fn(&OptionInfo) -> bool,
    caller: &str,
) -> Result<RunArgs, Failure> {
    let refused = |option: &OptionInfo| !allowed(option) && keys.contains_key(option.key);
    if let Some(option) = RunArgs::declared().iter().find(|option| refused(option)) {
        let fault = format!("{caller}: no option `{}`", option.key);
        return Err(Failure::usage(fault));
    }
    Ok(run_keys(keys, &RunArgs::default(), caller)?.args)
}

/// Reads the trace at `path` with the options in `keys` that are about reading: one, or where they split
/// volumes one of each. `progress` is called now and then. The second part is what should be said of the trace.
///
/// # Errors
/// An option is none of these, or those of reading.
pub fn read_traces(
    path: &Path,
    keys: &Keys,
    progress: &mut dyn FnMut(&Reader),
) -> Result<(Vec<Stored>, Vec<String>), Failure> {
    read_source(Source::from_arg(path), keys, progress)
}

/// The same of bytes from anywhere. A stream is read on this thread, and so is not hashed.
///
/// # Errors
/// As [`read_traces`].
pub fn read_source(
    source: Source,
    keys: &Keys,
    progress: &mut dyn FnMut(&Reader),
) -> Result<(Vec<Stored>, Vec<String>), Failure> {
    let args = reading_options(keys)?;
    let memory = args.memory.of_requests(args.limit.limit());
    let hash = !matches!(source, Source::Stream(..));
    let load = args.input.options(hash);
    let stored = load_bounded(source, &load, memory, progress).map_err(trace_failure)?;
    read_parts(stored, &args)
}

/// The same of a table in memory, which is called `name`.
///
/// # Errors
/// As [`read_traces`].
pub fn read_frame(
    name: &str,
    frame: &dyn Frame,
    keys: &Keys,
) -> Result<(Vec<Stored>, Vec<String>), Failure> {
    let args = reading_options(keys)?;
    let trace = load_frame(name, frame, &args.input.options(true)).map_err(trace_failure)?;
    read_parts(Stored::Memory(trace), &args)
}

/// The table in the first lines of `source`, of which somebody chooses what its columns hold.
///
/// # Errors
/// An option in `keys` is none of reading, or the source is no table.
pub fn table_of(source: Source, keys: &Keys) -> Result<TableForm, Failure> {
    let load = reading_options(keys)?.input.options(false);
    table_form(source, &load).map_err(trace_failure)
}

fn reading_options(keys: &Keys) -> Result<RunArgs, Failure> {
    let of_memory = LimitArgs::declared().iter().chain(MemoryArgs::declared());
    let of_memory: Vec<&str> = of_memory.map(|option| option.field).collect();
    let allowed = |o: &OptionInfo| is_reading(o.key) || of_memory.contains(&o.field);
    options(keys, allowed, "destage.read_trace")
}

/// The traces that a trace which was read is to be, and what should be said of it.
fn read_parts(stored: Stored, args: &RunArgs) -> Result<(Vec<Stored>, Vec<String>), Failure> {
    let mut warnings = Warnings::unsaid();
    trace_warnings(stored.meta(), &mut warnings);
    let traces = match args.input.split() {
        true => stored.split_at_once().map_err(trace_failure)?,
        false => vec![stored],
    };
    Ok((traces, warnings.into_all().collect()))
}

/// A trace as bytes, which [`trace_of_bytes`] makes the same trace of: a line about it, and `destage-bin`.
///
/// # Errors
/// It cannot be read again.
pub fn bytes_of_trace(trace: &Stored) -> Result<Vec<u8>, Failure> {
    let written = decoded::write(trace, Cursor::new(Vec::new()));
    written
        .map(Cursor::into_inner)
        .map_err(|error| unwritten(trace, &error))
}

/// The trace of such bytes. A large one goes to a temporary file, as when it was read.
///
/// # Errors
/// They are none, or the file cannot be written.
pub fn trace_of_bytes(bytes: &[u8]) -> Result<Stored, Failure> {
    let file = tempfile::tempfile().and_then(|mut file| {
        file.write_all(bytes)?;
        file.rewind()?;
        Ok(file)
    });
    let file = file.map_err(|error| Failure::Run(format!("a temporary file: {error}")))?;
    let memory = MemoryLimit::new(None).of_requests();
    decoded::read(file, "the bytes of a trace", memory).map_err(Failure::usage)
}

/// Writes a trace as a file of `destage-bin`.
///
/// # Errors
/// It cannot be written.
pub fn write_trace(trace: &Stored, path: &Path) -> Result<(), Failure> {
    let write = || {
        let mut writer = BinWriter::new(BufWriter::new(File::create(path)?))?;
        RequestPasses::pass(&trace.workload(), &mut |request| writer.write(request))?;
        let meta = trace.meta();
        writer.finish(&meta.volumes, meta.timed).map(drop)
    };
    write().map_err(|error: io::Error| unwritten(trace, &error))
}

fn unwritten(trace: &Stored, error: &io::Error) -> Failure {
    Failure::Run(format!("{}: cannot write it: {error}", trace.meta().name))
}

/// Is `key` an option about how a trace is read?
pub fn is_reading(key: &str) -> bool {
    reading_keys().any(|known| known == key)
}

/// The options about how a trace is read.
pub fn reading_keys() -> impl Iterator<Item = &'static str> {
    InputArgs::declared().iter().map(|option| option.key)
}

impl CheckedRuns {
    /// Checks `keys`, options of `run`, for a trace at `path` if it is a file. The schemes in `own` are known
    /// beside those of the registry. The second part is what should be said before the runs.
    ///
    /// # Errors
    /// All faults that need no trace.
    pub fn new(
        path: Option<&Path>,
        keys: &Keys,
        own: &[&'static SchemeInfo],
    ) -> Result<(CheckedRuns, Vec<String>), Failure> {
        let mut args = options(keys, |option| option.scope < OptionScope::Results, CALLER)?;
        args.traces = vec![path.unwrap_or(Path::new("-")).to_owned()];
        let plan = Plan::over_one(&args, own)?;
        Plan::check_any_runs(std::slice::from_ref(&plan))?;
        plan.logs.check()?;
        let warnings = plan.warnings.clone();
        Ok((CheckedRuns { plan }, warnings))
    }

    /// Runs that cannot run, a line each: the others can.
    pub fn refusals(&self) -> Vec<String> {
        self.plan.refusals().collect()
    }

    /// The schemes of the runs, in the order of the runs.
    pub fn schemes(&self) -> impl Iterator<Item = &Expr> {
        self.plan.runs.iter().map(|run| &run.expr)
    }

    /// The settings of each run.
    pub fn specs(&self) -> &[RunSpec] {
        &self.plan.runs
    }

    /// A text per run that differs between runs of different options over the same trace.
    pub fn identities(&self) -> Vec<String> {
        let each = self.plan.runs.iter().zip(&self.plan.shares);
        each.map(|(run, share)| identity(&self.plan, run, *share))
            .collect()
    }

    /// The runs whose scheme `wanted` wants, by themselves.
    #[must_use]
    pub fn only(&self, wanted: impl Fn(&Expr) -> bool) -> CheckedRuns {
        self.filter_runs(|_, run| wanted(&run.expr))
    }

    /// Run number `number`, from 0, by itself; none if there is no such run.
    #[must_use]
    pub fn only_run(&self, number: usize) -> CheckedRuns {
        self.filter_runs(|i, _| i == number)
    }

    fn filter_runs(&self, wanted: impl Fn(usize, &RunSpec) -> bool) -> CheckedRuns {
        let mut plan = self.plan.clone();
        let each = self.plan.runs.iter().zip(&self.plan.shares).enumerate();
        (plan.runs, plan.shares) = each
            .filter(|(i, (run, _))| wanted(*i, run))
            .map(|(_, (run, share))| (run.clone(), *share))
            .unzip();
        (plan.warnings, plan.refused) = (Vec::new(), Vec::new());
        CheckedRuns { plan }
    }

    /// Streams of requests that the runs go through: the trace, or what file systems make of it.
    pub fn streams(&self) -> usize {
        self.plan.host_fs.len().max(1)
    }

    /// Executes the runs, stream by stream. `charts`: is there going to be a report?
    ///
    /// # Errors
    /// The trace does not suit the runs, or one of them failed.
    pub fn execute(
        &self,
        trace: &Stored,
        charts: bool,
        follower: Arc<Follower>,
    ) -> Result<Executed, Failure> {
        let (stages, memory) = (Stages::followed(follower), self.plan.machine.memory);
        let executor = Executor::quiet(stages, self.streams() > 1, memory);
        RunSession { executor }.execute_next(self, trace, charts)
    }
}

impl RunSession {
    /// A session in the memory that a program takes without being told.
    pub fn start() -> RunSession {
        let executor = Executor::quiet(Stages::new(1), true, MemoryLimit::new(None));
        RunSession { executor }
    }

    /// Executes `runs` as [`CheckedRuns::execute`] does.
    ///
    /// # Errors
    /// As [`CheckedRuns::execute`].
    pub fn execute(
        &mut self,
        runs: &CheckedRuns,
        trace: &Stored,
        follower: Arc<Follower>,
    ) -> Result<Executed, Failure> {
        self.executor.stages = Stages::followed(follower);
        self.execute_next(runs, trace, false)
    }

    fn execute_next(
        &mut self,
        runs: &CheckedRuns,
        trace: &Stored,
        charts: bool,
    ) -> Result<Executed, Failure> {
        let executor = &mut self.executor;
        let mut kept = KeptRecords {
            charts,
            ..KeptRecords::default()
        };
        let mut sinks: Sinks<'_> = vec![Box::new(&mut kept)];
        let done = executor.execute(&runs.plan, &mut Cow::Borrowed(trace), &mut sinks);
        drop(sinks);
        let mut warnings = std::mem::replace(&mut executor.warnings, Warnings::unsaid());
        done?;
        let refused = warnings.take_left_out();
        Ok(Executed {
            records: kept.records,
            warnings: warnings.into_all().collect(),
            refused,
        })
    }
}

/// The sentences that answer first about the records, as a report has them.
pub fn answers(records: &[ResultRecord]) -> Vec<String> {
    destage_report::html::answers_about(records)
}

/// The records as the table that the command prints.
pub fn table(records: &[ResultRecord]) -> String {
    let screen = Screen {
        width: None,
        colours: false,
    };
    run_table::text(records, &[], &screen) + &details::text(records, ShownDetails::Asked)
}

/// Columns that tell the rows of a table of `records` apart besides trace, scheme and cache size:
/// the heads, and the cells of each row. And do amounts of data stand in bytes, because page sizes
/// differ?
pub fn distinctions(records: &[ResultRecord]) -> (Vec<String>, Vec<Vec<String>>, bool) {
    let all: Vec<&ResultRecord> = records.iter().collect();
    let found = Distinctions::of_runs(&all);
    let cells = |row| found.cells(row).map(str::to_owned).collect();
    (
        found.heads().map(str::to_owned).collect(),
        (0..all.len()).map(cells).collect(),
        DataUnit::of(records) == DataUnit::Bytes,
    )
}

/// Writes the report of these records.
///
/// # Errors
/// It cannot be written.
pub fn write_report(path: &Path, title: &str, records: Vec<KeptRecord>) -> Result<(), Failure> {
    let mut report = HtmlReport::open("path", path, title)?;
    for (record, charts) in records {
        report.add(&record, charts);
    }
    report.store()
}

/// All schemes, as `destage schemes --json` prints them.
///
/// # Errors
/// None that is known.
pub fn schemes_json() -> Result<String, Failure> {
    pretty_json(&describe::records())
}

/// Names of the devices that come along.
pub fn preset_names() -> Vec<&'static str> {
    config::preset_names().collect()
}

/// Pages of `page` bytes that the reads and writes of a trace touch.
///
/// # Errors
/// There are no such pages, or the trace cannot be read.
pub fn footprint_pages(workload: Workload<'_>, page: u64) -> Result<u64, Failure> {
    let size = PageSize::new(page);
    let size = size
        .ok_or_else(|| Failure::usage(format!("page {page}: a power of two from 512 to 65536")))?;
    let meter = Clocks::new(MemoryLimit::new(None));
    destage_sim::curve::footprint(workload, size, &meter).map_err(run_failure)
}
