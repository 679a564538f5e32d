//! Options that cannot give a result: every case ends with exit code 2 and a message that
//! names the place, the value and what is allowed, before anything runs.

use crate::common::{Bench, HEAD, csv};
use std::time::{Duration, Instant};

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
        run t.csv --device default --set op=0.1 --set op=0.2 | `op` = 0.2 (--set) | given twice
        presets default --set op=0.1 --set t_read=1us --set op=0.1 | `op` = 0.1 (--set) | given twice
        run t.csv --scheme awb(depth=1,depth=1) | `depth` is given twice
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
    none.says("destage run TRACE");
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
        run t.csv --out results.d --format-out parquet | --out results.d: results.parquet: it is a folder
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
        trace synth --writes 2 | '2' for '--writes <SHARE>': allowed: a number from 0 to 1
        trace synth --arrival sometimes | constant, poisson, bursts
        trace synth --arrival bursts(4,2ms) | less than the mean
        trace synth --part rate=0 | rate: | above 0 and up to 100000000
        trace synth --part rate=5,weight=2 | weight, rate: | has no weight
        trace synth --part rate=5 --part writes=0 | part 2 of 2 has no rate= | to every part
        trace synth --part rate=5 --arrival poisson | --arrival: | leave out --arrival, or rate=
        trace synth common --part rate=5 --gap 1ms | --gap: | leave out --gap, or rate=
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

/// What is asked for is counted before anything is made of it.
#[test]
fn too_many_runs_are_counted_and_refused() {
    let bench = bench();
    let list = |n: usize, one: &dyn Fn(usize) -> String| {
        let all: Vec<String> = (1..=n).map(one).collect();
        all.join(",")
    };
    let (sizes, numbers) = (
        list(1000, &|n| format!("{}KiB", 4 * n)),
        list(60_000, &|n| n.to_string()),
    );
    let quoted = list(1000, &|n| format!("'{}KiB'", 4 * n));
    let schemes = list(101, &|_| "lru".to_owned());
    let shares = list(999, &|n| format!("0.{n:03}"));
    let thousand = list(1000, &|n| n.to_string());
    let (parts, traces) = ("[[run]]\n".repeat(200_000), "'t.csv',".repeat(100_001));
    for (name, text) in [
        ("parts.toml", format!("trace = 't.csv'\n{parts}")),
        ("traces.toml", format!("trace = [{traces}]\n")),
        (
            "sum.toml",
            format!(
                "trace = 't.csv'\ncache = [{quoted}]\n{}",
                "[[run]]\n".repeat(101)
            ),
        ),
        (
            "grid.toml",
            format!("trace = 't.csv'\nseed = [{thousand}]\nlimit = [{thousand}]\n"),
        ),
        (
            "beyond.toml",
            format!(
                "trace = 't.csv'\nseed = [{numbers}]\nlimit = [{numbers}]\nwarmup = [{numbers}]\nclosed-loop = \
                 [{numbers}]\nqueue-depth = [{numbers}]\n"
            ),
        ),
    ] {
        bench.file(name, text);
    }
    for (line, said) in [
        ("run --config parts.toml", "parts.toml: 200000 [[run]]"),
        (
            "sweep parts.toml --plan --out o",
            "parts.toml: 200000 [[run]]",
        ),
        ("run --config traces.toml", "100001 runs (100001 traces)"),
        ("run --config sum.toml", "101000 runs in 101 [[run]]"),
        (
            "sweep sum.toml --plan --out o",
            "101000 runs in 101 [[run]]",
        ),
        (
            "sweep grid.toml --plan --out o",
            "1000000 runs (1000 values of limit x 1000 values of seed)",
        ),
        (
            "sweep beyond.toml --plan --out o",
            &format!("{} runs (", u64::MAX),
        ),
        (
            &format!("run t.csv --scheme {schemes} --cache {sizes}"),
            "101000 runs (101 schemes x 1000 cache sizes)",
        ),
        (
            &format!("mrc t.csv --scheme {schemes} --cache {sizes}"),
            "101000 points (101 schemes x 1000 cache sizes)",
        ),
        (
            &format!("waf --fill {shares} --buffer {thousand}"),
            "points (999 values of --fill x 1000 values of --buffer)",
        ),
    ] {
        let start = Instant::now();
        let done = bench.destage(line);
        // Tens of seconds on a busy machine would be work that grows with the square of a count.
        assert!(start.elapsed() < Duration::from_secs(30), "{said}");
        done.fails(2, &[said, "one command takes at most 100000"]);
        assert!(!bench.path("o/manifest.jsonl").exists(), "{said}");
    }
}
