//! `destage advise`: which write buffer to build for a trace into a drive.

use crate::args::AdviseArgs;
use destage_console::failure::Failure;
use destage_console::print::print;
use destage_console::terminal::Warnings;
use destage_experiment::options::RunArgs;
use destage_experiment::options::groups::{CacheArgs, HitArgs, PageArgs};
use destage_experiment::options::values::CacheSizeArg;
use destage_experiment::run::{Executor, Plan, load};
use destage_experiment::sinks::{KeptRecords, Sinks, finish};
use destage_report::advice::advice;
use destage_report::answers::{ComparedRun, answers};
use destage_report::run_table::wrapped;
use destage_scheme::ReadAlloc;
use destage_sim::ResultRecord;
use destage_trace::Stored;
use destage_types::ByteSize;
use std::borrow::Cow;

/// On demand, between marks, and with a reserve.
const SCHEMES: [&str; 5] = [
    "lru",
    "drain(lru)",
    "drain(lru,low=0.25,high=0.25)",
    "drain(lru,low=0.5,high=0.5)",
    "reserve",
];
/// The fewest flash writes that any scheme can have.
const BOUND: &str = "belady(next-of=overwrite)";
/// Columns of a terminal.
const WIDTH: usize = 80;

/// Runs the few that matter, and says what to build.
///
/// # Errors
/// The drive has no bounded buffer, or a run cannot run.
pub fn run(args: &AdviseArgs) -> Result<(), Failure> {
    let mut given = options(args);
    let own = checked(&given)?;
    let Some(first) = own.runs.first() else {
        return Ok(());
    };
    if !first
        .device
        .as_ref()
        .is_some_and(|device| device.is_bounded())
    {
        return Err(Failure::usage(format!(
            "--device {}: its buffer is not bounded, so no write waits for a frame and no buffer is better than another \
             by that. Choose a drive with `buffer = bounded`, such as enterprise-tlc-1t (`destage presets`), or compare \
             schemes with `destage run {} --device {}`",
            args.device,
            args.trace.display(),
            args.device
        )));
    }
    let (page, ByteSize(size)) = (first.page, first.cache);
    let sizes = [size / 2, size, 2 * size].map(ByteSize);
    given.caches = CacheArgs {
        scheme: SCHEMES.map(str::to_owned).to_vec(),
        cache: sizes.map(CacheSizeArg::Bytes).to_vec(),
    };
    let plan = checked(&given)?;
    let bound = RunArgs {
        device: None,
        set: Vec::new(),
        pages: PageArgs { page: Some(page) },
        caches: CacheArgs {
            scheme: vec![BOUND.to_owned()],
            ..given.caches.clone()
        },
        ..given
    };
    let bound = checked(&bound)?;
    let mut warnings = Warnings::default();
    warnings.extend(plan.warnings.iter().cloned());
    for refusal in plan.refusals() {
        warnings.leave_out(Failure::usage(refusal));
    }
    let memory = plan.machine.trace_memory;
    let mut trace = Cow::Owned(load(&args.trace, &plan.load, memory, &mut warnings)?);
    let mut executor = Executor::new(1, true, args.limit.limit());
    executor.warnings = warnings;
    let records = execute(&mut executor, &plan, &mut trace)?;
    let bounds = execute(&mut executor, &bound, &mut trace)?;
    // Finished runs are shown even if others could not run.
    if executor.any {
        print(&text(&records, &bounds, size))?;
    }
    executor.warnings.unless_left_out(executor.any)
}

/// Those of `run`. Reads take no frames of a write buffer.
fn options(args: &AdviseArgs) -> RunArgs {
    RunArgs {
        traces: vec![args.trace.clone()],
        device: Some(args.device.clone()),
        set: args.set.clone(),
        input: args.input.clone(),
        random: args.random.clone(),
        memory: args.memory.clone(),
        limit: args.limit.clone(),
        threads: args.threads.clone(),
        hits: HitArgs {
            read_alloc: Some(ReadAlloc::Off),
            ..HitArgs::default()
        },
        caches: CacheArgs {
            scheme: vec![SCHEMES[0].to_owned()],
            ..CacheArgs::default()
        },
        ..RunArgs::default()
    }
}

/// The plan of these options.
///
/// # Errors
/// None of its runs can run.
fn checked(args: &RunArgs) -> Result<Plan, Failure> {
    let plans = [Plan::over_one(args, &[])?];
    Plan::check_any_runs(&plans)?;
    let [plan] = plans;
    Ok(plan)
}

fn execute(
    executor: &mut Executor,
    plan: &Plan,
    trace: &mut Cow<'_, Stored>,
) -> Result<Vec<ResultRecord>, Failure> {
    let mut kept = KeptRecords::default();
    let mut sinks: Sinks<'_> = vec![Box::new(&mut kept)];
    executor.execute(plan, trace, &mut sinks)?;
    finish(sinks, true)?;
    Ok(kept.records.into_iter().map(|kept| kept.0).collect())
}

/// The table, the advice, and the findings about the drive's own size.
fn text(records: &[ResultRecord], bounds: &[ResultRecord], size: u64) -> String {
    let own = records.iter().filter(|r| r.cache_bytes == size);
    let found = answers(&own.map(ComparedRun::from).collect::<Vec<_>>());
    let mut text = String::new();
    for (i, line) in advice(records, bounds).lines().enumerate() {
        let is_sentence = i > 0 && line.starts_with("Build ");
        let line = match is_sentence {
            true => wrapped(line, Some(WIDTH)),
            false => line.to_owned(),
        };
        text += &(line + "\n");
    }
    text += &format!("\nWith the drive's own buffer of {}:\n", ByteSize(size));
    for finding in &found {
        text += &(wrapped(&finding.to_string(), Some(WIDTH)) + "\n");
    }
    text + "\nto bound: against the fewest bytes to flash that any scheme can write, those of\npages left included; read allocation off\n"
}
