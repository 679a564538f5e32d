//! The steps of `cargo xtask ci`. One line a step: name, command, environment.

use anyhow::{Context, Result, bail};
use std::process::Command;
use std::time::{Duration, Instant};

struct Step {
    name: &'static str,
    /// Arguments of cargo, separated by spaces.
    args: &'static str,
    env: &'static [(&'static str, &'static str)],
}

const fn step(name: &'static str, args: &'static str) -> Step {
    let env = &[];
    Step { name, args, env }
}

const fn step_with(
    env: &'static [(&'static str, &'static str)],
    name: &'static str,
    args: &'static str,
) -> Step {
    Step { name, args, env }
}

const DOC_ENV: &[(&str, &str)] = &[("RUSTDOCFLAGS", "-D warnings")];
/// Each fuzz target runs this long, as a plain function on stable.
const FUZZ_ENV: &[(&str, &str)] = &[("DESTAGE_FUZZ_SECONDS", "5")];

/// In the order of their cost; every test target of the workspace belongs to one of them.
const STEPS: &[Step] = &[
    step("format", "fmt --all --check"),
    step("clippy", "clippy --workspace --all-targets -- -D warnings"),
    step_with(
        DOC_ENV,
        "docs",
        "doc --workspace --no-deps --document-private-items",
    ),
    step("unit", "test --workspace --lib --bins"),
    step("doc tests", "test --workspace --doc"),
    step("readers", "test -p destage-trace --test *"),
    step("expressions", "test -p destage-scheme --test *"),
    step("simulator", "test -p destage-sim --test *"),
    step("models", "test -p destage-conformance --test reference_*"),
    step(
        "worked examples",
        "test -p destage-conformance --test vectors --test timed --test real_traces",
    ),
    step(
        "conformance",
        "test -p destage-conformance --test suite --test options --test allocations \
         --test architecture",
    ),
    step(
        "laws",
        "test -p destage-conformance --test laws --test zero_latency --test unwatched",
    ),
    step(
        "differential",
        "test -p destage-conformance --test differential --test device_model",
    ),
    step(
        "flash engine",
        "test -p destage-conformance --test nand_engine --test peers --test gc_runs \
         --test monitor --test multi_plane --test cache_region",
    ),
    step("golden", "test -p destage-conformance --test golden"),
    step("command line", "test -p destage-cli --test *"),
    step_with(FUZZ_ENV, "fuzz readers", "test -p destage-trace --lib fuzz"),
    step_with(
        FUZZ_ENV,
        "fuzz expressions",
        "test -p destage-scheme --test expression_fuzz",
    ),
    step_with(
        FUZZ_ENV,
        "fuzz schemes",
        "test -p destage-conformance --test fuzz",
    ),
    step("benches, small", "xtask bench --small"),
    step("instructions", "xtask instructions"),
];

/// Runs the steps in order and prints the time of each.
///
/// # Errors
/// A step failed, or none has a name that contains `only`.
pub fn run(only: Option<&str>, keep_going: bool) -> Result<()> {
    let steps: Vec<&Step> = STEPS
        .iter()
        .filter(|s| only.is_none_or(|part| s.name.contains(part)))
        .collect();
    if steps.is_empty() {
        let names: Vec<&str> = STEPS.iter().map(|s| s.name).collect();
        bail!("no step is called like that; steps: {}", names.join(", "));
    }
    for (variable, what) in [
        ("DESTAGE_TRACES", "tests on real traces"),
        ("DESTAGE_GOLDEN", "tests against agreed miss counts"),
        ("DESTAGE_SPEC", "tests against the worked examples"),
        ("DESTAGE_FS_LAB", "the live run of real file systems"),
    ] {
        if std::env::var_os(variable).is_none() {
            println!("note: {variable} is not set, so {what} are skipped");
        }
    }
    let mut times: Vec<(&str, Duration, bool)> = Vec::new();
    for step in &steps {
        println!("\n== {}", step.name);
        let start = Instant::now();
        let ok = run_step(step)?;
        times.push((step.name, start.elapsed(), ok));
        if !ok && !keep_going {
            break;
        }
    }
    report(&times)
}

fn run_step(step: &Step) -> Result<bool> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(step.args.split(' '))
        .envs(step.env.iter().copied())
        .status()
        .with_context(|| format!("cannot start step {}", step.name))?;
    Ok(status.success())
}

fn report(times: &[(&str, Duration, bool)]) -> Result<()> {
    println!("\n== times");
    for (name, time, ok) in times {
        let word = if *ok { "ok" } else { "FAILED" };
        println!("{name:<16} {:>7.1} s  {word}", time.as_secs_f64());
    }
    let total: Duration = times.iter().map(|t| t.1).sum();
    println!("{:<16} {:>7.1} s", "total", total.as_secs_f64());
    let failed: Vec<&str> = times.iter().filter(|t| !t.2).map(|t| t.0).collect();
    if failed.is_empty() {
        Ok(())
    } else {
        bail!("failed: {}", failed.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::STEPS;
    use std::path::Path;

    /// Does a step run this test target of this package?
    fn is_run(package: &str, target: &str) -> bool {
        let asked = |words: &[&str]| words.iter().any(|w| *w == target || *w == "*");
        let prefix = |words: &[&str]| {
            let stems = words.iter().filter_map(|w| w.strip_suffix('*'));
            stems.into_iter().any(|stem| target.starts_with(stem))
        };
        STEPS.iter().any(|step| {
            let words: Vec<&str> = step.args.split(' ').collect();
            words.contains(&package) && (asked(&words) || prefix(&words))
        })
    }

    #[test]
    fn every_test_target_belongs_to_a_step() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut targets = 0;
        for package in std::fs::read_dir(root.join("crates")).expect("the workspace") {
            let package = package.expect("a readable folder");
            let name = format!("destage-{}", package.file_name().to_string_lossy());
            let Ok(files) = std::fs::read_dir(package.path().join("tests")) else {
                continue;
            };
            for file in files {
                let path = file.expect("a readable folder").path();
                if path.extension().is_some_and(|e| e == "rs") {
                    let target = path.file_stem().expect("a name").to_string_lossy();
                    assert!(is_run(&name, &target), "no step runs {target} of {name}");
                    targets += 1;
                }
            }
        }
        assert!(targets > 20, "only {targets} test targets were found");
    }
}
