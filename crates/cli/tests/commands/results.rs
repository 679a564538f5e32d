//! The output of `run` when all is well.

use crate::common::{Bench, HEAD, counted, csv, mixed, setting, words};
use serde_json::Value;

/// Two frames of LRU: pages 0, 1, 0 again, then 2 pushes out 1, and 1 pushes out 0.
const FIVE: &str = "W0 W1 R0 W2 R1";

#[test]
fn figures_of_a_run_by_hand() {
    let bench = Bench::with(csv(FIVE));
    let done = bench
        .destage("run t.csv --cache 8k --format-out jsonl")
        .ok();
    assert_eq!(done.stderr, "");
    let [record] = &done.records()[..] else {
        panic!("one run, one record: {}", done.stdout)
    };
    assert_eq!(record["schema"], "destage.result/1");
    assert_eq!(record["trace"]["name"], "t");
    assert_eq!(record["trace"]["requests"], 5);
    assert_eq!(record["trace"]["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(record["scheme"], "lru");
    assert_eq!(record["cache_bytes"], 8192);
    assert_eq!(record["cache_pages"], 2);
    assert_eq!(record["device"], "none");
    let counts = &record["counts"];
    assert_eq!(counts["page_accesses"], 5);
    assert_eq!(counts["page_hits"], 1);
    assert_eq!(counts["read_page_hits"], 1);
    assert_eq!(counts["evictions"], 2);
    assert_eq!(counts["flash_writes_host"], 2, "pages 1 and 0 were dirty");
    assert_eq!(counts["flash_reads_host"], 1);
    assert_eq!(record["ratios"]["read_page_hit_ratio"], 0.5);
    assert_eq!(record["ratios"]["write_page_hit_ratio"], 0.0);
    assert!(
        record.get("latency_ns").is_none(),
        "no time without a device"
    );
    assert!(record["run"]["cpu_s"].as_f64().unwrap() >= 0.0);
    let version = env!("CARGO_PKG_VERSION");
    assert!(record["version"].as_str().unwrap().starts_with(version));
}

#[test]
fn the_table_has_the_columns_and_the_reading_line() {
    let bench = Bench::with(csv(FIVE));
    let done = bench.destage("run t.csv --cache 8KiB").ok();
    let lines: Vec<&str> = done.stdout.lines().collect();
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        words(lines[0]),
        "trace scheme cache page hit % flash writes read hit % write hit % dirty left evictions pages/eviction"
    );
    assert_eq!(words(lines[1]), "t lru 8KiB 20.00 2 50.00 0.00 1 2 1.00");
    assert_eq!(
        lines[3],
        "reading: page 4KiB, no device, read allocation on, read fill page, warm-up none"
    );
    assert_eq!(lines[4], "format: destage, times in ns");
    assert!(lines[5].starts_with("dirty left: "), "{}", done.stdout);
    assert_eq!(lines.len(), 6, "the cache is a column: {}", done.stdout);
}

#[test]
fn the_best_of_a_size_is_marked_and_the_bound_is_not() {
    let bench = Bench::with(mixed(3000));
    let schemes = "--scheme lru --scheme fifo --scheme belady --scheme none --read-alloc on";
    let done = bench
        .destage(format!("run t.csv {schemes} --cache 64k --cache 256k"))
        .ok();
    let text = &done.stdout;
    let of = |start: &str| {
        let line = text.lines().find(|line| line.starts_with(start));
        words(line.unwrap_or_else(|| panic!("{start} in {text}")))
    };
    // One row of the table, then sizes against schemes.
    let row = |scheme: &str| {
        let line = text
            .lines()
            .find(|line| words(line).get(1).is_some_and(|word| word == scheme));
        words(line.unwrap()).join(" ")
    };
    assert!(
        row("lru").contains(" <") && !row("fifo").contains('<'),
        "{text}"
    );
    assert!(
        row("belady").contains("(bound)") && !row("belady").contains('<'),
        "{text}"
    );
    assert_eq!(of("t: page hit %")[4..], ["64KiB", "256KiB"]);
    assert_eq!(of("lru").iter().filter(|word| *word == "<").count(), 2);
    let hits = |r: &Value| {
        format!(
            "{:.2}",
            100.0 * r["ratios"]["page_hit_ratio"].as_f64().unwrap()
        )
    };
    let records = bench.records(format!("run t.csv {schemes} --cache 64k --cache 256k"));
    let fifo: Vec<String> = records
        .iter()
        .filter(|r| r["scheme"] == "fifo")
        .map(hits)
        .collect();
    assert_eq!(of("fifo")[1..], fifo);
    done.shows("<: best of its cache size");
    // One size needs no such table, and one scheme has no best.
    for less in [
        "--scheme lru --scheme fifo --cache 64k",
        "--scheme lru --cache 64k --cache 128k",
    ] {
        let done = bench.destage(format!("run t.csv {less}")).ok();
        assert!(
            !done.stdout.contains("t: page hit %"),
            "{less}: {}",
            done.stdout
        );
    }
    assert!(
        !bench
            .destage("run t.csv --scheme lru")
            .ok()
            .stdout
            .contains('<')
    );
}

#[test]
fn columns_are_those_asked_for() {
    let bench = Bench::with(mixed(500));
    let run = "run t.csv --cache 64k --columns";
    let done = bench
        .destage(format!("{run} evictions,counts.write_pages"))
        .ok();
    let header = words(done.stdout.lines().next().unwrap()).join(" ");
    assert_eq!(header, "trace scheme cache evictions counts.write_pages");
    bench.refuses(&format!(
        "{run} hits | --columns: `hits` is no figure | page-hit, | docs/OUTPUT.md"
    ));
}

#[test]
fn a_closed_loop_says_what_it_achieves() {
    let bench = Bench::with(mixed(500));
    let run = "run t.csv --cache 64k --device default --closed-loop 4";
    let record = bench.record(run);
    let found = |key: &str| record["throughput"][key].as_f64().unwrap();
    // Nothing else is under way, so the device works from the first issue to the last completion.
    let elapsed = record["utilisation"]["elapsed_ns"].as_f64().unwrap();
    assert_eq!(found("elapsed_ns"), elapsed);
    assert!((found("requests_per_s") / (500e9 / elapsed) - 1.0).abs() < 1e-9);
    let sectors = counted(&record, "read_sectors") + counted(&record, "write_sectors");
    let bytes = (sectors * 512) as f64 * 1e9 / elapsed;
    assert!((found("bytes_per_s") / bytes - 1.0).abs() < 1e-9);
    assert!(found("depth_held") > 0.9);
    let done = bench.destage(run).ok();
    done.shows("IOPS");
    done.shows("MB/s");
    assert!(!done.stdout.contains('~'), "{}", done.stdout);
    let open = bench.record("run t.csv --cache 64k --device default");
    assert!(open.get("throughput").is_none());
}

/// 500 requests at depth 400: after the first completions hardly any is left to issue.
#[test]
fn a_loop_that_runs_empty_is_marked() {
    let bench = Bench::with(mixed(500));
    for depth in [400, 5_000] {
        let line = format!("run t.csv --cache 64k --device default --closed-loop {depth}");
        let rates = bench.record(&line)["throughput"].clone();
        let held = rates["depth_held"].as_f64().unwrap();
        assert!(held < 0.5 && (held > 0.0) == (depth == 400), "{held}");
        let done = bench.destage(&line).ok();
        done.shows(format!("~{:.0}", rates["requests_per_s"].as_f64().unwrap()));
        done.shows("~: the queue depth was held for less than half of the time");
        done.says(format!(
            "500 requests in a closed loop of {depth} on device default with lru"
        ));
    }
}

#[test]
fn dirty_pages_that_are_left_are_said() {
    let bench = Bench::with(csv("W0 W1 R2 W0"));
    let record = bench.record("run t.csv --cache 64k");
    assert_eq!(record["dirty_pages_left"], 2);
    let flushed = bench.record("run t.csv --cache 64k --flush-at-end");
    assert_eq!(flushed["dirty_pages_left"], 2);
    assert_eq!(flushed["final_flush"]["flash_writes_host"], 2);
}

#[test]
fn traces_of_one_name_are_told_apart() {
    let bench = Bench::new();
    for folder in ["a", "b"] {
        std::fs::create_dir(bench.file("x", "").with_file_name(folder)).unwrap();
        bench.file(&format!("{folder}/t.csv"), mixed(100));
    }
    let records = bench.records("run a/t.csv b/t.csv --cache 64k");
    let names: Vec<&str> = records
        .iter()
        .map(|r| r["trace"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a/t", "b/t"]);
}

#[test]
fn rows_are_the_cross_product_in_input_order() {
    let bench = Bench::new();
    bench.file("b.csv", mixed(500));
    bench.file("a.csv", mixed(300));
    let run = "run b.csv a.csv --scheme lru --scheme none --scheme fifo --cache 1m --cache 64k";
    let records = bench.records(format!("{run} --jobs 2"));
    let row = |r: &Value| {
        let text = |v: &Value| v.as_str().unwrap().to_owned();
        let bytes = r["cache_bytes"].as_u64().unwrap();
        (text(&r["trace"]["name"]), text(&r["scheme"]), bytes >> 10)
    };
    let rows: Vec<_> = records.iter().map(row).collect();
    let one = |t: &str| {
        let rows = [
            ("lru", 1024),
            ("lru", 64),
            ("none", 0),
            ("fifo", 1024),
            ("fifo", 64),
        ];
        rows.map(|(scheme, size)| (t.to_owned(), scheme.to_owned(), size))
    };
    assert_eq!(rows, [one("b"), one("a")].concat());
}

#[test]
fn settings_carry_their_origin() {
    let bench = Bench::with(mixed(200));
    let args = "run t.csv --page 8k --warmup 10% --limit 100";
    let done = bench.destage(args).ok();
    done.shows("settings: page=8KiB (command line), limit=100 (command line); all others built-in");
    done.shows("warm-up 10%");
    let record = bench.record(args);
    assert_eq!(record["page_bytes"], 8192);
    assert_eq!(record["cache_pages"], 2048);
    assert_eq!(record["reading"]["warmup_requests"], 10);
    assert_eq!(
        record["counts"]["requests"], 90,
        "the measured part of the limited trace"
    );
    assert_eq!(setting(&record, "page"), ("8KiB", "command line"));
    assert_eq!(setting(&record, "seed"), ("1", "built-in"));
    assert_eq!(setting(&record, "warmup"), ("10%", "command line"));
}

/// The page of a device is written as the option and the built-in page are.
#[test]
fn sizes_of_pages_are_spelled_alike() {
    let bench = Bench::with(csv("W0"));
    let page = |device: &str| {
        let record = bench.record(format!("run t.csv --device {device}"));
        setting(&record, "page").0.to_owned()
    };
    assert_eq!(page("none"), "4KiB");
    assert_eq!(page("default"), "4KiB");
    assert_eq!(page("procache-emu"), "2KiB");
}

#[test]
fn warm_up_passes_measure_the_last_pass() {
    let bench = Bench::with(csv("W0 W1 W2"));
    let record = bench.record("run t.csv --warmup passes=1");
    assert_eq!(record["counts"]["requests"], 3);
    assert_eq!(
        record["counts"]["page_hits"], 3,
        "everything is cached after the first pass"
    );
}

#[test]
fn csv_has_the_scalars() {
    let bench = Bench::with(csv(FIVE));
    let run = "run t.csv --cache 8k --scheme lru --scheme none --format-out csv";
    let text = bench.shown(run);
    let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split(',').collect()).collect();
    assert_eq!(lines.len(), 3);
    let column = |name: &str| lines[0].iter().position(|c| *c == name).expect(name);
    assert_eq!(lines[1][column("scheme")], "lru");
    assert_eq!(lines[1][column("counts.evictions")], "2");
    assert_eq!(lines[2][column("counts.flash_writes_host")], "3");
    assert_eq!(
        lines[2][column("evict_pages_mean")],
        "",
        "a ratio without a denominator"
    );
    assert!(lines.iter().all(|l| l.len() == lines[0].len()));
}

#[test]
fn compressed_files_and_standard_input_give_the_same_counts() {
    let text = mixed(400);
    let bench = Bench::with(&text);
    bench.file("t.csv.zst", zstd::encode_all(text.as_bytes(), 3).unwrap());
    let of = |trace: &str| {
        let run = format!("run {trace} --cache 64k --format-out jsonl");
        bench.with_stdin(run, &text).ok().records().remove(0)
    };
    let [plain, packed, piped] = ["t.csv", "t.csv.zst", "-"].map(of);
    assert_eq!(plain["counts"], packed["counts"]);
    assert_eq!(plain["counts"], piped["counts"]);
    assert_eq!(piped["trace"]["name"], "stdin");
    assert_eq!(plain["trace"]["sha256"], piped["trace"]["sha256"]);
    assert_ne!(
        plain["trace"]["sha256"], packed["trace"]["sha256"],
        "hash of the file as stored"
    );
}

#[test]
fn read_fill_requested_brings_in_less() {
    let bench = Bench::with(format!("{HEAD}0,R,0,1,0,,0\n1,R,1,1,0,,0\n"));
    let hits = |fill: &str| {
        let record = bench.record(format!("run t.csv --read-fill {fill}"));
        record["counts"]["page_hits"].clone()
    };
    assert_eq!(hits("page"), 1);
    assert_eq!(hits("requested"), 0);
}

#[test]
fn different_read_allocation_is_marked_and_warned_of() {
    let bench = Bench::with(mixed(300));
    let args = "run t.csv --scheme lru --scheme fifo --scheme req-block";
    let done = bench.destage(args).ok();
    let warning = "warning: hit ratios of these schemes do not compare";
    assert_eq!(done.stderr.matches(warning).count(), 1, "{}", done.stderr);
    let marked: Vec<&str> = done.stdout.lines().filter(|l| l.contains("* ")).collect();
    assert!(marked[0].contains("req-block"), "{}", done.stdout);
    assert!(
        marked[1].starts_with("* differs: read allocation off"),
        "{}",
        done.stdout
    );
    let done = bench.destage(format!("{args} --read-alloc off")).ok();
    assert!(!done.stderr.contains(warning), "{}", done.stderr);
    assert!(!done.stdout.contains("differs"), "{}", done.stdout);
}

#[test]
fn lists_give_the_runs_of_repeated_options() {
    let bench = Bench::with(mixed(600));
    let plain = |records: Vec<Value>| -> Vec<Value> {
        records
            .into_iter()
            .map(crate::common::without_cost)
            .collect()
    };
    let repeated = "run t.csv --scheme lru --scheme prober(lru) --cache 64k --cache 0.1";
    let listed = "run t.csv --scheme lru,prober(lru) --cache 64k,10%";
    assert_eq!(plain(bench.records(listed)), plain(bench.records(repeated)));
    // A list in a run file is one of run, too.
    bench.file(
        "r.toml",
        "trace = 't.csv'\nscheme = 'lru,arc'\ncache = '64k,128k'\n",
    );
    assert_eq!(bench.records("run --config r.toml").len(), 4);
    // Some need 64 pages.
    let all = bench.records("run t.csv --scheme all --cache 256k");
    let known = destage_scheme::registry::SCHEMES.len();
    assert_eq!(all.len(), known, "each scheme runs once with its defaults");
}

#[test]
fn rows_are_sorted_by_a_column_with_the_best_first() {
    let bench = Bench::with(mixed(2000));
    let of = |more: &str| {
        let line =
            format!("run t.csv --scheme fifo,lru,arc,none --cache 64k --read-alloc on {more}");
        let text = bench.shown(line);
        let rows = text.lines().skip(1).take(4).map(words).collect::<Vec<_>>();
        rows.into_iter()
            .map(|row| row[1].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of(""), ["fifo", "lru", "arc", "none"]);
    let records = bench.records("run t.csv --scheme fifo,lru,arc,none --cache 64k --read-alloc on");
    let sorted = |key: fn(&Value) -> f64| {
        let mut all: Vec<&Value> = records.iter().collect();
        all.sort_by(|a, b| key(a).total_cmp(&key(b)));
        let names = all.iter().map(|r| r["scheme"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    // More hits are better, fewer writes are; of a field the largest comes first.
    let hits = |r: &Value| -r["ratios"]["page_hit_ratio"].as_f64().unwrap();
    assert_eq!(of("--sort page-hit"), sorted(hits));
    let writes = |r: &Value| r["counts"]["flash_writes_host"].as_f64().unwrap();
    assert_eq!(of("--sort flash-writes"), sorted(writes));
    let evicted = |r: &Value| -r["counts"]["evicted_pages"].as_f64().unwrap();
    assert_eq!(of("--sort counts.evicted_pages"), sorted(evicted));
}
