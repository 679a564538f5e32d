//! Files in folders of results that destage did not write, and results that changed on the disk.

use crate::common::{Bench, contains, mixed};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

const SWEEP: &str = "trace = 't.csv'\ncache = '40KiB'\nseed = [1, 2, 3]\n";

fn bench() -> Bench {
    let bench = Bench::with(mixed(200));
    bench.file("s.toml", SWEEP);
    bench
}

/// The files of batches of the sweep in `out`, sorted.
fn batches(bench: &Bench, out: &str) -> Vec<PathBuf> {
    let parts = fs::read_dir(bench.path(out).join("batches")).unwrap();
    let parts = parts.map(|part| part.unwrap().path());
    let files = parts.filter(|part| part.is_dir()).flat_map(|part| {
        let files = fs::read_dir(part).unwrap();
        files.map(|file| file.unwrap().path()).collect::<Vec<_>>()
    });
    let mut files: Vec<PathBuf> = files.collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "jsonl"));
    files.sort();
    files
}

#[test]
fn fresh_removes_only_what_a_manifest_names() {
    let bench = bench();
    fs::create_dir_all(bench.path("x/batches/ab")).unwrap();
    bench.file("x/batches/thesis.tex", "ten years");
    bench.file("x/batches/ab/notes.txt", "more");
    let ignored = "ignored: batches/ab/notes.txt, batches/thesis.tex";
    for options in ["--fresh", "", "--fresh", "--merge"] {
        let file = if options == "--merge" { "" } else { "s.toml" };
        let done = bench
            .destage(format!("sweep {file} --out x {options}"))
            .ok();
        done.says(ignored);
        assert_eq!(bench.read("x/batches/thesis.tex"), "ten years", "{options}");
        assert_eq!(bench.read("x/batches/ab/notes.txt"), "more", "{options}");
    }
    // Files that killed commands left are of the sweep.
    let batch = batches(&bench, "x").remove(0);
    let left = format!(".{}.x1.destage-tmp", batch.file_name().unwrap().display());
    fs::write(batch.with_file_name(&left), "half").unwrap();
    // Another sweep: all batches of the old one go, and nothing else.
    bench.file("s.toml", SWEEP.replace("40KiB", "80KiB"));
    let done = bench.destage("sweep s.toml --out x --fresh").ok();
    done.says(ignored);
    assert!(!batch.exists() && !batch.with_file_name(left).exists());
    assert_eq!(bench.read("x/results.jsonl").lines().count(), 3);
    assert_eq!(bench.read("x/batches/thesis.tex"), "ten years");
}

#[test]
fn results_of_others_are_named_and_stay() {
    let bench = bench();
    let named = [
        ("results.jsonl", "{\"mine\": 1}\n"),
        ("costs.csv", "date,euro\n2026-01-01,5\n"),
        ("results.csv", "id,grade\n1,2\n"),
        ("results.parquet", "PAR1 of mine PAR1"),
    ];
    for (name, text) in named {
        let out = format!("of-{name}");
        fs::create_dir(bench.path(&out)).unwrap();
        bench.file(&format!("{out}/{name}"), text);
        for fresh in ["", "--fresh"] {
            let sweep = format!("sweep s.toml --out {out} --format-out csv {fresh}");
            let said =
                format!("there is a file {name} that no manifest of a sweep names; move it away");
            bench.destage(sweep).fails(2, &[&out, &said]);
            if name != "costs.csv" {
                let form = if name == "results.parquet" {
                    "parquet"
                } else {
                    "csv"
                };
                let run = format!("run t.csv --out {out} --format-out {form} {fresh}");
                let said =
                    format!("there is a file {name} that destage did not write; move it away");
                bench.destage(run).fails(2, &[&said]);
            }
        }
        assert_eq!(bench.read(format!("{out}/{name}")), text);
    }
    // Beside a manifest: the results of another sweep, and costs of somebody.
    bench.destage("sweep s.toml --out a").ok();
    bench.file("other.toml", SWEEP.replace("40KiB", "80KiB"));
    bench.destage("sweep other.toml --out b --plan").ok();
    let (results, costs) = (bench.read("a/results.jsonl"), bench.read("a/costs.csv"));
    bench.file("b/results.jsonl", &results);
    bench.file("b/costs.csv", &costs);
    let said =
        "there are files results.jsonl, costs.csv that the sweep of manifest.jsonl did not write";
    for fresh in ["", "--fresh"] {
        bench
            .destage(format!("sweep other.toml --out b {fresh}"))
            .fails(2, &[said]);
    }
    assert!(bench.read("b/results.jsonl") == results && bench.read("b/costs.csv") == costs);
    // Own results are replaced.
    for fresh in ["", "--fresh"] {
        bench.destage(format!("sweep s.toml --out a {fresh}")).ok();
        bench
            .destage(format!("run t.csv --out r --format-out csv {fresh}"))
            .ok();
        bench
            .destage(format!("run t.csv --out r --format-out parquet {fresh}"))
            .ok();
    }
    assert_eq!(bench.read("a/results.jsonl"), results);
}

#[test]
fn a_ledger_of_somebody_stays() {
    let bench = Bench::new();
    let repro = "repro cac cac-ovh --out r";
    bench.destage(repro).ok();
    bench.destage(repro).ok();
    for name in ["PAPERS.md", "claims.json", "papers/cac.md"] {
        let own = bench.read(format!("r/{name}"));
        bench.file(&format!("r/{name}"), "mine");
        let said = format!("--out r: there is a file {name} that destage did not write");
        bench.destage(repro).fails(2, &[&said]);
        assert_eq!(bench.read(format!("r/{name}")), "mine");
        bench.file(&format!("r/{name}"), own);
    }
}

#[test]
fn a_damaged_manifest_removes_nothing() {
    let bench = bench();
    bench.destage("sweep s.toml --out o").ok();
    let before = batches(&bench, "o");
    let manifest = bench.read("o/manifest.jsonl");
    bench.file("o/manifest.jsonl", &manifest[..manifest.len() - 5]);
    let fresh = bench.destage("sweep s.toml --out o --fresh");
    fresh.fails(
        2,
        &[
            "manifest.jsonl: line ",
            "--fresh removes only files that a manifest names",
        ],
    );
    assert_eq!(batches(&bench, "o"), before);
    assert!(bench.path("o/results.jsonl").exists());
}

#[test]
fn two_outputs_are_never_one_file() {
    let bench = bench();
    fs::create_dir_all(bench.path("there/sub")).unwrap();
    symlink("there", bench.path("link")).unwrap();
    symlink("new/results.jsonl", bench.path("late")).unwrap();
    let cases = "
        run t.csv --out new --report new/results.jsonl
        run t.csv --out new --report new/results.csv
        run t.csv --out new --report new/results.parquet
        run t.csv --out new --report new/.destage.lock
        run t.csv --out new --report new/manifest.jsonl
        run t.csv --out new --report new
        run t.csv --out new --report ./new/sub/../results.jsonl
        run t.csv --out new/sub/.. --report new/results.jsonl
        run t.csv --out new --report late
        run t.csv --out there --report link/results.jsonl
        run t.csv --out link --report there/sub/../results.csv
        run t.csv --out new --log-evictions new/results.jsonl
        run t.csv --out new --series new/results.csv
        run t.csv --out new --device default --log-requests new/.destage.lock
        run t.csv --report new/a --series new/sub/../a
        run t.csv --out new --scheme lru --scheme fifo --device default --log-requests a --series a
        run t.csv --out new --scheme lru --scheme fifo --device default --log-requests a.csv --series a
        mrc t.csv --plot new/a --report ./new/b/../a
        repro cac --out new --report new/PAPERS.md
        repro cac --out new --report new/papers/cac.md
    ";
    for line in cases.lines().map(str::trim).filter(|line| !line.is_empty()) {
        bench.destage(line).fails(2, &["need a file each", "--"]);
    }
    let both = "--out and --report need a file each, and both have new/results.csv";
    bench
        .destage("run t.csv --out new --report new/results.csv")
        .fails(2, &[both]);
    assert_eq!(fs::read_dir(bench.path("there")).unwrap().count(), 1);
    // Beside them there is room.
    bench
        .destage("run t.csv --out new --report new/report.html")
        .ok();
    assert!(bench.read("new/results.jsonl").starts_with("{\"schema\""));
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let bench = bench();
    let run_files = ["results.jsonl", "results.csv", ".destage.lock"];
    let sweep_files = [
        "manifest.jsonl",
        "results.jsonl",
        "costs.csv",
        ".destage.lock",
        ".destage-plan.lock",
    ];
    let run = run_files.map(|name| ("run t.csv --format-out csv", name));
    let sweep = sweep_files.map(|name| ("sweep s.toml", name));
    let fifo = |path: &PathBuf| {
        let made = Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    };
    let mut number = 0;
    for (command, name) in run.into_iter().chain(sweep) {
        for kind in ["a pipe", "a socket", "a folder", "a device"] {
            number += 1;
            let out = format!("o{number}");
            fs::create_dir(bench.path(&out)).unwrap();
            let path = bench.path(&out).join(name);
            let mut socket = None;
            match kind {
                "a pipe" => fifo(&path),
                // Names of sockets are short.
                "a socket" => {
                    let short = tempfile::Builder::new().tempdir_in("/tmp").unwrap();
                    let place = short.path().join("s");
                    socket = Some((UnixListener::bind(&place).unwrap(), short));
                    symlink(place, &path).unwrap();
                }
                "a folder" => fs::create_dir(&path).unwrap(),
                _ => symlink("/dev/null", &path).unwrap(),
            }
            let start = Instant::now();
            let done = bench.destage(format!("{command} --out {out}"));
            drop(socket);
            let took = start.elapsed();
            assert!(took < Duration::from_secs(20), "{command} {name} {kind}");
            let said = match (command, name) {
                ("sweep s.toml", "results.jsonl" | "costs.csv") => {
                    format!("a file {name} that no manifest of a sweep names")
                }
                _ => format!("{name}: it is {kind}, and a regular file is needed"),
            };
            done.fails(2, &[&out, &said]);
        }
    }
    // A batch, when it is merged.
    bench.destage("sweep s.toml --out o").ok();
    let batch = batches(&bench, "o").remove(0);
    fs::remove_file(&batch).unwrap();
    fifo(&batch);
    let merge = bench.destage("sweep --out o --merge");
    merge.fails(2, &[".jsonl: it is a pipe, and a regular file is needed"]);
    fs::remove_dir_all(bench.path("o/batches")).unwrap();
    bench.file("o/batches", "a file");
    bench
        .destage("sweep s.toml --out o")
        .fails(2, &["cannot read batches: "]);
}

#[test]
fn a_changed_byte_is_found() {
    let bench = bench();
    bench.destage("sweep s.toml --out o --batch 3").ok();
    let merged = bench.read("o/results.jsonl");
    let batch = batches(&bench, "o").remove(0);
    let text = fs::read(&batch).unwrap();
    let lines: Vec<usize> = (0..text.len()).filter(|&i| text[i] == b'\n').collect();
    assert_eq!(lines.len(), 3);
    // A digit of a counter in the second line.
    let second = String::from_utf8(text[lines[0] + 1..=lines[1]].to_vec()).unwrap();
    let digit = lines[0] + 1 + second.find("\"page_hits\":").unwrap() + "\"page_hits\":".len();
    let mut changed = text.clone();
    changed[digit] = if changed[digit] == b'9' { b'8' } else { b'9' };
    fs::write(&batch, &changed).unwrap();
    let name = format!("{}:2: ", batch.file_name().unwrap().display());
    let said = [
        &*name,
        "its checksum differs; remove the file, and run the sweep again",
    ];
    bench.destage("sweep --out o --merge").fails(2, &said);
    bench.destage("sweep s.toml --out o").fails(2, &said);
    assert_eq!(bench.read("o/results.jsonl"), merged);
    // As it says.
    fs::remove_file(&batch).unwrap();
    bench.destage("sweep s.toml --out o").ok();
    assert_eq!(bench.read("o/results.jsonl"), merged);

    let run = "run t.csv --out r --scheme lru --scheme fifo --cache 40KiB";
    bench.destage(run).ok();
    let journal = bench.read("r/results.jsonl");
    let at = journal.rfind("\"page_hits\":").unwrap() + "\"page_hits\":".len();
    let mut changed = journal.clone().into_bytes();
    changed[at] = if changed[at] == b'9' { b'8' } else { b'9' };
    bench.file("r/results.jsonl", &changed);
    let said = [
        "--out r: results.jsonl:2: ",
        "its checksum differs; remove that line",
    ];
    bench.destage(run).fails(2, &said);
    let first = journal.lines().next().unwrap();
    bench.file("r/results.jsonl", format!("{first}\n"));
    bench.destage(run).ok().says("1 of 2 runs are done already");
    assert_eq!(bench.read("r/results.jsonl").lines().count(), 2);
}

/// Journals and batches without checksums, as older versions wrote them.
#[test]
fn lines_without_a_checksum_are_read() {
    let bench = bench();
    let old = |text: &str| -> String {
        let lines = text.lines().map(|line| {
            let (line, sum) = line.rsplit_once(",\"sha256\":").unwrap();
            assert_eq!(sum.len(), 1 + 64 + 3, "{sum}");
            format!("{line}}}}}\n")
        });
        lines.collect()
    };
    bench.destage("sweep s.toml --out o").ok();
    let merged = bench.read("o/results.jsonl");
    for batch in batches(&bench, "o") {
        let text = fs::read_to_string(&batch).unwrap();
        fs::write(&batch, old(&text)).unwrap();
    }
    bench.destage("sweep --out o --merge").ok();
    assert_eq!(bench.read("o/results.jsonl"), merged);
    // They stay in a journal, and are never taken for a run of this program.
    let run = "run t.csv --out r --cache 40KiB";
    bench.destage(run).ok();
    let before = old(&bench.read("r/results.jsonl"));
    bench.file("r/results.jsonl", &before);
    bench.destage(run).ok();
    let after = bench.read("r/results.jsonl");
    assert!(after.starts_with(&before) && after.lines().count() == 2);
    // A checksum whose name changed is no line of an older version.
    bench.file(
        "r/results.jsonl",
        after.replace(",\"sha256\":\"", ",\"sha257\":\""),
    );
    bench.destage(run).fails(2, &["results.jsonl:"]);
}

/// Folders whose files a command reads by their endings.
#[test]
fn a_pipe_in_a_folder_that_is_read_is_refused_at_once() {
    let bench = bench();
    for (folder, name, command) in [
        ("page", "index.html", "playground page"),
        #[cfg(feature = "fit")]
        ("cells", "a.json", "fit-device cells -o d.toml"),
    ] {
        fs::create_dir(bench.path(folder)).unwrap();
        let path = bench.path(folder).join(name);
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        let mut command = bench.command(command);
        let output = command.timeout(Duration::from_secs(20)).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        contains(
            &said,
            &format!("{name}: it is a pipe, and a regular file is needed"),
        );
    }
}
