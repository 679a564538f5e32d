//! Input that cannot give a result: every case ends with exit code 2 and a message that names the
//! place, the value and what is allowed, before anything runs.

mod common;

use common::{Bench, csv};

#[track_caller]
fn refused(bench: &Bench, args: &str, parts: &[&str]) {
    let args: Vec<&str> = args.split_whitespace().collect();
    bench.destage(&args).fails(2, parts);
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0 W1 R0"));
    bench
}

#[test]
fn unknown_units() {
    let b = bench();
    refused(&b, "run t.csv --cache 16Mb", &["--cache", "`16Mb`", "MiB"]);
    refused(&b, "run t.csv --cache 1.5x", &["--cache", "`1.5x`"]);
    refused(
        &b,
        "run t.csv --trace-memory 4",
        &["--trace-memory", "needs a unit"],
    );
    let time = "run t.csv --device default --set t_read=75";
    refused(&b, time, &["t_read", "75", "unit"]);
    let unit = "run t.csv --device default --set t_read=75parsecs";
    refused(&b, unit, &["t_read", "parsecs", "us"]);
}

#[test]
fn unknown_keys_and_devices() {
    let b = bench();
    let key = "run t.csv --device default --set t_raed=75us";
    refused(&b, key, &["`t_raed`", "`t_read`"]);
    refused(
        &b,
        "run t.csv --device ecr-64",
        &["--device", "ecr-64", "`ecr-64g`"],
    );
    refused(
        &b,
        "run t.csv --device missing.toml",
        &["--device", "missing.toml"],
    );
    refused(&b, "run t.csv --set t_read=75us", &["--set needs a device"]);
    refused(&b, "presets nowhere", &["nowhere"]);
}

#[test]
fn bad_device_files() {
    let b = bench();
    for (text, parts) in [
        ("channels = 0\n", &["channels", "0"][..]),
        ("channels = \"eight\"\n", &["channels", "eight"][..]),
        ("page_bytes = 3000\n", &["page_bytes", "3000"][..]),
        ("op = 1.5\n", &["op", "1.5"][..]),
        ("t_read = \"-1us\"\n", &["t_read", "-1us"][..]),
        ("queue = \"lifo\"\n", &["queue", "lifo", "fifo"][..]),
        ("base = \"no-such-preset\"\n", &["no-such-preset"][..]),
        ("channels = \n", &["d.toml"][..]),
        ("chanels = 8\n", &["`chanels`", "`channels`"][..]),
    ] {
        b.file("d.toml", text);
        refused(&b, "run t.csv --device d.toml", parts);
    }
}

#[test]
fn unknown_schemes_and_formats() {
    let b = bench();
    refused(
        &b,
        "run t.csv --scheme lruu",
        &["unknown scheme `lruu`", "`lru`"],
    );
    refused(&b, "run t.csv --scheme lru(", &["lru("]);
    refused(&b, "run t.csv --format smr", &["--format", "`smr`"]);
    refused(
        &b,
        "run t.csv --format-out yaml",
        &["--format-out", "parquet"],
    );
    refused(
        &b,
        "trace convert t.csv --to yaml",
        &["--to", "destage-bin"],
    );
    b.file("long.csv", "R,0,2199023255552\n");
    let long = "run long.csv --format file-ops";
    refused(
        &b,
        long,
        &["longer than 4294967295 sectors", "2199023255040"],
    );
    b.file("x.bin", [0u8, 159, 146, 150, 1, 2, 3]);
    refused(&b, "run x.bin", &["x.bin", "no known trace format"]);
    refused(
        &b,
        "run t.csv --format msr",
        &["t.csv: line 1", "--skip-bad-lines"],
    );
    b.file("late.txt", "#\n".repeat(2000) + "4096\n");
    refused(
        &b,
        "run late.txt",
        &["late.txt", "first 1000 lines are blank", "--format forces"],
    );
}

#[test]
fn traces_without_a_request() {
    let b = bench();
    b.file("empty.csv", "");
    refused(&b, "run empty.csv", &["empty.csv", "the trace is empty"]);
    b.file("bad.csv", csv("") + "a,b\nc,d\n");
    refused(
        &b,
        "run bad.csv --skip-bad-lines",
        &["bad.csv", "not one of 2 lines is a `destage` request"],
    );
    refused(
        &b,
        "run t.csv --tags flush",
        &["t.csv", "no request is of the kinds chosen"],
    );
}

#[test]
fn caches_too_small() {
    let b = bench();
    refused(&b, "run t.csv --cache 0B", &["--cache 0B", "at least one"]);
    refused(&b, "run t.csv --cache 4095B", &["--cache", "holds no page"]);
    refused(
        &b,
        "run t.csv --scheme lirs --cache 4k",
        &["lirs", "X9 LIMIT", "capacity 1 below minimum 3"],
    );
}

#[test]
fn refused_compositions() {
    let b = bench();
    for (expr, rule) in [
        ("lru(arc)", "X"),
        ("prober(cac(lru))", "X1 ROLE_ORDER"),
        ("gcar(none)", "X4 NO_CACHE"),
        ("gcar(belady)", "X"),
        ("cac(cac(lru))", "X"),
    ] {
        refused(&b, &format!("run t.csv --scheme {expr}"), &[rule]);
    }
    refused(
        &b,
        "run t.csv --scheme req-block --read-alloc on",
        &["X16", "req-block"],
    );
}

#[test]
fn compressed_files_that_are_damaged() {
    let b = bench();
    let whole = zstd::encode_all(csv(&"W0 W7 R9 ".repeat(4000)).as_bytes(), 3).unwrap();
    b.file("cut.csv.zst", &whole[..whole.len() / 2]);
    refused(
        &b,
        "run cut.csv.zst",
        &["cut.csv.zst", "truncated zstd file"],
    );
    let mut broken = whole.clone();
    let middle = broken.len() / 2;
    broken[middle..middle + 16].fill(0xff);
    b.file("broken.csv.zst", broken);
    refused(&b, "run broken.csv.zst", &["broken.csv.zst"]);
    let gzip = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0";
    b.file("t.csv.gz", [&gzip[..], b"junk"].concat());
    refused(&b, "run t.csv.gz", &["t.csv.gz", "gzip", "trailing data"]);
    b.file("magic.zst", &whole[..3]);
    refused(&b, "run magic.zst", &["magic.zst", "truncated zstd file"]);
    b.file("t.zip", b"PK\x03\x04rest of a zip file");
    refused(
        &b,
        "run t.zip",
        &["t.zip", "files are not read", "zstd, gzip, xz"],
    );
    b.file("t.bin", b"\x89DSTG\r\n\x1a\x01");
    refused(&b, "run t.bin", &["t.bin", "destage-bin"]);
}

#[test]
fn places_that_cannot_be_written() {
    let b = bench();
    b.file("file", "");
    for format in ["table", "jsonl", "csv", "parquet"] {
        let run = format!("run t.csv --out file --format-out {format}");
        refused(&b, &run, &["--out file", "cannot write there"]);
    }
    let folder = b.dir.path().join("results.d");
    std::fs::create_dir_all(folder.join("results.parquet")).unwrap();
    refused(
        &b,
        "run t.csv --out results.d --format-out parquet",
        &["--out results.d", "cannot write there", "directory"],
    );
}

#[test]
fn addresses_beyond_the_device() {
    let b = bench();
    b.file("far.csv", csv("W0 W199999999"));
    refused(
        &b,
        "run far.csv --device ecr-64g",
        &["request 1 of the trace", "ecr-64g", "--wrap", "--fit"],
    );
}

#[test]
fn settings_that_exclude_each_other() {
    let b = bench();
    for option in [
        "--wrap",
        "--fit",
        "--closed-loop 2",
        "--time-scale 2",
        "--log-requests l",
    ] {
        let name = option.split(' ').next().unwrap();
        let message = format!("{name} needs a device");
        refused(&b, &format!("run t.csv {option}"), &[&message]);
    }
    refused(
        &b,
        "run t.csv --device ecr-64g --page 8k",
        &["--page 8KiB", "ecr-64g", "4KiB"],
    );
    refused(
        &b,
        "run t.csv --device ecr-64g --cache 65GiB",
        &["--cache 65GiB", "larger than device ecr-64g"],
    );
}

#[test]
fn warm_ups_that_leave_nothing() {
    let b = bench();
    refused(
        &b,
        "run t.csv --warmup 3",
        &["a warm-up of 3 requests covers the trace of 3"],
    );
    refused(
        &b,
        "run t.csv --warmup 2 --limit 2",
        &["covers the trace of 2"],
    );
    refused(
        &b,
        "run t.csv --warmup 100%",
        &["leaves nothing to measure"],
    );
    refused(&b, "run t.csv --warmup passes=x", &["passes=K"]);
    refused(&b, "run t.csv --warmup -5", &["-5"]);
    // 34 % of three requests is one; a pass leaves all of them to be measured.
    for (warmup, measured) in [("34%", 2), ("1", 2), ("passes=2", 3), ("0", 3)] {
        let args = ["run", "t.csv", "--warmup", warmup, "--format-out", "jsonl"];
        let record = b.destage(&args).ok().records().remove(0);
        assert_eq!(record["counts"]["requests"], measured, "{warmup}");
    }
}

/// A cache in flash needs room there, and a chip for every address.
#[test]
fn caches_in_flash() {
    let b = bench();
    let run = "run t.csv --device procache-emu";
    refused(
        &b,
        &format!("{run} --cache 1025MiB"),
        &[
            "--cache 1025MiB",
            "does not fit into the flash region of device procache-emu",
            "1GiB",
        ],
    );
    refused(
        &b,
        &format!("{run} --set cache_region.size=512MiB"),
        &["--cache 1GiB", "512MiB", "cache_region.size"],
    );
    refused(
        &b,
        &format!("{run} --set allocation=dynamic"),
        &[
            "`cache_region`",
            "allocation = \"dynamic\" gives addresses no chip",
        ],
    );
    refused(
        &b,
        "run t.csv --device default --set cache_region.t_read=20us",
        &[
            "`cache_region.size` is not given",
            "`cache_region.t_program` is not given",
        ],
    );
    refused(
        &b,
        &format!("{run} --set cache_region.t_raed=1us"),
        &["did you mean `t_read`"],
    );
    refused(
        &b,
        "run t.csv --set cache_region=off",
        &["--set needs a device"],
    );
    let none = "run t.csv --device procache-emu --scheme none --cache 2GiB";
    let args: Vec<&str> = none.split_whitespace().collect();
    b.destage(&args).ok();
}
