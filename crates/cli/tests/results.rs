//! What `run` prints when all is well.

mod common;

use common::{Bench, csv, mixed};

/// Two frames of LRU: pages 0, 1, 0 again, then 2 pushes out 1, and 1 pushes out 0.
const FIVE: &str = "W0 W1 R0 W2 R1";

#[test]
fn figures_of_a_run_by_hand() {
    let bench = Bench::new();
    bench.file("five.csv", csv(FIVE));
    let done = bench
        .destage(&["run", "five.csv", "--cache", "8k", "--format-out", "jsonl"])
        .ok();
    assert_eq!(done.stderr, "");
    let [record] = &done.records()[..] else {
        panic!("one run, one record: {}", done.stdout)
    };
    assert_eq!(record["schema"], "destage.result/1");
    assert_eq!(record["trace"]["name"], "five");
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
    assert!(record["version"].as_str().unwrap().starts_with("0.1.0"));
}

#[test]
fn the_table_has_the_columns_and_the_reading_line() {
    let bench = Bench::new();
    bench.file("five.csv", csv(FIVE));
    let done = bench.destage(&["run", "five.csv", "--cache", "8KiB"]).ok();
    let lines: Vec<&str> = done.stdout.lines().collect();
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        words(lines[0]).join(" "),
        "trace scheme cache page hit % read hit % write hit % evictions pages/eviction flash writes"
    );
    assert_eq!(
        words(lines[1]),
        [
            "five", "lru", "8KiB", "20.00", "50.00", "0.00", "2", "1.00", "2"
        ]
    );
    assert_eq!(
        lines[3],
        "reading: read allocation on, read fill page, evict_wait - (no device), unmapped reads - \
         (no device), warm-up none"
    );
    assert_eq!(lines.len(), 4, "the cache is a column: {}", done.stdout);
}

#[test]
fn rows_are_the_cross_product_in_input_order() {
    let bench = Bench::new();
    bench.file("b.csv", mixed(500));
    bench.file("a.csv", mixed(300));
    let args = "run b.csv a.csv --scheme lru --scheme none --scheme fifo --cache 1m --cache 64k \
                --format-out jsonl --jobs 2";
    let done = bench
        .destage(&args.split_whitespace().collect::<Vec<_>>())
        .ok();
    let rows: Vec<String> = done
        .records()
        .iter()
        .map(|r| {
            let text = |v: &serde_json::Value| v.as_str().unwrap().to_owned();
            format!(
                "{} {} {}",
                text(&r["trace"]["name"]),
                text(&r["scheme"]),
                r["cache_bytes"]
            )
        })
        .collect();
    let one = |t: &str| {
        vec![
            format!("{t} lru 1048576"),
            format!("{t} lru 65536"),
            format!("{t} none 0"),
            format!("{t} fifo 1048576"),
            format!("{t} fifo 65536"),
        ]
    };
    assert_eq!(rows, [one("b"), one("a")].concat());
}

#[test]
fn settings_carry_their_origin() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(200));
    let args = [
        "run", "t.csv", "--page", "8k", "--warmup", "10%", "--limit", "100",
    ];
    let done = bench.destage(&args).ok();
    assert!(done.stdout.contains(
        "settings: page=8KiB (command line), limit=100 (command line); all others built-in"
    ));
    assert!(done.stdout.contains("warm-up 10%"), "{}", done.stdout);
    let done = bench
        .destage(&[&args[..], &["--format-out", "jsonl"]].concat())
        .ok();
    let record = &done.records()[0];
    assert_eq!(record["page_bytes"], 8192);
    assert_eq!(record["cache_pages"], 2048);
    assert_eq!(record["reading"]["warmup_requests"], 10);
    assert_eq!(
        record["counts"]["requests"], 90,
        "the measured part of the limited trace"
    );
    let config = record["config"].as_array().unwrap();
    let origin = |key: &str| {
        let setting = config.iter().find(|s| s["key"] == key).expect(key);
        (
            setting["value"].as_str().unwrap(),
            setting["origin"].as_str().unwrap(),
        )
    };
    assert_eq!(origin("page"), ("8KiB", "command line"));
    assert_eq!(origin("seed"), ("1", "built-in"));
    assert_eq!(origin("warmup"), ("10%", "command line"));
}

/// The page of a device is written as the option and the built-in page are.
#[test]
fn sizes_of_pages_are_spelled_alike() {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0"));
    let page = |device: &str| {
        let args = ["run", "t.csv", "--device", device, "--format-out", "jsonl"];
        let record = bench.destage(&args).ok().records().remove(0);
        let config = record["config"].as_array().unwrap();
        let page = config.iter().find(|s| s["key"] == "page").unwrap();
        page["value"].as_str().unwrap().to_owned()
    };
    assert_eq!(page("none"), "4KiB");
    assert_eq!(page("default"), "4KiB");
    assert_eq!(page("procache-emu"), "2KiB");
}

#[test]
fn warm_up_passes_measure_the_last_pass() {
    let bench = Bench::new();
    bench.file("t.csv", csv("W0 W1 W2"));
    let args = [
        "run",
        "t.csv",
        "--warmup",
        "passes=1",
        "--format-out",
        "jsonl",
    ];
    let done = bench.destage(&args).ok();
    let record = &done.records()[0];
    assert_eq!(record["counts"]["requests"], 3);
    assert_eq!(
        record["counts"]["page_hits"], 3,
        "everything is cached after the first pass"
    );
}

#[test]
fn csv_has_the_scalars() {
    let bench = Bench::new();
    bench.file("five.csv", csv(FIVE));
    let args = [
        "run", "five.csv", "--cache", "8k", "--scheme", "lru", "--scheme", "none",
    ];
    let done = bench
        .destage(&[&args[..], &["--format-out", "csv"]].concat())
        .ok();
    let lines: Vec<Vec<&str>> = done
        .stdout
        .lines()
        .map(|l| l.split(',').collect())
        .collect();
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
    let bench = Bench::new();
    let text = mixed(400);
    bench.file("t.csv", &text);
    bench.file("t.csv.zst", zstd::encode_all(text.as_bytes(), 3).unwrap());
    let options = ["--cache", "64k", "--format-out", "jsonl"];
    let of = |args: &[&str], stdin: &str| {
        let done = bench.with_stdin(&[args, &options[..]].concat(), stdin).ok();
        done.records().remove(0)
    };
    let plain = of(&["run", "t.csv"], "");
    let packed = of(&["run", "t.csv.zst"], "");
    let piped = of(&["run", "-"], &text);
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
    let bench = Bench::new();
    let head = "arrival_ns,op,start_sector,sectors,stream,prev,atomic\n";
    bench.file("t.csv", format!("{head}0,R,0,1,0,,0\n1,R,1,1,0,,0\n"));
    let hits = |fill: &str| {
        let args = ["run", "t.csv", "--format-out", "jsonl", "--read-fill", fill];
        bench.destage(&args).ok().records()[0]["counts"]["page_hits"].clone()
    };
    assert_eq!(hits("page"), 1);
    assert_eq!(hits("requested"), 0);
}

#[test]
fn different_read_allocation_is_marked_and_warned_of() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(300));
    let schemes = common::available_schemes(&bench);
    let Some(buffer) = ["req-block", "bplru", "prober", "procache", "belady"]
        .into_iter()
        .find(|name| schemes.iter().any(|s| s == name))
    else {
        return eprintln!("SKIPPED: no write buffer is available yet");
    };
    let args = [
        "run", "t.csv", "--scheme", "lru", "--scheme", "fifo", "--scheme", buffer,
    ];
    let done = bench.destage(&args).ok();
    let warning = "warning: the schemes differ in read allocation";
    assert_eq!(done.stderr.matches(warning).count(), 1, "{}", done.stderr);
    let marked: Vec<&str> = done.stdout.lines().filter(|l| l.contains("* ")).collect();
    assert!(marked[0].contains(buffer), "{}", done.stdout);
    assert!(
        marked[1].starts_with("* differs: read allocation off"),
        "{}",
        done.stdout
    );
    let done = bench
        .destage(&[&args[..], &["--read-alloc", "off"]].concat())
        .ok();
    assert!(!done.stderr.contains(warning), "{}", done.stderr);
    assert!(!done.stdout.contains("differs"), "{}", done.stdout);
}

#[test]
fn every_available_scheme_runs() {
    let bench = Bench::new();
    bench.file("t.csv", mixed(2000));
    let schemes = common::available_schemes(&bench);
    assert!(schemes.len() >= 3, "{schemes:?}");
    let mut args = vec!["run", "t.csv", "--cache", "256k", "--format-out", "jsonl"];
    for scheme in &schemes {
        args.extend(["--scheme", scheme]);
    }
    let done = bench.destage(&args).ok();
    let records = done.records();
    assert_eq!(records.len(), schemes.len());
    for record in records {
        let counts = &record["counts"];
        assert_eq!(counts["requests"], 2000, "{}", record["scheme"]);
        assert!(counts["page_hits"].as_u64() <= counts["page_accesses"].as_u64());
    }
}
