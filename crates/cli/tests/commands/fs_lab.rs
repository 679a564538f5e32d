//! The scripts of `fs-lab`: what they refuse, and small live runs: on real ext4 and F2FS, which needs
//! a kernel that `DESTAGE_FS_LAB` names (a file, or a folder with a file `linux*`), and on an ext4 on
//! `destage serve`, which needs root.

use crate::common::{Bench, csv, options, root};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn script(name: &str) -> PathBuf {
    root().join("fs-lab").join(name)
}

/// Runs a script, which leaves no temporary file behind.
fn run(name: &str, args: &[&str], dir: &Path) -> Output {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = Command::new("bash");
    command.arg(script(name)).args(args).current_dir(dir);
    command.env("DESTAGE", env!("CARGO_BIN_EXE_destage"));
    command.env("TMPDIR", temporary.path());
    let done = command.output().unwrap();
    let left: Vec<_> = temporary.path().read_dir().unwrap().collect();
    assert!(left.is_empty(), "{name} {args:?}: {left:?}");
    done
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn scripts_are_shell() {
    for name in [
        "capture.sh",
        "replay.sh",
        "guest.sh",
        "build-kernel.sh",
        "served.sh",
        "ext4.sh",
        "algorithm2.sh",
    ] {
        let checked = Command::new("bash").arg("-n").arg(script(name)).output();
        let checked = checked.unwrap();
        assert!(checked.status.success(), "{}", text(&checked.stderr));
    }
}

#[test]
fn what_cannot_be_recorded_or_replayed_is_refused() {
    let bench = Bench::new();
    bench.file("t.csv", csv("W1"));
    let cases = "
        capture.sh | --device NAME is missing
        capture.sh --device | --device needs a value
        capture.sh --device x --fs xfs | --fs is f2fs or ext4, not 'xfs'
        capture.sh --device no-such-device --fs ext4 | no block device no-such-device
        capture.sh --device x --fs f2fs --seconds 0 | '0' is no positive number
        replay.sh | usage: replay.sh
        replay.sh none.csv | none.csv is not there
        replay.sh --fs xfs t.csv | only ext4 and f2fs
        replay.sh --mode often t.csv | no mode often
        build-kernel.sh --exact | usage: build-kernel.sh [--exact] KERNEL
        ext4.sh --tree none | --tree none: no such folder
        ext4.sh --cuts some | 'some' is no number
        ext4.sh --mount | no option --mount
        algorithm2.sh --scheme belady | no scheme belady
        algorithm2.sh --part 3 | --part is a power of two up to 128, not '3'
        algorithm2.sh --rounds 0 | '0' is no positive number
    ";
    for case in cases.trim().lines() {
        let (line, part) = case.split_once(" | ").unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let done = run(words[0], &words[1..], bench.dir.path());
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains(part), "{line}: {said}");
    }
}

/// Write hits of `lru`, `cac(lru)`, `arc`, `cac(arc)` over the data blocks of a capture, and the
/// writes that name an old address elsewhere.
fn write_hits(bench: &Bench, capture: &str) -> [f64; 4] {
    let schemes = options(&["lru", "cac(lru)", "arc", "cac(arc)"]);
    let records = bench.records(format!("run {capture} --tags data --cache 16MiB {schemes}"));
    std::array::from_fn(|i| {
        let ratio = &records[i]["ratios"]["write_page_hit_ratio"];
        100.0 * ratio.as_f64().unwrap()
    })
}

#[test]
fn real_file_systems_show_what_cac_is_about() {
    if std::env::var_os("DESTAGE_FS_LAB").is_none() {
        eprintln!("SKIPPED: DESTAGE_FS_LAB names no kernel, so no real file system was run");
        return;
    }
    let bench = Bench::new();
    let synth = "trace synth --requests 1500 --writes 0.9 --part at=uniform,space=2MiB -o t.csv";
    bench.destage(synth).ok();
    let args = [
        "--volume",
        "512M",
        "--timeout",
        "120",
        "--out",
        ".",
        "t.csv",
    ];
    let done = run("replay.sh", &args, bench.dir.path());
    let (said, told) = (text(&done.stderr), text(&done.stdout));
    if said.contains(" is missing") {
        eprintln!("SKIPPED: no real file system was run: {said}");
        return;
    }
    assert!(done.status.success(), "{said}\n{told}");
    // The importer was strict: no old address contradicts where the block was last written.
    let data = told.lines().find(|l| l.starts_with("f2fs-mode-lfs: data"));
    let data = data.unwrap_or_else(|| panic!("{told}"));
    assert!(data.contains(" 0 in place, 0 without pair"), "{data}");
    for bad in ["that no page event explains", "lost events"] {
        assert!(!told.contains(bad), "{told}");
    }
    let ext4 = write_hits(&bench, "ext4.csv");
    let f2fs = write_hits(&bench, "f2fs-mode-lfs.csv");
    assert!(ext4.iter().all(|&hits| hits > 50.0), "{ext4:?}");
    assert!(f2fs[0] < 1.0 && f2fs[2] < 1.0, "{f2fs:?}");
    for i in [1, 3] {
        assert!((f2fs[i] - ext4[i]).abs() < 1.0, "{f2fs:?} and {ext4:?}");
    }
}

#[test]
fn ext4_on_the_device_that_is_served_outlasts_a_power_cut() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("tree/a/b")).unwrap();
    for i in 0..40_usize {
        let folder = ["tree", "tree/a", "tree/a/b"][i % 3];
        bench.file(&format!("{folder}/{i}"), vec![i as u8; 700 * i]);
    }
    let args = [
        "--tree", "tree", "--cuts", "1", "--volume", "64M", "--", "--cache", "1MiB",
    ];
    let done = run("ext4.sh", &args, bench.dir.path());
    let (said, told) = (text(&done.stderr), text(&done.stdout));
    if done.status.code() == Some(3) {
        return eprintln!("SKIPPED: no ext4 was mounted: {said}");
    }
    assert!(done.status.success(), "{said}\n{told}");
    for part in [
        "without a cut: 40 files copied, fsck clean, contents equal",
        "journal replayed, fsck clean",
    ] {
        assert!(told.contains(part), "{told}");
    }
}
