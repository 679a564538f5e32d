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

/// The resources of the machine that the command used.
fn used(dir: &Path, args: &str) -> ResourceUsage {
    run(dir, args, Stdio::null()).1
}

/// The output of the command, and the resources of the machine that it used.
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

/// What fills a drive before the run is no table: its first answer takes at most 0.3 s and 128 MiB more than that of an
/// empty drive.
#[test]
fn a_full_drive_starts_as_an_empty_one() {
    let dir = TempDir::new().unwrap();
    let text = "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n0,R,4096,8,0,,0\n";
    std::fs::write(dir.path().join("one.csv"), text).unwrap();
    let run = "run one.csv --scheme lru --jobs 1 --device enterprise-tlc-1t --set precondition";
    let least = |fill: &str| {
        let command = format!("{run}.fill={fill}");
        let used = (0..5).map(|_| used(dir.path(), &command));
        let used = used.min_by_key(|used| used.utime + used.stime);
        used.map(|used| (used.utime + used.stime, used.maxrss))
            .unwrap()
    };
    let (empty, full) = (least("0"), least("1"));
    eprintln!("empty {empty:?}, full {full:?}");
    assert!(
        full.0 < empty.0 + Duration::from_millis(300),
        "{empty:?} {full:?}"
    );
    assert!(full.1 < empty.1 + (128 << 20), "{empty:?} {full:?}");
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

/// Where hardly any two pages are neighbours, each takes a piece of 128 bytes by address and 4 bytes by place.
/// The memory with which the cache finds pages is in both runs.
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
    assert!(
        with < alone + 132 * WRITES + (64 << 20),
        "{alone} and {with}"
    );
}

/// Lines of a chunk, and how often it is repeated: 2.4 million requests, 100 MiB of text.
const LINES: u64 = 40_000;
const REPEATS: u64 = 60;
/// The requests alone would take 73 MiB.
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

/// Runs the command in an address space of 512 MiB: its exit code, and what it says.
fn limited(dir: &Path, args: &str) -> (Option<i32>, String) {
    let done = Command::new("sh")
        .arg("-c")
        .arg("ulimit -v 524288 && exec \"$0\" \"$@\"")
        .arg(env!("CARGO_BIN_EXE_destage"))
        .args(args.split_whitespace())
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = [done.stdout, done.stderr].concat();
    (done.status.code(), String::from_utf8(said).unwrap())
}

/// The cells of each row of a table, between bars; a line that begins with a bar goes on with the one
/// above it.
fn table<const N: usize>(text: &str) -> Vec<[&str; N]> {
    let mut rows: Vec<Vec<&str>> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match (line.strip_prefix('|'), rows.last_mut()) {
            (Some(more), Some(row)) => row.extend(more.split('|').map(str::trim)),
            _ => rows.push(line.split('|').map(str::trim).collect()),
        }
    }
    let rows = rows.into_iter().map(|row| row.try_into().unwrap());
    rows.collect()
}

const OWN: &str = "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n";
/// Sectors of 2 TiB, nearly, and of 256 TiB.
const LONG: u64 = 4_294_967_295;
const END: u64 = 1 << 39;

/// 1000 requests of 1 GiB, 128 GiB apart: more than a device has, in parts of any size.
fn wide_requests() -> String {
    let line = |i: u64| format!("{i},W,{},2097152,0,,0\n", i << 28);
    OWN.to_owned() + &(0..1000).map(line).collect::<String>()
}

/// Requests of 2 TiB all over 256 TiB.
fn long_requests() -> String {
    let line = |i: u64| {
        format!(
            "{i},{},{},{LONG},0,,0\n",
            ["W", "R"][i as usize % 2],
            i * LONG
        )
    };
    OWN.to_owned() + &(0..100).map(line).collect::<String>()
}

#[test]
fn numbers_in_a_few_lines_take_no_memory() {
    let dir = TempDir::new().unwrap();
    let put = |name: &str, text: String| std::fs::write(dir.path().join(name), text).unwrap();
    let capture = "time_us,op,lba_sector,sectors,prev_lba_sector,fs,tag,req\n";
    put(
        "rows.csv",
        format!("{capture}1,W,0,{LONG},,f2fs,data,1\n2,W,0,8,80,f2fs,data,2\n"),
    );
    put(
        "old.csv",
        format!(
            "{capture}1,W,0,{LONG},,f2fs,data,1\n2,W,0,{},0,f2fs,data,2\n",
            LONG - 7
        ),
    );
    put(
        "far.csv",
        format!("{OWN}0,W,0,8,0,,0\n1,W,{},8,0,,0\n2,R,0,8,0,,0\n", END - 8),
    );
    put("long.csv", long_requests());
    put(
        "map.ftrace",
        " a-7 [000] 0.1: f2fs_direct_IO_enter: dev = (8,1), ino = 4 pos = 0 len = 4096 rw = 1\n \
         a-7 [000] 0.2: f2fs_map_blocks: dev = (8,1), ino = 4, file offset = 0, start blkaddr = \
         0x1000, len = 0xffffffff, flags = 2, flag = 3, err = 0\n \
         a-7 [000] 0.3: block_rq_issue: 8,1 WS 4096 () 32768 + 8 [a]\n"
            .to_owned(),
    );
    for [args, code, part] in table(
        r#"
        trace info rows.csv | 0 | with old addresses 1
        trace info old.csv | 2 | line 3, column 4 (sectors): `4294967288` is longer than 1 GiB
        trace info far.csv --json | 0 | "footprint_pages":2
        run far.csv --scheme lru --page 512B --cache 1MiB | 0 | lru
        run far.csv --scheme belady --scheme prober(lru) --cache 1TiB | 0 | belady
        mrc far.csv --scheme lru --page 512B | 0 | lru
        trace info long.csv --json | 0 | "footprint_pages":53687091188
        trace convert long.csv --to destage-bin -o long.bin | 0 |
        trace head long.bin | 0 | 4294967295
        trace import-ftrace map.ftrace --device 8,1 | 0 | 0,W,32768,8,0,,0
        "#,
    ) {
        let (exit, said) = limited(dir.path(), args);
        assert_eq!(exit, code.parse().ok(), "{args}: {said}");
        assert!(said.contains(part), "{args}: {said}");
    }
}

/// A run that needs too much memory is refused by name, with the amount that it needs.
#[test]
fn what_does_not_fit_is_refused_before_it_begins() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("long.csv"), long_requests()).unwrap();
    std::fs::write(dir.path().join("wide.csv"), wide_requests()).unwrap();
    // Each page of a cache in flash has operations there as well.
    let million = format!("{OWN}0,W,0,8000000,0,,0\n");
    std::fs::write(dir.path().join("million.csv"), million).unwrap();
    // The number of bytes stands behind the words.
    for [args, what] in table(
        r#"
        run long.csv --scheme lru | long: this run with its trace takes
        run long.csv --host-fs lfs | long: the model --host-fs lfs takes
        run long.csv --host-fs inplace | inplace: this run with its trace takes
        run long.csv --scheme belady | long: this run with its trace takes
        mrc long.csv
          | long: the curve with its trace (--sample-pages estimates that of lru in less) takes
        mrc long.csv --sample-rate 0.5 | long: the sampled curve with its trace
        mrc long.csv --sample-pages 10000000 --cache 1GiB | long: the sampled curve with its trace
        run million.csv --device default --set cache_region={size="1GiB",t_read="20us",t_program="0ns"}
          | million: this run with its trace takes
        run wide.csv --device enterprise-tlc-1t | wide: moving the trace together (--addresses fit) takes
        trace synth --part at=zipf(1),space=64GiB
          | zipf(THETA), which has a table of the units of its space (a larger unit=SIZE), takes
        "#,
    ) {
        for memory in ["", " --memory 358MiB"] {
            let (exit, said) = limited(dir.path(), &format!("{args}{memory}"));
            assert_eq!(exit, Some(1), "{args}: {said}");
            assert!(
                said.contains(&format!("{what} ")) && said.contains("than the 35"),
                "{args}: {said}"
            );
        }
    }
}

/// Memory would suffice, but the numbers of an index do not.
#[test]
fn what_an_index_cannot_number_is_refused() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("long.csv"), long_requests()).unwrap();
    for args in [
        "run long.csv --scheme lru --cache 1MiB --memory 1000TiB",
        "mrc long.csv --cache 1MiB --memory 1000TiB",
        "mrc long.csv --cache 1MiB --memory 1000TiB --sample-rate 0.01",
    ] {
        let (exit, said) = limited(dir.path(), args);
        assert_eq!(exit, Some(1), "{args}: {said}");
        let part =
            "long: the trace touches 104857600 neighbourhoods of 512 pages, more than the 8388607 ";
        assert!(said.contains(part), "{args}: {said}");
    }
}

/// A request whose extents lie over each other takes no more to move than one of them.
#[test]
fn extents_over_each_other_are_moved_together_in_little_memory() {
    let dir = TempDir::new().unwrap();
    let head = "arrival_ns,op,start_sector,sectors,stream,prev,atomic,tag,group\n";
    let lines = format!("0,W,0,{LONG},0,,0,,1\n").repeat(40);
    std::fs::write(dir.path().join("group.csv"), head.to_owned() + &lines).unwrap();
    let (exit, said) = limited(dir.path(), "run group.csv --device default");
    // A later step needs the memory: the trace wraps, and its pages are indexed.
    assert_eq!(exit, Some(1), "{said}");
    assert!(said.contains("even with its regions"), "{said}");
}

#[test]
fn a_command_that_takes_too_much_names_the_request() {
    let dir = traced();
    for (args, part) in [
        (
            "run t.csv --scheme lru --cache 64k --memory 2MiB --trace-memory 1MiB",
            "t: after request ",
        ),
        (
            "mrc t.csv --cache 64k --memory 2MiB --trace-memory 1MiB",
            "t: after request ",
        ),
        (
            "mrc t.csv --sample-rate 0.01 --memory 2MiB --trace-memory 1MiB",
            "t: after request ",
        ),
        (
            "trace info t.csv --memory 2MiB",
            "t.csv: counting its first 65536 requests takes ",
        ),
    ] {
        let (exit, said) = limited(dir.path(), args);
        assert_eq!(exit, Some(1), "{args}: {said}");
        assert!(
            said.contains(part) && said.contains(" of --memory"),
            "{args}: {said}"
        );
    }
    let (exit, said) = limited(dir.path(), "trace import-ftrace t.csv --skip-bad-lines");
    assert_eq!(exit, Some(2), "{said}");
}

/// As many requests as `large_files_and_streams_are_read_in_little_memory` reads, 73 MiB in memory.
#[test]
fn traces_are_made_and_converted_in_little_memory() {
    let dir = TempDir::new().unwrap();
    let synth = "trace synth --requests 2400000 --part at=zipf(0.9),space=64MiB -o";
    let made = peak(dir.path(), &format!("{synth} t.bin --to destage-bin"));
    assert!(made < MOST, "{} MiB", made >> 20);
    let formats = [
        "destage-bin",
        "msr",
        "destage",
        "fio",
        "ssdsim",
        "disksim",
        "oracle-general",
    ];
    // A binary format and one of text; `cargo xtask full` writes all.
    let tried = match std::env::var_os("DESTAGE_FULL") {
        Some(_) => &formats[..],
        None => &formats[..2],
    };
    for to in tried {
        let made = peak(
            dir.path(),
            &format!("trace convert t.bin -o {to}.out --to {to}"),
        );
        assert!(made < MOST, "{to}: {} MiB", made >> 20);
    }
    // Not read here: children would be taken for as large as this process.
    let cmp = Command::new("cmp")
        .args(["t.bin", "destage-bin.out"])
        .current_dir(dir.path())
        .status();
    assert!(
        cmp.unwrap().success(),
        "a conversion to the same is the same"
    );
}

/// A million volumes, each with one request.
#[test]
fn a_million_volumes_fit() {
    let dir = TempDir::new().unwrap();
    let mut trace = BufWriter::new(File::create(dir.path().join("v.csv")).unwrap());
    for i in 0..1u64 << 20 {
        writeln!(trace, "{i},W,{},4096,{i}", i % 1000 * 4096).unwrap();
    }
    trace.flush().unwrap();
    drop(trace);
    let info = "trace info v.csv --format alibaba";
    let (said, used) = run(dir.path(), info, Stdio::null());
    assert!(used.maxrss < 320 << 20, "{} MiB", used.maxrss >> 20);
    assert!(
        said.contains("and 1048566 more (--json lists them)"),
        "{said}"
    );
    let json = Command::new("sh")
        .arg("-c")
        .arg("ulimit -v 524288 && exec \"$0\" trace info v.csv --format alibaba --json > v.json")
        .arg(env!("CARGO_BIN_EXE_destage"))
        .current_dir(dir.path())
        .status();
    assert!(json.unwrap().success());
    let written = dir.path().join("v.json").metadata().unwrap().len();
    assert!(written > 60 << 20, "{written} bytes");
}

/// Operations of the device that wait are many where a request is huge; write-backs are few all the same.
#[test]
fn write_backs_take_memory_by_their_number() {
    let dir = TempDir::new().unwrap();
    let mut trace = "arrival_ns,op,start_sector,sectors,stream,prev,atomic,tag,group\n".to_owned();
    let requests = [
        "W,1896,616",
        "R,0,872",
        "R,160,4194304",
        "W,176,8",
        "R,192,656",
        "R,168,336",
        "W,504,8",
        "W,208,592",
        "R,20,385",
    ];
    requests
        .iter()
        .for_each(|r| trace += &format!("0,{r},0,,0,,\n"));
    std::fs::write(dir.path().join("t.csv"), trace).unwrap();
    let run = |scheme: &str| {
        let device = "--device default --set channels=2 --set planes_per_die=1 --set blocks_per_plane=9 --set \
                      pages_per_block=4 --set op=0.4 --wrap";
        peak(
            dir.path(),
            &format!("run t.csv --scheme {scheme} --cache 45056B {device}"),
        )
    };
    let (without, with) = (run("prober(lru)"), run("awb(prober(lru))"));
    eprintln!("without write-backs {without} B, with them {with} B");
    assert!(with < without + (4 << 20), "{without} B, {with} B");
}
