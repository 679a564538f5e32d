//! `--details`: tables of everything that was measured, from the figures of the records.

use crate::common::{Bench, HEAD, contains, csv, mixed};
use serde_json::Value;

/// The rows of the table under `title`, cell by cell; its first row is the header.
fn part(text: &str, title: &str) -> Vec<Vec<String>> {
    let (_, rest) = text.split_once(&format!("\n{title}\n")).expect(title);
    let lines = rest.lines().take_while(|line| !line.is_empty());
    let cells = |line: &str| -> Vec<String> {
        let cells = line.split("  ").map(str::trim).filter(|c| !c.is_empty());
        cells.map(str::to_owned).collect()
    };
    lines.map(cells).collect()
}

#[test]
fn a_cache_alone_by_hand() {
    // Four misses and a hit; 0 and 1 leave, 0 dirty.
    let bench = Bench::with(csv("W0 R1 W0 W2 R3"));
    let text = bench.shown("run t.csv --cache 8k --details");
    let hits = part(&text, "hits of requests and sectors in %");
    assert_eq!(hits[1][..4], ["lru", "8KiB", "0.00", "33.33"]);
    let evictions = part(&text, "evictions");
    assert_eq!(evictions[1][2..4], ["2", "50.00"]);
    let batches = part(&text, "pages per eviction");
    assert_eq!(batches[1][2..], ["1.00", "1", "1", "1", "1", "0.50"]);
    let reads = part(&text, "flash reads in pages");
    assert_eq!(reads[1][2..], ["2", "2", "0", "0"]);
    // Columns of a device are not there, nor lists of another scheme.
    assert!(
        !reads[0].contains(&"GC".to_owned()) && !text.contains("IRL"),
        "{text}"
    );
    for timed in ["response time", "unbalance", "background write-back"] {
        assert!(!text.contains(timed), "no {timed} without a device: {text}");
    }
}

#[test]
fn a_device_adds_times_and_queues() {
    let bench = Bench::with(mixed(3000));
    let line = "run t.csv --device req-block-128g --scheme lru --scheme req-block \
                --scheme ecr --cache 64k --unbalance";
    let text = bench.shown(format!("{line} --details"));
    let records = bench.records(line);
    let response = part(&text, "response time in ms");
    assert_eq!(
        response.len(),
        1 + 3 * 3,
        "a row each for all, reads, writes"
    );
    let ms = |v: &Value| format!("{:.3}", v.as_f64().unwrap() / 1e6);
    for (i, record) in records.iter().enumerate() {
        let l = &record["latency_ns"];
        let row = |kind: &Value| {
            ["mean", "std", "p50", "p95", "p99", "p999", "p9999", "max"].map(|key| ms(&kind[key]))
        };
        assert_eq!(response[1 + 3 * i][3..], row(&l["all"]));
        assert_eq!(response[2 + 3 * i][1..], row(&l["read"]));
        assert_eq!(response[3 + 3 * i][1..], row(&l["write"]));
        let u = &record["unbalance"];
        let (samples, idle) = (u["samples"].as_u64(), u["undefined"].as_u64());
        let dirty = record["counts"]["dirty_evictions"].as_u64();
        assert_eq!(samples.zip(idle).map(|(a, b)| a + b), dirty, "one for each");
        let cdf = u["cdf"].as_array().unwrap();
        assert_eq!(cdf.last().unwrap()[1], 1.0);
        assert!(
            cdf.iter()
                .all(|row| (1.0..=16.0).contains(&row[0].as_f64().unwrap()))
        );
    }
    let queues = part(
        &text,
        "unbalance rate of the chip queues at dirty evictions",
    );
    assert_eq!(queues.len(), 1 + 3);
    let lists = part(
        &text,
        "pages in the lists of req-block, means of the same samples",
    );
    assert_eq!(lists.len(), 1 + 1, "of req-block alone: {lists:?}");
    assert!(lists[1][2..].iter().any(|cell| cell != "0"), "{lists:?}");
    let zero = |r: &Value| r["counts"]["zero_cqct_decisions"].as_u64();
    assert_eq!((zero(&records[0]), zero(&records[1])), (None, None));
    assert!(zero(&records[2]).is_some());
}

#[test]
fn queues_are_sampled_if_asked_for() {
    let bench = Bench::with(csv("W0 W1 W2"));
    let line = "run t.csv --device req-block-128g --cache 4k";
    let mut plain = bench.record(line);
    assert!(plain.get("unbalance").is_none());
    // Page 0 leaves while nothing is queued; page 1 while the program of page 0 is.
    let mut sampled = bench.record(format!("{line} --unbalance"));
    let u = &sampled["unbalance"];
    assert_eq!((&u["samples"], &u["undefined"]), (&1.into(), &1.into()));
    assert_eq!(u["cdf"], serde_json::json!([[16.0, 1.0]]), "one chip of 16");
    assert_eq!(u["share_above_10"], 1.0);
    for record in [&mut plain, &mut sampled] {
        for part in ["unbalance", "config", "run"] {
            record.as_object_mut().unwrap().remove(part);
        }
    }
    assert_eq!(sampled, plain, "sampling changes nothing else");
}

#[test]
fn several_traces_are_named_and_formats_for_programs_have_no_tables() {
    let bench = Bench::new();
    bench.file("a.csv", mixed(50));
    bench.file("b.csv", mixed(60));
    let text = bench.shown("run a.csv b.csv --cache 8k --details");
    let evictions = part(&text, "evictions");
    assert_eq!(evictions[0][..3], ["trace", "scheme", "cache"]);
    assert_eq!((&*evictions[1][0], &*evictions[2][0]), ("a", "b"));
    assert_eq!(bench.records("run a.csv --details").len(), 1);
}

/// A column that the first run has no value for is there for the others.
#[test]
fn csv_has_the_columns_of_every_run() {
    let bench = Bench::with(mixed(500));
    let line = "run t.csv --scheme lru --scheme ecr --cache 64k --format-out csv";
    let text = bench.shown(line);
    let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|c| *c == name).expect(name);
    let zero = column("counts.zero_cqct_decisions");
    assert_eq!(rows[1][zero], "");
    assert!(rows[2][zero].parse::<u64>().is_ok(), "{}", rows[2][zero]);
    assert_eq!(rows[1][column("latency_ns.all.mean")], "", "no device");
}

/// A device of 4096 pages that collects garbage all the time, with energies.
const SMALL: &str = "--device default --set channels=2 --set chips_per_channel=1 \
    --set dies_per_chip=1 --set planes_per_die=2 --set blocks_per_plane=16 --set pages_per_block=64 \
    --set op=0.2 --set e_read=1uJ --set e_program=20uJ --set e_erase=60uJ --set e_byte=2pJ \
    --set precondition={trace=true,fill=0.9,overwrite=0}";

#[test]
fn garbage_collection_wear_and_energy_are_shown_everywhere() {
    let bench = Bench::new();
    let synth = "trace synth --requests 8000 --part at=uniform,space=12MiB,writes=0.9 -o t.csv";
    bench.destage(synth).ok();
    let line = format!("run t.csv {SMALL} --cache 64k");
    let text = bench.shown(format!("{line} --details --report r.html"));
    let record = bench.record(&line);
    let c = &record["counts"];
    let n = |v: &Value| v.as_u64().unwrap();
    assert!(n(&c["erases"]) > 20 && n(&c["flash_writes_gc"]) > 0, "{c}");
    let cells = |title: &str| part(&text, title)[1][2..].to_vec();
    let programs = cells("flash programs in pages, erased blocks, write amplification (WA)");
    assert_eq!(programs[6], c["flash_writes_gc"].to_string());
    assert_eq!(programs[8], c["erases"].to_string());
    let waf = |name: &str| format!("{:.3}", record["ratios"][name].as_f64().unwrap());
    assert_eq!(programs[9..], [waf("waf"), waf("waf_flash")]);
    let all = n(&c["flash_writes_host"]) + n(&c["flash_writes_gc"]);
    let host = n(&c["flash_writes_host"]) as f64;
    assert_eq!(record["ratios"]["waf_flash"], all as f64 / host);
    let blocks = cells("blocks that garbage collection chose");
    assert_eq!(blocks[0], c["gc_victims"].to_string());
    let wear = cells("erases per block since the device was new");
    assert_eq!(wear[3], record["erase_counts"]["max"].to_string());
    // All erases are in the measured part: preconditioning erases nothing.
    let histogram = record["erase_counts"]["histogram"].as_array().unwrap();
    let erased: u64 = histogram.iter().map(|row| n(&row[0]) * n(&row[1])).sum();
    assert_eq!(erased, n(&c["erases"]));
    let energy = cells("energy of the flash in mJ");
    let erases = record["energy_nj"]["erase"].as_f64().unwrap();
    assert_eq!(energy[2], format!("{:.3}", erases / 1e6));
    assert!(erases <= 60_000.0 * n(&c["erases"]) as f64);
    let load = cells("share of the time that channels and dies were busy, in %");
    let mean = record["utilisation"]["die_mean"].as_f64().unwrap();
    assert_eq!(load[4], format!("{:.2}", 100.0 * mean));
    assert!(mean > 0.0 && mean < 1.0);
    let page = bench.read("r.html");
    for title in [
        "block erases",
        "energy of the flash in mJ",
        "erases per block",
    ] {
        contains(&page, title);
    }
    let csv = bench.shown(format!("{line} --format-out csv"));
    let rows: Vec<Vec<&str>> = csv.lines().map(|l| l.split(',').collect()).collect();
    for name in [
        "counts.erases",
        "energy_nj.total",
        "erase_counts.max",
        "utilisation.die_mean",
    ] {
        let column = rows[0].iter().position(|c| *c == name).expect(name);
        let path = format!("/{}", name.replace('.', "/"));
        assert_eq!(rows[1][column], record.pointer(&path).unwrap().to_string());
    }
}

/// Two dies with pages of 16 KiB, each programmed at once: 8 MiB in all, four mapping units a program.
const UNITS: &str = "--device default --set channels=2 --set chips_per_channel=1 \
    --set dies_per_chip=1 --set planes_per_die=1 --set blocks_per_plane=32 --set pages_per_block=8 \
    --set page_bytes=16384 --set mapping_bytes=4096 --set op=0.4 --set allocation=dynamic \
    --set queue_per=die --set frontier=die --set gc_unit=die --set buffer=bounded --set gc_mode=paced \
    --set gc_low=1 --set gc_high=3";
const YEAR_S: f64 = 365.25 * 86_400.0;

#[test]
fn endurance_by_hand() {
    let bench = Bench::new();
    // A FLUSH closes the unit with one place of data and three of padding.
    bench.file("t.csv", format!("{HEAD}0,W,0,8,0,,0\n1000000,F,0,0,0,,0\n"));
    let line = format!(
        "run t.csv {UNITS} --cache 64KiB --scheme drain(fifo) --read-alloc off --set pe_cycles=1000"
    );
    let record = bench.record(&line);
    assert_eq!(record["counts"]["padded_places"], 3);
    assert_eq!(record["ratios"]["waf"], 4.0);
    let endurance = &record["endurance"];
    assert_eq!(endurance["flash_bytes"], 16_384);
    assert_eq!(endurance["erase_cv"], Value::Null, "nothing was erased");
    // 8 MiB x 1000 / 4.
    assert_eq!(endurance["tbw_bytes"], 2_097_152_000.0);
    // 512,000 times these 4 KiB, each time in the length of the run.
    let elapsed = record["utilisation"]["elapsed_ns"].as_f64().unwrap() / 1e9;
    assert!(elapsed > 0.001);
    let years = endurance["years"].as_f64().unwrap();
    assert!((years * YEAR_S / (512_000.0 * elapsed) - 1.0).abs() < 1e-9);
    bench.file("r.csv", format!("{HEAD}0,R,0,8,0,,0\n9,R,8,8,0,,0\n"));
    let record = bench.record(line.replace("t.csv", "r.csv"));
    let nothing = serde_json::json!(
        {"flash_bytes": 0, "erase_cv": null, "tbw_bytes": null, "years": null}
    );
    assert_eq!(record["endurance"], nothing);
}

#[test]
fn endurance_is_shown_everywhere_and_changes_nothing_else() {
    let bench = Bench::new();
    let synth = "trace synth --requests 8000 --part at=uniform,space=12MiB,writes=0.9 -o t.csv";
    bench.destage(synth).ok();
    let plain = format!("run t.csv {SMALL} --cache 64k");
    let line = format!("{plain} --set pe_cycles=3000");
    let (before, record) = (bench.record(&plain), bench.record(&line));
    let (mut rest, mut old) = (record.clone(), before);
    assert!(old.get("endurance").is_none());
    for part in [&mut rest, &mut old] {
        let fields = part.as_object_mut().unwrap();
        fields.retain(|name, _| !["endurance", "config", "run"].contains(&name.as_str()));
    }
    assert_eq!(rest, old);
    let n = |path: &str| record.pointer(path).unwrap().as_f64().unwrap();
    assert!(n("/counts/flash_writes_gc") > 0.0);
    let programs = n("/counts/flash_writes_host") + n("/counts/flash_writes_gc");
    assert_eq!(n("/endurance/flash_bytes"), 4096.0 * programs);
    // 4096 pages of 4 KiB.
    let tbw = 16_777_216.0 * 3000.0 / n("/ratios/waf");
    assert!((n("/endurance/tbw_bytes") / tbw - 1.0).abs() < 1e-12);
    let rate = 512.0 * n("/counts/write_sectors") / (n("/utilisation/elapsed_ns") / 1e9);
    assert!((n("/endurance/years") * YEAR_S * rate / tbw - 1.0).abs() < 1e-9);
    let cv = n("/erase_counts/std") / n("/erase_counts/mean");
    assert_eq!(n("/endurance/erase_cv"), cv);
    let text = bench.shown(format!("{line} --details --report r.html"));
    let title = "endurance at the rated program/erase cycles";
    let cells = part(&text, title)[1][2..].to_vec();
    assert_eq!(cells[0], programs.to_string());
    let shown = [cv, tbw / 1e12, n("/endurance/years")].map(|x| format!("{x:.3}"));
    assert_eq!(cells[1..], shown);
    contains(&bench.read("r.html"), title);
    let csv = bench.shown(format!("{line} --format-out csv"));
    let rows: Vec<Vec<&str>> = csv.lines().map(|l| l.split(',').collect()).collect();
    let column = rows[0].iter().position(|c| *c == "endurance.tbw_bytes");
    let cell = rows[1][column.unwrap()];
    assert_eq!(cell, record["endurance"]["tbw_bytes"].to_string());
}

#[test]
fn the_log_of_requests_has_those_of_cleaning() {
    let bench = Bench::with(mixed(400));
    let line = "run t.csv --cache 16k --device default --host-fs lfs(segment=4,fill=0.5)";
    for warmup in ["0", "100", "passes=1"] {
        let record = bench.record(format!("{line} --warmup {warmup} --log-requests q.csv"));
        let count = |key: &str| record["counts"][key].as_u64().unwrap();
        assert!(count("lfs_clean_requests") > 0, "{warmup}");
        let text = bench.read("q.csv");
        let numbers = text
            .lines()
            .skip(1)
            .map(|line| line.split(',').next().unwrap());
        let numbers: Vec<u64> = numbers.map(|number| number.parse().unwrap()).collect();
        let all = count("requests") + count("lfs_clean_requests");
        assert_eq!(numbers.len() as u64, all, "{warmup}");
        assert!(
            numbers.windows(2).all(|pair| pair[1] == pair[0] + 1),
            "{warmup}"
        );
    }
}
