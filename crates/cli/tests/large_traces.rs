//! Traces far larger than the memory that reading them takes.
#![cfg(target_os = "linux")]

mod common;

use common::Bench;
use std::fs::File;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use wait4::Wait4;

/// Lines of a chunk, and how often it is repeated: 2.4 million requests, 100 MiB of text.
const LINES: u64 = 40_000;
const REPEATS: u64 = 60;
/// What the requests alone would take is 73 MiB.
const MOST: u64 = 48 << 20;

/// Writes of one page each, all of the same time.
fn chunk() -> String {
    (0..LINES)
        .map(|i| format!("128166372003061629,hm,0,Write,{},4096,2833\n", 4096 * i))
        .collect()
}

/// What `destage trace info` says, and the most memory it had.
fn info(bench: &Bench, trace: &str, stdin: Stdio) -> (serde_json::Value, u64) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_destage"))
        .args(["trace", "info", trace, "--json"])
        .current_dir(bench.dir.path())
        .stdin(stdin)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let text = io::read_to_string(&mut out).unwrap();
    let end = child.wait4().unwrap();
    assert!(end.status.success());
    (serde_json::from_str(&text).unwrap(), end.rusage.maxrss)
}

#[test]
fn large_files_and_streams_are_read_in_little_memory() {
    let bench = Bench::new();
    let chunk = chunk();
    let mut plain = File::create(bench.dir.path().join("large.csv")).unwrap();
    let packed = File::create(bench.dir.path().join("large.csv.zst")).unwrap();
    let mut packed = zstd::Encoder::new(packed, 1).unwrap();
    for _ in 0..REPEATS {
        plain.write_all(chunk.as_bytes()).unwrap();
        packed.write_all(chunk.as_bytes()).unwrap();
    }
    packed.finish().unwrap();
    drop(plain);
    let open = |name: &str| Stdio::from(File::open(bench.dir.path().join(name)).unwrap());
    for (trace, stdin) in [
        ("large.csv", Stdio::null()),
        ("large.csv.zst", Stdio::null()),
        ("-", open("large.csv")),
        ("-", open("large.csv.zst")),
    ] {
        let (info, peak) = info(&bench, trace, stdin);
        assert_eq!(info["write_requests"], LINES * REPEATS, "{trace}");
        assert_eq!(info["footprint_pages"], LINES, "{trace}");
        assert!(peak < MOST, "{trace}: {} MiB", peak >> 20);
    }
}
