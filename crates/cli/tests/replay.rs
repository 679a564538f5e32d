//! How traces are replayed: closed loops, addresses beyond the device, volumes, temporary files.

mod common;

use common::{Bench, available_schemes, csv, mixed};
use serde_json::Value;

fn args(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn records(bench: &Bench, line: &str) -> Vec<Value> {
    let line = format!("{line} --format-out jsonl");
    let mut records = bench.destage(&args(&line)).ok().records();
    for record in &mut records {
        record.as_object_mut().unwrap().remove("run");
    }
    records
}

/// One chip, program 200 us, no transfer time; DRAM service 1 us.
const ONE_CHIP: &str = r#"
name = "one-chip"
base = "default"
channels = 1
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 64
pages_per_block = 64
page_bytes = 4096
op = 0.1
t_read = "50us"
t_program = "200us"
t_cmd = "0ns"
t_byte = "0ns"
t_ready = "0ns"
t_dram = "1us"
host_link = "unlimited"
cache = "64KiB"
summary_page = false
gc_threshold = 0.01
gc_threshold_base = "total"
precondition = { trace = false, fill = 0, overwrite = 0 }
"#;

#[test]
fn closed_loops_by_hand() {
    let bench = Bench::new();
    bench.file("chip.toml", ONE_CHIP);
    bench.file("t.csv", csv("W1 W2 W2 W3 W4"));
    let log = |depth: u32| {
        let run = format!(
            "run t.csv --device chip.toml --cache 4k --closed-loop {depth} --log-requests log.csv"
        );
        let record = records(&bench, &run).remove(0);
        assert_eq!(record["reading"]["queue_depth"], depth);
        let log = bench.read("log.csv");
        let times = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{}-{}", cells[2], cells[3])
        };
        log.lines().skip(1).map(times).collect::<Vec<_>>()
    };
    // Request 2 waits for the program of page 1, request 4 for that of page 2, and so on.
    assert_eq!(
        log(1),
        [
            "0-1000",
            "1000-201000",
            "201000-202000",
            "202000-402000",
            "402000-602000"
        ]
    );
    // With two at a time, the program of page 2 queues behind that of page 1.
    assert_eq!(
        log(2),
        [
            "0-1000",
            "0-200000",
            "1000-2000",
            "2000-400000",
            "200000-600000"
        ]
    );
    let table = bench
        .destage(&args("run t.csv --device chip.toml --closed-loop 2"))
        .ok();
    assert!(
        table.stdout.contains(", closed loop of 2, warm-up none"),
        "{}",
        table.stdout
    );
}

#[test]
fn closed_loops_need_time() {
    let bench = Bench::new();
    bench.file("t.csv", csv("W1"));
    bench
        .destage(&args("run t.csv --closed-loop 4"))
        .fails(2, &["--closed-loop needs a device"]);
    bench
        .destage(&args("run t.csv --device default --closed-loop 0"))
        .fails(2, &["--closed-loop", "0"]);
    let scaled = "run t.csv --device default --closed-loop 4 --time-scale 2";
    bench.destage(&args(scaled)).fails(2, &["--time-scale"]);
}

/// Page 3500 is on the device of 3686 pages; page 10000 is 10 MiB behind its end.
const FAR: &str = "W0 W10000 W3500 R10000 W1";

#[test]
fn addresses_beyond_the_device_need_a_choice() {
    let bench = Bench::new();
    bench.file("chip.toml", ONE_CHIP);
    bench.file("t.csv", csv(FAR));
    let refused = bench.destage(&args("run t.csv --device chip.toml"));
    refused.fails(
        2,
        &[
            "request 1 of the trace",
            "beyond the",
            "device one-chip exports",
            "--wrap",
            "--fit",
        ],
    );
    let wrapped = records(&bench, "run t.csv --device chip.toml --wrap").remove(0);
    assert_eq!(wrapped["counts"]["wrapped_requests"], 2);
    assert_eq!(wrapped["counts"]["read_page_hits"], 1);
    let both = bench.destage(&args("run t.csv --device chip.toml --wrap --fit"));
    both.fails(2, &["--fit", "--wrap"]);
}

#[test]
fn a_run_that_fails_is_named() {
    let bench = Bench::new();
    bench.file("chip.toml", ONE_CHIP);
    let writes: Vec<String> = (0..4200).map(|page| format!("W{}", page % 3000)).collect();
    bench.file("t.csv", csv(&writes.join(" ")));
    let full = |schemes: &str, named: &str| {
        let line = format!("run t.csv --device chip.toml --set gc_mode=off {schemes}");
        let failed = bench.destage(&args(&line));
        failed.fails(
            1,
            &[named, "request 4096 of the trace (from 0,", "device full"],
        );
    };
    full("--scheme none", "error: t: request");
    full(
        "--scheme none --scheme lru --cache 64k",
        "error: t, none: request",
    );
    let line = "run t.csv --device chip.toml --cache 64k --scheme lru --scheme belady";
    bench.destage(&args(line)).ok();
    let line =
        "run t.csv --device chip.toml --set gc_mode=off --cache 64k --scheme lru --scheme none";
    let failed = bench.destage(&args(line));
    failed.fails(1, &["error: t, lru, 64KiB: request", "device full"]);
}

/// A trace that does not fit says so before preconditioning says that it failed, whether the trace
/// is read for preconditioning or not: the trace is what can be chosen otherwise.
#[test]
fn addresses_are_refused_before_preconditioning_is() {
    let bench = Bench::new();
    bench.file("chip.toml", ONE_CHIP);
    bench.file("far.csv", csv(FAR));
    bench.file("near.csv", csv("W0 R1"));
    for traced in [false, true] {
        let precondition = format!("precondition={{trace={traced},fill=1,overwrite=1}}");
        let run = |trace: &str, more: &[&str]| {
            let line = format!("run {trace} --device chip.toml --set gc_mode=off --set");
            let mut words = args(&line);
            words.push(&precondition);
            words.extend(more);
            bench.destage(&words)
        };
        run("far.csv", &[]).fails(2, &["request 1 of the trace", "device one-chip exports"]);
        let full = ["preconditioning device one-chip failed"];
        run("far.csv", &["--wrap"]).fails(2, &full);
        run("near.csv", &[]).fails(2, &full);
    }
}

#[test]
fn what_is_touched_can_be_moved_together() {
    let bench = Bench::new();
    bench.file("chip.toml", ONE_CHIP);
    bench.file("t.csv", csv(FAR));
    for memory in ["1GiB", "0B"] {
        let run = format!(
            "run t.csv --device chip.toml --fit --trace-memory {memory} --format-out jsonl"
        );
        let done = bench.destage(&args(&run)).ok();
        let warning = "goes up to 40 MiB, device one-chip exports 14 MiB; the parts of 1 MiB that \
                       are touched were moved together and end at 3 MiB (--fit)";
        assert!(done.stderr.contains(warning), "{}", done.stderr);
        let record = &done.records()[0];
        assert_eq!(record["counts"]["wrapped_requests"], 0);
        assert_eq!(record["counts"]["read_page_hits"], 1);
        let fit = record["config"].as_array().unwrap();
        let fit = fit.iter().find(|s| s["key"] == "fit").unwrap();
        assert_eq!(
            (&fit["value"], &fit["origin"]),
            (&"true".into(), &"command line".into())
        );
    }
    let scattered: String = (0..20).map(|i| format!("W{} ", 512 * i)).collect();
    bench.file("wide.csv", csv(&scattered));
    bench
        .destage(&args("run wide.csv --device chip.toml --fit"))
        .fails(
            2,
            &[
                "wide: even moved together (--fit)",
                "take 20 MiB",
                "exports 14 MiB",
            ],
        );
    bench
        .destage(&args(
            "run wide.csv --device chip.toml --fit --set pages_per_block=4",
        ))
        .fails(2, &["take 20 MiB; device one-chip exports 920KiB"]);
    // A trace that fits keeps its addresses.
    bench.file("near.csv", csv("W0 W3500"));
    let near = bench
        .destage(&args("run near.csv --device chip.toml --fit"))
        .ok();
    assert!(!near.stderr.contains("moved"), "{}", near.stderr);
}

#[test]
fn a_trace_on_disk_gives_the_records_of_one_in_memory() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(12_000));
    let schemes: String = available_schemes(&bench)
        .iter()
        .map(|s| format!(" --scheme {s}"))
        .collect();
    let run = format!("run t.csv{schemes} --cache 256k --warmup passes=1");
    let spooled = format!("{run} --trace-memory 0B --format-out jsonl");
    let done = bench.destage(&args(&spooled)).ok();
    assert!(
        done.stderr.contains("streamed from a temporary file"),
        "{}",
        done.stderr
    );
    let mut streamed = done.records();
    for record in &mut streamed {
        record.as_object_mut().unwrap().remove("run");
    }
    assert_eq!(streamed, records(&bench, &run));
    let timed = "run t.csv --device req-block-128g --scheme lru --scheme belady --warmup 500";
    let spooled = format!("{timed} --trace-memory 100KiB");
    assert_eq!(records(&bench, &spooled), records(&bench, timed));
}

#[test]
fn standard_input_can_be_passed_over_twice() {
    let bench = Bench::new();
    let text = mixed(3000);
    bench.file("stdin.csv", &text);
    let run = |trace: &str, more: &str| {
        let line = format!("run {trace} --cache 64k --warmup passes=2 --format-out jsonl {more}");
        let mut record = bench
            .with_stdin(&args(&line), &text)
            .ok()
            .records()
            .remove(0);
        record.as_object_mut().unwrap().remove("run");
        record
    };
    let file = run("stdin.csv", "");
    assert_eq!(run("-", ""), file);
    assert_eq!(run("-", "--trace-memory 16KiB"), file);
}

const TWO_DISKS: &str = "0,hm,0,Write,4096,8192,7\n10,hm,1,Read,0,4096,7\n\
                         30,hm,0,Write,8192,4096,7\n40,hm,1,Write,0,4096,7\n";

#[test]
fn volumes_of_a_run() {
    let bench = Bench::new();
    bench.file("hm.csv", TWO_DISKS);
    let names = |line: &str| -> Vec<(String, u64, u64)> {
        let row = |r: &Value| {
            let name = r["trace"]["name"].as_str().unwrap().to_owned();
            let hits = r["counts"]["page_hits"].as_u64().unwrap();
            (name, r["trace"]["requests"].as_u64().unwrap(), hits)
        };
        records(&bench, line).iter().map(row).collect()
    };
    let one = |name: &str, requests, hits| (name.to_owned(), requests, hits);
    for memory in ["1MiB", "0B"] {
        let run = |v: &str| names(&format!("run hm.csv --trace-memory {memory} {v}"));
        assert_eq!(run(""), [one("hm", 4, 2)]);
        assert_eq!(run("--volumes overlay"), [one("hm", 4, 2)]);
        assert_eq!(run("--volumes only=hm_1"), [one("hm", 2, 1)]);
        assert_eq!(
            run("--volumes split"),
            [one("hm:hm_0", 2, 1), one("hm:hm_1", 2, 1)]
        );
    }
    bench
        .destage(&args("run hm.csv --volumes only=hm_7"))
        .fails(2, &["no volume `hm_7`", "hm_0, hm_1"]);
    bench.destage(&args("run hm.csv --volumes some")).fails(
        2,
        &[
            "--volumes",
            "`some` is none of stack, only=VOLUME, split, overlay",
        ],
    );
    bench
        .destage(&args("run hm.csv --volumes split --log-evictions e"))
        .fails(2, &["--log-evictions", "--out DIR"]);
    let logs = "run hm.csv --volumes split --log-evictions e --out out --cache 4k";
    bench.destage(&args(logs)).ok();
    for log in [
        "e-001-hm_hm_0-lru-4KiB.jsonl",
        "e-002-hm_hm_1-lru-4KiB.jsonl",
    ] {
        assert!(bench.dir.path().join("out").join(log).exists(), "{log}");
    }
}

#[test]
fn volumes_of_the_trace_commands() {
    let bench = Bench::new();
    bench.file("hm.csv", TWO_DISKS);
    let info = bench
        .destage(&args("trace info hm.csv --volumes split --json"))
        .ok();
    let names: Vec<Value> = info.records().iter().map(|r| r["trace"].clone()).collect();
    assert_eq!(names, ["hm:hm_0", "hm:hm_1"]);
    let head = bench
        .destage(&args("trace head hm.csv --volumes only=hm_1 -n 1"))
        .ok();
    assert!(head.stdout.ends_with("0,R,0,8,1,,0\n"), "{}", head.stdout);
    bench
        .destage(&args("trace convert hm.csv --volumes split"))
        .fails(2, &["--volumes split", "--output FILE"]);
    let convert = "trace convert hm.csv --volumes split --to msr -o out.csv";
    bench.destage(&args(convert)).ok();
    assert_eq!(
        bench.read("out-hm_1.csv"),
        "0,hm,1,Read,0,4096,0\n30,hm,1,Write,0,4096,0\n"
    );
    assert!(bench.dir.path().join("out-hm_0.csv").exists());
}

#[test]
fn formats_that_are_written() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(300));
    let back = |file: &str| {
        let run = format!("trace convert {file}");
        bench.destage(&args(&run)).ok().stdout
    };
    let wanted = back("t.csv");
    for (to, file) in [
        ("destage-bin", "t.bin"),
        ("msr", "t.msr"),
        ("ssdsim", "t.ssdsim"),
    ] {
        let run = format!("trace convert t.csv --to {to} -o {file}");
        bench.destage(&args(&run)).ok();
        assert_eq!(back(file).lines().count(), wanted.lines().count(), "{to}");
    }
    assert_eq!(back("t.bin"), wanted);
    bench
        .destage(&args("trace convert t.csv --to fio -o t.fio"))
        .ok();
    assert!(bench.read("t.fio").starts_with("fio version 3 iolog"));
    bench.file(
        "trim.csv",
        "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n0,T,0,8,0,,0\n",
    );
    bench
        .destage(&args("trace convert trim.csv --to msr -o x.csv"))
        .fails(2, &["trim", "request 0"]);
}

#[test]
fn the_event_of_a_block_trace() {
    let bench = Bench::new();
    bench.file(
        "b.txt",
        "  8,0    1        1     0.000000000   100  Q   W 8 + 8 [cp]\n  \
           8,0    1        2     0.000001000   100  D   W 8 + 8 [cp]\n  \
           8,0    1        3     0.000002000   100  Q   R 16 + 8 [cp]\n",
    );
    let count = |event: &str| {
        let run = format!("trace info b.txt --format blkparse --json {event}");
        bench.destage(&args(&run)).ok().records()[0]["requests"].clone()
    };
    assert_eq!((count(""), count("--event D")), (2.into(), 1.into()));
    let run = "run b.txt --format blkparse --event D";
    assert_eq!(records(&bench, run)[0]["counts"]["requests"], 1);
    bench
        .destage(&args("run b.txt --event Z"))
        .fails(2, &["--event", "Z"]);
}
