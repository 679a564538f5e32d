//! The promises of docs/RELIABILITY.md about outputs: whatever ends a command, files are old or
//! complete, and the same command goes on.
//!
//! `DESTAGE_KILLS=200` kills that often for each kind of output; the default is a few times.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder with a trace `t.csv` of `requests`.
fn folder(requests: u32) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let line = format!("trace synth common --requests {requests} -o t.csv");
    assert!(run(folder.path(), &line).status.success());
    folder
}

fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("destage"));
    command.args(line.split_whitespace()).current_dir(folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(folder: &Path, line: &str) -> Output {
    command(folder, line).output().unwrap()
}

#[track_caller]
fn succeeds(folder: &Path, line: &str) {
    let output = run(folder, line);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {said}");
}

#[track_caller]
fn fails(folder: &Path, line: &str, code: i32, part: &str) {
    let output = run(folder, line);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{line}: {said}");
    assert!(said.contains(part), "{line}: {said}");
}

/// Contents of all files, hidden ones too, but for the lock.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => all.extend(
                contents(&entry.path())
                    .into_iter()
                    .map(|(n, c)| (format!("{name}/{n}"), c)),
            ),
            false if name == ".destage.lock" => {}
            false => _ = all.insert(name, fs::read(entry.path()).unwrap()),
        }
    }
    all
}

/// The records that a command left that nothing could stop but SIGKILL: the beginning of a line may
/// stand behind them.
fn records_left(journal: &Path) -> Vec<Value> {
    let text = fs::read_to_string(journal).unwrap();
    let whole = text
        .rfind('\n')
        .expect("the first line comes with the file")
        + 1;
    assert!(text[whole..].is_empty() || text[whole..].starts_with('{'));
    records_of(&text[..whole])
}

/// The records of a journal without what an execution cost.
fn records(journal: &Path) -> Vec<Value> {
    let text = fs::read_to_string(journal).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "whole lines");
    records_of(&text)
}

fn records_of(text: &str) -> Vec<Value> {
    let record = |line: &str| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        let run = record["run"].as_object_mut().unwrap();
        run.retain(|key, _| key == "key");
        record
    };
    text.lines().map(record).collect()
}

const KINDS: [(&str, &str); 8] = [
    (
        "--out out --cache 64KiB --scheme lru --scheme fifo --scheme arc --scheme lirs",
        "run t.csv",
    ),
    (
        "--out out --format-out csv --cache 64KiB --scheme lru --scheme fifo",
        "run t.csv",
    ),
    ("--out out --format-out parquet --cache 64KiB", "run t.csv"),
    ("--report r.html --cache 64KiB", "run t.csv"),
    ("--log-evictions e.jsonl --cache 64KiB", "run t.csv"),
    (
        "--series s.csv --series-every 100 --cache 64KiB",
        "run t.csv",
    ),
    ("-o c.csv --to msr", "trace convert t.csv"),
    ("--plot p.svg", "mrc t.csv"),
];

#[test]
fn a_command_that_fails_changes_no_file() {
    let folder = folder(2000);
    let at = folder.path();
    let text = fs::read_to_string(at.join("t.csv")).unwrap();
    fs::write(
        at.join("bad.csv"),
        text.replace("# requests", "no line\n# requests"),
    )
    .unwrap();
    for (options, command) in KINDS {
        succeeds(at, &format!("{command} {options}"));
    }
    let before = contents(at);
    assert_eq!(before.len(), 2 + 8, "{:?}", before.keys());
    for (options, command) in KINDS {
        let bad = command.replace("t.csv", "bad.csv");
        fails(at, &format!("{bad} {options}"), 2, "no line");
        fails(
            at,
            &format!("{} {options}", command.replace("t.csv", "none.csv")),
            2,
            "none.csv",
        );
        if command.starts_with("run") {
            fails(
                at,
                &format!("{bad} {options} --fresh --out out"),
                2,
                if options.contains("--out") {
                    "--out"
                } else {
                    "no line"
                },
            );
            fails(at, &format!("{command} {options} --warmup 2000"), 2, "2000");
        }
    }
    assert!(before == contents(at), "{:?}", contents(at).keys());
}

/// Starts the command and kills it after a while.
fn killed(folder: &Path, line: &str, after: Duration) {
    let mut child = command(folder, line).spawn().unwrap();
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Times of kills: from the first instant to the end of an undisturbed run, in an order that looks random.
fn moments(whole: Duration) -> impl Iterator<Item = Duration> {
    let kills = std::env::var("DESTAGE_KILLS").ok();
    let kills: u32 = kills.map_or(6, |n| n.parse().expect("DESTAGE_KILLS: a number"));
    (0..kills).map(move |i| whole.mul_f64(f64::from(i) * 0.618_034 % 1.0))
}

#[test]
fn kills_leave_files_old_or_complete() {
    let folder = folder(60_000);
    let at = folder.path();
    for (options, command) in KINDS {
        let line = format!("{command} {options}");
        let start = Instant::now();
        succeeds(at, &line);
        let (whole, complete) = (start.elapsed(), contents(at));
        for moment in moments(whole) {
            fs::remove_dir_all(at.join("out")).unwrap_or_default();
            killed(at, &line, moment);
            for (name, content) in contents(at) {
                // Temporary files are hidden, and gone after the next command.
                match complete.get(&name) {
                    _ if name == "out/results.jsonl" => _ = records_left(&at.join(&name)),
                    // A report says how long runs took.
                    Some(_) if name == "r.html" => assert!(content.ends_with(b"</html>\n")),
                    Some(_) if name == "out/results.csv" => assert!(content.ends_with(b"\n")),
                    Some(_) if name == "out/results.parquet" => assert!(content.ends_with(b"PAR1")),
                    Some(whole) => assert!(*whole == content, "{line}: {name} is torn"),
                    None => assert!(name.ends_with(".destage-tmp"), "{line}: {name}"),
                }
            }
        }
        succeeds(at, &line);
        let left = contents(at)
            .into_keys()
            .find(|name| name.ends_with(".destage-tmp"));
        assert_eq!(left, None, "the next command removes what killed ones left");
    }
}

#[test]
fn a_killed_sweep_goes_on_to_the_same_records() {
    let folder = folder(30_000);
    let at = folder.path();
    let schemes = "--scheme lru --scheme fifo --scheme arc --scheme lirs --scheme req-block";
    let line = format!(
        "run t.csv --device default --cache 64KiB --cache 256KiB {schemes} --jobs 2 --log-requests q.csv"
    );
    let start = Instant::now();
    succeeds(at, &format!("{line} --out whole"));
    let (all, whole) = (start.elapsed(), records(&at.join("whole/results.jsonl")));
    assert_eq!(whole.len(), 10);
    let mut seen = 0;
    for moment in moments(all) {
        killed(at, &format!("{line} --out parts"), moment / 3);
        let journal = at.join("parts/results.jsonl");
        let now = match journal.exists() {
            true => records_left(&journal),
            false => Vec::new(),
        };
        assert!(
            now.len() >= seen && now[..] == whole[..now.len()],
            "{} records",
            now.len()
        );
        seen = now.len();
    }
    succeeds(at, &format!("{line} --out parts"));
    assert!(records(&at.join("parts/results.jsonl")) == whole);
    let [parts, whole] = ["parts", "whole"].map(|folder| {
        let mut files = contents(&at.join(folder));
        files.remove("results.jsonl");
        files
    });
    assert!(parts == whole && parts.len() == 10, "{:?}", parts.keys());
    // All is done: nothing runs, and nothing is written.
    let before = contents(at);
    let again = run(at, &format!("{line} --out parts"));
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(said.contains("10 of 10 runs are done already"), "{said}");
    assert!(before == contents(at));
}

#[test]
fn a_killed_sweep_of_batches_goes_on_to_the_same_bytes() {
    let folder = folder(30_000);
    let at = folder.path();
    let grid = "trace = 't.csv'\nscheme = ['lru', 'fifo', 'arc']\ncache = ['64KiB', '256KiB']\nseed = [1, 2]\n\
                device = ['none', 'default']\n";
    fs::write(at.join("s.toml"), grid).unwrap();
    let start = Instant::now();
    succeeds(at, "sweep s.toml --batch 2 --jobs 1 --out whole");
    let all = start.elapsed();
    let mut seen = 0;
    for (i, moment) in moments(all).enumerate() {
        // The killed command does the whole sweep, or one of two shares.
        let shard = ["", " --shard 1/2", " --shard 2/2"][i % 3];
        let line = format!("sweep s.toml --batch 2 --jobs 1 --out parts{shard}");
        killed(at, &line, moment / 3);
        if !at.join("parts/manifest.jsonl").exists() {
            continue;
        }
        let mut done = 0;
        for (name, content) in contents(&at.join("parts")) {
            if name.starts_with("batches/") && name.ends_with(".jsonl") {
                done += 1;
                let text = String::from_utf8(content).unwrap();
                assert!(
                    text.ends_with('\n') && records_of(&text).len() == 2,
                    "{name}"
                );
            }
        }
        assert!(done >= seen, "{done} {seen}");
        assert!(!at.join("parts/results.jsonl").exists() || done == 12);
        seen = done;
    }
    succeeds(at, "sweep s.toml --out parts");
    let read = |folder: &str| fs::read(at.join(folder).join("results.jsonl")).unwrap();
    assert!(read("parts") == read("whole"));
    let left = contents(&at.join("parts"));
    let left = left
        .keys()
        .filter(|name| name.starts_with("results") || name.starts_with("manifest"));
    assert_eq!(
        left.collect::<Vec<_>>(),
        ["manifest.jsonl", "results.jsonl"]
    );
}

#[test]
fn a_sweep_that_is_interrupted_says_how_to_go_on() {
    let folder = folder(30_000);
    let at = folder.path();
    let seeds: Vec<String> = (0..400).map(|seed| seed.to_string()).collect();
    let grid = format!("trace = 't.csv'\nseed = [{}]\n", seeds.join(", "));
    fs::write(at.join("s.toml"), grid).unwrap();
    let child = command(at, "sweep s.toml --batch 1 --jobs 1 --out out")
        .spawn()
        .unwrap();
    wait_until(|| {
        contents(at)
            .keys()
            .any(|name| name.starts_with("out/batches/"))
    });
    let pid = child.id().to_string();
    let status = Command::new("kill").args(["-s", "TERM", &pid]).status();
    assert!(status.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
    let said = String::from_utf8_lossy(&output.stderr);
    let advice =
        "interrupted; the results so far are in out; the same command continues from there";
    assert!(said.contains(advice), "{said}");
    let left = contents(at)
        .into_keys()
        .find(|name| name.ends_with(".destage-tmp"));
    assert_eq!(left, None);
}

#[test]
fn what_is_done_counts_for_the_same_run_only() {
    let folder = folder(1000);
    let at = folder.path();
    let lines = |options: &str| {
        succeeds(at, &format!("run t.csv --cache 64KiB --out out {options}"));
        records(&at.join("out/results.jsonl")).len()
    };
    assert_eq!(lines(""), 1);
    assert_eq!(lines(""), 1);
    assert_eq!(lines("--scheme lru"), 1, "the default, named");
    assert_eq!(lines("--seed 1 --page 4KiB"), 1, "the defaults, named");
    fs::write(
        at.join("r.toml"),
        "trace = 't.csv'\ncache = '64KiB'\nseed = 1\n",
    )
    .unwrap();
    succeeds(at, "run --config r.toml --out out");
    assert_eq!(
        records(&at.join("out/results.jsonl")).len(),
        1,
        "a run file"
    );
    assert_eq!(lines("--seed 7"), 2);
    fs::write(
        at.join("t.csv"),
        fs::read_to_string(at.join("t.csv")).unwrap() + "# more\n",
    )
    .unwrap();
    assert_eq!(lines(""), 3, "another trace");
    // A line that was cut is written again, one that is none ends the command.
    let journal = at.join("out/results.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, &text[..text.len() - 10]).unwrap();
    assert_eq!(lines(""), 3);
    assert_eq!(lines("--fresh"), 1);
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, format!("{text}no line\n")).unwrap();
    let place = "results.jsonl:2: no result record";
    fails(at, "run t.csv --out out", 2, place);
    assert_eq!(lines("--fresh"), 1);
    // A file without any record is not destage's, and is never replaced.
    fs::write(&journal, "{}\n").unwrap();
    let foreign = "there is a file results.jsonl that destage did not write";
    fails(at, "run t.csv --out out", 2, foreign);
    fails(at, "run t.csv --out out --fresh", 2, foreign);
    assert_eq!(fs::read_to_string(&journal).unwrap(), "{}\n");
}

/// A command that waits for its input, and has written what it can.
fn waiting(folder: &Path, line: &str) -> Child {
    command(folder, line).stdin(Stdio::piped()).spawn().unwrap()
}

fn wait_until(what: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !what() {
        assert!(Instant::now() < end, "it does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn signals_remove_what_is_incomplete() {
    let folder = folder(1000);
    let at = folder.path();
    fs::write(at.join("e.jsonl"), "old").unwrap();
    for (name, signal, code) in [("INT", 2, 130), ("TERM", 15, 143)] {
        let mut child = waiting(at, "run t.csv - --out out --cache 64KiB");
        // An input that ends would end the command as well, and `wait` lets it end.
        let input = child.stdin.take();
        wait_until(|| at.join("out/results.jsonl").exists());
        let pid = child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", name, &pid])
                .status()
                .unwrap()
                .success()
        );
        let status = child.wait().unwrap();
        drop(input);
        assert_eq!(
            (status.code(), status.signal()),
            (Some(code), None),
            "{signal}"
        );
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains("interrupted; the results so far are in out; the same command continues"),
            "{said}"
        );
        assert_eq!(records(&at.join("out/results.jsonl")).len(), 1);
        let names: Vec<String> = contents(at).into_keys().collect();
        assert_eq!(names, ["e.jsonl", "out/results.jsonl", "t.csv"]);
        fs::remove_dir_all(at.join("out")).unwrap();
    }
}

#[test]
fn a_folder_has_one_writer() {
    let folder = folder(1000);
    let at = folder.path();
    let mut first = waiting(at, "run - --out out");
    wait_until(|| at.join("out/.destage.lock").exists());
    fails(at, "run t.csv --out out", 2, "another destage writes there");
    first.kill().unwrap();
    first.wait().unwrap();
    // The lock went with its owner.
    succeeds(at, "run t.csv --out out");
}

#[test]
fn inputs_are_never_written() {
    let folder = folder(1000);
    let at = folder.path();
    fs::hard_link(at.join("t.csv"), at.join("same")).unwrap();
    std::os::unix::fs::symlink("t.csv", at.join("link")).unwrap();
    fs::create_dir(at.join("out")).unwrap();
    fs::hard_link(at.join("t.csv"), at.join("out/results.jsonl")).unwrap();
    fs::write(at.join("run.toml"), "trace = \"t.csv\"\n").unwrap();
    let device = run(at, "presets default").stdout;
    fs::write(at.join("d.toml"), device).unwrap();
    let before = contents(at);
    for line in [
        "run t.csv --report same",
        "run t.csv --report link",
        "run t.csv --series ./link",
        "run t.csv --log-evictions same",
        "run t.csv --out out",
        "run --config run.toml --report run.toml",
        "run t.csv --device d.toml --log-requests d.toml",
        "mrc t.csv --plot same",
        "trace convert t.csv -o same",
        "trace convert t.csv -o link",
    ] {
        fails(at, line, 2, "is read and would be overwritten");
    }
    fails(
        at,
        "run t.csv --report a --series ./a",
        2,
        "need a file each",
    );
    fails(
        at,
        "run t.csv --report new/../a --series a",
        2,
        "need a file each",
    );
    fails(
        at,
        "run t.csv --log-evictions out/../a --series a",
        2,
        "need a file each",
    );
    assert!(before == contents(at));
}

#[test]
fn outputs_that_take_nothing_are_errors() {
    let folder = folder(1000);
    let at = folder.path();
    let pipe = at.join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let start = Instant::now();
    fails(
        at,
        "run t.csv --report pipe",
        1,
        "nothing opened this pipe for reading within 5 s",
    );
    assert!(start.elapsed() < Duration::from_secs(20));
    let reader = Command::new("cat")
        .arg(&pipe)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // A page is larger than what pipes keep.
    let reader = std::thread::spawn(|| reader.wait_with_output());
    succeeds(at, "run t.csv --report pipe");
    let read = reader.join().unwrap().unwrap().stdout;
    assert!(read.ends_with(b"</html>\n"));
    let program = assert_cmd::cargo::cargo_bin!("destage")
        .display()
        .to_string();
    let closed = Command::new("sh")
        .args(["-c", &format!("{program} schemes >&-")])
        .output()
        .unwrap();
    assert_eq!(closed.status.code(), Some(1));
    let said = String::from_utf8_lossy(&closed.stderr);
    assert!(said.contains("standard output is closed"), "{said}");
}

#[test]
fn interrupted_commands_leave_nothing_behind() {
    let folder = folder(3000);
    let at = folder.path();
    let line = "trace convert t.csv -o c.csv";
    let start = Instant::now();
    succeeds(at, line);
    let complete = contents(at);
    for moment in moments(start.elapsed()) {
        let mut child = command(at, line).spawn().unwrap();
        std::thread::sleep(moment);
        // It may have ended already.
        let pid = child.id().to_string();
        let _ = Command::new("kill")
            .args(["-s", "INT", &pid])
            .stderr(Stdio::null())
            .status();
        let status = child.wait().unwrap();
        // Before it watches for signals it ends by them.
        let ended = (status.code(), status.signal());
        let known = [(Some(0), None), (Some(130), None), (None, Some(2))];
        assert!(known.contains(&ended), "{ended:?}");
        assert!(contents(at) == complete, "{:?}", contents(at).keys());
    }
}
