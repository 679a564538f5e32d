//! `destage sweep`: any number of shares in any order give the same bytes, and what goes wrong is said and leaves
//! nothing that counts as done.

use crate::common::{Bench, Done, csv, mixed, objects};
use serde_json::Value;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Output};

/// Two traces, three schemes, two sizes; seeds without a device, times of reads on two.
const GRID: &str = "trace = ['a.csv', 'b.csv']\nscheme = ['lru', 'fifo', 'arc']\ncache = ['40KiB', '80KiB']\n\
                    [[run]]\nseed = [1, 2]\n\
                    [[run]]\ndevice = ['default', 'ecr-64g']\nset = [['t_read=20us'], ['t_read=40us']]\n";
const RUNS: usize = 2 * 3 * 2 * (2 + 2 * 2);

fn bench(grid: &str) -> Bench {
    let bench = Bench::new();
    bench.file("a.csv", mixed(400));
    bench.file("b.csv", mixed(150));
    bench.file("s.toml", grid);
    bench
}

/// The files of batches.
fn batches(bench: &Bench, out: &str) -> Vec<PathBuf> {
    let parts = fs::read_dir(bench.path(out).join("batches"));
    let parts = parts.map(|parts| parts.map(|part| part.unwrap().path()));
    let files = parts
        .into_iter()
        .flatten()
        .flat_map(|part| fs::read_dir(part).unwrap().map(|file| file.unwrap().path()));
    files.collect()
}

fn sweep(bench: &Bench, options: &str) -> Done {
    bench.destage(format!("sweep s.toml {options}"))
}

#[test]
fn any_shares_in_any_order_give_the_same_bytes() {
    let bench = bench(GRID);
    sweep(&bench, "--out whole --format-out csv").ok();
    let plan = sweep(&bench, "--out shares --batch 5 --plan").ok();
    plan.shows(format!("{RUNS} runs over 2 traces in"));
    plan.shows("0 of which are done");
    for number in [3, 1, 2] {
        let done = sweep(&bench, &format!("--out shares --shard {number}/3 --jobs 1")).ok();
        assert_eq!(done.stdout, "", "a share shows no results");
        if number != 2 {
            let early = bench.destage("sweep --out shares --merge");
            early.fails(1, &["are not done, the first is number"]);
        }
    }
    let cache = "--out cached --batch 1 --trace-cache machine --jobs 2";
    sweep(&bench, cache).ok();
    let merged = bench
        .destage("sweep --out shares --merge --format-out csv")
        .ok();
    merged.shows("ecr-64g  t_read=40us");
    for file in ["results.jsonl", "results.csv"] {
        assert!(bench.read(format!("shares/{file}")) == bench.read(format!("whole/{file}")));
    }
    assert!(bench.read("cached/results.jsonl") == bench.read("whole/results.jsonl"));
    assert!(batches(&bench, "whole").len() < batches(&bench, "shares").len());
    assert_eq!(batches(&bench, "cached").len(), RUNS);
    let costs = bench.read("shares/costs.csv");
    assert_eq!(costs.lines().count(), 1 + RUNS);
    assert!(costs.starts_with("key,trace,scheme,cache_bytes,wall_s,cpu_s,threads,host\n"));
    let again = sweep(&bench, "--out whole").ok();
    again.says("batches are done already (--fresh repeats them)");
}

/// A record without what depends on who asks: where settings come from, and what it cost.
fn plain(mut record: Value) -> Value {
    record.as_object_mut().unwrap().remove("run");
    for setting in record["config"].as_array_mut().unwrap() {
        setting.as_object_mut().unwrap().remove("origin");
    }
    record
}

#[test]
fn a_sweep_gives_the_records_of_its_runs() {
    let grid = "trace = 'a.csv'\nscheme = ['lru', 'cac(arc)', 'none']\ncache = ['40KiB', '80KiB']\n\
                host-fs = ['lfs', 'inplace']\nlimit = 300\nwarmup = ['10%', 7]\n";
    let bench = bench(grid);
    sweep(&bench, "--out o").ok();
    let swept: Vec<Value> = objects(&bench.read("o/results.jsonl"))
        .into_iter()
        .map(plain)
        .collect();
    let mut runs = Vec::new();
    for fs in ["lfs", "inplace"] {
        for warmup in ["10%", "7"] {
            let schemes =
                "--scheme lru --scheme cac(arc) --scheme none --cache 40KiB --cache 80KiB";
            let line = format!("run a.csv --host-fs {fs} --limit 300 --warmup {warmup} {schemes}");
            runs.extend(bench.records(line).into_iter().map(plain));
        }
    }
    assert_eq!(swept.len(), 2 * 2 * 5);
    assert_eq!(swept, runs);
    // A record of a sweep has only the key in `run`, and the sweep file as origin of its settings.
    for record in objects(&bench.read("o/results.jsonl")) {
        let run = record["run"].as_object().unwrap();
        assert!(run.keys().eq(["key"]) && run["key"].as_str().unwrap().len() == 64);
        let limit = record["config"].as_array().unwrap();
        let limit = limit.iter().find(|entry| entry["key"] == "limit").unwrap();
        assert_eq!(limit["origin"], "run file s.toml");
    }
}

#[test]
fn bad_sweep_files_are_refused() {
    // Lines of the file stand between semicolons.
    let cases = r#"
        scheme = 'lru' | s.toml: no trace given
        trace = '-' | s.toml:1: trace = "-": standard input is no trace of a sweep
        trace = true | s.toml:1: trace = true: a text, a number or a list
        trace = 'a.csv'; schem = 'lru' | s.toml:2: schem = "lru": no option `schem`; did you mean `scheme`?
        trace = 'a.csv'; jobs = 3 | s.toml:2: jobs = 3: `jobs` is not a key of a sweep file
        trace = 'a.csv'; log-requests = 'x' | s.toml:2: log-requests = "x": `log-requests` is not a key of a sweep file
        trace = 'a.csv'; seed = [] | s.toml:2: seed = []: the list is empty; it needs at least one value
        trace = 'a.csv'; seed = [1, 'x'] | s.toml:2: seed = "x": allowed: a whole number from 0 to
        trace = 'a.csv'; scheme = ['lru', 'lur'] | s.toml:2: scheme: cannot compose lur: unknown scheme
        trace = 'a.csv'; volumes = ['stack', 'split'] | s.toml:2: volumes = "split": a sweep knows its runs before
        trace = 'a.csv'; device = ['none', 'default']; addresses = 'fit' | s.toml:3: addresses needs a device
        trace = ['a.csv', 'none.csv'] | s.toml:1: trace: /
        trace = 's3://bucket/a.csv' | s.toml:1: trace: s3://bucket/a.csv is an address: the Python package fetches it
        trace = 'a.csv'; [sha256]; 'b.csv' = 'x' | s.toml:3: [sha256]: `b.csv` is no trace of the sweep
        trace = 'a.csv'; [sha256]; 'a.csv' = 'x' | and [sha256] says x
        [[run]]; trace = 'a.csv'; [[run]]; seed = 1 | s.toml:3: no trace given
        trace = | s.toml: TOML parse error at line 1
    "#;
    for case in cases.lines().map(str::trim).filter(|case| !case.is_empty()) {
        let (file, part) = case.split_once(" | ").unwrap();
        let bench = bench(&file.replace("; ", "\n"));
        sweep(&bench, "--out o").fails(2, &[part]);
        assert!(!bench.path("o/manifest.jsonl").exists(), "{case}");
    }
    bench(GRID).refuses(
        "sweep --out o | SWEEP.toml
         sweep s.toml | --out
         sweep s.toml --out o --shard 0/3 | allowed: I/N with I from 1 to N
         sweep s.toml --out o --shard 4/3 | allowed: I/N
         sweep s.toml --out o --shard 1/3 --merge | cannot be used with
         sweep s.toml --out o --batch 0 | neither a number of runs nor a time such as 30s
         sweep none.toml --out o | none.toml
         sweep s.toml --out s.toml | cannot write there
         sweep --merge --out o | no sweep is there",
    );
}

#[test]
fn a_folder_has_one_sweep() {
    let bench = bench(GRID);
    sweep(&bench, "--out o").ok();
    let before = bench.read("o/results.jsonl");
    bench.file("s.toml", GRID.replace("arc", "lirs"));
    for options in ["--out o", "--out o --shard 1/2", "--out o --plan"] {
        sweep(&bench, options).fails(2, &["another sweep is there, s.toml; name another folder"]);
    }
    // The same text under another name says another origin in its records.
    bench.file("other.toml", GRID);
    let other = bench.destage("sweep other.toml --out o");
    other.fails(2, &["another sweep is there, s.toml"]);
    let manifest = bench.read("o/manifest.jsonl");
    let old = manifest.replacen("\"program\":\"", "\"program\":\"0.0.1+", 1);
    bench.file("o/manifest.jsonl", old);
    bench.file("s.toml", GRID);
    sweep(&bench, "--out o").fails(2, &["was begun by destage 0.0.1+", "are not mixed"]);
    bench.file("o/manifest.jsonl", &manifest[..manifest.len() - 3]);
    sweep(&bench, "--out o").fails(2, &["manifest.jsonl: line "]);
    let lines = manifest.lines().count();
    let cut: Vec<&str> = manifest.lines().take(lines - 1).collect();
    bench.file("o/manifest.jsonl", cut.join("\n") + "\n");
    let part = format!("has {} of its {} batches", lines - 2, lines - 1);
    sweep(&bench, "--out o").fails(2, &[&part]);
    let key = manifest.lines().nth(1).unwrap().split('"').nth(3).unwrap();
    let outside = manifest.replace(key, "../../../../../../../../etc/passwd");
    bench.file("o/manifest.jsonl", outside);
    sweep(&bench, "--out o").fails(2, &["line 2: no batch of this sweep"]);
    bench.file("o/manifest.jsonl", "{}\n");
    sweep(&bench, "--out o").fails(2, &["not that of a sweep"]);
    bench.file("o/manifest.jsonl", manifest);
    bench.file("s.toml", GRID.replace("arc", "lirs"));
    sweep(&bench, "--out o --fresh").ok();
    let after = bench.read("o/results.jsonl");
    assert!(before != after && after.contains("lirs") && !after.contains("\"arc\""));
    assert_eq!(after.lines().count(), RUNS);
    // Neither command writes into the results of the other.
    let run = bench.destage("run a.csv --out o");
    run.fails(2, &["the results of `destage sweep` are there"]);
    bench.destage("run a.csv --out runs").ok();
    let runs = bench.read("runs/results.jsonl");
    let into = bench.destage("sweep s.toml --out runs");
    into.fails(2, &["results.jsonl that no manifest of a sweep names"]);
    assert!(bench.read("runs/results.jsonl") == runs && bench.read("o/results.jsonl") == after);
}

#[test]
fn two_commands_in_one_folder_are_told_apart() {
    let bench = bench(GRID);
    sweep(&bench, "--out o --plan").ok();
    let lock = |name: &str| {
        File::options()
            .append(true)
            .create(true)
            .open(bench.path("o").join(name))
    };
    // As a command that does all of it.
    let held = lock(".destage.lock").unwrap();
    held.lock().unwrap();
    sweep(&bench, "--out o").fails(2, &["another destage works there"]);
    sweep(&bench, "--out o --fresh").fails(2, &["another destage works there"]);
    let all = "another destage works on all of it there";
    sweep(&bench, "--out o --shard 1/2").fails(2, &[all]);
    // As one that does a share.
    held.unlock().unwrap();
    held.lock_shared().unwrap();
    let share = lock(".destage-shard-1-of-2.lock").unwrap();
    share.lock().unwrap();
    sweep(&bench, "--out o").fails(2, &["another destage works there"]);
    let same = "another destage works on shard 1/2 there; wait for it";
    sweep(&bench, "--out o --shard 1/2").fails(2, &[same]);
    sweep(&bench, "--out o --shard 2/2").ok();
    bench
        .destage("run a.csv --out o")
        .fails(2, &["another destage writes there"]);
    drop((held, share));
    sweep(&bench, "--out o").ok();
}

#[test]
fn a_worker_without_the_trace_says_so() {
    let bench = bench(GRID);
    fs::create_dir(bench.path("elsewhere")).unwrap();
    sweep(&bench, "--out o --plan").ok();
    let missing = &[
        "has no trace a.csv: there is no ",
        "elsewhere/a.csv; --trace-dir says where",
    ];
    sweep(&bench, "--out o --trace-dir elsewhere").fails(2, missing);
    sweep(&bench, "--out o --trace-dir none").fails(2, &["--trace-dir none: "]);
    assert!(batches(&bench, "o").is_empty());
    bench.file("a.csv", mixed(401));
    let other = &["a.csv: not the trace that the sweep was planned with: its SHA-256 is"];
    sweep(&bench, "--out o --trace-cache machine").fails(2, other);
    let failed = sweep(&bench, "--out o");
    failed.says("a.csv: not the trace that the sweep was planned with");
    // The batches over the other trace are done.
    failed.fails(1, &["batches failed; the others are done"]);
    let records = batches(&bench, "o");
    let records = records
        .iter()
        .flat_map(|path| objects(&fs::read_to_string(path).unwrap()));
    let names: Vec<Value> = records.map(|r| r["trace"]["name"].clone()).collect();
    assert!(names.len() == RUNS / 2 && names.iter().all(|name| name == "b"));
}

#[test]
fn a_machine_copies_a_trace_once() {
    let bench = bench(GRID);
    sweep(&bench, "--out whole").ok();
    sweep(&bench, "--out o --batch 5 --plan").ok();
    sweep(&bench, "--out o --shard 1/2 --trace-cache machine").ok();
    // From now on the machine has no other copy.
    fs::remove_file(bench.path("a.csv")).unwrap();
    fs::remove_file(bench.path("b.csv")).unwrap();
    let shard = "--out o --shard 2/2 --trace-cache machine";
    let hashes: Vec<PathBuf> = fs::read_dir(bench.path("machine"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(hashes.len(), 2);
    let cached = hashes.iter().map(|hash| hash.join("a.csv"));
    let cached = cached.into_iter().find(|path| path.exists()).unwrap();
    let bytes = fs::read(&cached).unwrap();
    fs::write(&cached, [&bytes[..], b"# more\n"].concat()).unwrap();
    for file in fs::read_dir(cached.parent().unwrap()).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|end| end == "decoded") {
            fs::remove_file(path).unwrap();
        }
    }
    let damaged = sweep(&bench, shard);
    damaged.says("not the trace that the sweep was planned with");
    damaged.fails(1, &["failed"]);
    fs::write(&cached, &bytes).unwrap();
    sweep(&bench, shard).ok();
    bench.destage("sweep --out o --merge").ok();
    assert!(bench.read("o/results.jsonl") == bench.read("whole/results.jsonl"));
}

#[test]
fn batches_are_what_was_planned() {
    let bench = bench("trace = 'a.csv'\ndevice = 'd.toml'\ncache = '40KiB'\nseed = [1, 2, 3]\n");
    bench.file("d.toml", "base = \"default\"\nt_read = \"20us\"\n");
    sweep(&bench, "--out o --batch 1").ok();
    let results = bench.read("o/results.jsonl");
    let files = batches(&bench, "o");
    assert_eq!(files.len(), 3);
    let text = fs::read_to_string(&files[0]).unwrap();
    let others = fs::read_to_string(&files[1]).unwrap();
    for (damaged, why) in [
        (&text[..text.len() / 2], "no result record"),
        ("", "not the 1 records of batch"),
        (&*others, "not the 1 records of batch"),
    ] {
        fs::write(&files[0], damaged).unwrap();
        let merge = bench.destage("sweep --out o --merge");
        merge.fails(2, &[why, "remove the file, and run the sweep again"]);
        assert!(bench.read("o/results.jsonl") == results);
    }
    fs::remove_file(&files[0]).unwrap();
    bench.file("d.toml", "base = \"default\"\nt_read = \"30us\"\n");
    let changed = sweep(&bench, "--out o");
    changed.says("differs from the planned sweep: a device file was changed");
    changed.fails(1, &["1 of 1 batches failed"]);
    bench.file("d.toml", "base = \"default\"\nt_read = \"20us\"\n");
    sweep(&bench, "--out o").ok();
    assert!(bench.read("o/results.jsonl") == results);
}

#[test]
fn what_fails_leaves_the_others_alone() {
    // A write beyond the device, and a warm-up that is all of the short trace.
    let bench = bench(
        "trace = ['a.csv', 'b.csv', 'c.csv']\ndevice = 'default'\nwarmup = 200\naddresses = 'refuse'\n\
         scheme = ['lru', 'fifo']\n",
    );
    let far = "W9000000 ".repeat(300);
    bench.file("c.csv", csv(&far));
    let failed = sweep(&bench, "--out o");
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    failed.says("error: b: a warm-up of 200 requests covers the trace of 150 requests");
    failed.says("error: c, lru, 16MiB: request 0 of the trace ends at sector 72000007, beyond");
    failed.says("see the 2 errors above");
    failed.says("2 runs in o/results.jsonl");
    assert_eq!(batches(&bench, "o").len(), 3);
    let names = |record: &Value| record["trace"]["name"].clone();
    let records = objects(&bench.read("o/results.jsonl"));
    assert_eq!(records.iter().map(names).collect::<Vec<_>>(), ["a", "a"]);
    // A trace that cannot be read is none of the sweep's results: the machine may lack it.
    fs::remove_file(bench.path("b.csv")).unwrap();
    sweep(&bench, "--out p").fails(2, &["b.csv"]);
}

/// Runs a shell script in the folder of `bench` with a file system of `bytes` bytes of its own at `place`; `None` where
/// that cannot be mounted.
pub fn on_small_disk(bench: &Bench, place: &str, bytes: usize, script: &str) -> Option<Output> {
    fs::create_dir(bench.path(place)).unwrap();
    let script = format!("mount -t tmpfs -o size={bytes} none {place} || exit 77\n{script}");
    let unshared = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", &script])
        .current_dir(bench.dir.path())
        .output();
    match unshared {
        Ok(output) if output.status.success() => Some(output),
        Ok(output) if output.status.code().is_some_and(|code| code < 10) => {
            panic!("{output:?}")
        }
        other => {
            eprintln!("SKIPPED: no file system of one's own can be mounted: {other:?}");
            None
        }
    }
}

/// A folder of 256 KiB: all of it is there, or nothing counts as done. Needs a mount of its own.
#[test]
fn a_full_disk_is_no_end() {
    let bench = bench(GRID);
    sweep(&bench, "--out whole").ok();
    let program = env!("CARGO_BIN_EXE_destage");
    let script = format!(
        "{program} sweep s.toml --out o --batch 3 && exit 1\n\
         find o -name '*-tmp' | grep . && exit 2\n\
         cp -r o left\n"
    );
    let Some(output) = on_small_disk(&bench, "o", 256 << 10, &script) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("No space left on device"), "{said}");
    let done = batches(&bench, "left").len();
    assert!(done > 0, "{said}");
    // The files there are whole: elsewhere the sweep goes on from them.
    let on = sweep(&bench, "--out left --batch 3").ok();
    on.says(format!(
        "{done} of {} batches are done already",
        batches(&bench, "left").len()
    ));
    assert!(bench.read("left/results.jsonl") == bench.read("whole/results.jsonl"));
}
