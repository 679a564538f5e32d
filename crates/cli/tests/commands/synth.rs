//! `destage trace synth`.

use crate::common::{Bench, unframed};

#[test]
fn a_workload_is_the_same_in_every_format() {
    let bench = Bench::new();
    let common = "trace synth common --requests 2000";
    let synth = |to: &str, file: &str| {
        bench.shown(format!("{common} --seed 9 --to {to} -o {file}"));
        bench.json(format!("trace info {file} --json"))
    };
    let own = synth("destage", "t.csv");
    assert_eq!(own["requests"], 2_000);
    for (to, file) in [
        ("destage-bin", "t.bin"),
        ("msr", "m.csv"),
        ("fio", "t.log"),
        ("ssdsim", "t.txt"),
    ] {
        let other = synth(to, file);
        for key in [
            "write_requests",
            "read_bytes",
            "write_bytes",
            "footprint_pages",
            "end_byte",
        ] {
            assert_eq!(other[key], own[key], "{to} {key}");
        }
    }
    let piped = bench.shown(format!("{common} --seed 9"));
    assert_eq!(piped, bench.read("t.csv"));
    assert_ne!(bench.shown(common), piped, "another seed");
}

/// The bytes of a workload must not change, neither from machine to machine nor by accident.
#[test]
fn the_requests_are_pinned() {
    let bench = Bench::new();
    for (name, first) in PINNED {
        let shown = bench.shown(format!("trace synth {name} --requests 4"));
        let shown = unframed(&shown);
        let lines: Vec<&str> = shown.lines().skip(1).collect();
        assert_eq!(lines, *first, "{name}");
    }
}

/// The first two were computed by a program of its own in another language, too.
const PINNED: &[(&str, [&str; 4])] = &[
    (
        "ecr-uniform-20",
        [
            "0,R,458208,8,0,,0",
            "2943,R,272952,8,0,,0",
            "30007,R,321368,8,0,,0",
            "155355,R,248304,8,0,,0",
        ],
    ),
    (
        "ecr-normal-80",
        [
            "0,W,322400,8,0,,0",
            "81112,W,304368,8,0,,0",
            "145917,W,217360,8,0,,0",
            "196100,W,179200,8,0,,0",
        ],
    ),
    (
        "common",
        [
            "0,W,1452344,32,0,,0",
            "811335,R,3347360,64,0,,0",
            "1042011,W,3418048,16,0,,0",
            "1872203,W,3180240,16,0,,0",
        ],
    ),
    (
        "hot-cold",
        [
            "0,W,520048,32,0,,0",
            "30000,W,330328,32,0,,0",
            "60000,W,448608,8,0,,0",
            "90000,W,0,8,0,,0",
        ],
    ),
    (
        "streams",
        [
            "0,W,14680064,64,0,,0",
            "405561,W,14680128,256,0,,0",
            "729584,W,6291456,256,0,,0",
            "980500,W,6291712,64,0,,0",
        ],
    ),
];

#[test]
fn parts_and_options_replace_those_of_the_workload() {
    let bench = Bench::new();
    let shown = bench.shown(
        "trace synth common --part at=sequential,space=16KiB,size=8KiB --requests 3 \
         --arrival constant --gap 2us --writes 0",
    );
    let shown = unframed(&shown);
    let lines: Vec<&str> = shown.lines().skip(1).collect();
    assert_eq!(
        lines,
        ["0,R,0,16,0,,0", "2000,R,16,16,0,,0", "4000,R,0,16,0,,0"]
    );
    let plain = bench.shown("trace synth --requests 5");
    assert_eq!(plain.lines().filter(|l| l.contains(",W,")).count(), 5);
}

/// Two parts with a rate each, which share their addresses.
const RATES: &str =
    "trace synth --part rate=30000,writes=0,space=1MiB --part rate=10000,space=1MiB --requests";

/// The bytes must not change. A program of its own in another language computed the same.
#[test]
fn parts_with_rates_are_streams() {
    let bench = Bench::new();
    let shown = bench.shown(format!("{RATES} 6"));
    let shown = unframed(&shown);
    let lines: Vec<&str> = shown.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "33305,R,64,8,0,,0",
            "35241,R,1152,8,0,,0",
            "42852,W,1536,8,1,,0",
            "127948,W,1752,8,1,,0",
            "138421,R,1632,8,0,,0",
            "146813,R,312,8,0,,0",
        ]
    );
    let named = bench.shown("trace synth common --part rate=1000 --requests 100 --writes 0");
    assert_eq!(named.lines().filter(|l| l.contains(",R,")).count(), 100);
}

#[test]
fn streams_of_parts_survive_in_every_format() {
    let bench = Bench::new();
    // The formats of other tools say that a stream has addresses of its own.
    for (to, file, pages) in [
        ("destage", "t.csv", 256),
        ("destage-bin", "t.bin", 256),
        ("msr", "m.csv", 512),
        ("fio", "t.log", 512),
        ("ssdsim", "t.txt", 512),
    ] {
        bench.shown(format!("{RATES} 8000 --to {to} -o {file}"));
        let info = bench.json(format!("trace info {file} --json"));
        let volumes = info["volumes"].as_array().unwrap();
        let requests = volumes.iter().map(|v| v["requests"].as_u64().unwrap());
        let mut requests: Vec<u64> = requests.collect();
        requests.sort_unstable();
        assert_eq!(requests.len(), 2, "{to}");
        assert_eq!(requests[0] + requests[1], 8_000, "{to}");
        assert!((1_880..2_120).contains(&requests[0]), "{to} {requests:?}");
        assert_eq!(info["footprint_pages"], pages, "{to}");
        let shared = bench.json(format!("trace info {file} --json --volumes overlay"));
        assert_eq!(shared["footprint_pages"], 256, "{to}");
    }
}

#[test]
fn the_list_can_be_typed_back() {
    let bench = Bench::new();
    let list = bench.shown("trace synth --list");
    let (mut name, mut typed, mut seen) = ("", String::new(), 0);
    for line in list.lines().chain([""]) {
        match line.strip_prefix("  ") {
            Some(options) if options.starts_with("--") => typed += &format!(" {options}"),
            Some(_) => {}
            None if line.is_empty() => {
                // The table of 2 million ranks takes a while.
                if name != "zipf-pages" {
                    let (before, after) = typed.split_once("--requests ").unwrap();
                    let (_, after) = after.split_once(' ').unwrap_or((after, ""));
                    let typed = bench.shown(format!("trace synth {before} --requests 50 {after}"));
                    let named = bench.shown(format!("trace synth {name} --requests 50"));
                    assert_eq!(typed, named, "{name}");
                }
                (typed, seen) = (String::new(), seen + 1);
            }
            None => name = line,
        }
    }
    assert!(seen >= 13 && list.contains("ecr-normal-80") && list.contains("common"));
}
