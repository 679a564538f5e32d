//! `destage lab`. DESTAGE_LAB_KERNEL names a kernel of `fs-lab/build-kernel.sh --exact`.

use crate::common::Bench;

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
        .destage("lab --kernel nowhere -- true")
        .fails(2, &["--kernel nowhere: No such file"]);
    bench
        .destage("lab --kernel /bin/true -- true")
        .fails(1, &["ended before it asked for the time"]);
    bench
        .destage("lab --kernel /bin/true")
        .fails(2, &["<COMMAND>"]);
    bench
        .destage("lab --kernel /bin/true --scheme belady -- true")
        .fails(2, &["scheme that knows the future"]);
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
