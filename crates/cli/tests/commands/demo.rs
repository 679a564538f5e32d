//! `destage demo`, `destage schemes` and `destage --version`.

use crate::browser::assert_shown;
use crate::common::{Bench, all_schemes, counted, is_full, objects, root, without_cost};
use crate::moving_picture::terminal;
use crate::report::assert_self_contained;
use destage_scheme::registry::SCHEMES;
use serde_json::Value;

const LINE_UP: [&str; 10] = [
    "lru",
    "arc",
    "cac",
    "prober",
    "ecr",
    "procache",
    "req-block",
    "idle-clean",
    "drain",
    "belady",
];

#[test]
fn it_needs_no_input_and_says_what_it_shows() {
    let bench = Bench::new();
    let done = bench.destage("demo --report r.html").ok();
    assert_eq!(done.stderr, "report: r.html\n");
    assert!(done.stdout.starts_with("demo: 200000 requests"));
    for name in LINE_UP {
        let is_row = |line: &&str| {
            line.contains(" ms")
                || line.split(['(', '*', ' ']).next() == Some(name) && line.contains('%')
        };
        let rows: Vec<&str> = done.stdout.lines().filter(is_row).collect();
        assert!(!rows.is_empty(), "{name}: {}", done.stdout);
    }
    let widest = done.stdout.lines().map(|line| line.chars().count()).max();
    assert!(
        widest <= Some(80) && done.stdout.lines().count() <= 24,
        "{}",
        done.stdout
    );
    done.shows("reading: page 4KiB, device req-block-128g, read allocation");
    let (file, picture) = (
        root().join("docs/demo.svg"),
        terminal("destage demo", &done.stdout),
    );
    if std::env::var_os("DESTAGE_BLESS").is_some() {
        std::fs::write(&file, &picture).unwrap();
    }
    assert!(
        std::fs::read_to_string(&file).unwrap() == picture,
        "docs/demo.svg is stale: run this test with DESTAGE_BLESS=1"
    );
    let next = done.stdout.lines().rev().take(2).collect::<Vec<_>>();
    assert!(next[1].starts_with("next: destage demo --report") && next[0].contains("destage run"));
    let page = bench.read("r.html");
    assert_self_contained(&page);
    assert!(page.contains("destage demo, seed 1") && page.contains("belady"));
    assert_shown(
        &bench,
        "r.html",
        &["relative to lru", "mean response time", "die load"],
    );
}

#[test]
fn no_scheme_beats_the_bound() {
    let hits = |record: &Value| counted(record, "page_hits");
    let (bounds, others): (Vec<&Value>, Vec<&Value>) = all_schemes()
        .iter()
        .filter(|record| record["scheme"] != "none")
        .partition(|record| record["scheme"] == "belady");
    assert!(bounds.len() == 2 && others.len() > 80, "{}", others.len());
    for record in others {
        let of_size = |bound: &&&Value| bound["cache_bytes"] == record["cache_bytes"];
        let bound = bounds.iter().find(of_size).unwrap();
        assert!(hits(record) <= hits(bound), "{}", record["scheme"]);
    }
}

#[test]
fn the_seed_alone_changes_the_workload() {
    if !is_full() {
        println!("SKIPPED: only in cargo xtask full; `determinism` runs less with several threads");
        return;
    }
    let bench = Bench::new();
    let (demo, other) = (bench.records("demo"), bench.record("demo --seed 2"));
    assert_ne!(other["counts"], demo[0]["counts"]);
    let plain =
        |records: &[Value]| -> Vec<Value> { records.iter().cloned().map(without_cost).collect() };
    assert_eq!(plain(&bench.records("demo --jobs 1")), plain(&demo));
}

/// `demo` is a trace wherever a trace is named, and a file of that name is that file.
#[test]
fn the_built_in_workload_is_a_trace_everywhere() {
    let bench = Bench::new();
    let few = "--limit 500 --cache 1MiB --scheme lru";
    bench.shown("trace convert demo -o demo.bin --to destage-bin");
    // The file says the same as the name: the sums of both are those of the file.
    let hits =
        |bench: &Bench, trace: &str| bench.record(format!("run {trace} {few}"))["counts"].clone();
    assert_eq!(hits(&bench, "demo"), hits(&bench, "demo.bin"));
    let info = |trace: &str| bench.json(format!("trace info {trace} --json"));
    assert_eq!(info("demo")["sha256"], info("demo.bin")["sha256"]);
    bench
        .destage("trace head demo -n 3")
        .ok()
        .shows("# requests: 3");
    bench
        .destage("trace compare demo demo.bin --limit 2000")
        .ok();
    bench
        .destage("trace fit demo --limit 2000 --plain -o demo.toml")
        .ok();
    bench.destage(format!("mrc demo {few}")).ok();
    bench
        .destage(format!("mrc demo {few} --sample-rate 0.5"))
        .ok();
    bench
        .destage("watch demo --limit 2000 --request 100 --export scene.json")
        .ok();
    let keys = "trace = [\"demo\"]\nlimit = 500\ncache = \"1MiB\"\nscheme = [\"lru\"]\n";
    std::fs::create_dir(bench.dir.path().join("plans")).unwrap();
    for (plan, folder) in [("run.toml", "swept"), ("plans/run.toml", "swept-too")] {
        bench.file(plan, keys);
        let record = bench.record(format!("run --config {plan}"));
        assert_eq!(record["counts"], hits(&bench, "demo"), "{plan}");
        bench.destage(format!("sweep {plan} --out {folder}")).ok();
        let swept = objects(&bench.read(format!("{folder}/results.jsonl")));
        assert_eq!(swept[0]["counts"], hits(&bench, "demo"), "{plan}");
    }
    bench
        .destage(format!("run demo demo {few}"))
        .ok()
        .says("demo is given twice as a trace and runs once");
    bench.file("demo", "0,0,8,4096,0\n".replace("0,0,8,4096,0", "W,0,4096"));
    assert_ne!(hits(&bench, "demo"), hits(&bench, "demo.bin"));
}

#[test]
fn the_list_has_every_scheme() {
    let done = Bench::new().destage("schemes").ok();
    for info in SCHEMES {
        let start = format!("{} ", info.name);
        let row = done.stdout.lines().find(|l| l.starts_with(&start));
        let row = row.unwrap_or_else(|| panic!("no {start}"));
        if info.name == "lru" {
            assert!(
                row.contains("page policy") && row.contains("vectors, model, golden"),
                "{row}"
            );
        }
    }
}

#[test]
fn schemes_are_explained() {
    let bench = Bench::new();
    let done = bench.destage("schemes cflru").ok();
    for part in [
        "cflru",
        "x (default 3)",
        "CASES",
        "ties",
        "1 or more",
        "ECR 4.1",
    ] {
        done.shows(part);
    }
    let alias = bench.destage("schemes prober-lirs").ok();
    alias.shows("prober-lirs is an alias of prober(lirs)");
    alias.shows("scheme        lirs");
}

#[test]
fn json_has_the_same_facts() {
    let all = crate::common::schemes();
    assert_eq!(all.len(), SCHEMES.len());
    let one = Bench::new().json("schemes cflru --json");
    assert_eq!(one["params"][0]["key"], "x");
    assert_eq!(one["params"][0]["default"], "3");
    assert!(all.contains(&one));
}

#[test]
fn the_version_has_the_commit_of_a_checkout() {
    let shown = Bench::new().shown("--version");
    let version = shown.trim().strip_prefix("destage ").expect("name first");
    assert_eq!(version, destage_console::VERSION);
    let (plain, commit) = version.split_once('+').unwrap_or((version, "0"));
    assert_eq!(plain, env!("CARGO_PKG_VERSION"));
    assert!(commit.bytes().all(|b| b.is_ascii_hexdigit()), "{version}");
}
