//! `cac` over every scheme, with the time of a device, on streams of a log-structured file system.

use crate::common::{Bench, HEAD, counted as count, options, schemes};
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
fn bench() -> Bench {
    let bench = Bench::new();
    let synth = "trace synth --requests 6000 -o t.csv \
                 --part weight=3,at=zipf(0.8),space=2MiB,writes=0.9,size=4KiB:3+16KiB:1 \
                 --part weight=1,space=2MiB,start=2MiB,writes=0.7";
    bench.destage(synth).ok();
    bench
}

/// A file system that never writes in place.
const LOG: &str = "lfs(volume=1GiB)";

fn run(bench: &Bench, fs: &str, schemes: &[impl AsRef<str>]) -> Vec<Value> {
    let device = "--device cac-128g --cache 1MiB";
    bench.records(format!(
        "run t.csv --host-fs {fs} {device} {}",
        options(schemes)
    ))
}

fn over(schemes: &[&str]) -> Vec<String> {
    schemes.iter().map(|s| format!("cac({s})")).collect()
}

#[test]
fn a_log_with_cac_hits_as_often_as_updates_in_place() {
    let bench = bench();
    let in_place = run(&bench, "inplace", &BLIND);
    let log = run(&bench, LOG, &BLIND);
    let with = run(&bench, LOG, &over(&BLIND));
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
    let bench = bench();
    let fits = |s: &&Value| {
        let role = s["role"].as_str().unwrap();
        !["mapping", "offline", "no cache"].contains(&role) && s["name"] != "best-of"
    };
    let name = |s: &'static Value| s["name"].as_str().unwrap();
    let mut inner: Vec<&str> = schemes().iter().filter(fits).map(name).collect();
    // Filters that count how often an address comes admit nothing of a log, where none comes twice.
    let counts = |s: &&Value| s["role"] == "admission" && s["name"] != "procache";
    let closed: Vec<&str> = schemes().iter().filter(counts).map(name).collect();
    assert!(inner.len() >= 18, "{inner:?}");
    inner.extend([
        "prober(lirs)",
        "awb(prober(lru))",
        "prober(gcar(lru))",
        "ecr(lirs)",
    ]);
    let without = run(&bench, LOG, &inner);
    let with = run(&bench, LOG, &over(&inner));
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
        // The host reads and writes the same under each scheme.
        for key in ["requests", "read_pages", "write_pages"] {
            assert_eq!(count(with, key), count(without, key), "{name}: {key}");
        }
    }
}

/// The old address is trimmed after the update that has renamed its page: nothing cached is lost.
#[test]
fn trim_takes_nothing_from_cac() {
    let bench = bench();
    let schemes = over(&BLIND);
    let plain = run(&bench, LOG, &schemes);
    let trim = "lfs(volume=1GiB,trim=sync)";
    let trimmed = run(&bench, trim, &schemes);
    let alone = run(&bench, trim, &BLIND);
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
    let bench = bench();
    let schemes = ["lru", "arc", "lirs", "req-block", "vbbms", "prober(lru)"];
    let plain = run(&bench, "inplace", &schemes);
    let with = run(&bench, "inplace", &over(&schemes));
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
    let bench = bench();
    let fs = "f2fs(volume=8MiB,segment=64)";
    for extra in ["--tags data", ""] {
        let memory = run(&bench, &format!("{fs} {extra}"), &["lru", "cac(arc)"]);
        let disk = format!("{fs} {extra} --trace-memory 16KiB");
        let disk = run(&bench, &disk, &["lru", "cac(arc)"]);
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
    bench.shown(format!("trace synth --requests 64 --part {part} -o t.csv"));
    let run = format!("run t.csv --host-fs {LOG} --cache 128MiB");
    let records = bench.records(format!("{run} --scheme lru --scheme cac(lru)"));
    let bytes = |i: usize| records[i]["meta_bytes_mean"].as_f64().unwrap();
    assert_eq!(bytes(1) - bytes(0), 131_072.0);
    let ratio = |i: usize| records[i]["ratios"]["meta_ratio"].as_f64().unwrap();
    let share = 100.0 * (ratio(1) - ratio(0));
    assert!((share - 0.1).abs() < 0.005, "{share} %");
}

/// The options of `cac`, told apart by counters: an atomic chain 10, 20, 30 and a plain update.
#[test]
fn options_of_cac() {
    let text = "0,W,80,8,0,-1,0\n1000,W,160,8,0,80,1\n2000,W,240,8,0,160,1\n3000,W,320,8,0,240,0\n";
    let bench = Bench::with(format!("{HEAD}{text}"));
    let schemes = [
        "cac(lru)",
        "cac(lru,drop-stale=false)",
        "cac(lru,unmap-pre=true)",
    ];
    let run = "run t.csv --cache 64KiB --device cac-128g";
    let records = bench.records(format!("{run} {}", options(&schemes)));
    for r in &records {
        // The third version takes the place of the first, the fourth that of the third.
        assert_eq!((count(r, "remaps"), count(r, "write_page_hits")), (2, 2));
    }
    let dropped = records.iter().map(|r| count(r, "discarded_pages"));
    assert_eq!(
        dropped.collect::<Vec<_>>(),
        [1, 0, 1],
        "the older version that was kept"
    );
}
