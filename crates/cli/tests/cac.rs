//! `cac` over every scheme, with the time of a device, on streams of a log-structured file system.

mod common;

use common::Bench;
use serde_json::Value;

/// Hits depend on the order of accesses alone, not on addresses or chips: with `cac` a log gives
/// what updates in place give.
const BLIND: [&str; 9] = [
    "fifo",
    "lru",
    "lfu",
    "clock",
    "cflru",
    "arc",
    "lirs",
    "2q",
    "gcar(cflru)",
];

/// Skewed writes and some reads over 4 MiB.
fn trace(bench: &Bench) {
    let parts = [
        "--part",
        "weight=3,at=zipf(0.8),space=2MiB,writes=0.9,size=4KiB:3+16KiB:1",
        "--part",
        "weight=1,space=2MiB,start=2MiB,writes=0.7",
    ];
    let args = ["trace", "synth", "--requests", "6000", "-o", "t.csv"];
    bench.destage(&[&args[..], &parts].concat()).ok();
}

fn run(bench: &Bench, fs: &str, schemes: &[String], extra: &[&str]) -> Vec<Value> {
    let mut args = vec!["run", "t.csv", "--host-fs", fs, "--format-out", "jsonl"];
    args.extend(["--device", "cac-128g", "--cache", "1MiB"]);
    args.extend(extra);
    args.extend(schemes.iter().flat_map(|s| ["--scheme", s.as_str()]));
    bench.destage(&args).ok().records()
}

fn count(record: &Value, key: &str) -> u64 {
    record["counts"][key].as_u64().unwrap()
}

fn over(schemes: &[String]) -> Vec<String> {
    schemes.iter().map(|s| format!("cac({s})")).collect()
}

#[test]
fn a_log_with_cac_hits_as_often_as_updates_in_place() {
    let bench = Bench::new();
    trace(&bench);
    let schemes = BLIND.map(str::to_owned);
    let in_place = run(&bench, "inplace", &schemes, &[]);
    let log = run(&bench, "lfs(volume=1GiB)", &schemes, &[]);
    let with = run(&bench, "lfs(volume=1GiB)", &over(&schemes), &[]);
    for ((in_place, log), with) in in_place.iter().zip(&log).zip(&with) {
        let name = &with["scheme"];
        for key in [
            "write_page_hits",
            "read_page_hits",
            "evictions",
            "flash_writes_host",
        ] {
            assert_eq!(count(with, key), count(in_place, key), "{name}: {key}");
        }
        assert_eq!(count(log, "write_page_hits"), 0, "{name}");
        let mean = |r: &Value| r["latency_ns"]["write"]["mean"].as_f64().unwrap();
        assert!(
            mean(with) < mean(log),
            "{name}: hits must be faster than evictions"
        );
    }
}

#[test]
fn cac_works_over_every_scheme() {
    let bench = Bench::new();
    trace(&bench);
    let listed = bench.destage(&["schemes", "--json"]).ok().stdout;
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let fits = |s: &&Value| {
        let role = s["role"].as_str().unwrap();
        s["available"] == true && !["mapping", "offline", "no cache"].contains(&role)
    };
    let name = |s: &Value| s["name"].as_str().unwrap().to_owned();
    let mut inner: Vec<String> = listed.iter().filter(fits).map(name).collect();
    // Filters that count how often an address comes admit nothing of a log, where none comes twice.
    let counts = |s: &&Value| s["role"] == "admission" && s["name"] != "procache";
    let closed: Vec<String> = listed.iter().filter(counts).map(name).collect();
    assert!(inner.len() >= 18, "{inner:?}");
    let deeper = [
        "prober(lirs)",
        "awb(prober(lru))",
        "prober(gcar(lru))",
        "ecr(lirs)",
    ];
    inner.extend(deeper.map(str::to_owned));
    let without = run(&bench, "lfs(volume=1GiB)", &inner, &[]);
    let with = run(&bench, "lfs(volume=1GiB)", &over(&inner), &[]);
    for (without, with) in without.iter().zip(&with) {
        let (name, frames) = (&with["scheme"], with["cache_pages"].as_u64().unwrap());
        assert_eq!(count(without, "remaps"), 0, "{name}");
        let hits = [with, without].map(|r| count(r, "write_page_hits"));
        if closed
            .iter()
            .any(|c| name.as_str().unwrap().contains(&format!("({c}")))
        {
            assert!(hits[0] >= hits[1], "{name}");
        } else {
            assert!(count(with, "remaps") > 0 && hits[0] > hits[1], "{name}");
        }
        assert!(
            count(with, "flash_writes_host") <= count(without, "flash_writes_host"),
            "{name}"
        );
        let entries = with["scheme_stats"]["art_entries"].as_u64().unwrap();
        assert!(
            entries <= frames,
            "{name}: {entries} entries for {frames} frames"
        );
        // What the host reads and writes is the same, whoever serves it.
        for key in ["requests", "read_pages", "write_pages"] {
            assert_eq!(count(with, key), count(without, key), "{name}: {key}");
        }
    }
}

/// The old address is trimmed after the update that has renamed its page: nothing cached is lost.
#[test]
fn trim_takes_nothing_from_cac() {
    let bench = Bench::new();
    trace(&bench);
    let schemes = over(&BLIND.map(str::to_owned));
    let plain = run(&bench, "lfs(volume=1GiB)", &schemes, &[]);
    let trimmed = run(&bench, "lfs(volume=1GiB,trim=sync)", &schemes, &[]);
    let alone = run(
        &bench,
        "lfs(volume=1GiB,trim=sync)",
        &BLIND.map(str::to_owned),
        &[],
    );
    for ((plain, trimmed), alone) in plain.iter().zip(&trimmed).zip(&alone) {
        let name = &plain["scheme"];
        assert!(count(trimmed, "trim_requests") > 1_000);
        for key in [
            "write_page_hits",
            "read_page_hits",
            "remaps",
            "flash_writes_host",
        ] {
            assert_eq!(count(plain, key), count(trimmed, key), "{name}: {key}");
        }
        assert_eq!(count(alone, "write_page_hits"), 0, "{name}");
    }
}

#[test]
fn without_pairs_cac_is_its_inner_scheme() {
    let bench = Bench::new();
    trace(&bench);
    let schemes = ["lru", "arc", "lirs", "req-block", "vbbms", "prober(lru)"].map(str::to_owned);
    let plain = run(&bench, "inplace", &schemes, &[]);
    let with = run(&bench, "inplace", &over(&schemes), &[]);
    for (plain, with) in plain.iter().zip(&with) {
        for part in ["counts", "ratios", "latency_ns"] {
            let (mut a, mut b) = (plain[part].clone(), with[part].clone());
            for ratios in [&mut a, &mut b] {
                ratios.as_object_mut().unwrap().remove("meta_ratio");
            }
            assert_eq!(a, b, "{}: {part}", with["scheme"]);
        }
    }
}

#[test]
fn a_model_on_disk_gives_the_same() {
    let bench = Bench::new();
    trace(&bench);
    let schemes = ["lru", "cac(arc)"].map(str::to_owned);
    let fs = "f2fs(volume=8MiB,segment=64)";
    for extra in [&["--tags", "data"][..], &[]] {
        let memory = run(&bench, fs, &schemes, extra);
        let disk = run(
            &bench,
            fs,
            &schemes,
            &[extra, &["--trace-memory", "16KiB"]].concat(),
        );
        for (memory, disk) in memory.iter().zip(&disk) {
            assert!(count(memory, "remaps") > 0 || memory["scheme"] == "lru");
            for part in ["trace", "counts", "ratios", "latency_ns"] {
                assert_eq!(memory[part], disk[part], "{part}");
            }
        }
    }
}

/// CAC section 4.4: 4 B for each of the 32,768 blocks of a cache of 128 MiB are 128 KiB, 0.1 %.
#[test]
fn the_table_takes_four_bytes_a_block() {
    let bench = Bench::new();
    let part = "at=sequential,space=256MiB,size=4MiB";
    let args = [
        "trace",
        "synth",
        "--requests",
        "64",
        "--part",
        part,
        "-o",
        "t.csv",
    ];
    bench.destage(&args).ok();
    let mut args = vec!["run", "t.csv", "--host-fs", "lfs(volume=1GiB)"];
    args.extend(["--format-out", "jsonl", "--cache", "128MiB"]);
    args.extend(["--scheme", "lru", "--scheme", "cac(lru)"]);
    let records = bench.destage(&args).ok().records();
    let bytes = |i: usize| records[i]["meta_bytes_mean"].as_f64().unwrap();
    assert_eq!(bytes(1) - bytes(0), 131_072.0);
    let ratio = |i: usize| records[i]["ratios"]["meta_ratio"].as_f64().unwrap();
    let share = 100.0 * (ratio(1) - ratio(0));
    assert!((share - 0.1).abs() < 0.005, "{share} %");
}

/// The options of `cac`, told apart by counters: an atomic chain 10, 20, 30 and a plain update.
#[test]
fn options_of_cac() {
    let bench = Bench::new();
    let text = "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n\
                0,W,80,8,0,-1,0\n\
                1000,W,160,8,0,80,1\n\
                2000,W,240,8,0,160,1\n\
                3000,W,320,8,0,240,0\n";
    bench.file("t.csv", text);
    let schemes = [
        "cac(lru)",
        "cac(lru,drop-stale=false)",
        "cac(lru,unmap-pre=true)",
    ];
    let mut args = vec!["run", "t.csv", "--format-out", "jsonl", "--cache", "64KiB"];
    args.extend(["--device", "cac-128g"]);
    args.extend(schemes.iter().flat_map(|s| ["--scheme", s]));
    let records = bench.destage(&args).ok().records();
    for r in &records {
        // The third version takes the place of the first, the fourth that of the third.
        assert_eq!((count(r, "remaps"), count(r, "write_page_hits")), (2, 2));
    }
    let dropped: Vec<u64> = records
        .iter()
        .map(|r| count(r, "discarded_pages"))
        .collect();
    assert_eq!(dropped, [1, 0, 1], "the older version that was kept");
}
