//! Commands and input that cannot give a result: every case ends with exit code 2 and a message that
//! names the place, the value and what is allowed, before anything runs.

use crate::common::{Bench, HEAD, csv, schemes};

fn bench() -> Bench {
    Bench::with(csv("W0 W1 R0"))
}

#[test]
fn sizes_and_units() {
    bench().refuses(
        "
        run t.csv --cache 16 | --cache | `16` | needs a unit | MiB
        run t.csv --cache 16MB | --cache | `16MB` | did you mean `16MiB`
        run t.csv --cache 16Mb | --cache | `16Mb` | MiB
        run t.csv --cache 16foo | --cache | unknown unit | KiB
        run t.csv --cache 1.5x | --cache | `1.5x`
        run t.csv --cache 0k | --cache 0B | holds no page | at least one
        run t.csv --cache 2k | --cache 2KiB | holds no page of 4096 bytes
        run t.csv --cache 4095B | --cache | holds no page
        run t.csv --cache 99999TiB | --cache 99999TiB | more than 2^32 - 2 pages
        run t.csv --scheme lirs --cache 4k | lirs | X9 LIMIT | capacity 1 below minimum 3
        run t.csv --page 3k | --page | `3k` | power of two from 512B to 64KiB
        run t.csv --page 4096 | --page | needs a unit
        run t.csv --page 128k | --page | 64KiB
        run t.csv --trace-memory 4 | --trace-memory | needs a unit
        run t.csv --device default --set t_read=75 | t_read | 75 | unit
        run t.csv --device default --set t_read=75parsecs | t_read | parsecs | us
        ",
    );
}

#[test]
fn values_of_options() {
    bench().refuses(
        "
        run t.csv --closed-loop 0 | allowed: a whole number | from 1 to 4294967295
        run t.csv --closed-loop x | allowed: a whole number | from 1 to 4294967295
        run t.csv --limit 0 | --limit | 0 | allowed: a whole number | from 1 to 18446744073709551615
        run t.csv --jobs 0 | --jobs | 0
        run t.csv --jobs 65536 | allowed: a whole number | from 1 to 65535
        mrc t.csv --sample-pages 0 | allowed: a whole number | from 1 to
        trace synth --requests 0 | allowed: a whole number | from 1 to 4294967296
        trace head t.csv -n 0 | allowed: a whole number | from 1 to
        run t.csv --read-alloc maybe | --read-alloc | scheme
        run t.csv --read-fill sector | --read-fill | requested
        run t.csv --format mrs | --format | `mrs` | did you mean `msr` | block-list
        run t.csv --format-out xml | --format-out | jsonl | parquet
        trace convert t.csv --to yaml | --to | destage-bin
        run t.csv --tags date | `date` is no kind of request
        run t.csv --event Z | --event | Z
        run t.csv --volumes some | --volumes | `some` is none of stack, only=VOLUME, split, overlay
        run t.csv --series-every 10 | --series
        run t.csv --series s.csv --series-every 0 | --series-every | above 0
        run t.csv --series s.csv --series-every 3x | `3x` | number of requests
        run t.csv --cache --wrap | value is required | --cache
        run t.csv --wrap -4 | '-4' for '--wrap'
        ",
    );
    for scale in ["1e12", "1e-12", "1234567890", "0.0000001", "0"] {
        bench().refuses(&format!(
            "run t.csv --time-scale {scale} | --time-scale | `{scale}` | above 0
             | at most 9 digits before and 6 after the point, and without an exponent"
        ));
    }
}

#[test]
fn negative_values_are_refused_by_their_option() {
    let bench = bench();
    bench.file("run.toml", "trace = \"t.csv\"\ncache = \"4k\"\n");
    bench.refuses(
        "
        run t.csv --cache -4k | invalid value '- | --cache | a whole number and a unit
        run t.csv --limit -3 | invalid value '- | --limit | from 1 to
        run t.csv --seed -1 | invalid value '- | --seed | from 0 to
        run t.csv --time-scale -1 | invalid value '- | --time-scale | above 0
        run t.csv --warmup -5% | invalid value '- | --warmup | a number of requests
        run t.csv --warmup -5 | -5
        trace synth --gap -1us | invalid value '- | --gap | a number and a unit
        trace head t.csv -n -3 | invalid value '- | --requests | from 1 to
        run --config run.toml --seed -1 | --seed | from 0 to
        ",
    );
}

#[test]
fn words_that_are_not_there_name_the_nearest() {
    let bench = bench();
    bench.refuses(
        "
        run t.csv --shceme lru | --shceme | '--scheme'
        rum t.csv | rum | 'run'
        run t.csv --scheme lur --scheme fufo --cache 1k
          | `lru` | `fifo` | unknown scheme `lur` | unknown scheme `fufo`
        run t.csv --scheme lur | lur | X14 UNKNOWN | nearest is `lru`
        run t.csv --scheme lruu | unknown scheme `lruu` | `lru`
        run t.csv --scheme cflru(y=3) | X10 PARAM | unknown parameter `y` | `x`
        run t.csv --scheme lru( | lru(
        schemes reqblok | unknown scheme `reqblok` | nearest is `req-block`
        presets nowhere | nowhere
        presets ecr | `ecr` | ecr-64g
        run t.csv --format smr | --format | `smr`
        trace info t.csv --format mrs | did you mean
        trace synth comon | unknown workload `comon` | did you mean `common`
        trace synth --part wirtes=1 | did you mean `writes`
        ",
    );
    let none = Bench::new().destage("");
    assert_eq!(none.code, 2);
    none.says("Usage: destage <COMMAND>");
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
        run | no trace given | `-` for standard input | destage demo
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
    let Some(info) = schemes().iter().find(|s| s["available"] == false) else {
        return eprintln!("SKIPPED: every declared scheme is available");
    };
    let name = info["name"].as_str().unwrap();
    let done = bench.destage(format!("run t.csv --scheme {name}"));
    done.fails(2, &[name, "known but not available yet", "destage schemes"]);
}

#[test]
fn devices() {
    let bench = bench();
    bench.file("bad.toml", "channels = \n");
    bench.file("far.csv", csv("W0 W199999999"));
    bench.refuses(
        "
        run t.csv --device ecr-64 | --device | `ecr-64` | did you mean `ecr-64g`
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
        run far.csv --device ecr-64g | request 1 of the trace | ecr-64g | beyond | --wrap | --fit
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
        "--wrap",
        "--fit",
        "--closed-loop 2",
        "--time-scale 2",
        "--log-requests l",
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

#[test]
fn places_that_cannot_be_written() {
    let bench = bench();
    bench.file("file", "");
    let folder = bench.dir.path().join("results.d");
    std::fs::create_dir_all(folder.join("results.parquet")).unwrap();
    bench.refuses(
        "
        run t.csv --out file/sub | --out file/sub
        run t.csv --out results.d --format-out parquet | --out results.d | cannot write there | directory
        run t.csv --log-evictions nowhere/log.jsonl | --log-evictions nowhere/log.jsonl | cannot create
        run t.csv --log-evictions - | --log-evictions | file
        run t.csv --scheme lru --scheme fifo --log-evictions log.jsonl
          | --log-evictions | several runs | --out DIR
        run t.csv --series nowhere/s.csv | --series nowhere/s.csv | cannot create
        run t.csv --series s --log-evictions s | --log-evictions and --series
        run t.csv --report nowhere/r.html | --report nowhere/r.html | cannot create
        run t.csv --report - | --report needs a file
        demo --report nowhere/r.html | --report nowhere/r.html | cannot create
        trace convert t.csv -o nowhere/t.csv | --output nowhere/t.csv | cannot create
        trace synth -o no/such/dir/t.csv | --output | cannot create
        ",
    );
    for format in ["table", "jsonl", "csv", "parquet"] {
        bench.refuses(&format!(
            "run t.csv --out file --format-out {format} | --out file | cannot write there"
        ));
    }
}

#[test]
fn traces_are_never_overwritten() {
    let bench = bench();
    let msr = "0,hm,1,Write,0,4096,1\n";
    std::fs::create_dir(bench.dir.path().join("out")).unwrap();
    bench.file("out/results.csv", csv("W0"));
    bench.file("t-hm_1.csv", msr);
    bench.file(
        "alike.csv",
        format!("{msr}{}", msr.replace("hm,", "h m,").repeat(2)) + &msr.replace("hm,", "h_m,"),
    );
    bench.refuses(
        "
        run t.csv --log-evictions ./t.csv | t.csv is read and would be overwritten
        run t.csv --series t.csv | t.csv is read and would be overwritten
        run t.csv --report t.csv | t.csv is read and would be overwritten
        run out/results.csv --out out --format-out csv
          | out/results.csv is read and would be overwritten
        trace convert t.csv -o out/../t.csv --to msr | t.csv is read and would be overwritten
        trace import-ftrace t.csv --output t.csv | t.csv is read and would be overwritten
        mrc t.csv --plot t.csv | t.csv is read and would be overwritten
        trace convert t-hm_1.csv --volumes split -o t.csv | t-hm_1.csv is read and would
        trace convert alike.csv --volumes split -o part.csv | --volumes only=NAME
          | volumes h m_1 and h_m_1 would both be written to part-h_m_1.csv
        ",
    );
    let part = bench.dir.path().join("part-hm_1.csv");
    assert!(!part.exists(), "nothing is written");
    assert_eq!(bench.read("t-hm_1.csv"), msr);
    assert_eq!(bench.read("t.csv"), csv("W0 W1 R0"));
    assert_eq!(bench.read("out/results.csv"), csv("W0"));
}

#[test]
fn workloads_and_curves() {
    let bench = Bench::with(crate::common::mixed(50));
    bench.file("flush.csv", format!("{HEAD}0,F,0,0,0,,0\n"));
    bench.refuses(
        "
        trace synth --part size=4 | size: | unit
        trace synth --gap 5 | 5 | unit
        trace synth --writes 2 | no share
        trace synth --arrival sometimes | constant, poisson, bursts
        trace synth --arrival bursts(4,2ms) | less than the mean
        trace synth --to excel | excel
        trace synth common --list | cannot be used with
        mrc t.csv --scheme lur | lur | lru
        mrc t.csv --cache 16 | 16 | unit
        mrc t.csv --cache 1k | lru | holds no page
        mrc t.csv --volumes split | only=VOLUME
        mrc t.csv --format mrs | did you mean `msr`
        mrc t.csv --sample-rate 0 | above 0 and at most 1
        mrc t.csv --sample-rate 1.5 | above 0 and at most 1
        mrc t.csv --sample-rate 0.1 --sample-pages 5 | cannot be used with
        mrc t.csv --sample-rate 0.5 --scheme req-block | req-block cannot be sampled
        mrc t.csv --sample-rate 0.000001 | the sample of 0 pages leaves no request
        mrc t.csv --warmup 50 | covers the trace
        mrc t.csv --plot no/such/dir/c.svg | --plot | cannot write
        mrc missing | missing | No such file
        ",
    );
    let done = bench.destage("mrc flush.csv --plot c.svg");
    done.fails(1, &["no point has a page access"]);
}

#[test]
fn what_is_given_twice_runs_once() {
    let bench = bench();
    bench.file("u.csv", csv("W0"));
    for (line, records, warnings) in [
        (
            "run t.csv --scheme lru --scheme LRU --cache 1m --cache 1024k",
            1,
            &["--scheme LRU", "--cache 1MiB"][..],
        ),
        (
            "run t.csv u.csv ./t.csv",
            2,
            &["./t.csv is given twice as a trace and runs once"],
        ),
        (
            "run t.csv --scheme procache(lru,p=1e-3) --scheme procache(lru,p=0.001)",
            1,
            &["--scheme procache(lru,p=0.001): procache(lru,p=0.001) is given twice and runs once"],
        ),
    ] {
        let done = bench.destage(format!("{line} --format-out jsonl")).ok();
        assert_eq!(done.records().len(), records, "{line}");
        for warning in warnings {
            done.says(format!("warning: {warning}"));
        }
        if line.contains("1e-3") {
            assert_eq!(done.records()[0]["scheme"], "procache(lru,p=0.001)");
        }
    }
}

#[test]
fn help_says_that_a_device_has_its_own_page_and_cache() {
    let help = Bench::new().shown("run --help");
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for default in ["16MiB without one", "4KiB without one", "page without one"] {
        crate::common::contains(&help, default);
    }
}
