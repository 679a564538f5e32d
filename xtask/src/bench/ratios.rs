//! Times of commands relative to one run of LRU over the same trace, each a whole process.

use super::Bench;
use super::peer::Peer;
use super::program::{Cost, median, output};
use super::table::Table;
use anyhow::{Result, ensure};
use std::path::PathBuf;
use std::time::Instant;

/// Text formats that `trace convert` writes, and the endings of their files.
const FORMATS: &[(&str, &str)] = &[
    ("destage", "csv"),
    ("destage", "csv.zst"),
    ("destage", "csv.gz"),
    ("msr", "msr"),
    ("fio", "fio"),
    ("ssdsim", "ssdsim"),
    ("disksim", "disksim"),
];

/// Schemes whose eight sizes are measured beside one.
const SCHEMES: &[&str] = &["lru", "arc", "lirs", "s3-fifo", "w-tinylfu", "req-block"];

/// Resources that a process took.
struct Process {
    cpu_s: f64,
    elapsed_s: f64,
}

impl Bench {
    /// A trace in own binary: half of the accesses are writes.
    fn zipf_trace(&self) -> Result<PathBuf> {
        let trace = self.temp.path().join("ratios.bin");
        let pages = self.sizes.universe * 4;
        let part = format!("at=zipf(0.9),space={pages}KiB,writes=0.5");
        let requests = (self.sizes.accesses / 2).to_string();
        let mut command = self.program.command();
        command.args(["trace", "synth", "--part", &part, "--requests", &requests]);
        command
            .args(["--to", "destage-bin", "--output"])
            .arg(&trace);
        output(&mut command)?;
        Ok(trace)
    }

    /// The same trace in another format.
    fn converted(&self, trace: &PathBuf, format: &str, ending: &str) -> Result<PathBuf> {
        let file = self.temp.path().join(format!("ratios.{ending}"));
        let mut command = self.program.command();
        command.args(["trace", "convert", "--to", format, "--output"]);
        output(command.args([&file, trace]))?;
        Ok(file)
    }

    /// The command with a trace behind its other arguments: the measurement with the median processor time.
    fn process(&self, args: &str, trace: &PathBuf) -> Result<Process> {
        eprintln!("   {args} {}", trace.display());
        let mut args: Vec<_> = args.split(' ').map(std::ffi::OsString::from).collect();
        args.push(trace.into());
        let mut measured = Vec::new();
        for _ in 0..self.sizes.runs {
            let start = Instant::now();
            let cost = self.program.whole_process(&args, 1)?;
            measured.push(Process {
                cpu_s: cost.cpu_s,
                elapsed_s: start.elapsed().as_secs_f64(),
            });
        }
        measured.sort_by(|a, b| a.cpu_s.total_cmp(&b.cpu_s));
        Ok(measured.swap_remove(measured.len() / 2))
    }
}

/// Rows of processes beside the first one.
struct Ratios {
    table: Table,
    first: Option<Process>,
}

impl Ratios {
    fn new(title: String, what: &str) -> Ratios {
        let head = [
            what,
            "CPU s",
            "ratio",
            "goal",
            "elapsed s",
            "ratio of elapsed",
        ];
        Ratios {
            table: Table::new(title, &head),
            first: None,
        }
    }

    fn add(&mut self, what: &str, goal: &str, process: Process) {
        let first = self.first.as_ref().unwrap_or(&process);
        let ratio = |own: f64, first: f64| format!("{:.2}", own / first);
        self.table.row(vec![
            what.to_owned(),
            format!("{:.2}", process.cpu_s),
            ratio(process.cpu_s, first.cpu_s),
            goal.to_owned(),
            format!("{:.2}", process.elapsed_s),
            ratio(process.elapsed_s, first.elapsed_s),
        ]);
        self.first.get_or_insert(process);
    }
}

/// Curves, samples and summaries beside one run, reading of formats beside own binary, and eight sizes beside
/// one.
pub fn beside_one_run(bench: &Bench) -> Result<Vec<Table>> {
    let trace = bench.zipf_trace()?;
    let mut tables = vec![curves(bench, &trace)?];
    tables.push(formats(bench, &trace)?);
    tables.push(sizes(bench, &trace)?);
    Ok(tables)
}

fn title(bench: &Bench, what: &str) -> String {
    let (requests, pages) = (bench.sizes.accesses / 2, bench.sizes.universe);
    format!("{what}: {requests} requests, half of them writes, Zipf(0.9) over {pages} pages")
}

fn curves(bench: &Bench, trace: &PathBuf) -> Result<Table> {
    let mut ratios = Ratios::new(title(bench, "Beside one run"), "command");
    for (args, goal) in [
        ("run --scheme lru --cache 64MiB", "1"),
        ("mrc --scheme lru", "0.90"),
        ("mrc --scheme lru --jobs 1", "0.90"),
        ("mrc --scheme lru --sample-rate 0.01", "0.40"),
        ("mrc --scheme lru --sample-pages 16384", "0.40"),
        ("trace info", "1.20"),
    ] {
        let process = bench.process(args, trace)?;
        ratios.add(&format!("`{args}`"), goal, process);
    }
    if !bench.options.small && !bench.options.no_peer {
        match peer(bench, trace) {
            Ok([whole, sampled]) => {
                ratios.add("libCacheSim, LRU of 64 MiB", "-", whole);
                ratios.add("libCacheSim, LRU of 64 MiB, 1 % of the pages", "-", sampled);
            }
            Err(error) => eprintln!("WARNING: libCacheSim is left out: {error:#}"),
        }
    }
    Ok(ratios.table)
}

/// One size of LRU in libCacheSim over the same blocks, and its mini-simulation, one point of a sampled curve.
fn peer(bench: &Bench, trace: &PathBuf) -> Result<[Process; 2]> {
    let peer = Peer::new(&bench.options.python, bench.temp.path())?;
    let blocks = bench.converted(trace, "oracle-general", "oracleGeneral")?;
    let measured = |rate: f64| {
        let start = Instant::now();
        let cost: Cost = median(bench.sizes.runs, || {
            peer.measure("LRU", 16_384, &blocks, rate)
        })?;
        let elapsed_s = start.elapsed().as_secs_f64() / f64::from(bench.sizes.runs);
        ensure!(cost.count > 0, "libCacheSim read nothing");
        Ok(Process {
            cpu_s: cost.cpu_s,
            elapsed_s,
        })
    };
    Ok([measured(1.0)?, measured(0.01)?])
}

fn formats(bench: &Bench, trace: &PathBuf) -> Result<Table> {
    let run = "run --scheme fifo --cache 64MiB";
    let what = title(bench, &format!("Reading, by `{run}`"));
    let mut ratios = Ratios::new(what, "format");
    ratios.add("destage-bin", "1", bench.process(run, trace)?);
    for (format, ending) in FORMATS {
        let file = bench.converted(trace, format, ending)?;
        let process = bench.process(run, &file)?;
        let compressed = ending.strip_prefix("csv.");
        let name = compressed.map_or((*format).to_owned(), |how| format!("{format}, {how}"));
        // The time to unpack is no part of the goal.
        ratios.add(&name, compressed.map_or("1.50", |_| "-"), process);
        std::fs::remove_file(&file)?;
    }
    Ok(ratios.table)
}

fn sizes(bench: &Bench, trace: &PathBuf) -> Result<Table> {
    let what = title(bench, "Eight sizes (16 MiB to 2 GiB) beside one (64 MiB)");
    let head = ["scheme", "one, CPU s", "eight, CPU s", "ratio", "goal"];
    let mut table = Table::new(what, &head);
    for scheme in bench.wanted(SCHEMES) {
        let run = |sizes: &str| {
            let args = format!("run --jobs 1 --scheme {scheme} --cache {sizes}");
            bench.process(&args, trace)
        };
        let one = run("64MiB")?;
        let eight = run("16MiB,32MiB,64MiB,128MiB,256MiB,512MiB,1GiB,2GiB")?;
        table.row(vec![
            scheme.to_owned(),
            format!("{:.2}", one.cpu_s),
            format!("{:.2}", eight.cpu_s),
            format!("{:.2}", eight.cpu_s / one.cpu_s),
            "5.00".to_owned(),
        ]);
    }
    Ok(table)
}
