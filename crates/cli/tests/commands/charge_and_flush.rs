//! `--charge-metadata`: metadata of the scheme takes frames away. `--flush-at-end`: what is dirty at
//! the end is written back, and counted apart.

use crate::common::{Bench, HEAD, counted, csv, mixed, setting, without_cost};
use serde_json::{Value, json};

/// LRU: 12 B a page. ARC: 12 B a page and 8 B a ghost. Req-block: 32 B a block of one page.
#[test]
fn pages_and_metadata_share_the_cache() {
    let bench = Bench::with(mixed(3000));
    let schemes = "--scheme lru --scheme arc --scheme req-block --scheme none --cache 1MiB";
    let charged = bench.records(format!("run t.csv {schemes} --charge-metadata"));
    let plain = bench.records(format!("run t.csv {schemes}"));
    for (record, per_page) in charged.iter().zip([12, 20, 32]) {
        let pages = (1 << 20) / (4096 + per_page);
        assert_eq!(record["cache_pages"], pages, "{}", record["scheme"]);
        assert_eq!(record["meta_bytes_charged"], pages * per_page);
        assert_eq!(record["cache_bytes"], 1 << 20, "as given");
        assert_eq!(record["reading"]["charge_metadata"], true);
        let mean = record["meta_bytes_mean"].as_f64().unwrap();
        assert!(mean > 0.0 && mean <= (pages * per_page) as f64, "{mean}");
    }
    assert_eq!(charged[3]["meta_bytes_charged"], 0, "no cache");
    for record in &plain[..3] {
        assert_eq!(record["cache_pages"], 256, "metadata is only measured");
        assert!(record.get("meta_bytes_charged").is_none());
        assert!(record["reading"].get("charge_metadata").is_none());
    }
    let hits = |record: &Value| counted(record, "page_hits");
    let fewer = |pair: (&Value, &Value)| hits(pair.0) < hits(pair.1);
    assert!(charged.iter().zip(&plain).take(3).any(fewer), "pages count");
}

#[test]
fn a_cache_that_only_holds_metadata_is_refused() {
    let bench = Bench::with(mixed(3000));
    bench.refuses(
        "
        run t.csv --charge-metadata --cache 4k
          | --cache 4KiB: | no room for a page beside the metadata | at least 4108 bytes
        run t.csv --charge-metadata --scheme prober(lru) --cache 48k
          | prober(lru) needs for one, 48012 bytes | at least 52108 bytes
        run t.csv --charge-metadata --scheme lirs(max-nonres=inf) --cache 1MiB
          | grows without bound | `max-nonres`
        run t.csv --charge-metadata --scheme lirs --cache 8k | X9
        ",
    );
}

/// The counters of reference counting follow from the trace: 1 B for each page up to the last.
#[test]
fn what_the_trace_asks_for_is_charged() {
    let bench = Bench::with(format!("{HEAD}0,W,0,8,0,,0\n10,W,79992,8,0,,0\n"));
    let record = bench.record("run t.csv --scheme refcount --cache 1MiB --charge-metadata");
    let pages = ((1 << 20) - 10_000) / (4096 + 12);
    assert_eq!(record["cache_pages"], pages);
    assert_eq!(record["meta_bytes_charged"], 12 * pages + 10_000);
    // Known only once the trace is there.
    bench.refuses(
        "
        run t.csv --scheme refcount --cache 12k --charge-metadata
          | refcount(lru) needs for one, 10012 bytes
        ",
    );
}

#[test]
fn run_files_and_tables_say_it() {
    let bench = Bench::with(mixed(3000));
    bench.file(
        "runs.toml",
        "trace = \"t.csv\"\ncache = \"256k\"\n[[run]]\ncharge-metadata = true\n[[run]]\nscheme = \"fifo\"\n",
    );
    let shown = bench.shown("run --config runs.toml");
    let reading = |mark: &str| {
        let line = shown.lines().find(|l| l.starts_with(mark));
        line.unwrap_or_else(|| panic!("no {mark} in {shown}"))
    };
    let (common, other) = (reading("reading: "), reading("* differs: "));
    assert!(common.contains("metadata charged"), "{common}");
    assert!(!other.contains("metadata charged"), "{other}");
    let record = bench.record("run --config runs.toml");
    assert_eq!(
        setting(&record, "charge_metadata"),
        ("true", "run file runs.toml")
    );
}

/// Removes and returns what the option adds to a record.
fn take(record: &mut Value) -> Value {
    let config = record["config"].as_array_mut().unwrap();
    config.retain(|setting| setting["key"] != "flush_at_end");
    let flushed = record.as_object_mut().unwrap().remove("final_flush");
    flushed.unwrap_or_default()
}

#[test]
fn all_other_figures_are_of_the_time_before() {
    let bench = Bench::with(mixed(3_000));
    for more in [
        "--device none",
        "--device default --scheme awb(prober(lru))",
        "--device default --scheme ecr --warmup passes=1 --time-scale 0.01",
        "--device default --scheme req-block --closed-loop 4",
        "--device default --scheme none",
    ] {
        let line = format!("run t.csv --cache 256k {more}");
        let mut without = without_cost(bench.record(&line));
        assert_eq!(take(&mut without), Value::Null, "{more}");
        let mut with = without_cost(bench.record(format!("{line} --flush-at-end")));
        let flushed = take(&mut with);
        assert_eq!(with, without, "{more}");
        let dirty = !more.ends_with("none") || more == "--device none";
        assert_eq!(
            flushed["flash_writes_host"].as_u64() > Some(0),
            dirty,
            "{more}"
        );
    }
}

#[test]
fn a_flush_takes_what_its_programs_take() {
    // Two pages of one chip and one of another are dirty, one clean; a partial page comes on top.
    let bench = Bench::with(csv("W0 W1 W16 R40"));
    let exact = "--set channels=2 --set chips_per_channel=1 --set dies_per_chip=1 \
                 --set planes_per_die=1 --set t_program=200us --set t_cmd=0ns --set t_byte=0ns \
                 --set t_ready=0ns --set summary_page=false";
    let line = format!("run t.csv --cache 64k --device default {exact} --flush-at-end");
    let flushed = take(&mut without_cost(bench.record(&line)));
    assert_eq!(
        flushed,
        json!({
            "flash_writes_host": 3, "flash_reads_rmw": 0, "flash_writes_gc": 0,
            "flash_writes_meta": 0, "erases": 0, "duration_ns": 400_000,
        })
    );
    let cache_only = take(&mut bench.record("run t.csv --cache 64k --flush-at-end"));
    assert_eq!(
        cache_only,
        json!({"flash_writes_host": 3, "flash_reads_rmw": 0})
    );
    let details = bench.destage(format!("{line} --details")).ok();
    details.shows("until all dirty pages were written back");
    details.shows("0.400");
}
