//! The steps of `cargo xtask ci` and of `cargo xtask full`. One line a step: name, command, environment.

use crate::programs::{cargo_by_hand, target};
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::Seek;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use wait4::Wait4;

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

/// A program with a copy of the playground compiles, too: here with the page alone, as the engine takes long to build.
const PAGE_ENV: &[(&str, &str)] = &[(
    "DESTAGE_SITE",
    concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/playground/web"),
)];

/// Steps that build, one after the other: each takes all processors.
///
/// Tests are chosen from the whole workspace, never with `-p`: features would be those of the chosen
/// packages then, and much would be built once for each choice. So names of test targets are unique.
const BUILDS: &[Step] = &[
    step("format", "fmt --all --check"),
    step_with(
        PAGE_ENV,
        "clippy",
        "clippy --workspace --all-targets --features destage-cli/playground -- -D warnings",
    ),
    // Without examples: Clippy compiles them, as far as it takes to see that they can be.
    step("build", "test --workspace --lib --bins --tests --no-run"),
];

/// Steps that run, two at a time, as much of them waits or uses one processor: the longest first.
/// Every test target of the workspace belongs to one of them. Fuzz functions run for a second each
/// here, on the same bytes each time.
const CHECKS: &[Step] = &[
    step("commands", "test --workspace --test commands"),
    step("engine", "test --workspace --test engine"),
    step("python", "xtask python"),
    step("memory", "test --workspace --test memory"),
    step("reliability", "test --workspace --test reliability"),
    step("schemes", "test --workspace --test schemes"),
    step("records", "xtask records --checked"),
    step("unit", "test --workspace --lib --bins"),
    step(
        "readers",
        "test --workspace --test readers --test twins --test host_fs_models",
    ),
    step("fits", "test --workspace --test fit --test probe_loop"),
    step(
        "simulator",
        "test --workspace --test simulator --test drives",
    ),
    step("block device", "test --workspace --test live --test lab"),
    step(
        "repository",
        "test --workspace --test repository --test allocations",
    ),
    step("expressions", "test --workspace --test expressions"),
    step("doc tests", "test --workspace --doc"),
];

const DOC_ENV: &[(&str, &str)] = &[("RUSTDOCFLAGS", "-D warnings")];
/// All random cases of the slow models and suites, all examples of documents, and tests in Python that take long or
/// need much: notebooks, Dask, MPI, Slurm.
const FULL_ENV: &[(&str, &str)] = &[("DESTAGE_FULL", "1")];
/// How long each fuzz function runs, as a plain function on stable.
const FUZZ_ENV: &[(&str, &str)] = &[("DESTAGE_FUZZ_SECONDS", "30")];
/// How long hostile clients attack a server, and random ones wait for answers.
const HOSTILE_ENV: &[(&str, &str)] = &[("DESTAGE_HOSTILE_SECONDS", "600")];

/// Power cuts of a test.
const CUTS_ENV: &[(&str, &str)] = &[("DESTAGE_POWER_CUTS", "30000")];

/// Steps that are slow or random, and run before an issue is called resolved, after all steps of
/// `ci`, two at a time like those.
const FULL: &[Step] = &[
    step("packages", "xtask deny"),
    // Without the features that tests switch on.
    step(
        "as shipped",
        "clippy --workspace --features destage-cli/full -- -D warnings",
    ),
    step("as installed", "clippy -p destage-cli -- -D warnings"),
    step_with(
        DOC_ENV,
        "docs",
        "doc --workspace --no-deps --document-private-items",
    ),
    step("torture", "xtask torture --checked --minutes 0.17 --seed 1"),
    // New cases each time; the seed that is printed draws them again.
    step("torture, new", "xtask torture --checked --minutes 2"),
    step("template", "xtask template"),
    step("site", "xtask site --pages"),
    step_with(
        FULL_ENV,
        "engine, all",
        "test --workspace --test engine --test drives",
    ),
    step_with(FULL_ENV, "schemes, all", "test --workspace --test schemes"),
    step_with(
        FULL_ENV,
        "readers, all",
        "test --workspace --test readers -- damaged random_tables",
    ),
    step_with(
        FULL_ENV,
        "simulator, all",
        "test --workspace --test simulator intervals",
    ),
    step_with(
        FULL_ENV,
        "memory, all",
        "test --workspace --test memory converted",
    ),
    step_with(
        FULL_ENV,
        "documents, all",
        "test --workspace --test commands -- documents:: demo:: scheme_table::",
    ),
    step_with(
        FUZZ_ENV,
        "fuzz",
        "test --workspace --lib --test schemes --test expressions fuzz",
    ),
    step_with(FULL_ENV, "python, all", "xtask python"),
    // Packages that draw PNG take long to build.
    step(
        "pictures",
        "test --workspace --features destage-cli/png --lib --test commands picture",
    ),
    step_with(
        HOSTILE_ENV,
        "hostile clients",
        "test --workspace --test commands serve_hostile",
    ),
    step_with(
        HOSTILE_ENV,
        "answers",
        "test --workspace --test commands serve_answers",
    ),
    step_with(
        CUTS_ENV,
        "power cuts",
        "test --workspace --test live -- power_cuts answers",
    ),
    step("benches, small", "xtask bench --small"),
    step(
        "write amplification",
        "test --workspace --test engine waf_tables -- --ignored",
    ),
    step("sheets", "xtask sheets"),
    step("draining", "xtask draining"),
    step_with(
        FULL_ENV,
        "fits, all",
        "test --workspace --test fit --test probe_loop -- --include-ignored",
    ),
    step_with(FULL_ENV, "unit, all", "test --workspace --lib"),
    step("instructions", "xtask instructions"),
    step("optimised", "xtask optimised"),
];

/// Those of them that measure time, and so run alone.
const ALONE: &[Step] = &[
    step(
        "probe and fit",
        "test --workspace --test commands the_values_of_a_served_drive -- --ignored --nocapture",
    ),
    step("playground", "xtask site --check"),
];

/// Checks that run at a time.
const AT_A_TIME: usize = 2;

/// Inputs that are not in the checkout: the variable that says where they are, and the tests that
/// need them.
const INPUTS: [(&str, &str); 6] = [
    ("DESTAGE_TRACES", "tests on real traces"),
    ("DESTAGE_GOLDEN", "tests against agreed miss counts"),
    ("DESTAGE_SPEC", "tests against the worked examples"),
    ("DESTAGE_DRIVES", "tests on tables of measured drives"),
    ("DESTAGE_FS_LAB", "the live run of real file systems"),
    ("DESTAGE_LAB_KERNEL", "real file systems in simulated time"),
];

/// Says which of these variables are not set, and so what does not run.
pub fn note_what_is_skipped(variables: &[&str]) {
    for (variable, what) in INPUTS.iter().filter(|input| variables.contains(&input.0)) {
        if std::env::var_os(variable).is_none() {
            println!("note: {variable} is not set, so {what} are skipped");
        }
    }
}

/// Which steps to run.
#[derive(clap::Args)]
pub struct Options {
    /// Run only the steps whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// Go on after a step that failed.
    #[arg(long)]
    keep_going: bool,
    /// Keep the times of all steps in `xtask/ci-times.txt` under this version, for a release.
    #[arg(long, conflicts_with = "only")]
    record_times: bool,
}

/// Runs the steps, with those of `full` if it is asked for, prints the time of each, and keeps the times in
/// `target/ci-times.txt` or `target/full-times.txt`.
///
/// # Errors
/// A step failed, or none has a name that contains what was asked for.
pub fn run(options: &Options, full: bool) -> Result<()> {
    let (only, keep_going) = (options.only.as_deref(), options.keep_going);
    let wanted = |steps: &'static [Step]| -> Vec<&'static Step> {
        let wanted = |step: &&Step| only.is_none_or(|part| step.name.contains(part));
        steps.iter().filter(wanted).collect()
    };
    let of_full = |steps| if full { wanted(steps) } else { Vec::new() };
    let groups = [
        (1, wanted(BUILDS)),
        (AT_A_TIME, wanted(CHECKS)),
        (AT_A_TIME, of_full(FULL)),
        (1, of_full(ALONE)),
    ];
    if groups.iter().all(|(_, steps)| steps.is_empty()) {
        let all = [BUILDS, CHECKS, FULL, ALONE].into_iter().flatten();
        let names: Vec<&str> = all.map(|s| s.name).collect();
        bail!("no step is called like that; steps: {}", names.join(", "));
    }
    note_what_is_skipped(&INPUTS.map(|input| input.0));
    let start = Instant::now();
    let mut done = Vec::new();
    for (at_a_time, steps) in groups {
        if keep_going || done.iter().all(|step: &Done| step.ok) {
            done.extend(run_steps(&steps, at_a_time, keep_going)?);
        }
    }
    let name = if full { "full" } else { "ci" };
    let times = report(&done, start.elapsed(), name)?;
    if options.record_times {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("ci-times.txt");
        let title = format!("{name} {}", env!("CARGO_PKG_VERSION"));
        let before = std::fs::read_to_string(&file).unwrap_or_default();
        std::fs::write(&file, with_section(&before, &title, &times))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

/// The sections of `text` with one in front, in place of that with the same title.
fn with_section(text: &str, title: &str, section: &str) -> String {
    let others = text.split("# ").skip(1);
    let others = others.filter(|other| !other.starts_with(&format!("{title}\n")));
    let others: String = others.map(|other| format!("# {other}")).collect();
    format!("# {title}\n{section}{others}")
}

/// Runs steps, so many at a time, in this order.
fn run_steps(steps: &[&'static Step], at_a_time: usize, keep_going: bool) -> Result<Vec<Done>> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done = Mutex::new(Vec::new());
    let worker = || -> Result<()> {
        while keep_going || !failed.load(Ordering::Relaxed) {
            let Some(step) = steps.get(next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            // The output of a step stays together: it is shown when the step is over.
            let shown_at_once = at_a_time == 1;
            if shown_at_once {
                println!("\n== {}", step.name);
            }
            let mut output = tempfile::tempfile()?;
            let step = run_step(step, (!shown_at_once).then_some(&output))?;
            failed.fetch_or(!step.ok, Ordering::Relaxed);
            let mut done = done.lock().expect("no step panics");
            if !shown_at_once {
                println!("\n== {}", step.name);
                output.rewind()?;
                std::io::copy(&mut output, &mut std::io::stdout())?;
            }
            done.push(step);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..at_a_time).map(|_| scope.spawn(worker)).collect();
        let ends = workers
            .into_iter()
            .map(|w| w.join().expect("no step panics"));
        ends.collect::<Result<()>>()
    })?;
    Ok(done.into_inner().expect("no step panics"))
}

/// A step that was run.
struct Done {
    name: &'static str,
    /// By the clock.
    time: Duration,
    /// Of processors, of all processes of the step.
    processor: Duration,
    ok: bool,
}

/// Runs a step, with what it prints in `output` if there is any.
fn run_step(step: &Step, output: Option<&File>) -> Result<Done> {
    let mut command = cargo_by_hand();
    command
        .args(step.args.split(' '))
        .envs(step.env.iter().copied());
    if let Some(output) = output {
        command.stdout(output.try_clone()?);
        command.stderr(output.try_clone()?);
    }
    let start = Instant::now();
    let end = command
        .spawn()
        .and_then(Wait4::wait4)
        .with_context(|| format!("cannot start step {}", step.name))?;
    Ok(Done {
        name: step.name,
        time: start.elapsed(),
        processor: end.rusage.utime + end.rusage.stime,
        ok: end.status.success(),
    })
}

/// Shows the times of steps and keeps them. Gives their text if all passed.
fn report(steps: &[Done], total: Duration, name: &str) -> Result<String> {
    let mut text = String::new();
    for step in steps {
        let word = if step.ok { "ok" } else { "FAILED" };
        text += &times(step.name, step.time, step.processor, word);
    }
    let processor = steps.iter().map(|step| step.processor).sum();
    text += &times("total", total, processor, "");
    print!("\n== times: by the clock, of processors\n{text}");
    let file = target().join(format!("{name}-times.txt"));
    std::fs::write(&file, &text).with_context(|| format!("cannot write {}", file.display()))?;
    let failed: Vec<&str> = steps.iter().filter(|s| !s.ok).map(|s| s.name).collect();
    if failed.is_empty() {
        Ok(text)
    } else {
        bail!("failed: {}", failed.join(", "))
    }
}

fn times(name: &str, time: Duration, processor: Duration, word: &str) -> String {
    let [time, processor] = [time, processor].map(|t| t.as_secs_f64());
    format!("{name:<16} {time:>7.1} s {processor:>7.1} s  {word}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Does a step run this test target?
    fn is_run(target: &str) -> bool {
        CHECKS.iter().any(|step| {
            let words: Vec<&str> = step.args.split(' ').collect();
            words.windows(2).any(|pair| pair == ["--test", target])
        })
    }

    /// Names of the test targets of the crate in this folder of `crates`, sorted.
    fn test_targets(package: &str) -> Result<Vec<String>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = folder.join("../crates").join(package).join("tests");
        let mut targets = Vec::new();
        for file in std::fs::read_dir(&folder).with_context(|| format!("no tests of {package}"))? {
            let path = file?.path();
            // A target is a file, or a folder with modules.
            if path.extension().is_some_and(|e| e == "rs") || path.join("main.rs").is_file() {
                let stem = path.file_stem().context("a file without a name")?;
                targets.push(stem.to_string_lossy().into_owned());
            }
        }
        targets.sort();
        Ok(targets)
    }

    #[test]
    fn a_version_has_one_section() {
        let one = with_section("", "ci 0.1.0", "total 9 s\n");
        let two = with_section(&one, "ci 0.2.0", "total 8 s\n");
        let again = with_section(&two, "ci 0.1.0", "total 7 s\n");
        assert_eq!(two, "# ci 0.2.0\ntotal 8 s\n# ci 0.1.0\ntotal 9 s\n");
        assert_eq!(again, "# ci 0.1.0\ntotal 7 s\n# ci 0.2.0\ntotal 8 s\n");
    }

    #[test]
    fn every_test_target_belongs_to_a_step_and_has_a_name_of_its_own() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        let mut names = BTreeSet::new();
        for package in std::fs::read_dir(crates).expect("the workspace") {
            let package = package.expect("a readable folder");
            if !package.path().join("tests").is_dir() {
                continue;
            }
            let package = package.file_name().to_string_lossy().into_owned();
            for target in test_targets(&package).expect("a readable folder") {
                assert!(is_run(&target), "no step runs {target} of {package}");
                assert!(!names.contains(&target), "two targets are called {target}");
                names.insert(target);
            }
        }
        assert!(names.len() > 10, "only {} targets were found", names.len());
    }

    #[test]
    fn every_step_with_tests_has_the_features_of_the_workspace() {
        for step in BUILDS
            .iter()
            .chain(CHECKS)
            .chain(FULL)
            .chain(ALONE)
            .filter(|s| s.args.starts_with("test "))
        {
            assert!(step.args.starts_with("test --workspace "), "{}", step.name);
        }
    }
}
