//! Runs on a device, and the presets.

use crate::common::{Bench, HEAD, csv, mixed, setting};
use serde_json::Value;
use std::collections::BTreeSet;

/// One read miss and one write on an idle device, from the key values alone. DRAM service runs
/// beside flash work that starts at arrival.
#[test]
fn response_times_of_single_requests_by_hand() {
    let bench = Bench::with(format!("{HEAD}0,R,0,8,0,,0\n90000000,W,800,8,0,,0\n"));
    let sets = "--set t_read=70us --set t_cmd=1us --set t_byte=2ns --set t_dram=3us \
                --set sector_bytes=512 --set t_ready=0ns --set host_link=\"unlimited\"";
    let run = format!("run t.csv --device default {sets} --log-requests log.csv");
    let record = bench.record(&run);
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
    assert_eq!(
        (sum(&u["dies"]), sum(&u["channels"])),
        (share(79_192), share(9_192))
    );
    assert_eq!(
        bench.read("log.csv"),
        "request,op,arrival_ns,complete_ns,pages,hit_pages,stream\n\
         0,R,0,79192,1,0,0\n1,W,90000000,90003000,1,0,0\n"
    );
}

fn sum(list: &Value) -> f64 {
    list.as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_f64)
        .sum()
}

#[test]
fn time_scale_moves_arrivals_only() {
    let bench = Bench::with(csv("W0 W1 W2"));
    let arrivals = |scale: &str| -> Vec<String> {
        let run = format!("run t.csv --device default --log-requests log.csv {scale}");
        bench.record(&run);
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
    let bench = Bench::with(mixed(3000));
    let with = bench.record("run t.csv --cache 256k --device default");
    let without = bench.record("run t.csv --cache 256k");
    for key in ["page_hits", "evictions", "flash_writes_host"] {
        assert_eq!(with["counts"][key], without["counts"][key], "{key}");
    }
    assert_eq!(with["device"], "default");
    assert!(with["ratios"]["waf"].is_number());
    assert!(without["ratios"].get("waf").is_none());
}

#[test]
fn the_table_shows_times_and_readings() {
    let bench = Bench::with(mixed(500));
    let args = "run t.csv --device default --set t_read=50us";
    let done = bench.destage(args).ok();
    let header = done.stdout.lines().next().unwrap();
    assert!(
        header.contains("mean ms  p99 ms") && header.contains("write amplification"),
        "{header}"
    );
    done.shows("writes wait until evicted pages are programmed");
    done.shows("pages that the trace reads first are on flash");
    done.shows("t_read=\"50us\" (command line)");
}

#[test]
fn values_keep_their_origin() {
    let bench = Bench::with(mixed(100));
    bench.file(
        "mine.toml",
        "name = \"mine\"\nbase = \"ecr-64g\"\nt_read = \"30us\"\n",
    );
    let record = bench.record("run t.csv --device mine.toml --set t_erase=2ms --page 4k");
    assert_eq!(record["device"], "mine");
    assert_eq!(
        record["cache_bytes"],
        32 << 20,
        "the cache the device is meant for"
    );
    for (key, value, origin) in [
        ("t_read", "\"30us\"", "file mine.toml"),
        ("t_erase", "\"2ms\"", "command line"),
        ("cache", "32MiB", "preset ecr-64g"),
        ("page", "4KiB", "command line"),
        ("channels", "64", "preset ecr-64g"),
    ] {
        assert_eq!(setting(&record, key), (value, origin), "{key}");
    }
    let config = record["config"].as_array().unwrap();
    let keys: BTreeSet<&str> = config.iter().map(|s| s["key"].as_str().unwrap()).collect();
    assert_eq!(config.len(), keys.len(), "every key once");
}

#[test]
fn notices_of_the_device_are_said_once() {
    let bench = Bench::with(mixed(100));
    let args = "run t.csv t.csv --device ecr-64g --cache 1m --cache 2m";
    let done = bench.destage(args).ok();
    let lines: Vec<&str> = done.stderr.lines().collect();
    let unique: BTreeSet<&&str> = lines.iter().collect();
    assert_eq!(lines.len(), unique.len(), "{lines:?}");
    assert!(
        lines.iter().all(|l| l.starts_with("warning: ")),
        "{lines:?}"
    );
}

/// A die with two planes programs both pages of a request at once, and reads them at once.
#[test]
fn planes_of_a_die_work_together() {
    let bench = Bench::with(format!("{HEAD}0,W,0,16,0,,0\n90000000,R,0,16,0,,0\n"));
    let one_die = "--set channels=1 --set chips_per_channel=1 --set dies_per_chip=1 \
                   --set t_read=70us --set t_program=700us --set t_cmd=1us --set t_byte=2ns \
                   --set t_ready=0ns --set sector_bytes=512";
    let latency = |planes: u32, more: &str| {
        let run = format!("run t.csv --scheme none --device default --set planes_per_die={planes}");
        let record = bench.record(format!("{run} {one_die} {more}"));
        ["write", "read"].map(|op| record["latency_ns"][op]["max"].as_u64())
    };
    let page = 1_000 + 4096 * 2;
    let alone = [2 * (page + 700_000), 2 * (page + 70_000)].map(Some);
    let together = [2 * page + 700_000, 2 * page + 70_000].map(Some);
    let on = "--set multi_plane=on";
    assert_eq!(latency(2, ""), alone);
    assert_eq!(latency(2, on), together);
    assert_eq!(latency(1, on), alone, "one plane: without effect");
}

/// A device that is too small for what is written says at which request and what it held.
#[test]
fn a_run_ends_where_the_device_is_full() {
    let bench = Bench::with(csv(&"W0 W1 W2 W3 ".repeat(5)));
    let device = "run t.csv --scheme none --device default --set channels=1 \
                  --set chips_per_channel=1 --set dies_per_chip=1 --set planes_per_die=1 \
                  --set blocks_per_plane=4 --set pages_per_block=4 --set op=0.7";
    let done = bench.record(device);
    assert!(done["counts"]["erases"].as_u64() > Some(0), "{done}");
    let parts = [
        "request 16",
        "device full: no free page",
        "0 of 16 pages free",
    ];
    let off = bench.destage(format!("{device} --set gc_mode=off"));
    off.fails(1, &parts);
}

#[test]
fn addresses_beyond_the_device() {
    let bench = Bench::with(csv("W0 W99999999"));
    let refuse = "run t.csv --device default --addresses refuse";
    bench.refuses(&format!("{refuse} | request 1 | beyond | --addresses wrap"));
    let wrapped = bench.record("run t.csv --device default --addresses wrap");
    assert_eq!(wrapped["counts"]["wrapped_requests"], 1);
    let fitted = bench.record("run t.csv --device default");
    assert_eq!(fitted["counts"]["wrapped_requests"], 0);
}

#[test]
fn presets_are_listed_and_printed() {
    let bench = Bench::new();
    let done = bench.destage("presets").ok();
    for name in destage_device::config::preset_names() {
        let row = |l: &str| l.starts_with(&format!("{name} ")) && l.ends_with('.');
        assert!(done.stdout.lines().any(row), "{name}");
        let printed = bench.shown(format!("presets {name}"));
        let again = bench.file("again.toml", &printed);
        let again = bench.shown(format!("presets '{}'", again.display()));
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
    let done = bench.destage("presets default --set t_read=33us").ok();
    done.shows("t_read = \"33us\"");
}

/// A cache in flash: a miss and a hit program 2 KiB there, a hit reads them (ProCache 5.3).
#[test]
fn the_cache_of_the_procache_emulator_is_in_flash() {
    let bench = Bench::with(format!(
        "{HEAD}0,W,0,4,0,,0\n9000000,W,0,4,0,,0\n18000000,R,0,4,0,,0\n"
    ));
    let run = |more: &str| {
        bench.record(format!(
            "run t.csv --scheme lru --log-requests log.csv {more}"
        ))
    };
    let emulated = run("--device procache-emu");
    let (program, read) = (175 + 2048 * 25 + 200_000, 175 + 20_000 + 2048 * 25);
    assert_eq!(emulated["latency_ns"]["write"]["p50"], program);
    assert_eq!(emulated["latency_ns"]["write"]["max"], program);
    assert_eq!(emulated["latency_ns"]["read"]["max"], read);
    let counts = &emulated["counts"];
    for (key, value) in [
        ("cache_programs", 2),
        ("cache_reads", 1),
        ("flash_writes_host", 0),
        ("flash_reads_host", 0),
    ] {
        assert_eq!(counts[key], value, "{key}");
    }
    assert_eq!(emulated["ratios"]["waf"], 0.0);
    let wanted = "{ size = \"1GiB\", t_read = \"20us\", t_program = \"200us\", evict_read = true }";
    assert_eq!(emulated["reading"]["cache_region"], wanted);
    let sum = sum(&emulated["utilisation"]["dies"]);
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
        .destage("run t.csv --device procache-emu --details")
        .ok();
    table.shows("cache in flash { size = \"1GiB\"");
    table.shows("accesses of the cache in flash in pages");
    let list = bench.destage("presets").ok();
    list.shows("procache-emu ");
    list.shows("procache-emu-uniform ");
}
