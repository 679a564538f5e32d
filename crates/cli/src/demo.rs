//! `destage demo`: a built-in workload through the standard line-up on a preset device, against
//! the offline bound.

use crate::args::DemoArgs;
use destage_console::failure::Failure;
use destage_console::print::print;
use destage_device::config::{DeviceConfig, EffectiveDevice};
use destage_experiment::options::groups::MemoryArgs;
use destage_experiment::options::{FormatOut, LimitArgs};
use destage_experiment::run::{Executor, MachineShare, Plan, Settings, follow_read_alloc};
use destage_experiment::sinks::{KeptRecords, Sinks, finish, standard_output};
use destage_report::html::HtmlReport;
use destage_report::readings::Readings;
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

/// The line-up; the bound stands last.
const LINE_UP: [&str; 8] = [
    "lru",
    "arc",
    "cflru",
    "prober(lru)",
    "req-block",
    "ecr",
    "procache",
    "belady",
];
const BOUND: &str = "belady";
const CACHES: [ByteSize; 3] = [ByteSize(4 << 20), ByteSize(16 << 20), ByteSize(64 << 20)];

/// The device of the Req-block paper: its program time makes what a cache saves visible.
const DEVICE: &str = "req-block-128g";

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
    let report = report.map(|path| HtmlReport::open(path, &title));
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
    let readings = Readings::of(records);
    let header = [
        "cache",
        "scheme",
        "page hit %",
        "below bound",
        "mean ms",
        "p99 ms",
        "flash writes",
        "against lru",
    ];
    let mut table = table::plain(&header, 2);
    for cache in CACHES {
        let rows: Vec<&ResultRecord> = records
            .iter()
            .filter(|r| r.cache_bytes == cache.0)
            .collect();
        let find = |name: &str| rows.iter().find(|r| r.scheme == name);
        let bound = find(BOUND).and_then(|r| r.ratios.page_hit_ratio);
        let lru = find("lru").map(|r| r.counts.flash_writes_host);
        for r in &rows {
            table.add_row([
                table::cache(r),
                format!("{}{}", shown_name(&r.scheme), readings.mark(r)),
                or_dash(percent(r.ratios.page_hit_ratio)),
                below(r.ratios.page_hit_ratio, bound),
                or_dash(ms(r.latency_ns.and_then(|l| l.all.mean))),
                or_dash(whole_ms(r.latency_ns.and_then(|l| l.all.p99))),
                r.counts.flash_writes_host.to_string(),
                against(r.counts.flash_writes_host, lru),
            ]);
        }
        if cache != CACHES[CACHES.len() - 1] {
            table.add_row([""]);
        }
    }
    let seen = seen(records).unwrap_or_default();
    head(records, seed) + &table::lines(&table) + "\n" + &foot(&readings) + &seen
}

/// What was seen at the size in the middle, and what to try next.
fn seen(records: &[ResultRecord]) -> Option<String> {
    let cache = CACHES[CACHES.len() / 2];
    let rows = records.iter().filter(|r| r.cache_bytes == cache.0);
    let rows: Vec<&ResultRecord> = rows.filter(|r| r.scheme != BOUND).collect();
    let mean = |r: &ResultRecord| r.latency_ns.and_then(|l| l.all.mean);
    let hits = |r: &ResultRecord| r.ratios.page_hit_ratio;
    let most = rows
        .iter()
        .max_by(|a, b| hits(a).partial_cmp(&hits(b)).expect("ratios are numbers"))?;
    let timed = rows.iter().filter(|r| mean(r).is_some());
    let fastest = timed.min_by(|a, b| mean(a).partial_cmp(&mean(b)).expect("times are numbers"))?;
    let lru = rows.iter().find(|r| r.scheme == "lru")?;
    Some(format!(
        "\nseen: with {cache}, {} hits most ({} %, lru {} %) and {} answers fastest ({} ms, lru {} ms)\n\
         next: destage run YOUR_TRACE --device default --scheme lru --scheme '{}'\n",
        most.scheme,
        or_dash(percent(hits(most))),
        or_dash(percent(hits(lru))),
        fastest.scheme,
        or_dash(ms(mean(fastest))),
        or_dash(ms(mean(lru))),
        fastest.scheme
    ))
}

fn head(records: &[ResultRecord], seed: u64) -> String {
    let Some(first) = records.first() else {
        return String::new();
    };
    let c = &first.counts;
    format!(
        "demo: {} requests ({} reads, {} writes), {} page accesses of 4 KiB, seed {seed}, \
         device {DEVICE}:\nhot small writes, large streams made of many small requests, reads with \
         locality\n\n",
        c.requests, c.read_requests, c.write_requests, c.page_accesses
    )
}

fn foot(readings: &Readings<'_>) -> String {
    let mut lines = readings.lines();
    lines.push(
        "below bound: page hit ratio under that of the offline policy belady with read allocation \
         on,\n             in percentage points"
            .to_owned(),
    );
    lines.push("mean, p99: response time over all requests".to_owned());
    lines.push("against lru: flash writes relative to lru with the same cache".to_owned());
    lines.join("\n") + "\n"
}

/// Percentage points under the bound.
fn below(ratio: Option<f64>, bound: Option<f64>) -> String {
    or_dash(percent(
        ratio.zip(bound).map(|(ratio, bound)| bound - ratio),
    ))
}

/// Relative difference in percent.
fn against(writes: u64, lru: Option<u64>) -> String {
    match lru {
        Some(lru) if lru > 0 => {
            let percent = 100.0 * (writes as f64 / lru as f64 - 1.0);
            format!("{percent:+.1} %")
        }
        _ => "-".to_owned(),
    }
}
