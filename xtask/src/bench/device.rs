//! The common workload on a device, whole process: `destage run` with its reading and reporting.

use super::Bench;
use super::program::{Cost, median, output};
use super::table::Table;
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

const DEVICE: &str = include_str!("common.toml");

/// Changes of the common device that make its flash full and small: garbage collection has most of
/// the work.
const COLLECTING: (&str, &str) = ("blocks_per_plane = 4096", "blocks_per_plane = 128");
const FULL: &str = "precondition = { trace = false, fill = 0.95, overwrite = \"until_gc\" }\n";

/// The change that makes the common device eight times as large.
const TERABYTE: (&str, &str) = ("channels = 8", "channels = 64");

/// Gap in nanoseconds, its name, goal in million requests per CPU-second.
const LOADS: &[(u64, &str, &str)] = &[(1_000_000, "1 ms", "1.7"), (50_000, "50 us", "1.2")];

/// Schemes beside LRU at the first load, and the share of LRU's figure they are to reach.
const SCHEMES: [&str; 3] = ["req-block", "awb(prober(lru))", "ecr(lru)"];

/// Requests per CPU-second at two loads, of other schemes, and flash operations per CPU-second
/// where garbage collection rules.
pub fn common_workload(bench: &Bench) -> Result<Vec<Table>> {
    let requests = bench.sizes.device_requests;
    let title = format!(
        "Device: common workload, {requests} requests, 128 GiB, cache of 32 MiB, whole process"
    );
    let head = [
        "scheme",
        "mean gap",
        "M requests/s",
        "goal",
        "CPU s",
        "peak MiB",
    ];
    let mut table = Table::new(title, &head);
    let device = bench.temp.path().join("common.toml");
    std::fs::write(&device, DEVICE)?;
    let mut collecting = None;
    for (i, (gap, name, goal)) in LOADS.iter().enumerate() {
        let trace = generate(bench, *gap)?;
        let others = bench.wanted(&SCHEMES);
        let others = others.into_iter().filter(|_| i == 0);
        let mut lru_rate = 0.0;
        for scheme in ["lru"].into_iter().chain(others) {
            let args = arguments(scheme, &device, &trace);
            let cost = median(bench.sizes.runs, || {
                bench.program.whole_process(&args, requests)
            })?;
            let goal = match scheme {
                "lru" => (*goal).to_owned(),
                _ => format!("{:.2}", lru_rate / 2.0),
            };
            if scheme == "lru" {
                lru_rate = cost.rate();
            }
            table.row(vec![
                scheme.to_owned(),
                (*name).to_owned(),
                format!("{:.2}", cost.rate()),
                goal,
                format!("{:.2}", cost.cpu_s),
                format!("{:.0}", cost.extra_mib().unwrap_or_default()),
            ]);
        }
        if i == 0 {
            collecting = Some(garbage(bench, &trace)?);
        }
        std::fs::remove_file(&trace)?;
    }
    let tables = [
        Some(table),
        collecting,
        Some(start(bench)?),
        Some(scattered(bench)?),
        Some(drive(bench)?),
    ];
    Ok(tables.into_iter().flatten().collect())
}

/// The file of the device of 1 TiB.
fn terabyte(bench: &Bench) -> Result<PathBuf> {
    let device = bench.temp.path().join("terabyte.toml");
    let (from, to) = TERABYTE;
    let text = DEVICE.replace(from, to);
    ensure!(!text.contains(from), "the common device is another one");
    std::fs::write(&device, text)?;
    Ok(device)
}

/// Start, one request and the report on 1 TiB.
fn start(bench: &Bench) -> Result<Table> {
    let device = terabyte(bench)?;
    let trace = bench.temp.path().join("one.csv");
    std::fs::write(&trace, "0,host,0,Write,0,4096,0\n")?;
    let args = arguments("lru", &device, &trace);
    let cost = median(bench.sizes.runs, || bench.program.whole_process(&args, 1))?;
    let title = "Device: one request on 1 TiB".to_owned();
    let mut table = Table::new(title, &["CPU s", "goal", "peak MiB"]);
    table.row(vec![
        format!("{:.3}", cost.cpu_s),
        "below 0.1".to_owned(),
        format!("{:.0}", cost.extra_mib().unwrap_or_default()),
    ]);
    Ok(table)
}

/// Writes of single pages all over 1 TiB: what the device takes beyond the same run without it, the
/// requests, the cache and the index of its pages being in both.
fn scattered(bench: &Bench) -> Result<Table> {
    let device = terabyte(bench)?;
    let title = "Device: writes of single pages all over 1 TiB, cache of 32 MiB, whole process";
    let head = [
        "writes",
        "CPU s",
        "peak MiB",
        "without the device",
        "more",
        "goal: 64 MiB and 132 B a page",
    ];
    let mut table = Table::new(title.to_owned(), &head);
    for part in [10, 1] {
        let writes = bench.sizes.device_requests / part;
        let trace = bench.temp.path().join(format!("scattered-{writes}.csv"));
        write_scattered(&trace, writes)?;
        let measure = |device: &Path| {
            let mut args = arguments("lru", device, &trace);
            args.extend(["--page", "4KiB"].map(OsStr::new));
            median(bench.sizes.runs, || {
                bench.program.whole_process(&args, writes)
            })
        };
        let (with, without) = (measure(&device)?, measure(Path::new("none"))?);
        let mib = |cost: &Cost| cost.extra_mib().unwrap_or_default();
        table.row(vec![
            writes.to_string(),
            format!("{:.2}", with.cpu_s),
            format!("{:.0}", mib(&with)),
            format!("{:.0}", mib(&without)),
            format!("{:.0}", mib(&with) - mib(&without)),
            format!("{:.0}", 64.0 + (132 * writes) as f64 / (1 << 20) as f64),
        ]);
        std::fs::remove_file(&trace)?;
    }
    Ok(table)
}

/// MSR lines that write one page every 100 us, hardly any two of them neighbours.
fn write_scattered(trace: &Path, writes: u64) -> Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(trace)?);
    // 90 % of 2^28 pages are exported.
    let pages = (1 << 28) / 10 * 9;
    for i in 0..writes {
        let (ticks, offset) = (i * 1000, i * 150_000_001 % pages * 4096);
        writeln!(out, "{ticks},host,0,Write,{offset},4096,0")?;
    }
    Ok(out.flush()?)
}

/// Requests to single mapping units of a drive that drains its buffer, behind its host's side.
fn drive(bench: &Bench) -> Result<Table> {
    let requests = bench.sizes.device_requests;
    let trace = bench.temp.path().join("drive.csv");
    let mut synth = bench.program.command();
    synth.args([
        "trace",
        "synth",
        "--part",
        "at=uniform,space=100GiB,writes=0.7",
    ]);
    synth.args(["--requests", &requests.to_string(), "--gap", "20us"]);
    synth.args(["--arrival", "poisson", "--output"]).arg(&trace);
    output(&mut synth)?;
    let run = "run --scheme drain(lru) --device enterprise-tlc-1t".split(' ');
    let mut args: Vec<_> = run.map(OsStr::new).collect();
    args.push(trace.as_os_str());
    let cost = median(bench.sizes.runs, || {
        bench.program.whole_process(&args, requests)
    })?;
    let title = format!(
        "Drive `enterprise-tlc-1t`: {requests} requests of 4 KiB all over 100 GiB, 70 % writes, one in 20 us, \
         `drain(lru)`, whole process"
    );
    let mut table = Table::new(title, &["M requests/s", "goal", "CPU s", "peak MiB"]);
    table.row(vec![
        format!("{:.2}", cost.rate()),
        "1".to_owned(),
        format!("{:.2}", cost.cpu_s),
        format!("{:.0}", cost.extra_mib().unwrap_or_default()),
    ]);
    Ok(table)
}

fn generate(bench: &Bench, gap: u64) -> Result<PathBuf> {
    let trace = bench.temp.path().join(format!("common-{gap}.csv"));
    let (count, gap) = (bench.sizes.device_requests.to_string(), gap.to_string());
    let out = ["workload", "--requests", &count, "--gap-ns", &gap, "--out"];
    let mut args: Vec<_> = out.map(OsStr::new).to_vec();
    args.push(trace.as_os_str());
    bench.program.generate(&args)?;
    Ok(trace)
}

fn arguments<'a>(scheme: &'a str, device: &'a Path, trace: &'a Path) -> Vec<&'a OsStr> {
    let run = ["run", "--scheme", scheme, "--cache", "32MiB", "--device"];
    let mut args: Vec<_> = run.map(OsStr::new).to_vec();
    args.extend([device.as_os_str(), trace.as_os_str()]);
    args
}

/// Flash operations per CPU-second on 4 GiB of flash, of which 95 % of what is exported is full;
/// preconditioning is part of the process.
fn garbage(bench: &Bench, trace: &Path) -> Result<Table> {
    let device = bench.temp.path().join("collecting.toml");
    let text = DEVICE.replace(COLLECTING.0, COLLECTING.1) + FULL;
    ensure!(
        !text.contains(COLLECTING.0),
        "the common device is another one"
    );
    std::fs::write(&device, text)?;
    let args = arguments("lru", &device, trace);
    let count = operations(bench, &args)?;
    let cost = median(bench.sizes.runs, || {
        bench.program.whole_process(&args, count)
    })?;
    let title = "Device: the same on 4 GiB that are 95 % full, collecting garbage";
    let head = ["flash operations", "M operations/s", "goal", "CPU s"];
    let mut table = Table::new(title.to_owned(), &head);
    table.row(vec![
        count.to_string(),
        format!("{:.2}", cost.rate()),
        "6".to_owned(),
        format!("{:.2}", cost.cpu_s),
    ]);
    Ok(table)
}

/// Reads, programs and erases of a run, garbage collection included.
fn operations(bench: &Bench, args: &[&OsStr]) -> Result<u64> {
    let mut command = bench.program.command();
    command.args(args).args(["--format-out", "jsonl"]);
    let record: serde_json::Value =
        serde_json::from_str(&output(&mut command)?).context("the record cannot be read")?;
    let names = [
        "flash_reads_host",
        "flash_writes_host",
        "flash_reads_gc",
        "flash_writes_gc",
        "flash_writes_meta",
        "erases",
    ];
    let count = |name: &str| record["counts"][name].as_u64();
    let counts: Option<Vec<u64>> = names.iter().map(|name| count(name)).collect();
    Ok(counts.context("a counter is missing")?.iter().sum())
}
