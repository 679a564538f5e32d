//! `destage lab`. DESTAGE_LAB_KERNEL names a kernel of `fs-lab/build-kernel.sh --exact`.

use crate::common::Bench;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The kernel, if there is one to test with.
pub fn kernel() -> Option<String> {
    let kernel = std::env::var("DESTAGE_LAB_KERNEL").ok();
    if kernel.is_none() {
        eprintln!("SKIPPED: DESTAGE_LAB_KERNEL names no kernel for `destage lab`");
    }
    kernel
}

#[test]
fn a_kernel_that_cannot_be_is_refused() {
    let bench = Bench::new();
    bench
        .destage("lab --kernel /bin/true -- true")
        .fails(1, &["ended before it asked for the time"]);
    bench.refuses(
        "
        lab --kernel nowhere -- true | --kernel nowhere: No such file
        lab --kernel /bin/true | <COMMAND>
        lab --kernel /bin/true --scheme belady -- true | scheme that knows the future
        ",
    );
}

#[test]
fn a_signal_ends_the_kernel_and_removes_its_folder() {
    let bench = Bench::new();
    let temporary = bench.path("temporary");
    std::fs::create_dir(&temporary).expect("a folder");
    // A kernel that never asks for the time.
    bench.file("kernel", "#!/bin/sh\necho $$ > pid\nexec sleep 1000\n");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bench.path("kernel"), executable).expect("rights");
    let mut lab = Command::new(assert_cmd::cargo::cargo_bin!("destage"))
        .args(["lab", "--kernel", "kernel", "--", "true"])
        .current_dir(bench.path(""))
        .env("TMPDIR", &temporary)
        .spawn()
        .expect("a lab");
    let booted = || {
        let folder = std::fs::read_dir(&temporary).expect("a folder").next()?;
        let pid = std::fs::read_to_string(folder.ok()?.path().join("pid")).ok()?;
        pid.trim().parse::<u32>().ok()
    };
    let pid = std::iter::repeat_with(booted)
        .inspect(|_| std::thread::sleep(Duration::from_millis(20)))
        .take(1000)
        .find_map(|pid| pid)
        .expect("the kernel runs");
    assert!(Path::new(&format!("/proc/{pid}")).exists());
    let killed = Command::new("kill").arg(lab.id().to_string()).status();
    assert!(killed.expect("kill").success());
    assert_eq!(lab.wait().expect("an end").code(), Some(143));
    let left = std::fs::read_dir(&temporary).expect("a folder").count();
    assert_eq!(left, 0, "the folder is gone");
    // A process ends some time after it is told to. Its parent is gone, so whoever takes orphans takes
    // note of its end.
    let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let ended = std::iter::repeat_with(state)
        .inspect(|_| std::thread::sleep(Duration::from_millis(20)))
        .take(1000)
        .any(|state| state.is_empty() || state.contains(") Z "));
    assert!(ended, "{}", state());
}

#[test]
fn two_runs_are_equal_and_a_failure_is_told() {
    let Some(kernel) = kernel() else {
        return;
    };
    let bench = Bench::new();
    for fs in ["ext4", "f2fs"] {
        let run = |record: &str| {
            let copy = "cp -r /usr/include/linux .";
            let options = format!("--fs {fs} --record {record} --format-out jsonl");
            bench.shown(format!("lab --kernel {kernel} {options} -- {copy}"))
        };
        assert_eq!(run("one.bin"), run("two.bin"), "{fs}: records");
        let bytes = |name: &str| std::fs::read(bench.path(name)).expect("a trace");
        let same = bytes("one.bin") == bytes("two.bin");
        assert!(same, "{fs}: requests");
    }
    let failed = bench.destage(format!("lab --kernel {kernel} -- false"));
    let told = "the command ended with exit code 1";
    assert_eq!((failed.code, failed.stderr.contains(told)), (1, true));
    bench
        .destage(format!("lab --kernel {kernel} --mount nonsense -- true"))
        .fails(1, &["mount failed in the guest"]);
}
