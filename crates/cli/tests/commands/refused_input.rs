//! Traces, schemes and devices that cannot give a result, refused as in `refusals`.

use crate::common::{Bench, csv};

fn bench() -> Bench {
    Bench::with(csv("W0 W1 R0"))
}

#[test]
fn traces() {
    let bench = bench();
    bench.file("empty.csv", "");
    bench.file("header.csv", csv(""));
    bench.file("bad.csv", csv("") + "a,b\nc,d\n");
    bench.file("line.csv", csv("W0 W1") + "5000,X,0,8,0,,0\n");
    bench.file("hello.csv", "hello\nworld\n");
    bench.file("long.csv", "R,0,2199023255552\n");
    bench.file("x.bin", [0u8, 159, 146, 150, 1, 2, 3]);
    bench.file("late.txt", "#\n".repeat(2000) + "4096\n");
    bench.refuses(
        "
        run | no trace given | `-` for standard input | `demo`
        run - - | standard input | only once
        run missing.csv | missing.csv | No such file
        run t.csv missing.csv | missing.csv
        run . | .:  | directory
        run empty.csv | empty.csv | the trace is empty
        run header.csv | header.csv | holds no request
        run - | stdin | the trace is empty
        run bad.csv --skip-bad-lines | bad.csv | not one of 2 lines is a `destage` request
        run line.csv | line.csv: line 4, column 2 (op): `X` | allowed: R (read) | --skip-bad-lines
        run hello.csv | hello.csv | `hello` | msr | --format
        run hello.csv --format msr --skip-bad-lines
          | hello.csv | not one of 2 lines is a `msr` request | hello
        run t.csv --tags flush | t.csv | no request is of the kinds chosen
        run long.csv --format file-ops | longer than 4294967295 sectors | 2199023255040
        run x.bin | x.bin | no known trace format
        run t.csv --format msr | t.csv: line 1 | --skip-bad-lines
        run late.txt | late.txt | first 1000 lines are blank | --format forces
        ",
    );
    bench
        .with_stdin("run -", "# nothing\n")
        .fails(2, &["stdin", "the trace is empty"]);
    for command in ["info", "head", "convert"] {
        bench.refuses(&format!(
            "trace {command} line.csv | line.csv: line 4 | X
             trace {command} missing | missing | No such file"
        ));
    }
}

#[test]
fn compressed_files_that_are_damaged() {
    let bench = bench();
    let whole = zstd::encode_all(csv(&"W0 W7 R9 ".repeat(4000)).as_bytes(), 3).unwrap();
    bench.file("cut.csv.zst", &whole[..whole.len() / 2]);
    let mut broken = whole.clone();
    let middle = broken.len() / 2;
    broken[middle..middle + 16].fill(0xff);
    bench.file("broken.csv.zst", broken);
    let gzip = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0";
    bench.file("t.csv.gz", [&gzip[..], b"junk"].concat());
    bench.file("magic.zst", &whole[..3]);
    bench.file("t.zip", b"PK\x03\x04rest of a zip file");
    bench.file("t.bin", b"\x89DSTG\r\n\x1a\x01");
    bench.refuses(
        "
        run cut.csv.zst | cut.csv.zst | damaged or truncated zstd file
        run broken.csv.zst | broken.csv.zst
        run t.csv.gz | t.csv.gz | gzip | trailing data
        run magic.zst | magic.zst | truncated zstd file
        run t.zip | t.zip | files are not read | zstd, gzip, xz
        run t.bin | t.bin | destage-bin
        ",
    );
}

#[test]
fn compositions() {
    let bench = bench();
    bench.refuses(
        "
        run t.csv --scheme lru(arc) | X
        run t.csv --scheme prober(cac(lru)) | X1 ROLE_ORDER
        run missing.csv --scheme prober(cac(lru)) | X1 ROLE_ORDER | cac
        run t.csv --scheme gcar(none) | X4 NO_CACHE
        run t.csv --scheme gcar(belady) | X
        run t.csv --scheme cac(cac(lru)) | X
        run t.csv --scheme req-block --read-alloc on | X16 | req-block
        ",
    );
    let done = bench.destage("run t.csv missing.csv --scheme gcar(none)");
    let done = done.fails(2, &["X4 NO_CACHE"]);
    assert!(!done.stderr.contains("missing.csv"), "{}", done.stderr);
}

#[test]
fn devices() {
    let bench = bench();
    bench.file("bad.toml", "channels = \n");
    bench.file("far.csv", csv("W0 W199999999"));
    bench.refuses(
        "
        run t.csv --device ecr-64 | --device | `ecr-64` | did you mean `ecr-64g`
        run t.csv --device samsung-980pro | --device | did you mean `consumer-tlc-1t`
        run t.csv --scheme lru,arcc | arcc | arc
        run t.csv --cache 4MiB,16 | `16` | unit
        run t.csv --cache 101% | `101%` | above 0% and at most 100%
        run t.csv --sort hits | --sort | `hits` | page-hit
        run t.csv --device missing.toml | --device | missing.toml | cannot be read
        run t.csv --device bad.toml | --device | bad.toml | line 1
        run t.csv --device default --set t_raed=1us | `t_raed` | did you mean `t_read`
        run t.csv --device default --set t_read=25 | `t_read` | unit
        run t.csv --device default --time-scale 0 | --time-scale | above 0
        run t.csv --device ecr-64g --page 8k | --page 8KiB | ecr-64g | 4KiB
        run t.csv --device default --page 8k | --page 8KiB | 4KiB
        run t.csv --device default --cache 1TiB | --cache 1TiB | larger than device
        run t.csv --device ecr-64g --cache 65GiB | --cache 65GiB | larger than device ecr-64g
        run t.csv --device default --set channels=0 | `channels` | 0
        run t.csv --device default --set blocks_per_plane=1
          | blocks_per_plane | garbage collection moves data
        run t.csv --device default --set op=0 | op | over-provisioning leaves no space
        run t.csv --device default --set op=1 | op | none is left to the host
        run t.csv --device default --set multi_plane=on --set planes_per_die=300
          | `multi_plane` | at most 255
        run t.csv --device default --closed-loop 0 | --closed-loop | 0
        run t.csv --device default --closed-loop 4 --time-scale 2 | --time-scale
        run far.csv --device ecr-64g --addresses refuse
          | request 1 of the trace | ecr-64g | beyond | --addresses wrap | --addresses fit
        ",
    );
    for (text, parts) in [
        ("channels = 0\n", "channels | 0"),
        ("channels = \"eight\"\n", "channels | eight"),
        ("page_bytes = 3000\n", "page_bytes | 3000"),
        ("op = 1.5\n", "op | 1.5"),
        ("t_read = \"-1us\"\n", "t_read | -1us"),
        ("queue = \"lifo\"\n", "queue | lifo | fifo"),
        ("base = \"no-such-preset\"\n", "no-such-preset"),
        ("channels = \n", "d.toml"),
        ("chanels = 8\n", "`chanels` | `channels`"),
        (
            "base = \"default\"\n\nt_read = 75\n",
            "(file d.toml, line 3) | `t_read` = 75 | needs a unit",
        ),
        (
            "op = 0.2\n[cache_region]\nsize = \"1GiB\"\nt_raed = \"1us\"\n",
            "(file d.toml, line 4) | did you mean `t_read`",
        ),
    ] {
        bench.file("d.toml", text);
        bench.refuses(&format!("run t.csv --device d.toml | {parts}"));
    }
    for scheme in ["ecr(lru)", "ecr-eps", "gcar(lru)", "gcar(cflru)"] {
        let run = format!("run t.csv --device default --scheme {scheme} --set allocation=dynamic");
        bench.refuses(&format!("{run} | X7 | allocation"));
    }
    bench.record("run t.csv --device default --scheme lru --set allocation=dynamic");
    for option in [
        "--set t_read=75us",
        "--set cache_region=off",
        "--addresses fit",
        "--wrap",
        "--fit",
        "--closed-loop 2",
        "--log-requests l",
        "--timeline l",
        "--unbalance",
    ] {
        let name = option.split(' ').next().unwrap();
        for device in ["", "--device none"] {
            bench.refuses(&format!(
                "run t.csv {device} {option} | {name} needs a device"
            ));
        }
    }
}

/// A cache in flash needs room there, and a chip for every address.
#[test]
fn caches_in_flash() {
    let bench = bench();
    bench.refuses(
        "
        run t.csv --device procache-emu --cache 1025MiB | --cache 1025MiB
          | does not fit into the flash region of device procache-emu | 1GiB
        run t.csv --device procache-emu --set cache_region.size=512MiB
          | --cache 1GiB | 512MiB | cache_region.size
        run t.csv --device procache-emu --set allocation=dynamic
          | `cache_region` | allocation = \"dynamic\" gives addresses no chip
        run t.csv --device default --set cache_region.t_read=20us
          | `cache_region.size` is not given | `cache_region.t_program` is not given
        run t.csv --device procache-emu --set cache_region.t_raed=1us | did you mean `t_read`
        ",
    );
    let none = "run t.csv --device procache-emu --scheme none --cache 2GiB";
    bench.destage(none).ok();
}

#[test]
fn warm_ups_that_leave_nothing() {
    let bench = bench();
    bench.refuses(
        "
        run t.csv --warmup 3 | t: a warm-up of 3 requests covers the trace of 3 requests
        run t.csv --warmup 2 --limit 2 | covers the trace of 2
        run t.csv --warmup 100% | --warmup | leaves nothing to measure
        run t.csv --warmup x | --warmup | `x` | passes=K
        run t.csv --warmup passes=x | passes=K
        ",
    );
    // 34 % of three requests is one; a pass leaves all of them to be measured.
    for (warmup, measured) in [("34%", 2), ("1", 2), ("passes=2", 3), ("0", 3)] {
        let record = bench.record(format!("run t.csv --warmup {warmup}"));
        assert_eq!(record["counts"]["requests"], measured, "{warmup}");
    }
}
