//! `--series`.

use crate::common::{Bench, HEAD, counted, csv, mixed};
use parquet::file::reader::{FileReader, SerializedFileReader};

/// Header and cells of a CSV file.
fn table(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let mut lines = text.lines();
    let header = cells(lines.next().expect("a header"));
    (header, lines.map(cells).collect())
}

fn column(text: &str, name: &str) -> Vec<String> {
    let (header, rows) = table(text);
    let at = header.iter().position(|h| h == name).expect(name);
    rows.iter().map(|row| row[at].clone()).collect()
}

#[test]
fn intervals_of_requests_by_hand() {
    let bench = Bench::with(csv("W0 W1 R0 W2 R1"));
    let run = "run t.csv --cache 8k --series s.csv --series-every 2";
    bench.destage(run).ok();
    let text = bench.read("s.csv");
    assert_eq!(column(&text, "request"), ["2", "4", "5"]);
    assert_eq!(column(&text, "time_ns"), ["1000", "3000", "4000"]);
    assert_eq!(column(&text, "requests"), ["2", "2", "1"]);
    assert_eq!(column(&text, "page_hit_ratio"), ["0.0", "0.5", "0.0"]);
    assert_eq!(column(&text, "read_page_hit_ratio"), ["", "1.0", "0.0"]);
    assert_eq!(column(&text, "evictions"), ["0", "1", "1"]);
    assert_eq!(column(&text, "flash_writes_host"), ["0", "1", "1"]);
    assert_eq!(column(&text, "cached_pages"), ["2", "2", "2"]);
    assert_eq!(column(&text, "dirty_pages"), ["2", "2", "1"]);
    assert_eq!(column(&text, "latency_mean_ns"), ["", "", ""], "no device");
    assert_eq!(column(&text, "erases"), ["", "", ""], "no device");
    assert_eq!(column(&text, "irl"), ["", "", ""], "not req-block");
}

#[test]
fn intervals_of_time_by_hand() {
    // Requests at 0, 1, 2, 3, 4 us, then 100 us later.
    let bench = Bench::with(csv("W0 W1 R0 W2 R1") + "104000,W,0,8,0,,0\n");
    let run = "run t.csv --cache 8k --device default --series s.csv --series-every 2us";
    bench.destage(run).ok();
    let text = bench.read("s.csv");
    assert_eq!(column(&text, "time_ns"), ["2000", "4000", "6000", "104000"]);
    assert_eq!(column(&text, "requests"), ["2", "2", "1", "1"]);
    assert_eq!(
        column(&text, "latency_mean_ns")[0],
        "1000.0",
        "DRAM service"
    );
}

#[test]
fn the_intervals_add_up() {
    let bench = Bench::with(mixed(25_000));
    let run = "run t.csv --cache 256k --scheme req-block --device req-block-128g --warmup 1000 \
               --series";
    for every in ["", "--series-every 777", "--series-every 3ms"] {
        let record = bench.record(format!("{run} s.csv {every}"));
        let text = bench.read("s.csv");
        let sum = |name: &str| -> u64 {
            let cells = column(&text, name);
            cells.iter().map(|c| c.parse::<u64>().unwrap()).sum()
        };
        assert_eq!(sum("requests"), 24_000);
        for key in [
            "evictions",
            "evicted_pages",
            "flash_writes_host",
            "flash_reads_host",
            "read_pages",
            "flash_writes_gc",
            "erases",
        ] {
            assert_eq!(record["counts"][key], sum(key), "{key} {every}");
        }
        let lists = record["list_pages"].as_array().unwrap();
        if every.is_empty() {
            assert_eq!(column(&text, "request"), ["10000", "20000", "24000"]);
            for name in ["irl", "srl", "drl"] {
                let cells: Vec<String> = lists.iter().map(|l| l[name].to_string()).collect();
                assert_eq!(column(&text, name), cells, "the samples of the record");
            }
        }
        assert_eq!(
            lists.len(),
            3,
            "samples every 10,000 requests whatever the series"
        );
    }
}

/// A device of 2048 pages, nine tenths full.
#[test]
fn garbage_collection_is_in_the_intervals_in_which_it_happens() {
    let bench = Bench::new();
    let synth = "trace synth --requests 6000 --part at=uniform,space=6MiB -o t.csv";
    bench.destage(synth).ok();
    let run = "run t.csv --cache 64k --device default --set channels=2 --set chips_per_channel=1 \
               --set dies_per_chip=1 --set planes_per_die=1 --set blocks_per_plane=16 \
               --set pages_per_block=64 --set op=0.2 --warmup 1000 --series s.csv \
               --series-every 500";
    let record = bench.record(run);
    let text = bench.read("s.csv");
    for key in ["flash_writes_gc", "erases"] {
        let cells = column(&text, key);
        let counts: Vec<u64> = cells.iter().map(|c| c.parse().unwrap()).collect();
        assert_eq!(counts.len(), 10);
        assert!(counts[2..].iter().all(|&n| n > 0), "{key}: {counts:?}");
        assert_eq!(record["counts"][key], counts.iter().sum::<u64>());
    }
}

/// Writes of 300 pages in turn that follow no order, through a file system that cleans all the time.
#[test]
fn the_cleaning_of_a_file_system_is_in_the_intervals_of_those_who_need_it() {
    let words: Vec<String> = (0..4000u64)
        .map(|i| format!("W{}", i * 48_271 % 65_537 % 293))
        .collect();
    let bench = Bench::with(csv(&words.join(" ")));
    let run = "run t.csv --cache 64k --host-fs lfs(segment=8,blocks=400) --warmup 1000";
    let alone = bench.record(run);
    assert!(counted(&alone, "lfs_clean_requests") > 500);
    for every in ["1", "100", "1us", "1ms"] {
        let line = format!("{run} --series s.csv --series-every {every}");
        let record = bench.record(line);
        assert_eq!(record["counts"], alone["counts"], "{every}");
        let text = bench.read("s.csv");
        let cells = |name: &str| -> Vec<u64> {
            let cells = column(&text, name);
            cells.iter().map(|c| c.parse().unwrap()).collect()
        };
        for key in [
            "requests",
            "write_pages",
            "evictions",
            "flash_writes_host",
            "flash_reads_host",
        ] {
            let sum: u64 = cells(key).iter().sum();
            assert_eq!(record["counts"][key], sum, "{key} {every}");
        }
        if let Ok(n) = every.parse::<u64>() {
            let requests = cells("requests");
            let (last, others) = requests.split_last().unwrap();
            assert!(others.iter().all(|r| *r == n) && *last <= n, "{requests:?}");
        }
    }
}

/// A write-back of a partial page is queued with its read in one interval, and taken back in the next.
#[test]
fn reads_before_write_backs_are_in_the_interval_in_which_they_start() {
    let requests = [
        "0,W,3,1",
        "39594294,W,6,1",
        "50612121,W,1,7",
        "155301733,W,3,2",
        "235227977,W,6,2",
        "235293817,F,0,0",
        "235293817,W,5,1",
        "235817635,T,0,8",
    ];
    let lines: String = requests.map(|line| format!("{line},0,,0\n")).concat();
    let bench = Bench::with(format!("{HEAD}{lines}"));
    let run = "run t.csv --scheme eager(refcount(prober(cflru))) --cache 8192B --device default";
    let record = bench.record(format!("{run} --series s.csv --series-every 10ns"));
    let reads = column(&bench.read("s.csv"), "flash_reads_host");
    let reads: Vec<u64> = reads.iter().map(|cell| cell.parse().unwrap()).collect();
    assert_eq!(reads, [0, 1, 1, 1, 1, 0, 0]);
    let sum: u64 = reads.iter().sum();
    assert_eq!(record["counts"]["flash_reads_host"], sum);
}

#[test]
fn series_are_written_as_parquet_and_per_run() {
    let bench = Bench::with(mixed(500));
    let one = "run t.csv --cache 64k --series s.parquet --series-every 100";
    bench.destage(one).ok();
    let file = std::fs::File::open(bench.dir.path().join("s.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    assert_eq!(reader.metadata().file_metadata().num_rows(), 5);
    let two = "run t.csv --cache 64k --cache 128k --series s.csv";
    bench.refuses(&format!("{two} | --series | several runs need --out DIR"));
    bench.destage(format!("{two} --out out")).ok();
    assert_eq!(table(&bench.log("out", "s-t-lru-64KiB.csv")).1.len(), 1);
    assert_eq!(table(&bench.log("out", "s-t-lru-128KiB.csv")).1.len(), 1);
}

#[test]
fn traffic_has_causes() {
    let requests = "0,W,0,8,0,,0\n1000,W,8,4,0,,0\n2000,R,80,8,0,,0\n3000,W,16,8,0,,0\n\
                    4000,F,0,0,0,,0\n";
    let bench = Bench::with(format!("{HEAD}{requests}"));
    let record = bench.record("run t.csv --cache 8k");
    let c = &record["counts"];
    // The read of page 10 misses and pushes out page 0; page 2 pushes out page 1, of which only
    // half is cached. FLUSH programs page 2.
    for (key, value) in [
        ("flash_reads_host", 2),
        ("flash_reads_miss", 1),
        ("flash_reads_rmw", 1),
        ("flash_reads_padding", 0),
        ("flash_writes_host", 3),
        ("flash_writes_evict", 2),
        ("flash_writes_flush", 1),
        ("flash_writes_bypass", 0),
        ("flash_writes_padding", 0),
    ] {
        assert_eq!(c[key], value, "{key}");
    }
    let record = bench.record("run t.csv --scheme none");
    assert_eq!(record["counts"]["flash_writes_bypass"], 3);
    assert_eq!(record["counts"]["flash_writes_evict"], 0);
}
