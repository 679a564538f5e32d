//! `cargo xtask instructions`: a change that makes the inner loops 5 % longer is noticed before it
//! lands. Instructions do not depend on the load of the machine as times do; they are counted by
//! valgrind, without which the check is skipped and says so.

use crate::programs::{Build, build};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// What is counted: name, and arguments of `destage-bench` whose work `--times` repeats.
const BENCHES: [(&str, &str); 2] = [
    (
        "cache lru",
        "cache --scheme lru --pages 4096 --accesses 200000 --universe 20000 --writes 70",
    ),
    ("device lru", "device --scheme lru --requests 5000"),
];

/// Repetitions of the longer run; the shorter one does the work once.
const TIMES: u64 = 4;

/// Relative growth that fails.
const ALLOWED: f64 = 0.05;

const RECORD: &str = "instructions.json";

/// Counts and compares, or records with `accept`.
///
/// # Errors
/// A count has grown by more than 5 %, nothing is recorded for this processor, or a program cannot
/// be built or started.
pub fn run(accept: bool) -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        if accept {
            bail!("valgrind is needed to count instructions");
        }
        println!("SKIPPED: no valgrind, instructions are not counted");
        return Ok(());
    }
    let program = build(Build::ReleaseBench)?.join("destage-bench");
    let mut counts = BTreeMap::new();
    let counted = std::thread::scope(|scope| {
        let threads = BENCHES.map(|(_, args)| scope.spawn(|| count_one(&program, args)));
        threads.map(|thread| thread.join().expect("a thread that does not panic"))
    });
    for ((name, _), count) in BENCHES.into_iter().zip(counted) {
        counts.insert(name.to_owned(), count?);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORD);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
    let mut recorded: BTreeMap<String, BTreeMap<String, u64>> =
        serde_json::from_str(&text).with_context(|| format!("{RECORD} cannot be read"))?;
    if accept {
        recorded.insert(std::env::consts::ARCH.to_owned(), counts);
        let text = serde_json::to_string_pretty(&recorded)? + "\n";
        std::fs::write(&path, text).with_context(|| format!("{RECORD} cannot be written"))?;
        return Ok(());
    }
    let Some(before) = recorded.get(std::env::consts::ARCH) else {
        println!(
            "SKIPPED: no counts are recorded for {}",
            std::env::consts::ARCH
        );
        return Ok(());
    };
    compare(before, &counts)
}

fn compare(before: &BTreeMap<String, u64>, now: &BTreeMap<String, u64>) -> Result<()> {
    let mut grown = Vec::new();
    for (name, &count) in now {
        let &old = before.get(name).with_context(|| {
            format!("{name} is not in {RECORD}: cargo xtask instructions --accept")
        })?;
        let change = count as f64 / old as f64 - 1.0;
        println!(
            "{name:<12} {count:>12} instructions, {:+.2} %",
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
         `cargo xtask instructions --accept` in a commit that says why",
        grown.join(", ")
    )
}

/// `cargo xtask static-types`: do compositions of one static type give the results of those that are built
/// behind pointers, as tests build all?
///
/// # Errors
/// They do not, or the program cannot be built or started.
pub fn static_types() -> Result<()> {
    let mut program = Command::new(build(Build::ReleaseBench)?.join("destage-bench"));
    let status = program.arg("static-types").status();
    let status = status.context("cannot start destage-bench")?;
    ensure!(status.success(), "static types differ");
    Ok(())
}

/// Instructions of doing the work of `args` once.
fn count_one(program: &Path, args: &str) -> Result<u64> {
    let (once, often) = (count(program, args, 1)?, count(program, args, TIMES)?);
    Ok((often - once) / (TIMES - 1))
}

/// Instructions of the whole process.
fn count(program: &Path, args: &str, times: u64) -> Result<u64> {
    let output = Command::new("valgrind")
        .args([
            "--tool=cachegrind",
            "--cache-sim=no",
            "--cachegrind-out-file=/dev/null",
        ])
        .arg(program)
        .args(args.split(' '))
        .args(["--times", &times.to_string()])
        .output()
        .context("cannot start valgrind")?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{args} failed under valgrind:\n{text}");
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
