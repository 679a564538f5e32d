//! How traces are replayed: closed loops, addresses beyond the device, volumes, temporary files.

use crate::common::{
    Bench, Done, HEAD, counted, csv, mixed, options, scheme_names, setting, trace, unframed,
    without_cost,
};
use serde_json::Value;

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

fn one_chip(requests: &str) -> Bench {
    let bench = Bench::with(csv(requests));
    bench.file("chip.toml", ONE_CHIP);
    bench
}

#[test]
fn closed_loops_by_hand() {
    let bench = one_chip("W1 W2 W2 W3 W4");
    let log = |depth: u32| {
        let run = format!(
            "run t.csv --device chip.toml --cache 4k --closed-loop {depth} --log-requests log.csv"
        );
        let record = bench.record(run);
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
        .destage("run t.csv --device chip.toml --closed-loop 2")
        .ok();
    table.shows(", closed loop of 2, warm-up none");
}

/// Page 3500 is on the device of 3686 pages; page 10000 is 10 MiB behind its end.
const FAR: &str = "W0 W10000 W3500 R10000 W1";

#[test]
fn addresses_beyond_the_device_are_a_choice() {
    let bench = one_chip(FAR);
    bench.refuses(
        "
        run t.csv --device chip.toml --addresses refuse
          | request 1 of the trace | beyond the | device one-chip exports | --addresses wrap | --addresses fit
        run t.csv --device chip.toml --wrap --fit | --fit | --wrap
        run t.csv --device chip.toml --addresses fit --wrap | --addresses | --wrap
        run t.csv --device chip.toml --addresses modulo | --addresses | fit, wrap, refuse
        ",
    );
    // The older name of the same.
    let older = bench.record("run t.csv --device chip.toml --wrap");
    assert_eq!(setting(&older, "addresses"), ("wrap", "command line"));
    let wrapped = bench.record("run t.csv --device chip.toml --addresses wrap");
    assert_eq!(without_cost(older), without_cost(wrapped.clone()));
    assert_eq!(wrapped["counts"]["wrapped_requests"], 2);
    assert_eq!(wrapped["counts"]["read_page_hits"], 1);
}

#[test]
fn a_run_that_fails_is_named() {
    let writes: Vec<String> = (0..4200).map(|page| format!("W{}", page % 3000)).collect();
    let bench = one_chip(&writes.join(" "));
    let full = |schemes: &str, named: &str| {
        let line = format!("run t.csv --device chip.toml --set gc_mode=off {schemes}");
        bench.destage(line).fails(1, &[named, "device full"])
    };
    let early = "request 4096 of the trace (from 0,";
    full("--scheme none", "error: t: request").says(early);
    let first = full(
        "--scheme none --scheme lru --cache 64k",
        "error: t, none: request",
    );
    first.says(early);
    full(
        "--cache 64k --scheme lru --scheme none",
        "error: t, lru, 64KiB: request",
    );
    let line = "run t.csv --device chip.toml --cache 64k --scheme lru --scheme belady";
    bench.destage(line).ok();
}

/// A trace that does not fit says so before preconditioning says that it failed, whether the trace
/// is read for preconditioning or not: the trace is what can be chosen otherwise.
#[test]
fn addresses_are_refused_before_preconditioning_is() {
    let bench = one_chip(FAR);
    bench.file("near.csv", csv("W0 R1"));
    for traced in [false, true] {
        let device = format!(
            "--device chip.toml --set gc_mode=off --set \
             precondition={{trace={traced},fill=1,overwrite=1}}"
        );
        bench.refuses(&format!(
            "run t.csv {device} --addresses refuse | request 1 of the trace | device one-chip exports
             run t.csv {device} --addresses wrap | preconditioning device one-chip failed
             run near.csv {device} | preconditioning device one-chip failed"
        ));
    }
}

#[test]
fn what_is_touched_can_be_moved_together() {
    let bench = one_chip(FAR);
    for memory in ["1GiB", "0B"] {
        let run =
            format!("run t.csv --device chip.toml --trace-memory {memory} --format-out jsonl");
        let done = bench.destage(&run).ok();
        let warning = "t: the trace goes up to 40 MiB, device one-chip exports 14 MiB; the touched regions of \
                       1 MiB were moved together and end at 3 MiB (--addresses fit)";
        done.says(warning);
        let record = &done.records()[0];
        assert_eq!(record["counts"]["wrapped_requests"], 0);
        assert_eq!(record["counts"]["read_page_hits"], 1);
        assert_eq!(setting(record, "addresses"), ("fit", "built-in"));
        assert_eq!(setting(record, "address_regions").0, "1MiB");
        // The device got the trace with the regions moved by hand.
        bench.file("packed.csv", csv("W0 W528 W428 R528 W1"));
        let by_hand = bench.record("run packed.csv --device chip.toml --addresses refuse");
        for part in ["counts", "latency_ns", "wear"] {
            assert_eq!(by_hand[part], record[part], "{part}");
        }
    }
}

/// A trace that fits is not changed, whatever is chosen.
#[test]
fn a_trace_that_fits_keeps_its_addresses() {
    let bench = one_chip("W0 W3500 R3500");
    let with = |how: &str| {
        let done = bench.destage(format!(
            "run t.csv --device chip.toml {how} --format-out jsonl"
        ));
        let done = done.ok();
        assert!(!done.stderr.contains("moved"), "{}", done.stderr);
        let mut record = without_cost(done.records().remove(0));
        assert!(!record["config"].to_string().contains("address_regions"));
        record.as_object_mut().unwrap().remove("config");
        record
    };
    let plain = with("");
    for how in ["fit", "wrap", "refuse"] {
        assert_eq!(with(&format!("--addresses {how}")), plain, "{how}");
    }
}

/// The device gets what the file system makes of a trace, and only that must fit.
#[test]
fn what_a_file_system_sends_is_moved_together() {
    let bench = one_chip(FAR);
    let inplace = bench.record("run t.csv --device chip.toml --host-fs inplace");
    assert_eq!(setting(&inplace, "address_regions").0, "1MiB");
    let plain = bench.record("run t.csv --device chip.toml");
    assert_eq!(
        inplace["counts"]["flash_writes_host"],
        plain["counts"]["flash_writes_host"]
    );
    // Four blocks of a log are near each other wherever the file has them.
    let log = bench.record("run t.csv --device chip.toml --host-fs lfs(volume=4MiB,segment=64)");
    assert!(!log["config"].to_string().contains("address_regions"));
}

/// Twenty pages, each in a MiB of its own, and a device of 14 MiB: larger parts than 512 KiB do not fit.
#[test]
fn smaller_parts_are_moved_together_where_larger_ones_do_not_fit() {
    let bench = one_chip(
        &(0..20)
            .map(|i| format!("W{} ", 512 * i))
            .collect::<String>(),
    );
    let fits = |more: &str, wanted: &str| {
        for memory in ["1GiB", "0B"] {
            let run = format!("run t.csv --device chip.toml --trace-memory {memory} {more}");
            let done = bench.destage(format!("{run} --format-out jsonl")).ok();
            done.says(wanted);
            let record = &done.records()[0];
            assert_eq!(record["counts"]["wrapped_requests"], 0);
            assert_eq!(record["counts"]["write_requests"], 20);
        }
    };
    let larger =
        "larger regions, which keep more of the trace as it was, take more than the device";
    fits(
        "",
        &format!(
            "device one-chip exports 14 MiB; the touched regions of 512 KiB were moved together and \
             end at 10 MiB (--addresses fit); {larger}"
        ),
    );
    fits(
        "--set pages_per_block=4",
        "exports 920KiB; the touched regions of 32 KiB were moved together and end at 640KiB",
    );
}

/// A page is as small as regions become; a trace that touches more pages than the device has wraps.
#[test]
fn a_trace_that_touches_more_than_the_device_wraps() {
    let bench = one_chip("W0");
    // The device of 230 pages gets page 512 i modulo 230: an even page, all 115 of them.
    let pages: String = (0..300).map(|i| format!("W{} ", 512 * i)).collect();
    bench.file("wide.csv", csv(&pages));
    bench.file("long.csv", format!("{HEAD}0,W,0,40000,0,,0\n"));
    for (run, exported, dirty) in [
        (
            "run wide.csv --device chip.toml --set pages_per_block=4",
            "920KiB",
            115,
        ),
        ("run long.csv --device chip.toml", "14 MiB", 128),
    ] {
        for memory in ["1GiB", "0B"] {
            let run = format!("{run} --trace-memory {memory} --cache 512KiB");
            let done = bench.destage(format!("{run} --format-out jsonl")).ok();
            done.says(
                "even with its regions of 4 KiB moved together, the trace touches more than the",
            );
            done.says(format!(
                "{exported} that device one-chip exports; addresses are taken modulo"
            ));
            let fitted = &done.records()[0];
            assert_eq!(setting(fitted, "addresses_wrapped").0, "true");
            assert_eq!(fitted["dirty_pages_left"], dirty);
            let wrapped = bench.record(format!("{run} --addresses wrap"));
            assert_eq!(fitted["counts"], wrapped["counts"]);
            bench.refuses(&format!("{run} --addresses refuse | exports"));
        }
    }
}

/// 1.9 GiB of pages, scattered over 61 GiB in parts of 1 MiB.
#[test]
fn a_scattered_trace_fits_a_device_little_larger_than_its_pages() {
    let Some(trace) = trace("ycsb-rocksdb-writes-only-87k.mqsim.zst") else {
        return;
    };
    let bench = Bench::new();
    let run = |blocks: u64| {
        let trace = trace.display();
        bench.destage(format!(
            "run {trace} --device default --closed-loop 8 --cache 16MiB --set \
             blocks_per_plane={blocks}"
        ))
    };
    run(40).ok().says(
        "exports 2380 MiB; the touched regions of 8 KiB were moved together and end at 2188 MiB \
         (--addresses fit)",
    );
    run(30).ok().says(
        "more than the 1785 MiB that device default exports; addresses are taken modulo its size",
    );
}

#[test]
fn a_trace_on_disk_gives_the_records_of_one_in_memory() {
    let bench = Bench::with(mixed(12_000));
    let schemes = options(&scheme_names());
    let timed = "--device req-block-128g --scheme lru --scheme belady --warmup 500";
    for (settings, memory) in [
        (&*format!("{schemes} --cache 256k --warmup passes=1"), "0B"),
        (timed, "100KiB"),
    ] {
        let run = format!("run t.csv {settings} --format-out jsonl");
        let streamed = bench.destage(format!("{run} --trace-memory {memory}")).ok();
        streamed.says("streamed from a temporary file");
        let records =
            |done: &Done| -> Vec<Value> { done.records().into_iter().map(without_cost).collect() };
        assert_eq!(records(&streamed), records(&bench.destage(run).ok()));
    }
}

#[test]
fn standard_input_can_be_passed_over_twice() {
    let bench = Bench::new();
    let text = mixed(3000);
    bench.file("stdin.csv", &text);
    let run = |trace: &str, more: &str| {
        let line = format!("run {trace} --cache 64k --warmup passes=2 --format-out jsonl {more}");
        let mut records = bench.with_stdin(line, &text).ok().records();
        without_cost(records.remove(0))
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
        bench.records(line).iter().map(row).collect()
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
    bench.refuses(
        "
        run hm.csv --volumes only=hm_7 | no volume `hm_7` | hm_0, hm_1
        run hm.csv --volumes split --log-evictions e | --log-evictions | --out DIR
        ",
    );
    let logs = "run hm.csv --volumes split --log-evictions e --out out --cache 4k";
    bench.destage(logs).ok();
    let names = bench.names("out");
    let logs = ["e-hm_hm_0-lru-4KiB.jsonl", "e-hm_hm_1-lru-4KiB.jsonl"];
    assert_eq!(names[..2], logs);
}

#[test]
fn volumes_of_the_trace_commands() {
    let bench = Bench::new();
    bench.file("hm.csv", TWO_DISKS);
    let info = bench
        .destage("trace info hm.csv --volumes split --json")
        .ok();
    let names: Vec<Value> = info.records().iter().map(|r| r["trace"].clone()).collect();
    assert_eq!(names, ["hm:hm_0", "hm:hm_1"]);
    let head = bench.shown("trace head hm.csv --volumes only=hm_1 -n 1");
    assert!(unframed(&head).ends_with("\n0,R,0,8,1,,0\n"), "{head}");
    bench.refuses("trace convert hm.csv --volumes split | --volumes split | --output FILE");
    let convert = "trace convert hm.csv --volumes split --to msr -o out.csv";
    bench.destage(convert).ok();
    assert_eq!(
        bench.read("out-hm_1.csv"),
        "0,hm,1,Read,0,4096,0\n30,hm,1,Write,0,4096,0\n"
    );
    assert!(bench.dir.path().join("out-hm_0.csv").exists());
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
        let info = bench.json(format!("trace info b.txt --format blkparse --json {event}"));
        info["requests"].clone()
    };
    assert_eq!((count(""), count("--event D")), (2.into(), 1.into()));
    let record = bench.record("run b.txt --format blkparse --event D");
    assert_eq!(record["counts"]["requests"], 1);
}

/// More than there are requests is no bound at all, however large the number.
#[test]
fn a_closed_loop_may_be_deeper_than_the_trace_is_long() {
    let bench = Bench::with(mixed(300));
    let run = |depth: &str| {
        let line = format!("run t.csv --device default --cache 64k --closed-loop {depth}");
        let record = bench.record(line);
        [&record["counts"], &record["latency_ns"]].map(Value::clone)
    };
    let all = run("300");
    for depth in ["301", "65536", "4294967295"] {
        assert_eq!(run(depth), all, "{depth}");
    }
}

/// A modelled file system passes no TRIM on here, so that the device has nothing to do.
#[test]
fn a_log_of_no_request_is_a_heading() {
    let bench = Bench::new();
    let trace = "arrival_ns,op,start_sector,sectors,stream,prev,atomic,tag,group\n0,T,0,8,1,,0,,\n";
    std::fs::write(bench.dir.path().join("t.csv"), trace).unwrap();
    let fs = "lfs(segment=8,reserve=2,logs=1,clean=cost-benefit,trim=sync)";
    let line = format!(
        "run t.csv --scheme lru --cache 64KiB --device default --warmup passes=1 --host-fs '{fs}' --log-requests r.csv"
    );
    bench.destage(&line).ok();
    let log = std::fs::read_to_string(bench.dir.path().join("r.csv")).unwrap();
    assert_eq!(log.lines().count(), 1, "{log}");
}

/// A preflush of the warm-up may be done behind the first request that is measured, as those of other streams overtake its
/// write. It is none of the requests.
#[test]
fn requests_are_counted_once_whatever_overtakes_a_preflush() {
    let bench = Bench::new();
    // The first write keeps the slot until pages of it have left the cache, and the others come in the meantime.
    let (streams, arrivals) = ([2, 2, 0, 1, 3, 0], [0, 15, 22, 76, 82, 82]);
    let mut overtaken = 0;
    for (warmup, flagged) in (0..6).flat_map(|warmup| (0..6).map(move |at| (warmup, at))) {
        let row = |at: usize| {
            let flags = if at == flagged { "preflush" } else { "" };
            let (us, start, stream) = (arrivals[at], 1024 * at, streams[at]);
            format!("{us}000,W,{start},656,{stream},,0,,,{flags}\n")
        };
        let rows: String = (0..6).map(row).collect();
        let head = "arrival_ns,op,start_sector,sectors,stream,prev,atomic,tag,group,flags\n";
        bench.file("t.csv", format!("{head}{rows}"));
        let record = bench.record(format!(
            "run t.csv --scheme lru --cache 64KiB --device default --set command_slots=1 --warmup {warmup}"
        ));
        let of = |name: &str| counted(&record, name);
        let what = format!("warm-up {warmup}, preflush {flagged}");
        assert_eq!(
            (of("requests"), of("write_requests")),
            (6 - warmup, 6 - warmup),
            "{what}"
        );
        overtaken += u64::from(of("evictions") > 0);
    }
    assert!(overtaken > 0);
}
