//! Work that does not depend on the load of the machine as times do: instructions of the inner loops, counted by
//! valgrind, without which nothing is counted and that is said. A change that makes a loop 5 % longer is noticed
//! before it lands.
//!
//! `cargo xtask instructions` counts those of the programs that tests build, which cost nothing more to build;
//! `cargo xtask optimised`, which every release begins with, those of optimised programs, and of readers.

use crate::programs::{Build, build};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Runs without a device: 200,000 accesses.
const CACHED: [&str; 7] = [
    "lru",
    "arc",
    "lirs",
    "2q",
    "req-block",
    "prober(lru)",
    "cac(awb(prober(lirs)))",
];
/// Runs on the default device: 5,000 requests, one a millisecond.
const ON_DEVICE: [&str; 4] = ["lru", "req-block", "ecr(lru)", "awb(prober(lru))"];
/// Runs there with one in 50 us, and on a small device that collects garbage.
const LOADED: [&str; 2] = ["lru", "ecr(lru)"];
const BUSY: &str = "--requests 5000 --gap-ns 50000";
const COLLECTING: &str = "--requests 5000 --gap-ns 50000 --set blocks_per_plane=48 --set precondition.trace=false \
    --set precondition.fill=0.95 --set precondition.overwrite=until_gc";

/// Runs on a drive with mapping units, of 104 small blocks a die that are collected.
const DRAINED: [&str; 2] = ["drain(lru)", "drain(fifo)"];
const DRIVE: &str = "--preset enterprise-tlc-1t --requests 5000 --gap-ns 20000 --set blocks_per_plane=104 \
    --set pages_per_block=24 --set precondition.trace=false --set precondition.fill=0.95 \
    --set precondition.overwrite=until_gc";

/// Lines of text that are decoded, 20,000; and formats that are told by 1,000 lines. Of optimised programs alone: the
/// same source takes 6 % more or fewer in those of tests, by how cargo cuts crates into parts.
const READ: [&str; 7] = [
    "msr",
    "csv",
    "json",
    "blkparse",
    "perf-script",
    "biosnoop",
    "etw",
];

/// Relative growth that fails.
const ALLOWED: f64 = 0.05;

const RECORD: &str = "instructions.json";

/// Instructions by what is counted.
type Counts = BTreeMap<String, u64>;
/// Counts by how programs are built, by processor.
type Recorded = BTreeMap<String, BTreeMap<String, Counts>>;

/// Checks of optimised programs: inner loops are no longer than recorded, and compositions that are
/// one static type give the results of those that are built behind pointers.
///
/// # Errors
/// One of it does not hold, or as [`run`].
pub fn optimised(accept: bool) -> Result<()> {
    run(Build::ReleaseBench, accept)?;
    let mut program = Command::new(build(Build::ReleaseBench)?.join("destage-bench"));
    let status = program.arg("static-types").status();
    let status = status.context("cannot start destage-bench")?;
    ensure!(status.success(), "static types differ");
    Ok(())
}

/// Counts and compares, or records with `accept`.
///
/// # Errors
/// A count has grown by more than 5 %, or a program cannot be built or started.
pub fn run(how: Build, accept: bool) -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        if accept {
            bail!("valgrind is needed to count instructions");
        }
        println!("SKIPPED: no valgrind, instructions are not counted");
        return Ok(());
    }
    let folder = build(how)?;
    let counts = count_all(&folder.join("destage-bench"), how)?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORD);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
    let mut recorded: Recorded =
        serde_json::from_str(&text).with_context(|| format!("{RECORD} cannot be read"))?;
    let name = folder.file_name().context("a folder has a name")?;
    let (arch, name) = (std::env::consts::ARCH, name.to_string_lossy());
    if accept {
        let of_arch = recorded.entry(arch.to_owned()).or_default();
        of_arch.insert(name.into_owned(), counts);
        let text = serde_json::to_string_pretty(&recorded)? + "\n";
        return std::fs::write(&path, text).with_context(|| format!("{RECORD} cannot be written"));
    }
    match recorded.get(arch).and_then(|of_arch| of_arch.get(&*name)) {
        Some(before) => compare(before, &counts),
        None => {
            println!("SKIPPED: no counts of {name} are recorded for {arch}");
            Ok(())
        }
    }
}

/// The counted cases: name, and arguments of `destage-bench` whose work `--times` repeats.
fn cases(how: Build) -> Vec<(String, Vec<String>)> {
    const STREAM: &str = "--pages 4096 --accesses 200000 --universe 20000 --writes 70";
    type Group = (&'static str, String, &'static [&'static str]);
    let groups: [Group; 7] = [
        ("cache", format!("cache {STREAM} --scheme"), &CACHED),
        (
            "device",
            "device --requests 5000 --scheme".to_owned(),
            &ON_DEVICE,
        ),
        ("busy device", format!("device {BUSY} --scheme"), &LOADED),
        (
            "collecting device",
            format!("device {COLLECTING} --scheme"),
            &LOADED,
        ),
        ("drive", format!("device {DRIVE} --scheme"), &DRAINED),
        ("reader", "reader --lines 20000 --format".to_owned(), &READ),
        (
            "opening",
            "reader --lines 1000 --detect --format".to_owned(),
            &READ[..3],
        ),
    ];
    let of_group = |(name, command, values): Group| {
        values.iter().map(move |value| {
            let words = format!("{command} {value}");
            (
                format!("{name} {value}"),
                words.split(' ').map(str::to_owned).collect(),
            )
        })
    };
    let counted = match how {
        Build::Tests => 5,
        _ => groups.len(),
    };
    groups
        .into_iter()
        .take(counted)
        .flat_map(of_group)
        .collect()
}

/// All counts, by two processes at a time.
fn count_all(program: &Path, how: Build) -> Result<Counts> {
    let mut counts = Counts::new();
    for (name, arguments) in cases(how) {
        let [once, twice] = std::thread::scope(|scope| {
            let threads = [1, 2].map(|times| {
                let arguments = &arguments;
                scope.spawn(move || count(program, arguments, times))
            });
            threads.map(|thread| thread.join().expect("a thread that does not panic"))
        });
        counts.insert(name, twice? - once?);
    }
    Ok(counts)
}

fn compare(before: &Counts, now: &Counts) -> Result<()> {
    let mut grown = Vec::new();
    for (name, &count) in now {
        let &old = before
            .get(name)
            .with_context(|| format!("{name} is not in {RECORD}: record it with `--accept`"))?;
        let change = count as f64 / old as f64 - 1.0;
        println!(
            "{name:<29} {count:>12} instructions, {:+.2} %",
            100.0 * change
        );
        if change > ALLOWED {
            grown.push(name.as_str());
        }
    }
    if grown.is_empty() {
        return Ok(());
    }
    bail!(
        "more than 5 % more instructions: {}; find out why, or accept them with \
         `--accept` in a commit that says why",
        grown.join(", ")
    )
}

/// Instructions of the whole process.
fn count(program: &Path, arguments: &[String], times: u64) -> Result<u64> {
    let output = Command::new("valgrind")
        .args([
            "--tool=cachegrind",
            "--cache-sim=no",
            "--cachegrind-out-file=/dev/null",
        ])
        .arg(program)
        .args(arguments)
        .args(["--times", &times.to_string()])
        .output()
        .context("cannot start valgrind")?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{} failed under valgrind:\n{text}", arguments.join(" "));
    }
    let line = text
        .lines()
        .filter_map(|l| l.split_once("refs:"))
        .find(|(left, _)| left.contains(" I "));
    let number = line.with_context(|| format!("no count in what valgrind says:\n{text}"))?;
    // Some versions write "I   refs:", others "I refs:".
    let digits = number.1.trim().replace(',', "");
    digits
        .parse()
        .with_context(|| format!("not a count: {digits}"))
}
