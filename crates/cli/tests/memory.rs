//! A sweep holds its trace once: memory of 16 runs against memory of one.
#![cfg(target_os = "linux")]

mod common;

use common::Bench;
use std::process::{Command, Stdio};
use wait4::Wait4;

/// Requests of the trace; 32 B each in memory.
const REQUESTS: u64 = 600_000;
/// Bytes of a page frame with what schemes keep for it, a generous bound.
const PER_FRAME: u64 = 256;

/// Most memory that the command ever had, in bytes.
fn peak(bench: &Bench, args: &str) -> u64 {
    let child = Command::new(env!("CARGO_BIN_EXE_destage"))
        .args(args.split_whitespace())
        .current_dir(bench.dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let used = child.wait4().unwrap();
    assert!(used.status.success(), "{args}");
    used.rusage.maxrss
}

/// A trace of few pages in a file, so that maps of pages count for nothing. A command of its own
/// makes it: a child's peak is never below what its parent had when it was started, so this
/// process stays small.
fn traced() -> Bench {
    let bench = Bench::new();
    peak(
        &bench,
        &format!(
            "trace synth --requests {REQUESTS} --part at=zipf(0.9),space=64MiB,writes=0.6 -o t.csv"
        ),
    );
    bench
}

#[test]
fn sixteen_runs_share_one_trace() {
    let bench = traced();
    let one = peak(&bench, "run t.csv --scheme lru --cache 64k");
    assert!(one > 32 * REQUESTS, "the trace is in memory: {one}");
    let sizes = [64u64, 128, 256, 512];
    let caches: String = sizes.iter().map(|s| format!(" --cache {s}k")).collect();
    let sweep = format!(
        "run t.csv --jobs 8 --scheme lru --scheme arc --scheme lirs --scheme req-block{caches}"
    );
    let frames: u64 = sizes.iter().map(|s| s / 4 * 4).sum();
    let sixteen = peak(&bench, &sweep);
    let allowed = one + one / 2 + frames * PER_FRAME;
    eprintln!("one run {one} B, sixteen runs {sixteen} B, allowed {allowed} B");
    assert!(
        sixteen <= allowed,
        "one run {one} B, sixteen runs {sixteen} B"
    );
}

#[test]
fn a_trace_on_disk_takes_no_memory() {
    let bench = traced();
    let run = "run t.csv --scheme lru --cache 64k --jobs 1";
    let memory = peak(&bench, run);
    let streamed = peak(&bench, &format!("{run} --trace-memory 1MiB"));
    eprintln!("in memory {memory} B, streamed {streamed} B");
    assert!(
        streamed + 16 * REQUESTS < memory,
        "{streamed} against {memory}"
    );
}
