mod in_use;

use super::FILES;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder with the files of the probe.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in FILES {
        fs::write(folder.path().join(file.name), file.text).unwrap();
    }
    folder
}

/// Puts a shell script into a folder of programs.
fn program(folder: &Path, name: &str, text: &str) {
    let program = folder.join(name);
    fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
    let made = Command::new("chmod").arg("+x").arg(&program).status();
    assert!(made.unwrap().success());
}

/// A folder of programs in which `fio` says that it is `version`, and writes no other output. Those of util-linux find
/// nothing, and do nothing.
fn fake_fio(version: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "case $1 in --version) echo {version} ;; --enghelp) echo nbd io_uring ;; --cmdhelp*) echo issue ;; *) exit 7 ;; esac"
    );
    program(folder.path(), "fio", &text);
    for name in ["wipefs", "blkdiscard"] {
        program(folder.path(), name, "echo \"$0 $*\" >> \"${0%/*}/calls\"");
    }
    folder
}

struct ProbeRun {
    code: Option<i32>,
    output: String,
}

/// Runs the script with `answers` on its standard input.
fn probe(folder: &Path, programs: &Path, words: &[&str], answers: &str) -> ProbeRun {
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let mut child = Command::new("sh")
        .arg(folder.join("probe.sh"))
        .args(words)
        .env("PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A script that refuses its options does not read its input.
    let _ = child.stdin.take().unwrap().write_all(answers.as_bytes());
    let done = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    ProbeRun {
        code: done.status.code(),
        output: text(&done.stdout) + &text(&done.stderr),
    }
}

const URI: &str = "nbd+unix:///?socket=/nobody.sock";

/// Options for a drive of `bytes` bytes, with results beside the script.
fn words<'a>(out: &'a str, bytes: &'a str) -> Vec<&'a str> {
    vec!["--uri", URI, "--bytes", bytes, "--name", "d", "--out", out]
}

#[test]
fn the_script_is_posix_shell() {
    let folder = folder();
    let script = folder.path().join("probe.sh");
    let checked = Command::new("sh").arg("-n").arg(&script).status();
    assert!(checked.unwrap().success());
    match Command::new("shellcheck").arg(&script).output() {
        Ok(found) => assert!(
            found.status.success(),
            "{}",
            String::from_utf8_lossy(&found.stdout)
        ),
        Err(_) => println!("SKIPPED: shellcheck is not installed"),
    }
}

#[test]
fn the_script_refuses_wrong_options_and_drives() {
    let (folder, programs) = (folder(), fake_fio("fio-3.33"));
    let out: PathBuf = folder.path().join("results");
    let out = out.to_str().unwrap();
    let no_drive = ["--name", "d", "--out", out];
    let both = [&words(out, "1")[..], &["--device", "/dev/null"]].concat();
    let cases: [(&[&str], &str); 9] = [
        (&["--speed", "1"], "option `--speed` is unknown"),
        (&["--seconds"], "--seconds needs a value"),
        (
            &["--name", "a b"],
            "--name is `a b`. Allowed: letters, digits",
        ),
        (&["--name", "d"], "--out is missing"),
        (&no_drive, "--device and --uri are missing"),
        (&both, "--device and --uri exclude each other"),
        (
            &["--device", "/dev/null", "--name", "d", "--out", out],
            "/dev/null is no block device",
        ),
        (
            &words(out, "67108863"),
            "the size in bytes is 67108863. Allowed: 67108864 to",
        ),
        (
            &[&words(out, "67108864")[..], &["--seconds", "1"]].concat(),
            "--seconds is 1. Allowed: 2 to 600",
        ),
    ];
    for (words, expected) in cases {
        let run = probe(folder.path(), programs.path(), words, "");
        assert_eq!(run.code, Some(2), "{words:?}");
        assert!(run.output.contains(expected), "{words:?}: {}", run.output);
    }
    assert!(!Path::new(out).exists());
}

#[test]
fn the_script_refuses_without_fio_3() {
    let folder = folder();
    let out = folder.path().join("results");
    let words = words(out.to_str().unwrap(), "67108864");
    let old = fake_fio("fio-2.21");
    let run = probe(folder.path(), old.path(), &words, "");
    assert!(
        run.output
            .contains("this is fio-2.21. fio 3.0 or later is needed")
    );
    let missing = tempfile::tempdir().unwrap();
    program(missing.path(), "fio", "exit 127");
    let run = probe(folder.path(), missing.path(), &words, "");
    assert!(
        run.output.contains("fio is missing. Install fio 3"),
        "{}",
        run.output
    );
}

#[test]
fn the_script_writes_only_after_the_name_was_given_twice() {
    let (folder, programs) = (folder(), fake_fio("fio-3.33"));
    let out = folder.path().join("results");
    let words = words(out.to_str().unwrap(), "67108864");
    for answers in [
        "",
        "yes\nyes\n",
        &format!("{URI}\n"),
        &format!("{URI}\nother\n"),
    ] {
        let run = probe(folder.path(), programs.path(), &words, answers);
        assert_eq!(run.code, Some(2));
        assert!(
            run.output
                .contains("ALL DATA ON THIS DRIVE WILL BE DESTROYED")
        );
        assert!(
            run.output.contains("Nothing was written."),
            "{}",
            run.output
        );
        assert!(!out.exists());
    }
    let twice = format!("{URI}\n{URI}\n");
    let run = probe(folder.path(), programs.path(), &words, &twice);
    assert!(
        run.output.contains("fio failed in step 10-fill-01"),
        "{}",
        run.output
    );
    assert!(run.output.contains("Time:     about"));
}

#[test]
fn a_mounted_device_is_refused() {
    // A device of this machine that is mounted, if one can be seen: its number stands in mountinfo.
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let numbers: Vec<&str> = mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(2))
        .collect();
    let classes = fs::read_dir("/sys/class/block")
        .into_iter()
        .flatten()
        .flatten();
    let mounted = classes.into_iter().find(|entry| {
        let number = fs::read_to_string(entry.path().join("dev")).unwrap_or_default();
        let name = Path::new("/dev").join(entry.file_name());
        numbers.contains(&number.trim()) && name.exists()
    });
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let Some(entry) = mounted.filter(|_| is_root) else {
        println!("SKIPPED: no mounted block device is visible, or this is not root");
        return;
    };
    let (folder, programs) = (folder(), fake_fio("fio-3.33"));
    let device = Path::new("/dev").join(entry.file_name());
    let out = folder.path().join("results");
    let words = [
        "--device",
        device.to_str().unwrap(),
        "--name",
        "d",
        "--out",
        out.to_str().unwrap(),
    ];
    let run = probe(folder.path(), programs.path(), &words, "");
    assert_eq!(run.code, Some(2));
    assert!(run.output.contains("is mounted at"), "{}", run.output);
}
