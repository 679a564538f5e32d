//! Memory and processor time of the program: sweeps, devices, and traces far larger than the memory
//! that reading them takes.
#![cfg(target_os = "linux")]

use serde_json::Value;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use wait4::{ResourceUsage, Wait4};

/// Requests of the trace; 32 B each in memory.
const REQUESTS: u64 = 600_000;
/// Bytes of a page frame with what schemes keep for it, a generous bound.
const PER_FRAME: u64 = 256;

/// Most memory that the command ever had, in bytes.
fn peak(dir: &Path, args: &str) -> u64 {
    used(dir, args).maxrss
}

/// What the command used of the machine.
fn used(dir: &Path, args: &str) -> ResourceUsage {
    run(dir, args, Stdio::null()).1
}

/// What the command says, and what it used of the machine.
fn run(dir: &Path, args: &str, stdin: Stdio) -> (String, ResourceUsage) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_destage"))
        .args(args.split_whitespace())
        .current_dir(dir)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = io::read_to_string(child.stdout.take().unwrap()).unwrap();
    let used = child.wait4().unwrap();
    assert!(used.status.success(), "{args}");
    (said, used.rusage)
}

/// A trace of few pages in a file, so that maps of pages count for nothing. A command of its own
/// makes it: a child's peak is never below what its parent had when it was started, so this
/// process stays small.
fn traced() -> TempDir {
    let dir = TempDir::new().unwrap();
    peak(
        dir.path(),
        &format!(
            "trace synth --requests {REQUESTS} --part at=zipf(0.9),space=64MiB,writes=0.6 -o t.csv"
        ),
    );
    dir
}

#[test]
fn sixteen_runs_share_one_trace() {
    let dir = traced();
    let one = peak(dir.path(), "run t.csv --scheme lru --cache 64k");
    assert!(one > 32 * REQUESTS, "the trace is in memory: {one}");
    let sizes = [64u64, 128, 256, 512];
    let caches: String = sizes.iter().map(|s| format!(" --cache {s}k")).collect();
    let sweep = format!(
        "run t.csv --jobs 8 --scheme lru --scheme arc --scheme lirs --scheme req-block{caches}"
    );
    let frames: u64 = sizes.iter().map(|s| s / 4 * 4).sum();
    let sixteen = peak(dir.path(), &sweep);
    let allowed = one + one / 2 + frames * PER_FRAME;
    eprintln!("one run {one} B, sixteen runs {sixteen} B, allowed {allowed} B");
    assert!(
        sixteen <= allowed,
        "one run {one} B, sixteen runs {sixteen} B"
    );
}

#[test]
fn a_trace_on_disk_takes_no_memory() {
    let dir = traced();
    let run = "run t.csv --scheme lru --cache 64k --jobs 1";
    let memory = peak(dir.path(), run);
    let streamed = peak(dir.path(), &format!("{run} --trace-memory 1MiB"));
    eprintln!("in memory {memory} B, streamed {streamed} B");
    assert!(
        streamed + 16 * REQUESTS < memory,
        "{streamed} against {memory}"
    );
}

/// 1 TiB of flash in 2^28 pages, as a device file and settings say it.
const TERABYTE: &str = "--device default --set channels=16 --set chips_per_channel=4 \
    --set dies_per_chip=4 --set planes_per_die=4 --set blocks_per_plane=2048 \
    --set pages_per_block=128 --set page_bytes=4096 --set op=0.1";

/// Start, one request and the report of a terabyte take less than 0.1 s of processor time, and
/// flash that is not written no memory.
#[test]
fn a_terabyte_starts_at_once() {
    let dir = TempDir::new().unwrap();
    std::fs::write(
        dir.path().join("one.csv"),
        "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n0,W,0,8,0,,0\n",
    )
    .unwrap();
    let run = "run one.csv --scheme lru --cache 1MiB --jobs 1";
    let alone = peak(dir.path(), run);
    let time = |_| {
        let used = used(dir.path(), &format!("{run} {TERABYTE}"));
        assert!(
            used.maxrss < alone + (64 << 20),
            "{} and {alone}",
            used.maxrss
        );
        used.utime + used.stime
    };
    // The least of some: others may disturb one of them.
    let least = (0..5).map(time).min().unwrap();
    eprintln!("{least:?}");
    assert!(least < Duration::from_millis(100), "{least:?}");
}

/// 8 bytes for every page of flash that was written, and 64 MiB.
#[test]
fn flash_takes_memory_where_it_is_written() {
    let dir = TempDir::new().unwrap();
    peak(
        dir.path(),
        "trace synth --requests 300000 --part at=zipf(0.9),space=8GiB,writes=1,size=32KiB -o w.csv",
    );
    let run = "run w.csv --scheme lru --cache 1MiB --jobs 1";
    let alone = peak(dir.path(), run);
    let with = peak(dir.path(), &format!("{run} {TERABYTE}"));
    let touched = 300_000 * 8;
    eprintln!("{alone} B without the device, {with} B with it");
    assert!(
        with < alone + 8 * touched + (64 << 20),
        "{alone} and {with}"
    );
}

/// The same where hardly any two pages are neighbours. What the cache takes to find pages is in both
/// runs.
#[test]
fn flash_takes_memory_where_single_pages_are_written() {
    const WRITES: u64 = 200_000;
    // Pages of the device that are exported.
    let pages = (1 << 28) * 9 / 10;
    let dir = TempDir::new().unwrap();
    let file = File::create(dir.path().join("w.csv")).unwrap();
    let mut trace = BufWriter::new(file);
    writeln!(
        trace,
        "arrival_ns,op,start_sector,sectors,stream,prev,atomic"
    )
    .unwrap();
    for i in 0..WRITES {
        let page = i * 150_000_001 % pages;
        writeln!(trace, "{},W,{},8,0,,0", i * 100_000, page * 8).unwrap();
    }
    trace.flush().unwrap();
    let run = "run w.csv --scheme lru --cache 1MiB --jobs 1";
    let alone = peak(dir.path(), run);
    let with = peak(dir.path(), &format!("{run} {TERABYTE}"));
    eprintln!("{alone} B without the device, {with} B with it");
    assert!(with < alone + 8 * WRITES + (64 << 20), "{alone} and {with}");
}

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

#[test]
fn large_files_and_streams_are_read_in_little_memory() {
    let dir = TempDir::new().unwrap();
    let chunk = chunk();
    let mut plain = File::create(dir.path().join("large.csv")).unwrap();
    let packed = File::create(dir.path().join("large.csv.zst")).unwrap();
    let mut packed = zstd::Encoder::new(packed, 1).unwrap();
    for _ in 0..REPEATS {
        plain.write_all(chunk.as_bytes()).unwrap();
        packed.write_all(chunk.as_bytes()).unwrap();
    }
    packed.finish().unwrap();
    drop(plain);
    let open = |name: &str| Stdio::from(File::open(dir.path().join(name)).unwrap());
    for (trace, stdin) in [
        ("large.csv", Stdio::null()),
        ("large.csv.zst", Stdio::null()),
        ("-", open("large.csv")),
        ("-", open("large.csv.zst")),
    ] {
        let (said, used) = run(dir.path(), &format!("trace info {trace} --json"), stdin);
        let info: Value = serde_json::from_str(&said).unwrap();
        let peak = used.maxrss;
        assert_eq!(info["write_requests"], LINES * REPEATS, "{trace}");
        assert_eq!(info["footprint_pages"], LINES, "{trace}");
        assert!(peak < MOST, "{trace}: {} MiB", peak >> 20);
    }
}

/// Tables follow the pages that a trace touches, not the numbers on the command line: 1,000 requests of
/// 4 KiB fill nothing.
#[test]
fn memory_follows_the_trace_and_not_the_cache() {
    let dir = TempDir::new().unwrap();
    let synth = "trace synth --requests 1000 --part at=zipf(1.1),space=96MiB -o t.csv";
    peak(dir.path(), synth);
    for run in [
        "--cache 256GiB --scheme lru --scheme arc --scheme lirs --scheme 2q --scheme prober(lru)",
        "--cache 4TiB --scheme req-block --scheme vbbms --scheme cac(arc) --scheme belady",
        "--cache 1MiB --scheme 2q(kout=4294967295)",
        "--cache 1MiB --scheme multihash(lru,m=4294967295)",
    ] {
        let bytes = peak(dir.path(), &format!("run t.csv {run}"));
        assert!(bytes < 64 << 20, "{run}: {bytes} B");
    }
}
