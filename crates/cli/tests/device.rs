//! Runs on a device, and the presets.

mod common;

use common::{Bench, csv, mixed};
use serde_json::Value;

fn record(bench: &Bench, args: &str) -> Value {
    let args: Vec<&str> = args
        .split_whitespace()
        .chain(["--format-out", "jsonl"])
        .collect();
    bench.destage(&args).ok().records().remove(0)
}

/// One read miss and one write on an idle device, from the key values alone. DRAM service runs
/// beside flash work that starts at arrival.
#[test]
fn response_times_of_single_requests_by_hand() {
    let bench = Bench::new();
    let head = "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n";
    bench.file(
        "t.csv",
        format!("{head}0,R,0,8,0,,0\n90000000,W,800,8,0,,0\n"),
    );
    let sets = "--set t_read=70us --set t_cmd=1us --set t_byte=2ns --set t_dram=3us \
                --set sector_bytes=512 --set t_ready=0ns --set host_link=\"unlimited\"";
    let run = format!("run t.csv --device default {sets} --log-requests log.csv");
    let record = record(&bench, &run);
    let latency = &record["latency_ns"];
    assert_eq!(
        latency["read"]["max"],
        1_000 + 70_000 + 4096 * 2,
        "{latency}"
    );
    assert_eq!(latency["write"]["max"], 3_000, "absorbed by the cache");
    let u = &record["utilisation"];
    assert_eq!(
        u["elapsed_ns"], 90_000_000,
        "until the last request arrives"
    );
    let share = |ns: u32| f64::from(ns) / 90e6;
    assert_eq!(u["die_max"], share(79_192), "from its command to its data");
    assert_eq!(u["channel_max"], share(1_000 + 4096 * 2));
    let sum = |list: &Value| -> f64 {
        list.as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_f64)
            .sum()
    };
    assert_eq!(
        (sum(&u["dies"]), sum(&u["channels"])),
        (share(79_192), share(9_192))
    );
    assert_eq!(
        bench.read("log.csv"),
        "request,op,arrival_ns,complete_ns,pages,hit_pages\n\
         0,R,0,79192,1,0\n1,W,90000000,90003000,1,0\n"
    );
}

#[test]
fn time_scale_moves_arrivals_only() {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0 W1 W2"));
    let arrivals = |scale: &str| -> Vec<String> {
        let run = format!("run t.csv --device default --log-requests log.csv {scale}");
        record(&bench, &run);
        let log = bench.read("log.csv");
        log.lines()
            .skip(1)
            .map(|l| l.split(',').nth(2).unwrap().to_owned())
            .collect()
    };
    assert_eq!(arrivals(""), ["0", "1000", "2000"]);
    assert_eq!(arrivals("--time-scale 2.5"), ["0", "2500", "5000"]);
}

#[test]
fn the_device_changes_no_hit() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(3000));
    let with = record(&bench, "run t.csv --cache 256k --device default");
    let without = record(&bench, "run t.csv --cache 256k");
    for key in ["page_hits", "evictions", "flash_writes_host"] {
        assert_eq!(with["counts"][key], without["counts"][key], "{key}");
    }
    assert_eq!(with["device"], "default");
    assert!(with["ratios"]["waf"].is_number());
    assert!(without["ratios"].get("waf").is_none());
}

#[test]
fn the_table_shows_times_and_readings() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(500));
    let args = [
        "run",
        "t.csv",
        "--device",
        "default",
        "--set",
        "t_read=50us",
    ];
    let done = bench.destage(&args).ok();
    let header = done.stdout.lines().next().unwrap();
    assert!(
        header.ends_with("mean ms  p99 ms  write amplification"),
        "{header}"
    );
    assert!(
        done.stdout.contains("evict_wait program_done"),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout.contains("unmapped reads precondition=trace"),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout.contains("t_read=\"50us\" (command line)"),
        "{}",
        done.stdout
    );
}

#[test]
fn values_keep_their_origin() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(100));
    bench.file(
        "mine.toml",
        "name = \"mine\"\nbase = \"ecr-64g\"\nt_read = \"30us\"\n",
    );
    let record = record(
        &bench,
        "run t.csv --device mine.toml --set t_erase=2ms --page 4k",
    );
    assert_eq!(record["device"], "mine");
    assert_eq!(
        record["cache_bytes"],
        32 << 20,
        "the cache the device is meant for"
    );
    let config = record["config"].as_array().unwrap();
    let of = |key: &str| {
        let setting = config.iter().find(|s| s["key"] == key).expect(key);
        format!(
            "{} {}",
            setting["value"].as_str().unwrap(),
            setting["origin"].as_str().unwrap()
        )
    };
    assert_eq!(of("t_read"), "\"30us\" file mine.toml");
    assert_eq!(of("t_erase"), "\"2ms\" command line");
    assert_eq!(of("cache"), "32MiB preset ecr-64g");
    assert_eq!(of("page"), "4KiB command line");
    assert_eq!(of("channels"), "64 preset ecr-64g");
    let keys: Vec<&str> = config.iter().map(|s| s["key"].as_str().unwrap()).collect();
    let unique: std::collections::BTreeSet<&str> = keys.iter().copied().collect();
    assert_eq!(keys.len(), unique.len(), "every key once");
}

#[test]
fn notices_of_the_device_are_said_once() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(100));
    let args = [
        "run", "t.csv", "t.csv", "--device", "ecr-64g", "--cache", "1m", "--cache", "2m",
    ];
    let done = bench.destage(&args).ok();
    let lines: Vec<&str> = done.stderr.lines().collect();
    let unique: std::collections::BTreeSet<&str> = lines.iter().copied().collect();
    assert_eq!(lines.len(), unique.len(), "{}", done.stderr);
    assert!(
        lines.iter().all(|l| l.starts_with("warning: ")),
        "{}",
        done.stderr
    );
}

#[track_caller]
fn refused(args: &str, parts: &[&str]) {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0 W1 W2 W3"));
    bench.file("bad.toml", "channels = \n");
    let args: Vec<&str> = args.split_whitespace().collect();
    bench.destage(&args).fails(2, parts);
}

#[test]
fn wrong_devices_are_refused() {
    refused(
        "run t.csv --device ecr-64",
        &["--device", "`ecr-64`", "did you mean `ecr-64g`"],
    );
    refused(
        "run t.csv --device no.toml",
        &["--device", "no.toml", "cannot be read"],
    );
    refused(
        "run t.csv --device bad.toml",
        &["--device", "bad.toml", "line 1"],
    );
    refused(
        "run t.csv --device default --set t_raed=1us",
        &["`t_raed`", "did you mean `t_read`"],
    );
    refused(
        "run t.csv --device default --set t_read=25",
        &["`t_read`", "unit"],
    );
    refused(
        "run t.csv --device default --page 8k",
        &["--page 8KiB", "4KiB"],
    );
    refused(
        "run t.csv --device default --cache 1TiB",
        &["--cache 1TiB", "larger than device"],
    );
    refused(
        "run t.csv --device default --time-scale 0",
        &["--time-scale", "above 0"],
    );
    refused("presets ecr", &["`ecr`", "ecr-64g"]);
}

#[test]
fn devices_without_room_are_refused() {
    let run = "run t.csv --device default --set";
    refused(&format!("{run} channels=0"), &["`channels`", "0"]);
    refused(
        &format!("{run} blocks_per_plane=1"),
        &["blocks_per_plane", "garbage collection moves data"],
    );
    refused(
        &format!("{run} op=0"),
        &["op", "over-provisioning leaves no space"],
    );
    refused(&format!("{run} op=1"), &["op", "none is left to the host"]);
    refused(
        &format!("{run} multi_plane=on --set planes_per_die=300"),
        &["`multi_plane`", "at most 255"],
    );
}

/// A die with two planes programs both pages of a request at once, and reads them at once.
#[test]
fn planes_of_a_die_work_together() {
    let bench = Bench::new();
    let head = "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n";
    bench.file(
        "t.csv",
        format!("{head}0,W,0,16,0,,0\n90000000,R,0,16,0,,0\n"),
    );
    let one_die = "--set channels=1 --set chips_per_channel=1 --set dies_per_chip=1 \
                   --set t_read=70us --set t_program=700us --set t_cmd=1us --set t_byte=2ns \
                   --set t_ready=0ns --set sector_bytes=512";
    let latency = |planes: u32, more: &str| {
        let run = format!("run t.csv --scheme none --device default --set planes_per_die={planes}");
        let record = record(&bench, &format!("{run} {one_die} {more}"));
        ["write", "read"].map(|op| record["latency_ns"][op]["max"].as_u64())
    };
    let page = 1_000 + 4096 * 2;
    let alone = [2 * (page + 700_000), 2 * (page + 70_000)].map(Some);
    let together = [2 * page + 700_000, 2 * page + 70_000].map(Some);
    let on = "--set multi_plane=on";
    assert_eq!(latency(2, ""), alone);
    assert_eq!(latency(2, on), together);
    assert_eq!(
        latency(2, &format!("{on} --set plane_aligned=on")),
        together
    );
    assert_eq!(latency(1, on), alone, "one plane: without effect");
}

#[test]
fn chips_are_chosen_with_static_allocation_only() {
    for scheme in ["ecr(lru)", "ecr-eps", "gcar(lru)", "gcar(cflru)"] {
        let run = format!("run t.csv --device default --scheme {scheme} --set allocation=dynamic");
        refused(&run, &["X7", "allocation"]);
    }
    let bench = Bench::new();
    bench.file("t.csv", csv("W0 W1 W2 W3"));
    record(
        &bench,
        "run t.csv --device default --scheme lru --set allocation=dynamic",
    );
}

/// A device that is too small for what is written says at which request and what it held.
#[test]
fn a_run_ends_where_the_device_is_full() {
    let bench = Bench::new();
    bench.file("t.csv", csv(&"W0 W1 W2 W3 ".repeat(5)));
    let device = "run t.csv --scheme none --device default --set channels=1 \
                  --set chips_per_channel=1 --set dies_per_chip=1 --set planes_per_die=1 \
                  --set blocks_per_plane=4 --set pages_per_block=4 --set op=0.7";
    let args: Vec<&str> = device.split_whitespace().collect();
    let done = record(&bench, device);
    assert!(done["counts"]["erases"].as_u64() > Some(0), "{done}");
    let off: Vec<&str> = args.into_iter().chain(["--set", "gc_mode=off"]).collect();
    let parts = [
        "request 16",
        "device full: no free page",
        "0 of 16 pages free",
    ];
    bench.destage(&off).fails(1, &parts);
}

#[test]
fn device_options_need_a_device() {
    for option in [
        "--set t_read=1us",
        "--wrap",
        "--time-scale 2",
        "--log-requests l.csv",
    ] {
        let name = option.split(' ').next().unwrap();
        let needs = format!("{name} needs a device");
        refused(&format!("run t.csv {option}"), &[&needs]);
        refused(&format!("run t.csv --device none {option}"), &[&needs]);
    }
}

#[test]
fn addresses_beyond_the_device() {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0 W99999999"));
    let args = ["run", "t.csv", "--device", "default"];
    bench
        .destage(&args)
        .fails(2, &["request 1", "beyond", "--wrap"]);
    let wrapped = record(&bench, "run t.csv --device default --wrap");
    assert_eq!(wrapped["counts"]["wrapped_requests"], 1);
}

#[test]
fn presets_are_listed_and_printed() {
    let bench = Bench::new();
    let done = bench.destage(&["presets"]).ok();
    for name in destage_device::config::preset_names() {
        assert!(
            done.stdout
                .lines()
                .any(|l| l.starts_with(&format!("{name} ")) && l.ends_with('.')),
            "{name}"
        );
        let printed = bench.destage(&["presets", name]).ok().stdout;
        let again = bench.file("again.toml", &printed);
        let again = bench
            .destage(&["presets", again.to_str().unwrap()])
            .ok()
            .stdout;
        let values = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|l| !l.starts_with('#'));
            lines
                .map(|l| l.split(" # ").next().unwrap().trim_end().to_owned())
                .collect()
        };
        assert_eq!(
            values(&again),
            values(&printed),
            "what is printed can be read again"
        );
    }
    let done = bench
        .destage(&["presets", "default", "--set", "t_read=33us"])
        .ok();
    assert!(done.stdout.contains("t_read = \"33us\""), "{}", done.stdout);
}

/// A cache in flash: a miss and a hit program 2 KiB there, a hit reads them (ProCache 5.3).
#[test]
fn the_cache_of_the_procache_emulator_is_in_flash() {
    let bench = Bench::new();
    let head = "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n";
    bench.file(
        "t.csv",
        format!("{head}0,W,0,4,0,,0\n9000000,W,0,4,0,,0\n18000000,R,0,4,0,,0\n"),
    );
    let run = |more: &str| {
        let run = format!("run t.csv --scheme lru --log-requests log.csv {more}");
        record(&bench, &run)
    };
    let emulated = run("--device procache-emu");
    let (program, read) = (175 + 2048 * 25 + 200_000, 175 + 20_000 + 2048 * 25);
    assert_eq!(emulated["latency_ns"]["write"]["p50"], program);
    assert_eq!(emulated["latency_ns"]["write"]["max"], program);
    assert_eq!(emulated["latency_ns"]["read"]["max"], read);
    let counts = &emulated["counts"];
    assert_eq!(
        (&counts["cache_programs"], &counts["cache_reads"]),
        (&2.into(), &1.into())
    );
    assert_eq!(
        (&counts["flash_writes_host"], &counts["flash_reads_host"]),
        (&0.into(), &0.into())
    );
    assert_eq!(emulated["ratios"]["waf"], 0.0);
    let wanted = "{ size = \"1GiB\", t_read = \"20us\", t_program = \"200us\", evict_read = true }";
    assert_eq!(emulated["reading"]["cache_region"], wanted);
    let sum: f64 = emulated["utilisation"]["dies"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_f64)
        .sum();
    let elapsed = emulated["utilisation"]["elapsed_ns"].as_f64().unwrap();
    assert!((sum * elapsed - f64::from(2 * program + read)).abs() < 1e-3);
    // Other devices know nothing of it.
    for other in [
        "--device procache-32g",
        "--device procache-emu --set cache_region=off",
    ] {
        let text = run(other).to_string();
        assert!(
            !text.contains("cache_region") && !text.contains("cache_programs"),
            "{text}"
        );
    }
    let table = bench
        .destage(&["run", "t.csv", "--device", "procache-emu", "--details"])
        .ok();
    assert!(
        table.stdout.contains("cache in flash { size = \"1GiB\""),
        "{}",
        table.stdout
    );
    assert!(
        table
            .stdout
            .contains("accesses of the cache in flash in pages"),
        "{}",
        table.stdout
    );
    let list = bench.destage(&["presets"]).ok().stdout;
    for name in ["procache-emu ", "procache-emu-uniform "] {
        assert!(list.contains(name), "{list}");
    }
}
