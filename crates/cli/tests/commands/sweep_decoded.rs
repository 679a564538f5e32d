//! Decoded copies of traces in `--trace-cache`: processes share them, results stay the same bytes, and a copy that is
//! damaged, is missing, or cannot be written is no end.

use crate::common::{Bench, mixed};
use crate::sweep::on_small_disk;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Six ways to read two traces, each with two runs.
const GRID: &str = "scheme = ['lru', 'arc']\ncache = '40KiB'\n\
                    [[run]]\ntrace = 'm.csv'\nskip-bad-lines = true\nvolumes = ['stack', 'overlay', 'only=hm_1']\n\
                    [[run]]\ntrace = 'b.csv'\nlimit = [100, 300]\n\
                    [[run]]\ntrace = 'b.csv'\nhost-fs = 'lfs'\n";
const COPIES: usize = 6;
const RUNS: usize = 12;

/// A folder with the sweep, its traces, and in `whole` its results without a cache.
fn bench() -> Bench {
    let bench = Bench::new();
    let line = |i: u64| format!("{},hm,{},Write,{},4096,7\n", 10 * i, i % 2, 4096 * (i % 60));
    let lines: String = (0..300).map(line).collect();
    bench.file("m.csv", lines.replacen("Write", "Wrote", 1));
    bench.file("b.csv", mixed(400));
    bench.file("s.toml", GRID);
    let whole = bench.destage("sweep s.toml --out whole").ok();
    whole.says("m: skipped 1 bad lines:");
    assert_eq!(bench.read("whole/results.jsonl").lines().count(), RUNS);
    bench
}

/// The decoded copies of the machine, sorted.
fn copies(bench: &Bench) -> Vec<PathBuf> {
    let traces = fs::read_dir(bench.path("machine")).unwrap();
    let files = traces.flat_map(|trace| fs::read_dir(trace.unwrap().path()).unwrap());
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    let names: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    assert!(
        !names.iter().any(|name| name.ends_with("-tmp")),
        "{names:?}"
    );
    paths.retain(|path| path.extension().is_some_and(|end| end == "decoded"));
    paths.sort();
    paths
}

fn same(bench: &Bench, out: &str) {
    let results = bench.read(format!("{out}/results.jsonl"));
    assert!(results == bench.read("whole/results.jsonl"), "{out}");
}

fn start(bench: &Bench, line: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_destage"));
    command.args(line.split(' ')).current_dir(bench.dir.path());
    command.stderr(Stdio::piped()).stdout(Stdio::null());
    command.spawn().unwrap()
}

/// Standard error of a command that ended well.
fn errors_of(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    errors
}

#[test]
fn a_machine_decodes_a_trace_once_for_each_way_to_read_it() {
    let bench = bench();
    bench.destage("sweep s.toml --out o --batch 1 --plan").ok();
    let shard = |number| format!("sweep s.toml --out o --shard {number}/2 --trace-cache machine");
    bench.destage(shard(1)).ok();
    assert_eq!(copies(&bench).len(), COPIES);
    // From now on nobody can decode.
    for copy in copies(&bench) {
        for name in ["m.csv", "b.csv"] {
            let trace = copy.with_file_name(name);
            if trace.exists() {
                fs::write(trace, "no trace").unwrap();
            }
        }
    }
    let second = bench.destage(shard(2)).ok();
    second.says("m: skipped 1 bad lines:");
    second.says("m.csv: line 1, column 4 (type): `Wrote`");
    bench.destage("sweep --out o --merge").ok();
    same(&bench, "o");
    // Requests that are too many for the memory of a process are read from the copy by each run.
    let streamed =
        "sweep s.toml --out streamed --trace-dir . --trace-cache machine --trace-memory 1KiB";
    let streamed = bench.destage(streamed).ok();
    same(&bench, "streamed");
    assert!(
        !streamed.stderr.contains("temporary file of"),
        "{}",
        streamed.stderr
    );
}

#[test]
fn a_damaged_copy_is_made_again() {
    let bench = bench();
    let sweep = |out: &str| format!("sweep s.toml --out {out} --batch 1 --trace-cache machine");
    bench.destage(sweep("first")).ok();
    let copy = copies(&bench).swap_remove(0);
    let bytes = fs::read(&copy).unwrap();
    let changed = |at: usize| {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        changed
    };
    let damages = [
        (bytes[..bytes.len() / 2].to_vec(), "it is cut off"),
        (Vec::new(), "its first line was changed"),
        (b"no copy\n".to_vec(), "its first line was changed"),
        (changed(3), "its first line was changed"),
        (changed(100), "its first line was changed"),
        // The address of a request.
        (changed(bytes.len() - 3 * 32 + 8), "its hash is wrong"),
        ([&bytes[..], b"more"].concat(), "its length is not"),
    ];
    for (number, (damaged, why)) in damages.into_iter().enumerate() {
        fs::write(&copy, damaged).unwrap();
        let out = format!("o{number}");
        let done = bench.destage(sweep(&out)).ok();
        done.says("warning: the decoded copy is made again: ");
        done.says(why);
        same(&bench, &out);
        assert!(fs::read(&copy).unwrap() == bytes, "{why}");
    }
    assert_eq!(copies(&bench).len(), COPIES);
}

#[test]
fn several_processes_begin_at_once() {
    let bench = bench();
    bench.destage("sweep s.toml --out o --batch 1 --plan").ok();
    let shard = |number| format!("sweep s.toml --out o --shard {number}/6 --trace-cache machine");
    let started: Vec<Child> = (1..=6)
        .map(|number| start(&bench, &shard(number)))
        .collect();
    for child in started {
        let errors = errors_of(child);
        assert!(!errors.contains("copy"), "{errors}");
    }
    assert_eq!(copies(&bench).len(), COPIES);
    bench.destage("sweep --out o --merge").ok();
    same(&bench, "o");
}

#[test]
fn a_process_waits_for_another_that_decodes() {
    let bench = bench();
    let sweep = |out: &str| format!("sweep s.toml --out {out} --batch 1 --trace-cache machine");
    bench.destage(sweep("first")).ok();
    let copy = copies(&bench).swap_remove(0);
    let lock = || {
        let lock = File::options()
            .append(true)
            .open(copy.with_extension("lock"));
        let lock = lock.unwrap();
        lock.lock().unwrap();
        lock
    };
    // The other process writes it.
    let there = copy.with_extension("moved");
    fs::rename(&copy, &there).unwrap();
    let held = lock();
    let mut waiting = start(&bench, &sweep("o"));
    std::thread::sleep(Duration::from_millis(500));
    assert!(waiting.try_wait().unwrap().is_none(), "it does not wait");
    fs::rename(&there, &copy).unwrap();
    drop(held);
    errors_of(waiting);
    same(&bench, "o");
    // The other process fails: its disk may be full.
    fs::remove_file(&copy).unwrap();
    let held = lock();
    let waiting = start(&bench, &sweep("p"));
    std::thread::sleep(Duration::from_millis(500));
    drop(held);
    errors_of(waiting);
    same(&bench, "p");
}

/// Needs a mount of its own.
#[test]
fn a_machine_without_room_for_copies_decodes_for_itself() {
    let bench = bench();
    let requests = mixed(20_000);
    bench.file("b.csv", &requests);
    bench.file(
        "s.toml",
        "trace = 'b.csv'\nscheme = ['lru', 'arc']\ncache = '40KiB'\n",
    );
    bench.destage("sweep s.toml --out whole --fresh").ok();
    let program = env!("CARGO_BIN_EXE_destage");
    let script = format!(
        "{program} sweep s.toml --out o --batch 1 --trace-cache machine || exit 1\n\
         find machine -name '*-tmp' -o -name '*.decoded' | grep . && exit 2\n\
         find machine -name b.csv | grep . || exit 3\n"
    );
    // There is room for the trace, and for half of its requests.
    let bytes = requests.len() + 20_000 * 32 / 2;
    if let Some(output) = on_small_disk(&bench, "machine", bytes, &script) {
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            errors.contains("b.csv: cannot write its decoded copy to --trace-cache machine"),
            "{errors}"
        );
        assert!(errors.contains("No space left on device"), "{errors}");
        same(&bench, "o");
    }
}
