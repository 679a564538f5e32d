//! `destage demo`: a built-in workload through the standard line-up on a preset device, against
//! the offline bound.

use crate::args::DemoArgs;
use destage_console::failure::Failure;
use destage_console::print::print;
use destage_console::terminal::Warnings;
use destage_device::config::{DeviceConfig, EffectiveDevice};
use destage_experiment::options::groups::MemoryArgs;
use destage_experiment::options::{FormatOut, LimitArgs};
use destage_experiment::run::{Executor, MachineShare, Plan, Settings, follow_read_alloc};
use destage_experiment::sinks::{KeptRecords, Sinks, finish, standard_output};
use destage_report::answers::{ComparedRun, Topic, answers, flash_pages};
use destage_report::html::HtmlReport;
use destage_report::readings::Readings;
use destage_report::run_table::wrapped;
use destage_report::style::shown_name;
use destage_report::table;
use destage_report::table::{ms, or_dash, percent, whole_ms};
use destage_scheme::Expr;
use destage_sim::{ResultRecord, RunSpec};
use destage_trace::Stored;
use destage_trace::synth::demo;
use destage_types::ByteSize;
use std::borrow::Cow;
use std::sync::Arc;

/// The line-up: two usual schemes, those of the five papers, two that clean ahead, and the bound last.
const LINE_UP: [&str; 10] = [
    "lru",
    "arc",
    "cac(lru)",
    "prober(lru)",
    "ecr",
    "procache",
    "req-block",
    "idle-clean(lru)",
    "drain(lru)",
    "belady",
];
/// The demo shows all figures at this size, and hit ratios alone at the others.
const SHOWN: ByteSize = CACHES[1];
const CACHES: [ByteSize; 3] = [ByteSize(4 << 20), ByteSize(16 << 20), ByteSize(64 << 20)];

/// The device of the Req-block paper: its program time makes what a cache saves visible.
const DEVICE: &str = "req-block-128g";

/// Columns of a terminal.
const WIDTH: usize = 80;

/// Runs the demonstration.
///
/// # Errors
/// The result cannot be written.
pub fn run(args: &DemoArgs) -> Result<(), Failure> {
    let seed = args.random.seed();
    let machine = MachineShare::of(&LimitArgs::default(), &MemoryArgs::default(), &args.threads);
    let plan = Plan::of_runs(line_up(args), machine);
    let title = format!("destage demo, seed {seed}");
    let report = args.report.as_deref();
    let report = report.map(|path| HtmlReport::open("--report", path, &title));
    let format = args.form.format_out();
    let mut kept = KeptRecords::default();
    let mut sinks: Sinks<'_> = vec![match format {
        // Shown in a way of its own.
        FormatOut::Table => Box::new(&mut kept),
        _ => standard_output(format)?,
    }];
    if let Some(report) = report.transpose()? {
        sinks.push(Box::new(report));
    }
    let mut executor = Executor::new(1, false, machine.memory);
    // Notes on this workload stand below the table.
    executor.warnings = Warnings::unsaid();
    let trace = Stored::Memory(demo(seed));
    executor.execute(&plan, &mut Cow::Owned(trace), &mut sinks)?;
    executor.warnings.unless_left_out(executor.any)?;
    finish(sinks, true)?;
    match format {
        FormatOut::Table => {
            let records = kept.records.into_iter().map(|kept| kept.0);
            print(&text(&records.collect::<Vec<_>>(), seed))
        }
        _ => Ok(()),
    }
}

/// The runs by cache size.
fn line_up(args: &DemoArgs) -> Vec<RunSpec> {
    let exprs = LINE_UP.iter().map(|text| {
        let expr = Expr::parse(text);
        expr.expect("the line-up is made of legal expressions")
    });
    let exprs: Vec<Expr> = exprs.collect();
    let device = EffectiveDevice::from_preset(DEVICE, &[]).expect("a preset that comes along");
    let device = Arc::new(device.into_config());
    let runs = CACHES.iter().flat_map(|&cache| {
        let device = &device;
        exprs
            .iter()
            .map(move |expr| spec(args, expr.clone(), cache, device))
    });
    let mut runs: Vec<RunSpec> = runs.collect();
    // Below the table it says with which read allocation the bound runs.
    let _ = follow_read_alloc(&mut runs);
    runs
}

fn spec(args: &DemoArgs, expr: Expr, cache: ByteSize, device: &Arc<DeviceConfig>) -> RunSpec {
    let mut settings = Settings::default();
    settings.built_in("scheme", &expr.to_string());
    settings.built_in("cache", &cache.to_string());
    settings.add("charge_metadata", None::<bool>);
    settings.add("page", None::<ByteSize>);
    settings.built_in("device", DEVICE);
    settings.add("read_alloc", None::<&str>);
    settings.add("read_fill", None::<&str>);
    settings.built_in("rmw", "true");
    settings.add("warmup", None::<&str>);
    settings.add("seed", args.random.seed);
    RunSpec {
        device: Some(Arc::clone(device)),
        seed: args.random.seed(),
        settings: settings.entries,
        ..RunSpec::cache_only(expr, cache)
    }
}

fn text(records: &[ResultRecord], seed: u64) -> String {
    let sizes = CACHES.map(|cache| cache.to_string());
    let mut header = vec!["scheme"];
    header.extend(sizes.iter().map(String::as_str));
    header.extend(["mean ms", "p99 ms", "flash writes", "to lru"]);
    let mut table = table::plain(&header, 1);
    let readings = Readings::of(records);
    let lru = shown(records, "lru");
    for r in records.iter().filter(|r| r.cache_bytes == SHOWN.0) {
        let of_scheme = records.iter().filter(|other| other.scheme == r.scheme);
        let hits = of_scheme.map(|r| or_dash(percent(r.ratios.page_hit_ratio)));
        let mut row = vec![format!("{}{}", shown_name(&r.scheme), readings.mark(r))];
        row.extend(hits);
        row.extend([
            or_dash(ms(r.latency_ns.and_then(|l| l.all.mean))),
            or_dash(whole_ms(r.latency_ns.and_then(|l| l.all.p99))),
            flash_pages(r).to_string(),
            against(r, lru),
        ]);
        table.add_row(row);
    }
    head(records, seed) + &table::lines(&table) + FOOT + &end(records)
}

/// The meaning of the columns, and how to read the runs.
const FOOT: &str = "
reading: page 4KiB, device req-block-128g, read allocation on (*: off, so that
  these hit ratios do not compare), no warm-up; flash writes with pages left
cac(lru) equals lru here: no write of this workload names an old address
";

/// The run of `scheme` at the size [`SHOWN`].
fn shown<'a>(records: &'a [ResultRecord], scheme: &str) -> Option<&'a ResultRecord> {
    let mut of_size = records.iter().filter(|r| r.cache_bytes == SHOWN.0);
    of_size.find(|r| r.scheme == scheme)
}

/// The findings, and what to do next.
fn end(records: &[ResultRecord]) -> String {
    let shown = records.iter().filter(|r| r.cache_bytes == SHOWN.0);
    let found = answers(&shown.map(ComparedRun::from).collect::<Vec<_>>());
    let about = |topic: Topic| found.iter().find(|answer| answer.topic == topic);
    let mut text = "\n".to_owned();
    for answer in [Topic::Response, Topic::Flash]
        .into_iter()
        .filter_map(about)
    {
        text += &(wrapped(&answer.to_string(), Some(WIDTH)) + "\n");
    }
    let fastest = about(Topic::Response).and_then(|answer| answer.schemes.first());
    let fastest = fastest.map_or("arc", |scheme| scheme);
    text + &format!(
        "next: destage demo --report demo.html\n      \
         destage run YOUR_TRACE --device default --scheme 'lru,{fastest}'\n"
    )
}

fn head(records: &[ResultRecord], seed: u64) -> String {
    let Some(first) = records.first() else {
        return String::new();
    };
    let c = &first.counts;
    format!(
        "demo: {} requests ({} reads, {} writes), seed {seed}: hot small\nwrites, large streams made of many small \
         requests, reads with locality\npage hit % by cache size; all else at {SHOWN}\n",
        c.requests, c.read_requests, c.write_requests
    )
}

/// Relative difference of flash writes in percent.
fn against(record: &ResultRecord, lru: Option<&ResultRecord>) -> String {
    let writes = |r: &ResultRecord| flash_pages(r) as f64;
    match lru {
        Some(lru) if writes(lru) > 0.0 => {
            let percent = 100.0 * (writes(record) / writes(lru) - 1.0);
            format!("{percent:+.1} %")
        }
        _ => "-".to_owned(),
    }
}
