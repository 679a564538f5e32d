//! `--flush-at-end`: what is dirty at the end is written back, and counted apart.

mod common;

use common::{Bench, csv, mixed};
use serde_json::{Value, json};

fn record(bench: &Bench, line: &str) -> Value {
    let line = format!("{line} --format-out jsonl");
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut record = bench.destage(&words).ok().records().remove(0);
    record.as_object_mut().unwrap().remove("run");
    record
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
    let bench = Bench::new();
    bench.file("t.csv", mixed(3_000));
    for more in [
        "--device none",
        "--device default --scheme awb(prober(lru))",
        "--device default --scheme ecr --warmup passes=1 --time-scale 0.01",
        "--device default --scheme req-block --closed-loop 4",
        "--device default --scheme none",
    ] {
        let line = format!("run t.csv --cache 256k {more}");
        let mut without = record(&bench, &line);
        assert_eq!(take(&mut without), Value::Null, "{more}");
        let mut with = record(&bench, &format!("{line} --flush-at-end"));
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
    let bench = Bench::new();
    // Two pages of one chip and one of another are dirty, one clean; a partial page comes on top.
    bench.file("t.csv", csv("W0 W1 W16 R40"));
    let exact = "--set channels=2 --set chips_per_channel=1 --set dies_per_chip=1 \
                 --set planes_per_die=1 --set t_program=200us --set t_cmd=0ns --set t_byte=0ns \
                 --set t_ready=0ns --set summary_page=false";
    let line = format!("run t.csv --cache 64k --device default {exact} --flush-at-end");
    let flushed = take(&mut record(&bench, &line));
    assert_eq!(
        flushed,
        json!({
            "flash_writes_host": 3, "flash_reads_rmw": 0, "flash_writes_gc": 0,
            "flash_writes_meta": 0, "erases": 0, "duration_ns": 400_000,
        })
    );
    let cache_only = take(&mut record(&bench, "run t.csv --cache 64k --flush-at-end"));
    assert_eq!(
        cache_only,
        json!({"flash_writes_host": 3, "flash_reads_rmw": 0})
    );
    let details = format!("{line} --details");
    let words: Vec<&str> = details.split_whitespace().collect();
    let text = bench.destage(&words).ok().stdout;
    assert!(
        text.contains("until all dirty pages were written back"),
        "{text}"
    );
    assert!(text.contains("0.400"), "{text}");
}
