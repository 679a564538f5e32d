//! `destage trace synth`.

mod common;

use common::Bench;
use serde_json::Value;

fn info(bench: &Bench, trace: &str) -> Value {
    let done = bench.destage(&["trace", "info", trace, "--json"]).ok();
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn a_workload_is_the_same_in_every_format() {
    let bench = Bench::new();
    let synth = |to: &str, file: &str| {
        let args = [
            "trace",
            "synth",
            "common",
            "--requests",
            "2000",
            "--seed",
            "9",
        ];
        bench
            .destage(&[&args[..], &["--to", to, "-o", file]].concat())
            .ok();
        info(&bench, file)
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
    let piped = bench
        .destage(&[
            "trace",
            "synth",
            "common",
            "--requests",
            "2000",
            "--seed",
            "9",
        ])
        .ok();
    assert_eq!(piped.stdout, bench.read("t.csv"));
    let other = bench
        .destage(&["trace", "synth", "common", "--requests", "2000"])
        .ok();
    assert_ne!(other.stdout, piped.stdout, "another seed");
}

/// The bytes of a workload must not change, neither from machine to machine nor by accident.
#[test]
fn the_requests_are_pinned() {
    let bench = Bench::new();
    for (name, first) in PINNED {
        let args = ["trace", "synth", name, "--requests", "4"];
        let done = bench.destage(&args).ok();
        let lines: Vec<&str> = done.stdout.lines().skip(1).collect();
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
    let args = [
        "trace",
        "synth",
        "common",
        "--part",
        "at=sequential,space=16KiB,size=8KiB",
        "--requests",
        "3",
        "--arrival",
        "constant",
        "--gap",
        "2us",
        "--writes",
        "0",
    ];
    let done = bench.destage(&args).ok();
    let lines: Vec<&str> = done.stdout.lines().skip(1).collect();
    assert_eq!(
        lines,
        ["0,R,0,16,0,,0", "2000,R,16,16,0,,0", "4000,R,0,16,0,,0"]
    );
    let done = bench.destage(&["trace", "synth", "--requests", "5"]).ok();
    assert_eq!(done.stdout.lines().filter(|l| l.contains(",W,")).count(), 5);
}

#[test]
fn the_list_can_be_typed_back() {
    let bench = Bench::new();
    let list = bench.destage(&["trace", "synth", "--list"]).ok().stdout;
    let mut args: Vec<String> = Vec::new();
    let (mut name, mut seen) = (String::new(), 0);
    for line in list.lines().chain([""]) {
        match line.strip_prefix("  ") {
            Some(options) if options.starts_with("--") => {
                let words = options.split(' ');
                args.extend(words.map(|w| w.trim_matches('\'').to_owned()));
            }
            Some(_) => {}
            None if line.is_empty() => {
                // The table of 2 million ranks takes a while.
                if name != "zipf-pages" {
                    let typed: Vec<&str> = args.iter().map(String::as_str).collect();
                    let at = typed.iter().position(|a| *a == "--requests").unwrap();
                    let typed = [&typed[..at], &["--requests", "50"], &typed[at + 2..]].concat();
                    let typed = bench
                        .destage(&[&["trace", "synth"], &typed[..]].concat())
                        .ok();
                    let named = bench
                        .destage(&["trace", "synth", &name, "--requests", "50"])
                        .ok();
                    assert_eq!(typed.stdout, named.stdout, "{name}");
                }
                (args, seen) = (Vec::new(), seen + 1);
            }
            None => name = line.to_owned(),
        }
    }
    assert!(seen >= 13 && list.contains("ecr-normal-80") && list.contains("common"));
}

#[test]
fn bad_usage_is_refused() {
    let bench = Bench::new();
    for (args, parts) in [
        (
            &["comon"][..],
            &["unknown workload `comon`", "did you mean `common`"][..],
        ),
        (&["--part", "wirtes=1"], &["did you mean `writes`"]),
        (&["--part", "size=4"], &["size:", "unit"]),
        (&["--requests", "0"], &["0"]),
        (&["--gap", "5"], &["5", "unit"]),
        (&["--writes", "2"], &["no share"]),
        (&["--arrival", "sometimes"], &["constant, poisson, bursts"]),
        (&["--arrival", "bursts(4,2ms)"], &["less than the mean"]),
        (&["--to", "excel"], &["excel"]),
        (&["-o", "no/such/dir/t.csv"], &["--output", "cannot create"]),
        (&["common", "--list"], &["cannot be used with"]),
    ] {
        bench
            .destage(&[&["trace", "synth"], args].concat())
            .fails(2, parts);
    }
}
